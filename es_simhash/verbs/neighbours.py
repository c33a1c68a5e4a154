"""Which original a document duplicates, where several are near it: the rule.

An exact duplicate comes before a near one, then the nearest, then the one that was written first. Where texts confirm,
only near-duplicates with a similar text count.

A link leads to a document that was written earlier, so links never form a circle. A document gets its place in the
write order with its text. It keeps the place while its text changes within max_distance.
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from dataclasses import dataclass
from functools import cache
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.search.hamming import rows_within
from es_simhash.search.keys import rows_sharing
from es_simhash.search.times import TimeRanges
from es_simhash.verbs.memory import RecentSources
from es_simhash.verbs.texts import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from es_simhash.contract import Flow, Row
    from es_simhash.search.keys import KeyQuery
    from es_simhash.verbs.rule import ResolvedRule
    from es_simhash.verbs.texts import StoredText, Texts


MOST_TEXTS = 20
"""The largest number of texts that are compared with a document: of the documents that share the most keys with it."""
NEAREST = 8
"""The number of nearest neighbours of each document whose texts are fetched for a whole batch at once."""

Rank = tuple[bool, int, int, str]
"""Not an exact duplicate, distance in bits, write order, id. The smallest is the original."""


@dataclass(frozen=True)
class Original:
    """The document that another duplicates.

    :param distance: Hamming distance in bits; None if one of the two has no fingerprint.
    :param similarity: of the texts, where they confirm; 1 for an exact duplicate.
    """

    row: Row
    distance: int | None
    similarity: float | None


class Neighbours:
    """The documents that are near each document of a batch.

    Rows have an index: first come the Rows that are stored, then those of the batch.

    :param batch: in their order, each as the Row that it would be alone. The digest of an empty text is empty.
    :param stored: Rows that are stored already. Some may be replaced by documents of the batch.
    :param queries: with keys: for each of the batch the conditions on the keys of its neighbours.
    """

    def __init__(
        self,
        batch: Sequence[Row],
        stored: Iterable[Row],
        rule: ResolvedRule,
        queries: Sequence[tuple[KeyQuery, ...]] = (),
    ) -> None:
        self._position = {row.id: position for position, row in enumerate(batch)}
        ranges = None
        if rule.window is not None:
            ranges = TimeRanges(rule.window.around(row.time) for row in batch if row.time is not None)
        first = _first_of_copies(stored, self._position, ranges)
        self._stored_count = len(first)
        self._rows = [*first, *batch]
        self._rule = rule
        self._shared: list[dict[int, int]] = []
        if rule.keys:
            self._shared = rows_sharing(queries, [row.keys for row in self._rows], [row.length for row in self._rows])
            self._near = [self._pairs(position) for position in range(len(batch))]
        else:
            self._near = rows_within(
                [row.fingerprint for row in batch],
                [row.fingerprint for row in self._rows],
                rule.max_distance,
                rule.bits,
            )
        if rule.window is not None:
            self._near = [
                [pair for pair in some if self._in_window(position, pair[0])]
                for position, some in enumerate(self._near)
            ]
        self._copies: dict[str, list[int]] = defaultdict(list)
        digests = {row.digest for row in batch}
        for index, row in enumerate(self._rows):
            if row.digest in digests:
                self._copies[row.digest].append(index)
        self.left_out: dict[str, int] = {}
        """By id, how many documents that share keys were not compared."""
        self._texts: Texts | None = None
        self._recent = RecentSources()
        self._stored_texts: dict[int, StoredText] = {}
        self._batch_text: Callable[[int], StoredText]

    def _pairs(self, position: int) -> list[tuple[int, int]]:
        """Return the Rows that share keys with one of the batch, as pairs (index, distance)."""
        row = self._rows[self._stored_count + position]
        found = self._rule.allowed(row.fingerprint, self._rows, self._shared[position])
        # Where there is no distance, the document comes after all that have one.
        return [(index, self._rule.bits + 1 if distance is None else distance) for index, distance in found]

    def _in_window(self, position: int, index: int) -> bool:
        return self._rule.in_window(self._rows[self._stored_count + position].time, self._rows[index].time)

    def confirm_new(self, texts: Texts, sources: Sequence[str], recent: RecentSources) -> Flow[None]:
        """Fetch the texts that will probably be compared. From now on texts confirm.

        :param sources: the documents of the batch as JSON.
        """
        self._texts, self._recent = texts, recent
        self._stored_texts = yield from self._fetch(self._nearest())
        self._batch_text = cache(lambda position: texts.of_source(sources[position]))

    def confirm_stored(self, texts: Texts) -> Flow[None]:
        """:meth:`confirm_new` for a batch of stored documents."""
        self._texts = texts
        own = {self._stored_count + position for position in range(len(self._near)) if self._different(position)}
        self._stored_texts = fetched = yield from self._fetch(self._nearest() | own)
        self._batch_text = lambda position: fetched.get(self._stored_count + position)

    def _different(self, position: int) -> list[tuple[int, int]]:
        """Return the stored Rows near one of the batch that are no exact duplicates, as pairs (distance, index)."""
        digest = self._rows[self._stored_count + position].digest
        return [
            (distance, index)
            for index, distance in self._near[position]
            if index < self._stored_count and self._rows[index].digest != digest
        ]

    def _nearest(self) -> set[int]:
        """Return the indices of the nearest stored Rows of each document."""
        return {
            index for position in range(len(self._near)) for _, index in nsmallest(NEAREST, self._different(position))
        }

    def _fetch(self, indices: Collection[int]) -> Flow[dict[int, StoredText]]:
        """Return the features of Rows' texts by index."""
        assert self._texts is not None
        found: dict[int, StoredText] = {}
        for index in indices:
            if (source := self._recent.get(self._rows[index])) is not None:
                found[index] = self._texts.of_source(source)
        missing = [index for index in indices if index not in found]
        stored = yield from self._texts.stored(self._rows[index].id for index in missing)
        return found | {index: stored.get(self._rows[index].id) for index in missing}

    def original_of(
        self,
        id: str,
        written: Mapping[str, Row],
        before: int | None = None,
        without: Container[str] = (),
        *,
        strict: bool = True,
    ) -> Flow[Original | None]:
        """Return the original of a document of the batch.

        :param written: the Rows that the documents before it in the batch will be written as.
        :param before: only documents with a smaller write order count.
        :param without: ids of the batch that do not count.
        :param strict: a neighbour without a text raises; else it does not count.
        :raises InputError: if ``strict``, naming a neighbour whose text is not in the store.
        """
        ranked = self._ranked(id, written, before, without)
        if self._texts is None:
            best = min(ranked, default=None, key=itemgetter(0))
            return self._original(*best, None, written) if best else None
        position = self._position[id]
        digest = self._rows[self._stored_count + position].digest
        ranked.sort(key=itemgetter(0))
        # The texts of the nearest are here already. The texts of others are fetched now, and not kept.
        for start in range(0, len(ranked), BATCH):
            some = ranked[start : start + BATCH]
            others = [i for _, i in some if i < self._stored_count and self._rows[i].digest != digest]
            fetched = yield from self._fetch([index for index in others if index not in self._stored_texts])
            stored_texts = ChainMap(fetched, self._stored_texts)
            for rank, index in some:
                try:
                    similarity = self._similarity(self._texts, position, index, stored_texts)
                except InputError:
                    if strict:
                        raise
                    continue
                if self._texts.is_enough(similarity):
                    return self._original(rank, index, similarity, written)
        return None

    def _ranked(
        self, id: str, written: Mapping[str, Row], before: int | None, without: Container[str]
    ) -> list[tuple[Rank, int]]:
        """Return the neighbours that count, each with its rank and its index."""
        position = self._position[id]
        digest = self._rows[self._stored_count + position].digest
        found = [(True, distance, index) for index, distance in self._near[position]]
        if digest:
            found += [(False, 0, index) for index in self._copies[digest] if self._in_window(position, index)]
        ranked: list[tuple[Rank, int]] = []
        for not_exact, distance, index in found:
            row = self._rows[index]
            if row.id == id:
                continue
            if index >= self._stored_count:  # of this batch: it counts after its turn, if it is written
                if row.id not in written or row.id in without:
                    continue
                order = written[row.id].written
            elif row.id in written:  # a former state that this batch replaces
                continue
            else:
                order = row.written
            if before is None or order < before:
                ranked.append(((not_exact, distance, order, row.id), index))
        return self._most_similar(position, ranked) if self._rule.keys else ranked

    def _most_similar(self, position: int, ranked: list[tuple[Rank, int]]) -> list[tuple[Rank, int]]:
        """Return the exact duplicates, and of the others those that share the most keys."""
        exact = [each for each in ranked if not each[0][0]]
        copies = {index for _, index in exact}
        others = [each for each in ranked if each[0][0] and each[1] not in copies]
        shared = self._shared[position]
        # The write order of two documents may be equal; then the id decides, as in a store.
        others.sort(key=lambda each: (-shared[each[1]], each[0][2], each[0][3]))
        self.left_out[self._rows[self._stored_count + position].id] = max(0, len(others) - MOST_TEXTS)
        return exact + others[:MOST_TEXTS]

    def _original(self, rank: Rank, index: int, similarity: float | None, written: Mapping[str, Row]) -> Original:
        row = self._rows[index]
        distance = None if rank[1] > self._rule.bits else rank[1]
        return Original(written[row.id] if index >= self._stored_count else row, distance, similarity)

    def _similarity(
        self, texts: Texts, position: int, index: int, stored_texts: Mapping[int, StoredText]
    ) -> float | None:
        row = self._rows[index]
        if row.digest and row.digest == self._rows[self._stored_count + position].digest:
            return 1.0
        other = self._batch_text(index - self._stored_count) if index >= self._stored_count else stored_texts.get(index)
        return texts.similarity(self._batch_text(position), other)


def _first_of_copies(rows: Iterable[Row], batch: Container[str], ranges: TimeRanges | None) -> list[Row]:
    """Return the Rows without exact duplicates of others: of these the first written is enough, and there may be many.

    :param batch: ids of the batch. Their Rows all stay, because the batch may replace their documents.
    :param ranges: the times in which the batch has duplicates; None for all. Rows outside are left out, and exact
        duplicates in different parts of the ranges all stay.
    """
    kept: list[Row] = []
    first: dict[Any, Row] = {}
    for row in rows:
        if row.id in batch:
            kept.append(row)
            continue
        key: Any = (row.digest, row.fingerprint)
        if ranges is not None:
            if (part := ranges.part(row.time)) is None:
                continue
            key = (*key, part)
        copy = first.setdefault(key, row)
        if (row.written, row.id) < (copy.written, copy.id):
            first[key] = row
    return [*kept, *first.values()]
