"""Read and write documents by their ids.

Each write names the version that it replaces. If a response is lost, the write is sent again, by this program or by
one node of the server to another, and then conflicts with itself. So a document that conflicts is read: it is no
conflict if it is as the write made it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import StoreUnavailable, TooLarge
from es_simhash.retries import Waits
from es_simhash.store.elastic.errors import check_answer, index_fault, passes, reason_of
from es_simhash.store.elastic.rows import version_of
from es_simhash.store.types import Written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from es_simhash.store.elastic.connection import Connection


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

    def check(answer: Any, name: str) -> None:
        for document in answer["docs"]:
            check_answer(document, name)

    selection = {} if fields is None else {"_source_includes": ",".join(fields)}
    answer = connection.send("POST", "_mget", {"ids": list(ids)}, selection, check=check)
    return [document for document in answer["docs"] if document["found"]]


def bulk(
    connection: Connection,
    operations: Mapping[str, Sequence[Any]],
    is_done: Callable[[Mapping[str, Any]], bool] = lambda document: False,
) -> Written:
    """Send operations, and say what each did. Those that the server is too busy for are sent again.

    :param operations: by id of the document, the lines of a bulk request.
    :param is_done: returns whether a stored document is as its operation made it.
    """
    refused: dict[str, str] = {}
    conflicts: set[str] = set()
    versions: dict[str, Any] = {}
    waits = Waits(connection.deadline)
    parts = [list(operations)] if operations else []
    while parts:
        part = parts.pop()
        lines = [line for id in part for line in operations[id]]
        try:
            items = connection.send("POST", "_bulk", lines).get("items", [])
        except TooLarge as error:
            if len(part) == 1:
                refused[part[0]] = str(error)
            else:
                parts += part[: len(part) // 2], part[len(part) // 2 :]
            continue
        if len(items) != len(part):
            raise connection.wrong(f"{len(items)} results of {len(part)} operations")
        busy: dict[str, Any] = {}
        for id, item in zip(part, items, strict=True):
            [(kind, result)] = item.items()
            status = result["status"]
            if status == 409 or (status == 404 and kind != "delete"):
                conflicts.add(id)
            elif result.get("result") == "noop" and kind in ("index", "create"):
                refused[id] = "an ingest pipeline of the server dropped it"
            elif status < 300 or status == 404:
                versions[id] = version_of(result)
            elif (fault := index_fault(result, status, connection.name)) is not None and not fault.retryable:
                raise fault
            elif passes(result, status):
                busy[id] = result
            else:
                refused[id] = f"the server refused it: {reason_of(result)}"
        if busy and not waits.wait():
            result = next(iter(busy.values()))
            raise index_fault(result, result["status"], connection.name) or StoreUnavailable(
                f"{connection.name} was too busy for {len(busy):,} documents ({reason_of(result)}): try again later"
            )
        parts += [list(busy)] if busy else []
    stored = get_documents(connection, sorted(conflicts), ["simhash", "seen"])
    versions |= {document["_id"]: version_of(document) for document in stored if is_done(document)}
    return Written(refused, frozenset(conflicts - versions.keys()), versions)
