"""The difference between the clock of this machine and that of the server, from which the write order comes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from es_simhash.errors import SimhashError, StoreError
from es_simhash.retries import pause

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Index

MEASURED = 3_600.0
"""Seconds for which a measurement is used."""
SMALL = 1.0
"""A difference of up to so many seconds is not corrected. The server gives its time in whole seconds, so a difference
that is one second larger may not be noticed."""
SAMPLES = 5
"""How often the server is asked again if the clocks differ."""


def clock_difference(index: Index) -> int:
    if index.clock.old(MEASURED):
        index.clock.set(_measured(index))
    return index.clock.value


def _measured(index: Index) -> int:
    """Ask the server for its time, and return the difference in microseconds. A warning says it, once."""
    try:
        least, most = _ahead(index)
        if least - SMALL <= 0 <= most + SMALL:
            return 0
        for _ in range(SAMPLES):  # each narrows the second in which the server may be
            pause(1 / SAMPLES)
            low, high = _ahead(index)
            least, most = max(least, low), min(most, high)
    except SimhashError as error:
        if isinstance(error, StoreError) and error.retryable:
            raise
        index.warn_once(
            "clock",
            f"{index.name}: the clock of this machine cannot be compared with that of the server ({error}): if the "
            "clocks of several writers differ, an original may be younger than its duplicate; permit GET _cat/health "
            "(the cluster privilege monitor), or synchronise the clocks",
        )
        return 0
    ahead = (least + most) / 2
    side = "behind" if ahead > 0 else "ahead of"
    index.warn_once(
        "clock",
        f"{index.name}: the clock of this machine is {abs(ahead):,.0f} s {side} that of the server: the "
        "server's time orders the documents that are written; correct the clock",
    )
    return round(ahead * 1_000_000)


def _ahead(index: Index) -> tuple[float, float]:
    """Return by how many seconds the server is ahead of this machine, at least and at most."""
    began = time.time()
    epoch = _epoch(index.send("GET", "/_cat/health", format="json", h="epoch"))
    return epoch - time.time(), epoch + 1 - began


def _epoch(body: Any) -> int:
    try:
        return int(body[0]["epoch"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise StoreError("it does not say its time") from error
