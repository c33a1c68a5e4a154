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

HEADS = st.sampled_from("abcdefgh")
ROWS = st.dictionaries(HEADS, st.tuples(HEADS, st.sampled_from(["x", "y"])), max_size=8).map(
    lambda found: [Row(id, 0, digest, duplicate_of=head) for id, (head, digest) in found.items()]
)


@given(ROWS)
def test_groups_and_totals_are_those_that_counting_finds(rows: Sequence[Row]) -> None:
    members = defaultdict(list)
    for row in rows:
        members[row.group].append(row)
    digests = {row.id: row.digest for row in rows if row.id == row.group}
    expected = [
        Group(head, len(theirs), sum(row.digest == digests.get(head) for row in theirs if row.id != head))
        for head, theirs in members.items()
        if len(theirs) > 1
    ]
    groups = Groups(iter(rows))
    expected.sort(key=lambda group: (-group.members, group.exact, group.head))
    assert list(groups.largest()) == expected
    assert list(groups.largest(1)) == expected[:1]
    assert groups.totals() == Totals(
        len(rows), len(expected), sum(group.members for group in expected), sum(group.exact for group in expected)
    )
    for group in expected:
        theirs = [
            (row.digest == digests.get(group.head), row.id) for row in members[group.head] if row.id != group.head
        ]
        assert groups.members(group) == [Member(id, exact) for exact, id in sorted(theirs)]
    groups.close()


def test_a_sample_has_one_document_of_each_text() -> None:
    groups = Groups([Row(id, 0, digest, duplicate_of=id) for id, digest in [("a", "y"), ("b", "x"), ("c", "y")]])
    assert groups.sample(5) == ["b", "a"]
    assert groups.sample(1) == ["b"]
