"""Laws of tokenize: both segmenters give the same words, and the words depend on the text alone."""

from __future__ import annotations

import json
import marshal
import os
import random
import subprocess
import sys
import warnings
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.text.normalisation import normalise
from es_simhash.text.tokens import (
    _PUNCTUATION,
    clauses,
    dictionary_words,
    part_of_speech,
    segmenter,
    tokenize,
    words_in_order,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SENTENCES = (
    "市气象台今晨发布暴雨橙色预警，沿江三个区的中小学下午停课。",
    "南京市长江大桥维修期间，轮渡每十五分钟开一班。",
    "乒乓球拍卖完了，下一批货要等到星期四。",
    "他把结婚的和尚未结婚的名单分开抄了一遍。",
    "工信处女干事每月经过下属科室都要亲口交代交换机的安装工作。",
    "下雨天留客天留我不留。",
    "一百二十三亿四千五百六十七万八千九百元的预算被砍掉了三成。",
    "阿依古丽·买买提江从喀什寄来两箱巴旦木和无花果。",
    "饕餮纹、夔龙纹和蟠螭纹是青铜器上常见的纹样。",
    "龘靐齉爩这些字很少有人念得出来。",
    "二甲基甲酰胺泄漏后，消防员用大量清水稀释。",
    "侬今朝夜饭吃过伐？阿拉屋里厢烧了红烧肉。",
    "臺灣大學的學生組織了一場關於語言復興的討論會。",
    "繁體字與簡化字混排時，檢索系統常常漏掉結果。",
    "学而时习之，不亦说乎？有朋自远方来，不亦乐乎？",
    "吃葡萄不吐葡萄皮，不吃葡萄倒吐葡萄皮。",
    "他说的确实在理，我也就不再坚持了。",
    "楚雄彝族自治州双柏县查姆湖畔举行了火把节。",
    "的的的的的了了了了了着着着着着。",
    "葉劍英、鄧穎超與宋慶齡的信件首次公開展出。",
    "丨丿乀亅是部首，不是词。",
)

LONGEST_RUN = 512


def jieba_folder() -> Path:
    """Return the folder where jieba is installed, without importing jieba (an import prints warnings)."""
    spec = find_spec("jieba")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def dictionary() -> list[str]:
    """Return every 61st word of jieba's dictionary."""
    lines = jieba_folder().joinpath("dict.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines[::61]]


han_texts = st.lists(
    st.one_of(
        st.sampled_from(dictionary()),
        st.sampled_from("的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能"),
        st.sampled_from("王李张刘陈欧阳司马诸葛明伟芳娜秀英敏静丽强磊军洋勇艳杰娟涛"),
        st.sampled_from("零一二三四五六七八九十百千万亿年月日第几两"),
        st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5),
    ),
    max_size=20,
).map("".join)
other_characters = st.one_of(
    st.sampled_from("abcxyzé0123456789.,-'’_ _%#@/ 、。かなカナー한글々〇㐂𠮷😀²٣"),
    st.characters(codec="utf-8"),
)
other_texts = st.text(other_characters, max_size=30)
mixed_texts = st.lists(han_texts | other_texts, max_size=6).map("".join)


@cache
def plain_segment() -> Callable[[str], list[str]]:
    """Return the segmenter as jieba documents it. jieba writes its cache file into a temporary folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba
    tokenizer = jieba.Tokenizer()
    with TemporaryDirectory() as folder:
        tokenizer.tmp_dir = folder
        tokenizer.initialize()
    from jieba import finalseg

    def segment(run: str) -> list[str]:
        """Split by the dictionary; then split each sequence of single characters by the Markov model."""
        words: list[str] = []
        for single, found in groupby(tokenizer.lcut(run, HMM=False), lambda word: len(word) == 1):
            pieces = list(found)
            words += finalseg.cut("".join(pieces)) if single and len(pieces) > 1 else pieces
        return words

    return segment


def is_han(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fd5"


def is_rare_han(character: str) -> bool:
    return (
        character == "\u3007"
        or "\u3400" <= character <= "\u4dbf"
        or "\u9fd6" <= character <= "\u9fff"
        or "\uf900" <= character <= "\ufaff"
        or "\U00020000" <= character <= "\U0003fffd"
    )


def is_letter(character: str) -> bool:
    if "\u0300" <= character <= "\u036f" or ("\u0900" <= character <= "\u109f" and character not in "\u0964\u0965"):
        return True  # accents, and the vowel signs of the scripts from Devanagari to Myanmar
    return character.isalnum() and not is_han(character) and not is_rare_han(character)


def is_digit(character: str) -> bool:
    return "0" <= character <= "9"


def run_end(text: str, start: int, belongs: Callable[[str], bool]) -> int:
    """Return the end of the run of matching characters that begins at ``start``; ``start`` if there is none."""
    end = start
    while end < len(text) and belongs(text[end]):
        end += 1
    return end


def plain_words(text: str) -> Iterator[str]:
    """Reference implementation: scan the words outside Han runs, character by character."""
    start = 0
    while start < len(text):
        end = number_end(text, start) or word_end(text, start) or start
        if is_rare_han(text[start]):
            end = start + 1
        if end > start:
            yield text[start:end]
        start = max(end, start + 1)


def number_end(text: str, start: int) -> int | None:
    """3.14, 1,000, 3.0t: digits, further digits after each point or comma, and the letters of a unit."""
    end = digits = run_end(text, start, is_digit)
    while digits > start and text[end : end + 1] in {".", ","} and run_end(text, end + 1, is_digit) > end + 1:
        end = run_end(text, end + 1, is_digit)
    return run_end(text, end, is_letter) if end > digits else None


def word_end(text: str, start: int) -> int | None:
    """Word, f-35, don't: letters, further letters after each hyphen or apostrophe."""
    end = run_end(text, start, is_letter)
    while end > start and text[end : end + 1] in {"-", "'"} and run_end(text, end + 1, is_letter) > end + 1:
        end = run_end(text, end + 1, is_letter)
    return end if end > start else None


def plain_tokenize(text: str) -> list[str]:
    """Reference implementation: split each Han run by jieba, LONGEST_RUN characters at a time; then the other words."""
    words = []
    for han, characters in groupby(text, is_han):
        run = "".join(characters)
        if han:
            for start in range(0, len(run), LONGEST_RUN):
                words += plain_segment()(run[start : start + LONGEST_RUN])
    return words + list(plain_words(text))


def in_another_process(code: str, *arguments: object, options: Iterable[str] = (), hash_seed: int = 0) -> Any:
    """Run the code in a new interpreter with the same packages; return the JSON that it prints, and its stderr."""
    done = subprocess.run(
        [sys.executable, *options, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


# --- either segmenter ----------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(mixed_texts)
def test_both_segmenters_split_any_text_into_the_same_words(text: str) -> None:
    assert tokenize(text, segmenter("jieba")) == tokenize(text, segmenter("rjieba"))


@settings(max_examples=300)
@given(mixed_texts)
def test_both_segmenters_say_of_the_same_words_that_they_are_names(text: str) -> None:
    names = [
        [
            (word, tag)
            for word in dictionary_words(text, name)
            if len(word) > 1 and (tag := part_of_speech(word, name))[:2] in ("nr", "ns", "nt", "nz")
        ]
        for name in ("jieba", "rjieba")
    ]
    assert names[0] == names[1]


@settings(max_examples=300)
@given(mixed_texts)
def test_the_words_of_the_clauses_are_those_of_the_whole_text(text: str) -> None:
    for name in ("jieba", "rjieba"):
        words = dictionary_words(text, name)
        assert [word for clause in clauses(text) for word in dictionary_words(clause, name)] == words


def test_both_segmenters_split_sentences_and_repeated_and_rare_characters_in_the_same_way() -> None:
    """If two paths are equally probable, both segmenters choose the same one."""
    draw = random.Random(1)
    characters = "".join(filter(is_han, "".join(SENTENCES)))
    texts = ["".join(draw.choices(draw.choices(characters, k=3), k=draw.randint(2, 9))) for _ in range(5_000)]
    texts += ["".join(map(chr, draw.sample(range(0x4E00, 0x9FD6), draw.randint(2, 9)))) for _ in range(5_000)]
    texts += map(normalise, SENTENCES)
    assert [text for text in texts if tokenize(text, segmenter("jieba")) != tokenize(text, segmenter("rjieba"))] == []


@pytest.mark.parametrize("name", ["jieba", "rjieba"])
@pytest.mark.parametrize("length", [LONGEST_RUN, LONGEST_RUN + 1, 5_000])
def test_a_very_long_han_run_has_the_words_of_its_pieces(length: int, name: str) -> None:
    run = "".join(random.Random(length).choices("".join(filter(is_han, "".join(SENTENCES))), k=length))
    pieces = [run[start : start + LONGEST_RUN] for start in range(0, length, LONGEST_RUN)]
    words = tokenize(run, segmenter(name))
    assert words == [word for piece in pieces for word in tokenize(piece, segmenter(name))]
    assert "".join(words) == run


def test_without_a_name_the_faster_segmenter_is_used_if_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert segmenter() is segmenter("rjieba")
    monkeypatch.setitem(sys.modules, "rjieba", None)
    assert segmenter() is segmenter("jieba")


# --- the rule ------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(mixed_texts | other_texts)
def test_tokenize_equals_its_reference(text: str) -> None:
    assert tokenize(text, segmenter()) == plain_tokenize(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("，。！？ …… —— ~ @#%&*() \n\t", []),
        ("f-35 stealth", ["f-35", "stealth"]),
        ("1,000 1,234,567.89 3.14", ["1,000", "1,234,567.89", "3.14"]),
        ("don't rock-'n'-roll", ["don't", "rock", "n", "roll"]),
        ("हिन्दी बोद། é", ["हिन्दी", "बोद།", "é"]),
        ("state-of-the-art -5 a--b x- -y", ["state-of-the-art", "5", "a", "b", "x", "y"]),
        ("c++ c# 50% a@b.cn", ["c", "c", "50", "a", "b", "cn"]),
        ("カタカナ ひらがな コーヒー", ["カタカナ", "ひらがな", "コーヒー"]),
        ("㐂𠮷〇", ["㐂", "𠮷", "〇"]),
        ("😀👍🏽🇨🇳 ok", ["ok"]),
        ("٣٤٥ ७", ["٣٤٥", "७"]),
        ("买了3.0t的suv", ["买", "了", "的", "3.0t", "suv"]),
        # The first and the last character that the segmenters know; other Han characters; letters that are not Han.
        *((f"x{han}y", [han, "x", "y"]) for han in "一\u9fd5"),
        *(
            (f"x{rare}{rare}y", ["x", rare, rare, "y"])
            for rare in "〇㐀\u4dbf\u9fd6\u9fff\uf900\ufaff\U00020000\U0003fffd"
        ),
        *((f"x{letter}{letter}y", [f"x{letter}{letter}y"]) for letter in "〆々\ua000あㄅ가"),
    ],
    ids=ascii,
)
def test_words_follow_the_rule(text: str, words: list[str]) -> None:
    assert tokenize(text, segmenter("jieba")) == tokenize(text, segmenter("rjieba")) == words


@pytest.mark.parametrize("mark", sorted(_PUNCTUATION), ids=ascii)
def test_punctuation_between_runs_has_no_word(mark: str) -> None:
    assert list(plain_words(mark)) == tokenize(f"北{mark}京", segmenter())[2:] == []


# --- nothing outside the text matters ------------------------------------------------------------------------

WORDS = ["他", "来到", "了", "网易", "杭研", "大厦"]
# The first argument is the folder in which jieba keeps its cache file.
OURS = """
import json, logging, os, sys, tempfile
from es_simhash.text.tokens import segmenter
from es_simhash.text.tokens import tokenize
text = "他来到了网易杭研大厦"
folder = tempfile.tempdir = sys.argv[1]
def ours():
    return tokenize(text, segmenter("jieba"))
"""


def write_cache_file(folder: Path, *words: str) -> None:
    """Write a valid cache file of jieba, with a dictionary of these words only."""
    prefixes = {word[:end]: 0 for word in words for end in range(1, len(word))}
    content = (prefixes | dict.fromkeys(words, 1000), 1000 * len(words))
    (folder / "jieba.cache").write_bytes(marshal.dumps(content))


@pytest.mark.slow
def test_nothing_reaches_stderr(tmp_path: Path) -> None:
    write_cache_file(tmp_path, "我们")
    with pytest.warns((SyntaxWarning, DeprecationWarning), match="invalid escape sequence"):
        compile(jieba_folder().joinpath("__init__.py").read_text(encoding="utf-8"), "jieba", "exec")
    theirs = """
import json, sys, tempfile
tempfile.tempdir = sys.argv[1]
import jieba
print(json.dumps(jieba.lcut("我们")))
"""
    _, stderr = in_another_process(theirs, tmp_path)
    assert "Loading model from cache" in stderr, "jieba logs nothing any more"

    # A new folder for compiled files, because Python prints a compiler warning only when it compiles.
    code = """
sys.pycache_prefix = folder
print(json.dumps([ours(), tokenize(text, segmenter("rjieba"))]))
"""
    words, stderr = in_another_process(OURS + code, tmp_path, options=["-W", "default"])
    assert words == [WORDS, WORDS]
    assert stderr == ""


@pytest.mark.slow
def test_neither_the_level_of_jieba_s_logger_is_changed_nor_its_cache_file_written(tmp_path: Path) -> None:
    code = """
logger = logging.getLogger("jieba")
logger.setLevel(35)
levels = [ours() and logger.level]
logger.setLevel(45)
levels.append(ours() and logger.level)
files = os.listdir(folder)
import jieba
print(json.dumps([levels, files, jieba.lcut(text) and os.listdir(folder)]))
"""
    (levels, ours, of_jieba), _ = in_another_process(OURS + code, tmp_path)
    assert (levels, ours) == ([35, 45], [])
    assert of_jieba == ["jieba.cache"], "jieba writes it there"


@pytest.mark.slow
def test_our_words_do_not_change_with_a_cache_file_or_words_added_to_or_deleted_from_jieba(tmp_path: Path) -> None:
    code = """
import jieba
made = {"a cache file": [jieba.lcut(text), ours()]}
jieba.add_word("来到了")
made["added"] = jieba.lcut(text), ours()
jieba.del_word("网易杭研")
jieba.del_word("杭研")
print(json.dumps(made | {"deleted": [jieba.lcut(text), ours()]}))
"""
    write_cache_file(tmp_path, "来到", "网易杭研", "大厦")
    made, _ = in_another_process(OURS + code, tmp_path, options=["-W", "ignore"])
    assert made == {
        "a cache file": [["他", "来到", "了", "网易杭研", "大厦"], WORDS],
        "added": [["他", "来到了", "网易杭研", "大厦"], WORDS],
        "deleted": [["他", "来到了", "网易", "杭", "研", "大厦"], WORDS],
    }


# --- words in order -------------------------------------------------------------------------------------------


def plain_in_order(text: str) -> list[str]:
    """Reference implementation: the words of each Han run and of each text between two, in order."""
    words = []
    for han, characters in groupby(text, is_han):
        piece = "".join(characters)
        words += plain_tokenize(piece) if han else list(plain_words(piece))
    return words


@given(mixed_texts)
def test_words_in_order_are_the_words_in_the_order_of_the_text(text: str) -> None:
    words = words_in_order(text, segmenter())
    assert words == plain_in_order(text)
    assert sorted(words) == sorted(tokenize(text, segmenter()))
