"""The store on an index of Elasticsearch or OpenSearch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.store.elastic import documents, mapping, users
from es_simhash.store.elastic.scan import count, scan
from es_simhash.store.elastic.search import members, search

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.store.elastic.connection import Connection
    from es_simhash.store.protocol import Filter
    from es_simhash.store.types import Description, Entry, Hits, Link, Probe, Row, Scan, Stored, UserState, Written


class ElasticStore:
    """Documents and seen items in an index: :class:`~es_simhash.store.protocol.Store`."""

    lags = True
    in_memory = False

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.name = connection.name

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

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id."""
        return documents.read(self.connection, ids, fields)

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
        return count(self.connection, filter, missing=missing)

    def refresh(self) -> None:
        """Make everything that was written visible to searches."""
        self.connection.send("POST", "_refresh")

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        return documents.write(self.connection, entries)

    def write_links(self, links: Mapping[str, Link]) -> Written:
        """Change what documents are copies of, each on its version."""
        return documents.write_links(self.connection, links)

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        return documents.remove(self.connection, versions)

    def read_users(self, names: Sequence[str]) -> dict[str, UserState]:
        """Return the states of users."""
        return users.read_users(self.connection, names)

    def write_users(self, states: Mapping[str, UserState]) -> Written:
        """Write the state of each user, on its version."""
        return users.write_users(self.connection, states)

    def remove_users(self, names: Sequence[str]) -> frozenset[str]:
        """Remove the seen items of users."""
        return users.remove_users(self.connection, names)

    def list_users(self, before: int) -> Iterator[list[str]]:
        """Yield the users whose newest generation started before a time."""
        return users.list_users(self.connection, before)
