"""A Row as JSON: the object ``simhash`` of a document."""

from __future__ import annotations

import json
from json.encoder import encode_basestring as _quoted
from typing import TYPE_CHECKING, Any

from es_simhash.fingerprinting.encoding import hex_segments, segment_count, to_longs
from es_simhash.search.encoding import encoded
from es_simhash.search.times import time_or_none
from es_simhash.stores.elasticsearch.by_id import if_version, version_of
from es_simhash.stores.elasticsearch.keys import keys_of_hits, stored_keys
from es_simhash.stores.elasticsearch.routing import check_routing_of
from es_simhash.stores.elasticsearch.times import time_from_doc_values
from es_simhash.stores.stored_row import LONGS, stored_row, usual_row, without_damaged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Entry, Row
    from es_simhash.stores.elasticsearch.index import Index


FINGERPRINT_FIELDS = [f"simhash.{name}" for name in LONGS]
"""The fields of a fingerprint, the highest bits first. One of 64 bits has only the first."""
ROW_FIELDS = [*FINGERPRINT_FIELDS, *(f"simhash.{name}" for name in ("digest", "group", "duplicate_of", "written"))]
"""The fields that every Row needs."""
KEY_FIELDS = ["simhash.keys", "simhash.length"]
"""The fields that a Row with keys needs, too."""
_NOTHING = (None,)


def row_options(time_field: str | None = None, *, keys: bool = False) -> dict[str, Any]:
    """Return the options of a search whose hits become Rows.

    :param time_field: the field with the time, for Rows with their times.
    :param keys: for Rows with their keys and lengths.
    """
    fields: list[Any] = [*ROW_FIELDS, *KEY_FIELDS] if keys else [*ROW_FIELDS]
    if time_field is not None:
        fields.append({"field": time_field, "format": "epoch_millis"})
    return {"docvalue_fields": fields, "seq_no_primary_term": True, "track_total_hits": False, "_source": False}


def to_row(document: dict[str, Any], time_field: str | None = None, keys: Any = None) -> Row:
    """Return the Row of a document.

    :param document: a hit of a search with :func:`row_options`, or a document with its ``_source``.
    :param time_field: the field with the time, for a Row with its time.
    :param keys: of a hit, by :func:`~es_simhash.stores.elasticsearch.keys.keys_of_hits`.
    """
    time = None
    if "fields" in document:
        fields = document["fields"]
        if time_field is not None:
            time = time_from_doc_values(fields.get(time_field, []))
        if (row := _usual_row(document, fields, time, keys)) is not None:
            return row
        simhash = _doc_values(fields, time_field)
    else:
        source = document.get("_source", {})
        simhash = source.get("simhash") or {}
        if not isinstance(simhash, dict):
            simhash = {"digest": simhash}  # not a string, so the Row is damaged
        if time_field is not None:
            time = time_or_none(source, time_field)
    if "keys" in simhash:
        simhash = {**simhash, "keys": stored_keys(simhash["keys"])}
    return stored_row(document["_id"], simhash, version_of(document), time)


def _usual_row(document: dict[str, Any], fields: Mapping[str, list[Any]], time: int | None, keys: Any) -> Row | None:
    """Return the Row of a hit with a fingerprint; None for any other hit."""
    get = fields.get
    try:
        [digest], [group], [written] = fields["simhash.digest"], fields["simhash.group"], fields["simhash.written"]
        [fp], [fp1] = fields["simhash.fp"], get("simhash.fp1", _NOTHING)
        [duplicate_of], [length] = get("simhash.duplicate_of", _NOTHING), get("simhash.length", _NOTHING)
    except (KeyError, ValueError):
        return None
    id, version = document["_id"], version_of(document)
    if keys is None:
        keys = stored_keys(get("simhash.keys", ()))
    longs = (fp,) if fp1 is None else (fp, fp1)
    return usual_row(id, longs, digest, group, duplicate_of, written, version, time, None, keys, length)


