"""The groups of a store, with their sizes and distances, in a table on disk.

All Rows of a store are added once. SQLite holds them in a temporary file of its own, which it deletes. So the memory
stays bounded: a few megabytes, whatever the size of the store. A document takes some 150 bytes of disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from es_simhash.search.hamming import hamming_distance
from es_simhash.temporary import temporary_database, temporary_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Self

    from es_simhash.contract import Row

    Progress = Callable[[str, int], object]

_CACHE = 16_000
"""Kibibytes of pages that SQLite holds in memory."""
BATCH = 1_000
"""Rows that are put into the table, or fetched from it, at once."""


def no_progress(stage: str, documents: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class GroupSummary:
    """A group of two or more documents.

    :param group: the id of its head.
    :param members: how many documents it has, with the head.
    :param exact: how many of them are exact duplicates of the head, without the head.
    :param farthest: the largest Hamming distance of a member from the head, in bits. None if it cannot be computed: the
        head is gone, or fingerprints are missing.
    """

    group: str
    members: int
    exact: int
    farthest: int | None


@dataclass(frozen=True)
class GroupMember:
    """A document of a group.

    :param group: the id of the head of the group.
    :param distance: Hamming distance from the head in bits, 0 for the head itself. None if one of the two has no
        fingerprint, or the head is gone.
    :param exact: it is an exact duplicate of the head. False for the head itself.
    :param duplicate_of: id of its original; None if it has none.
    """

    id: str
    group: str
    distance: int | None
    exact: bool
    duplicate_of: str | None


@dataclass(frozen=True)
class Totals:
    """The numbers of documents in a store.

    :param documents: documents that were fingerprinted.
    :param too_short: those of them whose text is too short for a fingerprint.
    :param groups: groups of two or more documents.
    :param members: documents in these groups, with the heads.
    :param exact: exact duplicates of the head of their group, without the heads.
    :param sizes: how many groups have each number of members.
    :param distances: how many members have each distance from their head, in bits. The key is None for those without a
        distance. Heads and exact duplicates are left out.
    """

    documents: int
    too_short: int
    groups: int
    members: int
    exact: int
    sizes: dict[int, int]
    distances: dict[int | None, int]


class GroupTable:
    """The Rows of a store, to be asked for groups. Add all Rows first.

    It belongs to the thread that made it. Close it to delete the file.
    """

    def __init__(self) -> None:
        with temporary_file("groups"):
            self._connection = temporary_database()
            self._connection.create_function("distance", 2, _distance, deterministic=True)
            self._connection.executescript(
                f"""
                PRAGMA cache_size = -{_CACHE};
                CREATE TABLE member (id TEXT, head TEXT, fingerprint BLOB, digest TEXT, original TEXT, written INTEGER);
                """
            )
        self._has_groups = False

    def add(self, rows: Iterable[Row], progress: Progress = no_progress) -> None:
        """Add Rows. No id comes twice.

        :param progress: is called with ``read`` and a number of Rows.
        """
        rest = iter(rows)
        while some := list(islice(rest, BATCH)):
            values = ((r.id, r.group, _blob(r.fingerprint), r.digest, r.duplicate_of, r.written) for r in some)
            with temporary_file("groups"):
                self._connection.execute("BEGIN")
                self._connection.executemany("INSERT INTO member VALUES (?, ?, ?, ?, ?, ?)", values)
                self._connection.execute("COMMIT")
            progress("read", len(some))

    def summaries(self, most: int = -1) -> Iterator[GroupSummary]:
        """Yield the groups, the largest first; then by the id of the head.

        :param most: yield at most so many; all of them if it is below 0.
        """
        self._make_groups()
        sql = 'SELECT head, members, exact, farthest FROM "group" ORDER BY members DESC, head LIMIT ?'
        for values in self._select(sql, most):
            yield GroupSummary(*values)

    def members(self, group: str, most: int = -1, *, farthest_first: bool = False) -> Iterator[GroupMember]:
        """Yield the members of a group: the head first, then by distance from it, those without a distance last.

        :param most: yield at most so many; all of them if it is below 0.
        :param farthest_first: yield those without a distance after the head, then the farthest, exact duplicates last.
        """
        self._make_groups()
        order = "exact, bits IS NOT NULL, bits DESC" if farthest_first else "bits IS NULL, bits, NOT exact"
        sql = f"""
            SELECT m.id, m.head, distance(m.fingerprint, h.fingerprint) AS bits,
                m.id <> m.head AND m.digest IS h.digest AS exact, m.original
            FROM member AS m LEFT JOIN member AS h ON h.id = m.head
            WHERE m.head = ? ORDER BY m.id <> m.head, {order}, m.written, m.id LIMIT ?
        """
        for id, head, bits, exact, original in self._select(sql, group, most):
            yield GroupMember(id, head, bits, bool(exact), original)

    def totals(self) -> Totals:
        """Return the numbers of documents."""
        self._make_groups()
        one = self._connection.execute
        documents, too_short = one("SELECT count(*), count(*) - count(fingerprint) FROM member").fetchone()
        groups, members, exact = one(
            'SELECT count(*), ifnull(sum(members), 0), ifnull(sum(exact), 0) FROM "group"'
        ).fetchone()
        sizes = dict(one('SELECT members, count(*) FROM "group" GROUP BY members ORDER BY members').fetchall())
        distances = """
            SELECT distance(m.fingerprint, h.fingerprint) AS bits, count(*)
            FROM "group" JOIN member AS m USING (head) LEFT JOIN member AS h ON h.id = m.head
            WHERE m.id <> m.head AND m.digest IS NOT h.digest GROUP BY bits ORDER BY bits
        """
        return Totals(documents, too_short, groups, members, exact, sizes, dict(one(distances).fetchall()))

    def fingerprints(self, most: int) -> list[tuple[int, int]]:
        """Return pairs (fingerprint, documents): those that several documents have, the most frequent first.

        :param most: return at most so many.
        """
        sql = """
            SELECT fingerprint, count(*) AS documents FROM member WHERE fingerprint IS NOT NULL
            GROUP BY fingerprint HAVING documents > 1 ORDER BY documents DESC, fingerprint LIMIT ?
        """
        return [(int.from_bytes(blob, "big"), documents) for blob, documents in self._select(sql, most)]

    def lost_originals(self) -> int:
        """Return how many documents are linked to an original that is not in the table."""
        self._make_groups()
        sql = "SELECT count(*) FROM member WHERE original NOT IN (SELECT id FROM member)"
        [lost] = self._connection.execute(sql).fetchone()
        return int(lost)

    def close(self) -> None:
        """Delete the table."""
        self._connection.close()

    @temporary_file("groups")
    def _make_groups(self) -> None:
        if self._has_groups:
            return
        # Indexes that are made at the end need no random access to a large file.
        self._connection.executescript(
            """
            CREATE INDEX by_head ON member (head); CREATE INDEX by_id ON member (id);
            CREATE TABLE "group" AS
            SELECT m.head, count(*) AS members, ifnull(sum(m.id <> m.head AND m.digest = h.digest), 0) AS exact,
                max(distance(m.fingerprint, h.fingerprint)) AS farthest
            FROM (SELECT head FROM member GROUP BY head HAVING count(*) > 1) AS several
            JOIN member AS m ON m.head = several.head LEFT JOIN member AS h ON h.id = m.head
            GROUP BY m.head;
            """
        )
        self._has_groups = True

    def _select(self, sql: str, *parameters: Any) -> Iterator[Any]:
        # A cursor of its own: another question may be asked while this one is read.
        found = self._connection.execute(sql, parameters)
        while rows := found.fetchmany(BATCH):
            yield from rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _blob(fingerprint: int | None) -> bytes | None:
    return None if fingerprint is None else fingerprint.to_bytes(16, "big")


def _distance(one: bytes | None, other: bytes | None) -> int | None:
    if one is None or other is None:
        return None
    return hamming_distance(int.from_bytes(one, "big"), int.from_bytes(other, "big"))
