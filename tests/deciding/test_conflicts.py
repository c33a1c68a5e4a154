"""Another program writes or removes a document between the look-up and the write of an ingest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.deciding.ingest import ATTEMPTS
from tests.contract.watched import Meanwhile
from tests.limited import ingested

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.outcome import Outcome

RULE = "fingerprint"
STORM = "今天北京下了一场大雨，气象台发布暴雨蓝色预警，部分地铁站临时关闭，市民出行受到影响，学校停课一天。"
METRO = "上海地铁十四号线新车站本周开通，换乘更方便，沿线居民表示欢迎，首班车早上五点半从起点站准时发出。"
TEA = "杭州的茶园进入采摘季节，今年春茶产量比去年提高两成，茶农说价格平稳，游客周末可以到园里体验制茶。"


def meanwhile(store: Store, does: Callable[[Documents], object], times: int = 1) -> Meanwhile:
    """Another program does something just before a write."""
    return Meanwhile(store, "write", lambda: does(Documents(store)), times)


def ingest(documents: Documents, *given: dict[str, str]) -> Sequence[Outcome]:
    return list(documents.ingest(given, rule=RULE))


def add(documents: Documents, *given: dict[str, str]) -> Sequence[Outcome]:
    return [documents.add(each, rule=RULE) for each in given]


def add_many(documents: Documents, *given: dict[str, str]) -> Sequence[Outcome]:
    return documents.add_many(given, rule=RULE)


def add_after_another(documents: Documents, *given: dict[str, str]) -> Sequence[Outcome]:
    """Add documents when the program has added others: a search looks at them, and they are not read by their ids."""
    watched: Any = documents.store
    times, watched.times = watched.times, 0
    add(documents, {"id": "first", "text": TEA})
    watched.times = times
    return add(documents, *given)


writers = pytest.mark.parametrize("write", [ingest, add, add_many, add_after_another])


def texts(store: Store, *ids: str) -> dict[str, str]:
    return {id: fields["text"] for id, fields in store.fetch_fields(ids, ("text",)).items()}


@writers
def test_a_new_document_that_another_program_wrote_first_is_an_update(store: Store, write: Any) -> None:
    other = meanwhile(store, lambda program: ingest(program, {"id": "a", "text": METRO}, {"id": "b", "text": METRO}))
    (outcome,) = write(Documents(other), {"id": "a", "text": STORM})
    assert (outcome.outcome, outcome.stored) == ("updated", True)
    assert texts(store, "a", "b") == {"a": STORM, "b": METRO}
    rows = store.fetch(("a", "b"))
    assert (rows["a"].duplicate_of, rows["b"].duplicate_of, rows["b"].group) == (None, None, "b")


@writers
def test_a_document_that_another_program_wrote_with_the_same_text_stays(store: Store, write: Any) -> None:
    given = {"id": "a", "text": STORM}
    versions: list[Any] = []

    def wrote(program: Documents) -> None:
        ingest(program, given)
        versions.append(store.fetch(("a",))["a"].version)

    (outcome,) = write(Documents(meanwhile(store, wrote)), given)
    assert (outcome.outcome, outcome.stored) == ("unchanged", True)
    assert store.fetch(("a",))["a"].version == versions[0]


@writers
def test_an_update_is_decided_by_the_text_that_another_program_wrote(store: Store, write: Any) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM})
    other = meanwhile(store, lambda program: ingest(program, {"id": "a", "text": METRO}, {"id": "b", "text": METRO}))
    (outcome,) = write(Documents(other), {"id": "a", "text": TEA})
    assert (outcome.outcome, outcome.stored) == ("updated", True)
    rows = store.fetch(("a", "b"))
    assert (rows["b"].duplicate_of, rows["b"].group) == (None, "b")
    assert rows["a"].group == "a" or write is add_after_another  # there it is a copy of "first"


@writers
def test_a_removed_document_is_new(store: Store, write: Any) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM})
    other = meanwhile(store, lambda program: program.remove(["a"]))
    (outcome,) = write(Documents(other), {"id": "a", "text": METRO})
    assert (outcome.outcome, outcome.stored) == ("new", True)
    assert texts(store, "a") == {"a": METRO}


def test_documents_of_the_batch_are_not_linked_to_a_text_that_is_gone(store: Store) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM})
    other = meanwhile(store, lambda program: program.remove(["a"]))
    outcomes = ingest(Documents(other), {"id": "a", "text": METRO}, {"id": "b", "text": STORM})
    assert outcomes[0].outcome == "new"
    row = store.fetch(("b",))["b"]
    assert (row.duplicate_of, row.group) == (None, "b")


@writers
def test_a_document_that_changes_each_time_has_failed_and_stays_as_the_other_program_wrote_it(
    store: Store, write: Any
) -> None:
    count = iter(range(100))

    def change(program: Documents) -> None:
        ingest(program, {"id": "a", "text": f"{METRO}{next(count)}"})

    other = meanwhile(store, change, times=100)
    (outcome,) = write(Documents(other), {"id": "a", "text": STORM})
    assert (outcome.outcome, outcome.stored) == ("failed", False)
    assert outcome.reason is not None
    assert f"each of the {ATTEMPTS} times" in outcome.reason
    assert outcome.document == {"id": "a", "text": STORM}
    assert texts(store, "a") == {"a": f"{METRO}{ATTEMPTS - 1}"}


def test_the_others_of_a_batch_have_their_outcomes_in_the_order_of_the_input(store: Store) -> None:
    ingest(Documents(store), {"id": "b", "text": STORM})
    other = meanwhile(store, lambda program: ingest(program, {"id": "b", "text": METRO}))
    outcomes = ingest(
        Documents(other),
        {"id": "a", "text": METRO},
        {"id": "b", "text": TEA},
        {"text": "none"},
        {"id": "c", "text": TEA},
    )
    # b is decided after the others of its batch.
    assert [(outcome.id, outcome.outcome, outcome.duplicate_of) for outcome in outcomes] == [
        ("a", "new", None),
        ("b", "updated", "c"),
        (None, "rejected", None),
        ("c", "new", None),
    ]


def test_add_sees_what_another_program_wrote_over_its_own_document(store: Store) -> None:
    documents = Documents(store)
    given = {"id": "a", "text": STORM}
    assert documents.add(given, rule=RULE).outcome == "new"
    ingest(Documents(store), {"id": "a", "text": METRO})
    assert documents.add(given, rule=RULE).outcome == "updated"
    assert texts(store, "a") == {"a": STORM}


def test_other_fields_that_another_program_wrote_are_read_before_they_are_replaced(store: Store) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM, "n": "1"})
    attempts: list[Documents] = []

    def wrote(program: Documents) -> None:
        if not attempts:
            ingest(program, {"id": "a", "text": STORM, "n": "2"})
        attempts.append(program)

    (outcome,) = ingest(Documents(meanwhile(store, wrote, times=100)), {"id": "a", "text": STORM, "n": "3"})
    assert (outcome.outcome, len(attempts)) == ("updated", 2)
    assert store.fetch_fields(("a",), None)["a"]["n"] == "3"


def test_the_links_that_a_run_changes_itself_are_no_conflict(store: Store) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM}, {"id": "b", "text": STORM})
    other = meanwhile(store, lambda program: None, times=100)
    given = [{"id": "a", "text": METRO}, {"id": "b", "text": TEA}]
    outcomes = list(ingested(Documents(other), given, batch_size=1, ahead=1, rule=RULE))  # the look-up comes first
    assert [outcome.outcome for outcome in outcomes] == ["updated", "updated"]
    assert other.times == 98
    assert texts(store, "a", "b") == {"a": METRO, "b": TEA}
