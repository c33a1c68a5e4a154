"""Which original a document duplicates, where several are near it: the rule.

An exact duplicate comes before a near one, then the nearest, then the one that was written first. Where texts confirm,
only near-duplicates with a similar text count.

A link leads to a document that was written earlier, so links never form a circle. A document gets its write order
with its text. It keeps the write order while its text changes within max_distance.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from heapq import nsmallest
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from es_simhash.deciding.limits import LIMITS, Limits
from es_simhash.deciding.memory import RecentSources
from es_simhash.search.hamming import hamming_distance
from es_simhash.search.key_table import KeyTable
from es_simhash.search.keys import KeyIndex
from es_simhash.search.near_index import NearIndex
from es_simhash.search.times import TimeRanges
from es_simhash.similarity.confirm import most_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from es_simhash.contract import Row, Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.deciding.texts import StoredText, Texts
    from es_simhash.search.keys import KeyQuery


_NO_TIME = 1 << 61
"""Stands for the time of a document that has none. No window reaches so far."""
_NOTHING: Mapping[str, int] = MappingProxyType({})
FEW_DOCUMENTS = 4
"""In a batch of so few documents all keys are compared at once. A table of the keys, which tells of most documents of a
large batch that they are near none, takes 0.3 ms: four times as long as the comparison of one document."""

FEW_NEAR = 1_000
"""A document's neighbours by keys are kept if there are at most so many. With ``confirm`` they are needed twice."""


@dataclass(frozen=True)
class Original:
    """The document that another duplicates.

    :param distance: Hamming distance in bits; None if one of the two has no fingerprint.
    :param similarity: of the texts, where they confirm; 1 for an exact duplicate.
    """

    row: Row
    distance: int | None
    similarity: float | None


class _Near(NamedTuple):
    """Rows that may be near a document.

    :param indices: shape (n,).
    :param order: shape (n,); the smallest is compared first.
    """

    indices: NDArray[np.intp]
    order: NDArray[Any]

    def without(self, indices: NDArray[np.intp]) -> _Near:
        """Return the others."""
        keep = ~np.isin(self.indices, indices) if len(indices) else slice(None)
        return _Near(self.indices[keep], self.order[keep])


_NONE_NEAR = _Near(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64))


class _Counted(NamedTuple):
    """Rows that may be the original of a document.

    :param indices: shape (n,).
    :param order: shape (n,); the smallest is compared first.
    :param written: write orders, shape (n,).
    """

    indices: NDArray[np.intp]
    order: NDArray[Any]
    written: NDArray[np.int64]

    def first(self, rows: Sequence[Row], most: int) -> list[tuple[int, int]]:
        """Return the first to compare: pairs (index, write order). Equal ones come in the order of their ids."""
        if not len(self.indices):
            return []
        ranked = np.lexsort((self.written, self.order))
        last = ranked[min(most, len(ranked)) - 1]
        tied = (self.order[ranked] == self.order[last]) & (self.written[ranked] == self.written[last])
        some = ranked[: int(np.flatnonzero(tied)[-1]) + 1]
        columns = self.order[some].tolist(), self.written[some].tolist(), self.indices[some].tolist()
        found = sorted((order, written, rows[index].id, index) for order, written, index in zip(*columns, strict=True))
        return [(index, written) for _, written, _, index in found[:most]]


