"""stats counts what a slow count of all Rows finds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import Documents, Scheme, SeenItems
from es_simhash.contract import Entry, Row
from es_simhash.errors import NotSetUp
from es_simhash.search.encoding import encoded
from es_simhash.search.hamming import hamming_distance
from es_simhash.tools.review.group_table import GroupTable
from es_simhash.tools.stats import stats
from tests.contract.documents import keys
from tests.contract.linear import LinearStore

if TYPE_CHECKING:
    from pathlib import Path

IDS = [f"id {n}" for n in range(6)]


def documents_of(bits: int) -> st.SearchStrategy[list[Row]]:
    """Documents with few different values, so that they share them. Some originals do not exist."""
    fingerprints = st.none() | st.sampled_from([0, 1, 3, (1 << bits) - 1])
    row = st.builds(
        Row,
        id=st.sampled_from(IDS),
        fingerprint=fingerprints,
        digest=st.sampled_from(["x", "y", "z"]),
        group=st.sampled_from(IDS[:3]),
        duplicate_of=st.none() | st.sampled_from([*IDS, "gone"]),
        written=st.just(1),
        keys=st.lists(st.sampled_from(keys("m1", "g2", "m3")), unique=True).map(tuple),
    )
    never = st.builds(Row, st.sampled_from(IDS), st.none(), st.just(""), st.just(""), st.none(), st.just(0))
    return st.lists(row | never, unique_by=lambda each: each.id)


@pytest.mark.parametrize("bits", [64, 128])
@settings(max_examples=30)
@given(data=st.data())
def test_stats_are_what_a_slow_count_finds(bits: int, data: Any) -> None:
    rows = data.draw(documents_of(bits))
    store = LinearStore()
    store.set_up(Scheme(bits=bits), keys=True)
    store.write(tuple(Entry(row, "{}") for row in rows), bits)
    found = stats(Documents(store)).documents
    assert found is not None
    known = [row for row in rows if row.digest]
    by_id = {row.id: row for row in known}
    groups = Counter(row.group for row in known)
    copies = [(row, by_id.get(row.group)) for row in known if row.group != row.id and groups[row.group] > 1]
    near = [(copy, head) for copy, head in copies if head is None or copy.digest != head.digest]
    distances = Counter(hamming_distance(copy.fingerprint, head.fingerprint) for copy, head in near if head is not None)
    distances.pop(None, None)
    with GroupTable() as table:
        table.add(known)
        totals = table.totals()
    values = [row.fingerprint for row in known if row.fingerprint is not None]
    hex_digits = Counter(f"{value:0{bits // 4}x}" for value in values)
    segments = Counter(
        f"{number}:{digits[4 * number : 4 * number + 4]}"
        for digits in hex_digits.elements()
        for number in range(bits // 16)
    )
    shared_keys = Counter(key for row in known for key in encoded(row.keys))
    assert (found.documents, found.without) == (len(rows), len(rows) - len(known))
    assert (found.fingerprinted, found.too_short) == (len(values), len(known) - len(values))
    assert found.exact_copies == len(copies) - len(near) == totals.exact
    assert found.near_copies == totals.members - totals.groups - totals.exact, "as the report says"
    if all(head in by_id and by_id[head].group == head for head, size in groups.items() if size > 1):
        assert found.near_copies == len(near)
    assert found.lost_originals == sum(1 for row in known if row.duplicate_of not in (None, *by_id))
    assert found.distances == distances
    assert found.groups == Counter(size for size in groups.values() if size > 1)
    assert dict(found.fingerprints.values) == {value: n for value, n in hex_digits.items() if n > 1}
    assert dict(found.keys.values) == {key: n for key, n in shared_keys.items() if n > 1}
    shared = sorted((n for n in segments.values() if n > 1), reverse=True)[:10]
    assert [n for _, n in found.segments.values] == shared
    assert all(segments[value] == n for value, n in found.segments.values)
    assert all(groups[head] == size for head, size in found.largest)


def test_what_many_documents_share_is_hot() -> None:
    store = LinearStore()
    store.set_up(Scheme())
    rows = [Row(f"{n}", 7 if n < 501 else 8 << 16, "x", "0", "0" if n else None, n) for n in range(1001)]
    store.write(tuple(Entry(row, "{}") for row in rows), 64)
    found = stats(Documents(store)).documents
    assert found is not None
    assert found.fingerprints.values == (("0000000000000007", 501), ("0000000000080000", 500))
    assert found.fingerprints.hot == 1
    assert found.segments.hot == 4, "three that are 0 in all of them, and 0007"
    assert found.largest == (("0", 1001),)
    assert found.exact_copies == 1000


def test_stats_of_a_file_have_the_bytes_and_the_filters_of_users(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'both.db'}"
    with Documents(address) as documents:
        documents.setup(keys=False)
        with SeenItems(address, capacity=10, error_rate=0.01) as seen:
            seen.add("ann", ["a", "b"])
            seen.add("bob", [f"{n}" for n in range(50)])
        found = stats(documents)
    assert found.space.total == (tmp_path / "both.db").stat().st_size or found.space.total
    assert found.seen is not None
    assert (found.seen.users, found.seen.complete, found.seen.filters, found.seen.damaged) == (2, True, 2, 0)
    assert found.seen.fill == {"up to 25%": 1, "up to 50%": 0, "up to 75%": 0, "up to 100%": 0, "grown": 1}
    assert 0 < found.seen.mean_error < found.seen.largest_error <= found.seen.error_rate


def test_a_store_that_was_not_set_up_has_no_stats(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'none.db'}") as documents, pytest.raises(NotSetUp, match="does not exist"):
        stats(documents)
    assert list(tmp_path.iterdir()) == []
