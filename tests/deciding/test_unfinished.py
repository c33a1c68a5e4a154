"""A verb that cannot finish says what it did, what is left, and how to go on. The same call then completes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, SeenItems
from es_simhash.deciding.group import group
from es_simhash.deciding.remove import remove, remove_matching
from es_simhash.errors import StoreUnavailable
from es_simhash.seen.changes import USERS
from es_simhash.stores.address import open_store
from tests.contract.watched import Failing
from tests.faults import MAX_DISTANCE, contents_of, news
from tests.limited import in_batches, resolved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NEWS = news()


def away(method: str = "", number: int = 0) -> Failing:
    """A store that is away from the n-th call of one method on."""
    store = Failing(open_store("sqlite:///:memory:"), method, number, StoreUnavailable("it is away"), lasts=True)
    store.name = "away"
    return store


VERBS: dict[str, tuple[str, Callable[[Documents], Any], str]] = {
    "group": (
        "relink",
        lambda documents: group(documents.store, resolved(documents), batch=4),
        "the links of 4 documents were written, and those of {left} were not: group again",
    ),
    "remove": (
        "remove",
        lambda documents: remove(documents.store, list("0123456789"), resolved(documents), batch=4),
        "4 of 10 documents removed so far: remove all of them again",
    ),
    "remove_matching": (
        "remove",
        lambda documents: remove_matching(documents.store, {"exists": {"field": "text"}}, resolved(documents), batch=4),
        "4 documents removed so far: remove the others again",
    ),
    "backfill": (
        "annotate",
        lambda documents: list(in_batches(documents, 4).backfill(rule=DuplicateRule(text_field="text"), again=True)),
        "backfill again, for the documents that are left",
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_cannot_finish_says_what_it_did_and_is_completed_by_the_same_call(verb: str) -> None:
    kind, call, report = VERBS[verb]
    store = away()
    documents, calm = Documents(store, deadline=0), Documents("sqlite:///:memory:")
    for each in (documents, calm):
        each.setup(keys=False)
        list(each.ingest(NEWS, rule=DuplicateRule("fingerprint", max_distance=0)))
    if verb == "backfill":
        documents.setup(keys=True)  # so that a backfill writes every document
    else:
        for each in (documents, calm):
            each.setup(rule=DuplicateRule("fingerprint", max_distance=MAX_DISTANCE))
    store.method, store.number = kind, 2
    before = contents_of(documents)
    call(calm)
    after = contents_of(calm)
    with pytest.raises(StoreUnavailable, match="it is away; ") as raised:
        call(documents)
    changed = sum(before[id] != row for id, row in after.items() if id in before)
    assert str(raised.value) == f"it is away; {report.format(left=changed - 4)}"
    assert raised.value.retryable
    store.method = ""
    call(documents)
    assert contents_of(documents) == after


def test_an_export_that_breaks_off_says_how_much_there_was() -> None:
    store = away()
    documents = Documents(store, deadline=0)
    documents.setup(keys=False)
    list(documents.ingest(NEWS, rule="fingerprint"))
    store.method, store.number = "scan", 1
    with pytest.raises(StoreUnavailable, match="it is away; 0 documents exported, others are missing"):
        list(documents.export())


@pytest.mark.parametrize("resume", [False, True])
def test_an_ingest_that_breaks_off_says_how_to_go_on(tmp_path: Path, resume: bool) -> None:
    store = away()
    documents = Documents(store, deadline=0)
    documents.setup(keys=False)
    store.method, store.number = "write", 2
    checkpoint = str(tmp_path / "state") if resume else None
    how = "the same call continues from its checkpoint" if resume else "nothing more was read"
    with pytest.raises(StoreUnavailable, match=f"it is away; {how}"):
        list(in_batches(documents, 5).ingest(NEWS, checkpoint=checkpoint, rule="fingerprint"))


def test_a_rotation_of_all_users_says_from_when_to_go_on() -> None:
    store = away()
    seen = SeenItems(store, deadline=0)
    seen.setup()
    seen.add_many({f"user-{number}": ["a"] for number in range(5)})
    store.method, store.number = "list_users", 1
    with pytest.raises(StoreUnavailable, match="it is away; 0 users rotated so far: rotate the others with before=7"):
        seen.rotate(before=7)


def test_a_change_of_many_users_that_breaks_off_names_each_user_that_is_not_done() -> None:
    store = away()
    seen = SeenItems(store, deadline=0)
    seen.setup()
    store.method, store.number = "change_users", 2
    users = [f"user-{number:03}" for number in range(USERS + 3)]
    report = seen.add_many({user: ["a"] for user in users})
    assert report.results == dict.fromkeys(users[:USERS], 1)
    assert list(report.failed) == users[USERS:]
    assert all(isinstance(error, StoreUnavailable) for error in report.failed.values())
    assert "user 'user-502' were perhaps not changed: it is away" in str(report.failed["user-502"])
