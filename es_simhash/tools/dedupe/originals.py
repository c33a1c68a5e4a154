"""Which text is a copy of an earlier one? A text that is none is an original, and later ones are compared with it.

The rule is that of an ingest that does not store copies: an exact duplicate comes before a near one, then the nearest,
then the first. ``tests/tools/dedupe/test_originals.py`` compares the two.
"""

from __future__ import annotations

import pickle
from array import array
from collections import OrderedDict, defaultdict
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from es_simhash import InputError
from es_simhash.fingerprinting.normalisation import digest
from es_simhash.search.hamming import hamming_distance
from es_simhash.search.keys import KeyQuery, key_queries, keys_of_texts, rarity
from es_simhash.search.near_index import NearIndex
from es_simhash.similarity.confirm import TextFeatures, most_texts
from es_simhash.temporary import temporary_bytes, temporary_file
from es_simhash.tools.dedupe.key_chains import KeyChains
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_simhash import DuplicateRule, Fingerprinter
    from es_simhash.search.keys import TextKeys

    Integers = NDArray[np.int64]

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
        scheme = self._fingerprinter.scheme
        good: list[str] = []
        problems: dict[int, str] = {}
        for number, text in enumerate(texts):
            try:
                good.append(scheme.normalise(text, self._max_text))
            except InputError as error:
                problems[number] = str(error)
        digests = [digest(text, scheme.digest) if text else None for text in good]
        keys: list[TextKeys | None] = [None] * len(good)
        if self._with_keys:
            keys = [*keys_of_texts(good)]
        values: list[int | None] = [None] * len(good)
        if self._with_fingerprint:
            values = [each.value for each in self._fingerprinter.fingerprints_normalised(good)]
        prepared = map(Prepared, good, digests, keys, values)
        return [problems[number] if number in problems else next(prepared) for number in range(len(texts))]


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


