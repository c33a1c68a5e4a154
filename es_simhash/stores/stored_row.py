"""A Row of the values that a store holds. Another program may have written them, so they are checked."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Row
from es_simhash.fingerprinting.encoding import from_longs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_log = logging.getLogger("es_simhash")

LONGS = ("fp", "fp1")
"""The names of a fingerprint's signed longs, highest first. ``fp1`` exists at 128 bits only."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_FIX = "remove the document and ingest it again, or run `es-simhash backfill --again`"


def stored_row(id: str, values: Mapping[str, Any], version: Any) -> Row:
    """Return the Row of a document.

    :param values: ``fp``, ``fp1``, ``digest``, ``group``, ``duplicate_of``, ``written``, ``keys`` and ``length`` as the
        store holds them. Each may be missing or None.
    :returns: if the values are not what this library writes: a Row that is like that of a document which was never
        fingerprinted, and says why in ``damaged``.
    """
    get = values.get
    fp, fp1, digest, group, duplicate_of = map(get, (*LONGS, "digest", "group", "duplicate_of"))
    written, keys, length = get("written") or 0, get("keys") or (), get("length")
    if isinstance(keys, str):  # an index with synthetic _source returns a list of one value as the value
        keys = (keys,)
    problem = (
        _not_a_string("an id", id)
        or _not_a_long("fp", fp)
        or _not_a_long("fp1", fp1)
        or _not_a_string("digest", digest)
        or _not_a_string("group", group)
        or _not_a_string("duplicate_of", duplicate_of)
        or _not_a_long("written", written)
        or _not_a_long("length", length)
    )
    if not problem and keys and not (isinstance(keys, list | tuple) and all(type(key) is str for key in keys)):
        problem = "keys is not a list of strings"
    if not problem:
        problem = _not_fitting(id, fp, fp1, digest, group, duplicate_of)
    if problem:
        return Row(str(id), None, "", "", None, 0, version, damaged=f"document {id!r} is stored with {problem}: {_FIX}")
    longs = [long for long in (fp, fp1) if long is not None]
    return Row(
        id,
        from_longs(longs) if longs else None,
        digest or "",
        group or "",
        duplicate_of,
        written,
        version,
        tuple(keys),
        length,
    )


def _not_a_long(name: str, value: Any) -> str | None:
    if value is None or (type(value) is int and _LEAST <= value <= _MOST):
        return None
    return f"{name} that is not an integer of 64 bits"


def _not_a_string(name: str, value: Any) -> str | None:
    return None if value is None or type(value) is str else f"{name} that is not a string"


def _not_fitting(
    id: str, fp: int | None, fp1: int | None, digest: str | None, group: str | None, duplicate_of: str | None
) -> str | None:
    if fp is None and fp1 is not None:
        return "half a fingerprint"
    if fp is not None and not digest:
        return "a fingerprint without a digest"
    if digest and not group:
        return "a digest without a group"
    if duplicate_of == id:
        return "a link to itself"
    return None


def without_damaged(rows: Iterable[Row]) -> list[Row]:
    """Return the Rows that can be used. Each other one is named once in a warning."""
    usable = []
    for row in rows:
        if row.damaged is None:
            usable.append(row)
        else:
            _warn(row.damaged)
    return usable


@lru_cache(10_000)
def _warn(damaged: str) -> None:
    _log.warning("left out: %s", damaged)