class Neighbours:
    """The documents that are near each document of a batch.

    Rows have an index: first come the Rows that are stored, then those of the batch.

    :param batch: in their order, each as the Row that it would be alone. The digest of an empty text is empty.
    :param stored: Rows that are stored already. Some may be replaced by documents of the batch.
    :param queries: with keys: for each of the batch the conditions on the keys of its neighbours.
    :param left_out: by id of the batch, how many documents the store did not return because too many share keys or a
        fingerprint.
    :param unsearched: ids of ``stored`` that search does not find yet, so ``left_out`` does not count them.
    :param outside: ids of the batch that cannot be originals, because the filter excludes them.
    :param limits: of the texts that are fetched together.
    """

    def __init__(
        self,
        batch: Sequence[Row],
        stored: Iterable[Row],
        rule: ResolvedRule,
        queries: Sequence[tuple[KeyQuery, ...]],
        left_out: Mapping[str, int] = _NOTHING,
        unsearched: Container[str] = (),
        outside: Container[str] = (),
        limits: Limits = LIMITS,
    ) -> None:
        self._limits = limits
        self._position = {row.id: position for position, row in enumerate(batch)}
        digests = {row.digest for row in batch}
        ranges = None
        if rule.window is not None:
            ranges = TimeRanges(rule.window.around(row.time) for row in batch if row.time is not None)
        first = _first_of_copies(stored, self._position, digests, rule.per_fingerprint, ranges)
        self._stored_count = len(first)
        self._rows = [*first, *batch]
        self._rule = rule
        self._queries = queries
        # Most documents are near none but themselves. It is known at once for which this holds.
        if rule.keys:
            self._few_near: dict[int, _Near] = {}
            keys, lengths = [row.keys for row in self._rows], [row.length for row in self._rows]
            self._alone = [False] * len(batch)
            if len(batch) > FEW_DOCUMENTS:
                table = KeyTable()
                table.add(keys, lengths)
                self._alone = (~table.may_share(queries, own=self._stored_count)).tolist()
            shared = [() if alone else some for alone, some in zip(self._alone, queries, strict=True)]
            self._keys = KeyIndex(keys, lengths, shared)
        else:
            self._fingerprints = NearIndex(rule.bits, rule.max_distance)
            self._fingerprints.add([row.fingerprint for row in self._rows])
            counts = self._fingerprints.count_near([row.fingerprint for row in batch])
            self._alone = (counts <= 1).tolist()
        if rule.window is not None:
            times = [_NO_TIME if row.time is None else row.time for row in self._rows]
            self._times = np.array(times, dtype=np.int64)
        self._orders = np.array([row.written for row in self._rows], dtype=np.int64)
        self._is_replaceable = np.array([row.id in self._position for row in self._rows], dtype=np.bool_)
        self._is_replaceable[self._stored_count :] = False
        self._replaceable_ids = {row.id for row in first if row.id in self._position}
        self._copies: dict[str, list[int]] = defaultdict(list)
        for index, row in enumerate(self._rows):
            if row.digest in digests:
                self._copies[row.digest].append(index)
        self.left_out = dict(left_out)
        """By id, how many documents that share keys or are near were not compared."""
        self._not_returned = left_out
        self._outside = outside
        self._is_new = np.array([row.id in unsearched for row in first] + [True] * len(batch), dtype=np.bool_)
        self._texts: Texts | None = None
        self._recent = RecentSources()
        self._stored_texts: dict[int, StoredText] = {}
        self._batch_text: Callable[[int], StoredText]

    def has_none(self, id: str) -> bool:
        """Return whether it is known at once that no Row can be the original of one of the batch.

        Then no stored Row has this id either. Without keys, no other one of the batch duplicates it.
        """
        position = self._position[id]
        if not self._alone[position] or self._not_returned:
            return False
        digest = self._rows[self._stored_count + position].digest
        return (not digest or len(self._copies[digest]) == 1) and id not in self._replaceable_ids

    def _near(self, position: int) -> _Near:
        """Return the Rows that may be near one of the batch. It is kept only if there are few."""
        row = self._rows[self._stored_count + position]
        if self._alone[position]:
            return _NONE_NEAR
        if not self._rule.keys:
            indices, distances = self._fingerprints.within(row.fingerprint)
            return self._in_window(_Near(indices, distances), position)
        if (near := self._few_near.get(position)) is not None:
            return near
        near = self._allowed(row, *self._keys.sharing(self._queries[position]), position)
        if len(near.indices) <= FEW_NEAR:
            self._few_near[position] = near
        return near

    def _allowed(self, row: Row, indices: NDArray[np.intp], scores: NDArray[np.float64], position: int) -> _Near:
        """Return those of the Rows that share keys with one of the batch, and are near it where a distance limits."""
        if self._rule.limited:
            allowed = self._rule.allowed(row.fingerprint, self._rows, indices.tolist())
            kept = np.isin(indices, [index for index, _ in allowed])
            indices, scores = indices[kept], scores[kept]
        return self._in_window(_Near(indices, -scores), position)

    def _in_window(self, near: _Near, position: int) -> _Near:
        """Return those of the Rows that are in the window around the time of one of the batch."""
        if self._rule.window is None:
            return near
        own, theirs = self._times[self._stored_count + position], self._times[near.indices]
        inside = (np.abs(theirs - own) <= self._rule.window.length) & (theirs != _NO_TIME)
        return _Near(near.indices[inside], near.order[inside])

    def confirm_new(self, store: Store, texts: Texts, sources: Sequence[str], recent: RecentSources) -> None:
        """Fetch the texts that will probably be compared. From now on texts confirm.

        :param sources: the documents of the batch as JSON.
        """
        self._texts, self._recent = texts, recent
        self._stored_texts = self._fetch(store, self._nearest())
        self._batch_text = cache(lambda position: texts.of_source(sources[position]))

    def confirm_stored(self, store: Store, texts: Texts) -> None:
        """:meth:`confirm_new` for a batch of stored documents."""
        self._texts = texts
        own = {self._stored_count + position for position in self._position.values() if len(self._different(position))}
        self._stored_texts = fetched = self._fetch(store, self._nearest() | own)
        self._batch_text = lambda position: fetched.get(self._stored_count + position)

    def _different(self, position: int) -> NDArray[np.intp]:
        """Return the stored Rows near one of the batch that are no exact duplicates, the nearest first."""
        digest = self._rows[self._stored_count + position].digest
        near = self._near(position)
        order = np.lexsort((near.indices, near.order))
        stored = near.indices[order][near.indices[order] < self._stored_count]
        return stored[~np.isin(stored, self._copies[digest])] if len(stored) else stored

    def _nearest(self) -> set[int]:
        """Return the indices of the nearest stored Rows of each document."""
        found: set[int] = set()
        copied: set[str] = set()
        for position in self._position.values():
            digest = self._rows[self._stored_count + position].digest
            copies = self._copies[digest] if digest else []
            if digest in copied or (copies and copies[0] < self._stored_count):
                continue  # it is most likely an exact duplicate, which needs no text
            if digest:
                copied.add(digest)
            found.update(self._different(position)[: self._limits.nearest].tolist())
        return found

    def _fetch(self, store: Store, indices: Collection[int]) -> dict[int, StoredText]:
        """Return the features of Rows' texts by index."""
        assert self._texts is not None
        found: dict[int, StoredText] = {}
        for index in indices:
            if (text := self._recent.text(self._rows[index], self._texts)) is not None:
                found[index] = text
        missing = [index for index in indices if index not in found]
        stored = self._texts.stored(store, (self._rows[index].id for index in missing))
        for index in missing:
            self._recent.keep_text(self._rows[index], stored.get(self._rows[index].id))
        return found | {index: stored.get(self._rows[index].id) for index in missing}

    def original_of(
        self,
        store: Store,
        id: str,
        decided_rows: Mapping[str, Row],
        before: int | None = None,
        *,
        strict: bool = True,
    ) -> Original | None:
        """Return the original of a document of the batch.

        :param decided_rows: by id, the Rows of the documents of the batch that are decided already.
        :param before: ignore documents with this write order or a larger one.
        :param strict: a neighbour without a text raises; else it does not count.
        :raises InputError: if ``strict``, naming a neighbour whose text is not in the store.
        """
        position = self._position[id]
        digest = self._rows[self._stored_count + position].digest
        same = self._copies[digest] if digest else []
        copies = np.array(same, dtype=np.intp)
        in_window = self._in_window(_Near(copies, np.zeros_like(copies)), position)
        exact = self._counted(in_window, id, decided_rows, before)
        for index, _ in exact.first(self._rows, 1):  # no text needs to be compared
            return Original(self._present(index, decided_rows), 0, None if self._texts is None else 1.0)
        near = self._near(position)
        if not len(near.indices) and not self._not_returned:
            return None
        others = self._counted(near.without(copies), id, decided_rows, before)
        if self._texts is None:
            for index, _ in others.first(self._rows, 1):
                return Original(self._present(index, decided_rows), self._distance(position, index), None)
            return None
        most = most_texts(self._rows[self._stored_count + position].length)
        self._count_left_out(id, others, most)
        ranked = self._nearest_first(position, others.first(self._rows, most))
        # The texts of the nearest are here already. The texts of others are fetched now, and not kept.
        for start in range(0, len(ranked), self._limits.texts):
            some = ranked[start : start + self._limits.texts]
            texts = self._texts_of(store, some)
            for number, similarity in self._texts.similar_among(self._batch_text(position), texts, strict=strict):
                index = some[number]
                return Original(self._present(index, decided_rows), self._distance(position, index), similarity)
        return None

    def _nearest_first(self, position: int, neighbours: Iterable[tuple[int, int]]) -> list[int]:
        """Return the indices of neighbours in the order of comparison.

        :param neighbours: pairs (index, write order).
        """
        ranks = []
        for index, written in neighbours:
            distance = self._distance(position, index)
            # Where there is no distance, the document comes after all that have one.
            ranks.append((self._rule.bits + 1 if distance is None else distance, written, self._rows[index].id, index))
        return [index for *_, index in sorted(ranks)]

    def _counted(self, near: _Near, id: str, decided_rows: Mapping[str, Row], before: int | None) -> _Counted:
        """Return those that count, each with its write order."""
        orders = self._orders[near.indices]
        counts = np.ones(len(orders), dtype=np.bool_)
        for index in np.flatnonzero(near.indices >= self._stored_count).tolist():
            row = self._rows[near.indices[index]]  # of this batch: it counts after its turn, if it is written
            counts[index] = row.id != id and row.id in decided_rows and row.id not in self._outside
            if counts[index]:
                orders[index] = decided_rows[row.id].written
        for index in np.flatnonzero(self._is_replaceable[near.indices]).tolist():
            row = self._rows[near.indices[index]]  # a former state does not count when this batch has replaced it
            counts[index] = row.id != id and row.id not in decided_rows
        if before is not None:
            counts &= orders < before
        return _Counted(near.indices[counts], near.order[counts], orders[counts])

    def _count_left_out(self, id: str, others: _Counted, most: int) -> None:
        """Remember how many neighbours are not compared."""
        if not_returned := self._not_returned.get(id):
            self.left_out[id] = not_returned + int(self._is_new[others.indices].sum())
        elif len(others.indices) > most:
            self.left_out[id] = len(others.indices) - most

    def _distance(self, position: int, index: int) -> int | None:
        """Return the distance of a Row from one of the batch, in bits; None if one has no fingerprint."""
        return hamming_distance(self._rows[self._stored_count + position].fingerprint, self._rows[index].fingerprint)

    def _present(self, index: int, decided_rows: Mapping[str, Row]) -> Row:
        """Return a Row; of the batch as it is decided."""
        row = self._rows[index]
        return decided_rows[row.id] if index >= self._stored_count else row

    def _texts_of(self, store: Store, indices: Sequence[int]) -> list[StoredText]:
        """Return the features of Rows' texts."""
        stored = [index for index in indices if index < self._stored_count]
        fetched = self._fetch(store, [index for index in stored if index not in self._stored_texts])
        return [
            self._batch_text(index - self._stored_count)
            if index >= self._stored_count
            else fetched.get(index, self._stored_texts.get(index))
            for index in indices
        ]


def _first_of_copies(
    rows: Iterable[Row],
    batch: Container[str],
    digests: Container[str],
    per_fingerprint: int | None,
    ranges: TimeRanges | None,
) -> list[Row]:
    """Return the Rows that can be an original: of exact duplicates the first written is enough, and there may be many.

    :param batch: ids of the batch. Their Rows all stay, because the batch may replace their documents.
    :param digests: of the batch. The first Row with each of these stays.
    :param per_fingerprint: of the other Rows with one fingerprint so many stay, the first written. None for all.
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
    if per_fingerprint is None:
        return [*kept, *first.values()]
    groups: defaultdict[int | None, list[Row]] = defaultdict(list)
    for row in first.values():
        groups[row.fingerprint].append(row)
    for same in groups.values():
        if len(same) > per_fingerprint:
            kept += nsmallest(per_fingerprint, same, key=attrgetter("written", "id"))
            ids = {row.id for row in kept[-per_fingerprint:]}
            kept += [row for row in same if row.digest in digests and row.id not in ids]
        else:
            kept += same
    return kept
