"""Handlers of the requests that set up the index, and that read and write documents by their ids."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from es_simhash.contract import (
    Annotate,
    Describe,
    Fetch,
    FetchFields,
    KeysState,
    Refresh,
    Relink,
    Remove,
    SetUp,
    Write,
    Written,
)
from es_simhash.errors import TooLarge
from es_simhash.stores.elasticsearch.calls import handler
from es_simhash.stores.elasticsearch.failures import passes
from es_simhash.stores.elasticsearch.keys_state import KEY
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from es_simhash.stores.elasticsearch.responses import check_complete, check_items, item_fault, item_reason
from es_simhash.stores.elasticsearch.rollover import make_alias, make_template
from es_simhash.stores.elasticsearch.rows import to_row, update_operation, write_operation
from es_simhash.stores.elasticsearch.steps import (
    CONFLICT,
    bulk,
    describe,
    if_version,
    indices_of,
    set_up,
    stored_documents,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Link, Row
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.stores.elasticsearch.calls import Index, Steps

NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def _describe(request: Describe, index: Index) -> Scheme | None:
    return (describe(DOCUMENTS, index))


def _set_up(request: SetUp, index: Index) -> str:
    keys = {KEY: KeysState.of_new_store(request.keys).to_dict()} if request.keys else {}
    if not request.template:
        return (set_up(DOCUMENTS, request.scheme, index, keys))
    is_new = make_alias(index, DOCUMENTS.mapping(request.scheme, keys))
    made = "created" if is_new else (set_up(DOCUMENTS, request.scheme, index, keys))
    make_template(DOCUMENTS, request.scheme, index)
    return made


def _fetch(request: Fetch, index: Index) -> dict[str, Row]:
    time_fields = () if request.time_field is None else (request.time_field,)
    documents = stored_documents(request.ids, ("simhash", *time_fields), index)
    return {document["_id"]: to_row(document, request.time_field) for document in documents}


def _fetch_fields(request: FetchFields, index: Index) -> dict[str, dict[str, Any]]:
    documents = stored_documents(request.ids, request.fields, index)
    sources = {document["_id"]: document.get("_source", {}) for document in documents}
    if request.fields is None:
        for source in sources.values():
            source.pop("simhash", None)
    return sources


def _write(request: Write, index: Index) -> Written:
    actions = dict.fromkeys(request.create, "create")
    operations = [
        (entry.row.id, write_operation(entry, request.bits, actions.get(entry.row.id, "index")))
        for entry in request.entries
    ]
    if stored_in := (indices_of([id for id, _ in operations], index)):
        operations = [
            (id, ({actions.get(id, "index"): {"_id": id, **stored_in.get(id, {})}}, document))
            for id, (_, document) in operations
        ]
    options = {} if request.pipeline is None else {"pipeline": request.pipeline}
    written = _written(operations, index, options)
    return (_without_own(written, [entry.row for entry in request.entries], index))


def _annotate(request: Annotate, index: Index) -> Written:
    operations = [(row.id, update_operation(row, request.bits, index)) for row in request.rows]
    written = _written(operations, index)
    return (_without_own(written, request.rows, index))


def _without_own(written: Written, rows: Sequence[Row], index: Index) -> Written:
    """Return what was written, without conflicts with this program's own former attempt, whose response got lost.

    :param rows: as they were to be written.
    """
    if not written.conflicts:
        return written
    stored = _fetch(Fetch(tuple(sorted(written.conflicts))), index)
    conflicts = {row.id for row in rows if row.id in written.conflicts and not _equal(row, stored.get(row.id))}
    return replace(written, conflicts=frozenset(conflicts))


def _equal(row: Row, stored: Row | None) -> bool:
    # An index with synthetic _source returns the keys sorted.
    return row == stored and (set(row.keys), row.length) == (set(stored.keys), stored.length)


def _written(
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
        body = index.send(index.call("POST", "_bulk", lines, filter_path=filter_path, **options))
    except TooLarge as error:
        return (_written_in_halves(operations, index, error, options))
    if body.get("errors") is False:
        return Written({}, searchable=False)
    check_items(body["items"], index)
    refused: dict[str, str] = {}
    busy: set[str] = set()
    conflicts: set[str] = set()
    for (id, _), item in zip(operations, body["items"], strict=True):
        ((kind, result),) = item.items()
        if (kind == "update" and result["status"] in CONFLICT) or (kind == "create" and result["status"] == 409):
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
    first = _written(operations[:middle], index, options)
    second = _written(operations[middle:], index, options)
    return Written(
        {**first.refused, **second.refused},
        searchable=False,
        busy=first.busy | second.busy,
        conflicts=first.conflicts | second.conflicts,
    )


def _remove(request: Remove, index: Index) -> set[str]:
    if not request.ids:
        return set()
    without_version = [id for id in request.ids if id not in request.versions]
    stored_in = indices_of(without_version, index, always=index.routing is not None)
    operations = [
        {"delete": {"_id": id, **stored_in.get(id, {}), **if_version(request.versions.get(id), index)}}
        for id in request.ids
    ]
    results = bulk(operations, index)
    return {result["_id"] for result in results if result.get("result") == "deleted"}


def _relink(request: Relink, index: Index) -> set[str]:
    operations: list[dict[str, Any]] = []
    for id, link in request.links.items():
        links = {"group": link.group, "duplicate_of": link.duplicate_of}
        operations += ({"update": {"_id": id, **if_version(link.version, index)}}, {"doc": {"simhash": links}})
    results = bulk(operations, index, tolerant=True)
    conflicts = {result["_id"] for result in results if "error" in result}
    rows = _fetch(Fetch(tuple(sorted(conflicts))), index)
    return {id for id in conflicts if id not in rows or not _has(rows[id], request.links[id])}


def _has(row: Row, link: Link) -> bool:
    return (row.group, row.duplicate_of) == (link.group, link.duplicate_of)


def _refresh(request: Refresh, index: Index) -> None:
    check_complete((index.send(index.call("POST", "_refresh"))), index.name)


HANDLERS = dict(
    [
        handler(Describe, _describe),
        handler(SetUp, _set_up),
        handler(Fetch, _fetch),
        handler(FetchFields, _fetch_fields),
        handler(Write, _write),
        handler(Annotate, _annotate),
        handler(Remove, _remove),
        handler(Relink, _relink),
        handler(Refresh, _refresh),
    ]
)
