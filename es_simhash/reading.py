"""The way in: JSON lines or dicts become checked, fingerprinted Documents, in batches.

What can't become a Document becomes a rejected Outcome that names the place and the fix; it never stops the
others. Memory doesn't grow with the input: lines and texts have a limit, batches are bounded by count and by
characters, and the ids of a run are kept in a temporary file.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from es_simhash.core.text import check_surrogates
from es_simhash.errors import InputError
from es_simhash.flows.ingest import Document, Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable, Iterator, Mapping

    from typing_extensions import Self

    from es_simhash.core.fingerprint import Fingerprinter

MAX_LINE = 64 << 20
"""Bytes of a line; a longer one is passed over without being held in memory."""
MAX_TEXT = 10_000_000
"""Characters of a text, some ten novels. Beyond that a document is a collection; and a server would refuse it."""
MAX_SOURCE = 30_000_000
"""Characters of a whole document as JSON: with those before it in a batch it stays within a server's 100 MB."""
MAX_ID = 512
"""Bytes of an id, as Elasticsearch has it."""
BATCH = 500
BATCH_CHARACTERS = 4_000_000

SIMHASH_FIELDS = frozenset({"s0", "s1", "s2", "s3", "fp", "digest", "group", "duplicate_of"})


@dataclass(frozen=True)
class Line:
    """One line of input: a document, or why there is none.

    :param place: the file's name and the number of the line.
    :param size: bytes read for it.
    """

    place: str
    document: Any = None
    problem: str | None = None
    size: int = 0


def json_lines(stream: IO[bytes], name: str) -> Iterator[Line]:
    """The documents of a stream of JSON lines; empty lines are passed over.

    :param stream: opened in binary mode.
    :param name: of the file, for the places: ``name:12``.
    """
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        place = f"{name}:{number}"
        if len(line) > MAX_LINE:
            size = len(line)
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE)
                size += len(line)
            problem = f"the line is longer than {MAX_LINE:,} bytes: one JSON object a line is wanted"
            yield Line(place, problem=problem, size=size)
        elif line.strip():
            try:
                yield Line(place, _parse(line), size=len(line))
            except InputError as error:
                yield Line(place, problem=str(error), size=len(line))


_CUT = ", and the input ends there without a line break: was it cut?"


