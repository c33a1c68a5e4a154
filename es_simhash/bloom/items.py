"""Items, and their hash.

The rule: **an item is its UTF-8 text.** The integer 1 and the string "1" are the same item, because one id may be a
number in JSON and a string in a database. Bytes are UTF-8 text already. A value that has no single obvious text
(``True``, ``1.0``, ``None``) raises an error. So does a lone surrogate, which has no UTF-8.

The hash is MurmurHash3 x64 128 (Austin Appleby) with the seed 0. It is the same on every machine and in every process.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from mmh3 import hash_bytes

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Item: TypeAlias = str | int | bytes
Hashes: TypeAlias = "NDArray[np.uint64]"
"""The two 64-bit words of the hash of each item, shape (n, 2): x, the low one, and y, the high one."""

_PIECE = 4096
"""Items of a batch that are hashed at once: their digests stay in the processor's cache, and take little memory."""


def hash_items(items: Iterable[Item]) -> Hashes:
    """Return the hashes of a batch of items. A numpy array of integers or strings is a batch, too.

    mmh3 hashes a str as UTF-8 without a copy. But from 5.1 on (at least up to 5.3.1) it crashes the process if a str
    has no UTF-8. So all strs are joined and encoded once to check them, at a tenth of the cost of encoding each.

    :raises InputError: if an item is no str, int or bytes, or has no UTF-8: the message shows the item. If the batch is
        one str or bytes: its characters are probably not the items.
    """
    if isinstance(items, (str, bytes)):
        raise InputError(f"{shown(items)} is one item, and a batch is a list of items: put it in a list")
    batch: list[Any] = items.ravel().tolist() if isinstance(items, np.ndarray) else list(items)
    hashes = np.empty((len(batch), 2), dtype=np.uint64)
    for start in range(0, len(batch), _PIECE):
        piece = batch[start : start + _PIECE]
        try:
            "".join(piece).encode()  # a TypeError tells that not all are str
        except (TypeError, UnicodeEncodeError):
            piece = list(map(_text, piece))
        hashes[start : start + _PIECE] = np.frombuffer(b"".join(map(hash_bytes, piece)), "<u8").reshape(-1, 2)
    return hashes


def _text(item: object) -> str | bytes:
    """Return the text of an item, which has UTF-8. Subclasses of str, int and bytes and numpy's integers are items."""
    try:
        if type(item) is int or (isinstance(item, (int, np.integer)) and not isinstance(item, bool)):
            return str(int(item))
        if isinstance(item, str):
            return item.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the item {shown(item)} has a lone surrogate at character {error.start + 1}, which has no UTF-8: "
            "repair the text, or pass bytes"
        ) from error
    except ValueError as error:
        raise InputError(f"the item is an integer with too many digits ({error}): pass it as a str") from error
    if isinstance(item, bytes):
        return item
    raise InputError(f"the item {shown(item)} is a {type(item).__name__}: pass a str, an int or UTF-8 bytes")


def shown(value: object) -> str:
    """Return a value as a short text for an error message."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python converts no very long integer to digits
        return "an integer of very many digits"
