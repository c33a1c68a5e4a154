"""Another index or file is at the address of a program that runs.

What lives long goes on there, if it was set up in the same way, and forgets what is pending. A run ends. Nothing goes
on under another set-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from es_simhash import Documents, DuplicateRule, Scheme, SeenItems
from es_simhash.errors import InputError, NotSetUp, StoreChanged, StoreError
from es_simhash.store.address import open_store
from tests.client import METRO, STORM, before
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses

Make = Callable[[str], object]
"""Sets a store up at an address."""


def documents_by(scheme: Scheme | None = None, rule: DuplicateRule | None = None, id_field: str | None = None) -> Make:
    def make(address: str) -> None:
        with Documents(address, scheme=scheme) as documents:
            documents.setup(rule, id_field=id_field)

    return make


def seen_by(**config: Any) -> Make:
    def make(address: str) -> None:
        with SeenItems(address, **config) as seen:
            seen.setup()

    return make


class Place:
    """An address behind which a store is exchanged for another one.

    :param how: the index or the file is ``made again``, or the ``alias`` is moved.
    """

    def __init__(self, new_address: Callable[[], str], how: str) -> None:
        self._new_address, self._how = new_address, how
        self._index = self.address = new_address()
        if how == "alias":
            self.address += "-alias"

    def make(self, make: Make) -> None:
        make(self._index)
        if self._how == "alias":
            self._send("PUT", f"_alias/{self._alias}")

    def exchange(self, make: Make) -> None:
        if self._how == "alias":
            self._send("DELETE", f"_alias/{self._alias}")
            self._index = self._new_address()
        else:
            self.delete()
        self.make(make)

    def delete(self) -> None:
        if not self.address.startswith("sqlite:///"):
            self._send("DELETE", "")
        path = Path(self.address.removeprefix("sqlite:///"))
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()

    @property
    def _alias(self) -> str:
        return self.address.rpartition("/")[2]

    def _send(self, method: str, path: str) -> None:
        store: Any = open_store(self._index)
        store.connection.send(method, path)
        store.close()


SERVERS = [
    pytest.param((*kind.values, how), marks=kind.marks, id=f"{kind.values[0]} {how}")
    for kind in (ELASTICSEARCH, OPENSEARCH)
    for how in ("made again", "alias")
]


PLACES = [pytest.param(("sqlite", "made again"), id="sqlite"), *SERVERS]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Answers tell of an alias; else the store is asked again and again."""
    kind, how = request.param
    monkeypatch.setattr("es_simhash.client.set_up.KNOWN", 1_000.0 if how == "alias" else 0.0)
    return Place(new_addresses(request, kind), how)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [message for message in caplog.messages if "is another store now" in message]


def members(documents: Documents) -> list[str]:
    with suppress(InputError):  # there is no such document
        return [row.id for row in documents.members("1")]
    return []


OTHER = {"id": "2", "text": STORM}
SEEN = seen_by(capacity=100)
CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "add": (lambda documents: documents.add(OTHER).outcome, "new"),
    "add_many": (lambda documents: [one.outcome for one in documents.add_many([OTHER])], ["new"]),
    "similar": (lambda documents: documents.similar(STORM), []),
    "similar by fingerprint": (lambda documents: documents.similar(1 << 63 | 1), []),
    "similar_many": (lambda documents: documents.similar_many([STORM]), [[]]),
    "fetch": (lambda documents: documents.fetch(["1"]), {}),
    "fetch fields": (lambda documents: documents.fetch(["1"], fields=["text"]), {}),
    "members": (members, []),
    "seen add": (lambda seen: seen.add("ann", ["x"]), 1),
    "seen add_many": (lambda seen: seen.add_many({"ann": ["x"], "bob": ["y"]}).results, {"ann": 1, "bob": 1}),
    "seen unseen": (lambda seen: seen.unseen("ann", ["x"]), ["x"]),
    "seen forget": (lambda seen: seen.forget("ann", ["x"]), 0),
    "seen stats": (lambda seen: seen.stats("ann").generations, ()),
    "seen to_bytes": (lambda seen: seen.to_bytes("ann"), []),
    "seen remove": (lambda seen: seen.remove("ann"), False),
}
"""Calls of documents and of seen items, and their results in a store that is empty."""
OTHER_SET_UPS = {
    "Scheme": documents_by(Scheme(weights="tf")),
    "rule": documents_by(rule=DuplicateRule("exact")),
    "text field": documents_by(rule=DuplicateRule(text_field="body")),
    "id field": documents_by(id_field="sku"),
    "capacity": seen_by(capacity=77),
}


@contextmanager
def opened(place: Place, call: str) -> Iterator[tuple[Any, Make]]:
    """What is called, in whose store something is, and how that store was set up."""
    kind, make = (SeenItems, SEEN) if "seen" in call else (Documents, documents_by())
    place.make(make)
    with kind(place.address) as made:
        made.add(*(("ann", ["x"]) if "seen" in call else ({"id": "1", "text": STORM},)))
        yield made, make


