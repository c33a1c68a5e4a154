"""Documents that share keys, in SQLite: the table ``keys`` counts them, without a look at the documents.

The documents themselves are read where a filter or a length needs them, and for the Rows that are returned.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from es_simhash.stores.sqlite.filters import to_sql
from es_simhash.stores.sqlite.schema import row_columns, to_row
from es_simhash.stores.stored_row import without_damaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.contract import Candidates, Row
    from es_simhash.search.keys import KeyQuery
    from es_simhash.stores.sqlite.database import Database


def rows_sharing(queries: Sequence[KeyQuery], request: Candidates, database: Database) -> tuple[list[Row], int]:
    """Return the Rows of at most ``request.most`` documents that fulfil a query, and how many others there are."""
    ranked, parameters = _ranked(queries, request, database)
    sql = (
        f"SELECT {row_columns(request.bits, keys=True)}, total "
        f"FROM ({ranked} ORDER BY shared DESC, written LIMIT ?) CROSS JOIN documents USING (written)"
    )
    with database.use() as connection:
        found = connection.execute(sql, [*parameters, request.most]).fetchall()
    rows = without_damaged(to_row(values[:-1]) for values in found)
    return rows, found[0][-1] - len(found) if found else 0


def _ranked(queries: Sequence[KeyQuery], request: Candidates, database: Database) -> tuple[str, list[Any]]:
    """Return a SELECT of ``written``, ``shared`` and ``total`` of all documents that fulfil a query; its parameters.

    ``shared`` is the number of keys that a document shares; ``total`` is the number of documents.
    """
    selects, parameters = [], []
    for query in queries:
        select, query_parameters = _fulfilling(query)
        selects.append(select)
        parameters += query_parameters
    sharing = f"SELECT written, max(shared) AS shared FROM ({' UNION ALL '.join(selects)}) GROUP BY written"
    if request.one_per_digest or request.without or request.filter is not None:
        condition, condition_parameters = condition_of(request, database)
        parameters += condition_parameters
        copy = (
            "row_number() OVER (PARTITION BY digest ORDER BY shared DESC, written)" if request.one_per_digest else "1"
        )
        sharing = (
            f"SELECT written, shared FROM (SELECT written, shared, {copy} AS copy "
            f"FROM ({sharing}) CROSS JOIN documents USING (written) WHERE {condition}) WHERE copy = 1"
        )
    return f"SELECT written, shared, count(*) OVER () AS total FROM ({sharing})", parameters


def _fulfilling(query: KeyQuery) -> tuple[str, list[Any]]:
    """Return a SELECT of ``written`` and ``shared`` of the documents that fulfil one query; its parameters."""
    sql = (
        "SELECT written, count(*) AS shared FROM keys WHERE key IN (SELECT value FROM json_each(?)) "
        "GROUP BY written HAVING count(*) >= ?"
    )
    parameters = [json.dumps(query.keys), query.minimum]
    if query.lengths is None:
        return sql, parameters
    sql = f"SELECT written, shared FROM ({sql}) CROSS JOIN documents USING (written) WHERE length BETWEEN ? AND ?"
    return sql, [*parameters, *query.lengths]


def condition_of(request: Candidates, database: Database) -> tuple[str, list[Any]]:
    """Return the condition on every document of the reply, by the filter and the ids to leave out; its parameters."""
    conditions, parameters = ["1"], []
    if request.without:
        conditions.append("id NOT IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(request.without))
    if request.filter is not None:
        condition, filter_parameters = to_sql(request.filter, trusted=database.trusted)
        conditions.append(f"({condition})")
        parameters += filter_parameters
    return " AND ".join(conditions), parameters
