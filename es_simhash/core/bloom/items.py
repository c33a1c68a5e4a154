"""What an item is, and the hash of one.

The rule: **an item is its UTF-8 text.** The integer 1 and the string "1" are the same item, because the same id
comes out of JSON as one and out of a database as the other; bytes are taken to be UTF-8 text already. Anything
whose text is a matter of opinion (``True``, ``1.0``, ``None``) is refused, and so are lone surrogates, which have
no UTF-8.

The hash is MurmurHash3 x64 128 (Austin Appleby) with a seed, the same on every machine and in every process.
"""

from __future__ import annotations

import reprlib
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from mmh3 import hash128, hash_bytes

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Item: TypeAlias = str | int | bytes
Words: TypeAlias = "NDArray[np.uint64]"
"""One 64-bit half of the hash of each item of a batch, shape (n,)."""

WORD = (1 << 64) - 1
"""The mask of one 64-bit word."""

_PIECE = (
    8192  # items hashed at a time: their digests stay in the cache, and a large batch costs no second copy of itself
)


def hash_item(item: Item, seed: int) -> int:
    """Return the 128-bit hash of one item: x in the low 64 bits, y in the high ones.

    Raises InputError when the item is no str, int or bytes, or has no UTF-8.
    """
    try:
        if type(item) is str:
            return hash128(item, seed)
        return hash128(str(item) if type(item) is int else _text(item), seed)
    except ValueError as error:
        raise _refusal(item, error) from error


def hash_items(items: Sequence[Item], seed: int) -> tuple[Words, Words]:
    """Return the hashes of a batch as two arrays of shape (n,): the low words x and the high words y.

    Raises InputError, naming the item, when one is no str, int or bytes, or has no UTF-8.
    """
    kinds = set(map(type, items))
    hashes = np.empty((len(items), 2), dtype="<u8")
    for start in range(0, len(items), _PIECE):
        piece = items[start : start + _PIECE]
        keys: Iterable[str | bytes]
        if kinds <= {str, bytes}:
            keys = piece  # type: ignore[assignment]  # just checked, in a way that mypy doesn't follow
        elif kinds == {int}:
            keys = map(str, piece)
        else:
            keys = map(_text, piece)
        try:
            digests = b"".join(map(hash_bytes, keys, repeat(seed)))
        except InputError:
            raise
        except ValueError as error:
            for item in piece:
                hash_item(item, seed)  # raises at the culprit, with its name
            raise AssertionError("a batch was refused, and none of its items is") from error
        hashes[start : start + _PIECE] = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
    return hashes[:, 0].astype(np.uint64), hashes[:, 1].astype(np.uint64)


def as_batch(items: Iterable[Item]) -> Sequence[Item]:
    """Return a batch as a list or tuple; a numpy array of integers or strings becomes plain ints or strs.

    Raises InputError for a lone str or bytes: its characters are hardly what was meant.
    """
    if isinstance(items, (list, tuple)):
        return items
    if isinstance(items, (str, bytes)):
        raise InputError(f"a batch is a list of items, and {reprlib.repr(items)} is one item: put it in a list")
    if isinstance(items, np.ndarray):
        plain: list[Item] = items.ravel().tolist()
        return plain
    return list(items)


def _text(item: object) -> str | bytes:
    """Return the UTF-8 text of an item, of the rarer types too: numpy's integers, subclasses of str, int and bytes."""
    if isinstance(item, (str, bytes)):
        return item
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return str(int(item))
    raise InputError(
        f"{reprlib.repr(item)} is a {type(item).__name__}, and an item is a str, an int or UTF-8 bytes: "
        "pass the text that stands for it"
    )


def _refusal(item: object, error: ValueError) -> InputError:
    """Return what to raise for an item that has no UTF-8, or is an integer too long to be written out."""
    if isinstance(error, InputError):
        return error
    if isinstance(error, UnicodeEncodeError):
        return InputError(
            f"the item {item!a} has a lone surrogate at character {error.start}, which has no UTF-8: "
            "mend the text, or pass bytes"
        )
    return InputError(f"an item is an integer too long to be an id ({error}): pass its digits as a str")
