"""A Row as JSON: the object ``simhash`` of a document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Row
from es_simhash.fingerprinting.encoding import from_longs, hex_segments, segment_count, to_longs
from es_simhash.search.times import time_or_none
from es_simhash.stores.elasticsearch.steps import if_version
from es_simhash.stores.elasticsearch.times import time_from_doc_values

if TYPE_CHECKING:
    from es_simhash.contract import Entry

_LONGS = ("fp", "fp1")
"""The fields of a fingerprint as signed longs, highest first. ``fp1`` exists at 128 bits only."""

ROW_FIELDS = [f"simhash.{name}" for name in (*_LONGS, "digest", "group", "duplicate_of", "written")]
"""The fields of which :func:`to_row` makes a Row without keys."""
KEY_FIELDS = ["simhash.keys", "simhash.length"]
"""The fields that a Row with keys needs, too."""
ROW_OPTIONS: dict[str, Any] = {
    "docvalue_fields": ROW_FIELDS,
    "seq_no_primary_term": True,
    "track_total_hits": False,
}
"""Options of a search whose hits become Rows without keys."""


def to_row(document: dict[str, Any], time_field: str | None = None) -> Row:
    """Return the Row of a document.

    :param document: a hit of a search with the doc values of ROW_FIELDS, perhaps of KEY_FIELDS too, or a document with
        its ``_source``.
    :param time_field: the field with the time, for a Row with its time.
    """
    time = None
    if "fields" in document:
        fields = document["fields"]
        if time_field is not None:
            time = time_from_doc_values(fields.get(time_field, []))
        ours = ((name, values[0]) for name, values in fields.items() if name != time_field)
        simhash = {name.removeprefix("simhash."): value for name, value in ours}
        keys = fields.get("simhash.keys", ())
    else:
        source = document.get("_source", {})
        simhash = source.get("simhash") or {}
        keys = simhash.get("keys") or ()
        if time_field is not None:
            time = time_or_none(source, time_field)
    longs = [simhash[name] for name in _LONGS if simhash.get(name) is not None]
    return Row(
        id=document["_id"],
        fingerprint=from_longs(longs) if longs else None,
        digest=simhash.get("digest", ""),
        group=simhash.get("group", ""),
        duplicate_of=simhash.get("duplicate_of"),
        written=simhash.get("written", 0),
        version=(document["_seq_no"], document["_primary_term"]),
        keys=tuple(keys),
        length=simhash.get("length"),
        time=time,
    )


def index_operation(entry: Entry, bits: int) -> tuple[Any, Any]:
    """Return the lines of a bulk request that write a document."""
    simhash = _simhash(entry.row, bits)
    if entry.row.duplicate_of is None:
        del simhash["duplicate_of"]
    # The source is JSON already. So it is not parsed: our object is put in front of its first field.
    document = f'{{"simhash": {json.dumps(simhash, ensure_ascii=False)}, {entry.source[1:]}'
    return {"index": {"_id": entry.row.id}}, document


def update_operation(row: Row, bits: int) -> tuple[Any, Any]:
    """Return the lines of a bulk request that write a Row into a document that still has the Row's version."""
    # The server merges objects, so a field of a former fingerprint would stay. So each field is named.
    names = [*(f"s{i}" for i in range(segment_count(bits))), *_long_fields(bits), "keys", "length"]
    simhash = dict.fromkeys(names) | _simhash(row, bits)
    return {"update": {"_id": row.id, **if_version(row.version)}}, {"doc": {"simhash": simhash}}


def _simhash(row: Row, bits: int) -> dict[str, Any]:
    simhash: dict[str, Any] = {
        "digest": row.digest,
        "group": row.group,
        "duplicate_of": row.duplicate_of,
        "written": row.written,
    }
    if row.fingerprint is not None:
        simhash |= zip(_long_fields(bits), to_longs(row.fingerprint, bits), strict=True)
        simhash |= {f"s{i}": segment for i, segment in enumerate(hex_segments(row.fingerprint, bits))}
    if row.length is not None:
        simhash |= {"keys": row.keys, "length": row.length}
    return simhash


def _long_fields(bits: int) -> tuple[str, ...]:
    return _LONGS[: bits // 64]
