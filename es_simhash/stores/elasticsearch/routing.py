"""Routing: a store that reads and writes only the documents of one routing value.

The server puts documents with one routing value into one shard, and a shard may hold the documents of several values.
So each request names the value, and each search has a filter for it, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.stores.elasticsearch.index import Index, Request

_NAMED = frozenset({"_bulk", "_mget", "/_mget", "_pit", "_search/point_in_time"})
"""Paths of requests that name the value, and have no query."""
_SEARCHES = frozenset({"_search", "/_search", "_count"})


@dataclass(frozen=True)
class Routing:
    """One routing value.

    :raises InputError: if no document can have it.
    """

    value: str

    def __post_init__(self) -> None:
        value: Any = self.value
        if not isinstance(value, str) or not value or "," in value:
            raise InputError(f"routing is {value!r}: use one value, a string that is not empty and has no comma")
        check_surrogates(value, "routing")

    @property
    def in_address(self) -> str:
        """The end of the address of a store with this routing."""
        return f"?routing={quote(self.value, safe='')}"

    def of_request(self, request: Request, action: str) -> Request:
        """Return a Request with this routing. One that is not about documents stays as it is.

        :param action: its path, as :meth:`Index.send` takes it.
        """
        if action == "_msearch":
            pairs = zip(request.body[::2], request.body[1::2], strict=True)
            routed = [({**header, "routing": self.value}, self._restricted(search)) for header, search in pairs]
            return replace(request, body=[line for pair in routed for line in pair])
        if action in _SEARCHES:
            body = self._restricted(request.body or {})
            # A search in a point in time cannot name the value: the point in time was opened with it.
            return replace(
                request, body=body, parameters=request.parameters if "pit" in body else self._parameters(request)
            )
        named = action in _NAMED or action.startswith("_doc/")
        return replace(request, parameters=self._parameters(request)) if named else request

    def _parameters(self, request: Request) -> dict[str, str]:
        return {**request.parameters, "routing": self.value}

    def _restricted(self, search: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a search for documents with this value only. Their scores stay."""
        query = search.get("query", {"match_all": {}})
        return {**search, "query": {"bool": {"must": [query], "filter": [{"term": {"_routing": self.value}}]}}}


def check_routing_of(documents: Iterable[Mapping[str, Any]], index: Index) -> None:
    """Check that documents that were read have the routing of the store.

    :raises InputError: if one has another. A write by its id alone would make a second document in another shard. And
        in one shard, documents of two routing values replace each other if they have one id.
    """
    expected = None if index.routing is None else index.routing.value
    for document in documents:
        found = document.get("_routing")
        if found == expected:
            continue
        which = f"document {document['_id']!r} of {index.name}"
        if expected is None:
            raise custom_routing(which)
        raise InputError(
            f"{which} has another routing, {found!r}: documents of two routing values that are in one shard replace "
            f"each other if they have one id; use ids that differ, such as {expected}-{document['_id']}"
        )


def custom_routing(which: str) -> InputError:
    """Return the error for a document that has custom routing, in a store that is opened without routing."""
    return InputError(
        f"{which} has custom routing: name the value with routing='…' (at the end of the address: ?routing=…), or "
        "reindex it into an index without routing"
    )


def check_routing_not_required(mapping: Mapping[str, Any], name: str, routing: Routing | None) -> None:
    """Check that documents can be read and written with this routing.

    :param name: of the index, for the message.
    :raises InputError: if the index requires routing, and the store has none.
    """
    if routing is None and mapping.get("_routing", {}).get("required"):
        raise InputError(
            f"the index {name} requires routing: name the value with routing='…' (at the end of the address: "
            "?routing=…), or reindex it into an index without routing"
        )
