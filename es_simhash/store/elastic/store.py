"""The store on an index of Elasticsearch or OpenSearch."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from es_simhash.store.elastic import mapping
from es_simhash.store.elastic.documents import bulk, get_documents
from es_simhash.store.elastic.rows import if_version, row_of, source_of, updating, version_of, writing
from es_simhash.store.elastic.scan import pages, query_of, scan
from es_simhash.store.elastic.search import members, search
from es_simhash.store.types import Stored, UserState, Written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.store.elastic.connection import Connection
    from es_simhash.store.protocol import Filter
    from es_simhash.store.types import Description, Entry, Hits, Probe, Row, Scan

RETRIES = 20
"""How often the server repeats the removal of seen items from a document that other programs write meanwhile."""


class ElasticStore:
    """Documents and seen items in an index: :class:`~es_simhash.store.protocol.Store`."""

    lags = True
    in_memory = False

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.name = connection.name

    # --- the store itself -------------------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return how the index was set up."""
        return mapping.describe(self.connection)

    def set_up(self, wanted: Description) -> str:
        """Make what is missing."""
        return mapping.set_up(self.connection, wanted)

    def change(self, description: Description) -> None:
        """Keep another rule, id field and ``stale``."""
        mapping.change(self.connection, description)

    def close(self) -> None:
        """Close the client, if it is the store's own."""
        self.connection.close()

    # --- read documents ---------------------------------------------------------------------------------------------

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id."""
        names = None if fields is None else ["simhash", *fields]
        return {
            document["_id"]: Stored(row_of(document, self.connection.warn_once), (), source_of(document, fields))
            for document in get_documents(self.connection, ids, names)
        }

    def search(self, probes: Sequence[Probe], filter: Filter | None, *, heads: bool) -> list[Hits]:
        """Return what may be near each Probe."""
        return search(self.connection, probes, filter, heads=heads)

    def members(self, heads: Sequence[str]) -> list[Row]:
        """Return the documents that are copies of one of these heads."""
        return members(self.connection, heads)

    def scan(self, wanted: Scan) -> Iterator[list[Stored]]:
        """Yield documents in lists."""
        return scan(self.connection, wanted)

    def count(self, filter: Filter | None, *, missing: bool | None = None) -> int:
        """Return how many documents match a filter."""
        number: int = self.connection.send("POST", "_count", {"query": query_of(filter, missing)})["count"]
        return number

    def refresh(self) -> None:
        """Make everything that was written visible to searches."""
        self.connection.send("POST", "_refresh")

    # --- write documents --------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        rows = {entry.row.id: entry.row for entry in entries}
        return self._write(rows, {entry.row.id: writing(entry) for entry in entries})

    def _write(self, rows: Mapping[str, Row], operations: Mapping[str, Any]) -> Written:
        """Write documents. One that conflicts is written already if it is as its Row says, with its time of writing."""

        def is_done(document: Mapping[str, Any]) -> bool:
            row, stored = rows[document["_id"]], row_of(document, self.connection.warn_once)
            return stored == row._replace(content=row.content or stored.content, version=stored.version)

        return bulk(self.connection, operations, is_done)

    def write_links(self, rows: Mapping[str, Row]) -> Written:
        """Change what documents are copies of, each on its version."""
        operations = {
            id: updating(id, row.version, {"simhash": {"group": row.group, "duplicate_of": row.duplicate_of}})
            for id, row in rows.items()
            if row.version is not None
        }
        written = self._write(rows, operations)
        return replace(written, conflicts=written.conflicts | (rows.keys() - operations.keys()))

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        operations = {id: ({"delete": {"_id": id, **if_version(version)}},) for id, version in versions.items()}
        written = bulk(self.connection, operations)
        left = get_documents(self.connection, sorted(written.conflicts), ["simhash.digest"])
        return replace(written, conflicts=written.conflicts & {document["_id"] for document in left})

    # --- the items that users have seen -----------------------------------------------------------------------------

    def read_users(self, names: Sequence[str]) -> dict[str, UserState]:
        """Return the states of users."""
        documents = get_documents(self.connection, names, ["seen"])
        return {one["_id"]: UserState(one["_source"].get("seen"), version_of(one)) for one in documents}

    def write_users(self, states: Mapping[str, UserState]) -> Written:
        """Write the state of each user, on its version, by a partial update: other fields of the document stay.

        The mark is that of this write alone: another program may write an equal state.
        """
        mark = token_hex(8)
        operations: dict[str, Any] = {}
        for user, state in states.items():
            fields, is_new = {"seen": {**state.seen, "mark": mark}}, state.version is None
            operations[user] = ({"create": {"_id": user}}, fields) if is_new else updating(user, state.version, fields)

        def is_done(document: Mapping[str, Any]) -> bool:
            seen = document["_source"].get("seen")
            return isinstance(seen, dict) and seen.get("mark") == mark

        return bulk(self.connection, operations, is_done)

    def remove_users(self, names: Sequence[str]) -> frozenset[str]:
        """Remove the seen items of users, and return the users that had some."""
        documents = get_documents(self.connection, names, None)
        had_some = {one["_id"]: one for one in documents if one["_source"].get("seen")}
        deletions = {
            user: ({"delete": {"_id": user, **if_version(version_of(one))}},)
            for user, one in had_some.items()
            if one["_source"].keys() == {"seen"}
        }
        deleted = bulk(self.connection, deletions).versions
        # The others stay: they have other fields, perhaps of another program that wrote them meanwhile.
        changes = {
            user: ({"update": {"_id": user, "retry_on_conflict": RETRIES}}, {"doc": {"seen": None}})
            for user in had_some.keys() - deleted.keys()
        }
        return frozenset(had_some.keys() - bulk(self.connection, changes).refused.keys())

    def list_users(self, before: int) -> Iterator[list[str]]:
        """Yield the users whose newest generation started before a time."""
        query = {"bool": {"filter": [{"range": {"seen.newest": {"gt": 0, "lt": before}}}]}}
        for hits in pages(self.connection, query, [], {"_source": False, "track_total_hits": False}):
            yield [hit["_id"] for hit in hits]
