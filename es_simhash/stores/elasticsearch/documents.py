"""Set up the index for documents, and read and write documents by their ids."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState, Written
from es_simhash.contract.store import NO_VERSIONS
from es_simhash.errors import TooLarge
from es_simhash.exact_json import dumps
from es_simhash.stores.elasticsearch.by_id import CONFLICT, bulk, if_version, indices_of, stored_documents
from es_simhash.stores.elasticsearch.failures import (
    check_complete,
    check_count,
    check_items,
    item_fault,
    item_reason,
    passes,
)
from es_simhash.stores.elasticsearch.keys_state import KEY
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from es_simhash.stores.elasticsearch.rollover import make_alias, make_template
from es_simhash.stores.elasticsearch.rows import to_row, update_operation, write_operation
from es_simhash.stores.elasticsearch.set_up import describe_part, set_up_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Entry, Link, Row
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.stores.elasticsearch.index import Index

NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def describe(index: Index) -> Scheme | None:
    """Return the Scheme that the index was set up with; None if it was not set up."""
    return describe_part(DOCUMENTS, index)


def set_up(index: Index, scheme: Scheme, keys: bool = False, template: bool = False) -> str:
    """Make the index, or add our fields to an index that exists."""
    new = {KEY: KeysState.COMPLETE.value} if keys else {}
    if not template:
        return set_up_part(DOCUMENTS, scheme, index, new)
    is_new = make_alias(index, DOCUMENTS.mapping(scheme, new))
    made = "created" if is_new else set_up_part(DOCUMENTS, scheme, index, new)
    make_template(DOCUMENTS, scheme, index)
    return made


def fetch(index: Index, ids: tuple[str, ...], time_field: str | None = None) -> dict[str, Row]:
    time_fields = () if time_field is None else (time_field,)
    documents = stored_documents(ids, ("simhash", *time_fields), index)
    return {document["_id"]: to_row(document, time_field) for document in documents}


def fetch_fields(index: Index, ids: tuple[str, ...], fields: tuple[str, ...] | None) -> dict[str, dict[str, Any]]:
    documents = stored_documents(ids, fields, index)
    sources = {document["_id"]: document.get("_source", {}) for document in documents}
    if fields is None:
        for source in sources.values():
            source.pop("simhash", None)
    return sources


def fetch_whole(index: Index, ids: tuple[str, ...]) -> dict[str, str]:
    documents = stored_documents(ids, None, index)
    return {document["_id"]: dumps(document["_source"]) for document in documents}


def restore(index: Index, whole: Mapping[str, str]) -> Written:
    operations = [(id, (dumps({"create": {"_id": id}}), text)) for id, text in whole.items()]
    return written_by(operations, index, {"pipeline": "_none"})


def write(
    index: Index,
    entries: tuple[Entry, ...],
    bits: int,
    pipeline: str | None = None,
) -> Written:
    # A new document must not exist in an older index of the alias either: it is created in the index that has it.
    stored_in = indices_of([entry.row.id for entry in entries if entry.row.version is None], index)
    operations = [
        (entry.row.id, write_operation(entry, bits, index, stored_in.get(entry.row.id, {}))) for entry in entries
    ]
    options = {} if pipeline is None else {"pipeline": pipeline}
    written = written_by(operations, index, options)
    return _without_own(written, [entry.row for entry in entries], index)


def annotate(index: Index, rows: tuple[Row, ...], bits: int) -> Written:
    operations = [(row.id, update_operation(row, bits, index)) for row in rows]
    written = written_by(operations, index)
    return _without_own(written, rows, index)


def _without_own(written: Written, rows: Sequence[Row], index: Index) -> Written:
    """Return what was written, without conflicts with this program's own former attempt, whose response got lost.

    :param rows: as they were to be written.
    """
    if not written.conflicts:
        return written
    stored = fetch(index, tuple(sorted(written.conflicts)))
    conflicts = {row.id for row in rows if row.id in written.conflicts and not _equal(row, stored.get(row.id))}
    return replace(written, conflicts=frozenset(conflicts))


def _equal(row: Row, stored: Row | None) -> bool:
    # An index with synthetic _source returns the keys sorted.
    if row != stored or row.content not in (None, stored.content):
        return False
    return (set(row.keys), row.length) == (set(stored.keys), stored.length)


def written_by(
    operations: Sequence[tuple[str, tuple[Any, Any]]], index: Index, options: Mapping[str, str] = NO_OPTIONS
) -> Written:
    """Send a bulk request, and return what it did.

    :param operations: id of each document, and its two lines of the bulk request.
    :param options: of the bulk request.
    """
    if not operations:
        return Written({}, searchable=False)
    lines = [line for _, pair in operations for line in pair]
    try:
        # Of each result only what is read below: the rest would take time to make and to parse.
        filter_path = "errors,items.*.status,items.*.error" + (",items.*._index" if index.members.several else "")
        body = index.send("POST", "_bulk", lines, filter_path=filter_path, **options)
    except TooLarge as error:
        return _written_in_halves(operations, index, error, options)
    check_count(body["items"], operations, index.name)
    if body.get("errors") is False:
        return Written({}, searchable=False)
    check_items(body["items"], index)
    refused: dict[str, str] = {}
    busy: set[str] = set()
    conflicts: set[str] = set()
    for (id, _), item in zip(operations, body["items"], strict=True):
        ((kind, result),) = item.items()
        if result["status"] == 409 or (kind == "update" and result["status"] in CONFLICT):
            conflicts.add(id)
        elif passes(result, result["status"]):
            busy.add(id)
        elif result["status"] >= 300:
            fault = item_fault(result, index)
            refused[id] = f"the server refused it: {item_reason(result['error'])}" if fault is None else str(fault)
    return Written(refused, searchable=False, busy=frozenset(busy), conflicts=frozenset(conflicts))


def _written_in_halves(
    operations: Sequence[tuple[str, tuple[Any, Any]]], index: Index, error: TooLarge, options: Mapping[str, str]
) -> Written:
    """Send a bulk request that was too large as two, and each half again if it is too large.

    A document that is too large by itself is refused with the error.
    """
    if len(operations) == 1:
        return Written({operations[0][0]: str(error)}, searchable=False)
    middle = len(operations) // 2
    first = written_by(operations[:middle], index, options)
    second = written_by(operations[middle:], index, options)
    return Written(
        {**first.refused, **second.refused},
        searchable=False,
        busy=first.busy | second.busy,
        conflicts=first.conflicts | second.conflicts,
    )


def remove(index: Index, ids: tuple[str, ...], versions: Mapping[str, Any] = NO_VERSIONS) -> set[str]:
    if not ids:
        return set()
    without_version = [id for id in ids if id not in versions]
    stored_in = indices_of(without_version, index, always=index.routing is not None)
    operations = [{"delete": {"_id": id, **stored_in.get(id, {}), **if_version(versions.get(id), index)}} for id in ids]
    results = bulk(operations, index)
    return {result["_id"] for result in results if result.get("result") == "deleted"}


def relink(index: Index, links: Mapping[str, Link]) -> set[str]:
    operations: list[dict[str, Any]] = []
    for id, link in links.items():
        simhash = {"group": link.group, "duplicate_of": link.duplicate_of}
        operations += ({"update": {"_id": id, **if_version(link.version, index)}}, {"doc": {"simhash": simhash}})
    results = bulk(operations, index, tolerant=True)
    conflicts = {result["_id"] for result in results if "error" in result}
    rows = fetch(index, tuple(sorted(conflicts)))
    return {id for id in conflicts if id not in rows or not _has(rows[id], links[id])}


def _has(row: Row, link: Link) -> bool:
    return (row.group, row.duplicate_of) == (link.group, link.duplicate_of)


def refresh(index: Index) -> None:
    check_complete(index.send("POST", "_refresh"), index.name)
