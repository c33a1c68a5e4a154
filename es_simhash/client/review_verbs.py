"""The verbs by which a person checks what was found: groups, a report, duplicates to remove, and whole documents."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from es_simhash.client.arguments import check_optional_filter, checked_ids
from es_simhash.client.document_verbs import DocumentVerbs
from es_simhash.contract import Count, Dependents, Fetch, FetchFields, Refresh, Scan, ask, each_page
from es_simhash.errors import InputError
from es_simhash.tools.review.findings import Review, ReviewedGroup
from es_simhash.tools.review.group_table import GroupTable
from es_simhash.verbs.duplicates import duplicates_of_heads, remove_duplicates
from es_simhash.verbs.group import no_progress
from es_simhash.verbs.near_misses import near_misses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Unpack

    from es_simhash.client.drivers import Stream
    from es_simhash.contract import Flow, ScanPage
    from es_simhash.ingest.performer import Performer
    from es_simhash.similarity.rule import DuplicateRule, RuleOptions
    from es_simhash.tools.review.group_table import GroupMember, GroupSummary
    from es_simhash.verbs.duplicates import Duplicate
    from es_simhash.verbs.group import Progress
    from es_simhash.verbs.near_misses import NearMiss
    from es_simhash.verbs.rule import ResolvedRule

_BATCH = 1_000
"""Groups that are yielded, and Rows that are fetched, at once."""
_GROUPS = 50
"""Groups of a Review whose members are compared with their heads at once."""


class ReviewVerbs(DocumentVerbs):
    """All verbs of :class:`~es_simhash.Documents` and :class:`~es_simhash.AsyncDocuments`."""

    def groups(
        self, *, filter: Mapping[str, Any] | None = None, progress: Progress = no_progress
    ) -> Stream[GroupSummary]:
        """Return the groups of two or more documents, the largest first.

        The groups are those that ``ingest`` and ``group`` wrote. All documents are read before the first group is
        returned. They are held in a temporary file, some 150 bytes each, so memory does not grow with their number.

        :param filter: count only documents that match this filter.
        :param progress: is called with ``read`` and a number of documents.
        """
        exported = self.export(filter=filter)

        def summaries(performer: Performer) -> Iterator[Sequence[GroupSummary]]:
            with GroupTable() as table:
                for rows in exported(performer):
                    table.add(rows)
                    progress("read", len(rows))
                found = table.summaries()
                while some := list(islice(found, _BATCH)):
                    yield some

        return summaries

    def members(self, id: str | int) -> Flow[list[GroupMember]]:
        """Return the members of the group of a document, the head first, then by their distance from the head.

        A document that stands alone is the only member of its group. Memory: some 500 bytes a member.

        :param id: of any member.
        :raises InputError: if there is no such document, or it has no fingerprint.
        """
        return self._members(checked_ids([id])[0])

    def _members(self, id: str) -> Flow[list[GroupMember]]:
        yield from self._opening.check()
        yield from ask(Refresh())
        row = (yield from ask(Fetch((id,)))).get(id)
        if row is None:
            raise InputError(f"there is no document with id {id!r}: name a stored document")
        if row.damaged or not row.digest:
            backfill = f"`es-simhash backfill --text-field FIELD --store {self._opening.name}`"
            raise InputError(row.damaged or f"document {id!r} has no fingerprint: run {backfill}")
        found = yield from ask(Dependents((), (row.group,)))
        ids = sorted({id, row.group} | found)
        with GroupTable() as table:
            for start in range(0, len(ids), _BATCH):
                rows = yield from ask(Fetch(tuple(ids[start : start + _BATCH])))
                table.add(each for each in rows.values() if each.group == row.group and not each.damaged)
            return list(table.members(row.group))

    def sources(
        self, ids: Iterable[str | int], *, fields: Sequence[str] | None = None
    ) -> Flow[dict[str, dict[str, Any]]]:
        """Return stored documents as they were written, by id. Ids that do not exist are left out.

        All ids are asked for in one request: a hundred are fine.

        :param fields: return only these fields; a dot leads into an object. None for the whole documents.
        """
        names = None if fields is None else tuple(fields)
        return self._sources(tuple(dict.fromkeys(checked_ids(ids))), names)

    def _sources(self, ids: tuple[str, ...], fields: tuple[str, ...] | None) -> Flow[dict[str, dict[str, Any]]]:
        yield from self._opening.check()
        return (yield from ask(FetchFields(ids, fields)))

    def review(
        self,
        *,
        groups: int = 100,
        members: int = 6,
        near_misses: int = 20,
        seed: int = 0,
        filter: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
        **rule: Unpack[RuleOptions],
    ) -> Flow[Review]:
        """Return what a person should look at: counts, the largest groups, and near misses.

        All documents are read twice. As for :meth:`groups`, they are held in a temporary file; for the near misses a
        million documents at most are held in memory, 400 bytes each.

        :param groups: how many of the largest groups.
        :param members: how many members of each of them.
        :param near_misses: how many pairs just outside the rule. They come from a random sample.
        :param seed: another seed draws another sample.
        :param filter: only documents that match this filter.
        :param progress: is called with ``read`` and a number of documents while they are read for the first time.
        :param rule: as for :meth:`ingest`: use the rule that made the groups.
        """
        for name, number in (("groups", groups), ("members", members), ("near_misses", near_misses)):
            if type(number) is not int or number < 0:
                raise InputError(f"{name} is {number!r}: use a whole number from 0")
        check_optional_filter(filter)
        return self._review((groups, members, near_misses), seed, filter, self._rule(rule), progress)

    def _review(
        self,
        most: tuple[int, int, int],
        seed: int,
        filter: Mapping[str, Any] | None,
        rule: DuplicateRule,
        progress: Progress,
    ) -> Flow[Review]:
        resolved = yield from self._opening.resolve(rule)
        fingerprinter = yield from self._opening.fingerprinter()
        missing = yield from ask(Count(Scan(None, filter, (), missing=True)))
        yield from ask(Refresh())
        with GroupTable() as table:

            def take(page: ScanPage) -> None:
                table.add(page.rows)
                progress("read", len(page.rows))

            yield from each_page(Scan(filter=filter), take)
            totals = table.totals()
            shown = [
                (summary, tuple(table.members(summary.group, most[1], farthest_first=True)))
                for summary in table.summaries(most[0])
            ]
        reviewed: list[ReviewedGroup] = []
        for start in range(0, len(shown), _GROUPS):
            reviewed += yield from _with_outside(shown[start : start + _GROUPS], resolved)
        misses: list[NearMiss] = []
        if most[2]:
            misses = yield from near_misses(fingerprinter.scheme, resolved, most[2], seed, filter)
        return Review(totals, missing, resolved.max_distance, tuple(reviewed), tuple(misses))

    def duplicates(self, *, filter: Mapping[str, Any] | None = None, **rule: Unpack[RuleOptions]) -> Stream[Duplicate]:
        """Return the members of groups that are duplicates of the head of their group, in no particular order.

        These are the documents that :meth:`remove_duplicates` removes. A member that only a chain of other documents
        connects with the head is not among them.

        :param filter: only members that match this filter.
        :param rule: as for :meth:`ingest`: use the rule that made the groups.
        """
        check_optional_filter(filter)
        checked = self._rule(rule)
        exported = self.export(filter=filter)

        def found(performer: Performer) -> Iterator[Sequence[Duplicate]]:
            resolved = performer.perform(self._opening.resolve(checked))
            for rows in exported(performer):
                members = [row for row in rows if row.group != row.id]
                for start in range(0, len(members), _BATCH):
                    yield performer.perform(duplicates_of_heads(members[start : start + _BATCH], resolved))

        return found

    def remove_duplicates(
        self,
        duplicates: Iterable[Duplicate],
        *,
        save: Callable[[Mapping[str, dict[str, Any]]], None] | None = None,
        filter: Mapping[str, Any] | None = None,
        **rule: Unpack[RuleOptions],
    ) -> Flow[int]:
        """Remove documents that :meth:`duplicates` returned, all of them or some. The heads stay.

        Each is looked at again, and stays if it is no duplicate of its head any more. Take all duplicates before you
        call this: ``list(documents.duplicates())``. Do not run ``group`` in between.

        :param save: is called before each removal, with the documents by id.
        :param filter: only documents that match this filter can become another original.
        :param rule: as for :meth:`duplicates`.
        :returns: how many documents were removed.
        """
        check_optional_filter(filter)
        return self._remove_duplicates(duplicates, self._rule(rule), filter, save)

    def _remove_duplicates(
        self,
        duplicates: Iterable[Duplicate],
        rule: DuplicateRule,
        filter: Mapping[str, Any] | None,
        save: Callable[[Mapping[str, dict[str, Any]]], None] | None,
    ) -> Flow[int]:
        resolved = yield from self._opening.resolve(rule)
        return (yield from remove_duplicates(duplicates, resolved, filter, save))


def _with_outside(
    shown: Sequence[tuple[GroupSummary, tuple[GroupMember, ...]]], rule: ResolvedRule
) -> Flow[list[ReviewedGroup]]:
    """Return the groups, each with the ids of its members that are no duplicates of the head."""
    ids = {member.id for _, members in shown for member in members} | {summary.group for summary, _ in shown}
    rows = yield from ask(Fetch(tuple(sorted(ids)), rule.time_field))
    pairs = [
        (rows[member.group], rows[member.id])
        for _, members in shown
        for member in members
        if member.id in rows and member.group in rows and member.id != member.group
    ]
    duplicates = {row.id for _, row in (yield from rule.duplicates(pairs))}
    return [
        ReviewedGroup(
            summary,
            members,
            frozenset(member.id for member in members if member.id != member.group and member.id not in duplicates),
        )
        for summary, members in shown
    ]
