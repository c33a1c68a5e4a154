"""The tokens of a text that are aligned with those of another one (``differences.py``).

A token is a number, a sign, a word, or a character of a script without spaces.

**Numbers** are read as people read them, by their value: ``1,200``, ``1200.00``, ``一千二百`` and ``0.12万`` are one
number; so are ``1/3`` and ``三分之一``, ``50%``, ``百分之五十`` and ``50 percent``, ``1.2 million`` and
``1,200,000``, ``42km`` and ``42000米``, ``8``, ``八``, ``eight`` and the 8 of any script. A sign and a percent sign
belong to the number: ``-5`` is not ``5``. A superscript does, too: 10⁵ is not 105.

**What changes by itself** is left out in texts of ``LONG_ENOUGH`` word characters: counters (阅读 10234), clocks with
seconds, times of an update (更新时间 10:31, 5 hours ago) and numbers of references ([12]). In longer ones numbers of
articles (第12条) and of a list ((四), 2.) are left out, too.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

LONG_ENOUGH = 60
"""Word characters of the shortest text in which counters and clocks do not count."""
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
_KINDS = {"term": "w", "word": "w", "other": "w", "spelled": "w", "letters": "s", "symbol": "s"}
_NOT = "not no never without cannot nor nicht kein keine niet geen pas jamais sans não не нет без değil नहीं لا لم لن"
_NEGATIONS = frozenset([*"不没无未非勿副", *_NOT.split()])
"""副 (deputy) is no negation, but changes an office as a negation changes a verb."""

# Numbers: Chinese numerals, the largest unit first; English numerals; superscripts, subscripts and fractions.
_DIGITS = "零〇○一二三四五六七八九两壹贰叁肆伍陆柒捌玖兩"
_UNITS = "亿億万萬千仟百佰十拾"
_CHINESE = f"{_DIGITS}{_UNITS}"
_VALUES = {character: int(unicodedata.numeric(character, 0)) for character in _CHINESE}
_VALUES |= {"两": 2, "日": 7, "天": 7, "公": 1000, "k": 1000}
_NUMERALS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_ONES, _TENS = _NUMERALS.split()[:9], _NUMERALS.split()[19:]
_WORDS = dict(zip(_NUMERALS.split(), [*range(1, 20), *range(20, 100, 10)], strict=True))
_WORDS |= {f"{ten}-{one}": _WORDS[ten] + _WORDS[one] for ten in _TENS for one in _ONES}
_SIZES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_RAISED = "\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089"
_FRACTIONS = "\u00bc-\u00be\u2150-\u215f\u2189"
_THOUSANDS = re.compile(r"\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
_TELEPHONE = 9
"""Digits of the shortest telephone number: from here on hyphens separate nothing (0571-88880000, 400-800-1234)."""
_OF_THOUSAND = "千(?=[瓦克米伏赫卡帕焦])|公(?=[里斤])| ?k(?=[mgw](?![a-z]))"
"""What multiplies a number by a thousand and stands in its unit: 千瓦, 公里, kg."""
_ANY_NUMBER = re.compile(rf"\d+(?:[.,]\d+)*|[{_CHINESE}]+")

# What changes by itself.
_COUNTED = (
    "阅读|浏览|点击|评论|点赞|转发|分享|收藏|播放|访问|围观|下载|回复|人气|热度"
    "|views|reads|comments|likes|downloads|replies"
)
_COUNTED_FIRST = "".join(sorted({word[0] for word in _COUNTED.split("|")}))
_MEASURES = "个本部页篇章遍年月日天分小秒项种位名人户家套份件座集帧版端万千百余多元%‰"
_SIZE = r"[0-9]{1,12}(?:,[0-9]{3}){0,3}(?:\.[0-9]{1,3}(?=[万亿kw]))?[万亿kw]?\+?"
_DAY = "[0-9]{4}[-/.年][0-9]{1,2}[-/.月][0-9]{1,2}日?"
_CHANGES = re.compile(
    rf"(?=[0-9[更发刷{_COUNTED_FIRST}])"  # all begin with one of these: to look at one character takes the least time
    rf"(?:(?:{_COUNTED})(?:量|数|次数)?[ :(]*{_SIZE}(?! ?(?:版本|端口|帧)|[0-9]|[.,][0-9]|[{_MEASURES}])[次)]*"
    rf"|(?<![0-9]){_SIZE} ?(?:次|人)?(?:{_COUNTED})(?![a-z])(?:量|数)?"
    rf"|(?:更新|发布|刷新)(?:时间|日期|于)?[ :]*(?:{_DAY} ?)?[0-9]{{1,2}}:[0-9]{{2}}(?![0-9:])"
    r"|[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"|(?<![0-9])[0-9]+ ?(?:(?:秒钟?|分钟|个?小时)前|(?:second|minute|min|hour)s? ago)"
    r"|(?<=[,.;:!?。\u3400-\u9fff])\[[0-9]+\])"
)
_RENUMBERED = re.compile(
    rf"(?<=第)(?:[0-9]+|[{_CHINESE}]+)(?=[条款项章节])"
    rf"|(?<![^,。;:!?])(?<!\d[,:])\(?(?:[0-9]{{1,2}}|[{_CHINESE}]{{1,3}})[.、)](?![0-9{_CHINESE}])"
)
_ASCII_DIGIT = re.compile("[0-9]")

# All tokens in one expression.
_NO_NEGATIONS = "不[仅但过断论管久少错同]|非常|非洲|无论|无锡|未来|未必"
_STARTS = "".join(sorted({term[0] for term in _LONG} | set("不非无未")))
"""Characters at which a term may begin. To look at one character first takes less time than to try each term."""
_FIRST = set(_STARTS) | set(_CHINESE) | set("负公日天更新发布刷小时间期次数量钟") | set(_COUNTED)
"""Characters at which something longer than a character may begin."""
_ENDS = ["\u33ff", *sorted(first for first in _FIRST if "\u3400" <= first <= "\u9fff"), "\ua000"]
_SINGLE = "".join(f"{chr(ord(a) + 1)}-{chr(ord(b) - 1)}" for a, b in pairwise(_ENDS) if ord(b) - ord(a) > 1)
"""All other Han characters, as a class of a regular expression: each is a token of its own."""
_HAN = "\u3400-\u9fff"
_LATIN = "a-z\u00df-\u024f\u0370-\u03ff\u0400-\u052f\u0590-\u08ff\u0900-\u0965\u0970-\u0dff"
_SIGNS = r"+*\u00d7\u00f7\u00b1\u221a\u2713\u2714\u2717\u2718\u25cb$\u00a3\u00a5\u20a0-\u20bf"
_TOKEN = re.compile(
    r"(?![ ,.:;!?\"'()/、《》])"  # no token begins with one of these
    rf"(?:(?P<characters>[{_SINGLE}]+)"
    rf"|(?P<letters>(?<![0-9{_LATIN}])[a-z]{{1,2}}(?=[{_HAN}]))"
    rf"|(?P<spelled>(?:{'|'.join(_TENS)})-(?:{'|'.join(_ONES)})(?![{_LATIN}]))"
    rf"|(?P<word>(?!\d)[{_LATIN}]+(?:'[{_LATIN}]+)*"
    rf"(?:\++|(?<![{_LATIN}]{{2}})#|-(?![\w \n]|$)|(?:(?<=aa|bb|cc)|(?<![{_LATIN}]{{2}}))-(?=[{_HAN}]))?)"
    rf"|(?P<term>(?=[{_STARTS}])(?:{_NO_NEGATIONS}|{'|'.join(_LONG)}))"
    rf"|(?:(?P<sign>(?<![0-9{_LATIN})])[+\-\u2212\u2013]|零下|负)?(?=\d)"
    rf"(?P<after>{'|'.join(f'(?<={month} )' for month in _MONTHS)})?"
    r"(?P<digits>\d{1,3}(?:[ ,]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:[.,:/-]\d+)*)"
    rf"(?P<raised>[{_RAISED}{_FRACTIONS}]*)"
    rf"(?P<sizes>[ -](?:{'|'.join(_SIZES)})(?![a-z])|(?:(?!{_OF_THOUSAND})[百千万亿]){{0,4}})"
    r"(?: ?(?P<percent>[%‰]|per ?cent(?![a-z])))?"
    rf"|(?P<below>零下|负)?(?:(?P<parts>[{_CHINESE}]{{1,50}})分之)?(?P<chinese>[{_CHINESE}]{{1,50}}|(?<=[周期拜])[日天])"
    rf"(?:点(?P<decimals>[{_DIGITS}]{{1,50}}[百千万亿]{{0,4}}(?![{_CHINESE}])))?)(?P<unit>{_OF_THOUSAND})?"
    rf"(?P<day>(?=[月日号]| (?:{'|'.join(_MONTHS)})))?"
    rf"|(?P<alone>[{_FRACTIONS}\u2460-\u2473])"
    rf"|(?P<symbol>[<>\u2264\u2265=\u2260]=?|[{_SIGNS}{_RAISED}]"
    r"|(?<=\()-(?=\))|(?<= )-(?= ))"
    r"|(?P<other>\w))"
)
_GROUPS = tuple(_TOKEN.groupindex)
BORDER = rf"[{_SINGLE}](?=[{_SINGLE}])|(?<![^ ])(?!per |k[mgw] )[{_LATIN}]+ [{_LATIN}]+(?= )|[\u3002!?;]|,(?=\D)"
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


def tokens(text: str, length: int) -> list[Token]:
    """Return the tokens of a part of a text.

    :param length: word characters of the whole text. In a longer one counters and clocks are left out.
    """
    if length >= LONG_ENOUGH and _ASCII_DIGIT.search(text):
        text = _CHANGES.sub(" ", text)
    if length > SHORT:
        text = _RENUMBERED.sub(" ", text)
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "characters":
            found += map(_token, match[0])
        elif kind := _KINDS.get(match.lastgroup or ""):
            found.append(_token(match[0], kind))
        else:
            found += _number_tokens(match[0], match.groups())
    return found


@lru_cache(10_000)
def _token(written: str, kind: str = "w") -> Token:
    if written in _WORDS:
        return Token("n", str(_WORDS[written]), written)
    is_negation = written in _NEGATIONS or written.endswith("n't")
    return Token("x" if is_negation else kind, written.replace("\u00d7", "*"), written)


@lru_cache(10_000)
def _number_tokens(written: str, groups: tuple[str | None, ...]) -> tuple[Token, ...]:
    """Return the tokens of a match of ``_TOKEN``.

    :param groups: all of them, in their order.
    """
    match = dict(zip(_GROUPS, groups, strict=True))
    is_date = match["day"] is not None or match["after"] is not None
    unit = match["unit"] or ""
    written = written[: len(written) - len(unit)]
    if match["digits"]:
        values = _arabic_values(match["digits"], (match["sizes"] or "") + unit)
        if match["sign"] not in (None, "+"):
            values[0] = f"-{values[0]}"
        values[-1] += match["raised"] or ""
        if percent := match["percent"]:
            values[-1] += "‰" if percent == "‰" else "%"
        kind = "d" if is_date or len(values) == 3 else "n"
        return tuple([Token(kind, value, value if len(values) > 1 else written) for value in values])
    if match["alone"]:
        value = unicodedata.normalize("NFKC", written).replace("\u2044", "/")
    else:
        value, decimals = str(_chinese_value(match["chinese"] or "")), match["decimals"] or ""
        if digits := decimals.rstrip(_UNITS):
            value = f"{value}.{''.join(str(_VALUES[digit]) for digit in digits)}"
        value = _product(value, decimals[len(digits) :] + unit)
        if parts := match["parts"]:
            value += {"百": "%", "千": "‰"}.get(parts) or f"/{_chinese_value(parts)}"
    return (Token("d" if is_date else "n", f"-{value}" if match["below"] else value, written),)


def _arabic_values(digits: str, sizes: str) -> list[str]:
    """Return the values of what is written in digits: more than one for a date, a time, a range or a list.

    :param digits: with the points, commas, colons, slashes, hyphens and spaces between them.
    :param sizes: 百, 千, 万 or 亿, or an English one, behind them.
    """
    if _THOUSANDS.fullmatch(digits):
        parts = [re.sub("[, ]", "", digits)]
    elif _DATE.fullmatch(digits):
        parts = re.split("[-/.]", digits)
    elif len(plain := digits.replace("-", "")) >= _TELEPHONE and plain.isdecimal():
        parts = [plain]
    else:
        parts = re.split("[,: -]", digits)
    return [*(_product(part, "") for part in parts[:-1]), _product(parts[-1], sizes)]


def _product(digits: str, sizes: str) -> str:
    """Return digits with a point at most times the sizes. Of 1/3 and 192.168.1.1 each part is a number of its own."""
    if "/" in digits or digits.count(".") > 1:
        return re.sub(r"\d+", lambda part: f"{Decimal(part[0]):f}", digits) + sizes
    value = Decimal(digits)
    for size in re.findall("[a-z]{2,}|[k公百千万亿]", sizes):
        value *= _SIZES.get(size) or _VALUES[size]
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _chinese_value(numerals: str) -> int:
    """Return the value of Chinese numerals: 二〇二四 digit by digit, others by their units. 一百二 is 120."""
    unit = next((unit for unit in _UNITS if unit in numerals), None)
    if unit is None:
        return int("".join(str(_VALUES[digit]) for digit in numerals))
    above, _, below = numerals.rpartition(unit)
    size = _VALUES[unit]
    whole = size * (_chinese_value(above) if above else 1)
    if len(below) == 1 and size > 10 and below in _DIGITS:
        return whole + _VALUES[below] * size // 10
    return whole + (_chinese_value(below) if below else 0)
