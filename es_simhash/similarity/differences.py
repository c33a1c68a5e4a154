"""What stands in one text in the place of something else in another: contradictions.

Two similar texts are aligned token by token. Where they differ, it counts what contradicts:

- a number in the place of another number (``fingerprinting/numbers.py`` reads them);
- a sign, a single letter or a letter's sign in the place of another one: ``<`` and ``>``, M and L, C++ and C#;
- a negation that one of them has;
- terms that exclude each other (``OPPOSITES``): 上 and 下, on and off, Monday and Tuesday.

What only one of the texts has is no contradiction: a date line, a caption, numbers of a list. What changes by itself,
such as a counter, is not compared (``reading.py``).

A short text may have no contradiction. A longer one may have been revised (:meth:`Differences.contradict`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

from es_simhash.similarity.edits import EXACT, pieces
from es_simhash.similarity.reading import OPPOSITES, SHORT, tokens, without_equal_ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.similarity.reading import Reading, Token

_SHARE = 0.2
"""The most contradictions of a longer text that are numbers, as a share of the numbers that stand in equal places."""
_CHARACTERS = 800
"""Word characters for each contradiction of a longer text."""
_NARROW = 4
"""Tokens of the longest difference in which a term contradicts another one. A longer one is another sentence."""

_NOT = "not no never without cannot nor nicht kein keine pas jamais sans не нет без"
_AFFIRMED = frozenset("很已有是能可就都真太会必应须仍曾也更最挺")
"""Characters in whose place a negation is meant. In the place of another one it is a typing error."""
NEGATIONS = frozenset([*"不没无未非勿", *_NOT.split()])


class Difference(NamedTuple):
    """What differs at one place: what each text has there, perhaps nothing."""

    a: str
    b: str


@dataclass(frozen=True)
class Differences:
    """The differences of two texts.

    :param contradictions: what stands in the place of something else, in order.
    :param others: what only one of the texts has, or has in other words.
    :param numbers: how many of the contradictions are of numbers that are no dates.
    :param equal_numbers: about how many other numbers the text has that has fewer; 0 if that decides nothing.
    :param length: word characters of the shorter text.
    """

    contradictions: tuple[Difference, ...]
    others: tuple[Difference, ...]
    numbers: int
    equal_numbers: int
    length: int

    @property
    def contradict(self) -> bool:
        """The texts say too much that contradicts for copies.

        In a text of up to ``SHORT`` word characters that is one contradiction, and in any text if nothing else differs:
        that is the notice of the next day. A longer one that was revised may have some: one for each 800 characters;
        of numbers that are no dates also a fifth of those in equal places.
        """
        count = len(self.contradictions)
        if not count:
            return False
        if self.length <= SHORT or not self.others:
            return True
        by_length = self.length // _CHARACTERS
        allowed = max(int(_SHARE * (self.equal_numbers + self.numbers)), min(by_length, self.equal_numbers))
        return self.numbers > allowed or count - self.numbers > by_length


def differences(a: Reading, b: Reading) -> Differences:
    """Return the differences of two texts. Which of them comes first makes no difference but for the sides.

    The clauses are aligned first. Only those that differ are read.
    """
    first, second = (b, a) if (swapped := a.clauses > b.clauses) else (a, b)
    contradictions: list[Difference] = []
    others: list[Difference] = []
    numbers = 0
    bare = a.is_bare or b.is_bare
    for start, end, other_start, other_end in _places(first.clauses, second.clauses):
        texts = first.compared(start, end), second.compared(other_start, other_end)
        ours, theirs = map(tokens, without_equal_ends(*texts))
        for place in _places([token.value for token in ours], [token.value for token in theirs]):
            one, other = ours[place[0] : place[1]], theirs[place[2] : place[3]]
            found, some = _numbers(one, other, bare)
            numbers += some
            found = found or _exclusions(one, other)
            contradictions += found
            if max(len(one), len(other)) > len(found):
                others.append(Difference(_written(one), _written(other)))
    if swapped:
        contradictions = [Difference(b, a) for a, b in contradictions]
        others = [Difference(b, a) for a, b in others]
    shorter = min(a.length, b.length)
    equal = 0
    if numbers and others and shorter > SHORT:
        equal = max(0, min(a.count_of_numbers, b.count_of_numbers) - numbers)
    return Differences(tuple(contradictions), tuple(others), numbers, equal, shorter)


def _places(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield where two series of clauses or tokens differ: from and to in each of them."""
    from rapidfuzz.distance import Levenshtein

    letters = map(chr, chain(range(0x10000, 0x110000), repeat(0x10FFFF)))  # one for each clause or token
    codes = dict(zip(dict.fromkeys(chain(a, b)), letters, strict=False))
    one, other = ("".join(map(codes.__getitem__, parts)) for parts in (a, b))
    start = other_start = 0
    for piece, counterpart in _windows(one, other):
        at = other_at = 0
        for block in Levenshtein.opcodes(piece, counterpart).as_matching_blocks():
            if (at, other_at) != (block.a, block.b):
                yield start + at, start + block.a, other_start + other_at, other_start + block.b
            at, other_at = block.a + block.size, block.b + block.size
        start, other_start = start + len(piece), other_start + len(counterpart)