class _MayBe(NamedTuple):
    """What may be the original of a text.

    :param queries: conditions on the keys of an original, of which it fulfils one.
    :param keys: the position of a key in all queries; with ``originals`` pairs of a key and an original that has it.
    :param incomplete: some of these pairs are missing.
    :param near: pairs (distance, original) of what has a near fingerprint.
    """

    queries: Sequence[KeyQuery]
    keys: Integers
    originals: Integers
    incomplete: bool
    near: Sequence[tuple[int, int]]


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
        first = len(self._places)
        queries = [self._queries(each) for _, each in texts]
        near = self._near([each.fingerprint for _, each in texts], first)
        of_key: defaultdict[int, list[int]] = defaultdict(list)  # the originals of this batch that have a key
        keys: list[NDArray[np.uint64]] = []
        fingerprints: list[int | None] = []
        decisions = []
        for (text, each), asked, shared, close in zip(texts, queries, self._sharing(queries), near, strict=True):
            hashes = enumerate(key for query in asked for key in query.keys)
            here = [(position, other) for position, key in hashes if key in of_key for other in of_key[key]]
            close = [pair for pair in close if pair[1] < first or fingerprints[pair[1] - first] is not None]
            decision = Decision()
            if here or close or len(shared[0]):
                here_keys, here_originals = np.array(here, dtype=np.int64).reshape(-1, 2).T
                positions, originals = np.append(shared[0], here_keys), np.append(shared[1], here_originals)
                decision = self._decision(text, each, _MayBe(asked, positions, originals, shared[2], close))
            decisions.append(decision)
            is_original = decision.original is None
            for key in (own := _keys(each) if is_original else []):
                of_key[key].append(len(self._places))
            keys.append(_as_array(own))
            fingerprints.append(each.fingerprint if is_original else None)
            self._keep(text, each, is_original=is_original)
        self._by_key.add(keys)
        if self._by_fingerprint is not None:
            self._by_fingerprint.add(fingerprints)
        return decisions

    def _queries(self, text: Prepared) -> list[KeyQuery]:
        """Return the conditions of which an original fulfils one. The first one finds exact duplicates."""
        queries = [] if text.digest is None else [KeyQuery((hash(text.digest),), 1)]
        if text.keys is not None and self._confirm is not None:
            queries += key_queries(text.keys, self._confirm.least, numbers=self._confirm.same_numbers)
        return queries

    def _sharing(self, queries: Sequence[Sequence[KeyQuery]]) -> list[tuple[Integers, Integers, bool]]:
        """Return for each text of a batch the earlier originals that share keys with it.

        :returns: positions of keys in all queries of the text, originals that have them, and whether some are missing.
        """
        every = [query for some in queries for query in some]
        keys = [key for query in every for key in query.keys]
        of_query = np.repeat(np.arange(len(every)), np.array([len(query.keys) for query in every], dtype=np.int64))
        minimum = np.array([query.minimum for query in every], dtype=np.int64)
        found = self._by_key.sharing(_as_array(keys), of_query, minimum)
        numbers = np.repeat(np.arange(len(queries)), [len(some) for some in queries])
        incomplete = {int(numbers[query]) for query in found.incomplete}
        starts = np.cumsum([0, *(sum(len(query.keys) for query in some) for some in queries)])
        bounds = np.searchsorted(found.keys, starts).tolist()
        return [
            (found.keys[begin:end] - starts[number], found.texts[begin:end], number in incomplete)
            for number, (begin, end) in enumerate(pairwise(bounds))
        ]

    def _near(self, fingerprints: Sequence[int | None], first: int) -> list[list[tuple[int, int]]]:
        """Return what is near each fingerprint of a batch and before it: pairs (distance, number of the text).

        :param first: the number of the first text of the batch.
        """
        near: list[list[tuple[int, int]]] = [[] for _ in fingerprints]
        if self._by_fingerprint is None:
            return near
        batch = NearIndex(self._fingerprinter.scheme.bits, self._near_bits)
        batch.add(fingerprints)
        for index, start in ((self._by_fingerprint, 0), (batch, first)):
            for some in index.near(fingerprints):
                for asked, other, distance in zip(*(column.tolist() for column in some), strict=True):
                    if start + other < first + asked:
                        near[asked].append((distance, start + other))
        return near

    def _decision(self, text: Text, prepared: Prepared, may_be: _MayBe) -> Decision:
        """Return the Decision for a text that may be a copy."""
        inside = self._in_window(may_be.originals, text.time)
        keys, originals = may_be.keys[inside], may_be.originals[inside]
        left_out = int(may_be.incomplete)
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
        own = _Known(prepared.digest, text.about, prepared.normalised, self._fingerprinter)
        ordered = self._ranked(may_be.queries, keys, originals, skip=prepared.digest is not None)
        distances: dict[int, int | None] = {}
        if self._distances:
            distances = {each: hamming_distance(own.fingerprint, self._original(each).fingerprint) for each in ordered}
        if self._max_distance is not None:
            within = self._max_distance
            ordered = [each for each in ordered if (bits := distances[each]) is not None and bits <= within]
        most = most_texts(prepared.keys.length if prepared.keys else None)
        left_out += max(0, len(ordered) - most)

        def nearest_first(original: int) -> tuple[bool, int, int]:
            distance = distances.get(original)
            return distance is None, distance or 0, original

        ordered = sorted(ordered[:most], key=nearest_first)
        texts = (self._original(original).features for original in ordered)
        for number, similarity in self._confirm.similar_among(own.features, texts):
            original = ordered[number]
            return Decision(self._original(original).about, False, similarity, distances.get(original), left_out)
        return Decision(left_out=left_out)

    def _ranked(self, queries: Sequence[KeyQuery], keys: Integers, originals: Integers, *, skip: bool) -> list[int]:
        """Return the originals that fulfil a query: those first that share the most and rarest keys.

        :param keys: this and ``originals`` are pairs of a key and an original that has it.
        :param skip: the first query is left out.
        """
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
                earlier = found < len(self._by_key)  # those of the batch are complete
                shared[earlier] = self._by_key.in_common(found[earlier], _as_array(query.keys))
            fulfils = shared >= query.minimum
            if query.numbers:
                earlier = (found < len(self._by_key)) & fulfils
                numbers = _as_array(query.numbers)
                fulfils[earlier] = self._by_key.in_common(found[earlier], numbers) > 0
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

    def _keep(self, text: Text, prepared: Prepared, *, is_original: bool) -> None:
        """Give a text the next number, and keep it if it is an original."""
        with temporary_file("texts", OSError):
            self._places.append(self._texts.seek(0, 2))
            if is_original:
                known = prepared.digest, text.about, prepared.normalised
                pickle.dump(known, self._texts, pickle.HIGHEST_PROTOCOL)
        self._times.append(_NO_TIME if text.time is None else text.time)
        with_keys = is_original and prepared.keys is not None and bool(prepared.keys.values)
        self._lengths.append(prepared.keys.length if with_keys and prepared.keys is not None else -1)
        self._with_keys += with_keys

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


def _keys(text: Prepared) -> list[int]:
    """Return what an original is found by: its digest, and its keys."""
    keys = [] if text.digest is None else [hash(text.digest)]
    return keys if text.keys is None else [*keys, *text.keys.values]


def _as_array(keys: Sequence[int]) -> NDArray[np.uint64]:
    return np.array(keys, dtype=np.int64).view(np.uint64)
