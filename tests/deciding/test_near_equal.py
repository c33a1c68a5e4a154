"""Pools of documents that are nearly all near each other: the results are those of a comparison of each with each."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, fingerprint
from es_simhash.deciding import ingest as flow
from es_simhash.deciding import original
from es_simhash.deciding.limits import Limits
from es_simhash.deciding.similar import similar
from es_simhash.search.near_index import NearIndex
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.limited import in_batches, ingested, limit_reading, resolved
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from es_simhash.contract import Store

WORDS = ["暴雨", "预警", "城区", "道路", "积水", "居民", "转移", "学校", "停课", "交通", "部门", "提醒", "市民", "注意"]
WORDS += ["安全", "气象", "降雨", "预计", "河流", "水位", "上涨", "消防", "救援", "物资"]
MAX_DISTANCE = 3


def of_few_words(count: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(WORDS, k=200)) for _ in range(count)]


POOLS = {
    "few words": of_few_words(120),
    "one text": ["".join(WORDS)] * 120,
    "one template with a number": ["".join(WORDS) * 3 + f"第{number}号通知" for number in range(120)],
    "one repeated character": ["雨" * (number % 60 + 1) for number in range(120)],
}


@pytest.fixture(params=["memory", "sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield LinearStore(lagging=True)
        return
    address = f"sqlite:///{tmp_path}/near.db"
    if request.param == "elasticsearch":
        url, make_index = (request.getfixturevalue(name) for name in ("elasticsearch_url", "make_index"))
        address = f"{url}/{make_index()}"
    opened = open_store(address)
    yield opened
    opened.close()


@pytest.fixture(params=[True, False], ids=["named", "by segments"])
def small(request: pytest.FixtureRequest, store: Store) -> Limits:
    """Make the limits so small that all ways are taken."""
    limit_reading(store, page=5, kinds=7)
    return Limits(window=40, first=1, named=10_000 if request.param else 0)


def originals(texts: dict[str, str]) -> dict[str, str | None]:
    """Return the original of each text: an exact duplicate, else the nearest, then the first."""
    every = {id: fingerprint(text) for id, text in texts.items()}
    found: dict[str, str | None] = {}
    for id, own in every.items():
        ranked: list[tuple[bool, int, str]] = []
        for other in found:
            theirs = every[other]
            exact = own.copy_digest is not None and own.copy_digest == theirs.copy_digest
            distance = 64 if own.value is None or theirs.value is None else (own.value ^ theirs.value).bit_count()
            if exact or distance <= MAX_DISTANCE:
                ranked.append((not exact, 0 if exact else distance, other))
        found[id] = min(ranked, key=lambda each: (each[0], each[1], list(every).index(each[2])), default=(0, 0, None))[
            2
        ]
    return found


@pytest.mark.parametrize("pool", POOLS)
def test_each_document_has_the_original_that_a_comparison_with_all_finds(
    store: Store, pool: str, small: Limits
) -> None:
    texts = {f"d{number:03}": text for number, text in enumerate(POOLS[pool])}
    documents = Documents(store)
    documents.setup(keys=False)
    given = [{"id": id, "text": text} for id, text in texts.items()]
    outcomes = list(ingested(documents, given, small, batch_size=10, rule="fingerprint"))
    assert {outcome.id: outcome.duplicate_of for outcome in outcomes} == originals(texts)
    assert all(outcome.stored and not outcome.left_out for outcome in outcomes)


def test_what_was_removed_or_changed_is_no_original(store: Store, small: Limits) -> None:
    documents = Documents(store)
    documents.setup(keys=False)
    texts = {f"d{number:03}": text for number, text in enumerate(POOLS["few words"])}
    given = [{"id": id, "text": text} for id, text in texts.items()]
    list(ingested(documents, given[:60], small, batch_size=10, rule="fingerprint"))
    documents.remove([f"d{number:03}" for number in range(0, 60, 3)], rule="fingerprint")
    changed = [{"id": f"d{number:03}", "text": f"另一篇文章，第{number}篇，完全不同"} for number in range(1, 60, 3)]
    rest = [each for pair in zip(given[60:80], changed, strict=True) for each in pair] + given[80:]
    outcomes = list(ingested(documents, rest, small, batch_size=10, rule="fingerprint"))
    there = {id: text for number, (id, text) in enumerate(texts.items()) if number < 60 and number % 3 == 2}
    replaced = {id: texts[id] for id in (f"d{number:03}" for number in range(1, 60, 3))}
    for each, outcome in zip(rest, outcomes, strict=True):
        if each["id"] in replaced:
            del replaced[each["id"]]  # from now on it has another text
            continue
        before = dict(sorted((there | replaced).items()))
        assert outcome.duplicate_of == originals({**before, each["id"]: each["text"]})[each["id"]]
        there[each["id"]] = each["text"]


@pytest.mark.parametrize("pool", ["few words", "one text", "one template with a number"])
def test_a_search_returns_the_nearest_and_says_how_many_it_left_out(store: Store, pool: str, small: Limits) -> None:
    documents = Documents(store)
    documents.setup(keys=False)
    texts = {f"d{number:03}": text for number, text in enumerate(POOLS[pool])}
    given = [{"id": id, "text": text} for id, text in texts.items()]
    list(ingested(documents, given, small, rule="fingerprint"))
    rule = resolved(documents, rule="fingerprint")
    for text in [*POOLS[pool][:5], *of_few_words(5, seed=1)]:
        own = fingerprint(text)
        every: list[int] = []
        for other in map(fingerprint, texts.values()):
            assert own.value is not None
            assert other.value is not None
            if (distance := (own.value ^ other.value).bit_count()) <= MAX_DISTANCE:
                every.append(distance)
        [found] = similar(store, [text], rule, most=10)
        distances = [match.distance for match in found]
        assert distances[:10] == sorted(every)[:10]
        if not found.complete:
            assert len(found) >= 10
            assert len(found) + found.left_out >= len(every)
        else:
            assert distances == sorted(every)


@pytest.mark.parametrize("keys", [False, True])
def test_very_many_copies_of_one_text_are_compared_as_one(keys: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    class Counted(original.Neighbours):
        def __init__(self, batch: Any, stored: Any, *others: Any) -> None:
            stored = list(stored)
            compared.append(len(stored))
            super().__init__(batch, stored, *others)

    monkeypatch.setattr(flow, "Neighbours", Counted)
    documents = Documents(LinearStore(lagging=True))
    documents.setup(keys=keys)
    given = [{"id": number, "text": WORDS[0] * 20} for number in range(2_000)]
    rule: dict[str, Any] = {} if keys else {"rule": "fingerprint"}
    outcomes = list(in_batches(documents, 100).ingest(given, **keywords_of(rule)))
    assert {outcome.duplicate_of for outcome in outcomes} == {None, outcomes[0].id}
    assert max(compared) <= 2


def test_an_index_of_one_fingerprint_answers_for_all() -> None:
    index = NearIndex(64, MAX_DISTANCE)
    index.add([7] * 50_000)
    assert index.nearest([7, 5, 0xFFFF]) == [[7], [7], []]
    assert len(index.nearest_any([5])) == 50_000
