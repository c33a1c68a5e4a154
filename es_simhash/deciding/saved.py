"""A file with the documents that a removal removes: JSON lines that an ingest takes back."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any

from es_simhash.errors import InputError, StoreError
from es_simhash.exact_json import dumps
from es_simhash.files import open_for_owner
from es_simhash.similarity.text_fields import field_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.contract import Store

BATCH = 100
"""Whole documents that are read in one request."""


class Saved:
    """Writes documents to a new file before they are removed, as they were written.

    :param path: of the file.
    :param id_field: name of the field with the id. A document that does not hold its id there gets it as ``_id``.
    :raises InputError: if the file exists, or cannot be made.
    """

    def __init__(self, store: Store, path: str, id_field: str) -> None:
        self._store = store
        self._path = path
        self._id_field = id_field
        try:
            self._file: IO[bytes] = open(path, "xb", opener=open_for_owner)  # noqa: SIM115  close() closes it
        except FileExistsError as error:
            raise InputError(f"{path} exists: name a new file (save)") from error
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error

    def put(self, ids: Iterable[str]) -> None:
        """Write documents that are removed next, and wait until the disk has them.

        :raises StoreError: if they cannot be written. They must not be removed then.
        """
        names = sorted(ids)
        for start in range(0, len(names), BATCH):
            found = self._store.fetch_fields(tuple(names[start : start + BATCH]), None)
            self._write(
                document if self._holds_id(document, id) else {"_id": id, **document} for id, document in found.items()
            )

    def _holds_id(self, document: dict[str, Any], id: str) -> bool:
        field = self._id_field
        value = document[field] if field in document else field_value(document, field)
        return value is not None and str(value) == id

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, documents: Iterable[dict[str, Any]]) -> None:
        try:
            self._file.writelines(dumps(document).encode() + b"\n" for document in documents)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self._path}: {error.strerror or error}") from error
