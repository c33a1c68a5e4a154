"""What an answer of a server may take: so many bytes, and so much time until its last byte.

urllib3, by which both official clients send, limits the time between two bytes only, and no bytes at all. Here the
file from which ``http.client`` reads an answer, with its status and headers, ends with an error at both limits.
"""

from __future__ import annotations

import io
import time
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

MOST_BYTES = 536_870_912
"""Bytes of an answer as it is sent."""


class UnreadableAnswer(Exception):
    """An answer that is not read to its end. The message says what the server sent."""


def limit_answers(pool: Any, *, compressed: bool) -> None:
    """Limit the answers that a connection pool of urllib3 reads.

    :param compressed: answers may be. Otherwise a compressed one is not read: a few bytes may become very many.
    """
    response = type("Response", (_Response,), {"may_be_compressed": compressed})
    pool.ConnectionCls = type("Connection", (pool.ConnectionCls,), {"response_class": response})


def unread(error: BaseException) -> UnreadableAnswer | None:
    """Return why an answer was not read, which a client may have made the cause of an error of its own."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, UnreadableAnswer):
        cause = cause.__cause__ or cause.__context__
    return cause


class _Response(HTTPResponse):
    may_be_compressed = False

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        raw: Any = self.fp.detach()
        self.fp = _Reader(_Limited(raw, sock))

    def begin(self) -> None:
        """Read the status and the headers."""
        super().begin()
        if "content-encoding" in self.headers and not self.may_be_compressed:
            raise UnreadableAnswer("sent a compressed answer, which nobody asked for")


class _Reader(io.BufferedReader):
    """A file that takes no memory for bytes that are announced, and too many."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read so many bytes, or all."""
        if size is not None and size > MOST_BYTES:
            raise _too_many()
        return super().read(size)


class _Limited(io.RawIOBase):
    """The bytes of an answer, as they come from a socket."""

    def __init__(self, raw: Any, sock: socket.socket) -> None:
        self._raw, self._socket, self._left = raw, sock, MOST_BYTES
        self._end = time.monotonic() + (sock.gettimeout() or 0)  # what is left for the request

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read some bytes."""
        if (seconds := self._end - time.monotonic()) <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(seconds)
        count: int = self._raw.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise _too_many()
        return count

    def close(self) -> None:
        """Close the file. The socket stays open for the next request."""
        self._raw.close()
        super().close()


def _too_many() -> UnreadableAnswer:
    return UnreadableAnswer(f"sent an answer of more than {MOST_BYTES:,} bytes")