def _windows(a: str, b: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces that are aligned: whole up to ``EXACT`` tokens, and none is longer."""
    for piece, other in [(a, b)] if max(len(a), len(b)) <= EXACT else pieces(a, b):
        for start in range(0, max(len(piece), len(other), 1), EXACT):
            yield piece[start : start + EXACT], other[start : start + EXACT]


def _numbers(a: Sequence[Token], b: Sequence[Token], bare: bool) -> tuple[list[Difference], int]:
    """Return the numbers in the place of other numbers, and how many of them are no dates.

    :param bare: one of the texts has lost its points and percent signs.
    """
    if (bare or len(a) != len(b)) and _joined(a) == _joined(b):  # 3.5 and 3 . 5: a space or a line break in a number
        return [], 0
    if max(len(a), len(b)) <= _NARROW:
        a, b = ([token for token in tokens if token.is_number] for tokens in (a, b))
    pairs = [
        (one, other)
        for one, other in zip(a, b, strict=False)
        if one.is_number and other.is_number and one.value != other.value
    ]
    dates = sum(one.kind == other.kind == "d" for one, other in pairs)
    return [Difference(one.written, other.written) for one, other in pairs], len(pairs) - dates


def _exclusions(a: Sequence[Token], b: Sequence[Token]) -> list[Difference]:
    """Return what else contradicts at one place."""
    if max(len(a), len(b)) > _NARROW:
        return []
    found = [Difference(one.written, other.written) for one, other in zip(a, b, strict=False) if _exclude(one, other)]
    if not found and sum(map(_is_negation, a)) != sum(map(_is_negation, b)) and not _is_typing_error(a, b):
        found = [Difference(_written(a), _written(b))]
    return found


def _exclude(one: Token, other: Token) -> bool:
    """Return whether one token excludes another one in its place."""
    a, b = one.value, other.value
    if a == b or one.is_number or other.is_number:
        return False
    if one.kind == other.kind == "s":
        return True
    if _SIZED.fullmatch(a) and _SIZED.fullmatch(b):
        return {a, b} != {"a", "i"}
    return a.rstrip("+#-") == b.rstrip("+#-") or _opposed(a, b)


_SIZED = re.compile("[a-z]|x+[sml]")
_ENDING = re.compile("(?<=[a-z]{3})(?:e?[sd]|ing|e)$")
_WITHOUT = re.compile("^(?:un|dis|de|non|i[lmnr])(?=.{3})")


@cache
def _places_of_terms() -> dict[str, list[tuple[int, int]]]:
    """Return the groups of each term, without its ending, and its places in them."""
    places = defaultdict(list)
    for group, terms in enumerate(OPPOSITES):
        for place, spellings in enumerate(terms):
            for spelling in spellings:
                places[_ENDING.sub("", spelling)].append((group, place))
    return dict(places)


@lru_cache(65_536)
def _opposed(a: str, b: str) -> bool:
    """Return whether two terms exclude each other, or one is the other with a prefix that negates it."""
    a, b = (_ENDING.sub("", term) for term in (a, b))
    if a == b:
        return False
    ours, theirs = _places_of_terms().get(a, ()), _places_of_terms().get(b, ())
    if any(group == other and place != another for group, place in ours for other, another in theirs):
        return True
    return _WITHOUT.sub("", a) == b or _WITHOUT.sub("", b) == a


def _is_typing_error(a: Sequence[Token], b: Sequence[Token]) -> bool:
    """Return whether one character, a negation, stands in the place of another one that it does not negate."""
    one, other = _joined(a), _joined(b)
    return len(one) == len(other) == 1 and not {one, other} & _AFFIRMED


def _is_negation(token: Token) -> bool:
    return token.value in NEGATIONS or token.value.endswith("n't")


def _joined(tokens: Sequence[Token]) -> str:
    """Return the word characters of tokens."""
    return re.sub(r"\W", "", "".join([token.written for token in tokens]))


def _written(tokens: Sequence[Token]) -> str:
    """Return what the tokens say, for people."""
    words = [token.written for token in tokens]
    return (
        "".join(f" {word} " if word.isascii() and word.isalpha() else word for word in words).replace("  ", " ").strip()
    )
