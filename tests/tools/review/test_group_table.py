"""The table of groups, compared with lists and dicts in memory."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from es_simhash.contract import Row
from es_simhash.tools.review.group_table import GroupMember, GroupSummary, GroupTable, Totals

FINGERPRINTS = st.none() | st.integers(0, 15) | st.integers((1 << 128) - 16, (1 << 128) - 1)
ROWS = st.lists(
    st.tuples(st.integers(0, 5), FINGERPRINTS, st.sampled_from("xyz"), st.sampled_from([None, "0"])), max_size=12
).map(
    lambda some: [
        Row(str(n), fingerprint, digest, str(group), original, n)
        for n, (group, fingerprint, digest, original) in enumerate(some)
    ]
)


def distance(head: Row | None, row: Row) -> int | None:
    if head is None or head.fingerprint is None or row.fingerprint is None:
        return None
    return (head.fingerprint ^ row.fingerprint).bit_count()


@given(ROWS)
def test_the_table_says_what_lists_in_memory_say(rows: list[Row]) -> None:
    by_id = {row.id: row for row in rows}
    groups: dict[str, list[GroupMember]] = {}
    for row in rows:
        head = by_id.get(row.group)
        exact = row.id != row.group and head is not None and head.digest == row.digest
        member = GroupMember(row.id, row.group, distance(head, row), exact, row.duplicate_of)
        groups.setdefault(row.group, []).append(member)
    several = {head: members for head, members in groups.items() if len(members) > 1}
    summaries = [
        GroupSummary(
            head,
            len(members),
            sum(member.exact for member in members),
            max((member.distance for member in members if member.distance is not None), default=None),
        )
        for head, members in several.items()
    ]
    summaries.sort(key=lambda group: (-group.members, group.group))
    # Some documents may stand alone, although they name another head: it is a member of another group.
    others = [(by_id.get(row.group), row) for row in rows if row.id != row.group and row.group in several]
    near = [(head, row) for head, row in others if head is None or head.digest != row.digest]
    with GroupTable() as table:
        table.add(rows[:5])
        table.add(rows[5:])
        assert list(table.summaries()) == summaries
        assert list(table.summaries(1)) == summaries[:1]
        assert table.totals() == Totals(
            documents=len(rows),
            too_short=sum(row.fingerprint is None for row in rows),
            groups=len(several),
            members=sum(map(len, several.values())),
            exact=sum(group.exact for group in summaries),
            sizes=dict(Counter(map(len, several.values()))),
            distances=dict(Counter(distance(head, row) for head, row in near)),
        )
        for head, members in groups.items():

            def far(member: GroupMember) -> int:
                return 1_000 if member.distance is None else member.distance

            members.sort(key=lambda each: (each.id != head, far(each), not each.exact, int(each.id)))
            assert list(table.members(head)) == members
            members.sort(key=lambda each: (each.id != head, each.exact, -far(each), int(each.id)))
            assert list(table.members(head, 3, farthest_first=True)) == members[:3]
