"""Laws of the numbers of a text: by value, however they are written, and no words."""

from __future__ import annotations

import time
import tracemalloc
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.fingerprinting.normalisation import normalise
from es_simhash.fingerprinting.numbers import (
    have_words_the_same_numbers,
    numbers,
    numbers_agree,
    numbers_of_normalised,
    numbers_of_words,
)

DIGITS = "零一二三四五六七八九"


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
def test_a_number_counts_by_its_value_in_digits_in_thousands_in_full_width_and_in_chinese(number: int) -> None:
    wide = "".join(chr(ord(digit) + 0xFEE0) for digit in str(number))
    for written in (str(number), f"{number:,}", wide, f"00{number}", f"{number}.00", f"第{numeral(number)}"):
        assert numbers(f"共{written}，") == Counter([str(number)]), written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("三月十五日", ["3", "15"]),
        ("二〇二四年", ["2024"]),
        ("二○二四年", ["2024"]),
        ("九八年", ["98"]),
        ("一千二百三十", ["1230"]),
        ("一百二", ["120"]),
        ("一百零二", ["102"]),
        ("三千五", ["3500"]),
        ("一万二", ["12000"]),
        ("一万亿", ["1000000000000"]),
        ("廿三", ["23"]),
        ("卅", []),
        ("两人", ["2"]),
        ("十人", ["10"]),
        ("一月一日", ["1", "1"]),
        ("第一名", ["1"]),
        ("星期三，周五", ["3", "5"]),
        ("贰仟叁佰元", ["2300"]),
        ("1.2万", ["12000"]),
        ("3亿", ["300000000"]),
        ("百分之五十", ["50%"]),
        ("百分之12.50", ["12.5%"]),
        ("50％", ["50%"]),
        ("千分之三", ["3‰"]),
        ("三分之一", ["1/3"]),
        ("10:30", ["10", "30"]),
        ("2024-03-05", ["2024", "3", "5"]),
        ("iPhone14 v1.2.3", ["14", "1.2.3"]),
        ("1,23", ["1", "23"]),
        ("0.50", ["0.5"]),
        ("00", ["0"]),
    ],
)
def test_numbers_are(text: str, expected: list[str]) -> None:
    assert numbers(text) == Counter(expected)


@pytest.mark.parametrize(
    "text",
    [
        *("一些", "一个", "三峡", "十分", "万一", "千万", "百姓", "四川", "一直", "统一", "一般", "一时", "三三"),
        *("两国", "五四", "三亚", "千千万万", "百万", "不三不四", "一日之计"),
    ],
)
def test_chinese_numerals_inside_words_are_no_numbers(text: str) -> None:
    assert not numbers(f"有{text}，")


def test_a_reference_to_a_part_of_a_document_is_no_number() -> None:
    assert numbers("依照第三十二条第二款、第10项和第五章，第三次的罚款为两百元，共五条") == Counter(["3", "200", "5"])


def test_an_amended_law_may_number_its_articles_again_and_another_date_makes_it_another_text() -> None:
    def law(first: int, day: int) -> str:
        articles = (
            f"第{numeral(number)}条 违反本条例第{numeral(number + 9)}条的，责令改正。" for number in range(first, 30)
        )
        return f"（2001年9月{day}日公布）{''.join(articles)}"

    assert numbers_agree(numbers(law(1, 3)), numbers(law(7, 3)))
    assert not numbers_agree(numbers(law(1, 3)), numbers(law(1, 4)))


def test_numbers_agree_if_each_is_there_as_often() -> None:
    assert numbers_agree(numbers("3月5日，共5人"), numbers("三月五日，共五人"))
    assert not numbers_agree(numbers("3月5日，共5人"), numbers("3月5日"))
    assert numbers_agree(Counter(), Counter())


def test_the_numbers_of_a_shorter_text_must_be_among_those_of_the_longer_text() -> None:
    whole, part = numbers("3月5日，共5人"), numbers("3月5日")
    assert numbers_agree(whole, part, (9, 4))
    assert not numbers_agree(numbers("3月6日"), whole, (4, 9))
    assert not numbers_agree(whole, part, (4, 9))  # the shorter text has a number that the longer one lacks
    assert numbers_agree(whole, part, (9, 9))


