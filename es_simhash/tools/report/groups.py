"""The groups of a store, the largest first.

All rows are read once. SQLite holds them in a temporary file, which it deletes: some 150 bytes a document.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash import Row


@dataclass(frozen=True)
class Totals:
    """The numbers of documents in a store.

    :param documents: those with a digest: all that were ingested or filled in.
    :param groups: groups of two or more documents.
    :param members: documents in these groups, with the originals.
    :param exact: exact duplicates of the original of their group, without the originals.
    """

    documents: int
    groups: int
    members: int
    exact: int


@dataclass(frozen=True)
class Group:
    """A group of two or more documents.

    :param name: of the group: the id of its first original.
    :param original: the id of its original.
    :param members: how many documents it has, with the original.
    :param exact: how many of them are exact duplicates of the original, without the original.
    """

    name: str
    original: str
    members: int
    exact: int


@dataclass(frozen=True)
class Member:
    """A document of a group, besides the original.

    :param exact: it is an exact duplicate of the original.
    :param duplicate_of: the id of the original that it is linked to; None if it is one itself.
    :param pinned: a person has said what it is.
    """

    id: str
    exact: bool
    duplicate_of: str | None
    pinned: bool


class Groups:
    """The groups of some rows.

    :param rows: all rows of a store.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._database = sqlite3.connect("", isolation_level=None)  # a temporary file
        try:
            self._fill(rows)
        except sqlite3.Error as error:
            advice = "make room for temporary files, or name another folder in the variable TMPDIR"
            raise StoreError(f"cannot write the temporary file of the groups ({error}): {advice}") from error

    def _fill(self, rows: Iterable[Row]) -> None:
        self._database.executescript(
            """
            PRAGMA journal_mode = OFF;
            PRAGMA synchronous = OFF;
            CREATE TABLE member (id TEXT, name TEXT, digest TEXT, written INTEGER, duplicate_of TEXT, pinned INTEGER);
            """
        )
        values = ((row.id, row.group, row.digest, row.written, row.duplicate_of, row.pinned) for row in rows)
        self._database.executemany("INSERT INTO member VALUES (?, ?, ?, ?, ?, ?)", values)
        self._database.executescript(
            """
            CREATE INDEX of_name ON member (name, digest, written, id);
            CREATE TABLE found AS
            SELECT name, coalesce(max(CASE WHEN duplicate_of IS NULL THEN id END), min(id)) AS original,
                count(*) AS members, max(CASE WHEN duplicate_of IS NULL THEN digest END) AS digest, 0 AS exact
            FROM member GROUP BY name HAVING count(*) > 1;
            UPDATE found SET exact = (SELECT count(*) FROM member
                WHERE member.name = found.name AND member.digest = found.digest) - 1 WHERE digest IS NOT NULL;
            """
        )

    def totals(self) -> Totals:
        """Return the numbers of all documents."""
        counts = "(SELECT count(*) FROM member), count(*), ifnull(sum(members), 0), ifnull(sum(exact), 0)"
        return Totals(*self._database.execute(f"SELECT {counts} FROM found").fetchone())

    def largest(self, most: int | None = None) -> Iterator[Group]:
        """Return the groups, the largest first; of equal size, the one with fewer exact duplicates.

        :param most: at most so many groups; None for all.
        """
        found = self._database.execute(
            "SELECT name, original, members, exact FROM found ORDER BY members DESC, exact, name LIMIT ?",
            (-1 if most is None else most,),
        )
        return (Group(*row) for row in found)

    def members(self, group: Group, most: int | None = None) -> list[Member]:
        """Return the members of a group besides the original, in the order of writing; exact duplicates come last.

        :param most: at most so many; None for all.
        """
        found = self._database.execute(
            "SELECT id, member.digest IS found.digest AS exact, duplicate_of, pinned "
            "FROM member JOIN found USING (name) WHERE name = ? AND id != original ORDER BY exact, written, id LIMIT ?",
            (group.name, -1 if most is None else most),
        )
        return [Member(id, bool(exact), original, bool(pinned)) for id, exact, original, pinned in found]

    def sample(self, most: int) -> list[str]:
        """Return the ids of random documents, each of another text: those with the lowest digests."""
        found = self._database.execute("SELECT min(id) FROM member GROUP BY digest ORDER BY digest LIMIT ?", (most,))
        return [id for [id] in found]

    def close(self) -> None:
        """Delete the temporary file."""
        self._database.close()
