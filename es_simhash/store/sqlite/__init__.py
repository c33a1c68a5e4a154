"""Who keeps documents on one machine? An SQLite file with plain tables and indexes, for a million documents."""

from es_simhash.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
