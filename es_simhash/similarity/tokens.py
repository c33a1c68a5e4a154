"""The tokens of a text that are aligned with those of another one (``differences.py``).

A token is a number, a sign, a word, or a character of a script without spaces.

**Numbers** count by their value (``es_simhash/text/numbers.py``): ``1,200``, ``一千二百`` and ``0.12万`` are one.

**What changes by itself** is left out in texts of ``LONG_ENOUGH`` word characters: counters (阅读 10234), clocks with
seconds, the clock of a time stamp before the text (2024-05-01 08:30), times of an update (更新时间 10:31, 5 hours ago)
and numbers of references ([12]). In longer ones numbers of articles (第12条) and of a list ((四), 2.) are left out too.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from es_simhash.caches import cache_of_short
from es_simhash.text.normalisation import COUNTED, DAY, LONG_ENOUGH
from es_simhash.text.numbers import CHINESE, COMPOUND, GROUPS, LATIN, NUMBER, RAISED, UNITS_AND_ERAS, WORDS, values_of

NUMBERS = frozenset("nd")
"""The kinds of tokens that are numbers."""
SHORT = 150
"""Word characters of the longest text in which numbers of articles and lists count: a revision renumbers them."""
OPPOSITES = [
    [term.split("=") for term in line.split()]
    for line in Path(__file__).with_name("opposites.txt").read_text(encoding="utf-8").splitlines()
]
"""Terms that exclude each other, in groups. A term has one spelling or several."""
_MONTHS = [spelling for terms in OPPOSITES if "january" in terms[0] for term in terms for spelling in term]
_SPELLINGS = [spelling for terms in OPPOSITES for term in terms for spelling in term]
_LONG = sorted((term for term in _SPELLINGS if len(term) > 1 and term[0] > "\u3040"), key=len, reverse=True)
"""Terms of several characters, in a script without spaces, the longest first."""
_KINDS = {"term": "w", "word": "w", "other": "w", "letters": "s", "symbol": "s", "operator": "s"}
_KINDS |= {"negation": "x", "unary": "x"}
_NOT = (
    "not no never without cannot nor nicht kein keine niet geen pas jamais sans não не нет без değil नहीं لا لم لن"
    " không tidak bukan ikke inte nie nem"
)
_NEGATIONS = frozenset([*"勿甭副", *_NOT.split()])
"""副 (deputy) is no negation, but changes an office as a negation changes a verb."""

_ANY_NUMBER = re.compile(rf"\d+(?:[.,]\d+)*|[{CHINESE}]+")

# What changes by itself.
_COUNTED_FIRST = "".join(sorted({word[0] for word in COUNTED.split("|")}))
_BEGINS = "本[报台网站][讯记消]|人民|天津|日前|部分|多地|分析|小[编学]"
"""Words that are no measures, although they begin like one: 阅读 10234, and on the next line 本报讯."""
_MEASURES = "个本部页篇章遍年月日天分小秒项种位名人户家套份件座集帧版端万千百余多元%‰"
_SIZE = r"[0-9]{1,12}(?:,[0-9]{3}){0,3}(?:\.[0-9]{1,3}(?=[万亿kw]))?[万亿kw]?\+?"
_CHANGES = re.compile(
    rf"(?=[0-9[更发刷{_COUNTED_FIRST}])"  # all begin with one of these: to look at one character takes the least time
    rf"(?:(?:{COUNTED})(?:量|数|次数)?[ :(]*{_SIZE}(?! ?(?:版本|端口|帧)|[0-9]|[.,][0-9]"
    rf"|(?!{_BEGINS})[{_MEASURES}])[次)]*"
    rf"|(?<![0-9]){_SIZE} ?(?:次|人)?(?:{COUNTED})(?![a-z])(?:量|数)?"
    rf"|(?:更新|发布|刷新)(?:时间|日期|于)?[ :]*(?:{DAY} ?)?[0-9]{{1,2}}:[0-9]{{2}}(?![0-9:])"
    r"|[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"|(?<![0-9])[0-9]+ ?(?:(?:秒钟?|分钟|个?小时)前|(?:second|minute|min|hour)s? ago)"
    r"|(?<=[,.;:!?。\u3400-\u9fff])\[[0-9]+\])"
)
_RENUMBERED = re.compile(
    rf"(?<=第)(?:[0-9]+|[{CHINESE}]+)(?=[条款项章节])"
    rf"|(?<![^,。;:!?])(?<!\d[,:])\(?(?:[0-9]{{1,2}}|[{CHINESE}]{{1,3}})[.、)](?![0-9{CHINESE}])"
)
_ASCII_DIGIT = re.compile("[0-9]")

# All tokens in one expression.
_NEGATION = (
    "不[得准许要]|不(?![仅但过断论管久少错同])|非(?![常洲])|无(?![论锡])|未(?![来必])|(?<![沉淹出埋吞])没(?![落入]|收(?!到))"
    "|(?<![特分区个级类性识告离辨鉴差派国送阔惜判甄永道久诀职组班])别(?![人的处墅称名样致克开具论])"
    "|莫(?![斯名非言过大迪桑高奈测])|[请切]勿|禁止|严禁|谢绝|拒绝|否认"
    "|(?<![少危切幼])ない|なかっ|なけれ|ません|않|없|못|지 ?[마말]"
)
"""Negations of scripts without spaces, and of Korean; where they negate. Each is one token."""
_STARTS = "".join(sorted({term[0] for term in _LONG}))
"""Characters at which a term may begin. To look at two characters first takes less time than to try each term."""
_SECONDS = "".join(sorted({term[1] for term in _LONG}))
_LONGER = [*_LONG, *UNITS_AND_ERAS, "不得", "请勿", "切勿", "禁止", "严禁", "谢绝", "拒绝", "否认"]
_FIRST = {character for term in _LONGER for character in term[:-1]} | set(CHINESE) | set(COUNTED)
_FIRST |= set("非无未没别莫负公日天更新发布刷小时间期次数量钟")
"""Characters at which something longer than a character may begin or go on."""
_ENDS = ["\u33ff", *sorted(first for first in _FIRST if "\u3400" <= first <= "\u9fff"), "\ua000"]
_SINGLE = "".join(f"{chr(ord(a) + 1)}-{chr(ord(b) - 1)}" for a, b in pairwise(_ENDS) if ord(b) - ord(a) > 1)
"""All other Han characters, as a class of a regular expression: each is a token of its own."""
_HAN = "\u3400-\u9fff"
_SIGNS = r"+*\u00d7\u00f7\u00b1\u221a\u2713\u2714\u2717\u2718\u25cb$\u00a3\u00a5\u20a0-\u20bf"
_TOKEN = (
    r"(?![ ,.:;!?\"'()/、《》])"  # no token begins with one of these
    rf"(?:(?P<characters>[{_SINGLE}]+)"
    rf"|(?P<negation>(?=[不非无未没别莫请切勿禁严谢拒否なま않없못지])(?:{_NEGATION}))"
    rf"|(?P<letters>(?<![0-9{LATIN}])[a-z]{{1,2}}(?=[{_HAN}]))"
    rf"|(?P<after>(?=\d)(?:{'|'.join(f'(?<={month} )' for month in _MONTHS)}))?{NUMBER}"
    rf"(?P<day>(?=[月日号]| (?:{'|'.join(_MONTHS)})))?"
    rf"|(?P<word>(?!\d)[{LATIN}]+(?:'[{LATIN}]+)*"
    rf"(?:\++|(?<![{LATIN}]{{2}})#|--?(?![-\w \n]|$)|(?:(?<=aa|bb|cc)|(?<![{LATIN}]{{2}}))-(?=[{_HAN}]))?)"
    rf"|(?P<term>(?=[{_STARTS}][{_SECONDS}])(?:{'|'.join(_LONG)}))"
    rf"|(?P<symbol>[<>\u2264\u2265=\u2260]=?|[{_SIGNS}{RAISED}]"
    r"|(?<=\()-(?=\))|(?<= )-(?= ))"
    r"|(?P<other>\w))"
)
_SIGN_IN_CODE = (
    r"(?P<unary>!(?!=)|~|(?<=[\[(=,])-|(?<=[\[(=,] )-)"
    r"|(?P<operator>[=!]==?|&&|\|\||->|\+\+|--|[-%/&|^.+*])|"
)
"""In code a sign between words says more than in prose."""
_IS_CODE = re.compile(
    r"[=!<>]=|&&|\|\||[-=]>|;\s*(?:$|\})|\w\(\)|[a-z_]\[[a-z_-]|[a-z_] [-+*/%]?= [\w\"'(\[{-]|^\s*[{}]"
)
_SIGN_OF_CODE = re.compile("[;{}()=]")
BORDER = (
    rf"[{_SINGLE}](?=[{_SINGLE}])|(?<![^ ])(?!per |{COMPOUND})[{LATIN}]+ (?!{COMPOUND})[{LATIN}]+(?= )"
    r"|[\u3002!?;]|,(?=\D)"
)
"""A regular expression for borders. No token reaches across a border. So where two texts have the same border, what
stands on its two sides is compared alone."""


class Token(NamedTuple):
    """A token of a text.

    :param kind: n for a number, d for one of a date; s for a sign, also of money, and for a letter or two before Han
        characters (AB型); x for a negation; w for another word or character.
    :param value: what is compared.
    :param written: as it stands in the text.
    """

    kind: str
    value: str
    written: str


def count_of_numbers(text: str) -> int:
    """Return about how many numbers a text has."""
    return len(_ANY_NUMBER.findall(text))


def is_code(text: str) -> bool:
    """Return whether a text is code, or has some."""
    return text.isascii() and _IS_CODE.search(text) is not None


def is_script(text: str) -> bool:
    """Return whether a text is code alone: a twentieth of it are signs of code."""
    return is_code(text) and 20 * len(_SIGN_OF_CODE.findall(text)) >= len(text)


def tokens(text: str, length: int, *, of_code: bool = False) -> tuple[Token, ...]:
    """Return the tokens of a part of a text.

    :param length: word characters of the whole text. In a longer one counters and clocks are left out.
    :param of_code: the text is code, so each sign is a token.
    """
    return _tokens(text, length >= LONG_ENOUGH, length > SHORT, of_code)


@cache_of_short(2_000, 60)  # texts of one form have the same parts, and each is compared with many others
def _tokens(text: str, without_changes: bool, without_numbers_of_articles: bool, of_code: bool) -> tuple[Token, ...]:
    if without_changes and _ASCII_DIGIT.search(text):
        text = _CHANGES.sub(" ", text)
    if without_numbers_of_articles:
        text = _RENUMBERED.sub(" ", text)
    found: list[Token] = []
    for match in _pattern(of_code=of_code).finditer(text):
        if match.lastgroup == "characters":
            found += map(_character, match[0])
        elif kind := _KINDS.get(match.lastgroup or ""):
            found.append(_token(match[0], kind))
        else:
            is_date = match["day"] is not None or match["after"] is not None
            found += _number_tokens(match[0], is_date, match.group(*GROUPS))
    return tuple(found)


@cache
def _pattern(*, of_code: bool) -> re.Pattern[str]:
    """Return what finds all tokens. To compile it takes a fifth of a second, so it is done when it is needed."""
    return re.compile(f"{_SIGN_IN_CODE if of_code else ''}{_TOKEN}")


def _made(written: str, kind: str = "w") -> Token:
    if written in WORDS:
        return Token("n", str(WORDS[written]), written)
    is_negation = written in _NEGATIONS or written.endswith("n't")
    return Token("x" if is_negation else kind, written.replace("\u00d7", "*"), written)


_token = cache_of_short(10_000, 30)(_made)
_character = lru_cache(10_000)(_made)  # most tokens are one character, and need no look at their length


def _number_tokens(written: str, is_date: bool, groups: tuple[str | None, ...]) -> tuple[Token, ...]:
    """Return the tokens of a number: its values, and its unit."""
    values, unit = values_of(written, groups)
    spelled = groups[GROUPS.index("unit")] or ""
    written = written[: len(written) - len(spelled)]
    kind = "d" if is_date or len(values) == 3 else "n"
    numbers = [Token(kind, value, value if len(values) > 1 and written.isascii() else written) for value in values]
    return (*numbers, *([Token("w", unit, spelled)] if unit else []))
