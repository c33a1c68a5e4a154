"""What a person should look at: the numbers of a store, its largest groups, and near misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_simhash.tools.review.group_table import GroupMember, GroupSummary, Totals
    from es_simhash.verbs.near_misses import NearMiss


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
    """What ``Documents.review`` found.

    :param missing: documents without a fingerprint, because they were never fingerprinted.
    :param max_distance: of the rule, in bits; below 0 if only exact duplicates count.
    :param groups: the largest groups, the largest first.
    :param near_misses: pairs that are just outside the rule, from a random sample; the nearest to the rule first.
    """

    totals: Totals
    missing: int
    max_distance: int
    groups: tuple[ReviewedGroup, ...]
    near_misses: tuple[NearMiss, ...]
