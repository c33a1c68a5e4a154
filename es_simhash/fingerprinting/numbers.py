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

_DIGITS = dict(
    zip("零〇○一二三四五六七八九两壹贰叁肆伍陆柒捌玖兩", (0, 0, 0, *range(1, 10), 2, *range(1, 10), 2), strict=True)
)
_TENS = {"廿": 20, "卅": 30}
_UNITS = {"十": 10, "百": 100, "千": 1_000, "拾": 10, "佰": 100, "仟": 1_000}
_MYRIADS = {"万": 10**4, "亿": 10**8, "萬": 10**4, "億": 10**8}
_SIZES = _UNITS | _MYRIADS
CHINESE = "".join((*_DIGITS, *_TENS, *_UNITS, *_MYRIADS))
"""The characters of Chinese numerals."""
RAISED = "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2080-\u2089\u2150-\u215f\u2189"
"""Superscripts, subscripts and fractions, as a class of a regular expression."""
_NUMERALS = "one two three four five six seven eight nine ten eleven twelve"
WORDS = {word: str(value) for value, word in enumerate(_NUMERALS.split(), start=1)}
"""English numerals."""

_THOUSANDS = re.compile(r"\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?")
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
    elif re.fullmatch("[0-9-]+", digits) and len(digits) - digits.count("-") >= _TELEPHONE:
        digits = digits.replace("-", "")
    first, *others = re.split(r"[,:\- ]", digits)
    if others and ":" in digits:
        others = [part for part in others if part.strip("0")]
    parts = [first, *others]
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
    if len(digits) + len(sizes) > _LONGEST or digits.count(".") > 1 or "/" in digits:
        return "/".join(".".join(p.lstrip("0") or "0" for p in part.split(".")) for part in digits.split("/")) + sizes
    value = Decimal(digits)
    for size in sizes:
        value *= _SIZES[size]
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def chinese_value(run: str, share: str = "", decimals: str = "") -> str | None:
    """Return the value of Chinese numerals; None if they are none, such as 万一.

    >>> chinese_value("一百二"), chinese_value("三", share="一"), chinese_value("三", decimals="五亿")
    ('120', '1/3', '350000000')
    >>> chinese_value("万一")

    :param share: the numerals behind 分之.
    :param decimals: the numerals behind 点.
    """
    if run in _SIZES and run not in "十拾" and not share:
        return None
    if decimals:
        digits, sizes = re.fullmatch(r"(.*?)([百千万亿]*)", decimals).groups()  # type: ignore[union-attr]
        whole = _value(run)
        if whole is None or not digits or any(digit not in _DIGITS for digit in digits):
            return None
        return _plain(f"{whole}.{''.join(str(_DIGITS[digit]) for digit in digits)}", sizes)
    value = _value(share or run)
    if value is None or not share:
        return None if value is None else str(value)
    if run in ("百", "千"):
        return f"{value}{'%' if run == '百' else '‰'}"
    whole = _value(run)
    return None if whole is None else f"{value}/{whole}"


def _value(run: str) -> int | None:
    """Return the value of Chinese numerals, or None: 二〇二四 digit by digit, others by their units."""
    if len(run) > _LONGEST:
        return None
    if all(digit in _DIGITS for digit in run):
        return int("".join(str(_DIGITS[digit]) for digit in run))
    total = section = 0
    digit: int | None = None  # the digit that waits for its unit
    last = 0  # the last unit, which a digit at the end may leave out: 一百二 is 120
    for character in run:
        if character in _DIGITS:
            if digit:
                return None  # two digits without a unit between them
            digit = _DIGITS[character]
            last = 0 if digit == 0 else last
        elif character in _TENS:
            section, digit, last = section + _TENS[character], None, 10
        elif character in _UNITS:
            unit = _UNITS[character]
            if not digit and unit != 10:
                return None  # 百姓, 千万: no digit before it
            section, digit, last = section + (digit or 1) * unit, None, unit
        else:
            section += digit or 0
            if not section:
                if not total:
                    return None  # 万一
                section, total = total, 0  # 一万亿
            total, section, digit, last = total + section * _MYRIADS[character], 0, None, _MYRIADS[character]
    if digit:
        section += digit * (last // 10 if last >= 100 else 1)
    return total + section
