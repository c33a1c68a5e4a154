"""Names in short texts: which stand in the place of others?

Two texts that differ in a name are about two things, such as two teams, two films or two mayors. A name is

- what stands in quotation marks, and what stands before a colon;
- a Latin word beside Han characters, and an identifier (read_csv) among Latin words;
- a place of ``places.txt``;
- a person, place, organisation or other proper noun of jieba's dictionary;
- a surname of ``surnames.txt``, and a given name behind it;
- two to four Han characters that are no words of the dictionary.

It is no other name if it may be the same one, written otherwise: a part of it or a short form (工信部,
工业和信息化部), a typing error that sounds alike, a long word or a title with few other letters.
"""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from es_simhash.caches import cache_of_short
from es_simhash.similarity.measures import differing
from es_simhash.text.numbers import any_of
from es_simhash.text.tokens import clauses, dictionary_words, part_of_speech

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Pair = tuple[str, str]

VERY_SHORT = 60
"""Word characters of the longest text in which persons, unknown words and numbers anywhere count."""
_WORDS = 3
"""Words of the longest difference in which a name of the dictionary stands in the place of another one."""
_PERSONS = 2
"""Places where two texts differ at most, if a person is another one."""
_ALIKE, _ALIKE_WORD = 0.6, 0.8
"""Levenshtein similarity from which a title, or a word, may be another spelling of the other."""
_SHORT_WORD = 3
"""Letters of the longest word of which each letter counts: EDG is not JDG."""
_TAGS = frozenset(["nr", "ns", "nt", "nz"])
_NOUNS, _FUNCTION_WORDS = frozenset("nzgjx"), frozenset("dpcurmqyf")
"""First letters of the parts of speech that a part of a name has, and of those that it has not."""
_HAN = re.compile("[\u3400-\u9fff]")
_QUOTED = re.compile(r'[《「"【\[]([^《》「」"【】\[\]]{1,40})[》」"】\]]')
_LATIN = re.compile("[a-z]+")
_IDENTIFIER = re.compile(r"(?<!\w)(?:/?[a-z_]\w*(?:(?:[./]|::|->)\w+)+|[a-z]+[a-z0-9]*(?:_[a-z0-9]+)+|/\w+)")
_SUBJECT = re.compile("([^:,。!?;|*]{2,14}):")
_IN_NAME, _UNKNOWN = re.compile("[\u3400-\u9fff]{1,3}"), re.compile("[\u3400-\u9fff]{2,4}")
_FUZZY = (("^([zcs])h", r"\1"), ("ng$", "n"), ("^l", "n"), ("^h(?=u)", "f"))
"""Sounds that many speakers do not tell apart."""


def _lines(name: str) -> list[str]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


@cache
def _surnames() -> frozenset[str]:
    return frozenset("".join(_lines("surnames.txt")))


