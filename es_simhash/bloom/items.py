"""What an item is, and the hash of one.

The rule: **an item is its UTF-8 text.** The integer 1 and the string "1" are the same item, because the same id
comes out of JSON as one and out of a database as the other; bytes are taken to be UTF-8 text already. Anything
whose text is a matter of opinion (``True``, ``1.0``, ``None``) is refused, and so are lone surrogates, which have
no UTF-8.

The hash is MurmurHash3 x64 128 (Austin Appleby) with a seed, the same on every machine and in every process.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import repeat
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
"""One 64-bit half of the hash of each item of a batch, shape (n,)."""

WORD = (1 << 64) - 1
"""The mask of one 64-bit word."""

_PIECE = 4096  # items hashed at a time: their digests stay in the cache, and those of a large batch are never all there


def hash_item(item: Item, seed: int) -> int:
    """Return the 128-bit hash of one item: x in the low 64 bits, y in the high ones.

    Raises InputError when the item is no str, int or bytes, or has no UTF-8.
    """
    try:
        if type(item) is str:
            return mmh3_x64_128_uintdigest(item.encode(), seed)
        if type(item) is int:
            return mmh3_x64_128_uintdigest(b"%d" % item, seed)
    except ValueError:
        pass  # no UTF-8, or too many digits: refused below
    return mmh3_x64_128_uintdigest(_utf8(item), seed)


def hash_items(items: Sequence[Item], seed: int) -> tuple[Words, Words]:
    """Return the hashes of a batch as two arrays of shape (n,): the low words x and the high words y.

    Raises InputError, naming the item, when one is no str, int or bytes, or has no UTF-8.
    """
    hashes = np.empty((len(items), 2), dtype="<u8")
    for start in range(0, len(items), _PIECE):
        digests = b"".join(map(hash_bytes, _safe_keys(items[start : start + _PIECE]), repeat(seed)))
        hashes[start : start + _PIECE] = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
    return hashes[:, 0].astype(np.uint64), hashes[:, 1].astype(np.uint64)


def as_batch(items: Iterable[Item]) -> Sequence[Item]:
    """Return a batch as a list or tuple; a numpy array of integers or strings becomes plain ints or strs.

    Raises InputError for a lone str or bytes: its characters are hardly what was meant.
    """
    if isinstance(items, (list, tuple)):
        return items
    if isinstance(items, (str, bytes)):
        raise InputError(f"a batch is a list of items, and {shown(items)} is one item: put it in a list")
    if isinstance(items, np.ndarray):
        plain: list[Item] = items.ravel().tolist()
        return plain
    return list(items)


def _safe_keys(items: Sequence[Item]) -> Sequence[str | bytes]:
    """Return what mmh3's ``hash_bytes`` may have: bytes, or str, which it hashes as UTF-8 without a copy.

    From mmh3 5.1 on (to 5.3.1 at least) it crashes the process on a str that has no UTF-8. So all of them are encoded
    first, in one piece, which costs a tenth of encoding each.
    """
    try:
        "".join(items).encode()  # type: ignore[arg-type]  # a TypeError is the answer
        return items  # type: ignore[return-value]  # all of them are str
    except (TypeError, UnicodeEncodeError):
        if set(map(type, items)) == {int}:
            with suppress(ValueError):  # an int that is too long; below it gets its message
                return list(map(repr, items))  # the digits of an int, faster than by str
        return [_utf8(item) for item in items]


def _utf8(item: object) -> bytes:
    """Return the UTF-8 text of an item of any kind that is taken: numpy's integers, and subclasses, too."""
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        try:
            return item.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"the item {shown(item)} has a lone surrogate at character {error.start + 1}, which has no UTF-8: "
                "mend the text, or pass bytes"
            ) from error
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        try:
            return str(int(item)).encode()
        except ValueError as error:
            raise InputError(
                f"the item is an integer of too many digits to be an id ({error}): pass them as a str"
            ) from error
    raise InputError(
        f"the item {shown(item)} is a {type(item).__name__}, and an item is a str, an int or UTF-8 bytes: "
        "pass the text that stands for it"
    )
