"""What stands in one text in the place of something else in another: contradictions.

Two similar texts are aligned. What differs is cut into tokens (``tokens.py``), and these are aligned again. Then it
counts what contradicts:

- a number in the place of another number;
- a sign, a single letter or a letter's sign in the place of another one: ``<`` and ``>``, M and L, C++ and C#;
- a negation that one of them has;
- terms that exclude each other (``OPPOSITES``): 上 and 下, on and off, Monday and Tuesday;
- in code alone, such as the scripts of a page, a link in the place of another one, if nothing else differs;
- in short texts a name in the place of another name (``names.py``), and a number that each text has alone.

Notices of one form differ in digits alone. Their numbers are compared place by place, without an alignment.

What only one of the texts has is no contradiction: a date line, a caption, numbers of a list. What changes by itself,
such as a counter, is not compared.

A short text may have no contradiction. A longer one may have been revised (:func:`contradict`).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import permutations, product
from typing import TYPE_CHECKING, NamedTuple

from es_simhash.caches import cache_of_short
from es_simhash.similarity.measures import differing, pieces
from es_simhash.similarity.names import VERY_SHORT, other_names, sound_alike
from es_simhash.similarity.tokens import (
    BORDER,
    NUMBERS,
    OPPOSITES,
    SHORT,
    Token,
    count_of_numbers,
    is_code,
    is_script,
    tokens,
)
from es_simhash.text.normalisation import links_of, without_outlet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.similarity.confirm import TextFeatures

    _Pair = tuple[Sequence[Token], Sequence[Token]]
    """What each text has at one place."""

_SHARE = 0.2
"""The most contradictions of a longer text that are numbers, as a share of its numbers."""
_CHARACTERS = 800
"""Word characters for each contradiction of a longer text."""
_NARROW = 4
"""Tokens of the longest difference in which a term contradicts another one. A longer one is another sentence."""
_NEGATED = 2
"""Tokens of the longest difference in which a negation contradicts. In 未成年人 it negates nothing."""

_TELEPHONE = 7
"""Digits of the shortest telephone number, or code, which some write with hyphens."""

_COMING = {"明天", "明晚", "明早", "tomorrow"}
_COMING_DAYS = {word for terms in OPPOSITES if _COMING & {*terms[1]} for term in terms for word in term}
"""Days relative to the day on which a text was written. A reprint has other ones."""
_DATE = re.compile("[0-9一二三四五六七八九十][日号]|[0-9]-[0-9]{1,2}-[0-9]")
_MISREAD = str.maketrans("oli", "011")
"""Letters that a reader of scanned pages takes for digits."""
_BESIDE_DIGIT = re.compile("(?<=[0-9])[oli]+|[oli]+(?=[0-9])")
_BETWEEN = re.compile("[-\u2013\u2014~:;/、+*\u00d7]")
"""A sign between two digits that makes two numbers of them: 20-30 is not 2030."""
_BORDER = re.compile(BORDER)
_TO_LAST_BORDER = re.compile(rf".*(?={BORDER})", re.DOTALL)


class Difference(NamedTuple):
    """What differs at one place: what each text has there, perhaps nothing."""

    a: str
    b: str

    def __str__(self) -> str:
        return self.between("A", "B")

    def between(self, a: str, b: str) -> str:
        """Return what the texts have there, for people, with the names of the two."""
        return f"{a}: {self.a or 'nothing'} | {b}: {self.b or 'nothing'}"


def contradict(a: TextFeatures, b: TextFeatures) -> bool:
    """Return whether two texts say too much that contradicts for copies.

    In a text of up to ``SHORT`` word characters that is one contradiction, and in any text if nothing else differs:
    that is the notice of the next day. A longer one that was revised may have some: one for each 800 characters; of
    numbers that are no dates also a fifth of its numbers. Which text comes first makes no difference.
    """
    if _are_of_one_form(a, b):
        return a.values != b.values
    length = min(len(a.words), len(b.words))
    count = numbers = 0
    only_these = True
    for place, contradictions in _places(a, b, length):
        count += len(contradictions)
        if count and length <= SHORT:
            return True
        numbers += sum(map(_is_of_numbers, contradictions))
        only_these = only_these and max(map(len, place)) <= len(contradictions)
    if not count or only_these:
        return count > 0
    allowed = length // _CHARACTERS
    if count - numbers > allowed or numbers <= allowed:
        return count - numbers > allowed
    return numbers > int(_SHARE * min(count_of_numbers(a.unlinked), count_of_numbers(b.unlinked)))


def differences(a: TextFeatures, b: TextFeatures) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """Return what contradicts in two texts, and what was added, left out, or said in other words. Each is in order."""
    sides = 1 if a.unlinked <= b.unlinked else -1
    contradictions: list[Difference] = []
    others: list[Difference] = []
    for place, found in _places(a, b, min(len(a.words), len(b.words))):
        contradictions += [Difference(*map(_written, both[::sides])) for both in found]
        if max(map(len, place)) > len(found):
            others.append(Difference(*map(_written, place[::sides])))
    return tuple(contradictions), tuple(others)


def _places(one: TextFeatures, other: TextFeatures, length: int) -> Iterator[tuple[_Pair, list[_Pair]]]:
    """Yield the places where two texts differ, each with what contradicts there. Counters and clocks are left out.

    The lesser text comes first, so that the alignment does not depend on which text is which.

    :param length: word characters of the shorter text.
    """
    if one.unlinked > other.unlinked:
        one, other = other, one
    if one.unlinked == other.unlinked and is_script(one.normalised):
        for link, another in zip(links_of(one.normalised), links_of(other.normalised), strict=False):
            if link != another:
                yield (links := ([Token("s", link, link)], [Token("s", another, another)])), [links]
    elif _are_of_one_form(one, other):
        for number, counterpart in zip(one.numbers, other.numbers, strict=True):
            if number.value != counterpart.value:
                yield (pair := ([number], [counterpart])), [pair]
    else:
        yield from _aligned(one.unlinked, other.unlinked, length)


def _are_of_one_form(a: TextFeatures, b: TextFeatures) -> bool:
    """Return whether two texts differ in their numbers alone, each in the place of another one."""
    return a.unlinked != b.unlinked and a.template == b.template and len(a.numbers) == len(b.numbers)


def _aligned(a: str, b: str, length: int) -> Iterator[tuple[_Pair, list[_Pair]]]:
    """Yield the places where two texts differ that are aligned."""
    is_replaced = is_found = False
    of_code = is_code(a) or is_code(b)
    is_dated = length > SHORT or bool(_DATE.search(a) and _DATE.search(b))
    for part, counterpart in _parts(a, b):
        ours, theirs = (tokens(each, length, of_code=of_code) for each in (part, counterpart))
        may_be_spaced = _BETWEEN.findall(part) == _BETWEEN.findall(counterpart)
        for here, there in differing([token.value for token in ours], [token.value for token in theirs]):
            one, other = ours[here], theirs[there]
            is_replaced = is_replaced or bool(one and other)
            pairs = _contradictions(one, other, may_be_spaced)
            if is_dated:
                pairs = [pair for pair in pairs if _COMING_DAYS.isdisjoint(token.value for token in pair[0])]
            is_found = is_found or bool(pairs)
            yield (one, other), pairs
    if is_replaced and not is_found and length <= SHORT and max(len(a), len(b)) <= 2 * SHORT:
        for names in _elsewhere(a, b, length):
            yield names, [names]


def _elsewhere(a: str, b: str, length: int) -> list[_Pair]:
    """Return what contradicts in short texts, wherever it stands in each: numbers, else names."""
    if length <= VERY_SHORT and (numbers := _other_numbers(a, b, length)):
        return [numbers]
    pairs = other_names(without_outlet(a), without_outlet(b), length)
    return [([Token("w", name, name)], [Token("w", other, other)]) for name, other in pairs]


def _other_numbers(a: str, b: str, length: int) -> _Pair | None:
    """Return the numbers that each text has alone, if each has some: OMG 1:3 WE, NIP 3:2 WE."""
    read = (_BESIDE_DIGIT.sub(lambda letters: letters[0].translate(_MISREAD), text) for text in (a, b))
    ours, theirs = ([token for token in tokens(text, length) if token.kind in NUMBERS] for text in read)
    alone = _alone(ours, theirs)
    is_spaced = _joined(ours) == _joined(theirs)
    return alone if all(alone) and not is_spaced else None


def _alone(a: Sequence[Token], b: Sequence[Token]) -> _Pair:
    """Return the tokens whose values the other side has not."""
    mine, others = {token.value for token in a}, {token.value for token in b}
    return [token for token in a if token.value not in others], [token for token in b if token.value not in mine]


def _parts(a: str, b: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of two texts that differ, with equal ones up to the next border on each side."""
    from rapidfuzz.distance import Levenshtein

    for piece, other in pieces(a, b):
        start = other_start = 0
        likely = len(piece) // 20  # edits of a copy: from 1,000 characters on it takes half of the time
        for at, other_at, size in Levenshtein.editops(piece, other, score_hint=likely).as_matching_blocks():
            border = _BORDER.search(piece, at, at + size)
            if size and border is None:
                continue
            end = border.end() if border else at  # the last block is empty, at the end of the piece
            part, counterpart = piece[start:end], other[other_start : end - at + other_at]
            if part != counterpart:
                yield part, counterpart
            if border and (last := _TO_LAST_BORDER.match(piece, border.start(), at + size)):
                start, other_start = last.end(), last.end() - at + other_at


