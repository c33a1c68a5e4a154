"""Both classes use the Scheme of the store. If the store has none, they use the one that the caller chose."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from es_simhash import AsyncDocuments, Documents, DuplicateRule, Fingerprinter, Scheme, fingerprint
from es_simhash.errors import InputError, NotSetUp, SchemeMismatch
from es_simhash.rows import Description
from es_simhash.store.memory_store import MemoryStore
from es_simhash.text.tables import StopWords
from tests.cli import HARVEST, STORM, STORM_FARTHER
from tests.client import before

LONG = Scheme(weights="tf")
DOCUMENTS = [{"id": "storm", "text": STORM}, {"id": "farther", "text": STORM_FARTHER}, {"id": "other", "text": HARVEST}]
TABLE = StopWords.of(["部分", "发布"])


def in_memory(scheme: Scheme | None = None) -> MemoryStore:
    """A store in memory, set up with a Scheme or not at all."""
    store = MemoryStore()
    if scheme is not None:
        store.set_up(Description(scheme=scheme, keys=True))
    return store


# --- the Scheme of the store -------------------------------------------------------------------------------


def test_every_verb_follows_the_scheme_of_the_store(address: str) -> None:
    rule = DuplicateRule("fingerprint", max_distance=7)
    with Documents(address, scheme=LONG) as documents:
        documents.setup(rule)
    expected = {document["id"]: fingerprint(document["text"], LONG).value for document in DOCUMENTS}
    for verb, right in (
        (lambda d: [outcome.outcome for outcome in d.ingest(DOCUMENTS[:1])], ["new"]),
        (lambda d: d.setup(), "unchanged"),
        (lambda d: [outcome.fingerprinted for outcome in d.ingest(DOCUMENTS[1:])], [True, True]),
        (lambda d: [match.id for match in d.similar(STORM, rule=rule)], ["storm", "farther"]),
        (lambda d: [match.id for match in d.similar_to("storm", rule=rule)], ["farther"]),
        (lambda d: d.group().groups, 1),
        (lambda d: {row.id: row.fingerprint for row in d.export()}, expected),
        (lambda d: d.fetch(["storm"])["storm"].fingerprint, expected["storm"]),
        (lambda d: {outcome.outcome for outcome in d.backfill(again=True)}, {"unchanged"}),
        (lambda d: d.remove(["other"]), {"other"}),
        (lambda d: d.info().scheme, LONG),
    ):
        with Documents(address) as documents:
            assert verb(documents) == right


def test_a_store_that_is_set_up_later_is_followed_then() -> None:
    store = in_memory()
    documents = Documents(store)
    assert documents.info().scheme is None
    with pytest.raises(NotSetUp):
        documents.similar(STORM, rule="fingerprint")
    store.set_up(Description(scheme=LONG, keys=True))
    assert documents.similar(STORM, rule=DuplicateRule("fingerprint", max_distance=7)) == []
    assert documents.info().scheme == LONG


def test_a_scheme_that_is_set_up_between_the_call_and_the_first_outcome_is_used() -> None:
    store = in_memory()
    outcomes = Documents(store).ingest(DOCUMENTS)
    store.set_up(Description(scheme=LONG, keys=True))
    assert all(outcome.stored for outcome in outcomes)
    expected = {document["id"]: fingerprint(document["text"], LONG).value for document in DOCUMENTS}
    assert {row.id: row.fingerprint for row in Documents(store).export()} == expected


def test_a_scheme_that_is_chosen_is_not_written_to_a_store_that_was_set_up_with_another_after_the_call() -> None:
    store = in_memory()
    outcomes = Documents(store, scheme=Scheme()).ingest(DOCUMENTS)
    store.set_up(Description(scheme=LONG, keys=True))
    with pytest.raises(SchemeMismatch):
        next(outcomes)
    assert list(Documents(store).export()) == []


# --- what is given -----------------------------------------------------------------------------------------


def raced() -> MemoryStore:
    """Another program sets the store up at the same moment, and is faster."""
    store = MemoryStore()
    before(store, "set_up", lambda: store.set_up(Description(scheme=LONG, keys=True)))
    return store


def test_of_two_programs_that_set_up_a_store_with_two_schemes_the_second_gets_an_error() -> None:
    store = raced()
    with pytest.raises(SchemeMismatch):
        Documents(store).setup("fingerprint")
    assert list(Documents(store).export()) == []
    store = raced()
    with pytest.raises(SchemeMismatch):
        list(Documents(store).ingest(DOCUMENTS))
    assert list(Documents(store).export()) == []


def test_a_scheme_that_is_given_and_differs_is_refused_by_both_classes(address: str) -> None:
    with Documents(address, scheme=LONG) as documents:
        documents.setup("fingerprint")
        assert documents.similar(STORM, rule="fingerprint") == []
    with Documents(address, scheme=Scheme()) as other, pytest.raises(SchemeMismatch, match=LONG.version):
        other.similar(STORM, rule="fingerprint")

    async def main() -> None:
        async with AsyncDocuments(address, fingerprinter=Fingerprinter()) as other:
            await other.similar(STORM, rule="fingerprint")

    with pytest.raises(SchemeMismatch, match=LONG.version):
        asyncio.run(main())


@pytest.mark.parametrize("documents", [Documents, AsyncDocuments])
def test_a_fingerprinter_is_given_alone(documents: Any) -> None:
    with pytest.raises(InputError, match="a fingerprinter has its own scheme: leave scheme out"):
        documents("memory://", fingerprinter=Fingerprinter(), scheme=Scheme())


@pytest.mark.parametrize("documents", [Documents, AsyncDocuments])
@pytest.mark.parametrize("store", ["memory://", "http://localhost:9200/news"])
def test_what_the_store_keeps_is_told_to_setup(documents: Any, store: str) -> None:
    with pytest.raises(InputError, match=r"Documents takes no rule: .* call setup\(rule=…\)"):
        documents(store, rule="fingerprint")


def test_a_table_that_the_scheme_of_the_store_names_must_be_given(address: str) -> None:
    ours = Fingerprinter(LONG, stop_words=TABLE)
    with Documents(address, fingerprinter=ours) as documents:
        documents.setup("fingerprint")
    fix = r"pass it to the Fingerprinter \(stop_words=…\)"
    expected = f"{TABLE.identity}, which is not loaded: {fix}"
    with Documents(address) as documents, pytest.raises(InputError, match=expected):
        next(documents.ingest(DOCUMENTS))
    with Documents(address, fingerprinter=ours) as documents:
        assert all(outcome.stored for outcome in documents.ingest(DOCUMENTS))
