"""Another store as the input of an ingest: ``es-simhash ingest http://es/news-1 --store http://es/news-2``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from es_simhash import Line
from es_simhash.cli.options import open_documents
from es_simhash.cli.progress import Progress
from es_simhash.ingest.start import checked_start
from es_simhash.store.address import sqlite_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash import Documents
    from es_simhash.cli.options import StoreOptions
    from es_simhash.ingest.start import Check

_STORES = ("http://", "https://", "opensearch+http://", "opensearch+https://", "sqlite:///")
_FETCHED = 100
"""Documents that are fetched at once."""


def is_store(argument: str) -> bool:
    """Return whether an argument is the address of a store. Every other one is a file."""
    return argument.startswith(_STORES)


@dataclass(frozen=True)
class StoredInput:
    """The documents of another store, as the input of an ingest. It has the methods of Input.

    :param address: of the store that is read.
    :param options: of the command.
    """

    address: str
    options: StoreOptions

    @property
    def paths(self) -> tuple[str, ...]:
        """The file of the store, if it is one."""
        path = sqlite_file(self.address)
        return () if path is None else (path,)

    @property
    def names(self) -> str:
        """The name of the store, for messages."""
        with self._open() as source:
            return source.name

    def progress(self, *, quiet: bool) -> Progress:
        """Return a progress bar. The number of documents is not known."""
        return Progress(None, quiet=quiet)

    def lines(self, progress: Progress, check: Check, fields: Sequence[str] = ()) -> Iterator[Line]:
        """Yield all documents that have a fingerprint, each with its id as ``_id``, in no particular order.

        :param check: this and ``fields`` as for Input.
        """
        with self._open() as source:
            yield from checked_start(_stored_lines(source), check, source.name, fields)

    def _open(self) -> Documents:
        options = self.options.copy()
        options["store"] = self.address
        return open_documents(**options)


def _stored_lines(source: Documents) -> Iterator[Line]:
    rows = source.export()
    while ids := [row.id for row in islice(rows, _FETCHED)]:
        for id, document in source.fetch(ids, fields="*").items():
            yield Line(f"{source.name}: document {id!r}", {**document, "_id": id})
