"""The SQLite store: one file, no server."""

from es_simhash.stores.sqlite.store import AsyncSqliteStore, SqliteStore

__all__ = ["AsyncSqliteStore", "SqliteStore"]
