"""The tokens of a text that are aligned with those of another one (``differences.py``).

A token is a number (``fingerprinting/numbers.py`` reads them), a sign, a word, or a character of a script without
spaces. Counters (阅读 10234), clocks with seconds, times of an update (更新时间 10:31, 5 hours ago) and numbers of
references ([12]) change by themselves. They are left out in texts of ``LONG_ENOUGH`` word characters, and numbers of
articles (第12条) in longer ones.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from es_simhash.fingerprinting.numbers import (
    CHINESE,
    CHINESE_DIGITS,
    RAISED,
    WORDS,
    arabic_values,
    chinese_value,
    raised_value,
)

LONG_ENOUGH = 60
"""Word characters of the shortest text in which counters and clocks do not count."""
SHORT = 150
"""Word characters of the longest text in which numbers of articles (第12条) count: a revision renumbers them."""
OPPOSITES = [
    [term.split("=") for term in line.split()]
    for line in Path(__file__).with_name("opposites.txt").read_text(encoding="utf-8").splitlines()
]
"""Terms that exclude each other, in groups. A term has one spelling or several."""
_MONTHS = [spelling for terms in OPPOSITES if "january" in terms[0] for term in terms for spelling in term]
_SPELLINGS = [spelling for terms in OPPOSITES for term in terms for spelling in term]
_LONG = [spelling for spelling in _SPELLINGS if len(spelling) > 1 and spelling[0] > "\u3040"]
"""Terms of several characters, in a script without spaces."""

_COUNTED = (
    "阅读|浏览|点击|评论|点赞|转发|分享|收藏|播放|访问|围观|下载|回复|人气|热度"
    "|views|reads|comments|likes|downloads|replies"
)
_MEASURES = "个本部页篇章遍年月日天分小秒项种位名人户家套份万千百余多元%‰"
_SIZE = r"[0-9]+(?:[.,][0-9]+)*[万亿kw]?\+?"
_DAY = "[0-9]{4}[-/.年][0-9]{1,2}[-/.月][0-9]{1,2}日?"
_CHANGES = re.compile(
    rf"(?:{_COUNTED})(?:量|数|次数)?[ :(]*{_SIZE}(?![0-9]|[.,][0-9]|[{_MEASURES}])[次)]*"
    rf"|(?<![0-9]){_SIZE} ?(?:次|人)?(?:{_COUNTED})(?![a-z])(?:量|数)?"
    rf"|(?:更新|发布|刷新)(?:时间|日期|于)?[ :]*(?:{_DAY} ?)?[0-9]{{1,2}}:[0-9]{{2}}(?![0-9:])"
    r"|[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"|(?<![0-9])[0-9]+ ?(?:(?:秒钟?|分钟|个?小时)前|(?:second|minute|min|hour)s? ago)"
    r"|(?<=[,.;:!?。\u3400-\u9fff])\[[0-9]+\]"
)
_REFERENCE = re.compile(f"第(?:[0-9]+|[{CHINESE}]+)(?=[条款项章节])")
_DIGIT = re.compile("[0-9]")
_NO_NEGATIONS = "不[仅但过断论管久少错同]|非常|非洲|无论|无锡|未来|未必"
_FIRST = {term[0] for term in _LONG} | set(CHINESE) | set("周星礼不非无未更新发布刷小时间日期次数量钟") | set(_COUNTED)
"""Characters at which something longer than a character may begin."""
_ENDS = ["\u33ff", *sorted(first for first in _FIRST if "\u3400" <= first <= "\u9fff"), "\ua000"]
_SINGLE = "".join(f"{chr(ord(a) + 1)}-{chr(ord(b) - 1)}" for a, b in pairwise(_ENDS) if ord(b) - ord(a) > 1)
"""All other Han characters, as a class of a regular expression: each is a token of its own."""
_LATIN = "a-z\u00df-\u024f\u0370-\u03ff\u0400-\u052f\u0590-\u08ff\u0900-\u0965\u0970-\u0dff"
_SIGNS = r"+*\u00d7\u00f7\u00b1\u221a\u2713\u2714\u2717\u2718\u25cb$\u00a3\u00a5\u20a0-\u20bf"
_TOKEN = re.compile(
    rf"(?P<characters>[{_SINGLE}]+)"
    rf"|(?P<term>{_NO_NEGATIONS}|{'|'.join(_LONG)})"
    rf"|(?:(?P<sign>(?<![0-9{_LATIN})])[+\-\u2212\u2013]|零下)?(?=\d)"
    rf"(?P<after>{'|'.join(f'(?<={month} )' for month in _MONTHS)})?"
    r"(?P<digits>\d{1,3}(?:[ ,]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:[.,:/-]\d+)*)"
    rf"(?P<raised>[{RAISED}]*)(?P<sizes>[百千万亿]*)(?: ?(?P<percent>[%‰]))?"
    rf"|(?P<below>零下)?(?:(?P<parts>[{CHINESE}]+)分之(?P<share>[{CHINESE}]+)"
    rf"|(?P<chinese>[{CHINESE}]+)(?:点(?P<decimals>[{CHINESE_DIGITS}]+[百千万亿]*(?![{CHINESE}])))?))"
    rf"(?P<day>(?=[月日号]| (?:{'|'.join(_MONTHS)})))?"
    rf"|(?P<alone>[{RAISED}\u2460-\u2473\u2776-\u277f])"
    rf"|(?P<weekday>(?:周|星期|礼拜)[日天])"
    rf"|(?P<symbol>[<>\u2264\u2265=\u2260]=?|[{_SIGNS}]"
    rf"|(?<=\()-(?=\))|(?<= )-(?= )|(?<![0-9{_LATIN}])[a-z]{{1,2}}(?=[\u3400-\u9fff]))"
    rf"|(?P<word>[{_LATIN}]+(?:'[{_LATIN}]+)*(?:\++|(?<![{_LATIN}]{{2}})#|-(?![\w \n]|$)|-(?=[\u3400-\u9fff]))?)"
    r"|(?P<other>\w)"
)
BORDER = rf"[{_SINGLE}]{{2}}|(?<![^ ])[{_LATIN}]+ [{_LATIN}]+ [{_LATIN}]+(?= )|[\u3002!?;]|,(?=\D)"
"""A regular expression for borders. No token reaches across a border. So where two texts have the same border, what
stands on its two sides is compared alone."""
_ANY_NUMBER = re.compile(rf"\d+(?:[.,]\d+)*|[{CHINESE}]+")
_OF_THOUSAND = tuple("瓦克米伏赫卡帕焦")
"""Units that are written with 千 before them: 千瓦, 千克."""
_KINDS = {"term": "w", "word": "w", "other": "w", "symbol": "s"}
_NOT = "not no never without cannot nor nicht kein keine pas jamais sans не нет без"
_NEGATIONS = frozenset([*"不没无未非勿", *_NOT.split()])


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
    if length >= LONG_ENOUGH and _DIGIT.search(text):
        text = _CHANGES.sub(" ", text)
    if length > SHORT and "第" in text:
        text = _REFERENCE.sub("第", text)
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "characters":
            found += map(_token, match[0])
        elif kind := _KINDS.get(match.lastgroup or ""):
            found.append(_token(match[0], kind))
        else:
            found += _number_tokens(match)
    return found


@lru_cache(10_000)
def _token(written: str, kind: str = "w") -> Token:
    if written in WORDS:
        return Token("n", WORDS[written], written)
    return Token("x" if written in _NEGATIONS or written.endswith("n't") else kind, written, written)


def _number_tokens(match: re.Match[str]) -> list[Token]:
    written, is_date = match[0], match["day"] is not None or match["after"] is not None
    if match.string.startswith(_OF_THOUSAND, match.end()):
        written = written.removesuffix("千")  # its value counts, but people read it as a part of the unit
    if match["digits"]:
        values = arabic_values(*match.group("sign", "digits", "raised", "sizes", "percent"))
        kind = "d" if is_date or len(values) == 3 else "n"
        return [Token(kind, value, value if len(values) > 1 else written) for value in values]
    if match["alone"]:
        value: str | None = raised_value(written)
    else:
        value = "7" if match["weekday"] else chinese_value(*match.group("chinese", "parts", "share", "decimals"))
    if value is None:
        return [_token(part) for part in written]
    return [Token("d" if is_date else "n", f"-{value}" if match["below"] else value, written)]
