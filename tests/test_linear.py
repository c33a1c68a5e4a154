"""The time of each reader of text grows with the length of the text, whatever the text is: no one can stop a program.

Processor time counts, and the least of several tries, so a busy machine changes nothing. Each family of texts is a
string that is repeated: runs that a regular expression could read again and again, from each of their characters.
"""

from __future__ import annotations

import io
import string
import time
from contextlib import suppress
from functools import partial
from itertools import product, starmap
from typing import TYPE_CHECKING, NamedTuple

import pytest

from es_simhash import DuplicateRule, Fingerprinter, IdfTable, Scheme, StopWords
from es_simhash.cli.output import printable
from es_simhash.input import lines_of
from es_simhash.lines import parsed
from es_simhash.similarity.confirm import TextFeatures, similarities
from es_simhash.similarity.differences import differences
from es_simhash.similarity.times import parse_time
from es_simhash.similarity.tokens import count_of_numbers, tokens
from es_simhash.text.keys import keys_of_texts
from es_simhash.text.markup import text_of_html
from es_simhash.text.normalisation import compared_characters, folded_length, normalise, without_outlet
from es_simhash.text.tokens import segmenter, tokenize, words_in_order
from es_simhash.tools.differences import differences as shown_differences

if TYPE_CHECKING:
    from collections.abc import Callable

GROWTH = 2.6
"""The most that the time grows for twice the text: a sort and a cold cache take a little more than twice the time."""
GROWTH_OF_PAIRS = 3.0
"""The same of two texts. A longer text may have more edits, so more of each piece is compared: up to all of it."""