def _doc_values(fields: Mapping[str, list[Any]], time_field: str | None = None) -> dict[str, Any]:
    """Return the values of the object ``simhash`` from the doc values of a hit.

    :param time_field: a field that is not ours.
    """
    simhash: dict[str, Any] = {
        name[8:]: values[0] if len(values) == 1 else values for name, values in fields.items() if name != time_field
    }
    simhash["keys"] = fields.get("simhash.keys")
    return simhash


def simhash_values(hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the object ``simhash`` of a hit of any search; empty if it came without them."""
    fields = {name: values for name, values in hit.get("fields", {}).items() if name.startswith("simhash.")}
    if "simhash.digest" in fields:
        return _doc_values(fields)
    simhash = (hit.get("_source") or {}).get("simhash")
    return simhash if isinstance(simhash, dict) else {}


def usable_rows(hits: Sequence[dict[str, Any]], index: Index, time_field: str | None = None) -> list[Row]:
    """Return the Rows of hits. Rows that are damaged are left out, with a warning."""
    return without_damaged(hit_rows(hits, index, time_field))


def hit_rows(hits: Sequence[dict[str, Any]], index: Index, time_field: str | None) -> list[Row]:
    """Return the Rows of hits.

    :raises InputError: if a document has another routing than the store.
    """
    check_routing_of(hits, index)
    index.members.add(frozenset(hit["_index"] for hit in hits))
    return [to_row(hit, time_field, keys) for hit, keys in zip(hits, keys_of_hits(hits), strict=True)]


def write_operation(entry: Entry, bits: int, index: Index, stored_in: Mapping[str, str]) -> tuple[Any, Any]:
    """Return the lines of a bulk request that write a document if the stored one still has the Row's version.

    :param stored_in: of a document that should be new and is not: the index that has it, as a part of the first line.
    """
    # The source is JSON already. So it is not parsed: our object is put in front of its first field.
    row = entry.row
    document = f'{{"simhash":{_simhash(row, bits)},{entry.source[1:]}'
    if row.version is not None:
        return {"index": {"_id": row.id, **if_version(row.version, index)}}, document
    if stored_in:
        return {"create": {"_id": row.id, **stored_in}}, document
    return f'{{"create":{{"_id":{_quoted(row.id)}}}}}', document


def update_operation(row: Row, bits: int, index: Index) -> tuple[Any, Any]:
    """Return the lines of a bulk request that write a Row into a document that still has the Row's version."""
    # The server merges objects, so a field of a former fingerprint would stay. So each field is named.
    names = [*(f"s{i}" for i in range(segment_count(bits))), *_long_fields(bits), "keys", "length"]
    names += ["digest", "group", "duplicate_of"]
    simhash = dict.fromkeys(names) | json.loads(_simhash(row, bits))
    return {"update": {"_id": row.id, **if_version(row.version, index)}}, {"doc": {"simhash": simhash}}


def _simhash(row: Row, bits: int) -> str:
    """Return the object ``simhash`` as JSON. It is put together here, in half of the time that an encoder takes."""
    original = "" if row.duplicate_of is None else f',"duplicate_of":{_quoted(row.duplicate_of)}'
    text = f'{{"digest":{_quoted(row.digest)},"group":{_quoted(row.group)}{original},"written":{row.written}'
    if row.fingerprint is not None:
        for name, long in zip(LONGS, to_longs(row.fingerprint, bits), strict=False):
            text += f',"{name}":{long}'
        for number, segment in enumerate(hex_segments(row.fingerprint, bits)):
            text += f',"s{number}":"{segment}"'
    if row.content is not None:
        text += f',"content":{row.content}'
    if row.length is not None:
        text += f',"length":{row.length}'
    if row.keys:
        keys = '","'.join(encoded(row.keys))
        text += f',"keys":["{keys}"]'
    return text + "}"


def _long_fields(bits: int) -> tuple[str, ...]:
    return LONGS[: bits // 64]
