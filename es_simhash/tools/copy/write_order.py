"""Stored documents as the input of a copy: whole, and in the order in which they were written.

The order is read first. SQLite holds it in a temporary file of its own, which it deletes: some 50 bytes a document. So
memory does not grow with the number of documents.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import field
from typing import TYPE_CHECKING

from es_simhash.contract import Scan, pages
from es_simhash.lines import Line
from es_simhash.temporary import temporary_database, temporary_file
from es_simhash.values import value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator
    from typing import TypeAlias

    from es_simhash import Documents
    from es_simhash.contract import Store

Position: TypeAlias = "tuple[int, str]"
"""The write order of a document, and its id."""

SOURCES = 100
"""Whole documents that are fetched in one request."""


@value
class WholeDocument(Line):
    """A stored document as a line of input. Its id is in the field ``_id``.

    :param position: where it is in the write order.
    """

    position: Position = field(default=(0, ""), kw_only=True)


def whole_documents(documents: Documents, *, after: Position | None = None) -> Generator[WholeDocument, None, None]:
    """Yield all documents of a store, as they were written, the one that was written first at first.

    They are input for the ``ingest`` of another store, with ``id_field="_id"``: so documents go to a store with
    another Scheme or with other keys. The Scheme of ``documents`` is not compared with the store's.

    Documents that are written or removed after the start may be missed. A text that changes in the meantime is the new
    one.

    :param after: only documents behind the ``position`` of this one.
    :raises NotSetUp: if the store was not set up.
    """
    documents.keys()  # raises NotSetUp
    store = documents.store
    store.refresh()
    with temporary_file("ids"), closing(temporary_database()) as db:
        _read_order(store, db)
        # An id that two indices of an alias have comes once, at its last position.
        sql = "SELECT max(written), id FROM documents GROUP BY id HAVING (max(written), id) > (?, ?) ORDER BY 1, 2"
        positions = db.execute(sql, after or (-1, ""))
        while some := positions.fetchmany(SOURCES):
            sources = store.fetch_fields(tuple(id for _, id in some), None)
            for written, id in some:
                if id in sources:
                    yield WholeDocument(f"document {id!r}", {**sources[id], "_id": id}, position=(written, id))


def _read_order(store: Store, db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE documents (written INTEGER, id TEXT)")
    for page in pages(store, Scan(fields=())):
        db.execute("BEGIN")
        db.executemany("INSERT INTO documents VALUES (?, ?)", [(row.written, row.id) for row in page.rows])
        db.execute("COMMIT")