class Family(NamedTuple):
    """Texts of one kind: a string that is repeated, between two others."""

    unit: str
    before: str = ""
    after: str = ""

    def text(self, length: int) -> str:
        return self.before + self.unit * (length // len(self.unit)) + self.after


SEPARATORS = [*string.punctuation, " ", "\n", "，", "。", "—", "【", "\u0301", "\u200b"]
COUNTERS = ["阅读", "阅读:(", "阅读1,", "1,阅读", "1秒", "更新时间:", "发布于 2020-01-01 ", "[1", "10:", "10:10:10."]
NUMBERS = [
    "1",
    ",1",
    "1.",
    "1-",
    "1/",
    "1 ",
    "1,234",
    "第1",
    "一",
    "一点",
    "分之",
    "百分之",
    "(四)",
    "twenty-",
    "½",
    "1²",
]
NEGATIONS = ["不", "没有", "非", "无论", "not ", "n't", "un", "零下", "负1", "上下"]
WORDS = [
    "a",
    "aB",
    "a b ",
    "a-",
    "a_",
    "a'",
    "a中",
    "中 ",
    "中",
    "臺",
    "é",
    "\u0915\u094d",
    "c++ ",
    "\u1100\u1161",
    "\ufdfa",
]
LINKS = ["http://", ":/", "www.", "a.", "a.cn/", "a@", "@a.", "a@b.cn"]
MARKUP = ["<p>", "<p ", "<div>", "<template>", "</", "</p>", "<!", "<!--", "<![CDATA[", "<a b='", "a=b ", "<script>"]
MARKUP += ["<svg>", "&#", "&#1", "&am", "&lt;"]
MARKS = ["\u0301\u0316", "\uff9e\u0301", "\u0344\u0316\u0f73", "\u0301\u034f\u0316"]
QUOTES = ['""', '","', '{"a":', "[[", "\\u", "\\N\t", "a,", "1\n"]
REPEATED = [*SEPARATORS, *COUNTERS, *NUMBERS, *NEGATIONS, *WORDS, *LINKS, *MARKUP, *MARKS, *QUOTES]
BEHIND = ["http://a.cn/", "a@", "【", "<p ", "<!--", "&#", '"']
FAMILIES = [
    *map(Family, REPEATED),
    *(starmap(Family, product([*string.punctuation, ",1", ":/", "a", "1"], BEHIND, ["", "中"]))),
]

FINGERPRINTER = Fingerprinter(Scheme(weights="equal"))


def read(text: str, name: str, before: str = "", after: str = "", encoding: str = "utf-8") -> None:
    """Read a file with a text in it."""
    with io.BufferedReader(io.BytesIO((before + text + after).encode(encoding))) as file:
        for line in lines_of(file, name, encoding=encoding):
            parsed(line)


def read_quoted(text: str) -> None:
    """Read lines of CSV that stand in one pair of quotes, and look like rows."""
    cell = text.replace('"', "").replace("\n", "")
    read(f'1,"x\n{cell},{cell}\n1,2"\n', "a.csv", "id,text\n")


READERS: dict[str, Callable[[str], object]] = {
    "normalise": normalise,
    "folded_length": folded_length,
    "compared_characters": compared_characters,
    "without_outlet": without_outlet,
    "tokenize": lambda text: tokenize(text, segmenter()),
    "words_in_order": lambda text: words_in_order(text, segmenter()),
    "keys": lambda text: keys_of_texts([text]),
    "fingerprint": FINGERPRINTER.fingerprint,
    "html": text_of_html,
    "stop_words": lambda text: StopWords.read(io.BytesIO(text.encode()), "a"),
    "idf": lambda text: IdfTable.read(io.BytesIO(text.encode()), "a"),
    **{f"tokens of {length} characters": partial(tokens, length=length) for length in (10, 1_000)},
    "count_of_numbers": count_of_numbers,
    "time": parse_time,
    "json lines": partial(read, name="a.jsonl"),
    "json strings": partial(read, name="a.jsonl", before='{"text": "', after='"}'),
    "json array": partial(read, name="a.json", before='["', after='"]'),
    "csv": partial(read, name="a.csv", before="id,text\n"),
    "quoted csv": read_quoted,
    "tsv": partial(read, name="a.tsv", before="id\ttext\n"),
    "utf-16": partial(read, name="a.jsonl", encoding="utf-16"),
    "terminal": printable,
}


def pair(text: str) -> tuple[TextFeatures, TextFeatures]:
    """Return a text beside one that differs from it at many places."""
    other = text.replace("1", "2").replace("不", "").replace("a", "b", len(text) // 20)
    half = len(other) // 2
    return TextFeatures(text, FINGERPRINTER), TextFeatures(other[:half] + "不到9天" + other[half + 5 :], FINGERPRINTER)


def show(text: str) -> None:
    """Compare two texts as a page of a report shows them."""
    a, b = pair(text)
    shown_differences(a.normalised, b.normalised, FINGERPRINTER.scheme, differences(a, b)[0])


PAIR_READERS: dict[str, Callable[[str], object]] = {
    "copy": lambda text: similarities(pair(text)[0], pair(text)[1:], DuplicateRule(rule="copy")),
    "contained": lambda text: similarities(pair(text)[0], pair(text)[1:], DuplicateRule(rule="contained")),
    "report": show,
}


def seconds(reader: Callable[[str], object], text: str, tries: int) -> float:
    """Return the processor time of a reader: the least of some tries."""
    times = []
    for _ in range(tries):
        start = time.process_time()
        with suppress(ValueError):  # InputError: it need not be able to use the text
            reader(text)
        times.append(time.process_time() - start)
    return min(times)


def grows_too_fast(reader: Callable[[str], object], family: Family, length: int, growth: float = GROWTH) -> bool:
    """Return whether the time of a reader grows by more than ``growth`` each time that the text becomes twice as long.

    Memory that does not fit into a cache any more is slower once; a quadratic time grows by 4 each time.
    """
    texts = [family.text(length << doublings) for doublings in range(3)]
    for tries in (1, 3, 5):  # a first look, then again with care
        short, long = seconds(reader, texts[0], tries), seconds(reader, texts[2], tries)
        if long <= growth**2 * short:
            return False
        middle = seconds(reader, texts[1], tries)
        if middle <= growth * short or long <= growth * middle:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_text_that_is_twice_as_long_takes_about_twice_the_time(name: str) -> None:
    seconds(READERS[name], "市气象台发布暴雨橙色预警, 1", 1)  # loads tables
    assert not next((family for family in FAMILIES if grows_too_fast(READERS[name], family, 4_000)), None)


PAIRS = [
    ",",
    "1",
    ",1",
    "1 ",
    "1:",
    "1秒",
    "阅读1,",
    "[1",
    "一",
    "百分之",
    "第1",
    "不",
    "无论",
    "not ",
    "a b ",
    "a中",
    "中",
    "上海1",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIR_READERS)
def test_two_texts_that_are_twice_as_long_take_about_twice_the_time(name: str) -> None:
    # Pieces of 20,000 characters are aligned as a whole, so the law is one of several pieces. A similarity is hardly
    # more than this alignment, and a longer text may have more edits, up to whole pieces: it needs many pieces.
    reader, families, length = PAIR_READERS[name], map(Family, PAIRS), 40_000 if name == "report" else 120_000
    too_fast = (family for family in families if grows_too_fast(reader, family, length, GROWTH_OF_PAIRS))
    assert not next(too_fast, None)
