"""Which items are no copy of an earlier one? They are ingested into a store in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.client.documents import Documents
from es_simhash.errors import InputError
from es_simhash.input import rows_of
from es_simhash.lines import Line, object_of
from es_simhash.similarity.rule import rule_of
from es_simhash.similarity.text_fields import field_names, field_value, text_of
from es_simhash.text.fingerprinter import fingerprinter_of
from es_simhash.text.ids import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from es_simhash.decide.outcome import Outcome
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.text.scheme import Scheme

    Text = str | Sequence[str] | Callable[[Any], str]

T = TypeVar("T")

_POSITION, _TEXT = "_position", "_text"
"""Fields of a document for an item. The field with the time has its own name."""


@dataclass(frozen=True)
class Pair:
    """An item that is a copy, and the item that it is a copy of.

    :param position: of the copy among the items, from 0.
    :param original: the position of the item that is kept.
    :param exact: the text is equal to that of the original, or of another copy of it, after normalisation.
    :param similarity: of the texts; 1 if they are equal. None if the rule compares no texts, or if the text is equal to
        that of another copy: the two are not compared then.
    :param distance: by the rule ``fingerprint``, the Hamming distance in bits; 0 if the texts are equal; else None.
    """

    position: int
    original: int
    exact: bool
    similarity: float | None
    distance: int | None


def distinct(
    items: Iterable[T],
    *,
    text: Text = "text",
    scheme: Scheme | None = None,
    rule: str | DuplicateRule | None = None,
) -> Iterator[T]:
    """Yield the items that are no copies of an earlier one, in their order.

    Every item that is left out is a copy of one that was yielded. Items are read in batches, so some are read ahead.
    Of each item that is yielded the text and its keys are kept: some 1 KB and the text.

    >>> list(distinct(["今日天气晴，最高气温二十度。", "今日天气晴,最高气温二十度", "明日有雨。"]))
    ['今日天气晴，最高气温二十度。', '明日有雨。']

    :param items: strings; mappings; any objects, if ``text`` is a function; or a data frame, whose rows are dicts.
    :param text: the field with the text, or several fields, which are joined; or a function of an item. A string is its
        own text.
    :param scheme: how texts are normalised, such as ``Scheme(markup="html")``.
    :param rule: as for :meth:`es_simhash.Documents.setup`.
    :raises InputError: for an item without a text. The items before it are yielded first.
    """
    decided = _decided(items, text, scheme, rule)
    return (item for _, item, outcome in decided if outcome.duplicate_of is None)


def pairs(
    items: Iterable[T],
    *,
    text: Text = "text",
    scheme: Scheme | None = None,
    rule: str | DuplicateRule | None = None,
) -> Iterator[Pair]:
    """Yield a Pair for each item that :func:`distinct` leaves out. The parameters are the same.

    >>> [(pair.position, pair.original) for pair in pairs(["一二三四五六", "天地玄黄", "一二三四五六。"])]
    [(2, 0)]
    """
    decided = _decided(items, text, scheme, rule)
    return (
        Pair(at, int(made.duplicate_of), made.outcome == "exact_duplicate", made.similarity, made.distance)
        for at, _, made in decided
        if made.duplicate_of is not None
    )


def _decided(
    items: Iterable[T], text: Text, scheme: Scheme | None, rule: str | DuplicateRule | None
) -> Iterator[tuple[int, T, Outcome]]:
    """Return the position, the item and the outcome of each item. Invalid arguments raise at once."""
    chosen = replace(rule_of(rule), text_field=_TEXT)
    read = text if callable(text) else partial(_text, fields=field_names(text))
    documents = Documents("memory://", fingerprinter=chosen.needs_of(fingerprinter_of(scheme)))
    documents.setup(chosen, id_field=_POSITION)
    rows, waiting = rows_of(items), deque[T]()

    def lines() -> Iterator[Line]:
        for position, item in enumerate(rows):
            document = _document(position, item, read, chosen)
            waiting.append(item)
            yield Line(f"item {position}", document)

    outcomes = enumerate(documents.ingest(lines(), on_duplicate="skip"))
    return ((position, waiting.popleft(), _checked(outcome)) for position, outcome in outcomes)


def _checked(outcome: Outcome) -> Outcome:
    if outcome.outcome == "rejected":
        raise InputError(outcome.reason)
    return outcome


def _text(item: Any, fields: tuple[str, ...]) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, Mapping):
        raise InputError(f"it is of type {type(item).__name__}: pass text=…, a function that returns its text")
    return text_of(item, fields)


def _document(position: int, item: Any, read: Callable[[Any], str], rule: DuplicateRule) -> dict[str, Any]:
    """Return an item as a document.

    :raises InputError: if it has no text, or no time where times count.
    """
    try:
        if isinstance(item, Line):  # a row that cannot be read
            item = object_of(item)
        text = read(item)
        if not isinstance(text, str):
            raise InputError(f"its text is {kind_of(text)}: use a string")
        document: dict[str, Any] = {_POSITION: position, _TEXT: text}
        if rule.time_field is not None:
            if not isinstance(item, Mapping):
                raise InputError("within compares times: pass a mapping with the time_field")
            document[rule.time_field] = field_value(item, rule.time_field)
        return document
    except InputError as error:
        raise InputError(f"item {position}: {error}") from error
