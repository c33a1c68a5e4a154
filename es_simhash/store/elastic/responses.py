"""Responses of a server that answers oddly: they end, they are not too large, and they are an error in one line.

A client counts its timeout from one byte to the next. So a byte a second would never end, and a body without an end
would fill the memory. Here a response has the timeout for all of it, and more time only if it comes at a usual rate.
"""

from __future__ import annotations

import io
import time
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from socket import socket

    from _typeshed import WriteableBuffer

MOST_BYTES = 512 * 2**20
"""Bytes of a response. The largest of ours are pages of whole documents."""
LEAST_RATE = 20_000
"""Bytes a second. A response may take longer than the timeout if it comes at least so fast."""


class ResponseTooLarge(ValueError):
    """A response has more than MOST_BYTES. A client retries an OSError, and no ValueError."""

    def __init__(self) -> None:
        super().__init__(f"a response has more than {MOST_BYTES >> 20} MB")


class _Reader(io.BufferedReader):
    def read(self, size: int | None = -1, /) -> bytes:
        if (size or 0) > MOST_BYTES:  # the bytes that a header announces would be allocated at once
            raise ResponseTooLarge
        return super().read(size)


class _BoundedResponse(HTTPResponse):
    def __init__(self, sock: socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        timeout, started, count = sock.gettimeout(), time.monotonic(), 0

        def readinto(buffer: WriteableBuffer) -> int:
            nonlocal count
            if timeout is not None:
                left = started + timeout + count / LEAST_RATE - time.monotonic()
                if left <= 0:
                    raise TimeoutError("the response did not end in time")
                sock.settimeout(min(left, timeout))
            received = sock.recv_into(buffer)
            sock.settimeout(timeout)  # for the next request
            count += received
            if count > MOST_BYTES:
                raise ResponseTooLarge
            return received

        raw: Any = self.fp.detach()
        raw.readinto = readinto
        self.fp = _Reader(raw)


def bound_responses(pool: Any) -> None:
    """Let the responses of a pool of urllib3 end.

    :param pool: of an official client.
    """
    kind = pool.ConnectionCls
    pool.ConnectionCls = type(kind.__name__, (kind,), {"response_class": _BoundedResponse})
