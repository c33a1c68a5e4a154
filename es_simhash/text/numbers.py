"""Numbers, as people read them: by their value.

``1,200``, ``1200.00``, ``一千二百`` and ``0.12万`` are one number; so are ``1万2千`` and ``12000``, ``1/3`` and
``三分之一``, ``50%``, ``百分之五十``, ``五成``, ``500‰`` and ``50 percent``, ``1.2 million`` and ``1,200,000``,
``two hundred and five`` and ``205``, ``8``, ``八``, ``eight``, ``acht`` and the 8 of any script. ``三四`` are two, 3
and 4. A sign and a percent sign belong to the number: -5 is not 5. A superscript does, too: 10⁵ is not 105. A measure
counts in one unit: ``0.5kg``, ``1斤`` and ``500 g``. A year of a Japanese era, or of the republic, is that of the
common era: 令和6年, 2024年.

``numerals.txt`` has a value a line, and its names, ordinals too: in English, then in German, French, Spanish,
Portuguese, Italian and Dutch. ``units.txt`` has a quantity a line: its unit, then each size and its spellings.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.caches import cache_of_short

if TYPE_CHECKING:
    from collections.abc import Iterable


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


def any_of(words: Iterable[str]) -> str:
    """Return a regular expression for one of some words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


LATIN = "a-z\u00df-\u024f\u0370-\u03ff\u0400-\u052f\u0590-\u08ff\u0900-\u0965\u0970-\u0dff"
"""Letters of scripts that are written with spaces, as a class of a regular expression."""
DIGITS = "零〇○一二三四五六七八九两壹贰叁肆伍陆柒捌玖兩"
_MULTIPLES = "亿億万萬千仟百佰十拾"
CHINESE = f"{DIGITS}{_MULTIPLES}廿卅"
"""The characters of Chinese numerals."""
_VALUES = {character: int(unicodedata.numeric(character, 0)) for character in CHINESE}
_VALUES |= {"两": 2, "日": 7, "天": 7, "元": 1, **{str(digit): digit for digit in range(10)}}
RAISED = "\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089"
"""Superscripts and subscripts."""
_FRACTIONS = "\u00bc-\u00be\u2150-\u215f\u2189"
_SIZES = {"百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_SIZES |= {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SIZE_WORDS = any_of(size for size in _SIZES if size.isascii())
_PERCENTS = {"%": "1", "百": "1", "‰": "0.1", "千": "0.1", "万": "0.01", "成": "10", "percent": "1", "per cent": "1"}
"""Signs and names of shares, in percent."""
_NAMES = [(int(line.split()[0]), line.split()[1:]) for line in filter(None, _lines("numerals.txt"))]
WORDS = {word: value for value, words in _NAMES for word in words}
"""Names of numbers, with their values."""
_ENGLISH = any_of(word for _, words in _NAMES[: _lines("numerals.txt").index("")] for word in words)
_HYPHENATED = any_of(word for word in WORDS if "-" in word)
_ONE = rf"(?:(?:{any_of(word for word in WORDS if word.endswith('ty'))})[ -])?(?:{_ENGLISH})"
COMPOUND = rf"(?:and|{_ENGLISH}|{_SIZE_WORDS})(?![a-z])"
"""A word that may be a part of a number of several words."""
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民国": 1911}
_ERAS |= {"r": 2018, "h": 1988, "s": 1925}
"""The year before the first one of each era."""
_UNITS = {
    unit: [(Decimal(factor), spellings) for factor, *spellings in map(str.split, sizes.split("|"))]
    for unit, sizes in (line.split(maxsplit=1) for line in _lines("units.txt"))
}
"""The sizes of each quantity, each with its spellings."""
_FACTORS = {
    spelling: (unit, factor) for unit, sizes in _UNITS.items() for factor, spellings in sizes for spelling in spellings
}
UNITS_AND_ERAS = [*_FACTORS, *_ERAS]
_HAN_UNITS, _LATIN_UNITS = (any_of(unit for unit in _FACTORS if unit.isascii() == latin) for latin in (False, True))
UNIT = rf" ?(?:{_HAN_UNITS}|(?:{_LATIN_UNITS})(?![{LATIN}0-9]))"
_MIXED = rf"\d{{1,4}}(?:亿\d{{1,4}}[百千]?万|万\d(?!{UNIT})千(?:\d百)?|千\d百)"
_ABOUT = re.compile(rf"(.*[{_MULTIPLES}])?(一二|[二两]三|三[四五]|四五|五六|六七|七八|八九)([{_MULTIPLES}]*)")
"""About: 三四百 are 300 or 400."""
_THOUSANDS = re.compile(r"\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
_LONGEST = 15
"""Characters of the longest value that is written in a shorter form."""
_TELEPHONE = 9
"""Digits of the shortest telephone number: from here on hyphens separate nothing (0571-88880000, 400-800-1234)."""

_FIRST = "".join(sorted({era[0] for era in _ERAS})) + "零负日天元"
"""Characters of eras, signs and weekdays at which a number may begin. To look at the first character saves time."""
NUMBER = (
    rf"(?=[\da-z+\-\u2212\u2013{_FIRST}{CHINESE}{_FRACTIONS}\u2460-\u2473])"
    rf"(?:(?P<spelled>(?=[a-z])(?<![{LATIN}])(?:{_HYPHENATED}|{_ONE}|a(?= (?:{_SIZE_WORDS})))"
    rf"(?:(?:[ -](?:{_SIZE_WORDS}))+(?:(?: and)? {_ONE})?)*(?![{LATIN}]))"
    rf"|(?P<sign>(?<![0-9{LATIN})])[+\-\u2212\u2013](?=\d)|零下|负)?(?:"
    rf"(?P<era>{any_of(era for era in _ERAS if len(era) > 1)}"
    r"|(?<![a-z0-9])[rhs](?=\d{1,2}\.\d{1,2}\.\d{1,2}(?![\d.])))?"
    rf"(?:(?!{_MIXED})(?P<digits>\d{{1,3}}(?:[ ,]\d{{3}})+(?!\d)(?:\.\d+)?|\d+(?:[.,:/-]\d+)*)"
    rf"(?P<raised>[{RAISED}{_FRACTIONS}]*)"
    rf"(?P<sizes>[ -](?:{_SIZE_WORDS})(?![a-z])|(?:(?!{UNIT})[百千万亿]){{0,4}})"
    rf"|(?:(?P<parts>[{CHINESE}]{{1,50}})分之)?"
    rf"(?P<chinese>{_MIXED}|[{CHINESE}]{{1,50}}|(?<=[周期拜])[日天]"
    rf"|(?<={any_of(era for era in _ERAS if len(era) > 1)})元(?=年))"
    rf"(?:点(?:(?P<decimals>[{DIGITS}]{{1,50}}[百千万亿]{{0,4}}(?![{CHINESE}]))|(?P<half>半)))?)"
    r"(?: ?(?P<percent>[%‰]|per ?cent(?![a-z])|成(?![功立员都本果人品绩份分为年就长交型不行因套语])))?)"
    rf"(?P<unit>{UNIT})?"
    rf"|(?P<alone>[{_FRACTIONS}\u2460-\u2473]))"
)
"""A regular expression for a number. Its groups are those that :func:`values_of` reads."""
GROUPS = tuple(re.findall(r"\(\?P<(\w+)>", NUMBER))
_OTHERWISE = re.compile(
    rf"(?=[\d{CHINESE}分{''.join({name[0] for name in (*_SIZES, *_ERAS) if name not in CHINESE})}])"
    rf"(?:[{CHINESE}]{{3}}|分之|[{_MULTIPLES}]|\d{UNIT}|\d[ ,]\d{{3}}|000|{_SIZE_WORDS}"
    rf"|{any_of(era for era in _ERAS if len(era) > 1)}|[rhs]\d+\.\d+\.)"
)
"""What a text has if one of its numbers may be written otherwise than :func:`by_value` does."""


@cache_of_short(10_000, 30)
def values_of(written: str, groups: tuple[str | None, ...]) -> tuple[tuple[str, ...], str | None]:
    """Return the values of a match of ``NUMBER``, and their unit. A date, a time, a range or a list has several values.

    :param written: all of the match.
    :param groups: of the match, those of ``GROUPS``, in their order.
    """
    match = dict(zip(GROUPS, groups, strict=True))
    if match["spelled"]:
        return (str(_value_in_words(match["spelled"])),), None
    if match["alone"]:
        return (unicodedata.normalize("NFKC", match["alone"]).replace("\u2044", "/"),), None
    unit, factor = _FACTORS[match["unit"].strip()] if match["unit"] else (None, Decimal(1))
    percent = _PERCENTS.get(match["percent"] or match["parts"] or "")
    factor *= Decimal(percent or 1)
    if match["digits"]:
        values = _arabic_values(match["digits"], match["sizes"] or "", factor, match["era"])
        values[-1] += match["raised"] or ""
    elif about := _ABOUT.fullmatch(match["chinese"] or ""):
        values = [_chinese_number(match | {"chinese": f"{about[1] or ''}{one}{about[3]}"}, factor) for one in about[2]]
    else:
        values = [_chinese_number(match, factor)]
    values[-1] += "%" if percent else ""
    if match["sign"] not in (None, "+"):
        values[0] = f"-{values[0]}"
    return tuple(values), unit


@cache
def pattern_of_numbers() -> re.Pattern[str]:
    """Return what finds numbers."""
    return re.compile(NUMBER)


def by_value(text: str) -> str:
    """Return the text with long numerals and measures in one form, by their value.

    >>> by_value("播放量突破两千三百五十万,重0.5kg"), by_value("two hundred and fifty thousand visits in 2024")
    ('播放量突破2350万,重1斤', '25万 visits in 2024')
    """
    return text if _OTHERWISE.search(text) is None else pattern_of_numbers().sub(_in_one_form, text)


def _in_one_form(match: re.Match[str]) -> str:
    is_short = match["chinese"] and len(match[0]) < 3 and not match["unit"] and not match["era"]
    if is_short or (match["spelled"] and match["spelled"] in WORDS):
        return match[0]
    values, unit = values_of(match[0], match.group(*GROUPS))
    if len(values) > 1:
        return ".".join(values) if match["era"] else match[0]
    return _shortest(values[0], unit)


@cache_of_short(10_000, _LONGEST)
def _shortest(value: str, unit: str | None) -> str:
    """Return a value with its unit in the shortest form: 25万, 2mm."""
    if not value.replace(".", "", 1).isdecimal() or len(value) > _LONGEST:
        return f"{value}{unit or ''}"
    sizes = _UNITS[unit] if unit else [(Decimal(1), [""])]
    forms: list[str] = []
    for factor, (spelling, *_) in sizes:
        plain = Decimal(value) / factor
        forms.append(f"{_plain(plain)}{spelling}")
        forms += [f"{_plain(plain / of)}{size}{spelling}" for size, of in (("万", 10**4), ("亿", 10**8))]
    # A form with 万 or 亿 costs two characters more: 10kg and not 1万g, 12000 and not 1.2万.
    return min(forms, key=lambda form: len(form) + 2 * len(set("万亿").intersection(form)))


def _arabic_values(digits: str, sizes: str, factor: Decimal, era: str | None) -> list[str]:
    """Return the values of what is written in digits.

    :param digits: with the points, commas, colons, slashes, hyphens and spaces between them.
    :param sizes: 百, 千, 万 or 亿, or an English one, behind them.
    """
    if era and digits.count(".") == 2:
        parts = digits.split(".")
    elif _THOUSANDS.fullmatch(digits):
        parts = [re.sub("[, ]", "", digits)]
    elif _DATE.fullmatch(digits):
        parts = re.split("[-/.]", digits)
    elif len(plain := digits.replace("-", "")) >= _TELEPHONE and plain.isdecimal():
        parts = [plain]
    else:
        parts = re.split("[,: -]", digits)
    for size in re.findall("[a-z]{2,}|[百千万亿]", sizes):
        factor *= _SIZES[size]
    values = [*(_product(part, Decimal(1)) for part in parts[:-1]), _product(parts[-1], factor)]
    return [_plain(Decimal(values[0]) + _ERAS[era]), *values[1:]] if era and values[0].isdecimal() else values


def _product(digits: str, factor: Decimal) -> str:
    """Return digits with a point at most times a factor. Of 1/3 and 192.168.1.1 each part is a number of its own."""
    if "/" in digits or digits.count(".") > 1:
        return re.sub(r"\d+", lambda part: f"{Decimal(part[0]):f}", digits) + ("" if factor == 1 else f"*{factor}")
    return _plain(Decimal(digits) if factor == 1 else Decimal(digits) * factor)


def _plain(value: Decimal) -> str:
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _chinese_number(match: dict[str, str | None], factor: Decimal) -> str:
    value, decimals = str(_chinese_value(match["chinese"] or "") + _ERAS.get(match["era"] or "", 0)), match["decimals"]
    digits = (decimals or "").rstrip(_MULTIPLES)
    if digits or match["half"]:
        value = f"{value}.{''.join(str(_VALUES[digit]) for digit in digits) or 5}"
    for size in (decimals or "")[len(digits) :]:
        factor *= _SIZES[size]
    value = _product(value, factor)
    return value if (match["parts"] or "百") in _PERCENTS else f"{value}/{_chinese_value(match['parts'] or '')}"


def _chinese_value(numerals: str) -> int:
    """Return the value of Chinese numerals: 二〇二四 digit by digit, others by their units. 一百二 is 120."""
    numerals = numerals.replace("廿", "二十").replace("卅", "三十")
    unit = next((unit for unit in _MULTIPLES if unit in numerals), None)
    if unit is None:
        return int("".join(str(_VALUES[digit]) for digit in numerals))
    above, _, below = numerals.rpartition(unit)
    size = _VALUES[unit]
    whole = size * (_chinese_value(above) if above else 1)
    if len(below) == 1 and size > 10 and below in DIGITS:
        return whole + _VALUES[below] * size // 10
    return whole + (_chinese_value(below) if below else 0)


def _value_in_words(spelled: str) -> int:
    """Return the value of numerals in words: two hundred and five thousand."""
    whole = part = 0
    for word in re.split("[ -]", spelled) if spelled not in WORDS else [spelled]:
        size = _SIZES.get(word, 0)
        if size > 100:
            whole, part = whole + (part or 1) * size, 0
        else:
            part = (part or 1) * size if size else part + WORDS.get(word, 0)
    return whole + part
