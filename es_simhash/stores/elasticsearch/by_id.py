"""Read and change documents by their ids, also where an alias has several indices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.errors import StoreError
from es_simhash.stores.elasticsearch.failures import (
    NoDocument,
    check_count,
    check_items,
    error_from_body,
    item_fault,
    types_of,
)
from es_simhash.stores.elasticsearch.mapping import no_source
from es_simhash.stores.elasticsearch.routing import check_routing_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.stores.elasticsearch.index import Index


T = TypeVar("T")

_SEVERAL = "more than one ind"
"""A part of what the server says if a request for one index names an alias of several."""

_PLAIN = re.compile(r"[\w-][\w.-]{0,511}", re.ASCII)
"""An id that can stand in a path. Others are sent in a body: proxies read an escaped slash in different ways, dots
alone mean another path, and a server accepts a path of at most 4,096 bytes."""

CONFLICT = frozenset({404, 409})
"""Statuses of a document that was removed or written after it was read.

The writer may be this program: if the response to a request gets lost, the client or the caller sends the request
again. So it is no conflict if the stored document already is as it should become.
"""


def stored_documents(ids: Sequence[str], fields: Sequence[str] | None, index: Index) -> list[dict[str, Any]]:
    """Return the documents with these ids as last written. Ids that do not exist are left out.

    :param fields: fields to return; None for all.
    """
    selection = {} if fields is None else {"_source_includes": ",".join(fields)}
    found = _get(ids, selection, index)
    if found and "_source" not in found[0]:
        raise no_source(index.name)
    return found


def indices_of(ids: Sequence[str], index: Index, *, always: bool = False) -> dict[str, dict[str, str]]:
    """Return by id the index that has a document, as a part of an operation of a bulk request.

    Documents that are not stored are left out. If there is only one index, the result is empty. An operation on an
    alias goes to its newest index. So an operation on a document in an older index must name that index.

    :param always: read the documents even if there is only one index: so it is known that none has another routing.
    """
    if not (index.members.several or always):
        return {}
    found = _get(ids, {"_source": "false", "stored_fields": "_routing"}, index)
    return {document["_id"]: {"_index": document["_index"]} for document in found}


def _get(ids: Sequence[str], selection: dict[str, str], index: Index) -> list[dict[str, Any]]:
    """Return the documents with these ids. An alias of several indices has no request for that, so each is asked."""
    if not ids:
        return []
    members = index.members
    if members.old:
        members.set(index.send("GET", "_alias"))
    documents = _documents(ids, selection, index)
    if any("error" in document and _members_changed(document, index) for document in documents):
        members.set(index.send("GET", "_alias"))
        documents = _documents(ids, selection, index)
    for document in documents:
        if "error" in document:
            raise error_from_body(document, 500, index.name)
    # If several indices have an id, the newest one counts.
    found = list({document["_id"]: document for document in documents if document["found"]}.values())
    check_routing_of(found, index)
    return found


def _documents(ids: Sequence[str], selection: dict[str, str], index: Index) -> list[dict[str, Any]]:
    """Return a document, or an error, for each id; for each index and id if there are several indices."""
    if index.members.several:
        asked = [{"_index": name, "_id": id} for name in index.members.names for id in ids]
        body = index.send("POST", "/_mget", {"docs": asked}, **selection)
        return body["docs"]  # type: ignore[no-any-return]
    if len(ids) == 1 and _PLAIN.fullmatch(ids[0]):
        return [_document(ids[0], selection, index)]
    body = index.send("POST", "_mget", {"ids": list(ids)}, **selection)
    return body["docs"]  # type: ignore[no-any-return]


def _document(id: str, selection: dict[str, str], index: Index) -> dict[str, Any]:
    """Return what a multi-get returns for one id. A get takes less time."""
    try:
        body = index.send("GET", f"_doc/{id}", **selection)
    except NoDocument:
        return {"_id": id, "found": False}
    except StoreError as error:
        if _SEVERAL not in str(error):
            raise
        return {"error": str(error)}
    if not isinstance(body, dict) or "found" not in body:  # a client that raises no error for the status 404
        raise error_from_body(body, 404, index.name)
    return body


def _members_changed(document: Mapping[str, Any], index: Index) -> bool:
    """Return whether the error of a document says that the alias has other indices than when it was asked."""
    rolled_over = _SEVERAL in str(document["error"])
    deleted = "index_not_found_exception" in types_of(document)
    return deleted if index.members.several else rolled_over


def with_ids(ids: Sequence[str]) -> dict[str, Any]:
    """Return a filter for the documents with these ids, up to 65,536. An ``ids`` query takes 10,000 only."""
    return {"terms": {"_id": list(ids)}}


def version_of(document: Mapping[str, Any]) -> tuple[int, int, str | None]:
    """Return the version of a document: its sequence number, its primary term, and the index that it is in."""
    return document["_seq_no"], document["_primary_term"], document.get("_index")


def if_version(version: Any, index: Index) -> dict[str, Any]:
    """Return the condition that a document still has a version, for an operation of a bulk request.

    :param version: of :func:`version_of`; None for no condition.
    """
    if version is None:
        return {}
    condition = {"if_seq_no": version[0], "if_primary_term": version[1]}
    return {**condition, "_index": version[2]} if index.members.several else condition


def bulk(operations: Sequence[Any], index: Index, *, tolerant: bool = False) -> list[dict[str, Any]]:
    """Send a bulk request, and return the result of each document: it was changed, or there was a conflict.

    :param tolerant: of an alias one index may take no writes. Then the results of its documents are returned with
        their errors, and one warning names the index.
    :raises StoreError: if a document was not changed for another reason.
    """
    body = index.send("POST", "_bulk", operations)
    check_count(body["items"], [line for line in operations if "doc" not in line], index.name)
    check_items(body["items"], index)
    results = [result for item in body["items"] for result in item.values()]
    for result in results:
        if "error" not in result or result["status"] in CONFLICT:
            continue
        fault = item_fault(result, index)
        if fault is None or fault.retryable or not tolerant:
            raise fault or error_from_body(result, result["status"], index.name)
        index.warn_once(f"writes to {result['_index']}", f"{fault}; its documents keep their links")
    return results


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in sequences of at most ``size``."""
    return (items[start : start + size] for start in range(0, len(items), size))
