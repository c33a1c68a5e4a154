"""Responses of a server that answers oddly: they end, they are not too large, and they are an error in one line.

A client counts its timeout from one byte to the next. So a byte a second would never end, and a body without an end
would fill the memory. Here a response has the timeout for all of it, and more time only if it comes at a usual rate.

What a body lacks is noticed where it is read. The methods of the store turn that into an error that names the server.
"""

from __future__ import annotations

import io
import time
from contextlib import contextmanager, suppress
from functools import wraps
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from es_simhash.errors import SimhashError, WrongServer, one_line
from es_simhash.retries import retried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from socket import socket

    from _typeshed import WriteableBuffer

    from es_simhash.stores.elasticsearch.store import IndexStore

P = ParamSpec("P")
T = TypeVar("T")

MOST_BYTES = 512 * 2**20
"""Bytes of a response. The largest of ours are pages of whole documents."""
LEAST_RATE = 20_000
"""Bytes a second. A response may take longer than the timeout if it comes at least so fast."""

_ODD = (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError)
"""What is raised where a body is read that has another form than the server promises."""


class ResponseTooLarge(ValueError):
    """A response has more than MOST_BYTES. A client retries an OSError, and no ValueError."""


class _Incoming(io.RawIOBase):
    """What comes from a socket, with an end.

    :param timeout: seconds for all of it; None for any time.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket, timeout: float | None) -> None:
        self._raw = raw
        self._socket = sock
        self._timeout = timeout
        self._started = time.monotonic()
        self._bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        if self._timeout is not None:
            left = self._started + self._timeout + self._bytes / LEAST_RATE - time.monotonic()
            if left <= 0:
                raise TimeoutError("the response did not end in time")
            self._socket.settimeout(min(left, self._timeout))
        count = self._raw.readinto(buffer)
        self._bytes += count or 0
        _check_size(self._bytes)
        return count

    def close(self) -> None:
        with suppress(OSError):  # the server may have closed it
            self._socket.settimeout(self._timeout)  # for the next request
        self._raw.close()
        super().close()


class _Reader(io.BufferedReader):
    def read(self, size: int | None = -1, /) -> bytes:
        _check_size(size or 0)  # the bytes that a header announces would be allocated at once
        return super().read(size)


def _check_size(count: int) -> None:
    if count > MOST_BYTES:
        raise ResponseTooLarge(f"a response has more than {MOST_BYTES >> 20} MB")


class _Incomings:
    """Stands for a socket where a response is read."""

    def __init__(self, sock: socket) -> None:
        self._socket = sock

    def makefile(self, mode: str) -> io.BufferedReader:
        raw: Any = self._socket.makefile("rb", buffering=0)
        return _Reader(_Incoming(raw, self._socket, self._socket.gettimeout()))


class _BoundedResponse(HTTPResponse):
    def __init__(self, sock: socket, *arguments: Any, **options: Any) -> None:
        super().__init__(_Incomings(sock), *arguments, **options)  # type: ignore[arg-type]


def bound_responses(pool: Any) -> None:
    """Let the responses of a pool of urllib3 end.

    :param pool: of an official client.
    """
    kind = pool.ConnectionCls
    pool.ConnectionCls = type(kind.__name__, (kind,), {"response_class": _BoundedResponse})


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Let an error name the server if a response that the block reads has another form than the server promises.

    :param name: of the store.
    :raises WrongServer: for such a response.
    """
    try:
        yield
    except SimhashError:
        raise
    except _ODD as error:
        kind, what = type(error).__name__, one_line(error)[:100]
        raise WrongServer(
            f"{name} sent a response that cannot be read ({kind}: {what}): check the address, and the proxies between "
            "this program and the server"
        ) from error


def requested(method: Callable[Concatenate[IndexStore, P], T]) -> Callable[Concatenate[IndexStore, P], T]:
    """Retry a method of the store, and let its errors name the server if a response cannot be read."""

    @wraps(method)
    def reading(self: IndexStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with readable(self.name):
            return method(self, *args, **kwargs)

    return retried(reading)
