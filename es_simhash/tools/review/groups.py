"""The groups of a store and their members, as ``ingest`` and ``group`` wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.tools.review.group_table import BATCH, GroupTable, no_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_simhash import Documents
    from es_simhash.tools.review.group_table import GroupMember, GroupSummary, Progress


def groups(
    documents: Documents, *, filter: Mapping[str, Any] | None = None, progress: Progress = no_progress
) -> Iterator[GroupSummary]:
    """Yield the groups of two or more documents, the largest first.

    All documents are read before the first group is yielded. They are held in a temporary file, some 150 bytes each, so
    memory does not grow with their number.

    :param filter: count only documents that match this filter.
    :param progress: is called with ``read`` and a number of documents.
    :raises InputError: for a filter that is none.
    """
    rows = documents.export(filter=filter)

    def summaries() -> Iterator[GroupSummary]:
        with GroupTable() as table:
            table.add(rows, progress)
            yield from table.summaries()

    return summaries()


def members(documents: Documents, id: str | int) -> list[GroupMember]:
    """Return the members of the group of a document, the head first, then by their distance from the head.

    A document that stands alone is the only member of its group. Memory: some 500 bytes a member.

    :param id: of any member.
    :raises InputError: if there is no such document, or it has no fingerprint.
    """
    row = next(iter(documents.fetch([id]).values()), None)
    if row is None:
        raise InputError(f"there is no document with id {str(id)!r}: name a stored document")
    if row.damaged or not row.digest:
        backfill = f"`es-simhash backfill --text-field FIELD --store {documents.name}`"
        raise InputError(row.damaged or f"document {row.id!r} has no fingerprint: run {backfill}")
    documents.store.refresh()
    found = documents.store.dependents((), (row.group,))
    ids = sorted({row.id, row.group} | found)
    with GroupTable() as table:
        for start in range(0, len(ids), BATCH):
            rows = documents.fetch(ids[start : start + BATCH])
            table.add(each for each in rows.values() if each.group == row.group and not each.damaged)
        return list(table.members(row.group))
