"""Group may break off anywhere, and run beside an ingest: a further call does what is left."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.deciding.group import group
from es_simhash.errors import StoreUnavailable
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.retries import Patience
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.contract.documents import entry, flip, put, scan, write
from tests.contract.watched import Failing, Meanwhile
from tests.groups.test_links import reference_links
from tests.limited import in_batches, resolved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from es_simhash.contract import Entry, Store


def breaking(store: Store, after: int, done: bool) -> Failing:
    """A store that is away after so many requests to change links; the next one may have been done or not."""
    failing = Failing(store, "relink", after + 1, StoreUnavailable("away"), done=done)
    failing.patience = Patience(0)
    return failing


def planted(count: int, seed: int = 3) -> list[Entry]:
    rng = random.Random(seed)
    centres = [rng.getrandbits(64) for _ in range(count // 6)]
    return [
        entry(f"id{n}", flip(rng.choice(centres), rng.sample(range(64), rng.randint(0, 3))), group=f"id{n // 2}")
        for n in range(count)
    ]


def links(store: Store) -> dict[str, tuple[str, str | None]]:
    return {row.id: (row.group, row.duplicate_of) for row in scan(store)}


def right(store: Store) -> dict[str, tuple[str, str | None]]:
    """The links that the documents should have."""
    rows = sorted(scan(store), key=lambda row: (row.written, row.id))
    texts = [(row.fingerprint, row.digest) for row in rows]
    heads, originals = reference_links(texts, [row.group for row in rows], 3, "earliest")
    return {
        row.id: (rows[head].id, rows[original].id if original >= 0 else None)
        for row, head, original in zip(rows, heads, originals, strict=True)
    }


@pytest.mark.parametrize("head", ["earliest", "latest"])
@pytest.mark.parametrize("make_store", [LinearStore, lambda: open_store("sqlite:///:memory:")])
def test_broken_off_after_any_request_and_repeated_it_ends_the_same(make_store: Callable[[], Store], head: Any) -> None:
    documents = planted(90)

    def filled() -> Store:
        store = make_store()
        store.set_up(DEFAULT)
        write(store, *documents)
        return store

    store = filled()
    rule = resolved(Documents(store), rule="fingerprint")
    report = group(store, rule, head=head, batch=10)
    expected = links(store)
    requests = -(-report.changed // 10)
    assert requests >= 5
    for after in range(requests):
        for done in (False, True):
            store = filled()
            with pytest.raises(StoreUnavailable):
                group(breaking(store, after, done), rule, head=head, batch=10)
            again = group(store, rule, head=head, batch=10)
            assert links(store) == expected
            assert again.changed == report.changed - min(10 * (after + done), report.changed)


def test_broken_off_under_the_rule_kept_it_still_ends_with_a_head_for_each_group() -> None:
    store = LinearStore()
    store.set_up(DEFAULT)
    write(store, *planted(90))
    with pytest.raises(StoreUnavailable):
        group(breaking(store, 2, True), resolved(Documents(store), rule="fingerprint"), head="kept", batch=10)
    Documents(store).group(head="kept", rule="fingerprint")
    found = links(store)
    assert all(found[head][0] == head for head, _ in found.values())
    assert Documents(store).group(head="kept", rule="fingerprint").changed == 0


@pytest.fixture(params=["sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/a.db"
    return f"{request.getfixturevalue('elasticsearch_url')}/{request.getfixturevalue('make_index')()}"


@pytest.mark.slow
def test_beside_an_ingest_it_changes_only_what_it_should(address: str) -> None:
    rng = random.Random(5)
    words = [f"{a}{b}" for a in "春夏秋冬东西南北" for b in "风雨云雪花草树木"]
    bases = [[rng.choice(words) for _ in range(60)] for _ in range(60)]
    items = [
        {"id": n, "text": "，".join([*base, *(["又及"] if rng.random() < 0.3 else [])]), "n": n}
        for n, base in enumerate(rng.choice(bases) for _ in range(900))
    ]
    with Documents(address) as documents, Documents(address) as other:
        documents.setup(keys=False)
        list(documents.ingest(items[:300], rule="fingerprint"))
        failures: list[BaseException] = []
        finished = threading.Event()

        def grouping() -> None:
            try:
                while not finished.is_set():
                    other.group(rule="fingerprint")
            except BaseException as failure:
                failures.append(failure)

        thread = threading.Thread(target=grouping)
        thread.start()
        # Re-crawls too: some texts become others.
        outcomes = list(
            documents.ingest([{**items[n], "text": items[n + 1]["text"]} for n in range(0, 300, 7)], rule="fingerprint")
        )
        outcomes += list(in_batches(documents, 40).ingest(items[300:], rule="fingerprint"))
        finished.set()
        thread.join()
        assert failures == []
        assert {outcome.stored for outcome in outcomes} == {True}
        store = open_store(address)
        expected, before = right(store), links(store)
        report = documents.group(rule="fingerprint")
        assert report.changed == sum(before[id] != expected[id] for id in expected)
        assert links(store) == expected
        assert documents.group(rule="fingerprint").changed == 0
        store.close()


def test_what_is_written_while_the_groups_are_is_found_by_the_next_call() -> None:
    store = LinearStore(lagging=True)
    store.set_up(DEFAULT)
    write(store, entry("a", 0), entry("b", 1), entry("c", 2))

    other = Meanwhile(store, "relink", lambda: put(store, entry("b", 0xFFFF), entry("d", 0xFFFE)), times=-1)
    report = Documents(other).group(rule="fingerprint")
    assert (report.changed, report.conflicts) == (1, 1)
    assert Documents(store).group(rule="fingerprint").changed == 1
    assert links(store) == right(store)
