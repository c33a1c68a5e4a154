"""Of several documents that one duplicates, which it is said to duplicate: the rule, and who takes part.

An exact copy before a near one, then the nearest, then the one that was written first. Links lead to what was written
earlier, so they never run in a circle: a document takes its place in that order with its text, and keeps the place
while its text changes within max_distance.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from es_simhash.flows.similar import within
from es_simhash.ops import Probe, Row

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from es_simhash.ops import Entry


class Neighbours:
    """Which rows are near which of a batch, and which of those count when it is a document's turn.

    :param batch: in their order, as the Rows that they would be alone; their digest is empty if their text is.
    :param others: of documents that are written already, or will be replaced by one of the batch.
    """

    def __init__(self, batch: Sequence[Row], others: Iterable[Row], max_distance: int) -> None:
        earlier = list(others)
        self._places = {row.id: place for place, row in enumerate(batch)}
        self._earlier = len(earlier)
        self._rows = [*earlier, *batch]
        self._near = within([probe(row) for row in batch], self._rows, max_distance)
        self._copies: dict[str, list[int]] = defaultdict(list)
        wanted = {row.digest for row in batch}
        for place, row in enumerate(self._rows):
            if row.digest in wanted:
                self._copies[row.digest].append(place)

    def nearest(
        self,
        id: str,
        written: Mapping[str, Entry],
        before: int | None = None,
        without: Container[str] = (),
    ) -> tuple[Row | None, int | None]:
        """What a document of the batch duplicates, and the distance.

        :param written: what the documents before it in the batch will be written as.
        :param before: only what was written before this counts.
        :param without: ids of the batch that don't count.
        """
        place = self._places[id]
        digest = self._rows[self._earlier + place].digest
        found = [(True, distance, at) for at, distance in self._near[place]]
        if digest:
            found += [(False, 0, at) for at in self._copies[digest]]
        best: tuple[bool, int, int, str] | None = None
        nearest: Row | None = None
        for not_exact, distance, at in found:
            row = self._rows[at]
            if row.id == id:
                continue
            if at >= self._earlier:  # of this batch: counts from its turn on, if it is written
                if row.id not in written or row.id in without:
                    continue
                row = as_row(written[row.id])
            elif row.id in written:  # a version that this batch has replaced
                continue
            rank = (not_exact, distance, row.written, row.id)
            if (before is None or row.written < before) and (best is None or rank < best):
                best, nearest = rank, row
        return nearest, best[1] if best else None


def probe(row: Row) -> Probe:
    """What is asked for to find what is near a Row."""
    return Probe(row.fingerprint, row.digest or None, row.bits)


def as_row(entry: Entry) -> Row:
    """The Row that a written Entry is."""
    return Row(
        entry.id,
        entry.fingerprint,
        entry.digest,
        entry.group,
        entry.duplicate_of,
        entry.written,
        bits=entry.bits,
    )


def are_near(left: Row, right: Row, max_distance: int, blank: str) -> bool:
    """Within max_distance, or copies of each other.

    :param blank: the digest of an empty text, which is nobody's copy.
    """
    if left.digest == right.digest != blank:
        return True
    if left.fingerprint is None or right.fingerprint is None:
        return False
    return (left.fingerprint ^ right.fingerprint).bit_count() <= max_distance
