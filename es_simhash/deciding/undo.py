"""The undo of a removal: a file with what it removed, and with the links that it changed.

The first line of the file names the Scheme of the store. Each other line is a document as the store held it, or the
links of a document that stays. A removal appends the lines of a batch before it removes the batch. A batch may change
links that a former batch changed before. So the file is read from its end.
"""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from es_simhash.contract import Link
from es_simhash.deciding.write import write_all
from es_simhash.errors import InputError, SchemeMismatch, StoreError, StoreUnavailable, not_set_up, saying_what_is_done
from es_simhash.exact_json import dumps, loads
from es_simhash.files import open_for_owner

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from es_simhash.contract import Store, Written

BATCH = 100
"""Whole documents that are read or written in one request."""


@dataclass(frozen=True)
class RestoreReport:
    """What :meth:`Documents.restore` did.

    :param restored: documents of the file that are stored again as they were.
    :param relinked: documents that have their former links again.
    :param kept: ids of documents that exist again with other contents. They stay as they are.
    :param refused: by id, why the store did not take a document.
    """

    restored: int
    relinked: int
    kept: tuple[str, ...]
    refused: Mapping[str, str]


class Saved:
    """Writes what a removal changes to a new file, before it is changed.

    :param path: of the file.
    :param batch: whole documents that are read in one request.
    :raises InputError: if the file exists, or cannot be made.
    """

    def __init__(self, store: Store, path: str, batch: int = BATCH) -> None:
        self._store = store
        self._batch = batch
        self._path = path
        try:
            self._file: IO[bytes] = open(path, "xb", opener=open_for_owner)  # noqa: SIM115  close() closes it
        except FileExistsError as error:
            raise InputError(f"{path} exists: name a new file (save)") from error
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error
        self._write([_header(store)])

    def put(self, ids: Iterable[str]) -> None:
        """Write documents that are removed next, and wait until the disk has them.

        :raises StoreError: if they cannot be written. They must not be removed then.
        """
        removed = sorted(ids)
        linked = _linked_to(self._store, frozenset(removed))
        for some in _parts(sorted(linked), self._batch):
            rows = self._store.fetch(tuple(some)).values()
            self._write({"id": row.id, "links": [row.group, row.duplicate_of], "digest": row.digest} for row in rows)
        for some in _parts(removed, self._batch):
            found = self._store.fetch_whole(tuple(some))
            self._write({"id": id, "document": loads(document)} for id, document in found.items())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, values: Iterable[Any]) -> None:
        try:
            self._file.writelines(dumps(value).encode() + b"\n" for value in values)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self._path}: {error.strerror or error}") from error


def restore(store: Store, path: str, deadline: float, batch: int = BATCH) -> RestoreReport:
    """Store what a removal saved in a file, and give other documents their former links.

    A document that exists with other contents stays. So does a link of a document whose text changed since.

    :param deadline: seconds for which documents are sent again while the store is too busy for them.
    :param batch: whole documents that are written in one request.
    :raises InputError: if the file cannot be read, or is none that a removal wrote.
    :raises SchemeMismatch: if the store has another Scheme now.
    """
    try:
        with open(path, "rb") as file:
            _check_header(_value(file.readline(), path), store, path)
            run = _Restore(store, deadline)
            with saying_what_is_done(
                lambda: f"{run.restored:,} documents are stored again: restore the same file again"
            ):
                for lines in _from_the_end(file, batch):
                    run.take([_value(line, path) for line in lines])
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    store.refresh()
    return RestoreReport(run.restored, run.relinked, tuple(run.kept), run.refused)


