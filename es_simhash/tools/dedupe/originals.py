"""Which text is a copy of an earlier one? A text that is none is an original, and later ones are compared with it.

The rule is that of an ingest that does not store copies: an exact duplicate comes before a near one, then the nearest,
then the first. ``tests/tools/dedupe/test_originals.py`` compares the two.
"""

from __future__ import annotations

import pickle
from array import array
from collections import OrderedDict, defaultdict
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from es_simhash import InputError
from es_simhash.fingerprinting.normalisation import digest
from es_simhash.search.hamming import hamming_distance
from es_simhash.search.keys import key_queries, keys_of_texts, rarity
from es_simhash.search.near_index import NearIndex
from es_simhash.similarity.confirm import TextFeatures, most_texts
from es_simhash.temporary import temporary_bytes, temporary_file
from es_simhash.tools.dedupe.key_chains import KeyChains
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from es_simhash import DuplicateRule, Fingerprinter
    from es_simhash.search.keys import TextKeys

_KNOWN = 2_000
"""Originals whose features are kept after a comparison."""
_NO_TIME = 1 << 61
"""Stands for the time of a text that has none."""


@value
class Text:
    """A text that is to be decided.

    :param time: in milliseconds since 1970; None if the rule has no window.
    :param about: what its copies are told of it; not None.
    """

    text: str
    time: int | None
    about: Any


@value
class Prepared:
    """A text with what is needed to find its original.

    :param digest: None if the text is empty.
    :param keys: None if texts do not decide.
    :param fingerprint: None if the rule does not look at fingerprints alone, or the text is too short for one.
    """

    normalised: str
    digest: str | None
    keys: TextKeys | None
    fingerprint: int | None


@value
class Decision:
    """What was decided for a text.

    :param original: what is known about the original that it copies; None if it is no copy.
    :param exact: the normalised texts are equal.
    :param similarity: of the texts, if the rule compares them; 1 if they are equal.
    :param distance: in bits, if it was asked for; None if one of the texts is too short for a fingerprint.
    :param left_out: about how many texts it was not compared with, because too many share its keys.
    :param problem: why the text cannot be used; else None.
    """

    original: Any = None
    exact: bool = False
    similarity: float | None = None
    distance: int | None = None
    left_out: int = 0
    problem: str | None = None


class _Normalised(NamedTuple):
    """A text that can be used. A problem is a string too."""

    normalised: str


class Preparer:
    """Prepares texts. It can be sent to another process.

    :param max_text: the most characters of a text.
    """

    def __init__(self, fingerprinter: Fingerprinter, rule: DuplicateRule, max_text: int) -> None:
        self._fingerprinter = fingerprinter
        self._max_text = max_text
        self._with_keys = rule.confirm is not None
        self._with_fingerprint = rule.rule == "fingerprint"

    def read_all(self, texts: Sequence[str]) -> list[Prepared | str]:
        """Return for each text what is needed of it, or the problem with it."""
        normalised = [self._normalised(text) for text in texts]
        good = [text.normalised for text in normalised if isinstance(text, _Normalised)]
        keys: Iterable[TextKeys | None] = repeat(None)
        if self._with_keys:
            keys = iter(keys_of_texts(good))
        values: Iterable[int | None] = repeat(None)
        if self._with_fingerprint:
            values = (each.value for each in self._fingerprinter.fingerprints_normalised(good))
        kind = self._fingerprinter.scheme.digest
        made = (
            Prepared(text, digest(text, kind) if text else None, theirs, value)
            for text, theirs, value in zip(good, keys, values)  # noqa: B905  two of them may have no end
        )
        return [next(made) if isinstance(text, _Normalised) else text for text in normalised]

    def _normalised(self, text: str) -> _Normalised | str:
        try:
            return _Normalised(self._fingerprinter.scheme.normalise(text, self._max_text))
        except InputError as error:
            return str(error)


class _Known:
    """An original that was compared, or a text that is being compared."""

    def __init__(self, digest: str | None, about: Any, normalised: str, fingerprinter: Fingerprinter) -> None:
        self.digest = digest
        self.about = about
        self.normalised = normalised
        self._fingerprinter = fingerprinter

    @cached_property
    def features(self) -> TextFeatures:
        return TextFeatures(self.normalised, self._fingerprinter, is_normalised=True)

    @cached_property
    def fingerprint(self) -> int | None:
        return self._fingerprinter.fingerprint_normalised(self.normalised).value


