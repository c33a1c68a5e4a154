"""The words in which two texts differ.

Words are compared as a fingerprint sees them: full width, case, and traditional characters make no difference. White
space and punctuation between the words are not compared. The words that stay the same are a longest common subsequence,
so as few words as possible differ. rapidfuzz computes it by a bit-parallel algorithm (Hyyrö, "Bit-parallel LCS-length
computation revisited", 2004), whose time does not depend on what the texts say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, islice
from typing import TYPE_CHECKING

from es_simhash.text.markup import text_of_html
from es_simhash.text.normalisation import normalise
from es_simhash.text.tokens import segmenter, words_in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_simhash.similarity.differences import Difference
    from es_simhash.text.scheme import Scheme

LONGEST = 20_000
"""Characters of each text that are compared."""
_NEXT = 100
"""Contradictions that are looked for in a part. All of them would take a time that is quadratic."""
CUT = "…"
_SIGNS = frozenset("+-−–＋－")
_SUFFIXES = frozenset("+#%‰＋＃％")
_COMPARISONS = frozenset("<>≤≥=≠＜＞＝±×÷√✓✔✗✘○*")


@dataclass(frozen=True)
class Part:
    """A part of two texts.

    :param same: its words are the same in both. Else ``a`` and ``b`` hold words that only one of the texts has here.
    :param a: what the first text has here, perhaps nothing.
    :param b: what the second text has here, perhaps nothing.
    :param contradicts: the two say different things here, such as other numbers.
    """

    same: bool
    a: str
    b: str
    contradicts: bool = False


def differences(a: str, b: str, scheme: Scheme, contradictions: Iterable[Difference] = ()) -> list[Part]:
    """Return two texts as a list of parts, in order. The parts together are the texts.

    Of a text with more than ``LONGEST`` characters, the parts are its beginning. Under a Scheme for HTML, they are the
    texts without markup.

    :param contradictions: of the texts, in order (:class:`es_simhash.Comparison`). The parts that hold them are marked.
    """
    texts = [shown(text, scheme) for text in (a, b)]
    spans = [list(_spans(text)) for text in texts]
    normalised = cache(normalise)  # a word occurs often; it is of this call
    words = [
        [normalised(text[start:end], scheme.script) for start, end in places]
        for text, places in zip(texts, spans, strict=True)
    ]
    parts = [part for part in _parts(texts, spans, words) if part.a or part.b]
    return list(_with_contradictions(parts, iter(contradictions), scheme))


def _with_contradictions(parts: Iterable[Part], rest: Iterator[Difference], scheme: Scheme) -> Iterator[Part]:
    """Mark the parts in which one of the next contradictions stands. They are written as in normalised texts."""
    left: list[Difference] = []
    for part in parts:
        if part.same:
            yield part
            continue
        left += islice(rest, _NEXT - len(left))
        a, b = normalise(part.a, scheme.script), normalise(part.b, scheme.script)
        here = [each for each in left if _stands_in(each.a, a) and _stands_in(each.b, b)]
        left = [each for each in left if each not in here]
        yield replace(part, contradicts=bool(here))


def _stands_in(value: str, part: str) -> bool:
    """Return whether a number or a word stands in a part, or the part in it: ``1.2`` of ``1.2亿``."""
    return value in part or (part != "" and part in value)


def shown(text: str, scheme: Scheme) -> str:
    """Return what is compared of a text: its first ``LONGEST`` characters, under a Scheme for HTML without markup."""
    return (text_of_html(text) if scheme.markup == "html" else text)[:LONGEST]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each word begins and ends.

    A sign and ``%`` belong to their number, and ``++`` or ``#`` to its word. ``<`` is a word. These can contradict.
    """
    end = 0
    for word in words_in_order(text, segmenter()):
        start = text.index(word, end)
        yield from _comparison_signs(text, end, start)
        ends = start + len(word)
        if word[0].isdigit() and start > end and text[start - 1] in _SIGNS:
            start -= 1
        while word.isascii() and ends < len(text) and text[ends] in _SUFFIXES:
            ends += 1
        end = ends
        yield start, end
    yield from _comparison_signs(text, end, len(text))


def _comparison_signs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for position in range(start, end):
        if text[position] in _COMPARISONS:
            yield position, position + 1


def _parts(texts: list[str], spans: list[list[tuple[int, int]]], words: list[list[str]]) -> Iterator[Part]:
    done = [0, 0]  # characters of each text that are in a part
    for same, *ranges in _operations(*words):
        gaps, own = ["", ""], ["", ""]
        for side, (first, last) in enumerate(ranges):
            if first == last:
                continue
            start, end = spans[side][first][0], spans[side][last - 1][1]
            gaps[side], own[side] = texts[side][done[side] : start], texts[side][start:end]
            done[side] = end
        if same:
            yield Part(True, gaps[0] + own[0], gaps[1] + own[1])
        else:
            yield Part(True, gaps[0], gaps[1])
            yield Part(False, own[0], own[1])
    yield Part(True, texts[0][done[0] :], texts[1][done[1] :])


def _operations(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[bool, tuple[int, int], tuple[int, int]]]:
    """Yield whether some words are the same, and their ranges in both texts. What differs comes as one range each."""
    from rapidfuzz.distance import Indel  # imported late: most commands compare no texts and start faster

    for same, operations in groupby(Indel.opcodes(a, b), lambda each: each.tag == "equal"):
        first, *others = operations
        last = others[-1] if others else first
        yield same, (first.src_start, last.src_end), (first.dest_start, last.dest_end)


def shortened(parts: Sequence[Part], context: int, most: int) -> tuple[list[Part], int]:
    """Return the parts with less of what is the same, and how many differing parts were left out at the end.

    :param context: characters that are kept at both ends of each same part, beside what differs.
    :param most: about how many characters of each text are returned.
    """
    kept: list[Part] = []
    size = 0
    for index, part in enumerate(parts):
        if size >= most:
            return kept, sum(not rest.same for rest in parts[index:])
        left = most - size
        if part.same:
            part = replace(part, a=_middle_cut(part.a, context), b=_middle_cut(part.b, context))
        part = replace(part, a=cut(part.a, left), b=cut(part.b, left))
        size += max(len(part.a), len(part.b))
        kept.append(part)
    return kept, 0


def _middle_cut(text: str, context: int) -> str:
    """Return the beginning and the end of a text, with a mark for what stands between them."""
    return text if len(text) <= 2 * context + len(CUT) else f"{text[:context]}{CUT}{text[-context:]}"


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, with a mark if there is more."""
    return text if len(text) <= most else text[:most] + CUT