class _Restore:
    def __init__(self, store: Store, deadline: float) -> None:
        self._store = store
        self._deadline = deadline
        self.restored = self.relinked = 0
        self.kept: list[str] = []
        self.refused: dict[str, str] = {}

    def take(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Restore what lines say, the last of the file first."""
        documents = {line["id"]: dumps(line["document"]) for line in lines if "document" in line}
        if documents:
            self._create(documents)
        if links := {line["id"]: line for line in lines if "links" in line}:  # of one document the earliest counts
            self._relink(links)

    def _create(self, documents: Mapping[str, str]) -> None:
        def write(ids: Collection[str]) -> Written:
            return self._store.restore({id: document for id, document in documents.items() if id in ids})

        written = write_all(write, documents.keys(), self._deadline)
        stored = self._store.fetch_whole(tuple(sorted(written.conflicts)))  # perhaps an attempt before stored it
        kept = [id for id, document in stored.items() if _contents(document) != _contents(documents[id])]
        self.kept += kept
        self.refused |= written.refused
        self.restored += len(documents) - len(kept) - len(written.refused) - len(written.busy)
        if written.busy:
            raise StoreUnavailable(f"{self._store.name} is too busy for {len(written.busy):,} documents")

    def _relink(self, lines: Mapping[str, Mapping[str, Any]]) -> None:
        rows = self._store.fetch(tuple(lines))
        links: dict[str, Link] = {}
        for id, row in rows.items():
            group, original = lines[id]["links"]
            # A document with another text now keeps the links of that text.
            if row.digest == lines[id]["digest"] and (row.group, row.duplicate_of) != (group, original):
                links[id] = Link(group, original, row.version)
        conflicts = self._store.relink(links) if links else set()
        self.relinked += len(links) - len(conflicts)


def _contents(document: str) -> Any:
    """Return what a whole document holds, without its links: lines that are read later may change these."""
    value = loads(document)
    for ours in (value, value.get("simhash")):
        if isinstance(ours, dict):
            ours.pop("group", None)
            ours.pop("duplicate_of", None)
    return value


def _linked_to(store: Store, removed: frozenset[str]) -> set[str]:
    """Return the ids of the documents whose links a removal may change."""
    store.refresh()
    found: set[str] = set()
    level: set[str] = set(removed)
    while level:
        ids = tuple(sorted(level))
        level = store.dependents(ids, ids) - removed - found
        found |= level
    return found


def _header(store: Store) -> dict[str, Any]:
    scheme = store.describe()
    if scheme is None:
        raise not_set_up(store.name)
    return {"removed": 1, "scheme": scheme.version, "embedded": store.embedded}


def _check_header(header: Mapping[str, Any], store: Store, path: str) -> None:
    if header.get("removed") != 1:
        raise InputError(f"{path} is no file that a removal wrote: give the file of its save")
    here = _header(store)
    if header["scheme"] != here["scheme"]:
        raise SchemeMismatch(
            f"{path} has documents of Scheme {header['scheme']}, {store.name} has {here['scheme']}: restore it into a "
            "store with the former Scheme"
        )
    if header["embedded"] != here["embedded"]:
        raise InputError(f"{path} is from another kind of store than {store.name}: restore it into the former one")


def _value(line: bytes, path: str) -> dict[str, Any]:
    try:
        value = loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f"{path} has a line that is no JSON object: give the file of a removal, with all its lines")
    return value


def _from_the_end(file: IO[bytes], batch: int) -> Iterator[list[bytes]]:
    """Yield the lines of a file from here on in batches, the last line first.

    The last line is left out if it has no end. A removal was interrupted then, and did not remove that document.
    """
    starts = array("q", [file.tell()])
    starts.extend(file.tell() for line in iter(file.readline, b"") if line.endswith(b"\n"))
    places = range(len(starts) - 1)
    for last in range(len(places), 0, -batch):
        lines = []
        for place in reversed(places[max(0, last - batch) : last]):
            file.seek(starts[place])
            lines.append(file.readline())
        yield lines


def _parts(ids: Sequence[str], batch: int) -> Iterator[Sequence[str]]:
    return (ids[start : start + batch] for start in range(0, len(ids), batch))
