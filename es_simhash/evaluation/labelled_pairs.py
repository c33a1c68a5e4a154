"""Labelled pairs from lines of JSON: two texts or two stored documents, and whether they are duplicates.

``{"a": TEXT, "b": TEXT}`` or ``{"a_id": ID, "b_id": ID}``, with ``"duplicate"`` (true or false, 1 or 0), or with a
``"similarity"`` that becomes a label: from ``truth`` on the two are duplicates. If both are there, ``duplicate`` is the
label; if texts and ids are, the fingerprints are the stored ones where there is a store, and else those of the texts.
Other fields don't matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Probe
from es_simhash.errors import InputError
from es_simhash.evaluation.evaluate import LabelledPair
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.lines import parsed
from es_simhash.similarity.measures import similarity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from es_simhash.contract import Row
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.lines import Line
    from es_simhash.similarity.measures import Measure

    Fetch = Callable[[Iterable[str]], Mapping[str, Row]]

BATCH = 100
"""Lines that are held at once, and whose documents are fetched together."""


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
    """Makes of lines what can be evaluated.

    :param truth: the least similarity of duplicates, for pairs that have one in place of a label.
    :param measure: what to take the similarity of two texts by; None where no confirm asks for it.
    :param fetch: gives the Rows of ids, as ``Documents.fetch`` does; of a store with the Fingerprinter's Scheme.
    :raises InputError: if the truth is not a number.
    """

    def __init__(
        self,
        fingerprinter: Fingerprinter,
        truth: float | None = None,
        measure: Measure | None = None,
        fetch: Fetch | None = None,
    ) -> None:
        if truth is not None and not isfinite(truth):
            raise InputError(f"the truth is {truth}: use the least similarity of duplicates, such as 0.8")
        self._fingerprinter = fingerprinter
        self._truth = truth
        self._measure = measure
        self._fetch = fetch
        self._blank = fingerprinter.scheme.blank_digest

    def read(self, lines: Iterable[Line]) -> Iterator[LabelledPair | str]:
        """For each line the pair, or why it can't be used, with its place; that stops nothing.

        :raises InputError: if there are ids and no store, similarities and no truth, or no texts to be confirmed.
        """
        lines = iter(lines)
        while batch := list(islice(lines, BATCH)):
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
                raise InputError(f"{line.place}: a similarity and no label: say from which on it is one (--truth)")
            label = label >= self._truth
        if self._fetch is None and None in (a.text, b.text):
            raise InputError(f"{line.place}: ids and no texts: name the store of these documents (--store URL)")
        if self._measure is not None and None in (a.text, b.text):
            raise InputError(f"{line.place}: ids and no texts to confirm: give texts, 'a' and 'b', or no --confirm")
        return _Pair(line.place, label, a, b)

    def _labelled(self, pair: _Pair, rows: Mapping[str, Row]) -> LabelledPair | str:
        try:
            a, b = self._known(pair.a, rows), self._known(pair.b, rows)
            alike = None
            if self._measure is not None and pair.a.text is not None and pair.b.text is not None:
                alike = similarity(pair.a.text, pair.b.text, self._measure, self._fingerprinter)
        except InputError as error:
            return f"{pair.place}: {error}"
        apart = None if a.fingerprint is None or b.fingerprint is None else (a.fingerprint ^ b.fingerprint).bit_count()
        return LabelledPair(pair.duplicate, apart, a.digest is not None and a.digest == b.digest, alike)

    def _known(self, side: _Side, rows: Mapping[str, Row]) -> Probe:
        """Fingerprint and digest of one of the two; no digest if the text is empty, which is nobody's copy."""
        if self._fetch is None or side.id is None:
            made = self._fingerprinter.fingerprint(side.text or "")
            return Probe(made.value, made.copy_digest)
        row = rows.get(side.id)
        if row is None:
            raise InputError(f"there is no document with the id {side.id!r}: ingest it first, or give the texts")
        if not row.digest:
            raise InputError(f"the document {side.id!r} has no fingerprint: run es-simhash backfill")
        return Probe(row.fingerprint, None if row.digest == self._blank else row.digest)


def _label(document: Any) -> bool | float:
    """The label; or a similarity."""
    if not isinstance(document, dict):
        raise InputError('a pair must be a JSON object, such as {"a": "…", "b": "…", "duplicate": true}')
    label, alike = document.get("duplicate"), document.get("similarity")
    if label is not None:
        if not isinstance(label, bool | int | float) or label not in (0, 1):
            raise InputError("the label in 'duplicate' is neither true nor false, 1 nor 0: mend it")
        return bool(label)
    if alike is None:
        raise InputError('no label: write "duplicate": true or false, or "similarity": a number')
    if isinstance(alike, bool) or not isinstance(alike, int | float) or not -1e300 < alike < 1e300:
        raise InputError("the label in 'similarity' is not a number: mend it")
    return float(alike)


def _side(document: Mapping[str, Any], name: str) -> _Side:
    text, id = document.get(name), document.get(f"{name}_id")
    if text is None and id is None:
        raise InputError(f"neither '{name}' nor '{name}_id': give a text, or the id of a stored document")
    if text is not None:
        if not isinstance(text, str):
            raise InputError(f"the text in '{name}' is not a string: give a string")
        check_surrogates(text, f"the text in '{name}'")
    if id is not None and (isinstance(id, bool) or not isinstance(id, str | int) or id == ""):
        raise InputError(f"the id in '{name}_id' can't be one: use a string or a whole number")
    return _Side(text, None if id is None else str(id))
