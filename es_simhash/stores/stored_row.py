"""A Row of the values that a store holds. Another program may have written them, so they are checked."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Row
from es_simhash.fingerprinting.encoding import from_longs
from es_simhash.search.encoding import KEY_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from es_simhash.contract import Candidates, Found

_log = logging.getLogger("es_simhash")

LONGS = ("fp", "fp1")
"""The names of a fingerprint's signed longs, highest first. ``fp1`` exists at 128 bits only."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_WORD = (1 << 64) - 1
_KEYS = 1 << KEY_BITS
MANY = 10
"""Damaged documents that a request for candidates excludes one by one."""
_FIX = "remove the document and ingest it again, or run `es-simhash backfill --again --text-field FIELD`"


def stored_row(id: str, values: Mapping[str, Any], version: Any, time: int | None = None) -> Row:
    """Return the Row of a document.

    :param values: ``fp``, ``fp1``, ``digest``, ``group``, ``duplicate_of``, ``written``, ``keys``, ``length`` and
        ``content`` as the store holds them, the keys as integers. Each may be missing or None.
    :returns: if the values are not what this library writes: a Row that is like that of a document which was never
        fingerprinted, and says why in ``damaged``.
    """
    get = values.get
    fp, fp1, digest, group, duplicate_of = map(get, (*LONGS, "digest", "group", "duplicate_of"))
    written, keys, length, content = get("written") or 0, get("keys") or (), get("length"), get("content")
    longs: tuple[Any, ...] = (fp,) if fp1 is None else (fp, fp1)
    row = usual_row(id, longs, digest, group, duplicate_of, written, version, time, content, keys, length)
    if row is not None:
        return row
    strings = {"an id": id, "digest": digest, "group": group, "duplicate_of": duplicate_of}
    numbers = {"fp": fp, "fp1": fp1, "written": written, "length": length}
    if problem := _wrong_type(strings, numbers) or _not_fitting(id, fp, fp1, digest, group, duplicate_of, keys, length):
        damaged = f"document {id!r} is stored with {problem}: {_FIX}"
        return Row(str(id), None, "", "", None, 0, version, damaged=damaged)
    return Row(
        id,
        None if fp is None else from_longs(longs),
        digest or "",
        (id if group == id else group) or "",  # one string for both: a verb may hold all Rows
        duplicate_of,
        written,
        version,
        tuple(keys),
        length,
        None,
        time,
        content if type(content) is int else None,  # else it is unknown, and the document itself is compared
    )


def usual_row(
    id: Any,
    longs: tuple[Any, ...],
    digest: Any,
    group: Any,
    duplicate_of: Any,
    written: Any,
    version: Any,
    time: Any,
    content: Any = None,
    keys: Any = (),
    length: Any = None,
) -> Row | None:
    """Return the :func:`stored_row` of a usual document, in a quarter of the time.

    :param longs: of the fingerprint, highest first.
    :returns: None if the values are not those of a fingerprinted document.
    """
    fingerprint = 0
    for long in longs:
        if type(long) is not int or not _LEAST <= long <= _MOST:
            return None
        fingerprint = fingerprint << 64 | (long & _WORD)
    if (
        type(id) is type(digest) is type(group) is str
        and digest
        and group
        and (duplicate_of is None or (type(duplicate_of) is str and duplicate_of != id))
        and type(written) is int
        and _LEAST <= written <= _MOST
        and (length is None or (type(length) is int and 0 <= length <= _MOST))
        and isinstance(keys, list | tuple)
        and {int}.issuperset(map(type, keys))
        and (not keys or (min(keys) >= 0 and max(keys) < _KEYS))
    ):
        group = id if group == id else group
        content = content if type(content) is int else None
        keys = tuple(keys)
        return Row(id, fingerprint, digest, group, duplicate_of, written, version, keys, length, None, time, content)
    return None


def _wrong_type(strings: Mapping[str, Any], numbers: Mapping[str, Any]) -> str | None:
    """Return the first value that is no string, or no integer, and that is not missing."""
    for name, value in strings.items():
        if value is not None and type(value) is not str:
            return f"{name} that is not a string"
    for name, value in numbers.items():
        if value is not None and not (type(value) is int and _LEAST <= value <= _MOST):
            return f"{name} that is not an integer of 64 bits"
    return None


def _not_fitting(
    id: str,
    fp: int | None,
    fp1: int | None,
    digest: str | None,
    group: str | None,
    duplicate_of: str | None,
    keys: Any,
    length: int | None,
) -> str | None:
    if length is not None and length < 0:
        return "a negative length"
    if keys and not (isinstance(keys, tuple) and all(type(key) is int and 0 <= key < _KEYS for key in keys)):
        return "keys that are not those of a text"
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


def find_usable(find: Callable[[Candidates], Found], request: Candidates) -> Found:
    """Return what a request finds, without damaged documents. Each of them is named once in a warning.

    A damaged document may have been returned for others with its digest or its fingerprint. So the request is repeated
    without it; if there are many, or one comes all the same, for all documents of each digest and fingerprint.

    :param find: returns what a request finds, with damaged documents.
    """
    found = find(request)
    new = damaged = {row.id: row.damaged for row in found.rows if row.damaged is not None}
    while new and (request.one_per_digest or (request.per_fingerprint, request.nearest) != (None, None)):
        if len(damaged) > MANY or not new.keys().isdisjoint(request.without):  # a damaged id may be no string
            request = replace(request, one_per_digest=False, per_fingerprint=None, nearest=None)
        else:
            request = replace(request, without=(*request.without, *new))
        found = find(request)
        new = {row.id: row.damaged for row in found.rows if row.damaged is not None}
        damaged = damaged | new
    for problem in damaged.values():
        _warn(problem)
    return replace(found, rows=[row for row in found.rows if row.damaged is None]) if damaged else found


@lru_cache(10_000)
def _warn(damaged: str) -> None:
    _log.warning("left out: %s", damaged)
