"""What is each document of some files a copy of? They are ingested into a store in memory, which skips copies."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from es_simhash import Documents, InputError, Line
from es_simhash.cli.output import json_line
from es_simhash.input.values import not_json
from es_simhash.lines import object_of
from es_simhash.similarity.text_fields import field_value, text_of
from es_simhash.tools.texts import texts_of
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from es_simhash import DuplicateRule, Fingerprinter, Outcome

_TEXTS = 100
"""Documents that are looked up together in a store of ``--against``."""


@value
class Item:
    """A document of the input.

    :param id: None if it has none.
    :param text: None if there is a problem.
    :param output: the line that is written if the document is kept, with its line break.
    :param against: it is of a file of ``--against``: it is not written.
    """

    place: str
    id: Any
    text: str | None
    output: bytes
    against: bool
    problem: str | None = None


@value
class Copy:
    """What a document is a copy of.

    :param place: of the original: of its line, or the name of its store.
    :param text: of the original; None if it was not asked for, or its store has it no more.
    """

    id: Any
    place: str
    exact: bool
    similarity: float | None
    distance: int | None
    text: str | None


def item_of(line: Line, text_fields: tuple[str, ...], id_field: str, *, against: bool) -> Item:
    """Return the document of a line."""
    try:
        document = object_of(line)
        text, id = text_of(document, text_fields), field_value(document, id_field)
        return Item(line.place, id, text, _output(line, document), against)
    except InputError as error:
        return Item(line.place, None, None, b"", against, str(error))


def _output(line: Line, document: dict[str, Any]) -> bytes:
    """Return the document as a line: as it stands in the input, if it is one line of JSON there."""
    raw = b"\n" if line.raw is None else line.raw.removeprefix(b"\xef\xbb\xbf").strip()
    return as_line(document) if b"\n" in raw else raw + b"\n"


def as_line(value: Mapping[str, Any]) -> bytes:
    """Return an object as a line of JSON.

    :raises InputError: if it has no form in JSON.
    """
    try:
        return f"{json_line(value)}\n".encode()
    except (TypeError, ValueError) as error:
        raise not_json(value, error) from error


class Decisions:
    """Says what each document is a copy of.

    :param archives: stores whose documents come before all others. Each is asked at once, so one that cannot be
        searched stops the command before anything is printed.
    :param texts: a Copy has the text of the original.
    """

    def __init__(
        self, fingerprinter: Fingerprinter, rule: DuplicateRule, archives: list[Documents], workers: int, *, texts: bool
    ) -> None:
        self._documents = Documents("memory://", fingerprinter=rule.needs_of(fingerprinter))
        self._documents.setup(replace(rule, text_field="text"))
        self._archives = archives
        self._rule_of_archives = replace(rule, text_field=None)  # their texts may be in other fields
        self._workers = workers
        self._texts = texts
        self._waiting: deque[tuple[Item, Copy | None]] = deque()
        self._kept: list[tuple[Any, str]] = []
        """Id and place of each document that was ingested."""
        self.not_compared = self.blank = 0
        """How many documents were not compared, because very many may be near; and how many have no text."""
        for archive in archives:
            archive.similar_many([], rule=self._rule_of_archives)

    def of(self, items: Iterable[Item]) -> Generator[tuple[Item, Copy | None], None, None]:
        """Yield each document, and what it is a copy of, in their order."""
        outcomes = self._documents.ingest(self._lines(items), on_duplicate="skip", workers=self._workers)
        for outcome in outcomes:
            item, copy = self._waiting.popleft()
            self.not_compared += outcome.left_out
            self.blank += outcome.blank
            if copy is None and outcome.outcome == "rejected":
                item = replace(item, problem=(outcome.reason or "").removeprefix(f"{item.place}: "))
            yield item, copy or self._copy(outcome)

    def _copy(self, outcome: Outcome) -> Copy | None:
        if outcome.duplicate_of is None:
            return None
        id, place = self._kept[int(outcome.duplicate_of)]
        text = None
        if self._texts:
            text = self._documents.fetch([outcome.duplicate_of], fields=["text"])[outcome.duplicate_of]["text"]
        exact = outcome.outcome == "exact_duplicate"
        return Copy(id, place, exact, outcome.similarity, outcome.distance, text)

    def _lines(self, items: Iterable[Item]) -> Iterator[Line]:
        """Yield a line for each document: the bare problem where nothing is to decide, as for a copy in an archive."""
        rest, size = iter(items), _TEXTS if self._archives else 1
        while batch := list(islice(rest, size)):
            known = self._in_archives([item for item in batch if item.text is not None])
            for item in batch:
                copy = known.get(id(item))
                self._waiting.append((item, copy))
                if copy is not None or item.text is None:
                    yield Line(item.place, problem=item.problem or "known")
                else:
                    self._kept.append((item.id, item.place))
                    yield Line(item.place, {"id": len(self._kept) - 1, "text": item.text})

    def _in_archives(self, items: list[Item]) -> dict[int, Copy]:
        """Return what documents are copies of in an archive, by the identity of the item."""
        known: dict[int, Copy] = {}
        for archive in self._archives:
            left = [item for item in items if id(item) not in known]
            matches_of_texts = archive.similar_many([item.text or "" for item in left], rule=self._rule_of_archives)
            nearest = {}
            for item, matches in zip(left, matches_of_texts, strict=True):
                self.not_compared += matches.left_out
                if matches:
                    nearest[id(item)] = matches[0]
            texts = texts_of(archive, {match.id for match in nearest.values()}) if self._texts else {}
            for key, one in nearest.items():
                place, text = archive.name, texts.get(one.id)
                known[key] = Copy(one.id, place, one.exact, one.similarity, one.distance, text)
        return known
