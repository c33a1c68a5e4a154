"""What may be near, in the file?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.parts import in_parts
from es_simhash.rows import Hits, Scan
from es_simhash.store.sqlite import keys
from es_simhash.store.sqlite.schema import COLUMNS, IS_COPY, SEGMENTS, condition, json_list, to_row
from es_simhash.text.encoding import ball, from_signed, split, to_signed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from sqlite3 import Connection
    from typing import Any

    from es_simhash.rows import Row, StoreQuery

_CHUNK = 2
"""Rows are read in chunks of so many times what is wanted, because a filter may leave some out."""


def search(
    connection: Connection, queries: Sequence[StoreQuery], filter: Mapping[str, Any] | None, *, originals: bool
) -> list[Hits]:
    """Return what may be near each StoreQuery."""
    results = []
    for query in queries:
        ranks, is_cut = _ranks(connection, query, originals=originals)
        where = condition(Scan(filter=filter, missing=None), query.times)
        rows = _rows(connection, ranks, where, query.most)
        left_out = max(int(is_cut), len(rows) - query.most)
        results.append(Hits(_equal(connection, query, where), rows[: query.most], left_out))
    return results


def _equal(connection: Connection, query: StoreQuery, where: tuple[str, list[Any]]) -> list[Row]:
    """Return the first documents with the digest of a StoreQuery."""
    if not query.digest:
        return []
    sql = f"SELECT {COLUMNS} FROM documents WHERE digest = ? AND {where[0]} ORDER BY [order] LIMIT ?"
    return [to_row(values) for values in connection.execute(sql, [query.digest, *where[1], query.most_equal])]


def _ranks(connection: Connection, query: StoreQuery, *, originals: bool) -> tuple[dict[int, float], bool]:
    """Return the documents that may be near a StoreQuery, by their positions, and whether there may be others.

    The document with the smallest rank is to be compared first.
    """
    if query.fingerprint is not None:
        return _near(connection, query.fingerprint, query.distance, originals=originals), False
    scores, is_cut = keys.near(query.keys, connection, originals=originals)
    return {position: -score for position, score in scores.items()}, is_cut


def _near(connection: Connection, fingerprint: int, distance: int, *, originals: bool) -> dict[int, float]:
    """Return the ``order`` of each document within a distance, by position.

    Of two fingerprints within 3 bits one of the four segments is equal, and within 7 bits one differs in at most one
    bit, by the pigeonhole principle.
    """
    masks = ball(distance // 4).tolist()
    values = f"({', '.join('?' * len(masks))})"
    near = " OR ".join(f"{segment} IN {values}" for segment in SEGMENTS)  # SQLite uses the index of each segment
    sql = (
        "SELECT position, [order], fingerprint FROM documents WHERE fingerprint IS NOT NULL "
        f"AND {IS_COPY} IN ({'0' if originals else '0, 1'}) AND ({near})"
    )
    found = connection.execute(sql, [segment ^ mask for segment in split(fingerprint, 64) for mask in masks])
    signed = to_signed(fingerprint)
    return {position: order for position, order, other in found if from_signed(other ^ signed).bit_count() <= distance}


def _rows(connection: Connection, ranks: Mapping[int, float], where: tuple[str, list[Any]], most: int) -> list[Row]:
    """Return the rows of the first ``most`` documents that fulfil a condition, and perhaps of more."""
    sql = f"SELECT {COLUMNS}, position FROM documents WHERE position IN (SELECT value FROM json_each(?)) AND {where[0]}"
    rows: list[Row] = []
    for chunk in in_parts(sorted(ranks, key=ranks.__getitem__), _CHUNK * most):
        found = []
        for *values, position in connection.execute(sql, [json_list(chunk), *where[1]]):
            row = to_row(values)
            found.append((ranks[position], row.order, row.id, row))
        rows += [row for *_, row in sorted(found)]
        if len(rows) > most:
            break
    return rows
