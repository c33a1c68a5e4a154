"""Numbers as people read them: one value, however it is written.

``1,200``, ``1200.00``, ``一千二百`` and ``0.12万`` are one number; so are ``1/3`` and ``三分之一``,
``50%`` and ``百分之五十``, ``10:00`` and ``10``, ``8``, ``八``, ``eight`` and the 8 of any script. A sign and a percent
sign belong to the number: ``-5`` is not ``5``. A superscript does, too: 10⁵ is not 105.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

_LONGEST = 100
"""Characters of the longest numeral that is evaluated. What is longer is no quantity, and would take very long."""
_TELEPHONE = 9
"""Digits of the shortest telephone number: from here on hyphens separate nothing (0571-88880000, 400-800-1234)."""

CHINESE_DIGITS = "零〇○一二三四五六七八九两壹贰叁肆伍陆柒捌玖兩"
_UNITS = "亿億万萬千仟百佰十拾"
"""The units of Chinese numerals, the largest first."""
CHINESE = f"{CHINESE_DIGITS}{_UNITS}廿卅"
"""The characters of Chinese numerals."""
_VALUES = {character: int(unicodedata.numeric(character, 0)) for character in CHINESE} | {"两": 2}
RAISED = "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2080-\u2089\u2150-\u215f\u2189"
"""Superscripts, subscripts and fractions, as a class of a regular expression."""
_NUMERALS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
WORDS = dict(zip(_NUMERALS.split(), map(str, [*range(1, 20), *range(20, 100, 10)]), strict=True))
"""English numerals."""

_THOUSANDS = re.compile(r"\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?")
_BETWEEN = re.compile("[,: -]")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")


def arabic_values(sign: str | None, digits: str, raised: str, sizes: str, percent: str | None) -> list[str]:
    """Return the values of what is written in digits: more than one for a date, a time, a range or a list.

    >>> arabic_values("", "1,200.50", "", "", ""), arabic_values("-", "3.5", "", "亿", "")
    (['1200.5'], ['-350000000'])
    >>> arabic_values("", "2026-10-08", "", "", ""), arabic_values("", "10:00", "", "", "")
    (['2026', '10', '8'], ['10'])

    :param digits: with the points, commas, colons, slashes, hyphens and spaces between them.
    :param sizes: 百, 千, 万 or 亿 behind them.
    """
    if not digits.isascii():
        digits = "".join(str(unicodedata.decimal(character, character)) for character in digits)
    if _THOUSANDS.fullmatch(digits):
        digits = re.sub("[, ]", "", digits)
    elif (date := _DATE.fullmatch(digits)) is not None:
        return [part.lstrip("0") or "0" for part in date.groups()]
    elif len(plain := digits.replace("-", "")) >= _TELEPHONE and plain.isdecimal():
        digits = plain
    parts = _BETWEEN.split(digits)
    if ":" in digits:
        parts[1:] = [part for part in parts[1:] if part.strip("0")]
    values = [_plain(part, "") for part in parts[:-1]] + [_plain(parts[-1], sizes)]
    values[0] = ("-" if sign and sign != "+" else "") + values[0]
    values[-1] += raised + (percent or "")
    return values


def raised_value(character: str) -> str:
    """Return the value of a circled number, a fraction or a superscript that stands alone.

    >>> raised_value("❷"), raised_value("½"), raised_value("²")
    ('2', '1/2', '²')
    """
    plain = unicodedata.normalize("NFKC", character).replace("\u2044", "/")
    if "/" in plain or not re.fullmatch(f"[{RAISED}]", character):
        return plain if "/" in plain else f"{unicodedata.numeric(character):g}"
    return character


def _plain(digits: str, sizes: str) -> str:
    """Return the value of digits with a point or a slash at most, and what they are multiplied with."""
    if digits.isdecimal() and not sizes:
        return digits.lstrip("0") or "0"
    if len(digits) + len(sizes) > _LONGEST or digits.count(".") > 1 or "/" in digits:
        return "/".join(".".join(p.lstrip("0") or "0" for p in part.split(".")) for part in digits.split("/")) + sizes
    value = Decimal(digits)
    for size in sizes:
        value *= _VALUES[size]
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def chinese_value(
    run: str | None, parts: str | None = None, share: str | None = None, decimals: str | None = None
) -> str | None:
    """Return the value of Chinese numerals; None if they are none, such as 万一.

    >>> chinese_value("一百二"), chinese_value(None, "三", "一"), chinese_value("三", decimals="五亿")
    ('120', '1/3', '350000000')
    >>> chinese_value("万一")

    :param run: the numerals.
    :param parts: of a fraction, the numerals before 分之.
    :param share: those behind 分之.
    :param decimals: the numerals behind 点: digits, perhaps with a unit.
    """
    value = _value(run or share or "")
    if value is None:
        return None
    if decimals:
        digits = decimals.rstrip(_UNITS)
        return _plain(f"{value}.{''.join(str(_VALUES[digit]) for digit in digits)}", decimals[len(digits) :])
    if not parts:
        return str(value)
    if parts in ("百", "千"):
        return f"{value}{'%' if parts == '百' else '‰'}"
    whole = _value(parts)
    return None if whole is None else f"{value}/{whole}"


def _value(run: str) -> int | None:
    """Return the value of Chinese numerals, or None: 二〇二四 digit by digit, others by their units."""
    if len(run) == 1 and run in CHINESE_DIGITS:
        return _VALUES[run]
    if len(run) > _LONGEST:
        return None
    run = run.replace("廿", "二十").replace("卅", "三十")
    unit = next((unit for unit in _UNITS if unit in run), None)
    if unit is None:
        return int("".join(str(_VALUES[digit]) for digit in run)) if run else None
    before, _, after = run.rpartition(unit)
    size = _VALUES[unit]
    if size < 10**4 and len(before.lstrip("零〇○")) > 1:
        return None  # 两三百
    above = 1 if size == 10 and not before else _value(before)
    if len(after) == 1 and size > 10:
        below: int | None = _VALUES[after] * size // 10 if after in CHINESE_DIGITS else 10  # 一百二 is 120
    else:
        below = _value(after) if after else 0
    return None if above is None or below is None or below >= size else above * size + below
