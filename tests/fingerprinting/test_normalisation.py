"""Laws of normalised text: what a reader does not see makes no difference, and nothing else is lost."""

from __future__ import annotations

import hashlib
import sys
import unicodedata
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates, digest, normalise

if TYPE_CHECKING:
    from collections.abc import Callable

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
        (0xE0100, 0xE01EF),  # ideographic variation selectors
    )
    for code in range(first, last + 1)
]
SPACES = " \t\n\r\x0b\x0c\x1c\x85\u00a0\u2003\u2028\u3000"
# Characters that NFKC, case folding or the full-width shortcut have something to do with, beside any others.
AWKWARD = "eEiIıİßſςΣΑαǰΐŉ\u0301\u0323\u0345\u3099\u309aはﾊｶﾞㅏ\u1100\u1161\u11a8ﬁﷺ½①Ⅷ㈱㎏¨´\u2126＝\u0338豈あ中国𠮷😀"

characters = st.one_of(
    st.characters(codec="utf-8"),
    st.sampled_from(AWKWARD),
    st.sampled_from(INVISIBLE),
    st.sampled_from(SPACES),
    st.characters(min_codepoint=0xFF00, max_codepoint=0xFFEF),
    st.characters(min_codepoint=0x20, max_codepoint=0x7E),
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),
)
texts = st.text(characters, max_size=40)


def plain_normalise(text: str) -> str:
    """Rule for rule, without the shortcut for full-width characters."""
    visible = "".join(character for character in text if character not in INVISIBLE)
    compatible = unicodedata.normalize("NFKC", visible)
    folded = unicodedata.normalize("NFKC", compatible.casefold())
    plain = "".join(
        {"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-"}.get(character, character) for character in folded
    )
    return " ".join(plain.split())


def test_the_kind_of_quotation_marks_does_not_matter() -> None:
    assert normalise("他说：“好‘极’了”，don’t f‐35") == normalise("他说：\"好'极'了\"，don't f-35")


def widen(text: str) -> str:
    """The full-width form of every character that has one."""
    return "".join("\u3000" if c == " " else chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


@given(texts)
@example("Cafe\u200b\u0301")
def test_normalise_equals_its_reference(text: str) -> None:
    assert normalise(text) == plain_normalise(text)


def test_every_character_that_folding_or_nfkc_changes_is_changed_as_by_the_reference_and_once_for_all() -> None:
    every = (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    changing = [c for c in every if c.casefold() != c or not unicodedata.is_normalized("NFKC", c)]
    assert len(changing) > 5_000
    assert [c for c in changing if normalise(f"a{c}b") != plain_normalise(f"a{c}b")] == []
    assert [c for c in changing if normalise(normalise(f"a{c}b")) != normalise(f"a{c}b")] == []


@given(st.text(st.characters(min_codepoint=0xFF00, max_codepoint=0xFFEF) | st.sampled_from("\u3000\u0338\u3099 =")))
def test_the_shortcut_for_full_width_characters_does_not_change_what_nfkc_gives(text: str) -> None:
    assert normalise(text) == plain_normalise(text)


@given(texts)
@example("Cafe\u200b\u0301")
def test_a_normalised_text_stays_as_it_is(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@given(texts)
def test_full_width_forms_do_not_matter(text: str) -> None:
    assert normalise(widen(text)) == normalise(text)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("ＡＢＣ１２３", "abc123"),
        ("１，０００．５％", "1,000.5%"),
        ("Ｆ－３５", "f-35"),
        ("（市場）", "(市場)"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("ﾊﾟﾝ", "パン"),
        ("ﾡﾢ", "ᄀᄁ"),
        ("㈱東方", "(株)東方"),
        ("３㎏", "3kg"),
        ("①②", "12"),
        ("ﬁnal", "final"),
        ("x²", "x2"),
    ],
)
def test_half_width_and_compatibility_forms_do_not_matter(written: str, plain: str) -> None:
    assert normalise(written) == plain


# The Turkish dotless i is its own small letter, though its capital is the I of the others.
@given(st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nd"), exclude_characters="ı"), max_size=20))
@example("Straße ΟΔΟΣ ŉ")
def test_case_does_not_matter(text: str) -> None:
    assert normalise(text.upper()) == normalise(text.lower()) == normalise(text)


@given(st.lists(texts, max_size=5), st.text(st.sampled_from(INVISIBLE), min_size=1, max_size=3))
@example(["Cafe", "\u0301"], "\u200b")
def test_invisible_characters_do_not_matter(pieces: list[str], invisible: str) -> None:
    assert normalise(invisible.join(pieces)) == normalise("".join(pieces))


def test_every_invisible_character_is_taken_out() -> None:
    assert [c for c in INVISIBLE if normalise(f"{c}中{c}国a{c}b{c}") != "中国ab"] == []


@given(st.lists(st.text(characters.filter(lambda c: not c.isspace()), max_size=8), max_size=5), st.data())
def test_the_amount_of_white_space_does_not_matter(words: list[str], data: st.DataObject) -> None:
    white = st.text(st.sampled_from(SPACES), min_size=1, max_size=3)
    around = [data.draw(white) for _ in range(len(words) + 1)]
    spread = around[0] + "".join(word + space for word, space in zip(words, around[1:], strict=True))
    assert normalise(spread) == normalise(" ".join(words))


def test_whether_there_is_white_space_does_matter() -> None:
    assert normalise("never mind") != normalise("nevermind")


def test_what_a_reader_sees_is_kept() -> None:
    assert normalise("《新桥通车！》 F-35 don’t 100% 😀") == "《新桥通车!》 f-35 don't 100% 😀"


@given(texts, st.characters(categories=["Cs"]), texts)
def test_a_lone_surrogate_is_refused_and_its_place_is_named(before: str, half: str, after: str) -> None:
    with pytest.raises(InputError) as refused:
        normalise(before + half + after)
    assert f"the text has a lone surrogate (\\u{ord(half):04x}) at character {len(before) + 1}:" in str(refused.value)


def test_a_place_with_a_name_of_its_own_is_named_by_it() -> None:
    with pytest.raises(InputError, match=r"^line 7, field 'title' has a lone surrogate \(\\ud83d\) at character 3: "):
        check_surrogates("大桥\ud83d", "line 7, field 'title'")


@given(texts)
def test_text_without_lone_surrogates_is_not_refused(text: str) -> None:
    check_surrogates(text, "the text")


@pytest.mark.parametrize("value", [None, 7, 1.5, b"\xe4\xb8\xad", ["中国"], {"text": "中国"}], ids=repr)
def test_what_is_not_a_string_is_refused_and_its_type_is_named(value: object) -> None:
    with pytest.raises(InputError, match=rf"^the text is of type {type(value).__name__}: give a string$"):
        normalise(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("md5", hashlib.md5),
        ("sha1", hashlib.sha1),
        ("sha256", hashlib.sha256),
        ("blake2b", partial(hashlib.blake2b, digest_size=16)),
    ],
    ids=["md5", "sha1", "sha256", "blake2b"],
)
@given(text=texts)
def test_a_digest_is_the_published_hash_of_the_utf_8_form(name: str, plain: Callable[[bytes], Any], text: str) -> None:
    assert digest(text, name) == plain(text.encode("utf-8")).hexdigest()
