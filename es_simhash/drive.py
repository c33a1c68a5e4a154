"""The only place where sync and async differ: one generator of requests, answered by calls or by awaits.

It is used twice: a flow asks a store, and inside the Elasticsearch store a request asks the client.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

Q = TypeVar("Q")
T = TypeVar("T")


@dataclass(frozen=True)
class Pause:
    """A request that the driver answers itself: by waiting."""

    seconds: float


def run(work: Generator[Q | Pause, Any, T], answer: Callable[[Q], Any]) -> T:
    """Run to the end, and return what the generator returns. Errors of ``answer`` are raised inside it."""
    try:
        request = next(work)
        while True:
            try:
                reply = None
                if isinstance(request, Pause):
                    time.sleep(request.seconds)
                else:
                    reply = answer(request)
            except SimhashError as error:
                request = work.throw(error)
            else:
                request = work.send(reply)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def arun(work: Generator[Q | Pause, Any, T], answer: Callable[[Q], Awaitable[Any]]) -> T:
    """:func:`run`, awaiting the answers."""
    try:
        request = next(work)
        while True:
            try:
                reply = await (asyncio.sleep(request.seconds) if isinstance(request, Pause) else answer(request))
            except SimhashError as error:
                request = work.throw(error)
            else:
                request = work.send(reply)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
