"""Items, and their hash.

The rule: **an item is its UTF-8 text.** The integer 1 and the string "1" are the same item, because one id may be a
number in JSON and a string in a database. Bytes are UTF-8 text already. A value that has no single obvious text
(``True``, ``1.0``, ``None``) raises an error. So does a lone surrogate, which has no UTF-8.

The hash is MurmurHash3 x64 128 (Austin Appleby) with the seed 0. It is the same on every machine and in every process.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from mmh3 import hash_bytes, mmh3_x64_128_uintdigest

from es_simhash.bloom.arguments import shown
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Item: TypeAlias = str | int | bytes
Words: TypeAlias = "NDArray[np.uint64]"
"""One 64-bit half of the hash of each item of a batch; shape (n,)."""

WORD = (1 << 64) - 1
"""The mask of one 64-bit word."""

_PIECE = 4096
"""Items of a batch that are hashed at once: their digests stay in the processor's cache, and take little memory."""


def hash_item(item: Item) -> int:
    """Return the 128-bit hash of one item: x in the low 64 bits, y in the high 64 bits.

    :raises InputError: if the item is no str, int or bytes, or has no UTF-8.
    """
    return mmh3_x64_128_uintdigest(_utf8(item))


def hash_items(items: Sequence[Item]) -> tuple[Words, Words]:
    """Return the hashes of a batch as two arrays of shape (n,): the low words x and the high words y.

    :raises InputError: if an item is no str, int or bytes, or has no UTF-8. The message shows the item.
    """
    x, y = np.empty(len(items), dtype=np.uint64), np.empty(len(items), dtype=np.uint64)
    for start in range(0, len(items), _PIECE):
        piece = items[start : start + _PIECE]
        digests = b"".join(map(hash_bytes, _safe_keys(piece)))
        hashes = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
        x[start : start + _PIECE], y[start : start + _PIECE] = hashes[:, 0], hashes[:, 1]
    return x, y


def as_batch(items: Iterable[Item]) -> Sequence[Item]:
    """Return a batch as a list or tuple. A numpy array of integers or strings becomes plain ints or strs.

    :raises InputError: if the batch is one str or bytes. Its characters are probably not the items.
    """
    if isinstance(items, (list, tuple)):
        return items
    if isinstance(items, (str, bytes)):
        raise InputError(f"{shown(items)} is one item, and a batch is a list of items: put it in a list")
    if isinstance(items, np.ndarray):
        plain: list[Item] = items.ravel().tolist()
        return plain
    return list(items)


def _safe_keys(items: Sequence[Item]) -> Sequence[str | bytes]:
    """Return the items in a form that mmh3's ``hash_bytes`` accepts: bytes, or str with a UTF-8 form.

    ``hash_bytes`` hashes a str as UTF-8 without a copy. But mmh3 from 5.1 on (at least up to 5.3.1) crashes the process
    if a str has no UTF-8. So all strs are joined and encoded once to check them, at a tenth of the cost of encoding
    each.
    """
    try:
        "".join(items).encode()  # type: ignore[arg-type]  # a TypeError tells that not all are str
        return items  # type: ignore[return-value]  # all of them are str
    except (TypeError, UnicodeEncodeError):
        if set(map(type, items)) == {int}:
            with suppress(ValueError):  # an int is too long: _utf8 raises the right error
                return list(map(repr, items))  # the digits of an int; repr is faster than str
        return [_utf8(item) for item in items]


def _utf8(item: object) -> bytes:
    """Return the UTF-8 text of an item. Subclasses of str, int and bytes and numpy's integers are items too."""
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        try:
            return item.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"the item {shown(item)} has a lone surrogate at character {error.start + 1}, which has no UTF-8: "
                "repair the text, or pass bytes"
            ) from error
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        try:
            return str(int(item)).encode()
        except ValueError as error:
            raise InputError(f"the item is an integer with too many digits ({error}): pass it as a str") from error
    raise InputError(f"the item {shown(item)} is a {type(item).__name__}: pass a str, an int or UTF-8 bytes")
