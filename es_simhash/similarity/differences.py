"""What stands in one text in the place of something else in another: contradictions.

Two similar texts are aligned. What differs is cut into tokens (``reading.py``), and these are aligned again. Then it
counts what contradicts:

- a number in the place of another number (``fingerprinting/numbers.py`` reads them);
- a sign, a single letter or a letter's sign in the place of another one: ``<`` and ``>``, M and L, C++ and C#;
- a negation that one of them has;
- terms that exclude each other (``OPPOSITES``): 上 and 下, on and off, Monday and Tuesday.

What only one of the texts has is no contradiction: a date line, a caption, numbers of a list. What changes by itself,
such as a counter, is not compared.

A short text may have no contradiction. A longer one may have been revised (:func:`contradict`).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import permutations, product
from typing import TYPE_CHECKING, NamedTuple

from es_simhash.similarity.edits import pieces
from es_simhash.similarity.reading import BORDER, LONG_ENOUGH, OPPOSITES, SHORT, count_of_numbers, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.similarity.reading import Token

    _Pair = tuple[Sequence[Token], Sequence[Token]]

_SHARE = 0.2
"""The most contradictions of a longer text that are numbers, as a share of the numbers that stand in equal places."""
_CHARACTERS = 800
"""Word characters for each contradiction of a longer text."""
_NARROW = 4
"""Tokens of the longest difference in which a term contradicts another one. A longer one is another sentence."""

_NUMBERS = frozenset("nd")
_NEGATED = 2
"""Tokens of the longest difference in which a negation contradicts. In 未成年人 it negates nothing."""
_PUNCTUATION = re.compile(r"[^\w\s]")
_BORDER = re.compile(BORDER)
_TO_LAST_BORDER = re.compile(rf".*(?={BORDER})", re.DOTALL)
_AFFIRMED = frozenset("很已有是能可就都真太会必应须仍曾也更最挺")
"""Characters in whose place a negation is meant. In the place of another one it is a typing error."""


class Difference(NamedTuple):
    """What differs at one place: what each text has there, perhaps nothing."""

    a: str
    b: str


class _Place(NamedTuple):
    """A place where two texts differ: the tokens of each, and which of them contradict each other."""

    a: Sequence[Token]
    b: Sequence[Token]
    contradictions: Sequence[_Pair]

    @property
    def has_others(self) -> bool:
        """Something else differs, too."""
        return max(len(self.a), len(self.b)) > len(self.contradictions)


def contradict(a: str, b: str, length: int) -> bool:
    """Return whether two texts say too much that contradicts for copies.

    In a text of up to ``SHORT`` word characters that is one contradiction, and in any text if nothing else differs:
    that is the notice of the next day. A longer one that was revised may have some: one for each 800 characters; of
    numbers that are no dates also a fifth of those in equal places.

    :param a: a normalised text without its links.
    :param b: the other one. Which of them comes first makes no difference.
    :param length: word characters of the shorter text.
    """
    count = numbers = 0
    only_these = True
    for place in _places(min(a, b), max(a, b), length):
        count += len(place.contradictions)
        if count and length <= SHORT:
            return True
        numbers += sum(map(_is_of_numbers, place.contradictions))
        only_these = only_these and not place.has_others
    if not count or only_these:
        return count > 0
    equal = max(0, min(map(count_of_numbers, (a, b))) - numbers) if numbers else 0
    by_length = length // _CHARACTERS
    allowed = max(int(_SHARE * (equal + numbers)), min(by_length, equal))
    return numbers > allowed or count - numbers > by_length


def differences(a: str, b: str, length: int) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """Return what contradicts in two texts, and what was added, left out, or said in other words. Each is in order.

    The parameters are those of :func:`contradict`.
    """
    sides = -1 if a > b else 1
    places = list(_places(min(a, b), max(a, b), length))
    contradictions = (Difference(*map(_written, both[::sides])) for place in places for both in place.contradictions)
    others = (Difference(*map(_written, (place.a, place.b)[::sides])) for place in places if place.has_others)
    return tuple(contradictions), tuple(others)


def _places(a: str, b: str, length: int) -> Iterator[_Place]:
    """Yield the places where two texts differ. Counters and clocks are left out."""
    from rapidfuzz.distance import Levenshtein  # imported late: most commands compare no texts and start faster

    for part, counterpart in _parts(a, b):
        ours, theirs = tokens(part, length), tokens(counterpart, length)
        aligned = Levenshtein.opcodes([token.value for token in ours], [token.value for token in theirs])
        at = other_at = 0
        for start, other_start, size in aligned.as_matching_blocks():
            if (at, other_at) != (start, other_start):
                one, other = ours[at:start], theirs[other_at:other_start]
                found = _contradictions(one, other)
                if found and _joined(one) == _joined(other) and (len(one) != len(other) or _is_bare(a, b, length)):
                    found = []  # 3.5 and 3 . 5: a space or a line break in a number
                yield _Place(one, other, found)
            at, other_at = start + size, other_start + size


def _parts(a: str, b: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of two texts that differ, with equal ones up to the next border on each side."""
    from rapidfuzz.distance import Levenshtein

    for piece, other in pieces(a, b):
        start = other_start = 0
        likely = len(piece) // 5  # edits of a copy at most: from 1,000 characters on it takes half of the time
        for at, other_at, size in Levenshtein.opcodes(piece, other, score_hint=likely).as_matching_blocks():
            border = _BORDER.search(piece, at, at + size)
            if size and border is None:
                continue
            end = border.end() if border else at  # the last block is empty, at the end of the piece
            part, counterpart = piece[start:end], other[other_start : end - at + other_at]
            if part != counterpart:
                yield part, counterpart
            if border and (last := _TO_LAST_BORDER.match(piece, border.start(), at + size)):
                start, other_start = last.end(), last.end() - at + other_at


