"""What is at the address of the store, for a message to a user whose store was not set up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.contract import Location, similar_first

if TYPE_CHECKING:
    from es_simhash.stores.sqlite.database import Database

_ENDINGS = (".db", ".sqlite", ".sqlite3")


def locate(database: Database) -> Location:
    if not database.exists:
        return Location(False, others=_others(database))
    with database.use() as connection:
        has_documents = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents'").fetchone()
        count = connection.execute("SELECT count(*) FROM documents").fetchone()[0] if has_documents else 0
    return Location(True, count)


def _others(database: Database) -> tuple[str, ...]:
    """Return the files in the folder that may be stores: those with a name like ours first."""
    path = Path(database.path)
    try:
        files = [each.name for each in path.parent.iterdir() if each.suffix in _ENDINGS and each.is_file()]
    except OSError:
        return ()
    return similar_first(path.name, files)