def _contradictions(a: Sequence[Token], b: Sequence[Token], may_be_spaced: bool) -> list[_Pair]:
    """Return what contradicts at one place.

    :param may_be_spaced: equal digits are one number, although one text has a space or a point between them.
    """
    longest, one_negates = max(len(a), len(b)), _negations(a) != _negations(b)
    pairs = _excluding(a, b, longest <= _NARROW) if a and b else []
    if not one_negates:  # both or none: 没有 and 未曾 are two ways to say no
        pairs = [both for both in pairs if "x" not in (both[0].kind, both[1].kind)]
    if pairs:
        # 3.5 and 3 . 5: a space or a line break in a number; 10 and l0: a reader of scanned pages took 1 for l.
        here, there = _joined(a), _joined(b)
        is_one = len(a) != len(b) and here.translate(_MISREAD) == there.translate(_MISREAD) and not here.isalpha()
        is_one = is_one and (may_be_spaced or len(here) >= _TELEPHONE)
        return [] if is_one else [([one], [other]) for one, other in pairs]
    if longest > _NEGATED or not one_negates:
        return []
    here, there = _joined(a), _joined(b)  # 不 for 部 is a typing error
    return [] if len(here) == len(there) == 1 and sound_alike(here, there) else [(a, b)]


def _excluding(a: Sequence[Token], b: Sequence[Token], is_narrow: bool) -> list[tuple[Token, Token]]:
    """Return the tokens at one place that exclude each other. At a wide place only numbers do."""
    ours, theirs = ([token for token in side if token.kind in NUMBERS or not is_narrow] for side in (a, b))
    pairs = [both for both in zip(ours, theirs, strict=False) if both[0].kind in NUMBERS and _exclude(*both)]
    if not pairs and is_narrow:
        pairs = [both for both in zip(a, b, strict=False) if _exclude(*both)]
        alone = _alone(a, b)
        pairs = pairs or [both for both in product(*alone) if _exclude(*both)][:1]
    return pairs