def _is_bare(a: str, b: str, length: int) -> bool:
    """Return whether one of two longer texts has lost its punctuation: points and percent signs, too."""
    return length >= LONG_ENOUGH and not (_PUNCTUATION.search(a) and _PUNCTUATION.search(b))


def _contradictions(a: Sequence[Token], b: Sequence[Token]) -> list[_Pair]:
    """Return what contradicts at one place."""
    narrow = max(len(a), len(b)) <= _NARROW
    ours, theirs = (_numbers(a), _numbers(b)) if narrow else (a, b)
    both = zip(ours, theirs, strict=False)
    pairs = [(one, other) for one, other in both if one.kind in _NUMBERS and _exclude(one, other)]
    if not pairs and narrow:
        pairs = [(one, other) for one, other in zip(a, b, strict=False) if _exclude(one, other)]
        negated = max(len(a), len(b)) <= _NEGATED and _negations(a) != _negations(b)
        if not pairs and negated and not _is_typing_error(a, b):
            return [(a, b)]
    return [([one], [other]) for one, other in pairs]


def _numbers(tokens: Sequence[Token]) -> list[Token]:
    return [token for token in tokens if token.kind in _NUMBERS]


def _negations(tokens: Sequence[Token]) -> int:
    return [token.kind for token in tokens].count("x")


def _is_of_numbers(contradiction: _Pair) -> bool:
    """Return whether it is one of numbers that are no dates."""
    kinds = {token.kind for tokens in contradiction for token in tokens}
    return "n" in kinds and kinds <= _NUMBERS


def _exclude(one: Token, other: Token) -> bool:
    """Return whether one token excludes another one in its place."""
    if one.value == other.value:
        return False
    if one.kind in _NUMBERS or other.kind in _NUMBERS:
        return one.kind in _NUMBERS and other.kind in _NUMBERS
    return one.kind == other.kind == "s" or _opposed(one.value, other.value)


_SIZED = re.compile("[a-z]|x+[sml]")
_ENDING = re.compile("(?<=[a-z]{3})(?:'s|e?[sd]|ing|e)$")
_WITHOUT = re.compile("^(?:un|dis|de|non|i[lmnr])(?=.{3})")


@cache
def _exclusive_terms() -> set[tuple[str, str]]:
    """Return the pairs of terms, without their endings, that exclude each other."""
    pairs = (pair for group in OPPOSITES for terms in permutations(group, 2) for pair in product(*terms))
    return {(_ENDING.sub("", a), _ENDING.sub("", b)) for a, b in pairs}


@lru_cache(10_000)
def _opposed(a: str, b: str) -> bool:
    """Return whether two words exclude each other: letters, sizes, words with other signs, terms, or one is the other
    with a prefix that negates it.
    """
    if _SIZED.fullmatch(a) and _SIZED.fullmatch(b):
        return {a, b} != {"a", "i"}
    if a.rstrip("+#-") == b.rstrip("+#-"):
        return True
    a, b = (_ENDING.sub("", term) for term in (a, b))
    if a == b:
        return False
    return (a, b) in _exclusive_terms() or _WITHOUT.sub("", a) == b or _WITHOUT.sub("", b) == a


def _is_typing_error(a: Sequence[Token], b: Sequence[Token]) -> bool:
    """Return whether one character, a negation, stands in the place of another one that it does not negate."""
    one, other = _joined(a), _joined(b)
    return len(one) == len(other) == 1 and not {one, other} & _AFFIRMED


def _joined(tokens: Sequence[Token]) -> str:
    """Return the word characters of tokens."""
    return re.sub(r"\W", "", "".join([token.written for token in tokens]))


def _written(tokens: Sequence[Token]) -> str:
    """Return what the tokens say, for people."""
    words = [token.written for token in tokens]
    spaced = [f" {word} " if word.isascii() and word.isalpha() else word for word in words]
    return "".join(spaced).replace("  ", " ").strip()
