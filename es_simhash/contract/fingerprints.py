"""A page of fingerprints alone, or of keys alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class FingerprintPage:
    """A page of ``read_fingerprints``.

    :param values: unsigned, perhaps some of them several times. With ``keys`` it is empty.
    :param after: for the next request.
    :param more: further pages follow.
    :param keys: if the request asks for keys: the keys of the text of each document, and its word characters.
    :param others: how many writes other programs have made since the former reply, if the request has ``own``.
    """

    values: Sequence[int]
    after: Any
    more: bool
    others: int = 0
    keys: Sequence[tuple[Sequence[int], int]] = ()
