"""Responses of a server that answers oddly: they end, they are not too large, and they are an error in one line.

A client counts its timeout from one byte to the next. So a byte a second would never end, and a body without an end
would fill the memory. Here a response has the timeout for all of it, and more time only if it comes at a usual rate.

What a body lacks is noticed where it is read. The methods of the store turn that into an error that names the server.
"""

from __future__ import annotations

import io
import time
from contextlib import contextmanager
from functools import wraps
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from es_simhash.errors import SimhashError, WrongServer, one_line
from es_simhash.retries import retried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from socket import socket

    from _typeshed import WriteableBuffer

    from es_simhash.stores.elasticsearch.index import Index
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
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: Exception) -> WrongServer:
    kind, what = type(error).__name__, one_line(error)[:100]
    return WrongServer(
        f"{name} sent a response that cannot be read ({kind}: {what}): check the address, and the proxies between "
        "this program and the server"
    )


def requested(function: Callable[Concatenate[Index, P], T]) -> Callable[Concatenate[IndexStore, P], T]:
    """Make a method of the store from a function of its Index.

    It is retried, and its errors name the server if a response cannot be read.
    """

    @wraps(function)
    def reading(self: IndexStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(self._index, *args, **kwargs)
        except SimhashError:
            raise
        except _ODD as error:
            raise _unreadable(self.name, error) from error

    return retried(reading)
