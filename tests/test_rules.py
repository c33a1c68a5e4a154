"""The four rules through the library: what is a duplicate, with no option and with one."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule

if TYPE_CHECKING:
    from pathlib import Path

HAN = [chr(0x4E00 + 3 * number) for number in range(2_000)]
LENGTHS = [12, 59, 60, 61, 62, 69, 75, 76, 149, 150, 151, 187, 188, 225, 226, 800]


def text_of(length: int, seed: int = 0) -> str:
    return "".join(Random(1_000 * seed + length).choices(HAN, k=length))


def edited(text: str, share: float) -> str:
    letters = list(text)
    for at in Random(1).sample(range(len(text)), int(len(text) * share)):
        letters[at] = "龘"
    return "".join(letters)


@pytest.fixture
def documents(tmp_path: Path) -> Any:
    with Documents(f"sqlite:///{tmp_path}/rules.db") as opened:
        yield opened


def stored(documents: Documents, texts: list[str], rule: str | None = None) -> list[str]:
    items = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    documents.setup(rule=rule)
    return [outcome.outcome for outcome in documents.ingest(items)]


def found(documents: Documents, text: str, rule: str | DuplicateRule | None = None) -> list[str]:
    matches = documents.similar(text, rule=rule)
    assert matches.complete
    return [match.id for match in matches]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_copy_with_five_percent_of_wrong_characters_is_found_at_every_length(
    documents: Documents, length: int
) -> None:
    text = text_of(length)
    assert stored(documents, [text, text_of(length, 1)]) == ["new", "new"]
    assert documents.info().keys
    assert found(documents, edited(text, 0.05)) == ["0"]
    assert found(documents, edited(text, 0.5)) == []


@pytest.mark.parametrize("length", range(59, 72))
def test_contained_finds_a_text_with_two_added_characters_at_every_length(documents: Documents, length: int) -> None:
    text = text_of(length)
    stored(documents, [text, text_of(length, 1)], rule="contained")
    for copy in ("据悉，" + text, text[:20] + "据" + text[20:40] + "悉" + text[40:]):
        assert found(documents, copy, rule="contained") == ["0"]


def test_contained_finds_what_was_cut_or_stands_in_other_text(documents: Documents) -> None:
    text = text_of(400)
    stored(documents, [text], rule="contained")
    for copy in (text[:280], text_of(60, 2) + text + text_of(60, 3)):
        assert found(documents, copy, rule="contained") == ["0"]


def test_copy_finds_a_longer_text_of_which_half_or_more_stands_in_another(documents: Documents) -> None:
    text = text_of(400)
    stored(documents, [text])
    for copy in (text[:280], text_of(60, 2) + text + text_of(60, 3)):
        assert found(documents, copy) == ["0"]


def test_fingerprint_reads_no_text_and_exact_finds_exact_duplicates_alone(documents: Documents) -> None:
    text = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
    stored(documents, [text], rule="fingerprint")
    assert not documents.info().keys
    assert found(documents, text + "！", rule="fingerprint") == ["0"]
    assert found(documents, text + "！", rule="exact") == []
    assert found(documents, f" {text} ", rule="exact") == ["0"]


@pytest.mark.parametrize("text", ["！？……", "🎉🎉", "https://example.cn/1", ""])
def test_a_text_without_word_characters_has_exact_duplicates_alone(documents: Documents, text: str) -> None:
    outcomes = stored(documents, [text, f" {text}", "。" + text, text_of(80)])
    assert outcomes == (["new"] * 4 if not text else ["new", "exact_duplicate", "new", "new"])


def test_short_texts_that_are_many_are_all_compared(documents: Documents) -> None:
    titles = [f"新闻联播{one}{other}播出" for one in HAN[700:720] for other in HAN[720:735]]
    stored(documents, titles)
    own = documents.similar(titles[0], rule=DuplicateRule(min_similarity=0.75, contradictions="allow"))
    assert own.complete
    assert len(own) == len(titles)
