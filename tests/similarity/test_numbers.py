"""Laws of numbers: one value, however it is written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.similarity.tokens import tokens
from es_simhash.text.numbers import NUMBER, by_value, pattern_of_numbers

DIGITS = "零一二三四五六七八九"


def values(text: str) -> list[str]:
    return [token.value for token in tokens(text, 0) if token.kind in "nd"]


def numeral(number: int) -> str:
    """A number from 1 in Chinese, as it is read: slow, by groups of four digits."""

    def group(value: int) -> str:
        text = ""
        for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
            digit = value // unit % 10
            if digit:
                text += DIGITS[digit] + name
            elif text and not text.endswith("零"):
                text += "零"
        return text.rstrip("零")

    text = ""
    for unit, name in ((10**8, "亿"), (10**4, "万"), (1, "")):
        value = number // unit % 10**4
        if value:
            text += ("零" if text and value < 1000 else "") + group(value) + name
    return text[1:] if text.startswith("一十") else text


@given(st.integers(1, 10**12 - 1))
def test_a_number_counts_by_its_value_in_digits_in_thousands_and_in_chinese(number: int) -> None:
    for written in (str(number), f"{number:,}", f"00{number}", f"{number}.00", numeral(number)):
        assert values(f"共{written}。") == [str(number)], written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("三月十五日", ["3", "15"]),
        ("二〇二四年", ["2024"]),
        ("一百二", ["120"]),
        ("一万亿", ["1000000000000"]),
        ("贰仟叁佰元", ["2300"]),
        ("1.2万", ["12000"]),
        ("三点五亿", ["350000000"]),
        ("三点五十分", ["3", "50"]),
        ("百分之五十", ["50%"]),
        ("50%", ["50%"]),
        ("千分之三 3‰ 万分之三十", ["0.3%"] * 3),
        ("三成 3成 百分之三十", ["30%"] * 3),
        ("三成员 一成不变", ["3", "1"]),
        ("1万2千 一万二千 1万2千5百 3千5百", ["12000", "12000", "12500", "3500"]),
        ("3亿5000万 1亿2千万 10万20万", ["350000000", "120000000", "100000", "200000"]),
        ("廿五 卅 廿", ["25", "30", "20"]),
        ("三四天 十七八岁 二三十人 三五百万", ["3", "4", "17", "18", "20", "30", "3000000", "5000000"]),
        ("一九三四 三四五", ["1934", "345"]),
        ("三分之一", ["1/3"]),
        ("1/3", ["1/3"]),
        ("½", ["1/2"]),
        ("10⁵", ["10⁵"]),
        ("②", ["2"]),
        ("气温-5度", ["-5"]),
        ("+5", ["5"]),
        ("12-18度", ["12", "18"]),
        ("2026-10-08", ["2026", "10", "8"]),
        ("9:00", ["9", "0"]),
        ("42km 42 km 42公里 42千米 四十二公里", ["42000"] * 5),
        ("6800万千瓦", ["68000000000"]),
        ("负5度", ["-5"]),
        ("百分之零点三", ["0.3%"]),
        ("25 percent 1.2 million twenty-five", ["25%", "1200000", "25"]),
        ("9:30", ["9", "30"]),
        ("192.168.1.12", ["192.168.1.12"]),
        ("400-800-1234", ["4008001234"]),
        ("1 998年", ["1998"]),
        ("१७ ๑๗ ١٧", ["17", "17", "17"]),
        ("周日", ["7"]),
        ("eight", ["8"]),
        ("two hundred and fifty thousand", ["250000"]),
        ("a million, one hundred and one", ["1000000", "101"]),
        ("acht dix-sept nueve undici tien twenty-first", ["8", "17", "9", "11", "10", "21"]),
        ("0.5kg 1斤 500g 500000毫克", ["500"] * 4),
        ("2l 2000ml 两升", ["2"] * 3),
        ("150cm 1.5米 1500毫米", ["1.5"] * 3),
        ("1tb 1000gb", ["1000"] * 2),
        ("500ma 0.5a 500毫安", ["0.5"] * 3),
        ("3kv 3千伏 2mw 2兆瓦 2千欧元", ["3000", "3000", "2000000", "2000000", "2000"]),
        ("令和6年 令和六年 平成元年 民国三十六年", ["2024", "2024", "1989", "1947"]),
        ("r6.4.1", ["2024", "4", "1"]),
        ("九点半", ["9.5"]),
    ],
)
def test_the_numbers_of_a_text_are(text: str, expected: list[str]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("播放量突破两千三百五十万", "播放量突破2350万"),
        ("播放量突破2350万", "播放量突破2350万"),
        ("同比增长百分之五点二", "同比增长5.2%"),
        ("a thousand, 250,000 visitors", "1000, 25万 visitors"),
        ("大米10kg和20斤", "大米20斤和20斤"),
        ("宽2mm", "宽2mm"),
        ("令和6年4月", "2024年4月"),
        ("千山万水，一万个理由", "千山万水，一万个理由"),
        ("第十二章，2026-10-08", "第十二章，2026-10-08"),
        ("one of two", "one of two"),
    ],
)
def test_long_numerals_and_measures_have_one_form(text: str, form: str) -> None:
    assert by_value(text) == form


@given(st.integers(100, 10**12 - 1).filter(lambda number: len(numeral(number)) > 2))
def test_the_form_of_a_number_is_that_of_its_numeral(number: int) -> None:
    form = by_value(f"共{number}人")
    assert by_value(f"共{numeral(number)}人") == form
    assert by_value(form) == form
    assert values(form) == [str(number)]


def test_numerals_of_any_length_have_a_value() -> None:
    assert "".join(values("一" * 101)) == "1" * 101
    assert values("9" * 5_000) == ["9" * 5_000]
    assert len(values("9" * 5_000 + "万" * 5_000)) > 100
    assert values("十" * 5_000)


@given(st.text("059零一二百千万两点分之负下平成民国元年周日r. -–+%kgm公里斤½①²三百milion第条,:/（", max_size=20))
def test_every_number_begins_with_a_character_at_which_one_is_looked_for(text: str) -> None:
    spans = [match.span() for match in pattern_of_numbers().finditer(text)]
    assert spans == [match.span() for match in re.finditer(NUMBER, text)]
