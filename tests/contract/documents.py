"""Short forms of calls on documents, for tests. Fingerprints have 64 bits, unless a test says otherwise."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from es_simhash.contract import (
    Candidates,
    Entry,
    Found,
    Probe,
    Row,
    Scan,
    Store,
    Written,
)
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.search.encoding import GRAM, HASH_BITS, LONGER, NUMBERS, PAIRS
from tests.contract.linear import is_near

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_simhash.search.keys import KeyQuery

_write_orders = itertools.count(1)
_KINDS = {"g": GRAM, "p": PAIRS, "m": LONGER, "n": NUMBERS}


def keys(*names: str) -> tuple[int, ...]:
    """Return a key for each name: of the kind that the first letter says (g, p, m or n); other names are bands."""
    of_names = [(_KINDS.get(name[:1], PAIRS), crc32(name.encode())) for name in names]
    return tuple(kind << HASH_BITS | number << HASH_BITS - 32 for kind, number in of_names)


def entry(
    id: str,
    fingerprint: int | None,
    *,
    digest: str | None = None,
    group: str | None = None,
    duplicate_of: str | None = None,
    keys: Sequence[int] | None = None,
    length: int = 0,
    **fields: Any,
) -> Entry:
    """Return an Entry. Its write order is after that of the Entry before.

    :param digest: None for a digest that no other id has.
    :param group: None for the document's own id.
    :param keys: None for a Row without keys, which has no length either.
    :param fields: the fields of the document.
    """
    row = Row(id, fingerprint, digest or f"digest of {id}", group or id, duplicate_of, next(_write_orders))
    if keys is not None:
        row = replace(row, keys=tuple(keys), length=length)
    return Entry(row, json.dumps({"id": id, **fields}))


def put(store: Store, *entries: Entry, bits: int = DEFAULT.bits) -> Written:
    """Write documents in place of those with their ids."""
    stored = store.fetch(tuple(entry.row.id for entry in entries))
    versions = {id: row.version for id, row in stored.items()}
    rows = [replace(entry.row, version=versions.get(entry.row.id)) for entry in entries]
    return store.write(tuple(map(Entry, rows, (entry.source for entry in entries))), bits)


def write(store: Store, *entries: Entry, bits: int = DEFAULT.bits) -> Written:
    """Write documents in place of those with their ids, and make them visible to searches."""
    written = put(store, *entries, bits=bits)
    store.refresh()
    return written


def candidates(
    store: Store, probes: Sequence[Probe], max_distance: int, *, bits: int = DEFAULT.bits, **options: Any
) -> list[Row]:
    """Return the candidates for some Probes."""
    return store.candidates(Candidates(tuple(probes), max_distance, bits, **options)).rows


def find_by_keys(store: Store, *probes: Probe | KeyQuery, max_distance: int = -1, **options: Any) -> Found:
    """Return the candidates for some Probes and KeyQueries. A KeyQuery stands for a Probe with this query alone."""
    each = tuple(probe if isinstance(probe, Probe) else Probe(None, None, (probe,)) for probe in probes)
    return store.candidates(Candidates(each, max_distance, DEFAULT.bits, **options))


def near(store: Store, fingerprint: int, max_distance: int) -> list[Row]:
    """Return those candidates for a fingerprint that are within max_distance."""
    probe = Probe(fingerprint, None)
    return [row for row in candidates(store, [probe], max_distance) if is_near(row, probe, max_distance)]


def scan(store: Store, **options: Any) -> list[Row]:
    """Return all documents that Scan returns, page by page."""
    page = store.scan(Scan(**options))
    rows = list(page.rows)
    while page.after is not None:
        page = store.scan(Scan(page.after, **options))
        rows += page.rows
    return rows


def fingerprints(
    store: Store, after: Any = None, own: int | None = None, most: int | None = None
) -> tuple[set[int], Any]:
    """Return all fingerprints since a page, and where the next read goes on; None if the store does not support it."""
    values: set[int] = set()
    page = store.read_fingerprints(after, own, most)
    while page is not None:
        values.update(page.values)
        if not page.more:
            return values, page.after
        page = store.read_fingerprints(page.after)
    return values, None


def keys_of(
    store: Store, after: Any = None, own: int | None = None, most: int | None = None
) -> tuple[set[tuple[frozenset[int], int]], Any]:
    """:func:`fingerprints` for the keys and the lengths of texts."""
    found: set[tuple[frozenset[int], int]] = set()
    page = store.read_fingerprints(after, own, most, keys=True)
    while page is not None:
        found.update((frozenset(keys), length) for keys, length in page.keys)
        if not page.more:
            return found, page.after
        page = store.read_fingerprints(page.after, keys=True)
    return found, None


def flip(value: int, bits: Iterable[int]) -> int:
    """Return a fingerprint in which these bits are flipped, 0 for the lowest."""
    for bit in bits:
        value ^= 1 << bit
    return value


def plain(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Return what stores agree on of Rows, sorted: everything but the write order and the version."""
    return sorted((r.id, r.fingerprint, r.digest, r.group, r.duplicate_of or "") for r in rows)
