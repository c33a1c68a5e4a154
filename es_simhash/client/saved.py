"""A file with the documents that a removal removes: JSON lines that an ingest takes back."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from es_simhash.errors import InputError, StoreError
from es_simhash.machine import open_for_owner
from es_simhash.similarity.text_fields import field_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from es_simhash.store.types import Stored


class Saved:
    """Writes documents to a new file before they are removed, as they were written.

    :param path: of the file.
    :param id_field: name of the field with the id. A document that does not hold its id there gets it as ``_id``.
    :raises InputError: if the file exists, or cannot be made.
    """

    def __init__(self, path: str, id_field: str) -> None:
        self._path, self._id_field = path, id_field
        try:
            self._file: IO[bytes] = open(path, "xb", opener=open_for_owner)  # noqa: SIM115  __exit__ closes it
        except FileExistsError as error:
            raise InputError(f"{path} exists: name a new file (save)") from error
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error

    def put(self, documents: Sequence[Stored]) -> None:
        """Write documents that are removed next, and wait until the disk has them.

        :raises StoreError: if they cannot be written. They must not be removed then.
        """
        try:
            for stored in documents:
                line = json.dumps(self._with_id(stored), ensure_ascii=False)
                self._file.write(line.encode(errors="backslashreplace") + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self._path}: {error.strerror or error}") from error

    def _with_id(self, stored: Stored) -> dict[str, Any]:
        document, id, field = stored.source or {}, stored.row.id, self._id_field
        value = field_value(document, field)
        return document if value is not None and str(value) == id else {"_id": id, **document}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        with suppress(OSError):  # of what put could not write; it has raised
            self._file.close()
