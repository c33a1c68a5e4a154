"""After a removal no link points at nothing: what was linked to a removed document is linked as its ingest would."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, SeenItems
from es_simhash.contract import Scan
from es_simhash.deciding.remove import remove_matching
from es_simhash.errors import ConflictError, StoreUnavailable
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.contract.documents import entry, flip, scan, write
from tests.contract.watched import Failing, Meanwhile, StoreCall
from tests.limited import resolved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash.contract import Entry, Row, Store
    from es_simhash.deciding.rule import ResolvedRule

pytestmark = pytest.mark.slow

K = 3


def rule_of(store: Store) -> ResolvedRule:
    return resolved(Documents(store), rule="fingerprint")


def new_store(request: pytest.FixtureRequest, kind: str) -> Store:
    if kind == "linear":
        store: Store = LinearStore()
    elif kind == "lagging":
        store = LinearStore(lagging=True)
    elif kind == "sqlite":
        store = open_store("sqlite:///:memory:")
    else:
        url, name = request.getfixturevalue("elasticsearch_url"), request.getfixturevalue("make_index")()
        with Elasticsearch(url) as client:
            client.indices.create(index=name, settings={"number_of_shards": 3})
        store = open_store(f"{url}/{name}")
    store.set_up(DEFAULT)
    return store


@pytest.fixture(params=["linear", "lagging", "sqlite", pytest.param("three shards", marks=pytest.mark.elasticsearch)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    store = new_store(request, request.param)
    yield store
    store.close()


@pytest.fixture(params=["sqlite", pytest.param("three shards", marks=pytest.mark.elasticsearch)])
def large(request: pytest.FixtureRequest) -> Iterator[Store]:
    store = new_store(request, request.param)
    yield store
    store.close()


def near(one: Row, other: Row) -> tuple[bool, int] | None:
    if one.digest == other.digest:
        return False, 0
    if one.fingerprint is None or other.fingerprint is None:
        return None
    distance = (one.fingerprint ^ other.fingerprint).bit_count()
    return (True, distance) if distance <= K else None


def linked(entries: Iterable[Entry], links: dict[str, str | None]) -> dict[str, tuple[str, str | None]]:
    """Return the links by the reference implementation, as pairs (group, original).

    A link to a document that exists is kept. Each other document is linked to its nearest. A group is named after the
    end of the chain.
    """
    there = {entry.row.id: entry.row for entry in entries}
    firsts: dict[str, Row] = {}  # of several exact duplicates only the first is an original
    for document in sorted(there.values(), key=lambda document: document.written):
        firsts.setdefault(document.digest, document)
    originals: dict[str, str | None] = {}
    for id, document in there.items():
        original = links[id]
        if original is not None and original not in there:
            found = [
                (*nearness, other.written, other.id)
                for other in firsts.values()
                if other.written < document.written and (nearness := near(document, other)) is not None
            ]
            original = min(found)[3] if found else None
        originals[id] = original

    def head(id: str) -> str:
        original = originals[id]
        return id if original is None else head(original)

    return {id: (head(id), original) for id, original in originals.items()}


def found(store: Store) -> dict[str, tuple[str, str | None]]:
    return {row.id: (row.group, row.duplicate_of) for row in scan(store)}


def planted(count: int, seed: int) -> list[Entry]:
    """Documents in crowded corners, each linked to its nearest as an ingest does it."""
    rng = random.Random(seed)
    centres = [0, rng.getrandbits(64), rng.getrandbits(64)]
    entries: list[Entry] = []
    for n in range(count):
        value = flip(rng.choice(centres), rng.sample(range(10), rng.randint(0, 5)))
        digest = f"text {value} {rng.randint(0, 1)}"
        entries.append(entry(f"id{rng.randint(0, 9)}{n}", value, digest=digest, lang=rng.choice(["zh", "en"])))
    return linked_anew(entries)


def linked_anew(entries: list[Entry]) -> list[Entry]:
    links = linked(entries, {each.row.id: "nothing" for each in entries})
    return [with_links(each, *links[each.row.id]) for each in entries]


def with_links(entry: Entry, group: str, duplicate_of: str | None) -> Entry:
    return replace(entry, row=replace(entry.row, group=group, duplicate_of=duplicate_of))


@pytest.mark.parametrize("seed", range(4))
def test_the_links_after_a_removal_are_those_of_the_reference(store: Store, seed: int) -> None:
    entries = planted(60, seed)
    write(store, *entries)
    rng = random.Random(seed)
    left = list(entries)
    while len(left) > 5:
        gone = {each.row.id for each in rng.sample(left, len(left) // 3)}
        before = found(store)
        assert Documents(store).remove(gone | {"never there"}, rule="fingerprint") == gone
        left = [each for each in left if each.row.id not in gone]
        assert found(store) == linked(left, {id: original for id, (_, original) in before.items()})


@pytest.mark.parametrize("seed", range(2))
def test_the_links_after_a_removal_by_a_clause_are_those_of_the_reference(store: Store, seed: int) -> None:
    entries = planted(60, seed)
    write(store, *entries)
    kept = [each for each in entries if '"lang": "zh"' in each.source]
    assert len(Documents(store).remove(matching={"term": {"lang": "en"}}, rule="fingerprint")) == 60 - len(kept)
    assert found(store) == linked(kept, {each.row.id: each.row.duplicate_of for each in entries})
    assert len(Documents(store).remove(matching={"term": {"lang": "en"}}, rule="fingerprint")) == 0


def test_a_chain_comes_apart_where_its_link_is_removed(store: Store) -> None:
    write(store, *linked_anew([entry(f"id{n}", (1 << (3 * n)) - 1) for n in range(20)]))
    assert {group for group, _ in found(store).values()} == {"id0"}
    Documents(store).remove(["id10", "id0"], rule="fingerprint")
    after = found(store)
    assert {id: after[f"id{id}"] for id in (1, 9, 11, 19)} == {
        1: ("id1", None),
        9: ("id1", "id8"),
        11: ("id11", None),
        19: ("id11", "id18"),
    }


def crowd(count: int) -> list[Entry]:
    """Copies, near ones and others, all linked to one head that is in the midst of them."""
    rng = random.Random(1)
    values = [flip(0, rng.sample(range(16), rng.randint(0, 2))) for _ in range(count)]
    return _to_head([entry("head", 0), *(entry(f"m{n}", v, digest=f"d{v}") for n, v in enumerate(values))])


def _to_head(entries: list[Entry]) -> list[Entry]:
    return [each if each.row.id == "head" else with_links(each, "head", "head") for each in entries]


@pytest.mark.slow
def test_a_group_of_three_thousand_finds_another_head(large: Store) -> None:
    entries = crowd(3_000)
    write(large, *entries)
    assert Documents(large).remove(["head"], rule="fingerprint") == {"head"}
    after = found(large)
    expected = linked(entries[1:], {each.row.id: each.row.duplicate_of for each in entries})
    assert {id: original for id, (_, original) in after.items()} == {
        id: original for id, (_, original) in expected.items()
    }
    assert after == expected


@pytest.mark.slow
def test_thousands_of_one_group_are_removed_by_a_clause(large: Store) -> None:
    write(large, *crowd(2_500))
    some = [f"m{n}" for n in range(2_500) if n % 5]
    removed = len(Documents(large).remove(matching={"ids": {"values": ["head", *some]}}, rule="fingerprint"))
    assert removed == len(some) + 1
    after = found(large)
    assert after.keys() == {f"m{n}" for n in range(0, 2_500, 5)}
    assert all(after[head] == (head, None) for head, _ in after.values())
    assert all(original is None or original in after for _, original in after.values())


LOST = StoreUnavailable("the connection ended")


@pytest.mark.parametrize("verb", ["by id", "by a clause"])
def test_what_was_removed_before_the_response_got_lost_is_counted(large: Store, verb: str) -> None:
    write(large, entry("a", 0), entry("b", 1, group="a", duplicate_of="a"), entry("c", 99 << 20, lang="en"))
    documents = Documents(Failing(large, "remove", 1, LOST, done=True))
    if verb == "by id":
        assert documents.remove(["a", "c", "never there"], rule="fingerprint") == {"a", "c"}
    else:
        assert len(documents.remove(matching={"ids": {"values": ["a", "c"]}}, rule="fingerprint")) == 2
    assert found(large) == {"b": ("b", None)}


def test_seen_items_that_were_removed_before_the_response_got_lost_are_counted(large: Store) -> None:
    seen = SeenItems(Failing(large, "remove_users", 1, LOST, done=True))
    seen.setup()
    seen.add("ann", [1])
    assert [seen.remove("ann"), seen.remove("ann")] == [True, False]


def test_documents_that_others_keep_changing_end_the_removal_with_an_error() -> None:
    store = new_store(None, "sqlite")  # type: ignore[arg-type]
    write(store, *(entry(f"id{n}", n << 20, lang="en") for n in range(5)))

    class Busy(Failing):
        def perform(self, op: StoreCall) -> Any:
            if op.method == "remove":
                write(store, entry("id2", random.getrandbits(64), lang="en"))
            return super().perform(op)

    with pytest.raises(ConflictError, match=r"^4 documents removed so far, .* remove the others again$"):
        remove_matching(Busy(store, "remove", 1, LOST), {"term": {"lang": "en"}}, rule_of(store), deadline=0.2)
    assert found(store).keys() == {"id2"}


def test_what_no_longer_matches_when_its_turn_comes_is_kept(store: Store) -> None:
    write(store, *(entry(f"id{n}", n << 20, lang="en") for n in range(5)))
    changed = entry("id2", 99, digest="new", lang="zh")
    other = Meanwhile(store, "remove", lambda: write(store, changed))
    assert len(Documents(other).remove(matching={"term": {"lang": "en"}}, rule="fingerprint")) == 4
    assert found(store) == {"id2": ("id2", None)}


def test_what_still_matches_after_a_change_is_removed_too(store: Store) -> None:
    write(store, *(entry(f"id{n}", n << 20, lang="en") for n in range(5)))
    changed = entry("id2", 99, digest="new", lang="en")
    other = Meanwhile(store, "remove", lambda: write(store, changed))
    assert len(Documents(other).remove(matching={"term": {"lang": "en"}}, rule="fingerprint")) == 5
    assert found(store) == {}


def test_what_moves_on_before_its_page_comes_is_removed_too(store: Store) -> None:
    write(store, *(entry(f"id{n}", n << 20, lang="en") for n in range(5)))
    changed = entry("id3", 99, digest="new", lang="en")
    other = Meanwhile(store, "remove", lambda: write(store, changed))
    assert remove_matching(other, {"term": {"lang": "en"}}, rule_of(store), batch=2) == 5
    assert found(store) == {}


def write_without_fingerprint(store: Store, id: str, **fields: Any) -> None:
    """A document as it is before a backfill."""
    if store.name.startswith("http"):
        url, _, index = store.name.rpartition("/")
        with Elasticsearch(url) as client:
            client.index(index=index, id=id, document=fields, refresh=True)
    else:
        bare = entry(id, None, **fields)
        write(store, replace(bare, row=replace(bare.row, digest="", group="")))


def test_what_matches_is_removed_with_or_without_a_fingerprint(store: Store) -> None:
    write(store, *(entry(f"id{n}", n << 20, lang=lang) for n, lang in enumerate(["en", "zh", "en"])))
    for n, lang in enumerate(["en", "zh", "en"]):
        write_without_fingerprint(store, f"old{n}", lang=lang)
    assert len(Documents(store).remove(matching={"term": {"lang": "en"}}, rule="fingerprint")) == 4
    assert store.count(Scan(fields=())) == 2
    assert store.fetch(("id1", "old1")).keys() == {"id1", "old1"}
    assert Documents(store).remove(["old1"], rule="fingerprint") == {"old1"}


@pytest.mark.parametrize("verb", ["by id", "by a clause"])
def test_what_is_left_behind_is_linked_only_among_those_that_match(store: Store, verb: str) -> None:
    write(store, entry("b1", 0, tenant="b"), entry("a1", 1, tenant="a"))
    write(store, *(entry(f"a{n}", value, group="a1", duplicate_of="a1", tenant="a") for n, value in ((2, 3), (3, 7))))
    documents, among = Documents(store), {"term": {"tenant": "a"}}
    if verb == "by id":
        assert documents.remove(["a1"], filter=among, rule="fingerprint") == {"a1"}
    else:
        assert len(documents.remove(matching={"ids": {"values": ["a1"]}}, filter=among, rule="fingerprint")) == 1
    assert found(store) == {"b1": ("b1", None), "a2": ("a2", None), "a3": ("a2", "a2")}
    documents.remove(["a2"], rule="fingerprint")
    assert found(store) == {"b1": ("b1", None), "a3": ("b1", "b1")}, "without it all are looked at"


def test_what_others_link_to_a_document_on_its_way_out_is_linked_anew(store: Store) -> None:
    write(store, entry("a", 0), entry("b", 1))
    late = entry("late", 1, group="a", duplicate_of="a")
    other = Meanwhile(store, "remove", lambda: write(store, late))
    assert Documents(other).remove(["a"], rule="fingerprint") == {"a"}
    assert found(store) == {"b": ("b", None), "late": ("b", "b")}


def test_broken_off_and_repeated_it_ends_the_same(store: Store) -> None:
    entries = planted(60, 9)
    write(store, *entries)
    gone = {each.row.id for each in entries[:20]}

    class AwayError(Exception):
        pass

    def away() -> None:
        raise AwayError

    for method in ("relink", "remove"):
        with pytest.raises(AwayError):
            Documents(Meanwhile(store, method, away)).remove(gone, rule="fingerprint")
        assert all(original in found(store) for _, original in found(store).values() if original)
    Documents(store).remove(gone, rule="fingerprint")
    assert found(store) == linked(entries[20:], {each.row.id: each.row.duplicate_of for each in entries})
