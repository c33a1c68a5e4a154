"""Output that other programs read: a file holds whole lines, also after an error or an interruption."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from es_simhash.files import open_for_owner

if TYPE_CHECKING:
    from io import FileIO

    from typing_extensions import Self

_BUFFER = 1 << 16


def write_lines(file: FileIO, lines: bytes) -> None:
    """Write lines. If there is no room for all of them, a part of a line is taken back, and the error is raised.

    :param file: without a buffer: a write that failed is not repeated when the file is closed.
    """
    written = 0
    try:
        while written < len(lines):
            written += file.write(lines[written:])
    except OSError:
        partial = written - lines.rfind(b"\n", 0, written) - 1
        with suppress(OSError):
            end = file.tell()
            if end == os.fstat(file.fileno()).st_size:  # otherwise another program has appended lines behind it
                file.truncate(end - partial)
        raise


class WholeLines:
    """Writes lines to a file in large pieces. They are all written at the end of the ``with`` block.

    :param path: of a file that is replaced; None for standard output.
    :raises OSError: if the file cannot be written.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        if path is None:
            self._file: FileIO = open(1, "wb", buffering=0, closefd=False)  # noqa: SIM115
        else:
            self._file = open(path, "wb", buffering=0, opener=open_for_owner)  # noqa: SIM115
        self._lines: list[bytes] = []
        self._size = 0

    def put(self, line: bytes) -> None:
        """Write a line, now or later.

        :param line: with its line break.
        """
        self._lines.append(line)
        self._size += len(line)
        if self._size >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        """Write all lines that were put."""
        lines, self._lines, self._size = b"".join(self._lines), [], 0
        try:
            write_lines(self._file, lines)
        except OSError as error:
            error.filename = self._path
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        try:
            self.flush()
        finally:
            self._file.close()
