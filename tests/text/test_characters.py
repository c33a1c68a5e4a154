"""Laws of script folding: one form for each character, whatever script it is written in."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from es_simhash.text import characters
from es_simhash.text.characters import fold_script

LINES = Path(characters.__file__).with_name("script_1.txt").read_text(encoding="utf-8").splitlines()
TABLE = {form: line[0] for line in LINES for form in line[1:]}


def test_a_character_is_in_one_class_only() -> None:
    every = [character for line in LINES for character in line]
    assert len(every) == len(set(every))
    assert all(len(line) > 1 for line in LINES)


def test_what_a_character_becomes_is_normalised_otherwise() -> None:
    assert [c for c in TABLE.values() if unicodedata.normalize("NFKC", c.casefold()) != c] == []


@pytest.mark.parametrize(
    ("written", "simplified"),
    [
        ("漢語繁體字轉換", "汉语繁体字转换"),
        ("頭髮發展", "头发发展"),  # two characters that simplified writes as one
        ("乾淨的後面", "干净的后面"),  # one character that simplified writes as two: the common one
        ("臺北衛生局", "台北卫生局"),
        ("香港衞生署敍述", "香港卫生署叙述"),  # forms of Hong Kong
        ("看著", "看着"),  # of Taiwan
        ("図書館の桜", "图书馆の樱"),  # of Japan
        ("答覆", "答复"),
        ("芸芸众生", "芸芸众生"),  # 藝 in Japan, a word of its own in Chinese
        ("像画家一样坐在座位上", "像画家一样坐在座位上"),
        ("plain 한국어", "plain 한국어"),
    ],
)
def test_each_script_and_region_has_the_same_form(written: str, simplified: str) -> None:
    assert fold_script(written) == simplified
