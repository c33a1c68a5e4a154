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
    :param members: documents in these groups, with the heads.
    :param exact: exact duplicates of the head of their group, without the heads.
    """

    documents: int
    groups: int
    members: int
    exact: int


@dataclass(frozen=True)
class Group:
    """A group of two or more documents.

    :param head: the id of its head.
    :param members: how many documents it has, with the head.
    :param exact: how many of them are exact duplicates of the head, without the head.
    """

    head: str
    members: int
    exact: int


@dataclass(frozen=True)
class Member:
    """A document of a group, besides the head.

    :param exact: it is an exact duplicate of the head.
    """

    id: str
    exact: bool


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
            CREATE TABLE member (id TEXT, head TEXT, digest TEXT, written INTEGER);
            """
        )
        values = ((row.id, row.group, row.digest, row.written) for row in rows)
        self._database.executemany("INSERT INTO member VALUES (?, ?, ?, ?)", values)
        self._database.executescript(
            """
            CREATE INDEX of_head ON member (head, digest, written, id);
            CREATE TABLE found AS
            SELECT head, count(*) AS members, max(CASE WHEN id = head THEN digest END) AS digest, 0 AS exact
            FROM member GROUP BY head HAVING count(*) > 1;
            UPDATE found SET exact = (SELECT count(*) FROM member
                WHERE member.head = found.head AND member.digest = found.digest) - 1 WHERE digest IS NOT NULL;
            """
        )

    def totals(self) -> Totals:
        """Return the numbers of all documents."""
        [documents] = self._database.execute("SELECT count(*) FROM member").fetchone()
        groups, members, exact = self._database.execute(
            "SELECT count(*), coalesce(sum(members), 0), coalesce(sum(exact), 0) FROM found"
        ).fetchone()
        return Totals(documents, groups, members, exact)

    def largest(self, most: int | None = None) -> Iterator[Group]:
        """Yield the groups, the largest first; of equal size, the one with fewer exact duplicates.

        :param most: at most so many groups; None for all.
        """
        found = self._database.execute(
            "SELECT head, members, exact FROM found ORDER BY members DESC, exact, head LIMIT ?",
            (-1 if most is None else most,),
        )
        for row in found:
            yield Group(*row)

    def members(self, group: Group, most: int | None = None) -> list[Member]:
        """Return the members of a group besides the head, in the order of writing; exact duplicates come last.

        :param most: at most so many; None for all.
        """
        found = self._database.execute(
            "SELECT member.id, member.digest IS found.digest AS exact FROM member JOIN found USING (head) "
            "WHERE head = ? AND id != head ORDER BY exact, written, id LIMIT ?",
            (group.head, -1 if most is None else most),
        )
        return [Member(id, bool(exact)) for id, exact in found]

    def sample(self, most: int) -> list[str]:
        """Return the ids of random documents, each of another text: those with the lowest digests."""
        found = self._database.execute("SELECT min(id) FROM member GROUP BY digest ORDER BY digest LIMIT ?", (most,))
        return [id for [id] in found]

    def close(self) -> None:
        """Delete the temporary file."""
        self._database.close()
