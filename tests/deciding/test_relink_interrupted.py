"""Links are written the farthest first, so after a crash between two writes the next run finds what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents
from es_simhash.deciding.limits import Limits
from es_simhash.deciding.remove import remove
from es_simhash.errors import StoreError
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.contract.watched import Failing
from tests.deciding.test_recrawl import OTHER
from tests.deciding.test_remove import entry, found, linked_anew, write
from tests.limited import ingested, resolved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from es_simhash.contract import Store

# Each fingerprint is 3 bits from the next and 6 from the one after: a chain of links in one group.
CHAIN = linked_anew([entry(f"id{n}", (1 << (3 * n)) - 1) for n in range(7)])
CUT = "id2"
LEFT = {"id3": ("id3", None), **{f"id{n}": ("id3", f"id{n - 1}") for n in range(4, 7)}}
"""The links of the documents after CUT, when CUT is no original any more."""


def remove_it(store: Store, checkpoint: str) -> None:
    remove(store, [CUT], resolved(Documents(store), rule="fingerprint"), batch=1)


def ingest(store: Store, checkpoint: str) -> None:
    items = [{"id": CUT, "text": OTHER}]
    list(ingested(Documents(store), items, Limits(links=1), checkpoint=checkpoint, deadline=0, rule="fingerprint"))


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("verb", [remove_it, ingest])
@pytest.mark.parametrize(
    "make_store", [LinearStore, lambda: LinearStore(lagging=True), lambda: open_store("sqlite:///:memory:")]
)
def test_after_a_crash_between_two_writes_of_links_the_next_run_changes_the_rest(
    make_store: Callable[[], Store],
    verb: Callable[[Store, str], None],
    number: int,
    done: bool,
    tmp_path: Path,
) -> None:
    store = make_store()
    store.set_up(DEFAULT)
    write(store, *CHAIN)
    assert {group for group, _ in found(store).values()} == {"id0"}
    with pytest.raises(StoreError, match="it crashed"):
        verb(Failing(store, "relink", number, StoreError("it crashed"), done=done), str(tmp_path / "checkpoint"))
    verb(store, str(tmp_path / "checkpoint"))
    links = found(store)
    assert {id: links[id] for id in LEFT} == LEFT
    assert (CUT in links) is (verb is ingest)
