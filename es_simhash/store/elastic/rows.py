"""A Row and its keys as JSON: the object ``simhash`` of a document."""

from __future__ import annotations

import json
from functools import lru_cache
from operator import itemgetter
from types import NoneType
from typing import TYPE_CHECKING, Any

from es_simhash.rows import Row
from es_simhash.text.encoding import from_signed, hex_segments, to_signed
from es_simhash.text.keys import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from es_simhash.rows import Entry

FIELDS = ("fp", "digest", "length", "duplicate_of", "order", "written", "time", "content", "pinned", "group")
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
OWN_FIELDS = ("s0", "s1", "s2", "s3", *FIELDS, "keys")
"""All fields of the object ``simhash``."""

HIT_OPTIONS: Mapping[str, Any] = {
    "docvalue_fields": [f"simhash.{name}" for name in FIELDS],
    "seq_no_primary_term": True,
    "track_total_hits": False,
    "_source": False,
}
"""The options of a search whose hits become Rows."""

_DOC_VALUES = HIT_OPTIONS["docvalue_fields"]
_NO_VALUE = (None,)
_NOTHING: list[Any] = [None] * len(FIELDS)
_NEEDED = ("order", "written")
_TYPES = {"digest": str, "duplicate_of": str, "group": str, "pinned": bool}
"""The types of fields that are no integers."""

version_of = itemgetter("_seq_no", "_primary_term", "_index")
"""Returns the version of a document: its sequence number, its primary term, and the name of its index."""


def row_of(hit: Mapping[str, Any], warn: Callable[[str], None], blocked: Collection[str] = ()) -> Row:
    """Return the Row of a hit of a search, or of a document that was read by its id.

    A document without our fields has no digest. The same holds, with a warning, if another program wrote them.

    :param blocked: names of indices that take no writes.
    """
    fields, given = hit.get("fields", {}), (hit.get("_source") or {}).get("simhash")
    if "simhash.digest" in fields:
        ours = [fields.get(name, _NO_VALUE)[0] for name in _DOC_VALUES]
    else:
        ours = [given.get(name) for name in FIELDS] if isinstance(given, dict) else _NOTHING
    fp, digest, length, duplicate_of, order, written, time, content, pinned, group = ours
    id, is_blocked = hit["_id"], hit.get("_index") in blocked
    version = version_of(hit) if "_seq_no" in hit else None  # a hit of a search of one's own has none
    if digest is None and order is None:
        return Row(id, None, "", version=version, blocked=is_blocked)
    if not _are_ours(tuple(map(type, ours))):
        warn(f"document {id!r} is left out: its field `simhash` is not ours")
        return Row(id, None, "", version=version)
    fp, digest, pinned = None if fp is None else from_signed(fp), digest or "", bool(pinned)
    numbers = order, written, time, content
    row = Row(id, fp, digest, length, duplicate_of, *numbers, pinned, None, version, is_blocked)
    return row if group is None else row.in_group(group)


@lru_cache
def _are_ours(kinds: tuple[type, ...]) -> bool:
    """Return whether the values of ``FIELDS`` have the types that we write."""
    named = zip(FIELDS, kinds, strict=True)
    return all(kind is _TYPES.get(name, int) or (kind is NoneType and name not in _NEEDED) for name, kind in named)


def source_of(document: Mapping[str, Any], fields: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the fields of a document that were asked for, without our own; None if none were."""
    if fields is not None and not fields:
        return None
    return {name: value for name, value in document.get("_source", {}).items() if name != "simhash"}


def operation(kind: str, id: str, version: Any, write_index: str | None, *body: Any) -> tuple[Any, ...]:
    """Return the lines of a bulk request for one document, on its version.

    :param kind: ``create``, ``index``, ``update`` or ``delete``.
    :param version: None for any.
    :param write_index: of an alias: it gets a document without a version, each other one is in its own index. None
        names no index: the answer tells then whether the name of the store stands for another one.
    """
    condition = {} if version is None else {"if_seq_no": version[0], "if_primary_term": version[1]}
    place = {} if write_index is None else {"_index": write_index if version is None else version[2]}
    return {kind: {"_id": id, **condition, **place}}, *body


def writing(entry: Entry, write_index: str | None) -> tuple[Any, ...]:
    """Return the lines of a bulk request that write a document on the version that it replaces."""
    row = entry.row
    simhash: dict[str, Any] = {
        "group": row.group,
        "digest": row.digest or None,  # a search for documents without a digest finds those without the field
        "duplicate_of": row.duplicate_of,
        "order": row.order,
        "written": row.written,
        "length": row.length,
        "time": row.time,
        "content": row.content,
        "pinned": row.pinned or None,
        "keys": encoded(entry.keys) if entry.keys else None,
    }
    if row.fingerprint is not None:
        simhash["fp"] = to_signed(row.fingerprint)
        simhash |= {f"s{number}": segment for number, segment in enumerate(hex_segments(row.fingerprint, 64))}
    if entry.source is None:
        # The server merges objects, so each field is named.
        simhash = dict.fromkeys(OWN_FIELDS) | simhash
        for name, kept in (("content", row.content), ("keys", entry.keys)):
            if kept is None:
                del simhash[name]  # it stays
        return operation("update", row.id, row.version, write_index, {"doc": {"simhash": simhash}})
    # The source is JSON already: our object is put in front of its first field.
    # A line break, which would end the line, can only stand between two values there.
    rest = entry.source.strip()[1:].lstrip().replace("\n", " ").replace("\r", " ")
    ours = _to_json({name: value for name, value in simhash.items() if value is not None})
    document = f'{{"simhash":{ours}{"" if rest == "}" else ","}{rest}'
    return operation("create" if row.version is None else "index", row.id, row.version, write_index, document)
