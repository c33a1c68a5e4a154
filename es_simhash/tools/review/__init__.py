"""What does a person check? Groups with their sizes, the words in which two texts differ, labels, and the report."""

from es_simhash.tools.review.findings import Review, ReviewedGroup, review
from es_simhash.tools.review.group_table import GroupMember, GroupSummary, Totals
from es_simhash.tools.review.groups import groups, members
from es_simhash.tools.review.near_misses import NearMiss

__all__ = [
    "GroupMember",
    "GroupSummary",
    "NearMiss",
    "Review",
    "ReviewedGroup",
    "Totals",
    "groups",
    "members",
    "review",
]
