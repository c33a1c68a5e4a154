"""A folder of files as Spark and other programs write it: one data set in several parts."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.input.files import read_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from es_simhash.lines import Line


def read_parts(path: str | os.PathLike[str]) -> Iterator[Line]:
    """Return :func:`read_file` of a file, or of all files of a folder in the order of their names.

    :param path: of a file, or of a folder. Files whose names begin with ``_`` or ``.`` are notes of the program that
        wrote it, and no data.
    :raises InputError: if a file cannot be opened, or the folder has none.
    """
    if not Path(path).is_dir():
        return read_file(path)
    parts = sorted(part for part in Path(path).iterdir() if part.is_file() and part.name[0] not in "_.")
    if not parts:
        raise InputError(f"the folder {path} has no files: name a file, or the output of the Spark job")
    return chain.from_iterable(map(read_file, parts))
