"""The request that reads fingerprints alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class FingerprintPage:
    """A page of the reply to ReadFingerprints.

    :param values: unsigned, perhaps some of them several times.
    :param after: for the next request.
    :param more: further pages follow.
    :param others: how many writes other programs have made since the former reply, if the request has ``own``.
    """

    values: Sequence[int]
    after: Any
    more: bool
    others: int = 0


@dataclass(frozen=True)
class ReadFingerprints(Request["FingerprintPage | None"]):
    """Read the fingerprints of the documents that search finds and that were written after a former reply, in pages.

    The reply is None if the store has more than ``most`` documents, or if it does not support this: a search in an
    embedded store costs little.

    :param after: of the former reply; None for the documents of the whole store.
    :param own: how many writes the program itself has made since the former reply, if that was the last page. If there
        were no others, nothing is read, or what was read before.
    :param most: documents of the store; None for any number.
    """

    after: Any = None
    own: int | None = None
    most: int | None = None