def _parse(line: bytes) -> Any:
    if line.startswith(b"\x1f\x8b"):
        raise InputError("compressed by gzip: pipe it in by zcat")
    if b"\0" in line:
        raise InputError("not UTF-8, it has zero bytes as UTF-16 has them: convert the file to UTF-8")
    try:
        return json.loads(line.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        fix = _CUT if error.reason == "unexpected end of data" else ": convert the file to UTF-8"
        raise InputError(f"not UTF-8 at byte {error.start + 1}{fix}") from error
    except json.JSONDecodeError as error:
        cut = "" if line.endswith(b"\n") else _CUT
        message = error.msg.removesuffix(" at")
        raise InputError(f"not JSON: {message} at character {error.pos + 1}{cut}") from error
    except RecursionError as error:
        raise InputError("not usable JSON: nested too deeply; flatten it") from error
    except ValueError as error:
        raise InputError(f"not usable JSON: {error}") from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number; use null")


class Reader:
    """Checks and fingerprints the documents of one run.

    :param id_field: name of the field with the id, a string or a whole number.
    :param text_fields: names of the fields with the text; several are joined, those that are missing left out.
    :param max_text: characters that a text may have.
    """

    def __init__(
        self, fingerprinter: Fingerprinter, id_field: str, text_fields: tuple[str, ...], max_text: int = MAX_TEXT
    ) -> None:
        self._fingerprinter = fingerprinter
        self._id_field = id_field
        self._text_fields = text_fields
        self._max_text = max_text

    def read(self, document: Any) -> Document:
        """Check a document and take its fingerprint; its place is still empty.

        :raises InputError: saying what is wrong with it.
        """
        if not isinstance(document, dict):
            raise InputError(f"a document must be a JSON object, this is {_kind(document)}")
        id = self._id(document)
        text = self._text(document)
        if len(text) > self._max_text:
            raise InputError(
                f"the text has {len(text):,} characters, the limit is {self._max_text:,}: "
                "split the document, or raise the limit (--max-text)"
            )
        source = self._source(document)
        return Document(id, self._fingerprinter.fingerprint(text), source, place="")

    def _id(self, document: Mapping[str, Any]) -> str:
        field = self._id_field
        if field not in document:
            raise InputError(f"no field {field!r}: name the field that holds the id (--id-field)")
        id = document[field]
        if isinstance(id, bool) or not isinstance(id, str | int):
            raise InputError(f"the id in {field!r} is {_kind(id)}: use a string or a whole number")
        id = str(id)
        check_surrogates(id, f"the id in {field!r}")
        if "\0" in id:
            raise InputError(f"the id in {field!r} has a zero byte: take it out")
        if not id or len(id.encode()) > MAX_ID:
            raise InputError(f"the id in {field!r} has {len(id.encode())} bytes: use from 1 to {MAX_ID}")
        return id

    def _text(self, document: Mapping[str, Any]) -> str:
        present = [field for field in self._text_fields if document.get(field) is not None]
        if not present:
            names = ", ".join(map(repr, self._text_fields))
            raise InputError(f"no text in the field {names}: name the field that holds the text (--text-field)")
        for field in present:
            if not isinstance(document[field], str):
                raise InputError(f"the text in {field!r} is {_kind(document[field])}: use a string")
            check_surrogates(document[field], f"the text in {field!r}")
        return "\n".join(document[field] for field in present)

    def _source(self, document: Mapping[str, Any]) -> str:
        # A document that was stored and read back brings our own field along; any other `simhash` is the user's.
        ours = document.get("simhash")
        if ours is not None:
            if not isinstance(ours, dict) or ours.keys() - SIMHASH_FIELDS:
                raise InputError("the field 'simhash' is taken for the fingerprint: rename yours")
            document = {key: value for key, value in document.items() if key != "simhash"}
        if dotted := [key for key in document if str(key).startswith("simhash.")]:
            raise InputError(f"the field {dotted[0]!r} is taken for the fingerprint: rename yours")
        try:
            source = json.dumps(document, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the document can't be written as JSON: {error}") from error
        check_surrogates(source, "the document, as JSON,")
        if len(source) > MAX_SOURCE:
            raise InputError(
                f"the document has {len(source):,} characters as JSON, the limit is {MAX_SOURCE:,}: split it, or leave "
                "large fields out"
            )
        return source


class Run:
    """Batches of one run, of sync or async input, in which no id comes twice.

    :param size: documents of a batch.
    """

    def __init__(self, reader: Reader, size: int = BATCH) -> None:
        if size < 1:
            raise InputError(f"a batch size of {size}: use a whole number from 1")
        self._reader = reader
        self._size = size
        self._count = 0
        self._batch: list[Document | Outcome] = []
        self._characters = 0

    def batches(self, documents: Iterable[Any]) -> Generator[list[Document | Outcome], None, None]:
        """Batches of the documents, which are dicts or Lines."""
        with FirstPlaces() as ids:
            for document in documents:
                if self._add(document, ids):
                    yield self._take()
            if self._batch:
                yield self._take()

    async def abatches(
        self, documents: AsyncIterable[Any] | Iterable[Any]
    ) -> AsyncGenerator[list[Document | Outcome], None]:
        """:meth:`batches`; the input may be async itself."""
        with FirstPlaces() as ids:
            async for document in _aiter(documents):
                if self._add(document, ids):
                    yield self._take()
            if self._batch:
                yield self._take()

    def _add(self, document: Any, ids: FirstPlaces) -> bool:
        """Add a document to the batch; True when that is full."""
        self._count += 1
        line = document if isinstance(document, Line) else Line(f"document {self._count}", document)
        item = self._read(line, ids)
        self._batch.append(item)
        self._characters += len(item.source) if isinstance(item, Document) else 0
        return len(self._batch) >= self._size or self._characters >= BATCH_CHARACTERS

    def _take(self) -> list[Document | Outcome]:
        batch, self._batch, self._characters = self._batch, [], 0
        return batch

    def _read(self, line: Line, ids: FirstPlaces) -> Document | Outcome:
        if line.problem is not None:
            return _rejected(None, line.place, line.problem)
        try:
            document = self._reader.read(line.document)
        except InputError as error:
            return _rejected(_id_if_any(line.document, self._reader), line.place, str(error))
        first = ids.claim(document.id, line.place)
        if first is not None:
            problem = (
                f"the id {document.id!r} came before in this run, at {first}: that one counts; one id, one document"
            )
            return _rejected(document.id, line.place, problem)
        return Document(document.id, document.fingerprint, document.source, line.place)


class FirstPlaces:
    """Where each key came first, in a temporary file that SQLite deletes on closing: memory does not grow."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("CREATE TABLE keys (key TEXT PRIMARY KEY, place TEXT NOT NULL) WITHOUT ROWID")

    def claim(self, key: str, place: str) -> str | None:
        """None the first time; afterwards the place of the first time."""
        if self._db.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (key, place)).rowcount:
            return None
        first: str = self._db.execute("SELECT place FROM keys WHERE key = ?", (key,)).fetchone()[0]
        return first

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._db.close()


async def _aiter(documents: AsyncIterable[Any] | Iterable[Any]) -> AsyncIterator[Any]:
    if hasattr(documents, "__aiter__"):
        async for document in documents:
            yield document
    else:
        for document in documents:
            yield document


def _rejected(id: str | None, place: str, problem: str) -> Outcome:
    return Outcome(id, "rejected", reason=f"{place}: {problem}", place=place)


def _id_if_any(document: Any, reader: Reader) -> str | None:
    try:
        return reader._id(document)
    except (InputError, TypeError):
        return None


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")
