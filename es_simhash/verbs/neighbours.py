"""Of several documents that one duplicates, which it is said to duplicate: the rule, and who takes part.

An exact copy before a near one, then the nearest, then the one that was written first; of near ones only those whose
texts agree, where texts confirm. Links lead to what was written earlier, so they never run in a circle: a document
takes its place in that order with its text, and keeps the place while its text changes within max_distance.
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from dataclasses import dataclass
from functools import cache
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING

from es_simhash.contract import Probe, Row
from es_simhash.errors import InputError
from es_simhash.verbs.similar import within
from es_simhash.verbs.texts import BATCH, Recent

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from es_simhash.contract import Entry, Flow
    from es_simhash.similarity.confirm import Features
    from es_simhash.verbs.texts import Texts


FEW = 8
"""Of what is near a document, so many texts are brought for a whole batch at once."""


@dataclass(frozen=True)
class Original:
    """What a document duplicates.

    :param distance: Hamming distance in bits.
    :param similarity: of the texts, where they confirm; 1 for a copy.
    """

    row: Row
    distance: int
    similarity: float | None


class Neighbours:
    """Which rows are near which of a batch, and which of those count when it is a document's turn.

    :param batch: in their order, as the Rows that they would be alone; their digest is empty if their text is.
    :param others: of documents that are written already, or will be replaced by one of the batch.
    """

    def __init__(self, batch: Sequence[Row], others: Iterable[Row], max_distance: int) -> None:
        self._places = {row.id: place for place, row in enumerate(batch)}
        earlier = _one_a_copy(others, self._places)
        self._earlier = len(earlier)
        self._rows = [*earlier, *batch]
        self._near = within([probe(row) for row in batch], self._rows, max_distance)
        self._copies: dict[str, list[int]] = defaultdict(list)
        wanted = {row.digest for row in batch}
        for place, row in enumerate(self._rows):
            if row.digest in wanted:
                self._copies[row.digest].append(place)
        self._texts: Texts | None = None
        self._recent = Recent()
        self._stored: dict[int, Features | InputError | None] = {}
        self._given: Callable[[int], Features | InputError | None]

    def confirm_given(self, texts: Texts, sources: Sequence[str], recent: Recent) -> Flow[None]:
        """Bring the texts that may be asked for; from now on they confirm.

        :param sources: the documents of the batch as JSON.
        """
        self._texts, self._recent = texts, recent
        self._stored = yield from self._bring(self._few())
        self._given = cache(lambda place: texts.given(sources[place]))

    def confirm_stored(self, texts: Texts) -> Flow[None]:
        """The same for a batch of stored documents."""
        self._texts = texts
        own = {self._earlier + place for place in range(len(self._near)) if self._apart(place)}
        self._stored = stored = yield from self._bring(self._few() | own)
        self._given = lambda place: stored.get(self._earlier + place)

    def _apart(self, place: int) -> list[tuple[int, int]]:
        """Of what is near one of the batch, what is no copy and not of the batch: pairs (distance, place)."""
        digest = self._rows[self._earlier + place].digest
        return [(d, at) for at, d in self._near[place] if at < self._earlier and self._rows[at].digest != digest]

    def _few(self) -> set[int]:
        """Of these the nearest few of each."""
        return {at for place in range(len(self._near)) for _, at in nsmallest(FEW, self._apart(place))}

    def _bring(self, wanted: Iterable[int]) -> Flow[dict[int, Features | InputError | None]]:
        """The texts of Rows, by place; None where a document is not there any more."""
        assert self._texts is not None
        found: dict[int, Features | InputError | None] = {}
        for at in wanted:
            if (source := self._recent.get(self._rows[at])) is not None:
                found[at] = self._texts.given(source)
        missing = [at for at in wanted if at not in found]
        stored = yield from self._texts.stored(self._rows[at].id for at in missing)
        return found | {at: stored.get(self._rows[at].id) for at in missing}

    def nearest(
        self,
        id: str,
        written: Mapping[str, Entry],
        before: int | None = None,
        without: Container[str] = (),
        *,
        strict: bool = True,
    ) -> Flow[Original | None]:
        """What a document of the batch duplicates.

        :param written: what the documents before it in the batch will be written as.
        :param before: only what was written before this counts.
        :param without: ids of the batch that don't count.
        :param strict: what has no text to confirm by is an error; else it confirms nothing.
        :raises InputError: if ``strict``, naming a document that it may duplicate, and whose text is not in the store.
        """
        place = self._places[id]
        digest = self._rows[self._earlier + place].digest
        found = [(True, distance, at) for at, distance in self._near[place]]
        if digest:
            found += [(False, 0, at) for at in self._copies[digest]]
        ranked: list[tuple[tuple[bool, int, int, str], int]] = []
        for not_exact, distance, at in found:
            row = self._rows[at]
            if row.id == id:
                continue
            if at >= self._earlier:  # of this batch: counts from its turn on, if it is written
                if row.id not in written or row.id in without:
                    continue
                age = written[row.id].written
            elif row.id in written:  # a version that this batch has replaced
                continue
            else:
                age = row.written
            if before is None or age < before:
                ranked.append(((not_exact, distance, age, row.id), at))

        def original(at: int, distance: int, similarity: float | None) -> Original:
            row = self._rows[at]
            return Original(as_row(written[row.id]) if at >= self._earlier else row, distance, similarity)

        if self._texts is None:
            best = min(ranked, default=None, key=itemgetter(0))
            return original(best[1], best[0][1], None) if best else None
        ranked.sort(key=itemgetter(0))
        # Most have been brought; what is beyond the nearest few is brought now, and let go again.
        for start in range(0, len(ranked), BATCH):
            some = ranked[start : start + BATCH]
            beyond = [at for _, at in some if at < self._earlier and self._rows[at].digest != digest]
            beyond = [at for at in beyond if at not in self._stored]
            stored = ChainMap((yield from self._bring(beyond)), self._stored)
            for rank, at in some:
                try:
                    similarity = self._similarity(self._texts, place, at, stored)
                except InputError:
                    if strict:
                        raise
                    continue
                if self._texts.agree(similarity):
                    return original(at, rank[1], similarity)
        return None

    def _similarity(
        self, texts: Texts, place: int, at: int, stored: Mapping[int, Features | InputError | None]
    ) -> float | None:
        row = self._rows[at]
        if row.digest and row.digest == self._rows[self._earlier + place].digest:
            return 1.0
        other = self._given(at - self._earlier) if at >= self._earlier else stored.get(at)
        return texts.similarity(self._given(place), other)


def _one_a_copy(rows: Iterable[Row], apart: Container[str]) -> list[Row]:
    """Of copies the one that was written first: the others never come before it, and they may be very many.

    :param apart: ids that are not thinned out, since their documents may come to be replaced.
    """
    kept: list[Row] = []
    first: dict[tuple[str, int | None], Row] = {}
    for row in rows:
        if row.id in apart:
            kept.append(row)
            continue
        copy = first.setdefault((row.digest, row.fingerprint), row)
        if (row.written, row.id) < (copy.written, copy.id):
            first[row.digest, row.fingerprint] = row
    return [*kept, *first.values()]


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


@dataclass(frozen=True)
class Near:
    """The rule by which one document may be said to duplicate another.

    :param max_distance: in bits.
    :param blank: the digest of an empty text, which is nobody's copy.
    :param texts: confirm it, if they are given.
    """

    max_distance: int
    blank: str
    texts: Texts | None = None

    def agreeing(self, pairs: Sequence[tuple[Row, Row]]) -> Flow[list[tuple[Row, Row]]]:
        """Those of the pairs of stored documents that it holds for."""
        near = [pair for pair in pairs if are_near(*pair, self.max_distance, self.blank)]
        if self.texts is None:
            return near
        apart = {row.id for left, right in near if left.digest != right.digest for row in (left, right)}
        stored = yield from self.texts.stored(apart)
        return [
            (left, right)
            for left, right in near
            if left.digest == right.digest or self.texts.confirms(stored.get(left.id), stored.get(right.id))
        ]


def are_near(left: Row, right: Row, max_distance: int, blank: str) -> bool:
    """Within max_distance, or copies of each other.

    :param blank: the digest of an empty text, which is nobody's copy.
    """
    if left.digest == right.digest != blank:
        return True
    if left.fingerprint is None or right.fingerprint is None:
        return False
    return (left.fingerprint ^ right.fingerprint).bit_count() <= max_distance
