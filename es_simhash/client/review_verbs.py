"""The verbs by which a person checks what was found: whole documents, and duplicates to remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.client.arguments import check_optional_filter, checked_ids
from es_simhash.client.document_verbs import DocumentVerbs
from es_simhash.contract import Fetch, FetchFields, ask
from es_simhash.verbs.duplicates import duplicates_of_heads, remove_duplicates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Unpack

    from es_simhash.client.drivers import Stream
    from es_simhash.contract import Flow
    from es_simhash.ingest.performer import Performer
    from es_simhash.similarity.rule import DuplicateRule, RuleOptions
    from es_simhash.verbs.duplicates import Duplicate

_BATCH = 1_000
"""Members of groups that are compared with their heads at once."""


class ReviewVerbs(DocumentVerbs):
    """All verbs of :class:`~es_simhash.Documents` and :class:`~es_simhash.AsyncDocuments`."""

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

    def are_duplicates(
        self, pairs: Iterable[tuple[str | int, str | int]], **rule: Unpack[RuleOptions]
    ) -> Flow[list[bool]]:
        """Return for each pair of stored documents whether they are duplicates of each other.

        Stored fingerprints are compared, and stored texts if the rule has a ``confirm``. A document that does not exist
        is no duplicate. A hundred pairs at once are fine. Without pairs only the rule and the store are checked.

        :param pairs: of ids.
        :param rule: as for :meth:`ingest`.
        """
        checked = [(a, b) for a, b in map(checked_ids, pairs)]
        return self._are_duplicates(checked, self._rule(rule))

    def _are_duplicates(self, pairs: list[tuple[str, str]], rule: DuplicateRule) -> Flow[list[bool]]:
        resolved = yield from self._opening.resolve(rule)
        if not pairs:
            return []
        rows = yield from ask(Fetch(tuple(sorted({id for pair in pairs for id in pair})), resolved.time_field))
        stored = [(rows[a], rows[b]) for a, b in pairs if a in rows and b in rows]
        found = {(a.id, b.id) for a, b in (yield from resolved.duplicates(stored))}
        return [pair in found for pair in pairs]

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
