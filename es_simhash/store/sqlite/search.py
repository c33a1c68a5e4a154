"""What may be near, in the file?"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from es_simhash.fingerprinting.encoding import split, to_signed
from es_simhash.search.query_plan import ball
from es_simhash.store.sqlite import keys
from es_simhash.store.sqlite.schema import COLUMNS, IS_COPY, NO_KEYS, SEGMENTS, condition, json_list, to_row
from es_simhash.store.types import SAME, Hits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from sqlite3 import Connection
    from typing import Any

    from es_simhash.search.keys import KeyQuery
    from es_simhash.store.types import Probe, Row

_CHUNK = 2
"""Rows are read in chunks of so many times what is wanted, because a filter may leave some out."""
EXAMINED = 5_000
"""Rows whose keys are compared with a query at most."""
_BITS = (1 << 64) - 1


class _Ranked(NamedTuple):
    """Documents that may be near.

    :param positions: of the documents, the first to compare first.
    :param scores: by position; none if the smallest order comes first.
    :param queries: of which a document must fulfil one; none if all do.
    :param left_out: at least so many more documents may be near.
    """

    positions: list[int]
    scores: dict[int, float]
    queries: tuple[KeyQuery, ...] = ()
    left_out: int = 0


def search(
    connection: Connection, probes: Sequence[Probe], filter: Mapping[str, Any] | None, *, heads: bool
) -> list[Hits]:
    """Return what may be near each Probe."""
    by_keys = keys.KeySearch(connection, heads=heads)
    results = []
    for probe in probes:
        ranked = _ranked(connection, by_keys, probe, heads=heads)
        rows = _rows(connection, ranked, condition(filter, times=probe.times, heads=heads), probe.most)
        same = _same(connection, probe, condition(filter, times=probe.times), SAME if heads else probe.most)
        results.append(Hits(same, rows[: probe.most], max(ranked.left_out, len(rows) - probe.most)))
    return results


def _same(connection: Connection, probe: Probe, where: tuple[str, list[Any]], most: int) -> list[Row]:
    """Return the first documents with the digest of a Probe."""
    if not probe.digest:
        return []
    sql = f"SELECT {COLUMNS} FROM documents WHERE digest = ? AND {where[0]} ORDER BY [order] LIMIT ?"
    return [to_row(values) for values in connection.execute(sql, [probe.digest, *where[1], most])]


def _ranked(connection: Connection, by_keys: keys.KeySearch, probe: Probe, *, heads: bool) -> _Ranked:
    """Return the documents that may be near a Probe."""
    if probe.fingerprint is not None:
        orders = _near(connection, probe.fingerprint, probe.distance, heads=heads)
        return _Ranked(sorted(orders, key=orders.__getitem__), {})
    if not probe.queries:
        return _Ranked([], {})
    scored = by_keys.near(probe.queries)
    ranked = scored.positions[np.lexsort((scored.positions, -scored.scores))].tolist()
    scores = dict(zip(scored.positions.tolist(), scored.scores.tolist(), strict=True))
    queries, examined = (probe.queries, EXAMINED) if scored.unsure else ((), len(ranked))
    return _Ranked(ranked[:examined], scores, queries, max(int(scored.unread), len(ranked) - examined))


def _near(connection: Connection, fingerprint: int, distance: int, *, heads: bool) -> dict[int, int]:
    """Return the ``order`` of each document within a distance, by position.

    Of two fingerprints within 3 bits one of the four segments is equal, and within 7 bits one differs in at most one
    bit, by the pigeonhole principle.
    """
    signed, masks = to_signed(fingerprint), ball(distance // 4).tolist()
    within = [[segment ^ mask for mask in masks] for segment in split(fingerprint, 64)]
    values = f"({', '.join('?' * len(masks))})"
    orders: dict[int, int] = {}
    for number in range(len(within)):
        # What an earlier segment has found is left out: near-equal fingerprints have several segments in common.
        earlier = [f"{segment} NOT IN {values}" for segment in SEGMENTS[:number]]
        where = [f"{SEGMENTS[number]} IN {values}", f"{IS_COPY} IN ({'0' if heads else '0, 1'})", *earlier]
        found = connection.execute(
            f"SELECT position, [order], fingerprint FROM documents INDEXED BY segments{number} "
            f"WHERE fingerprint IS NOT NULL AND {' AND '.join(where)}",
            [*within[number], *chain.from_iterable(within[:number])],
        )
        orders |= {
            position: order for position, order, other in found if ((other ^ signed) & _BITS).bit_count() <= distance
        }
    return orders


def _rows(connection: Connection, ranked: _Ranked, where: tuple[str, list[Any]], most: int) -> list[Row]:
    """Return the rows of the first ``most`` documents that fulfil a condition, and perhaps of more."""
    sql = (
        f"SELECT {COLUMNS}, position, {'keys' if ranked.queries else NO_KEYS} FROM documents "
        f"WHERE position IN (SELECT value FROM json_each(?)) AND {where[0]}"
    )
    rows: list[Row] = []
    chunk = _CHUNK * most
    for start in range(0, len(ranked.positions), chunk):
        positions = ranked.positions[start : start + chunk]
        found = []
        for *values, position, stored in connection.execute(sql, [json_list(positions), *where[1]]):
            row, of_text = to_row(tuple(values)), set(keys.from_bytes(stored) if ranked.queries else ())
            if not ranked.queries or any(query.is_fulfilled_by(of_text, row.length) for query in ranked.queries):
                found.append((-ranked.scores.get(position, 0), row.order, row.id, row))
        rows += [row for *_, row in sorted(found)]
        if len(rows) > most:
            break
    return rows
