"""Steps that several handlers share: set-up, reading documents by id, and the results of a bulk request."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.errors import (
    AccessDenied,
    NotSetUp,
    StoreError,
    WrongServer,
)
from es_simhash.stores.elasticsearch.calls import WHOLE, Call
from es_simhash.stores.elasticsearch.failures import types_of
from es_simhash.stores.elasticsearch.key_scores import lacks_scores, with_scores
from es_simhash.stores.elasticsearch.mapping import NOTHING, no_source
from es_simhash.stores.elasticsearch.responses import (
    NoDocument,
    check_complete,
    check_items,
    error_from_body,
    item_fault,
)
from es_simhash.stores.elasticsearch.routing import check_routing_of, custom_routing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.stores.elasticsearch.calls import Index
    from es_simhash.stores.elasticsearch.mapping import C, Part

T = TypeVar("T")

_log = logging.getLogger("es_simhash")

_SOURCE_MODE = "index.mapping.source.mode"

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


def describe_part(part: Part[C], index: Index) -> C | None:
    """Return the configuration of a part of the index; None if the part was not set up."""
    mappings = read_mappings(index)
    stored = None if mappings is None else part.stored(mappings, index.name, index.routing)
    if stored is not None:
        check_routing(index)
    return stored


def check_routing(index: Index) -> None:
    """Check that no document has custom routing, if the store has none.

    Such a document is not found by its id alone. A write by its id would make a second document in another shard.

    :raises Unsupported: if a document has.
    :raises StoreUnavailable: if the server is too busy. The caller asks again.
    """
    if index.routing is not None:
        return
    search = {"query": {"exists": {"field": "_routing"}}, "size": 1, "_source": False, "track_total_hits": False}
    try:
        body = index.send(index.call("POST", "_search", search, **WHOLE))
        check_complete(body, index.name)
    except AccessDenied:  # the first read will say so
        return
    for hit in body["hits"]["hits"]:
        raise custom_routing(f"document {hit['_id']!r} of {index.name}")


def check_source_mode(index: Index) -> None:
    """Check that the settings of the index do not disable ``_source``.

    :raises Unsupported: if they do.
    """
    body = index.send(index.call("GET", f"_settings/{_SOURCE_MODE}", flat_settings="true"))
    for name, each in body.items():
        if each.get("settings", {}).get(_SOURCE_MODE) == "disabled":
            raise no_source(name)


def set_up_part(part: Part[C], config: C, index: Index, new: Mapping[str, Any] = NOTHING) -> str:
    """Make the index, or add the part to an index that exists.

    The server makes an index once, so of two programs that make it at the same moment one gets the error. The server
    has no condition for a change of a mapping. So after a part was added, the configuration is read again: a program
    that finds the configuration of another one raises the error.

    :param new: what else our part of ``_meta`` gets, if the part was not set up before.
    :returns: ``created``, ``added`` or ``unchanged``.
    :raises SimhashError: the part's error for a mismatch, if the index has another configuration.
    """
    mappings = read_mappings(index)
    if mappings is None:
        try:
            index.send(index.call("PUT", "", {"mappings": with_scores(part.mapping(config, new), index)}))
        except StoreError as error:
            if "resource_already_exists" not in str(error):
                raise
            return set_up_part(part, config, index, new)  # another program was faster
        index.server.checked = False  # the cluster chose settings of the index
        return "created"
    unchanged = part.stored(mappings, index.name, index.routing) == config
    if unchanged and not lacks_scores(part, mappings.values(), index):
        return "unchanged"
    part.check(mappings, config, index.name)
    check_routing(index)
    check_source_mode(index)
    for each, mapping in mappings.items():
        addition = with_scores(part.addition(mapping, config, new), index)
        index.send(replace(index, index=each).call("PUT", "_mapping", addition))
    part.check((read_mappings(index)) or {}, config, index.name)
    return "added"


def read_mappings(index: Index) -> dict[str, Any] | None:
    """Return the mapping of the index, or of each index behind the alias, by name; None if there is no index."""
    # Most programs send this request first. So another server is noticed here.
    if not index.server.checked:
        index.dialect.check_server(index)
        index.server.checked = True
    try:
        body = index.send(index.call("GET", "_mapping"))
    except NotSetUp:
        return None
    except WrongServer as error:
        raise _identified(error, index) from error
    if not isinstance(body, dict) or not all(isinstance(each, dict) and "mappings" in each for each in body.values()):
        raise WrongServer(f"the server at {index.name} is not {index.dialect.product}: check the address")
    index.members.set(body)
    return {existing: each["mappings"] for existing, each in body.items()}


def _identified(error: WrongServer, index: Index) -> WrongServer:
    """Return the error that names the product of a server; the error itself if the server does not say."""
    try:
        index.send(Call("GET", "/"))
    except WrongServer as better:
        return better
    except StoreError:
        pass
    return error


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
        members.set(index.send(index.call("GET", "_alias")))
    documents = _documents(ids, selection, index)
    if any(_members_changed(document, index) for document in documents):
        members.set(index.send(index.call("GET", "_alias")))
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
        body = index.send(index.routed(Call("POST", "/_mget", {"docs": asked}, selection), "_mget"))
        return body["docs"]  # type: ignore[no-any-return]
    if len(ids) == 1 and _PLAIN.fullmatch(ids[0]):
        return [(_document(ids[0], selection, index))]
    body = index.send(index.call("POST", "_mget", {"ids": list(ids)}, **selection))
    return body["docs"]  # type: ignore[no-any-return]


def _document(id: str, selection: dict[str, str], index: Index) -> dict[str, Any]:
    """Return what a multi-get returns for one id. A get takes less time."""
    try:
        body = index.send(replace(index.call("GET", f"_doc/{id}", **selection), of_document=True))
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
    if "error" not in document:
        return False
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
    body = index.send(index.call("POST", "_bulk", operations))
    check_items(body["items"], index)
    results = [result for item in body["items"] for result in item.values()]
    for result in results:
        if "error" not in result or result["status"] in CONFLICT:
            continue
        fault = item_fault(result, index)
        if fault is None or fault.retryable or not tolerant:
            raise fault or error_from_body(result, result["status"], index.name)
        if result["_index"] not in index.members.warned:
            index.members.warned.add(result["_index"])
            _log.warning("%s; its documents keep their links", fault)
    return results


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in sequences of at most ``size``."""
    return (items[start : start + size] for start in range(0, len(items), size))
