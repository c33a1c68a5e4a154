"""Laws of normalised text: what a reader does not see makes no difference, and nothing else is lost."""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.text import normalisation
from es_simhash.text.characters import RADICALS, SCRIPTS
from es_simhash.text.normalisation import (
    LONGEST_FOLDED,
    compared_characters,
    compared_characters_of_texts,
    folded_length,
    normalise,
    without_links,
    word_characters,
)
from es_simhash.text.tokens import segmenter, tokenize

INVISIBLE = [
    chr(code)
    for first, last in (
        (0x0000, 0x0008),  # control characters that are no white space
        (0x000E, 0x001B),
        (0x007F, 0x0084),
        (0x0086, 0x009F),
        (0x00AD, 0x00AD),  # soft hyphen
        (0x034F, 0x034F),  # combining grapheme joiner
        (0x061C, 0x061C),  # Arabic letter mark
        (0x180B, 0x180E),  # Mongolian variation selectors and vowel separator
        (0x200B, 0x200F),  # zero-width space, non-joiner and joiner, direction marks
        (0x202A, 0x202E),  # embeddings and overrides of the direction
        (0x2060, 0x2064),  # word joiner, invisible operators
        (0x2066, 0x206F),  # isolates, deprecated format characters
        (0xFE00, 0xFE0F),  # variation selectors
        (0xFEFF, 0xFEFF),  # byte-order mark
        (0xFFF9, 0xFFFB),  # interlinear annotation
        (0x115F, 0x1160),  # fillers of Hangul
        (0x3164, 0x3164),
        (0xFFA0, 0xFFA0),
        (0x0334, 0x0336),  # lines through a character
        (0x0640, 0x0640),  # tatweel
        (0x064B, 0x0652),  # vowel signs of Arabic
        (0x0670, 0x0670),
        (0x0591, 0x05BD),  # points of Hebrew
        (0x05BF, 0x05BF),
        (0x05C1, 0x05C2),
        (0x05C4, 0x05C5),
        (0x05C7, 0x05C7),
        (0xE0100, 0xE01EF),  # ideographic variation selectors
    )
    for code in range(first, last + 1)
]
AS_WRITTEN = "²³¹¼½¾⁰⁴-⁹₀-₉⅐-⅟↉①-⑳⓪㉑-㉟㊀-㊿\U0001f200-\U0001f2ff"
SPACES = " \t\n\r\x0b\x0c\x1c\x85\u00a0\u2003\u2028\u3000"
# Characters that NFKC, case folding or the full-width shortcut have something to do with, beside any others.
AWKWARD = (
    "eEiIıİßſςΣΑαǰΐŉ\u0301\u0323\u0345\u3099\u309aはﾊｶﾞㅏ\u1100\u1161\u11a8ﬁﷺ½①Ⅷ㈱㎏¨´\u2126＝\u0338豈あ中国𠮷😀臺灣後乾"
)
# Marks of several combining classes, alone and built in; Han, Latin and punctuation to stand beside white space.
MARKS = "\u0301\u0316\u0323\u0327\u0328\u0345\u0344\u0f73\uff9e\uff9f\u05b0\u064b\u0e38\u094dǖậ"
BESIDE_SPACE = "中國かカㄅ々〇한ab1,.。、·\"'()-_%😀\u0301\u0bbe\u20dd"

characters = st.one_of(
    st.characters(codec="utf-8"),
    st.sampled_from(AWKWARD),
    st.sampled_from(INVISIBLE),
    st.sampled_from(SPACES),
    st.sampled_from(BESIDE_SPACE + SPACES),
    st.sampled_from(MARKS),
    st.characters(min_codepoint=0xFF00, max_codepoint=0xFFEF),
    st.characters(min_codepoint=0x20, max_codepoint=0x7E),
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),
)
# Such as have more marks in a row than are kept, too.
many_marks = st.lists(st.tuples(characters, st.text(st.sampled_from(MARKS), max_size=60)), max_size=4).map(
    lambda pieces: "".join(character + marks for character, marks in pieces)
)
REFERENCES = [
    "&",
    "amp;",
    "lt;",
    "nbsp;",
    "#38;",
    "#65286;",
    "＆",
    "ｌ",
    "ｔ",
    "；",
    ";",
    "#",
    "x41",
    "AMP;",
    "NBSP;",
    "&#59;",
]
references = st.lists(st.sampled_from(REFERENCES), max_size=9).map("".join)
beside_space = st.text(st.sampled_from(BESIDE_SPACE + " "), max_size=12)
texts = st.text(characters, max_size=40) | beside_space | many_marks | references