counters = st.dictionaries(st.sampled_from("123"), st.integers(1, 3), max_size=3).map(Counter)
lengths = st.none() | st.tuples(st.integers(0, 2), st.integers(0, 2))


@given(ours=counters, theirs=counters, lengths=lengths)
def test_agreement_is_symmetric_and_equals_the_plain_rule(
    ours: Counter[str], theirs: Counter[str], lengths: tuple[int, int] | None
) -> None:
    left, shared = sorted(theirs.elements()), 0
    for number in ours.elements():
        if number in left:
            left.remove(number)
            shared += 1
    sizes = [len(list(each.elements())) for each in (ours, theirs)]
    compared = (
        [max(sizes)] if lengths is None else [s for s, n in zip(sizes, lengths, strict=True) if n == min(lengths)]
    )
    expected = any(shared >= Fraction(4, 5) * size for size in compared)
    assert numbers_agree(ours, theirs, lengths) == expected
    assert numbers_agree(theirs, ours, lengths[::-1] if lengths else None) == expected
    assert numbers_agree(ours, ours, lengths)


@given(st.text("一1２3.,% \n年月，。", max_size=20), st.data())
def test_numbers_of_word_characters_do_not_change_with_spaces_line_breaks_and_punctuation(
    text: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(text)))
    mark = data.draw(st.sampled_from(["\n", " ", "，", "。", "🎉"]))
    assert numbers_of_words(normalise(text[:at] + mark + text[at:])) == numbers_of_words(normalise(text))


@pytest.mark.parametrize(
    "text",
    [
        *("7" * 10**6, "七" * 10**6, "二〇" * 3_000, "十" * 10**6, "一" + "亿" * 10**6, "1" + "亿" * 10**6),
        *("1,111" * 10**5, "1" + ",111" * 10**5, "1.1" * 10**5, "三分之" * 10**5, "三" * 10**5 + "分之" + "一" * 10**5),
        *("0" * 10**6 + "5", "第" * 10**5 + "三", "7" * 10**6 + "%", "1e5" * 10**5, "٣" * 10**5),
    ],
)
def test_numerals_of_any_length_are_read_in_a_short_time(text: str) -> None:
    begin = time.process_time()
    assert numbers_agree(numbers(text), numbers(text))
    assert time.process_time() - begin < 20


@pytest.mark.parametrize("text", ["1." * 500_000, "1" + ",111" * 250_000, "7" * 10**6])
def test_the_numbers_of_a_million_characters_take_some_megabytes(text: str) -> None:
    tracemalloc.start()
    try:
        assert numbers(text)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


def test_long_numbers_count_by_their_digits() -> None:
    assert numbers("7" * 5_000) == numbers("00" + "７" * 5_000) != numbers("7" * 4_999)


@pytest.mark.parametrize(("more", "agree"), [(1, True), (2, True), (3, False)])
def test_a_revision_of_a_text_of_ten_numbers_may_have_two_more(more: int, agree: bool) -> None:
    one = " ".join(str(100 + number) for number in range(10))
    other = one + " 7" * more
    assert numbers_agree(numbers(one), numbers(other)) == agree


def test_numbers_in_a_web_address_do_not_count() -> None:
    assert numbers("见https://example.cn/2024/a1.html?id=17 共3人") == Counter(["3"])
    assert numbers_of_words(normalise("共3人 http://t.cn/A6 12日")) == Counter(["3", "12"])


pieces = [
    "1",
    "98",
    "3.5",
    "%",
    "‰",
    ",",
    "，",
    " ",
    "_",
    "。",
    "第",
    "条",
    "三",
    "十",
    "百分之",
    "万",
    "月",
    "日",
    "周",
    "水",
]


@given(st.lists(st.sampled_from([*pieces, "\u0301", "https://x.cn/9 "]), max_size=9).map("".join))
def test_where_it_is_seen_at_once_the_word_characters_have_the_numbers_of_the_text(text: str) -> None:
    normalised = normalise(text)
    if have_words_the_same_numbers(normalised):
        assert numbers_of_words(normalised) == numbers_of_normalised(normalised)


def test_of_ordinary_texts_it_is_seen_at_once() -> None:
    assert have_words_the_same_numbers(normalise("3月15日，第三届运动会开幕。全市有200名运动员参加"))
    assert not have_words_the_same_numbers(normalise("增长了 1 200 元"))
