"""Labelled pairs from lines of JSON: two texts or two stored documents, and whether they are duplicates.

The two sides: ``{"a": TEXT, "b": TEXT}`` or ``{"a_id": ID, "b_id": ID}``. A line may have both. Then the fingerprints
come from the store, or from the texts if there is no store.

The label: ``"duplicate"`` (true or false, 1 or 0), or ``"similarity"``, a number. A pair is a duplicate if its
similarity is at least ``truth``. If a line has both, ``"duplicate"`` is the label.

Other fields are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Probe
from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.lines import parsed
from es_simhash.search.hamming import hamming_distance
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.tools.evaluation.precision import decided, named_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from es_simhash.contract import Row
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.lines import Line
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.tools.evaluation.precision import LabelledPair

    Fetch = Callable[[Iterable[str]], Mapping[str, Row]]

BATCH = 100
"""Lines that are read, and whose documents are fetched, at once."""


@dataclass(frozen=True)
class _Side:
    text: str | None
    id: str | None


@dataclass(frozen=True)
class _Pair:
    place: str
    duplicate: bool
    a: _Side
    b: _Side


class PairReader:
    """Reads labelled pairs from lines.

    :param truth: the similarity from which a pair is a duplicate, for lines with a similarity and no label.
    :param rule: another rule to compare the four with.
    :param fetch: returns the Rows of ids, as ``Documents.fetch`` does. The store must have the Fingerprinter's Scheme.
        None if there is no store.
    :param batch: lines that are read, and whose documents are fetched, at once.
    :raises InputError: if the truth is not a finite number; if the rule does not fit the Scheme.
    """

    def __init__(
        self,
        fingerprinter: Fingerprinter,
        truth: float | None = None,
        rule: DuplicateRule | None = None,
        fetch: Fetch | None = None,
        *,
        batch: int = BATCH,
    ) -> None:
        if truth is not None and not isfinite(truth):
            raise InputError(f"the truth is {truth}: use the similarity from which a pair is a duplicate, such as 0.8")
        self._fingerprinter = fingerprinter
        self._truth = truth
        self._rules = named_rules(rule)
        for each in self._rules.values():
            each.bits_allowed(fingerprinter.scheme)
        self._fetch = fetch
        self._batch = batch
        self._blank = fingerprinter.scheme.blank_digest

    def read(self, lines: Iterable[Line]) -> Iterator[LabelledPair | str]:
        """Yield for each line the pair, or the problem with the line as a message with its place.

        :raises InputError: if an option is missing that the lines need: a store for ids, ``truth`` for similarities.
        """
        lines = iter(lines)
        while batch := list(islice(lines, self._batch)):
            pairs = [self._line(line) for line in batch]
            ids = {side.id for pair in pairs if isinstance(pair, _Pair) for side in (pair.a, pair.b) if side.id}
            rows = self._fetch(sorted(ids)) if self._fetch is not None and ids else {}
            for pair in pairs:
                yield self._labelled(pair, rows) if isinstance(pair, _Pair) else pair

    def _line(self, line: Line) -> _Pair | str:
        line = parsed(line)
        if line.problem is not None:
            return f"{line.place}: {line.problem}"
        try:
            label, a, b = _label(line.document), _side(line.document, "a"), _side(line.document, "b")
            if a.id is not None and a.id == b.id:
                raise InputError(f"'a_id' and 'b_id' are the same document, {a.id!r}: pair it with another")
        except InputError as error:
            return f"{line.place}: {error}"
        if not isinstance(label, bool):
            if self._truth is None:
                raise InputError(
                    f"{line.place}: a pair has a similarity and no label: "
                    "set the similarity from which a pair is a duplicate: --truth 0.8"
                )
            label = label >= self._truth
        if self._fetch is None and None in (a.text, b.text):
            raise InputError(f"{line.place}: a pair has ids and no texts: name the store of the documents: --store URL")
        return _Pair(line.place, label, a, b)

    def _labelled(self, pair: _Pair, rows: Mapping[str, Row]) -> LabelledPair | str:
        try:
            a, b = self._probe(pair.a, rows), self._probe(pair.b, rows)
        except InputError as error:
            return f"{pair.place}: {error}"
        contents = None
        if pair.a.text is not None and pair.b.text is not None:
            contents = TextFeatures(pair.a.text, self._fingerprinter), TextFeatures(pair.b.text, self._fingerprinter)
        distance = hamming_distance(a.fingerprint, b.fingerprint)
        exact = a.digest is not None and a.digest == b.digest
        return decided(pair.duplicate, distance, exact, contents, self._rules, self._fingerprinter, pair.place)

    def _probe(self, side: _Side, rows: Mapping[str, Row]) -> Probe:
        """Return the fingerprint and digest of one side; no digest for an empty text, which has no exact duplicates."""
        if self._fetch is None or side.id is None:
            made = self._fingerprinter.fingerprint(side.text or "")
            return Probe(made.value, made.copy_digest)
        row = rows.get(side.id)
        if row is None:
            raise InputError(f"the store has no document {side.id!r}: ingest it first, or add the texts")
        if not row.digest:
            raise InputError(
                f"the stored document {side.id!r} has no fingerprint: run `es-simhash backfill --text-field FIELD`"
            )
        return Probe(row.fingerprint, None if row.digest == self._blank else row.digest)


def _label(document: Any) -> bool | float:
    """Return the label as a bool, or the similarity as a float."""
    if not isinstance(document, dict):
        raise InputError('a pair must be a JSON object, such as {"a": "…", "b": "…", "duplicate": true}')
    label, likeness = document.get("duplicate"), document.get("similarity")
    if label is not None:
        if not isinstance(label, bool | int | float) or label not in (0, 1):
            raise InputError(f"the label in 'duplicate' is {label!r}: use true or false, 1 or 0")
        return bool(label)
    if likeness is None:
        raise InputError('no label: write "duplicate": true or false, or "similarity": a number')
    if isinstance(likeness, bool) or not isinstance(likeness, int | float) or not -1e300 < likeness < 1e300:
        raise InputError("the 'similarity' is not a finite number: use a number such as 0.8")
    return float(likeness)


def _side(document: Mapping[str, Any], name: str) -> _Side:
    text, id = document.get(name), document.get(f"{name}_id")
    if text is None and id is None:
        raise InputError(f"neither '{name}' nor '{name}_id': add a text, or the id of a stored document")
    if text is not None:
        if not isinstance(text, str):
            raise InputError(f"the text in '{name}' is not a string: use a string")
        check_surrogates(text, f"the text in '{name}'")
    if id is not None and (isinstance(id, bool) or not isinstance(id, str | int) or id == ""):
        raise InputError(f"the id in '{name}_id' is not an id: use a string or a whole number")
    return _Side(text, None if id is None else str(id))
