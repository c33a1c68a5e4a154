"""The groups of rows, compared with a slow way to count them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from es_simhash import Row
from es_simhash.tools.report.groups import Group, Groups, Member, Totals

if TYPE_CHECKING:
    from collections.abc import Sequence

IDS = st.sampled_from("abcdefgh")


def rows_of(groups: dict[str, tuple[str, dict[str, str]]]) -> list[Row]:
    """Return the rows of groups: each has an original and copies, with their digests; some a name of their own."""
    rows = {}
    for original, (digest, copies) in groups.items():
        name = "a name" if original == "a" else original
        rows[original] = Row(original, 0, digest).in_group(name)
        for id, other in copies.items():
            rows.setdefault(id, Row(id, 0, other, duplicate_of=original, pinned=id < "l").in_group(name))
    return [row for row in rows.values() if row.duplicate_of is None or rows[row.duplicate_of].duplicate_of is None]


DIGESTS = st.sampled_from(["x", "y"])
COPIES = st.dictionaries(st.sampled_from("ijklmnop"), DIGESTS)
ROWS = st.dictionaries(IDS, st.tuples(DIGESTS, COPIES), max_size=8).map(rows_of)


@given(ROWS)
def test_groups_and_totals_are_those_that_counting_finds(rows: Sequence[Row]) -> None:
    members = defaultdict(list)
    for row in rows:
        members[row.group].append(row)
    originals = {name: max(row.id for row in theirs if row.duplicate_of is None) for name, theirs in members.items()}
    digests = {name: next(row.digest for row in rows if row.id == id) for name, id in originals.items()}
    expected = [
        Group(name, originals[name], len(theirs), sum(map(digests[name].__eq__, [row.digest for row in theirs])) - 1)
        for name, theirs in members.items()
        if len(theirs) > 1
    ]
    groups = Groups(iter(rows))
    expected.sort(key=lambda group: (-group.members, group.exact, group.name))
    assert list(groups.largest()) == expected
    assert list(groups.largest(1)) == expected[:1]
    assert groups.totals() == Totals(
        len(rows), len(expected), sum(group.members for group in expected), sum(group.exact for group in expected)
    )
    for group in expected:
        theirs = [
            Member(row.id, row.digest == digests[group.name], row.duplicate_of, row.pinned)
            for row in members[group.name]
            if row.id != group.original
        ]
        assert groups.members(group) == sorted(theirs, key=lambda member: (member.exact, member.id))
    groups.close()


def test_a_sample_has_one_document_of_each_text() -> None:
    groups = Groups([Row(id, 0, digest) for id, digest in [("a", "y"), ("b", "x"), ("c", "y")]])
    assert groups.sample(5) == ["b", "a"]
    assert groups.sample(1) == ["b"]