class _Query(NamedTuple):
    """A condition on the keys of an original, with the keys as numbers (:class:`es_simhash.search.keys.KeyQuery`)."""

    keys: list[int]
    minimum: int = 1
    lengths: tuple[int, int] | None = None
    numbers: Sequence[int] = ()


class _Shared(NamedTuple):
    """Originals that share keys with a text: pairs (key, original) in arrays of one length.

    :param keys: the position of the key in all queries of the text.
    :param incomplete: some are missing.
    """

    keys: NDArray[np.int64]
    originals: NDArray[np.int64]
    incomplete: bool


class _Found(NamedTuple):
    """What may be the original of a text.

    :param shared: the originals of former batches that share keys with it; None if there are none.
    :param here: those of its batch: pairs (position of the key, original).
    :param near: those with a near fingerprint: pairs (distance, original).
    :param first: the first original of its batch.
    """

    queries: Sequence[_Query]
    shared: _Shared | None
    here: Sequence[tuple[int, int]]
    near: Sequence[tuple[int, int]]
    first: int


class _Kept:
    """The originals of a batch.

    :param first: the number of the first one.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.keys: list[NDArray[np.uint64]] = []
        self.fingerprints: list[int | None] = []
        self._of_key: defaultdict[int, list[int]] = defaultdict(list)
        self._original_of: dict[int, int] = {}

    def add(self, number: int, text: Prepared) -> None:
        """Add a text.

        :param number: of the text in the batch.
        """
        original = self._original_of[number] = self.first + len(self.keys)
        keys = [] if text.digest is None else [hash(text.digest)]
        keys += () if text.keys is None else map(hash, text.keys.values)
        for key in keys:
            self._of_key[key].append(original)
        self.keys.append(_as_array(keys))
        self.fingerprints.append(text.fingerprint)

    def sharing(self, queries: Sequence[_Query]) -> list[tuple[int, int]]:
        """Return the originals that share keys with a text: pairs (position of the key in all queries, original)."""
        of_key = self._of_key
        keys = [key for query in queries for key in query.keys]
        return [(position, each) for position, key in enumerate(keys) if key in of_key for each in of_key[key]]

    def near(self, near: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int]]:
        """Return pairs (distance, original) for what is near a text, without the texts of the batch that are copies."""
        return [
            (distance, other if earlier else self._original_of[other])
            for distance, other, earlier in near
            if earlier or other in self._original_of
        ]


class Originals:
    """The texts that are no copies. A text that is decided becomes one of them, if it is no copy of one.

    :param distances: decisions have distances, whatever the rule looks at.
    :raises StoreError: if a temporary file cannot be written. The methods raise it too.
    """

    def __init__(self, fingerprinter: Fingerprinter, rule: DuplicateRule, *, distances: bool) -> None:
        self._fingerprinter = fingerprinter
        self._confirm = rule.comparison(fingerprinter)
        bits = rule.bits_allowed(fingerprinter.scheme)
        self._max_distance = None if rule.max_distance is None else bits
        self._window = rule.window
        self._distances = distances or (self._confirm is not None and self._max_distance is not None)
        self._by_fingerprint = None if rule.rule != "fingerprint" else NearIndex(fingerprinter.scheme.bits, bits)
        self._bits = fingerprinter.scheme.bits
        self._near_bits = bits
        self._by_key = KeyChains()
        self._with_keys = 0
        self._lengths = array("i")
        self._times = array("q")
        self._places = array("q")
        self._texts = temporary_bytes()
        self._known: OrderedDict[int, _Known] = OrderedDict()

    def close(self) -> None:
        """Remove the temporary files."""
        with temporary_file("texts", OSError):
            self._texts.close()

    def decide(self, texts: Sequence[Text], prepared: Sequence[Prepared | str]) -> list[Decision]:
        """Return a Decision for each text.

        :param prepared: what a :class:`Preparer` made of them.
        """
        good = [(text, each) for text, each in zip(texts, prepared, strict=True) if isinstance(each, Prepared)]
        decisions = iter(self._decided(good))
        return [next(decisions) if isinstance(each, Prepared) else Decision(problem=each) for each in prepared]

    def _decided(self, texts: Sequence[tuple[Text, Prepared]]) -> list[Decision]:
        queries = [self._queries(each) for _, each in texts]
        shared = self._sharing(queries)
        near = self._near([each.fingerprint for _, each in texts])
        batch = _Kept(len(self._places))
        decisions = []
        for number, (text, each) in enumerate(texts):
            here = batch.sharing(queries[number])
            by_fingerprint = batch.near(near[number])
            decision = Decision()
            if here or by_fingerprint or number in shared:
                known = _Known(each.digest, text.about, each.normalised, self._fingerprinter)
                found = _Found(queries[number], shared.get(number), here, by_fingerprint, batch.first)
                decision = self._decision(text, each, known, found)
            decisions.append(decision)
            if decision.original is None:
                batch.add(number, each)
                self._keep(text, each)
        self._by_key.add(batch.keys)
        if self._by_fingerprint is not None:
            self._by_fingerprint.add(batch.fingerprints)
        return decisions

    def _queries(self, text: Prepared) -> list[_Query]:
        """Return the conditions of which an original fulfils one. The first one finds exact duplicates."""
        queries = [] if text.digest is None else [_Query([hash(text.digest)])]
        if text.keys is not None and self._confirm is not None:
            queries += [
                _Query(list(map(hash, query.keys)), max(1, query.minimum), query.lengths, [*map(hash, query.numbers)])
                for query in key_queries(text.keys, self._confirm.least, numbers=self._confirm.same_numbers)
            ]
        return queries

    def _sharing(self, queries: Sequence[Sequence[_Query]]) -> dict[int, _Shared]:
        """Return for texts of a batch, by number, the originals that share keys with them, if there are any."""
        every = [query for some in queries for query in some]
        if not every or not len(self._by_key):
            return {}
        keys = _as_array([key for query in every for key in query.keys])
        of_query = np.repeat(np.arange(len(every)), [len(query.keys) for query in every])
        minimum = np.array([query.minimum for query in every], dtype=np.int64)
        found = self._by_key.sharing(keys, of_query, minimum)
        starts = np.cumsum([0, *(sum(len(query.keys) for query in some) for some in queries)])
        numbers = np.repeat(np.arange(len(queries)), [len(some) for some in queries])
        incomplete = {int(numbers[query]) for query in found.incomplete}
        bounds = np.searchsorted(found.keys, starts)
        return {
            number: _Shared(found.keys[begin:end] - starts[number], found.texts[begin:end], number in incomplete)
            for number, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
            if begin < end
        }

    def _near(self, fingerprints: Sequence[int | None]) -> list[list[tuple[int, int, bool]]]:
        """Return what is near each fingerprint: triples (distance, original, True), or (distance, number of a text of
        the batch, False).
        """
        near: list[list[tuple[int, int, bool]]] = [[] for _ in fingerprints]
        if self._by_fingerprint is None:
            return near
        batch = NearIndex(self._bits, self._near_bits)
        batch.add(fingerprints)
        for index, earlier in ((self._by_fingerprint, True), (batch, False)):
            for some in index.near(fingerprints):
                for asked, other, distance in zip(*(column.tolist() for column in some), strict=True):
                    if earlier or other < asked:
                        near[asked].append((distance, other, earlier))
        return near

    def _decision(self, text: Text, prepared: Prepared, own: _Known, may_be: _Found) -> Decision:
        """Return the Decision for a text that may be a copy."""
        keys = np.array([key for key, _ in may_be.here], dtype=np.int64)
        originals = np.array([original for _, original in may_be.here], dtype=np.int64)
        left_out = 0
        if may_be.shared is not None:
            keys = np.concatenate([may_be.shared.keys, keys])
            originals = np.concatenate([may_be.shared.originals, originals])
            left_out = int(may_be.shared.incomplete)
        inside = self._in_window(originals, text.time)
        keys, originals = keys[inside], originals[inside]
        if prepared.digest is not None:
            for original in np.unique(originals[keys == 0]).tolist():
                if (other := self._original(original)).digest == prepared.digest:
                    return Decision(other.about, exact=True, similarity=1.0, distance=0)
        if self._by_fingerprint is not None:
            found = sorted(pair for pair in may_be.near if self._in_window(np.array([pair[1]]), text.time)[0])
            if not found:
                return Decision(left_out=left_out)
            distance, original = found[0]
            return Decision(self._original(original).about, distance=distance)
        if self._confirm is None:
            return Decision(left_out=left_out)
        ordered = self._ranked(may_be, keys, originals, skip=prepared.digest is not None)
        distances: dict[int, int | None] = {}
        if self._distances:
            distances = {each: hamming_distance(own.fingerprint, self._original(each).fingerprint) for each in ordered}
        if self._max_distance is not None:
            within = self._max_distance
            ordered = [each for each in ordered if (bits := distances[each]) is not None and bits <= within]
        most = most_texts(prepared.keys.length if prepared.keys else None)
        left_out += max(0, len(ordered) - most)
        chosen = sorted(ordered[:most], key=lambda each: (_rank(distances.get(each)), each))
        for original in chosen:
            other = self._original(original)
            similarity = self._confirm.similarity(own.features, other.features)
            if similarity >= self._confirm.least:
                return Decision(other.about, False, similarity, distances.get(original), left_out)
        return Decision(left_out=left_out)

    def _ranked(
        self, may_be: _Found, keys: NDArray[np.int64], originals: NDArray[np.int64], *, skip: bool
    ) -> list[int]:
        """Return the originals that fulfil a query: those first that share the most and rarest keys.

        :param keys: this and ``originals`` are pairs of a key and an original that has it.
        :param skip: the first query is left out.
        """
        queries, first = may_be.queries, may_be.first
        best: dict[int, float] = {}
        counts = np.bincount(keys, minlength=sum(len(query.keys) for query in queries))
        rarities = np.array([rarity(count, self._with_keys) for count in counts.tolist()])
        start = 0
        for number, query in enumerate(queries):
            begin, start = start, start + len(query.keys)
            if skip and not number:
                continue  # by digest
            mine = (begin <= keys) & (keys < start)
            found, inverse, shared = np.unique(originals[mine], return_inverse=True, return_counts=True)
            if not len(found):
                continue
            scores = np.bincount(inverse, rarities[keys[mine]])
            if query.minimum > 1:
                earlier = found < first  # those of the batch are complete
                numbers = _as_array(query.keys)
                shared[earlier] = self._by_key.in_common(found[earlier], numbers)
            fulfils = shared >= query.minimum
            if query.numbers:
                earlier = (found < first) & fulfils
                fulfils[earlier] = self._by_key.in_common(found[earlier], _as_array(query.numbers)) > 0
            if query.lengths is not None:
                lengths = np.frombuffer(self._lengths, dtype=np.int32)[found]
                fulfils &= (query.lengths[0] <= lengths) & (lengths <= query.lengths[1])
            for original, score in zip(found[fulfils].tolist(), scores[fulfils].tolist(), strict=True):
                best[original] = max(best.get(original, 0.0), score)
        return sorted(best, key=lambda original: (-best[original], original))

    def _in_window(self, originals: NDArray[np.int64], time: int | None) -> NDArray[np.bool_]:
        """Return which originals are in the window around a time."""
        if self._window is None or time is None:
            return np.ones(len(originals), dtype=np.bool_)
        return np.abs(np.frombuffer(self._times, dtype=np.int64)[originals] - time) <= self._window.length

    def _keep(self, text: Text, prepared: Prepared) -> None:
        with temporary_file("texts", OSError):
            self._places.append(self._texts.seek(0, 2))
            pickle.dump((prepared.digest, text.about, prepared.normalised), self._texts, pickle.HIGHEST_PROTOCOL)
        self._times.append(_NO_TIME if text.time is None else text.time)
        self._lengths.append(prepared.keys.length if prepared.keys is not None and prepared.keys.values else -1)
        self._with_keys += self._lengths[-1] >= 0

    def _original(self, number: int) -> _Known:
        if (known := self._known.get(number)) is not None:
            self._known.move_to_end(number)
            return known
        with temporary_file("texts", OSError):
            self._texts.seek(self._places[number])
            digest, about, normalised = pickle.load(self._texts)
        known = self._known[number] = _Known(digest, about, normalised, self._fingerprinter)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        return known


def _rank(distance: int | None) -> tuple[bool, int]:
    """Return the order of distances: where there is none, the text comes after all that have one."""
    return distance is None, distance or 0


def _as_array(keys: Sequence[int]) -> NDArray[np.uint64]:
    return np.array(keys, dtype=np.int64).view(np.uint64)
