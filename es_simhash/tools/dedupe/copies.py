"""Distinct items: those that are no copy of an item before them.

The items become the documents of a temporary store, with their positions as ids. A copy is not stored (``skip``). So
every item that is left out is a copy of one that is kept.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash import Documents, Fingerprint, Fingerprinter, InputError, Line, Scheme
from es_simhash.fingerprinting.normalisation import digest
from es_simhash.input import rows_of
from es_simhash.similarity.rule import rule_of
from es_simhash.similarity.text_fields import field_names, field_value, kind_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from typing_extensions import Unpack

    from es_simhash import DuplicateRule, Outcome
    from es_simhash.similarity.rule import MatchOptions

T = TypeVar("T")

TEXT, TIME = "text", "time"
"""The fields of the temporary documents."""
_STORE = "sqlite:///:memory:"
"""SQLite writes what does not fit into its cache to a file without a name, so that the system removes it."""
_log = logging.getLogger("es_simhash")


@dataclass(frozen=True)
class Pair:
    """An item that is a copy, and the item that it is a copy of.

    :param position: of the copy among the items, from 0.
    :param original: the position of the item that is kept.
    :param exact: the normalised texts are equal.
    :param similarity: of the texts; 1 if they are equal, None if the rule compares no texts.
    :param distance: of the fingerprints in bits; None if one of the texts is too short for a fingerprint.
    """

    position: int
    original: int
    exact: bool
    similarity: float | None
    distance: int | None


def distinct(
    items: Iterable[T],
    *,
    text: str | Sequence[str] | Callable[[T], str] = TEXT,
    scheme: Scheme | None = None,
    **rule: Unpack[MatchOptions],
) -> Iterator[T]:
    """Yield the items that are no copy of an earlier one, in their order.

    Every item that is left out is a copy of one that was yielded. Items are read in batches, so some are read ahead.
    Memory does not grow with their number: beyond some 64 MB the texts are in a temporary file, which the system
    removes. The folder is that of the variable TMPDIR.

    >>> list(distinct(["今日天气晴，最高气温二十度。", "今日天气晴,最高气温二十度", "明日有雨。"]))
    ['今日天气晴，最高气温二十度。', '明日有雨。']

    :param items: strings; mappings; any objects, if ``text`` is a function; or a data frame, whose rows are dicts.
    :param text: the field with the text, or several fields, which are joined; or a function of an item. A string is its
        own text.
    :param scheme: how texts are normalised, such as ``Scheme(markup="html")``.
    :param rule: as for :meth:`es_simhash.Documents.ingest`.
    :raises InputError: for an item without a text. The items before it are yielded first.
    """
    return (item for item, outcome in _outcomes(items, text, scheme, rule) if outcome.duplicate_of is None)


def pairs(
    items: Iterable[T],
    *,
    text: str | Sequence[str] | Callable[[T], str] = TEXT,
    scheme: Scheme | None = None,
    **rule: Unpack[MatchOptions],
) -> Iterator[Pair]:
    """Yield a Pair for each item that :func:`distinct` leaves out. The parameters are the same.

    >>> [(pair.position, pair.original) for pair in pairs(["一二三四五六", "天地玄黄", "一二三四五六。"])]
    [(2, 0)]
    """
    for _, outcome in _outcomes(items, text, scheme, rule, distances=True):
        if outcome.duplicate_of is not None:
            exact = outcome.outcome == "exact_duplicate"
            similarity = 1.0 if exact else outcome.similarity
            yield Pair(int(outcome.id or 0), int(outcome.duplicate_of), exact, similarity, outcome.distance)


def _outcomes(
    items: Iterable[T],
    text: str | Sequence[str] | Callable[[T], str],
    scheme: Scheme | None,
    options: MatchOptions,
    *,
    distances: bool = False,
) -> Iterator[tuple[T, Outcome]]:
    """Return the items with their outcomes. Invalid arguments raise at once."""
    chosen = rule_of(options)
    read = text if callable(text) else _field_reader(field_names(text))
    asked = ((item, _document(number, item, read, chosen)) for number, item in enumerate(rows_of(items)))

    def outcomes() -> Iterator[tuple[T, Outcome]]:
        left_out = 0
        with temporary_documents(Fingerprinter(scheme or Scheme()), chosen, distances=distances) as documents:
            for item, outcome in decided(documents, asked, chosen):
                if outcome.reason is not None:
                    raise InputError(outcome.reason)
                left_out += outcome.left_out
                yield item, outcome
        if left_out:
            _log.warning("about %s pairs of items were not compared: very many share keys or are near", left_out)

    return outcomes()


def _field_reader(fields: tuple[str, ...]) -> Callable[[Any], str]:
    def read(item: Any) -> str:
        if isinstance(item, str):
            return item
        if not isinstance(item, Mapping):
            raise InputError(f"it is of type {type(item).__name__}: pass text=…, a function that returns its text")
        return text_of(item, fields)

    return read


def _document(number: int, item: Any, read: Callable[[Any], str], rule: DuplicateRule) -> Line:
    """Return an item as the Line of a temporary document.

    :raises InputError: if it has no text.
    """
    try:
        text = read(item)
        if not isinstance(text, str):
            raise InputError(f"its text is {kind_of(text)}: use a string")
        if rule.time_field is not None and not isinstance(item, Mapping):
            raise InputError("within compares times: pass a mapping with the time_field")
    except InputError as error:
        raise InputError(f"item {number}: {error}") from error
    return Line(f"item {number}", temporary_document(item, text, rule))


def temporary_document(item: Mapping[str, Any], text: str, rule: DuplicateRule) -> dict[str, Any]:
    """Return the temporary document of an item: its text, and its time if the rule compares times."""
    return {TEXT: text} if rule.time_field is None else {TEXT: text, TIME: field_value(item, rule.time_field)}


class _Digests(Fingerprinter):
    """Makes digests alone, for a rule that looks at no fingerprint. Words and their weights would take a third of the
    time.
    """

    def fingerprints_normalised(self, normalised: Iterable[str]) -> list[Fingerprint]:
        """Return the digest of each text, as of one that is too short for a fingerprint."""
        bits, kind = self.scheme.bits, self.scheme.digest
        return [Fingerprint(None, digest(text, kind), 0, bits, not text) for text in normalised]


def temporary_documents(fingerprinter: Fingerprinter, rule: DuplicateRule, *, distances: bool) -> Documents:
    """Open an empty store that SQLite removes when it is closed, or when the program ends in any way.

    :param distances: the outcomes have distances, whatever the rule looks at.
    """
    by_texts = rule.rule == "exact" or (
        rule.confirm is not None and rule.max_distance is None and rule.measure != "cosine"
    )
    if by_texts and not distances:
        scheme = fingerprinter.scheme
        fingerprinter = _Digests(Scheme(digest=scheme.digest, script=scheme.script, markup=scheme.markup))
    return Documents(_STORE, fingerprinter=fingerprinter)


def decided(
    documents: Documents,
    items: Iterable[tuple[T, Line | Outcome]],
    rule: DuplicateRule,
    **run: Any,
) -> Iterator[tuple[T, Outcome]]:
    """Yield each item with its outcome, in the order of the items.

    :param documents: a temporary store.
    :param items: pairs (item, Line of its temporary document). The Line gets the position of the item as its id. A pair
        may have an outcome already.
    :param rule: whose fields are those of the items.
    :param run: options of ``Documents.ingest``.
    """
    fields: dict[str, Any] = (
        {"text_field": TEXT} if rule.time_field is None else {"text_field": TEXT, "time_field": TIME}
    )
    known: deque[tuple[T, Outcome | None]] = deque()

    def lines() -> Iterator[Line]:
        for number, (item, asked) in enumerate(items):
            if isinstance(asked, Line):
                known.append((item, None))
                yield asked if asked.problem else replace(asked, document={**asked.document, "id": number})
            else:
                known.append((item, asked))

    def before_the_next() -> Iterator[tuple[T, Outcome]]:
        while known and (outcome := known[0][1]) is not None:
            yield known.popleft()[0], outcome

    with closing(documents.ingest(lines(), on_duplicate="skip", rule=replace(rule, **fields), **run)) as outcomes:
        for outcome in outcomes:
            yield from before_the_next()
            yield known.popleft()[0], outcome
        yield from before_the_next()
