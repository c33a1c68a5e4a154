"""A file with the documents that a removal removes: JSON lines that an ingest takes back."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from es_simhash.errors import StoreError
from es_simhash.machine import LinesFile, writing
from es_simhash.similarity.text_fields import field_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.store.types import Stored


class Saved(LinesFile):
    """Writes documents to a new file before they are removed, as they were written.

    :param path: of the file.
    :param id_field: name of the field with the id. A document that does not hold its id there gets it as ``_id``.
    :raises InputError: if the file exists, or cannot be made.
    """

    def __init__(self, path: str, id_field: str) -> None:
        super().__init__(path, "xb")
        self._id_field = id_field

    def put(self, documents: Sequence[Stored]) -> None:
        """Write documents that are removed next, and wait until the disk has them.

        :raises StoreError: if they cannot be written. They must not be removed then.
        """
        lines = [json.dumps(self._with_id(stored), ensure_ascii=False) + "\n" for stored in documents]
        self.write("".join(lines).encode(errors="backslashreplace"))
        with writing(self.path, StoreError):
            os.fsync(self.file.fileno())

    def _with_id(self, stored: Stored) -> dict[str, Any]:
        document, id, field = stored.source or {}, stored.row.id, self._id_field
        value = field_value(document, field)
        return document if value is not None and str(value) == id else {"_id": id, **document}