SIMPLIFIED = {
    form: line[0]
    for line in Path(normalisation.__file__).with_name("script_1.txt").read_text(encoding="utf-8").splitlines()
    for form in line[1:]
}


def plain_normalise(text: str, script: str = "simplified") -> str:
    """Rule for rule and character for character, without shortcuts."""
    plain = plain_normalised_once(plain_references(text), script)
    return plain if plain_references(plain) == plain else plain_normalise(plain_references(plain), script)


def plain_references(text: str) -> str:
    """The text with the character in place of each reference, &amp; in its name or not."""

    def character(found: re.Match[str]) -> str:
        *_, last = ["", *(name for name in found[1].split(";") if name and name not in ("amp", "#38"))]
        whole = html.unescape(f"&{last};") if last else "&"
        is_safe = not last or not set(plain_folded(whole)) & set("&#;abcdefghijklmnopqrstuvwxyz0123456789")
        return whole if is_safe else f"&{last};"

    return re.sub(
        r"&((?:(?:amp|#38);)*(?:amp|#38|#[0-9]{2,7}|#[xX][0-9a-fA-F]{2,6}|[a-zA-Z][a-zA-Z0-9]{1,31});)", character, text
    )


def plain_normalised_once(text: str, script: str) -> str:
    visible = "".join(character for character in text if character not in INVISIBLE)
    folded = plain_cut("".join(map(plain_folded, re.split(f"([{AS_WRITTEN}])", plain_cut(visible)))))
    folded = folded.replace("m²", "m2").replace("m³", "m3")
    radicals = dict(zip(RADICALS[::2], RADICALS[1::2], strict=True))
    folded = "".join(radicals.get(character, character) for character in folded)
    plain = "".join(
        {"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-"}.get(character, character) for character in folded
    )
    if script == "simplified":
        plain = "".join(SIMPLIFIED.get(character, character) for character in plain)
    plain = " ".join(plain.split())
    spaced = "".join(
        character for place, character in enumerate(plain) if character != " " or plain_space_stays(plain, place)
    )
    return re.sub("([0-9])\u20e3", lambda match: "⓪①②③④⑤⑥⑦⑧⑨"[int(match[1])], spaced)


def plain_folded(text: str) -> str:
    if re.fullmatch(f"[{AS_WRITTEN}]", text):
        return text
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    visible = "".join(character for character in folded if character not in INVISIBLE)
    return folded if visible == folded else plain_folded(visible)


def plain_cut(text: str) -> str:
    kept = ""
    in_a_row = 0
    for character in text:
        decomposed = unicodedata.normalize("NFKD", character)
        in_a_row = in_a_row + 1 if all(map(unicodedata.combining, decomposed)) else 0
        if in_a_row <= 30:
            kept += character
    return kept


def plain_space_stays(text: str, place: int) -> bool:
    if is_mark(text[place + 1]):
        return True
    left = next(filter(is_letter, reversed(text[:place])), "")
    right = next(filter(is_letter, text[place:]), "")
    return not is_unspaced(left) and not is_unspaced(right)


def is_letter(character: str) -> bool:
    return is_unspaced(character) or unicodedata.category(character)[0] in "LN"


def is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc")


def is_word_character(character: str) -> bool:
    return is_letter(character) or is_mark(character)


def is_unspaced(character: str) -> bool:
    """Whether it is a Han character, kana or bopomofo."""
    if re.match("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]", character):
        return True
    if not character:
        return False
    name = unicodedata.name(character, "")
    return unicodedata.category(character)[0] in "LN" and bool(
        re.match("HIRAGANA|KATAKANA|BOPOMOFO|HENTAIGANA|VERTICAL KANA|IDEOGRAPHIC|HANGZHOU|MASU", name)
    )


@pytest.mark.parametrize("script", SCRIPTS)
@given(text=texts)
def test_normalise_equals_its_reference_in_each_script(script: str, text: str) -> None:
    assert normalise(text, script) == plain_normalise(text, script)


