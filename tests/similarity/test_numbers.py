"""Laws of numbers: one value, however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.similarity.tokens import tokens

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
        ("千分之三", ["3‰"]),
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
    ],
)
def test_the_numbers_of_a_text_are(text: str, expected: list[str]) -> None:
    assert values(text) == expected


def test_numerals_of_any_length_have_a_value() -> None:
    assert "".join(values("一" * 101)) == "1" * 101
    assert values("9" * 5_000) == ["9" * 5_000]
    assert len(values("9" * 5_000 + "万" * 5_000)) > 100
    assert values("十" * 5_000)
