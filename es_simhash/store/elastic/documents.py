"""Read and write documents by their ids.

Each write names the version that it replaces. If the response to a write is lost, it is sent again, and then conflicts
with itself. So a document that conflicts after a repetition is read: it is no conflict if it is as it should become.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.errors import StoreUnavailable, TooLarge
from es_simhash.retries import Waits
from es_simhash.store.elastic.errors import check_answer, index_fault, passes, reason_of
from es_simhash.store.elastic.rows import if_version, operation, row_of_document, version_of
from es_simhash.store.types import Stored, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from es_simhash.errors import SimhashError
    from es_simhash.store.elastic.connection import Connection
    from es_simhash.store.types import Entry, Link

_DROPPED = "an ingest pipeline of the server dropped it"
_MOST_BYTES = 20_000_000
"""Bytes of a bulk request, about. A server takes five times as many."""


def get_documents(connection: Connection, ids: Sequence[str], fields: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return documents as last written. Ids that do not exist are left out.

    :param fields: to return; None for all.
    """
    if not ids:
        return []
    if connection.is_several:  # the server reads no documents by the name of several indices
        query = {"ids": {"values": list(ids)}}
        body = {"query": query, "_source": fields is None or list(fields), "seq_no_primary_term": True}
        hits: list[dict[str, Any]] = connection.search({**body, "size": len(ids)})["hits"]["hits"]
        return hits

    def check(answer: Any) -> None:
        for document in answer["docs"]:
            check_answer(document, connection.name)

    selection = {} if fields is None else {"_source_includes": ",".join(fields)}
    answer = connection.send("POST", "_mget", {"ids": list(ids)}, selection, check=check)
    return [document for document in answer["docs"] if document["found"]]


def read(connection: Connection, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
    """Return documents by id."""
    names = None if fields is None else ["simhash", *fields]
    stored = {}
    for document in get_documents(connection, ids, names):
        row = row_of_document(document, connection.warn_once)
        source = {name: value for name, value in document["_source"].items() if name != "simhash"}
        stored[row.id] = Stored(row, (), source if fields is None or fields else None)
    return stored


def write(connection: Connection, entries: Sequence[Entry]) -> Written:
    """Write documents, each on the version that it replaces."""
    rows = {entry.row.id: entry.row for entry in entries}

    def is_done(document: Mapping[str, Any]) -> bool:
        row, stored = rows[document["_id"]], row_of_document(document, connection.warn_once)
        content = row.content or stored.content
        return bool(stored.digest) and stored == row._replace(content=content, version=stored.version)

    return bulk(connection, {entry.row.id: operation(entry) for entry in entries}, is_done)


def write_links(connection: Connection, links: Mapping[str, Link]) -> Written:
    """Change what documents are copies of, each on its version."""
    operations = {
        id: (
            {"update": {"_id": id, **if_version(link.version)}},
            {"doc": {"simhash": {"group": link.duplicate_of or id, "duplicate_of": link.duplicate_of}}},
        )
        for id, link in links.items()
        if link.version is not None
    }

    def is_done(document: Mapping[str, Any]) -> bool:
        row = row_of_document(document, connection.warn_once)
        return row.duplicate_of == links[row.id].duplicate_of

    written = bulk(connection, operations, is_done)
    return replace(written, conflicts=written.conflicts | (links.keys() - operations.keys()))


def remove(connection: Connection, versions: Mapping[str, Any]) -> Written:
    """Remove documents, each only on its version."""
    operations = {id: ({"delete": {"_id": id, **if_version(version)}},) for id, version in versions.items()}
    written = bulk(connection, operations)
    if not written.conflicts:
        return written
    there = {document["_id"] for document in get_documents(connection, sorted(written.conflicts), ["simhash.digest"])}
    return Written(written.refused, written.conflicts & there, written.versions)


def bulk(
    connection: Connection,
    operations: Mapping[str, tuple[Any, ...]],
    is_done: Callable[[Mapping[str, Any]], bool] | None = None,
) -> Written:
    """Send operations, and say what each did. Those that the server is too busy for are sent again.

    :param operations: by id of the document, the lines of a bulk request.
    :param is_done: returns whether a stored document is as its operation leaves it.
    """
    repeats: list[SimhashError] = []
    refused: dict[str, str] = {}
    conflicts: set[str] = set()
    versions: dict[str, Any] = {}
    waits = Waits(connection.deadline)
    left = dict(operations)
    while left:
        busy: dict[str, Any] = {}
        parts = _parts(left)
        while parts:
            part = parts.pop(0)
            lines = [line for id in part for line in left[id]]
            try:
                items = connection.send("POST", "_bulk", lines, repeats=repeats).get("items", [])
            except TooLarge as error:
                if len(part) == 1:
                    refused[part[0]] = str(error)
                else:
                    parts[:0] = part[: len(part) // 2], part[len(part) // 2 :]
                continue
            if len(items) != len(part):
                raise connection.wrong(f"{len(items)} results of {len(part)} operations")
            for id, item in zip(part, items, strict=True):
                [(kind, result)] = item.items()
                status = result["status"]
                if status == 409 or (status == 404 and kind != "delete"):
                    conflicts.add(id)
                elif result.get("result") == "noop" and kind in ("index", "create"):
                    refused[id] = _DROPPED
                elif status < 300 or status == 404:
                    versions[id] = version_of(result)
                elif (fault := index_fault(result, status, connection.name)) is not None and not fault.retryable:
                    raise fault
                elif passes(result, status):
                    busy[id] = left[id], result
                else:
                    refused[id] = f"the server refused it: {reason_of(result)}"
        left = {id: lines for id, (lines, _) in busy.items()}
        if left and not waits.wait():
            _, result = next(iter(busy.values()))
            raise index_fault(result, result["status"], connection.name) or StoreUnavailable(
                f"{connection.name} was too busy for {len(left):,} documents ({reason_of(result)}): try again later"
            )
    if repeats and is_done is not None:
        stored = get_documents(connection, sorted(conflicts), ["simhash", "seen"])
        versions |= {document["_id"]: version_of(document) for document in stored if is_done(document)}
    return Written(refused, frozenset(conflicts - versions.keys()), versions)


def _parts(operations: Mapping[str, tuple[Any, ...]]) -> list[list[str]]:
    """Return the ids in parts of about ``_MOST_BYTES``."""
    parts: list[list[str]] = [[]]
    size = 0
    for id, lines in operations.items():
        length = sum(2 * len(line) for line in lines if isinstance(line, str))
        if parts[-1] and size + length > _MOST_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(id)
        size += length
    return parts
