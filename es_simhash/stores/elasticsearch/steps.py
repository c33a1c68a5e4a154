"""Requests become calls of the official client, and answers replies. Pure: the store makes the calls.

Each request is a small generator that yields Calls and receives the bodies of their answers, so the sync and the async
client are sent the same bytes from one source. documents.py and users.py register theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.errors import NotSetUp, StoreError, WrongServer
from es_simhash.stores.elasticsearch.failures import from_body

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from typing import TypeAlias

    from es_simhash.contract import Request
    from es_simhash.stores.elasticsearch.mapping import C, Part

    Steps: TypeAlias = "Generator[Call, Any, Any]"

T = TypeVar("T")

CHANGED_SINCE = frozenset({404, 409})
"""Removed or written since the document was read.

Perhaps by ourselves: if the answer to a request gets lost, the request is sent again, by the client or by who asked. So
what is there then as it was to be written is no conflict.
"""


@dataclass(frozen=True)
class Call:
    """A method of the client and its arguments: ``indices.create``, ``{"index": …}``."""

    method: str
    arguments: dict[str, Any] = field(default_factory=dict)


@singledispatch
def steps(op: Request[Any], index: str, name: str) -> Steps:
    """The Calls that a request takes, on an index; ``name`` is for messages. Returns the reply."""
    raise NotImplementedError(type(op))


def describe(part: Part[C], index: str, name: str) -> Steps:
    """The configuration of a part of the index; None if it was not set up."""
    mappings = yield from _mappings(index, name)
    return None if mappings is None else part.stored(mappings, name)


def set_up(part: Part[C], config: C, index: str, name: str) -> Steps:
    """Make the index, or add the part to it: ``created``, ``added`` or ``unchanged``."""
    mappings = yield from _mappings(index, name)
    if mappings is None:
        try:
            yield Call("indices.create", {"index": index, "mappings": part.mapping(config)})
        except StoreError as error:
            if "resource_already_exists" not in str(error):
                raise
            return (yield from set_up(part, config, index, name))  # somebody else was faster
        return "created"
    existing = part.stored(mappings, name)
    if existing == config:
        return "unchanged"
    if existing is not None:
        raise part.mismatch(f"{name} was set up otherwise by somebody else at this moment: open it again")
    for each, mapping in mappings.items():
        yield Call("indices.put_mapping", {"index": each, **part.addition(mapping, config)})
    return "added"


def _mappings(index: str, name: str) -> Steps:
    try:
        answer = yield Call("indices.get_mapping", {"index": index})
    except NotSetUp:
        return None
    # The first answer of a server in most programs: something else that says it is an Elasticsearch shows here.
    if not isinstance(answer, dict) or not all(isinstance(b, dict) and "mappings" in b for b in answer.values()):
        raise WrongServer(f"what answers at {name} is not an Elasticsearch: check the address")
    return {existing: body["mappings"] for existing, body in answer.items()}


def stored(ids: Sequence[str], fields: Sequence[str] | None, index: str, name: str) -> Steps:
    """Those of the documents that are there, as last written.

    :param fields: of the documents; None for all.
    """
    if not ids:
        return []
    some = {} if fields is None else {"source_includes": list(fields)}
    answer = yield Call("mget", {"index": index, "ids": list(ids), **some})
    for doc in answer["docs"]:
        if "error" in doc:
            raise from_body(doc, 500, name)
    return [doc for doc in answer["docs"] if doc["found"]]


def with_ids(ids: Sequence[str]) -> dict[str, Any]:
    """A clause for the documents with these ids: up to 65,536, where an ``ids`` query takes 10,000."""
    return {"terms": {"_id": list(ids)}}


def condition(version: Any) -> dict[str, Any]:
    """That a document still has this version, for an operation of a bulk request; None for whatever is there."""
    return {} if version is None else {"if_seq_no": version[0], "if_primary_term": version[1]}


def results(answer: Any, name: str) -> list[dict[str, Any]]:
    """What became of each document of a bulk request: it was done, or the document had changed since it was read.

    :raises StoreError: for any other reason why one was not.
    """
    found = [next(iter(item.values())) for item in answer["items"]]
    for result in found:
        if "error" in result and result["status"] not in CHANGED_SINCE:
            raise from_body(result, result["status"], name)
    return found


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items, by at most ``size`` of them."""
    return (items[start : start + size] for start in range(0, len(items), size))
