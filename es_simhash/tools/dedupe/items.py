"""The items of ``es-simhash dedupe``: documents of files, how they are written again, and their other orders."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from es_simhash import InputError
from es_simhash.console.first_lines import object_of
from es_simhash.search.times import time_of
from es_simhash.similarity.text_fields import field_value, text_of
from es_simhash.temporary import temporary_database, temporary_file
from es_simhash.tools.dedupe.originals import Decision, Text
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Self

    from es_simhash import DuplicateRule, Line

Keep = Literal["first", "longest", "last"]
KEEP: tuple[Keep, ...] = get_args(Keep)
_ORDERS = {"first": "position", "longest": "length DESC, position", "last": "position DESC"}


class Name(NamedTuple):
    """What a copy learns of its original.

    :param place: of its line: ``news.jsonl:12``; of a document in a store the name of the store.
    :param id: None if the document has none.
    """

    place: str
    id: Any


@value
class Item:
    """A document of the input.

    :param asked: its text; or a Decision with the problem, if it has none.
    :param output: the line that is written if the document is kept, with its line break; of a bad line what it holds.
    :param against: it is of a file of ``--against``: it is not written.
    """

    name: Name
    asked: Text | Decision
    output: bytes
    against: bool

    @property
    def text(self) -> str:
        """The text; empty if there is a problem."""
        return self.asked.text if isinstance(self.asked, Text) else ""


def item_of(line: Line, rule: DuplicateRule, id_field: str, *, against: bool) -> Item:
    """Return the document of a line."""
    try:
        document = object_of(line)
        name = Name(line.place, field_value(document, id_field))
        time = None if rule.time_field is None else time_of(document, rule.time_field)
        asked = Text(text_of(document, rule.text_fields), time, name)
        return Item(name, asked, _output(line, document), against)
    except InputError as error:
        return Item(Name(line.place, None), Decision(problem=str(error)), _held(line), against)


def _held(line: Line) -> bytes:
    """Return what a bad line holds."""
    if line.raw is not None:
        return line.raw
    try:
        return json_line(line.document)
    except InputError:
        return repr(line.document).encode("utf-8", "replace")


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
    """Items in a temporary file, to be read in another order, and then again with their Decisions.

    :raises StoreError: if the file cannot be written. The methods raise it too.
    """

    def __init__(self) -> None:
        with temporary_file("documents"):
            self._db = temporary_database()
            self._db.execute("CREATE TABLE items (position INTEGER PRIMARY KEY, against, length, item)")
            self._db.execute("CREATE TABLE decisions (position INTEGER PRIMARY KEY, decision)")

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

    def note(self, position: int, decision: Decision) -> None:
        """Write down the Decision on an item."""
        with temporary_file("documents"):
            self._db.execute("INSERT INTO decisions VALUES (?, ?)", [position, pickle.dumps(decision)])

    def decisions(self) -> Iterator[tuple[Item, Decision]]:
        """Yield the items with their Decisions, in the order of the input."""
        with temporary_file("documents"):
            for item, decision in self._db.execute("SELECT item, decision FROM items JOIN decisions USING (position)"):
                yield pickle.loads(item), pickle.loads(decision)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._db.close()
