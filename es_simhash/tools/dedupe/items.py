"""The items of ``es-simhash dedupe``: documents of files, how they are written again, and their other orders."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from es_simhash import InputError, Line
from es_simhash.console.first_lines import object_of
from es_simhash.similarity.text_fields import field_value, text_of
from es_simhash.temporary import temporary_database, temporary_file
from es_simhash.tools.dedupe.copies import TEXT, temporary_document
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Self

    from es_simhash import DuplicateRule, Outcome

Keep = Literal["first", "longest", "last"]
KEEP: tuple[Keep, ...] = get_args(Keep)
_ORDERS = {"first": "position", "longest": "length DESC, position", "last": "position DESC"}
PLACE, NAME = "place", "name"
"""Fields of the temporary document, from which a copy learns what its original is."""


@value
class Item:
    """A document of the input.

    :param asked: the Line of its temporary document, or with the problem.
    :param output: the line that is written if the document is kept, with its line break; empty if there is a problem.
    :param against: it is of a file of ``--against``: it is not written.
    """

    asked: Line
    output: bytes
    against: bool

    @property
    def text(self) -> str:
        """The text; empty if there is a problem."""
        text: str = "" if self.asked.problem is not None else self.asked.document[TEXT]
        return text


def item_of(line: Line, rule: DuplicateRule, id_field: str, *, against: bool) -> Item:
    """Return the document of a line."""
    try:
        document = object_of(line)
        asked = temporary_document(document, text_of(document, rule.text_fields), rule)
        output = b"" if against else _output(line, document)
    except InputError as error:
        return Item(replace(line, problem=str(error)), b"", against)
    asked |= {PLACE: line.place, NAME: field_value(document, id_field)}
    return Item(Line(line.place, asked), output, against)


def _output(line: Line, document: dict[str, Any]) -> bytes:
    """Return the document as a line: as it stands in the input, if it is one line of JSON there."""
    raw = b"\n" if line.raw is None else line.raw.removeprefix(b"\xef\xbb\xbf").strip()
    if b"\n" in raw or b'"dead_letter"' in raw:  # a dead letter may carry the document
        return json_line(document)
    return raw + b"\n"


def json_line(value: Any) -> bytes:
    """Return a value as a line of JSON.

    :raises InputError: if it has no form in JSON.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only escape
        return json.dumps(value, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise InputError(f"the document cannot be written as JSON: {error}") from error


class Spool:
    """Items in a temporary file, to be read in another order, and then again with their outcomes.

    :raises StoreError: if the file cannot be written. The methods raise it too.
    """

    def __init__(self) -> None:
        with temporary_file("documents"):
            self._db = temporary_database()
            self._db.execute("CREATE TABLE items (position INTEGER PRIMARY KEY, against, length, item)")
            self._db.execute("CREATE TABLE outcomes (position INTEGER PRIMARY KEY, outcome)")

    def fill(self, items: Iterable[Item]) -> None:
        """Write the items down."""
        rows = ((position, item.against, len(item.text), pickle.dumps(item)) for position, item in enumerate(items))
        with temporary_file("documents"):
            self._db.execute("BEGIN")
            self._db.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", rows)
            self._db.execute("COMMIT")

    def ordered(self, keep: Keep) -> Iterator[tuple[int, Item]]:
        """Yield the items with their positions: the one that is to be kept comes before its copies."""
        with temporary_file("documents"):
            for (position,) in self._db.execute(f"SELECT position FROM items ORDER BY NOT against, {_ORDERS[keep]}"):
                [item] = self._db.execute("SELECT item FROM items WHERE position = ?", [position]).fetchone()
                yield position, pickle.loads(item)

    def note(self, position: int, outcome: Outcome) -> None:
        """Write down the outcome of an item."""
        with temporary_file("documents"):
            self._db.execute("INSERT INTO outcomes VALUES (?, ?)", [position, pickle.dumps(outcome)])

    def outcomes(self) -> Iterator[tuple[Item, Outcome]]:
        """Yield the items with their outcomes, in the order of the input."""
        with temporary_file("documents"):
            for item, outcome in self._db.execute("SELECT item, outcome FROM items JOIN outcomes USING (position)"):
                yield pickle.loads(item), pickle.loads(outcome)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._db.close()
