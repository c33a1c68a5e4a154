"""Distinct items: those that are no copy of an item before them.

A copy is compared with no later item. So every item that is left out is a copy of one that is kept.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from es_simhash import Fingerprinter, InputError, Scheme
from es_simhash.fingerprinting.normalisation import MAX_TEXT
from es_simhash.input import rows_of
from es_simhash.search.times import time_of
from es_simhash.similarity.rule import rule_of
from es_simhash.similarity.text_fields import field_names, kind_of, text_of
from es_simhash.tools.dedupe.originals import Decision, Originals, Preparer, Text
from es_simhash.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from es_simhash import DuplicateRule
    from es_simhash.tools.dedupe.originals import Prepared

T = TypeVar("T")

BATCH = 500
"""Texts that are decided together."""
_BATCH_SIZE = 4_000_000
"""Characters of texts after which a batch ends."""
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
    text: str | Sequence[str] | Callable[[T], str] = "text",
    scheme: Scheme | None = None,
    rule: str | DuplicateRule | None = None,
) -> Iterator[T]:
    """Yield the items that are no copy of an earlier one, in their order.

    Every item that is left out is a copy of one that was yielded. Items are read in batches, so some are read ahead.
    Of each item that is yielded the text and its keys are kept: what is larger than 64 MB is in temporary files, which
    the system removes. The folder is that of the variable TMPDIR.

    >>> list(distinct(["今日天气晴，最高气温二十度。", "今日天气晴,最高气温二十度", "明日有雨。"]))
    ['今日天气晴，最高气温二十度。', '明日有雨。']

    :param items: strings; mappings; any objects, if ``text`` is a function; or a data frame, whose rows are dicts.
    :param text: the field with the text, or several fields, which are joined; or a function of an item. A string is its
        own text.
    :param scheme: how texts are normalised, such as ``Scheme(markup="html")``.
    :param rule: as for :meth:`es_simhash.Documents.ingest`.
    :raises InputError: for an item without a text. The items before it are yielded first.
    """
    return (item for _, item, decision in _decisions(items, text, scheme, rule) if decision.original is None)


def pairs(
    items: Iterable[T],
    *,
    text: str | Sequence[str] | Callable[[T], str] = "text",
    scheme: Scheme | None = None,
    rule: str | DuplicateRule | None = None,
) -> Iterator[Pair]:
    """Yield a Pair for each item that :func:`distinct` leaves out. The parameters are the same.

    >>> [(pair.position, pair.original) for pair in pairs(["一二三四五六", "天地玄黄", "一二三四五六。"])]
    [(2, 0)]
    """
    for number, _, decision in _decisions(items, text, scheme, rule, distances=True):
        if decision.original is not None:
            yield Pair(number, decision.original, decision.exact, decision.similarity, decision.distance)


def _decisions(
    items: Iterable[T],
    text: str | Sequence[str] | Callable[[T], str],
    scheme: Scheme | None,
    rule: str | DuplicateRule | None,
    *,
    distances: bool = False,
) -> Iterator[tuple[int, T, Decision]]:
    """Return the items with their positions and Decisions. Invalid arguments raise at once."""
    chosen = rule_of(rule)
    read = text if callable(text) else _field_reader(field_names(text))
    fingerprinter = Fingerprinter(scheme or Scheme())
    asked = (((number, item), _text(number, item, read, chosen)) for number, item in enumerate(rows_of(items)))

    def decisions() -> Iterator[tuple[int, T, Decision]]:
        left_out = 0
        for (number, item), decision in decided(asked, fingerprinter, chosen, distances=distances):
            if decision.problem is not None:
                raise InputError(f"item {number}: {decision.problem}")
            left_out += decision.left_out
            yield number, item, decision
        if left_out:
            _log.warning("about %s pairs of items were not compared: very many share keys or are near", left_out)

    return decisions()


def _field_reader(fields: tuple[str, ...]) -> Callable[[Any], str]:
    def read(item: Any) -> str:
        if isinstance(item, str):
            return item
        if not isinstance(item, Mapping):
            raise InputError(f"it is of type {type(item).__name__}: pass text=…, a function that returns its text")
        return text_of(item, fields)

    return read


def _text(number: int, item: Any, read: Callable[[Any], str], rule: DuplicateRule) -> Text:
    """Return an item as a Text, with its position.

    :raises InputError: if it has no text, or no time where times count.
    """
    try:
        text = read(item)
        if not isinstance(text, str):
            raise InputError(f"its text is {kind_of(text)}: use a string")
        if rule.time_field is not None and not isinstance(item, Mapping):
            raise InputError("within compares times: pass a mapping with the time_field")
        return Text(text, None if rule.time_field is None else time_of(item, rule.time_field), number)
    except InputError as error:
        raise InputError(f"item {number}: {error}") from error


def decided(
    items: Iterable[tuple[T, Text | Decision]],
    fingerprinter: Fingerprinter,
    rule: DuplicateRule,
    *,
    distances: bool,
    max_text: int = MAX_TEXT,
    workers: int = 0,
    batch: int = BATCH,
) -> Iterator[tuple[T, Decision]]:
    """Yield each item with its Decision, in the order of the items.

    If the items end in an error, those before it are yielded first.

    :param items: pairs (item, its Text). A pair may have its Decision already.
    :param distances: the Decisions have distances, whatever the rule looks at.
    :param max_text: the most characters of a text.
    :param workers: the number of processes that prepare texts. With 0 this process does it.
    :param batch: texts that are decided together.
    """
    preparer = Preparer(fingerprinter, rule, max_text)
    with (
        closing(Originals(fingerprinter, rule, distances=distances)) as originals,
        closing(Workers(preparer, workers)) as pool,
    ):
        ahead: deque[Callable[[], Iterator[tuple[T, Decision]]]] = deque()
        batches = Batches(items, batch)
        while some := batches.take():
            prepared = pool.submit([asked.text for _, asked in some if isinstance(asked, Text)])
            ahead.append(partial(_decided, originals, some, prepared))
            if len(ahead) > workers:
                yield from ahead.popleft()()
        for decisions in ahead:
            yield from decisions()
    if batches.error is not None:
        raise batches.error


def _decided(
    originals: Originals,
    batch: Sequence[tuple[T, Text | Decision]],
    prepared: Callable[[], Sequence[Prepared | str]],
) -> Iterator[tuple[T, Decision]]:
    texts = [asked for _, asked in batch if isinstance(asked, Text)]
    decisions = iter(originals.decide(texts, prepared()))
    for item, asked in batch:
        yield item, next(decisions) if isinstance(asked, Text) else asked


class Batches(Generic[T]):
    """Items in batches.

    :param items: pairs (item, its Text or its Decision).
    :param most: items in a batch.
    """

    error: Exception | None = None
    """The error in which the items ended, if they did."""

    def __init__(self, items: Iterable[tuple[T, Text | Decision]], most: int) -> None:
        self._items = iter(items)
        self._most = most

    def take(self) -> list[tuple[T, Text | Decision]]:
        """Return the next batch; an empty list at the end."""
        batch: list[tuple[T, Text | Decision]] = []
        size = 0
        if self.error is not None:
            return batch
        try:
            for item, asked in self._items:
                batch.append((item, asked))
                size += len(asked.text) if isinstance(asked, Text) else 0
                if len(batch) == self._most or size >= _BATCH_SIZE:
                    break
        except Exception as error:
            self.error = error
        return batch