def test_every_character_that_folding_or_nfkc_changes_is_changed_as_by_the_reference_and_once_for_all() -> None:
    every = (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    changing = [c for c in every if c.casefold() != c or not unicodedata.is_normalized("NFKC", c)]
    assert len(changing) > 5_000
    assert [c for c in changing if normalise(f"a{c}b") != plain_normalise(f"a{c}b")] == []
    assert [c for c in changing if normalise(normalise(f"a{c}b")) != normalise(f"a{c}b")] == []


def test_a_character_is_what_its_parts_are_together() -> None:
    every = (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    composed = {one: parts for one in every if (parts := unicodedata.normalize("NFD", one)) != one}
    assert len(composed) > 10_000
    assert {one: normalise(f"a{parts}") for one, parts in composed.items()} == {
        one: normalise(f"a{one}") for one in composed
    }


@pytest.mark.parametrize("script", SCRIPTS)
@settings(max_examples=300)
@given(text=texts)
@example(text="Cafe\u200b\u0301")
@example(text="か゛")  # a space that carries a mark
@example(text="中´")
@example(text="１\u20e3㎡\u20e3")  # a digit for a keycap that NFKC makes
@example(text="ǖ" + "\u0328" * 30)  # more marks after NFKC than before
def test_a_normalised_text_stays_as_it_is(script: str, text: str) -> None:
    once = normalise(text, script)
    assert normalise(once, script) == once


# The Turkish dotless i is its own small letter, though its capital is the I of the others.
@given(st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nd"), exclude_characters="ı"), max_size=20))
@example("Straße ΟΔΟΣ ŉ")
def test_case_does_not_matter(text: str) -> None:
    assert normalise(text.upper()) == normalise(text.lower()) == normalise(text)


def test_every_invisible_character_is_taken_out() -> None:
    assert [c for c in INVISIBLE if normalise(f"{c}中{c}国a{c}b{c}") != "中国ab"] == []


# One sentence each, with the marks written as characters of their own: the scripts that use most of them.
LANGUAGES = {
    "Vietnamese": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền.",
    "Arabic": "بِسْمِ اللَّهِ الرَّحْمَٰنِ الرَّحِيمِ الْحَمْدُ لِلَّهِ رَبِّ الْعَالَمِينَ",
    "Hebrew": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים אֵ֥ת הַשָּׁמַ֖יִם וְאֵ֥ת הָאָֽרֶץ",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "Tibetan": "འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས་དང༌། ཧཱུྃ",
    "Burmese": "လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း",
    "polytonic Greek": "Μῆνιν ἄειδε θεὰ Πηληϊάδεω Ἀχιλῆος ᾧ ᾆ ᾷ",
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_no_mark_of_a_real_text_is_dropped(language: str, form: Any) -> None:
    text = unicodedata.normalize(form, " ".join([LANGUAGES[language]] * 3))
    without_the_bound = " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())
    assert normalise(text) == "".join(character for character in without_the_bound if character not in INVISIBLE)


@given(texts)
def test_word_characters_are_those_of_words_in_any_script(text: str) -> None:
    normalised = normalise(text)
    assert word_characters(normalised) == "".join(filter(is_word_character, normalised))


def test_emoji_and_other_symbols_are_no_word_characters_and_no_tokens() -> None:
    """Of the Indic scripts a token takes all characters, so their symbols (0900 to 109F) are words of one character."""
    every = (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    symbols = [c for c in every if unicodedata.category(c) in ("So", "Sk") and normalise(c) == c]
    assert len(symbols) > 5_000
    assert {"😀", "🏻", "🇨", "★"} <= set(symbols)
    normalised = normalise(" ".join(symbols))
    assert compared_characters(normalised) == ""
    normalised = normalise(" ".join(c for c in symbols if not "\u0900" <= c <= "\u109f"))
    assert tokenize(normalised, segmenter()) == []


@given(texts, st.characters(categories=["Cs"]), texts)
def test_a_lone_surrogate_is_refused_and_its_place_is_named(before: str, half: str, after: str) -> None:
    with pytest.raises(InputError) as refused:
        normalise(before + half + after)
    assert f"the text has a lone surrogate (\\u{ord(half):04x}) at character {len(before) + 1}:" in str(refused.value)


@pytest.mark.slow
def test_no_character_becomes_more_than_the_longest() -> None:
    lengths = (folded_length(chr(code)) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    assert max(lengths) == LONGEST_FOLDED


@given(st.text(st.sampled_from("①ﬃ\ufdfaİße\u0301雨 ") | st.characters(exclude_categories=["Cs"])))
def test_the_folded_length_is_that_of_the_folded_characters(text: str) -> None:
    assert folded_length(text) == (len(text) if text.isascii() else len("".join(map(plain_folded, text))))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("他说：“好‘极’了”，don’t f‐35", "他说:\"好'极'了\",don't f-35"),
        ("10⁵", "10⁵"),
        ("120 m²", "120 m2"),
        ("１２０ｍ²", "120m2"),
        ("log₂8", "log₂8"),
        ("1½", "1½"),
        ("①", "①"),
        ("1\ufe0f\u20e3", "①"),
        ("🈶㊗️", "🈶㊗"),
        ("⻓⻛破浪", "长风破浪"),
        ("بِسْمِ", "بسم"),
        ("كتـــاب", "كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("代\u0336开\u3164发\u115f票\u1160", "代开发票"),
        # White space stays only between words of scripts that have it.
        ("市气象台\n发布\r\n  暴雨预警", "市气象台发布暴雨预警"),
        ("市 气 象 台 ， 发 布 ： “ 暴 雨 ”", '市气象台,发布:"暴雨"'),
        ("使用 Python 3 编写 Hello World 程序", "使用python 3编写hello world程序"),
        ("在 2024 年 5 月", "在2024年5月"),
        ("他说, ok. 然后 bye", "他说,ok.然后bye"),
        ("the F-35, and 100 others", "the f-35, and 100 others"),
        ("まど\nぎわの トットちゃん", "まどぎわのトットちゃん"),
        ("대한민국 만세", "대한민국 만세"),
        # A reference to a character is the character.
        ("&ldquo;新&nbsp;桥&rdquo;&#65281;", '"新桥"!'),
        ("Trains &amp; trams &amp;amp; &amp;quot;buses&amp;quot;", 'trains & trams & "buses"'),
        ("a &lt; b &#x2264; c", "a < b ≤ c"),
        ("https://a.cn/?a=1&copy=2&amp=3", "https://a.cn/?a=1&copy=2&amp=3"),
        ("R&D; &nothing;", "r&d; &nothing;"),
        ("&#38;#38;lt;", "<"),
        ("＆ｌｔ； &NBSP;x", "< x"),
    ],
)
def test_a_text_is_compared_as(text: str, plain: str) -> None:
    assert normalise(text) == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("见https://a.cn/x?id=9（5月17日截止）", "见5月17日截止"),
        ("见https://a.cn/x?id=9，17日停水", "见17日停水"),
        ("见https://a.cn/x?id=9!3班", "见3班"),
        ("官网www.a.cn/1查看", "官网查看"),
        ("点击t.cn/A6abc领取", "点击领取"),
        ("邮箱tougao@a.example，来稿", "邮箱来稿"),
        ("https://a.cn/x?id=9领取", "领取"),
        ("awww.a", "awwwa"),
        ("https://a.cn", ""),
    ],
)
def test_an_address_ends_where_other_writing_begins(text: str, words: str) -> None:
    assert compared_characters(normalise(text)) == words


TITLE = "长江中下游水位全线超警"


@pytest.mark.parametrize(
    "text",
    [
        f"{TITLE} - 央视新闻",
        f"{TITLE}_新华网 https://t.cn/a1",
        f"{TITLE}｜Sina Finance",
        f"{TITLE} - the-paper.cn",
        f"【快讯】{TITLE}",
        f"【快讯】{TITLE}_新华网",
        f"{TITLE}_要闻_新华网",
        f"{TITLE}-新闻频道-36氪",
        f"{TITLE}——新华网",
        f"{TITLE}--社会--新华网",
        f"{TITLE} :: Sina News",
        f"{TITLE}（来源：长江日报）",
        f"{TITLE}（长江日报） - 新华网",
        f"{TITLE}【长江日报】",
        f"转发微博 @小鹿：{TITLE}",
        f"{TITLE}[太阳][鼓掌]",
        f"{TITLE}展开全文",
        f"{TITLE}（12条评论）",
        f"{TITLE} 评论(3)",
        f"{TITLE} - 2,310 views",
    ],
)
def test_the_name_of_an_outlet_or_a_column_is_no_part_of_a_title(text: str) -> None:
    assert compared_characters(normalise(text)) == TITLE
    assert compared_characters_of_texts([normalise(text)]) == [TITLE]


@pytest.mark.parametrize(
    "text",
    [
        f"{TITLE} - 2026",  # says which one
        f"{TITLE}（海报）",
        "value = data[index]",
        f"{TITLE}（3人受伤）",
        f"{TITLE} 阅读 1024",  # may be a year of reading
        f"{TITLE}——洪峰过境",  # a subtitle
        f"{TITLE}-记者在荆州、岳阳和九江的堤上看到",  # a second sentence
        f"{TITLE} - 央视新闻频道和央视新闻客户端",  # more than half as long
        "水位全线超警 - 央视新闻",  # too short to say what it is about
        "一" * 120 + " - 央视新闻",  # no title
        "F-35 and well-known state-of-the-art",
        "https://t.cn/a1 转发：长江中下游水位全线超警",
    ],
)
def test_other_text_behind_a_separator_is_compared(text: str) -> None:
    normalised = without_links(normalise(text))
    assert compared_characters(normalised) == "".join(filter(is_word_character, normalised))


@given(st.lists(st.text("天a1。 _\u0301www.:/htps"), max_size=6))
def test_texts_together_have_the_word_characters_that_each_has_alone(texts: list[str]) -> None:
    assert compared_characters_of_texts(texts) == [compared_characters(text) for text in texts]
