"""The studies: their truth is complete, their pairs are all there are, and they run."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash import DuplicateRule, Fingerprinter, Scheme
from es_simhash.fingerprinting.normalisation import normalise, word_characters
from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.fingerprinting.weights import WEIGHTS
from es_simhash.similarity.edits import levenshtein
from tests.similarity.reference import jaccard

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow

STUDY = Path(__file__).parents[1] / "scripts" / "study"

sys.path.append(str(STUDY))  # its modules import each other by name
truth, near, cases, million, provenance, revisions = map(
    import_module, ("truth", "near", "cases", "million", "provenance", "revisions")
)

STORM = "气象今晨发布暴雨橙色预警城区部分路段已经出现积水交警提醒市民提前规划路线注意出行安全"
WORDS = [STORM[start : start + 2] for start in range(0, len(STORM), 2)]


def _texts(count: int, seed: int = 1) -> list[str]:
    """Every other one is the one before with some words changed."""
    rng = random.Random(seed)
    texts: list[list[str]] = []
    for number in range(count):
        words = list(texts[-1]) if number % 2 else rng.choices(WORDS, k=rng.randint(8, 40))
        for _ in range(rng.randint(1, 3) if number % 2 else 0):
            words[rng.randrange(len(words))] = rng.choice(WORDS)
        texts.append(words)
    return list(dict.fromkeys("，".join(words) for words in texts))


@given(
    texts=st.lists(st.text("abc", min_size=1, max_size=14), min_size=1, max_size=12, unique=True),
    threshold=st.sampled_from([0.2, 0.5, 0.55, 0.8, 0.9, 1.0]),
)
@example(texts=["abcde", "abcdefghijklm", "abcdefghijklmn"], threshold=0.9)
def test_the_join_finds_what_comparing_each_with_each_does(texts: list[str], threshold: float) -> None:
    assert _joined(texts, threshold) == _similar(texts, threshold)


def _joined(texts: list[str], threshold: float) -> list[tuple[int, int, float]]:
    pairs, similarities = truth.join(truth.shingle_sets(texts), threshold)
    return [(a, b, similarity) for (a, b), similarity in zip(pairs.tolist(), similarities.tolist(), strict=True)]


def _similar(texts: list[str], threshold: float) -> list[tuple[int, int, float]]:
    every = [(a, b, jaccard(texts[a], texts[b])) for a, b in combinations(range(len(texts)), 2)]
    return [pair for pair in every if pair[2] >= threshold]


FEW_BITS = st.none() | st.lists(st.integers(0, 127), max_size=9).map(lambda bits: sum(1 << bit for bit in set(bits)))


@given(values=st.lists(FEW_BITS, max_size=12), bits=st.sampled_from([64, 128]))
def test_the_pairs_within_k_are_all_there_are_equal_ones_too(values: Sequence[int | None], bits: int) -> None:
    expected = {}
    for (i, a), (j, b) in combinations(enumerate(values), 2):
        if a is not None and b is not None:
            distance = ((a ^ b) >> (128 - bits)).bit_count()
            if distance <= near.MAX_DISTANCE[bits]:
                expected[i * len(values) + j] = distance
    code, distances = near.within(near.shortened(values, bits), bits)
    assert len(code) == len(expected)
    assert dict(zip(code.tolist(), distances.tolist(), strict=True)) == expected


@pytest.mark.parametrize("tokens", TOKENS)
def test_its_fingerprints_are_those_of_the_scheme(tokens: str) -> None:
    texts = [normalise(text) for text in [*_texts(6), "短", "OPEC 3.14"]]
    made = near.fingerprints(texts, tokens)
    for weights in WEIGHTS:
        for bits in (64, 128):
            ours = Fingerprinter(Scheme(tokens=tokens, weights=weights, bits=bits))
            expected = [ours.fingerprint(text).value for text in texts]
            assert near.shortened(made[weights], bits) == expected


def test_the_truth_of_short_texts_is_every_other_text_with_the_similarity() -> None:
    texts = _texts(60)
    queries = [texts[3], texts[5][1:], texts[8][:-2]]
    expected = [
        {place for place, text in enumerate(texts) if 0.8 <= levenshtein(_words(query), _words(text)) < 1}
        for query in queries
    ]
    assert any(expected)
    assert million.truth(texts, queries) == expected


def _words(text: str) -> str:
    return word_characters(normalise(text))


def test_a_kind_of_copies_differs_from_its_original_as_its_name_says() -> None:
    text = "据新华社报道，3月15日有1200人参加了“植树节”活动。市民说，今年的树苗长得很好！GDP增长5.2%。" * 5
    made = {name: copied(text) for name, (copied, _) in cases.Copies([text, text[::-1]], 1).kinds().items()}
    assert all(copy != text for copy in made.values())
    for name in ("line break every 20 characters", "space between all characters", "no punctuation", ", . ;"):
        assert all(_words(copy) == _words(text) for kind, copy in made.items() if name in kind)
    assert made["first 70 %"] == text[: int(len(text) * 0.7)]
    assert text in made["in a frame that is 20 % of the page"]
    assert sorted(made["sentences shuffled"]) == sorted(text)
    assert re.sub("[0-9三十五]", "", made["**other numbers: another day's notice**"]) == re.sub("[0-9]", "", text)


def test_revisions_are_pairs_of_one_name_or_of_one_place() -> None:
    assert provenance.by_name({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == [("2", "3")]
    one, other = ["head", "same", "old", "foot"], ["head", "same", "new", "foot"]
    assert list(provenance.of_paragraphs([[one, other]])) == [
        ("old", "new"),
        ("head\nsame\nold\nfoot", "head\nsame\nnew\nfoot"),
    ]
    assert provenance.articles_of("第三条之一 不得停车。\n\n 第四条 不得鸣笛。") == ["不得停车。", "不得鸣笛。"]


def test_poems_of_two_editions_are_matched_by_author_and_title_and_titles_by_the_words() -> None:
    lines = ["小山重叠金明灭，鬓云欲度香腮雪。", "懒起画蛾眉，弄妆梳洗迟。"]
    poem = {"author": "温庭筠", "title": "菩萨蛮", "paragraphs": lines}
    twice = [poem, {**poem, "paragraphs": lines[:1]}]
    assert provenance.bodies([poem]) == {("温庭筠", "菩萨蛮"): "\n".join(lines)}
    assert provenance.bodies(twice) == {}
    assert provenance.titles([poem]) == {_words("".join(lines)): "菩萨蛮"}


def test_notices_of_other_days_have_one_form_and_other_facts() -> None:
    pairs = provenance.notices(50, 1)
    assert len(pairs) == 50
    assert all(one != other for one, other in pairs)
    assert provenance.notices(50, 1) == pairs


def test_a_revision_is_in_the_cell_of_its_length_and_share_of_edits() -> None:
    text = STORM * 2
    edited, numbers = text[:40] + "囗" * 4 + text[44:], "本办法第三条" + text
    pairs = [(text, edited), (numbers, numbers.replace("三", "五")), (text, f"{text}。"), (text, STORM[::-1] * 9)]
    found = revisions.cells(pairs, 10, random.Random(1))
    assert found == {("61-150", "< 5 %"): [pairs[0]], ("", "other numbers"): [pairs[1]]}


def test_the_truth_of_the_rule_copy_is_what_comparing_each_with_each_says() -> None:
    texts = [*_texts(60), "共3人", "共三人", "共４人", *(f"{STORM}，影响{count}户居民" for count in (120, 120.0, 350))]
    similar = [DuplicateRule(numbers_agree=agree).comparison(Fingerprinter()) for agree in (True, False)]
    copies, alike = (
        {
            one * len(texts) + other
            for one, other in combinations(range(len(texts)), 2)
            if confirm is not None
            and confirm.similarity(confirm.features(texts[one]), confirm.features(texts[other])) >= confirm.least
        }
        for confirm in similar
    )
    found, others = truth.copies(texts)
    assert set(found.tolist()) == copies
    assert set(others.tolist()) == alike - copies
    assert copies
    assert alike - copies


@pytest.fixture
def corpora(tmp_path: Path) -> list[str]:
    named = []
    for name, seed in (("one", 1), ("other", 2)):
        path = tmp_path / f"{name}.jsonl"
        with path.open("w", encoding="utf-8") as lines:
            for number, text in enumerate(_texts(60, seed)):
                lines.write(json.dumps({"id": number, "text": text}, ensure_ascii=False) + "\n")
        named.append(f"{name}={path}")
    return named


def _run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(STUDY / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, timeout=240).stdout


def test_the_study_of_schemes_runs(corpora: list[str], tmp_path: Path) -> None:
    done = _run("__main__.py", *corpora, "--unrelated", "20", "--json", str(tmp_path / "study.json"))
    assert "### one: " in done
    assert "The best worst case" in done
    rows = [json.loads(line) for line in (tmp_path / "study.json").read_text().splitlines()]
    settings = len(TOKENS) * len(WEIGHTS) * sum(largest + 1 for largest in near.MAX_DISTANCE.values())
    for corpus in ("one", "other", "unrelated"):
        assert sum(row["corpus"] == corpus and "bits" in row for row in rows) == settings
    for row in rows:
        assert row["corpus"] == "unrelated" or 0 <= row["precision"] <= row["related"] <= 1


def test_the_study_of_decisions_runs_and_keys_miss_no_pair(corpora: list[str]) -> None:
    done = _run("decisions.py", "--corpus", corpora[0], "--corpus", corpora[1], "--only", "one", "--only", "other")
    assert "## one: " in done
    assert "## F1 on every corpus" in done
    keys = [line for line in done.splitlines() if line.startswith("| copy, Jaccard alone | 1.0000 | 1.0000 | 1.0000")]
    assert len(keys) == 2


def test_the_study_of_kinds_of_copies_runs(corpora: list[str]) -> None:
    done = _run("cases.py", "--texts", corpora[0].partition("=")[2], "--sample", "10")
    rows = [line for line in done.splitlines() if line.startswith("| ") and not line.startswith("| copy |")]
    assert len(rows) >= 15  # the texts have no digits, and OpenCC may not be installed
    assert all(row.count("|") == len(cases.SETTINGS) + 3 for row in rows)


def test_the_study_of_a_million_short_texts_runs(corpora: list[str]) -> None:
    done = _run("million.py", "--texts", corpora[0].partition("=")[2], "--queries", "20")
    assert "recall 1.0000, precision 1.0000" in done
    assert "look-ups a second" in done


@pytest.mark.elasticsearch
def test_the_study_of_a_million_short_texts_runs_on_elasticsearch(
    corpora: list[str], elasticsearch_url: str, index_name: str
) -> None:
    texts, store = corpora[0].partition("=")[2], ["--store", elasticsearch_url, "--index", index_name]
    done = _run("million.py", "--texts", texts, "--queries", "20", *store)
    assert "recall 1.0000, precision 1.0000" in done
    assert "bytes a document" in done
