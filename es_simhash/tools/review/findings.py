"""What a person should look at: the numbers of a store, its largest groups, and near misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Scan
from es_simhash.errors import InputError
from es_simhash.tools.review.group_table import GroupTable, no_progress
from es_simhash.tools.review.near_misses import near_misses as find_near_misses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash import Documents, DuplicateRule
    from es_simhash.tools.review.group_table import GroupMember, GroupSummary, Progress, Totals
    from es_simhash.tools.review.near_misses import NearMiss

    Shown = tuple[GroupSummary, tuple[GroupMember, ...]]

_GROUPS = 50
"""Groups whose members are compared with their heads at once."""


@dataclass(frozen=True)
class ReviewedGroup:
    """A group of a Review.

    :param members: some members: the head first, then those that are no exact duplicates of the head, the farthest
        from the head first; then exact duplicates.
    :param outside: ids of those of ``members`` that are no duplicates of the head by the rule. ``remove_duplicates``
        keeps them.
    """

    summary: GroupSummary
    members: tuple[GroupMember, ...]
    outside: frozenset[str]


@dataclass(frozen=True)
class Review:
    """The result of :func:`review`.

    :param missing: documents without a fingerprint, because they were never fingerprinted.
    :param max_distance: of the rule, in bits; below 0 if only exact duplicates count; None if texts decide at any
        distance.
    :param groups: the largest groups, the largest first.
    :param near_misses: pairs that are just outside the rule, from a random sample; the nearest to the rule first.
    """

    totals: Totals
    missing: int
    max_distance: int | None
    groups: tuple[ReviewedGroup, ...]
    near_misses: tuple[NearMiss, ...]


def review(
    documents: Documents,
    *,
    groups: int = 100,
    members: int = 6,
    near_misses: int = 20,
    seed: int = 0,
    filter: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
    rule: str | DuplicateRule | None = None,
) -> Review:
    """Return what a person should look at: counts, the largest groups, and near misses.

    All documents are read twice. They are held in a temporary file, some 150 bytes each; for the near misses a million
    documents at most are held in memory, 400 bytes each.

    :param groups: how many of the largest groups.
    :param members: how many members of each of them.
    :param near_misses: how many pairs just outside the rule. They come from a random sample.
    :param seed: another seed draws another sample.
    :param filter: only documents that match this filter.
    :param progress: is called with ``read`` and a number of documents while they are read for the first time.
    :param rule: as for :meth:`~es_simhash.Documents.ingest`: use the rule that made the groups.
    :raises InputError: for an invalid argument.
    """
    for name, number in (("groups", groups), ("members", members), ("near_misses", near_misses)):
        if type(number) is not int or number < 0:
            raise InputError(f"{name} is {number!r}: use a whole number from 0")
    checked = documents.rule(rule=rule)
    rows = documents.export(filter=filter)
    documents.are_duplicates([], rule=checked)  # the rule and the store are checked before all documents are read
    scheme = documents.fingerprinter().scheme
    missing = documents.store.count(Scan(None, filter, (), missing=True))
    with GroupTable() as table:
        table.add(rows, progress)
        totals = table.totals()
        shown = [
            (summary, tuple(table.members(summary.group, members, farthest_first=True)))
            for summary in table.summaries(groups)
        ]
    reviewed: list[ReviewedGroup] = []
    for start in range(0, len(shown), _GROUPS):
        reviewed += _with_outside(documents, shown[start : start + _GROUPS], checked)
    misses = find_near_misses(documents, near_misses, checked, seed, filter) if near_misses else []
    any_distance = checked.confirm is not None and checked.max_distance is None
    bits = None if any_distance else checked.bits_allowed(scheme)
    return Review(totals, missing, bits, tuple(reviewed), tuple(misses))


def _with_outside(documents: Documents, shown: Sequence[Shown], rule: DuplicateRule) -> list[ReviewedGroup]:
    """Return the groups, each with the ids of its members that are no duplicates of the head."""
    pairs = [(member.group, member.id) for _, members in shown for member in members if member.id != member.group]
    near = documents.are_duplicates(pairs, rule=rule)
    outside = {id for (_, id), is_near in zip(pairs, near, strict=True) if not is_near}
    return [
        ReviewedGroup(summary, members, frozenset(member.id for member in members) & outside)
        for summary, members in shown
    ]
