"""The study that chooses the Scheme: its truth is complete, its pairs are all there are, and it runs."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash import Fingerprinter, Scheme
from es_simhash.fingerprinting.normalisation import normalise
from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.fingerprinting.weights import WEIGHTS
from es_simhash.similarity.measures import jaccard, levenshtein

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow

STUDY = Path(__file__).parents[1] / "scripts" / "study"

sys.path.append(str(STUDY))  # its modules import each other by name
truth, near, short = map(import_module, ("truth", "near", "short"))

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
    every = [(a, b, jaccard(texts[a], texts[b])) for a, b in combinations(range(len(texts)), 2)]
    assert truth.join(texts, threshold) == [pair for pair in every if pair[2] >= threshold]


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_the_join_finds_the_same_among_longer_texts(threshold: float) -> None:
    texts = _texts(200)
    every = [(a, b, jaccard(texts[a], texts[b])) for a, b in combinations(range(len(texts)), 2)]
    found = truth.join(texts, threshold)
    assert found == [pair for pair in every if pair[2] >= threshold]
    assert len(found) > 20


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


def test_short_texts_are_paired_by_their_edit_distance() -> None:
    texts = [text[:length] for text, length in zip(_texts(400), [10, 15, 20, 35, 50] * 80, strict=False)]
    texts = list(dict.fromkeys(texts))
    every = {a * len(texts) + b: levenshtein(texts[a], texts[b]) for a, b in combinations(range(len(texts)), 2)}
    pairs, similarities = truth.edit_pairs(texts, 0.8)
    found = dict(zip(pairs.tolist(), similarities, strict=True))
    assert found == {code: alike for code, alike in every.items() if alike >= 0.8}


def test_a_policy_keeps_the_pairs_within_k_whose_texts_agree() -> None:
    texts = _texts(60)
    for policy in (policy for policy in short.POLICIES if policy.scheme):
        prints = Fingerprinter(policy.scheme).fingerprints(texts)
        close = {
            a * len(texts) + b: policy.confirm(texts[a], texts[b]) if policy.confirm else 1.0
            for a, b in combinations(range(len(texts)), 2)
            if prints[a].distance(prints[b]) <= policy.k
        }
        candidates = short.candidates(texts, policy)
        assert sorted(candidates.tolist()) == sorted(close)
        kept = short.confirmed(texts, candidates, policy)
        assert len(kept)
        assert sorted(kept.tolist()) == sorted(code for code, alike in close.items() if alike >= 0.8)


@pytest.fixture
def corpora(tmp_path: Path) -> list[str]:
    named = []
    for name, seed in (("one", 1), ("other", 2)):
        path = tmp_path / f"{name}.jsonl"
        with path.open("w", encoding="utf-8") as lines:
            for number, text in enumerate(_texts(40, seed)):
                document = {"id": number, "text": text, **({"title": text[:30]} if name == "one" else {})}
                lines.write(json.dumps(document, ensure_ascii=False) + "\n")
        named.append(f"{name}={path}")
    return named


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(STUDY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, timeout=120)


@pytest.mark.slow
def test_it_runs(corpora: list[str], tmp_path: Path) -> None:
    done = _run(*corpora, "--unrelated", "20", "--json", str(tmp_path / "study.json"))
    assert "### one: " in done.stdout
    assert "The best worst case" in done.stdout
    assert "MinHashLSH" in done.stdout or "no other library is measured" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "study.json").read_text().splitlines()]
    settings = len(TOKENS) * len(WEIGHTS) * sum(largest + 1 for largest in near.MAX_DISTANCE.values())
    for corpus in ("one", "other", "unrelated"):
        assert sum(row["corpus"] == corpus and "bits" in row for row in rows) == settings
    for row in rows:
        assert row["corpus"] == "unrelated" or 0 <= row["precision"] <= row["related"] <= 1


@pytest.mark.slow
def test_it_runs_on_short_texts(corpora: list[str], tmp_path: Path) -> None:
    done = _run("--short", *corpora, "--json", str(tmp_path / "short.json"))
    assert "### Recall by length" in done.stdout
    rows = [json.loads(line) for line in (tmp_path / "short.json").read_text().splitlines()]
    measured = [policy for policy in short.POLICIES if policy.scheme or "MinHashLSH" in done.stdout]
    assert [row["title"] for row in rows] == [policy.title for policy in measured] * 2
    for row in rows:
        assert "levenshtein" not in row["policy"] or row["precision"] == 1
