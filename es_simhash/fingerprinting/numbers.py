"""Numbers of a text. Another day's notice differs from today's in little else: its numbers tell that it is no copy.

A number counts by its value, however it is written: ``１２，０００``, ``12000``, ``1.2万`` and ``一万二千`` are one.
Percent and fractions keep their sign: ``50%`` and ``百分之五十`` are ``50%``, ``三分之一`` is ``1/3``.

Chinese numerals also stand in words that are no numbers (一些, 三峡, 十分, 万一, 千万). They count only

- where two or more of them form a number (十五, 一百二十, 二〇二四, 廿三); two digits side by side (三四, 八一)
  do so before 年 only;
- where one stands behind 第, 星期 or 周, or before a unit of time or a measure word (三月, 两人). 一 needs more,
  because 一个, 一次 and 一时 are words: it counts behind 第, 星期 and 周, before 月 and 号, and before 日 behind 月.

A reference to a part of a document (第三条, 第2款, 第十章) does not count. An amendment numbers the parts again, and a
law has few other numbers beside them.

Numbers in a link do not count: one page has several addresses, such as one for each app that leads to it.

Two texts agree if they have nearly the same numbers: the ones that both have, divided by those of the text that has
more, are ``AGREE`` or more. A revised version of a long text has another number here and there.
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal

from es_simhash.fingerprinting.normalisation import compared_characters, normalise, without_links

AGREE = 0.8
"""The least share of the numbers that agreeing texts have in common. Of four numbers or fewer it is all of them."""
_LONGEST = 100
"""Characters of the longest numeral that is evaluated. What is longer is no quantity, and would take very long."""

_DIGITS = dict(
    zip("零〇○一二三四五六七八九两壹贰叁肆伍陆柒捌玖兩", (0, 0, 0, *range(1, 10), 2, *range(1, 10), 2), strict=True)
)
_TENS = {"廿": 20, "卅": 30}
_UNITS = {"十": 10, "百": 100, "千": 1_000, "拾": 10, "佰": 100, "仟": 1_000}
_MYRIADS = {"万": 10**4, "亿": 10**8, "萬": 10**4, "億": 10**8}
_CHINESE = "".join((*_DIGITS, *_TENS, *_UNITS, *_MYRIADS))

_BEFORE = ("第", "星期", "周")
_TIME = "年月日号时点"
_PARTS = "条款项章节编"
_MEASURES = "人名个天岁次家所条件辆台只级度届位层栋起例米吨元章款项期周小分倍种"
# A part that repeats without a limit takes a hundred bytes of memory each time.
_ARABIC = r"[0-9]{1,3}(?:,[0-9]{3}){1,100}(?:\.[0-9]+)?(?![0-9])|[0-9]+(?:\.[0-9]+){0,100}"
_NUMBER = re.compile(
    f"(?=[0-9{''.join(_BEFORE)}{_CHINESE}])(?:"  # most characters begin no number: this is seen at once
    f"(?P<reference>第(?:[{_CHINESE}]+|[0-9]+)[{_PARTS}])"
    f"|(?P<parts>[{_CHINESE}]+)分之(?P<share>[{_CHINESE}]+|{_ARABIC})"
    f"|(?P<arabic>{_ARABIC})(?P<myriads>[万亿]*)(?P<percent>[%‰]?)"
    f"|(?P<before>{'|'.join(_BEFORE)})?(?P<chinese>[{_CHINESE}]+)(?P<after>[{_TIME}{_MEASURES}]?))"
)

_GOES_ON = f"0-9{_CHINESE}{''.join(_BEFORE)}分之月"  # what a number, or what decides about one, may go on behind
_FOLLOWS = f"0-9{_CHINESE}期分之{_TIME}{_PARTS}{_MEASURES}"
_MAY_JOIN = re.compile(rf"[{_GOES_ON}][\W_]+[{_FOLLOWS}]|[0-9万亿][%‰]")
"""What a number may become part of, or lose, where only the word characters of a text are left."""


def numbers(text: str) -> Counter[str]:
    """Return the numbers of a text and how often it has each.

    >>> dict(numbers("二〇二四年3月十五日，一些居民捐款１,２００.50元，增长百分之三十"))
    {'2024': 1, '3': 1, '15': 1, '1200.5': 1, '30%': 1}

    :returns: a value in decimal digits without leading zeros and trailing zeros behind the point; with ``%`` or ``‰``;
        a fraction as ``1/3``; what has several points (versions, addresses) as it stands.
    :raises InputError: if the text is not a string, or has a lone surrogate.
    """
    return numbers_of_normalised(normalise(text))


def numbers_of_normalised(text: str) -> Counter[str]:
    """Return :func:`numbers` of a normalised text."""
    found: Counter[str] = Counter()
    normalised = without_links(text)
    for match in _NUMBER.finditer(normalised):
        reference, parts, share, arabic, myriads, percent, before, chinese, after = match.groups()
        if reference:
            made = None
        elif parts:
            made = _share(parts, share)
        elif arabic:
            made = _arabic(arabic, myriads) + percent
        else:
            made = _chinese(chinese, before or normalised[max(match.start() - 1, 0)], after)
        if made is not None:
            found[made] += 1
    return found


def numbers_of_words(normalised: str) -> Counter[str]:
    """Return the numbers of the word characters of a normalised text.

    A line break or a space inside a number changes its value for :func:`numbers`, and so does a lost decimal point.
    Here it does not: two texts with the same word characters have the same numbers.

    >>> numbers_of_words("1 9 98年,3.5%") == numbers_of_words("1998年3 5")
    True
    """
    return numbers_of_normalised(compared_characters(normalised))


def have_words_the_same_numbers(normalised: str) -> bool:
    """Return True if a normalised text certainly has the numbers of its word characters; False if it may have others.

    They are the same if no part of a number stands on both sides of punctuation, and no percent sign is left out.
    """
    return _MAY_JOIN.search(without_links(normalised)) is None


def numbers_agree(a: Counter[str], b: Counter[str], lengths: tuple[int, int] | None = None) -> bool:
    """Return whether two texts have nearly the same numbers; two texts without numbers have.

    >>> numbers_agree(numbers("三月十五日停水"), numbers("3月15日停水")), numbers_agree(numbers("3日"), numbers("4日"))
    (True, False)

    :param lengths: of the two texts, if the shorter one may be a part of the longer one. Then ``AGREE`` of the numbers
        of the shorter text must be among those of the longer text. Of two equal lengths, either may be the shorter one.
    """
    ours, theirs = a.total(), b.total()
    of = max(ours, theirs)
    if lengths is not None:
        of = min(ours, theirs) if lengths[0] == lengths[1] else ours if lengths[0] < lengths[1] else theirs
    both = sum(min(count, b[number]) for number, count in a.items() if number in b)
    return both >= AGREE * of


def _arabic(digits: str, myriads: str) -> str:
    digits = digits.replace(",", "")
    if digits.isdigit() and not myriads:
        return digits.lstrip("0") or "0"
    if digits.count(".") > 1:
        return digits
    if len(digits) + len(myriads) > _LONGEST:
        return (digits.lstrip("0") or "0") + myriads
    value = Decimal(digits)
    for myriad in myriads:
        value *= _MYRIADS[myriad]
    return _plain(value)


def _plain(value: Decimal) -> str:
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _share(parts: str, share: str) -> str | None:
    of = share if share[0] not in _CHINESE else _value(share)
    if of is None:
        return None
    of = _arabic(str(of), "")
    if parts in ("百", "千"):
        return of + ("%" if parts == "百" else "‰")
    whole = _value(parts)
    return None if whole is None else f"{of}/{whole}"


def _chinese(run: str, before: str, after: str) -> str | None:
    """Return the value of a run of Chinese numerals if it is a number where it stands.

    :param before: 第, 星期 or 周, or else the character before the run.
    :param after: a unit or a measure word, or nothing.
    """
    value = _value(run)
    if value is None:
        return None
    if len(run) == 1:
        if before in _BEFORE or (before == "月" and after == "日"):
            return str(value)
        if run in "一壹":
            return str(value) if after and after in "月号" else None
        # 十分 is mostly "very", 百 and more alone are mostly parts of words.
        return str(value) if after and value <= 10 and run + after != "十分" else None
    pair = len(run) == 2 and all(digit in _DIGITS for digit in run) and run[1] not in "零〇○"
    return str(value) if not pair or after == "年" else None


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
