"""The SQLite store: one file that holds documents, seen items, or both."""

from es_simhash.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
