"""Short forms of documents and calls, for the tests of stores."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from hashlib import md5
from typing import TYPE_CHECKING, Any
from zlib import crc32

from es_simhash.rows import Description, Entry, Row, Scan
from es_simhash.text.keys import GRAM, HASH_BITS, LONGER, PAIRS
from es_simhash.text.scheme import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.rows import Stored, Written
    from es_simhash.store.protocol import Store

DOCUMENTS = Description(scheme=DEFAULT, keys=True)
"""A store for documents with keys."""
_orders = itertools.count(1)
_KINDS = {"g": GRAM, "p": PAIRS, "m": LONGER}


def keys(*names: str) -> tuple[int, ...]:
    """Return a key for each name: of the kind that the first letter says (g, p or m)."""
    return tuple(_KINDS[name[0]] << HASH_BITS | (crc32(name.encode()) & ~127) << HASH_BITS - 32 for name in names)


def digest_of(id: str) -> str:
    """Return the digest of the text of a document that :func:`entry` makes."""
    return md5(id.encode(), usedforsecurity=False).hexdigest()


def entry(id: str, fingerprint: int | None = None, *names: str, source: str | None = None, **values: Any) -> Entry:
    """Return an Entry. Its order is after that of the Entry before.

    :param names: of its keys.
    :param source: None for a document with the id alone.
    :param values: of the Row.
    """
    order = next(_orders)
    given = {"digest": digest_of(id), "order": order, "written": order, "length": 10, **values}
    return Entry(Row(id, fingerprint, **given), keys(*names), source or json.dumps({"id": id}))


def document(id: str, fields: dict[str, Any], **values: Any) -> Entry:
    """Return an Entry with some fields."""
    return entry(id, source=json.dumps(fields), **values)


def put(store: Store, *entries: Entry, refresh: bool = True) -> Written:
    """Write documents in place of those with their ids, and make them visible.

    :param refresh: False to let what a refresh does wait.
    """
    stored = store.read([one.row.id for one in entries])
    versions = {id: one.row.version for id, one in stored.items()}
    written = store.write([replace(one, row=one.row._replace(version=versions.get(one.row.id))) for one in entries])
    assert not written.conflicts
    assert not written.refused
    if refresh:
        store.refresh()
    return written


def row_of(store: Store, id: str) -> Row:
    """Return the Row of a document that is there."""
    return store.read([id])[id].row


def link(store: Store, id: str, original: str | None) -> None:
    """Make a document a copy of another one, or an original."""
    written = store.write([Entry(row_of(store, id)._replace(duplicate_of=original), keys=None)])
    assert not written.conflicts
    store.refresh()


def scanned(store: Store, scan: Scan | None = None) -> list[Stored]:
    """Return all documents of a scan."""
    return [one for page in store.scan(scan or Scan()) for one in page]


def ids(documents: Iterable[Stored | Row]) -> list[str]:
    """Return the ids of documents."""
    return [one.id if isinstance(one, Row) else one.row.id for one in documents]