def _negations(tokens: Sequence[Token]) -> int:
    return sum(token.kind == "x" for token in tokens)


def _is_of_numbers(contradiction: _Pair) -> bool:
    """Return whether it is one of numbers that are no dates."""
    kinds = {token.kind for tokens in contradiction for token in tokens}
    return "n" in kinds and kinds <= NUMBERS


def _exclude(one: Token, other: Token) -> bool:
    """Return whether one token excludes another one in its place."""
    if one.value == other.value:
        return False
    if one.kind in NUMBERS and other.kind in NUMBERS:
        return True
    return one.kind == other.kind == "s" or _opposed(one.value, other.value)


_SIZED = re.compile("[a-z]|[ivx]+|x+[sml]")
_ENDING = re.compile("(?<=[a-z]{3})(?:'s|e[sd]|(?<!s)s|ing|e)$")
_WITHOUT = re.compile("^(?:un|dis|de|non|i[lmnr])(?=.{3})")


@cache
def _exclusive_terms() -> set[tuple[str, str]]:
    """Return the pairs of terms, without their endings, that exclude each other."""
    pairs = (pair for group in OPPOSITES for terms in permutations(group, 2) for pair in product(*terms))
    return {(_ENDING.sub("", a), _ENDING.sub("", b)) for a, b in pairs}


def _opposed(a: str, b: str) -> bool:
    """Return whether two words exclude each other: letters, sizes, words with other signs, terms, or one is the other
    with a prefix that negates it.
    """
    if _SIZED.fullmatch(a) and _SIZED.fullmatch(b):
        return {a, b} != {"a", "i"}
    if a.rstrip("+#-") == b.rstrip("+#-"):
        return True
    (a, without_a), (b, without_b) = _stems(a), _stems(b)
    if a == b:
        return False
    return (a, b) in _exclusive_terms() or without_a == b or without_b == a


@cache_of_short(10_000, 30)
def _stems(term: str) -> tuple[str, str]:
    """Return a term without its ending, and also without a prefix that negates it."""
    stem = _ENDING.sub("", term)
    return stem, _WITHOUT.sub("", stem)


def _joined(tokens: Sequence[Token]) -> str:
    """Return the word characters of tokens."""
    return re.sub(r"\W", "", "".join([token.written for token in tokens]))


def _written(tokens: Sequence[Token]) -> str:
    """Return what the tokens say, for people."""
    words = [token.written for token in tokens]
    spaced = [f" {word} " if word.isascii() and word.isalpha() else word for word in words]
    return "".join(spaced).replace("  ", " ").strip()
