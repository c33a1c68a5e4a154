"""With a filter only documents that match it become originals: stored ones, those of the run, those of the batch.

The reference implementation compares each document with all others. A link that exists holds as without a filter: while
its original exists, was written earlier, and is near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_simhash import Documents, DuplicateRule
from es_simhash.deciding.limits import Limits
from tests.contract import LinearStore
from tests.deciding.test_ingest import LONG, Plain, Refusing, expected, played, text, texts
from tests.limited import ingested

if TYPE_CHECKING:
    from collections.abc import Callable


CLAUSE = {"bool": {"filter": [{"term": {"lang": "zh"}}], "must_not": {"ids": {"values": ["12"]}}}}

documents = st.lists(
    st.tuples(st.integers(0, 12), texts, st.sampled_from(["zh", "zh", "en", None])),
    max_size=14,
    unique_by=lambda document: document[0],
)
runs = st.lists(documents, min_size=1, max_size=4)


class Choosy(Plain):
    """The reference implementation, in which only some documents can become originals."""

    inside: dict[str, bool]

    def __init__(self, max_distance: int, on_duplicate: str) -> None:
        super().__init__(max_distance, on_duplicate)
        self.inside = {}

    def take(self, id: str, text: str, *fields: Any) -> tuple[str, str | None, int | None]:
        [lang] = fields
        outcome = self.ingest(id, text, lang)
        if outcome[0] != "unchanged" and id in self.fingerprints:  # else nothing was written
            self.inside[id] = lang == "zh" and id != "12"
        return outcome

    def nearest(self, id: str, new: Any, text: str, place: int) -> tuple[str, str, int] | None:
        everything = self.fingerprints
        self.fingerprints = {other: each for other, each in everything.items() if self.inside.get(other)}
        try:
            return super().nearest(id, new, text, place)
        finally:
            self.fingerprints = everything


def item(id: int, text: str, lang: str | None) -> dict[str, Any]:
    return {"id": id, "text": text, **({"lang": lang} if lang else {})}


@pytest.mark.parametrize("window", [3, 5_000])
@pytest.mark.parametrize("make_store", [LinearStore, lambda: LinearStore(lagging=True), lambda: "sqlite:///:memory:"])
@given(
    runs=runs,
    max_distance=st.integers(0, 7),
    on_duplicate=st.sampled_from(["index", "skip"]),
    size=st.integers(1, 9),
    ahead=st.integers(0, 2),
)
# The first copy is replaced before the second one, which is replaced after its turn as an original.
@example(
    runs=[
        [(0, text(*LONG), "zh"), (2, "图集", "zh"), (1, "图集", "zh")],
        [(2, text(*LONG), "zh"), (0, "图集", "zh"), (1, text(*LONG), "zh")],
    ],
    max_distance=0,
    on_duplicate="index",
    size=3,
    ahead=0,
)
# The first copy leaves the filter with the same text, so the next document duplicates the second copy.
@example(
    runs=[[(2, text(*LONG), "zh"), (1, text(*LONG), "zh")], [(2, text(*LONG), "en"), (0, text(*LONG), "zh")]],
    max_distance=0,
    on_duplicate="index",
    size=2,
    ahead=0,
)
@settings(max_examples=40, deadline=None)
def test_only_what_matches_the_filter_is_an_original(
    make_store: Callable[[], Any],
    window: int,
    runs: list[Any],
    max_distance: int,
    on_duplicate: str,
    size: int,
    ahead: int,
) -> None:
    options = {"on_duplicate": on_duplicate, "batch_size": size, "limits": Limits(window=window), "ahead": ahead}
    wanted = expected(Choosy(max_distance, on_duplicate), runs, size)
    assert played(make_store(), runs, item, {"max_distance": max_distance}, filter=CLAUSE, **options) == wanted


@pytest.mark.slow
@pytest.mark.elasticsearch
def test_elasticsearch_finds_only_what_matches_the_filter(
    elasticsearch_url: str, make_index: Callable[[], str]
) -> None:
    @given(
        runs=runs,
        max_distance=st.integers(0, 7),
        on_duplicate=st.sampled_from(["index", "skip"]),
        size=st.integers(1, 9),
    )
    @settings(max_examples=6, deadline=None, derandomize=True)
    def law(runs: list[Any], max_distance: int, on_duplicate: str, size: int) -> None:
        address = f"{elasticsearch_url}/{make_index()}"
        wanted = expected(Choosy(max_distance, on_duplicate), runs, size)
        options = {"on_duplicate": on_duplicate, "batch_size": size, "filter": CLAUSE}
        assert played(address, runs, item, {"max_distance": max_distance}, **options) == wanted

    law()


LAGGING = [LinearStore, lambda: LinearStore(lagging=True)]


def ingest(client: Documents, *documents: tuple[str, str, str], **options: Any) -> list[tuple[str, str | None]]:
    items = [{"id": id, "text": text, "lang": lang} for id, text, lang in documents]
    client.setup()
    return [(o.outcome, o.duplicate_of) for o in ingested(client, items, filter=CLAUSE, **options)]


@pytest.mark.parametrize("make_store", LAGGING)
def test_a_document_that_is_only_linked_anew_does_not_become_an_original(make_store: Callable[[], Any]) -> None:
    client = Documents(make_store())
    ingest(client, ("a", text(*LONG), "zh"), ("b", text(*LONG), "en"))
    # The first batch takes the text of b's original away, the second brings a copy of b.
    outcomes = ingest(client, ("a", text(3, 4, 5, 6), "zh"), ("c", text(*LONG), "zh"), batch_size=1)
    assert outcomes == [("updated", None), ("new", None)]


@pytest.mark.parametrize("make_store", LAGGING)
def test_a_document_that_is_linked_anew_passes_on_its_new_group(make_store: Callable[[], Any]) -> None:
    client = Documents(make_store())
    ingest(
        client,
        ("a", text(*LONG), "zh"),
        ("b", text(*LONG, 17), "zh"),
        rule=DuplicateRule("fingerprint", max_distance=7),
    )
    items = [("a", text(3, 4, 5, 6), "zh"), ("c", text(*LONG, 17), "zh")]
    assert ingest(client, *items, batch_size=1, rule=DuplicateRule("fingerprint", max_distance=7)) == [
        ("updated", None),
        ("exact_duplicate", "b"),
    ]
    assert {row.id: row.group for row in client.export()} == {"a": "a", "b": "b", "c": "b"}


@pytest.mark.parametrize("ahead", [0, 1])
def test_what_the_store_would_not_replace_is_an_original_still(ahead: int) -> None:
    store = Refusing(lagging=True)
    client = Documents(store)
    ingest(client, ("a", text(*LONG), "zh"))
    store.refused = ("a",)
    outcomes = ingest(client, ("a", text(3, 4, 5, 6), "zh"), ("c", text(*LONG), "zh"), batch_size=1, ahead=ahead)
    assert outcomes == [("failed", None), ("exact_duplicate", "a")]
