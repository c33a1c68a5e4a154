"""``distinct`` decides as an ingest does that does not store copies, which is the slow reference here."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, Fingerprinter, StoreError
from es_simhash.search.times import time_of
from es_simhash.tools.dedupe import originals, pairs
from es_simhash.tools.dedupe.copies import decided
from es_simhash.tools.dedupe.originals import Text
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LETTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈12abc"
WEEK = timedelta(days=7)
RULES = [
    {},
    {"rule": "contained"},
    {"rule": "fingerprint"},
    {"rule": "exact"},
    {"max_distance": 5},
    {"measure": "levenshtein", "confirm": 0.6},
    {"measure": "cosine"},
    {"measure": "jaccard", "numbers_agree": False},
    {"within": WEEK, "time_field": "at"},
    {"rule": "fingerprint", "within": WEEK, "time_field": "at"},
]


def rows(count: int, lengths: tuple[int, ...], seed: int) -> Iterator[dict[str, Any]]:
    """Texts of which most are edited, cut, or not changed from an earlier one, with times."""
    rng = random.Random(seed)
    made: list[str] = []
    for number in range(count):
        if made and rng.random() < 0.7:
            letters = list(rng.choice(made))
            for _ in range(rng.choice((0, 1, 1, 2, 4, 12))):
                at = rng.randrange(len(letters) + 1)
                letters[at : at + rng.randint(0, 1)] = rng.choice(LETTERS) * rng.randint(0, 1)
            start = rng.choice((0, 0, 0, len(letters) // 3))
            text = "".join(letters[start:])
        else:
            text = "".join(rng.choice(LETTERS) for _ in range(rng.choice(lengths)))
        made.append(text)
        yield {"id": number, "text": text, "at": f"2024-05-{rng.randint(1, 28):02}"}


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("lengths", [(0, 1, 5, 12, 20), (55, 65, 80), (140, 160, 230), (20, 70, 400)], ids=str)
def test_copies_are_those_of_an_ingest_that_does_not_store_them(
    tmp_path: Path, rule: dict[str, Any], lengths: tuple[int, ...]
) -> None:
    given = list(rows(220, lengths, seed=len(rule) + sum(lengths)))
    with Documents(f"sqlite:///{tmp_path / 'slow.db'}") as documents:
        outcomes = list(documents.ingest(given, id_field="id", on_duplicate="skip", rule=DuplicateRule(**rule)))
    expected = [
        (int(each.id or 0), int(each.duplicate_of), each.outcome == "exact_duplicate", each.distance)
        for each in outcomes
        if each.duplicate_of is not None
    ]
    found = [(each.position, each.original, each.exact, each.distance) for each in pairs(given, **keywords_of(rule))]
    assert found == expected
    asked = [(n, Text(row["text"], time_of(row, "at") if "within" in rule else None, n)) for n, row in enumerate(given)]
    decisions = decided(asked, Fingerprinter(), DuplicateRule(**rule), distances=True, batch=50)
    in_batches = [(n, each.original, each.exact, each.distance) for n, each in decisions if each.original is not None]
    assert in_batches == expected
    assert expected


def test_worker_processes_change_no_decision() -> None:
    given = [(row["id"], Text(row["text"], None, row["id"])) for row in rows(1_600, (20, 100), seed=1)]
    alone, together = (
        list(decided(given, Fingerprinter(), DuplicateRule(), distances=False, workers=count)) for count in (0, 2)
    )
    assert alone == together
    assert [number for number, _ in together] == list(range(1_600))


@pytest.mark.parametrize("workers", [0, 2])
def test_items_before_an_error_are_decided_first(workers: int) -> None:
    def given() -> Iterator[tuple[int, Text]]:
        for number in range(1_200):
            yield number, Text(str(number), None, number)
        raise OSError("the disk is gone")

    decisions = decided(given(), Fingerprinter(), DuplicateRule(), distances=False, workers=workers)
    found = [next(decisions)[0] for _ in range(1_200)]
    assert found == list(range(1_200))
    with pytest.raises(OSError, match="the disk is gone"):
        next(decisions)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is always full")
def test_a_full_disk_is_an_error_that_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(originals, "temporary_bytes", lambda: full)
        with pytest.raises(StoreError, match=r"cannot write the temporary file of texts in .*No space left.*TMPDIR"):
            list(pairs(["一二三四五六"]))


def test_texts_that_are_not_compared_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    texts = [LETTERS + "".join(random.Random(n).choices(LETTERS, k=60)) for n in range(800)]
    list(pairs(texts, rule=DuplicateRule(confirm=0.95)))
    assert "pairs of items were not compared" in caplog.text


def test_equal_texts_that_are_not_compared_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"text": LETTERS, "at": 10 * number * WEEK // timedelta(milliseconds=1)} for number in range(1_100)]
    list(pairs([*rows, rows[0]], rule=DuplicateRule("exact", within=WEEK, time_field="at")))
    assert "pairs of items were not compared" in caplog.text
