"""Random values, and random damage to valid ones."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

NUMBERS: list[Any] = [0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**310, 1.5, -0.0, 1e308, 5e-324]
STRINGS = [
    *("", "a", "0", "\0", "a\0b", "\x1b[31m", "\x9b", "\u202e", "\ud800", "a" * 600, "é" * 300, "中文"),
    *("👩\u200d👩", '"', "\\"),
]
TOKENS = [
    *(b"1e400", b"NaN", b"-Infinity", b"9" * 400, b"9" * 5_000, b'"\\ud800"', b'"\\u0000"', b"[" * 2_000),
    *(b"{}", b"null", b"\xff", b"\x00"),
]


def value(rng: random.Random, names: list[str], depth: int = 3) -> Any:
    """Return a random JSON value.

    :param names: names of fields that matter.
    """
    kind = rng.randrange(8 if depth else 5)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice(NUMBERS)
    if kind == 2:
        return rng.choice(STRINGS)
    if kind == 3:
        return rng.choice(names) if names else rng.random()
    if kind == 4:
        return rng.randrange(-(2**64), 2**64)
    inner = [value(rng, names, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 5:
        return inner
    return {rng.choice(names + STRINGS): each for each in inner}


def changed(rng: random.Random, original: Any, names: list[str]) -> Any:
    """Return a JSON value with a random part of it replaced, left out, or wrapped."""
    if isinstance(original, dict) and original and rng.random() < 0.8:
        copy = dict(original)
        key = rng.choice(list(copy))
        if rng.random() < 0.15:
            del copy[key]
        elif rng.random() < 0.15:
            copy[rng.choice(names + STRINGS)] = value(rng, names)
        else:
            copy[key] = changed(rng, copy[key], names)
        return copy
    if isinstance(original, list) and original and rng.random() < 0.7:
        copied = list(original)
        index = rng.randrange(len(copied))
        copied[index : index + rng.choice([0, 1, 1, 1])] = [changed(rng, copied[index], names)]
        return copied
    if rng.random() < 0.1:
        return [original]
    if rng.random() < 0.1:
        return {rng.choice(names or ["a"]): original}
    return value(rng, names)


def damaged(rng: random.Random, data: bytes, most: int = 4) -> bytes:
    """Return bytes with up to ``most`` random edits: bits, bytes and runs that change, go, repeat or move."""
    edited = bytearray(data)
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(edited) + 1)
        length = min(int(math.exp(rng.uniform(0, 6))), len(edited) - at)
        kind = rng.randrange(8)
        if kind == 0 and at < len(edited):
            edited[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(edited):
            edited[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif kind == 2:
            del edited[at : at + length]
        elif kind == 3:
            edited[at:at] = edited[at : at + length]
        elif kind == 4:
            edited[at : at + length] = rng.randbytes(length)
        elif kind == 5:
            edited[at : at + length] = bytes(length)
        elif kind == 6:
            edited[at:at] = rng.choice(TOKENS)
        elif kind == 7 and rng.random() < 0.2:
            del edited[at:]
    return bytes(edited)


def as_json(rng: random.Random, value: Any) -> bytes:
    """Return a JSON text, in one of the ways in which programs write it."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, None, 0]))
    return text.encode("utf-8", rng.choice(["surrogatepass", "replace"]))