@pytest.mark.parametrize("call", CALLS)
def test_a_call_goes_on_in_a_store_that_was_set_up_in_the_same_way(
    place: Place, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    perform, result = CALLS[call]
    with opened(place, call) as (made, make):
        place.exchange(make)
        assert perform(made) == result
        if "seen" in call:
            assert (made.add("ann", ["z"]), made.unseen("ann", ["z"])) == (1, [])
        else:
            assert made.add({"id": "3", "text": STORM}).duplicate_of == ("2" if "add" in call else None)
        assert len(warnings(caplog)) == 1


@pytest.mark.parametrize(
    ("call", "other"),
    [
        *((call, "capacity" if "seen" in call else "Scheme") for call in CALLS if "fingerprint" not in call),
        *(("add", other) for other in ("rule", "text field", "id field")),
    ],
)
def test_no_call_goes_on_under_another_set_up(place: Place, call: str, other: str) -> None:
    with opened(place, call) as (made, _):
        place.exchange(OTHER_SET_UPS[other])
        if "seen" not in call:  # an answer without documents names no index
            with Documents(place.address) as others:
                others.add({"id": "9", "sku": "9", "text": STORM, "body": STORM}, refresh=True)
        for _ in range(2):
            with pytest.raises(StoreChanged, match=r"is another store now, .* open it again"):
                CALLS[call][0](made)
    if "seen" in call:
        with SeenItems(place.address) as seen:
            assert seen.stats("ann").generations == ()
    else:
        with Documents(place.address) as documents:
            assert [row.id for row in documents.export()] == ["9"]


def test_of_equal_texts_one_is_new_in_the_other_store(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.make(documents_by())
    with Documents(place.address) as documents, ThreadPoolExecutor(8) as threads:
        documents.add({"id": "0", "text": STORM})
        place.exchange(documents_by())
        outcomes = list(threads.map(lambda n: documents.add({"id": str(n), "text": STORM}), range(1, 30)))
        assert [one.outcome for one in outcomes].count("new") == 1
        assert len(documents.fetch([one.id or "" for one in outcomes])) == 29
    assert len(warnings(caplog)) == 1


def many(count: int) -> list[dict[str, str]]:
    return [{"id": str(number), "text": f"{METRO}{number}"} for number in range(count)]


def ingest(documents: Documents, exchange: Callable[[], None]) -> None:
    outcomes = documents.ingest({"id": f"new {each['id']}", "text": each["text"]} for each in many(600))
    next(outcomes)
    exchange()
    list(outcomes)


def backfill(documents: Documents, exchange: Callable[[], None]) -> None:
    outcomes = documents.backfill(again=True)
    next(outcomes)
    exchange()
    list(outcomes)


def group(documents: Documents, exchange: Callable[[], None]) -> None:
    """It asks nothing about documents that it holds in memory, so it knows after a second."""

    def progress(done: int, _: int) -> None:
        if done == 500:
            exchange()
            documents._stored.forget()

    documents.group(progress=progress)


def remove(documents: Documents, exchange: Callable[[], None]) -> None:
    before(documents.store, "remove", exchange)
    documents.remove(map(str, range(600)))


def remove_matching(documents: Documents, exchange: Callable[[], None]) -> None:
    before(documents.store, "remove", exchange)
    documents.remove(matching={"match_all": {}})


def remove_duplicates(documents: Documents, exchange: Callable[[], None]) -> None:
    copied = ({"id": f"copy {each['id']}", "text": each["text"]} for each in many(600))
    documents.add_many(copied, refresh=True)
    copies = list(documents.duplicates())
    before(documents.store, "remove", exchange)
    documents.remove_duplicates(copies)


@pytest.mark.slow
@pytest.mark.parametrize("run", [ingest, backfill, group, remove, remove_matching, remove_duplicates])
def test_a_run_ends(place: Place, run: Callable[[Documents, Callable[[], None]], None]) -> None:
    exact = DuplicateRule("exact")
    place.make(documents_by(rule=exact))
    with Documents(place.address) as documents:
        documents.add_many(many(600))
        with pytest.raises(StoreChanged, match="is another store now"):
            run(documents, lambda: place.exchange(documents_by(rule=exact)))
    with Documents(place.address) as documents:
        assert list(documents.export()) == []


@pytest.mark.parametrize("place", [place for place in PLACES if "alias" not in str(place.id)], indirect=True)
def test_a_run_ends_if_its_store_is_deleted_and_makes_no_other(place: Place) -> None:
    place.make(documents_by(rule=DuplicateRule("fingerprint")))
    with Documents(place.address, deadline=1) as documents:
        run = documents.ingest(many(1_500))
        next(run)
        place.delete()
        with pytest.raises(StoreError):
            list(run)
        with pytest.raises(StoreError, match="is not set up"):
            documents.similar(STORM)


def test_a_file_takes_seen_items_after_documents_and_documents_after_seen_items(tmp_path: Path) -> None:
    for first in (Documents, SeenItems):
        address = f"sqlite:///{tmp_path}/{first.__name__}.db"
        with Documents(address) as documents, SeenItems(address) as seen:
            add = [lambda: documents.add({"id": 1, "text": STORM}).outcome, lambda: seen.add("ann", ["x"])]
            results = [one() for one in (add if first is Documents else add[::-1])]
            assert set(results) == {"new", 1}
            assert (documents.similar(STORM)[0].id, seen.unseen("ann", ["x"])) == ("1", [])


@pytest.mark.parametrize("what", ["documents", "seen items"])
def test_a_program_makes_no_store_in_the_place_of_one_that_is_gone(tmp_path: Path, what: str) -> None:
    """It would have another rule and another configuration."""
    path = tmp_path / "gone.db"
    with Documents(f"sqlite:///{path}") as documents, SeenItems(f"sqlite:///{path}") as seen:
        documents.setup("exact")
        seen.add("ann", ["x"])
        documents.add({"id": 1, "text": STORM})
        path.unlink()
        add = {
            "documents": lambda: documents.add({"id": 1, "text": STORM}),
            "seen items": lambda: seen.add("ann", ["x"]),
        }
        with pytest.raises(NotSetUp):
            add[what]()
    assert not path.exists()