@cache
def _places() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return the name of each place by its spellings, and what finds them."""
    names = [place.replace("_", " ").split("=") for line in _lines("places.txt") for place in line.split()]
    spellings = {spelling: name for name, *others in names for spelling in (name, *others)}
    latin = [spelling for spelling in spellings if not _HAN.match(spelling)]
    others = spellings.keys() - {*latin}
    # To look at two characters first takes less than half of the time.
    two = "".join(f"[{''.join(sorted({spelling[at] for spelling in others}))}]" for at in (0, 1))
    return spellings, re.compile(rf"(?<![a-z])(?=[a-z])(?:{any_of(latin)})(?![a-z])|(?={two})(?:{any_of(others)})")


def other_names(a: str, b: str, length: int) -> list[Pair]:
    """Return names in a text that stand in the place of other names in another one: those of the first kind found.

    :param a: a normalised text of a few hundred characters, without links and outlets.
    :param length: word characters of the shorter text.
    """
    apart = _without_equal_ends(a, b)
    finders: list[Callable[[str, str], list[Pair]]] = [_in_quotes, partial(_other_places, apart)]
    if _HAN.search(a):
        finders += [_latin_words, _subjects, partial(_of_dictionary, apart)]
        finders += [_persons, _unknown] if length <= VERY_SHORT else []
    else:
        finders += [_identifiers] if _HAN.search(b) else [_identifiers, _subjects]
    return next(filter(None, (find(a, b) for find in finders)), [])


def _without_equal_ends(a: str, b: str) -> Pair:
    """Return two texts without the clauses that both begin and end with."""
    ours, theirs = clauses(a), clauses(b)
    start = _count_equal(ours, theirs)
    ours, theirs = ours[start:], theirs[start:]
    end = _count_equal(ours[::-1], theirs[::-1])
    return "".join(ours[: len(ours) - end]), "".join(theirs[: len(theirs) - end])


def _count_equal(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many items two series begin with that are equal."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(a), len(b)))


def _latin_words(a: str, b: str) -> list[Pair]:
    return _unmatched(_LATIN.findall(a), _LATIN.findall(b), _ALIKE_WORD)


def _identifiers(a: str, b: str) -> list[Pair]:
    return _alone(_IDENTIFIER.findall(a), _IDENTIFIER.findall(b))


def _in_quotes(a: str, b: str) -> list[Pair]:
    return _unmatched(_not_in(b, _QUOTED.findall(a)), _not_in(a, _QUOTED.findall(b)))


def _other_places(apart: Pair, a: str, b: str) -> list[Pair]:
    names, expression = _places()
    mine, theirs = map(expression.findall, apart)
    pairs = _alone(_not_in(b, mine), _not_in(a, theirs))
    return [(one, other) for one, other in pairs if names[one] != names[other] and one[:2] != other[:2]]


def _subjects(a: str, b: str) -> list[Pair]:
    one, other = _SUBJECT.match(a), _SUBJECT.match(b)
    return _unmatched([one[1]], [other[1]]) if one and other else []


def _of_dictionary(apart: Pair, *_: str) -> list[Pair]:
    words, others = map(dictionary_words, apart)
    found: list[Pair] = []
    for here, there in differing(words, others):
        if max(here.stop - here.start, there.stop - there.start) <= _WORDS:
            pairs = _unmatched(_proper(words[here]), _proper(others[there]), least=None)
            found += pairs if pairs and not _may_be_one("".join(words[here]), "".join(others[there])) else []
    return found


def _proper(words: Sequence[str]) -> list[str]:
    return [word for word in words if len(word) > 1 and part_of_speech(word)[:2] in _TAGS]


def _alone(names: Sequence[str], others: Sequence[str]) -> list[Pair]:
    """Return the names that each of two texts has alone, side by side."""
    mine, theirs = ([name for name in one if name not in other] for one, other in ((names, others), (others, names)))
    return list(zip(mine, theirs, strict=False))


def _unmatched(names: Sequence[str], others: Sequence[str], least: float | None = _ALIKE) -> list[Pair]:
    return [pair for pair in _alone(names, others) if not _may_be_one(*pair, least)]


def _not_in(text: str, names: Sequence[str]) -> list[str]:
    """Return the names that do not stand in a text at all."""
    return [name for name in names if name not in text]


def _may_be_one(one: str, other: str, least: float | None = None) -> bool:
    """Return whether two names may be one, written otherwise."""
    from rapidfuzz.distance import OSA, Levenshtein  # imported late: most commands compare no texts and start faster

    short, long = sorted((one, other), key=len)
    is_han = _HAN.search(short) is not None
    is_short_form = is_han and 1 < len(short) <= len(long) // 2 and set(short) <= set(long)
    if short in long or is_short_form:
        return True
    if least is not None and (is_han or len(short) > _SHORT_WORD):
        is_one_letter = not is_han and OSA.distance(one, other) == 1  # grey, gray; fiel, file
        if is_one_letter or Levenshtein.normalized_similarity(one, other) >= least:
            return True
    return sound_alike(one, other)  # the last, as it takes the most time


class _Run(NamedTuple):
    """Characters that stand in the place of others, what is before and behind them, and the words that they are in.

    :param words: each with its part of speech; one, if the characters are a part of it.
    """

    text: str
    before: str
    behind: str
    words: list[tuple[str, str]]


def _persons(a: str, b: str) -> list[Pair]:
    """Return surnames, and given names behind one surname, in the place of others."""
    places = _replaced(a, b)
    return [(one.text, other.text) for one, other in places if len(places) <= _PERSONS and _are_persons(one, other)]


def _are_persons(one: _Run, other: _Run) -> bool:
    if not _IN_NAME.fullmatch(one.text) or not _IN_NAME.fullmatch(other.text) or sound_alike(one.text, other.text):
        return False
    is_person = any(len(run.words) == 1 and run.words[0][1].startswith("nr") for run in (one, other))
    if not is_person and all(len(run.words) == 1 and len(run.words[0][0]) > 1 for run in (one, other)):
        return False  # both are in longer words
    if is_person and one.before in _surnames():
        return True
    starts = not one.before or is_person or len(one.words) > 1 or len(one.words[0][0]) == 1
    lengths = sorted([len(one.text), len(other.text)])
    is_name = lengths[0] > 1 or (lengths[1] == 1 and _HAN.match(one.behind) is not None)
    return starts and is_name and {one.text[0], other.text[0]} <= _surnames()


def _unknown(a: str, b: str) -> list[Pair]:
    """Return words that the dictionary does not know in the place of others."""
    return [(one.text, other.text) for one, other in _replaced(a, b) if _are_unknown(one, other)]


def _are_unknown(one: _Run, other: _Run) -> bool:
    if not _UNKNOWN.fullmatch(one.text) or not _UNKNOWN.fullmatch(other.text) or {*one.text} & {*other.text}:
        return False
    return any(map(_is_unknown, (one, other))) and not sound_alike(one.text, other.text)


def _is_unknown(run: _Run) -> bool:
    tags = {tag[0] for _, tag in run.words}
    is_cut = all(len(word) == 1 for word, _ in run.words)
    return is_cut and not tags.isdisjoint(_NOUNS) and tags.isdisjoint(_FUNCTION_WORDS)


def _replaced(a: str, b: str) -> list[tuple[_Run, _Run]]:
    """Return the characters of a text that stand in the place of others. One that both have by chance is among them."""
    places: list[tuple[slice, slice]] = []
    for here, there in differing(a, b):
        if places and here.start - places[-1][0].stop <= 1:
            first, other_first = places.pop()
            places.append((slice(first.start, here.stop), slice(other_first.start, there.stop)))
        else:
            places.append((here, there))
    words, others = _word_of_each(a), _word_of_each(b)
    return [(_run(a, here, words), _run(b, there, others)) for here, there in places]


def _word_of_each(text: str) -> list[tuple[int, tuple[str, str]]]:
    """Return for each character the number of its word, and the word with its part of speech."""
    words = enumerate(dictionary_words(text))
    return [(number, (word, part_of_speech(word))) for number, word in words for _ in word]


def _run(text: str, place: slice, words: Sequence[tuple[int, tuple[str, str]]]) -> _Run:
    inside = list(dict(words[place]).values())
    return _Run(text[place], text[: place.start][-1:], text[place.stop :][:1], inside or [("", "")])


def sound_alike(a: str, b: str) -> bool:
    """Return whether two runs of Han characters sound alike, as most typing errors do."""
    if len(a) != len(b) or _HAN.search(a) is None:
        return False
    return not any(one.isdisjoint(other) for one, other in zip(_sounds(a), _sounds(b), strict=False))


@cache_of_short(4_000, 10)
def _sounds(text: str) -> list[set[str]]:
    """Return the readings of each character: 沈 is shen, and as another form of 沉 it is chen."""
    from pypinyin import Style, pinyin  # imported late: it takes half a second

    return [{_plain(sound) for sound in sounds} for sounds in pinyin(text, style=Style.NORMAL, heteronym=True)]


def _plain(sound: str) -> str:
    for fuzzy, plain in _FUZZY:
        sound = re.sub(fuzzy, plain, sound)
    return sound
