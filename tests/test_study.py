"""The study that chooses the Scheme: its truth is complete, its pairs are all there are, and it runs."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash import Fingerprinter, Scheme
from es_simhash.core.compare import jaccard
from es_simhash.core.tokens import TOKENS
from es_simhash.core.weights import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRIPT = Path(__file__).parents[1] / "scripts" / "study"


def _loaded() -> Any:
    spec = spec_from_loader("study", SourceFileLoader("study", str(SCRIPT)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


study = _loaded()

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
    assert study.join(texts, threshold) == [pair for pair in every if pair[2] >= threshold]


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_the_join_finds_the_same_among_longer_texts(threshold: float) -> None:
    texts = _texts(120)
    every = [(a, b, jaccard(texts[a], texts[b])) for a, b in combinations(range(len(texts)), 2)]
    found = study.join(texts, threshold)
    assert found == [pair for pair in every if pair[2] >= threshold]
    assert len(found) > 20


FEW_BITS = st.none() | st.lists(st.integers(0, 127), max_size=9).map(lambda bits: sum(1 << bit for bit in set(bits)))


@given(values=st.lists(FEW_BITS, max_size=12), bits=st.sampled_from([64, 128]))
def test_the_pairs_within_k_are_all_there_are_equal_ones_too(values: Sequence[int | None], bits: int) -> None:
    expected = {}
    for (i, a), (j, b) in combinations(enumerate(values), 2):
        if a is not None and b is not None:
            distance = ((a ^ b) >> (128 - bits)).bit_count()
            if distance <= study.MAX_DISTANCE[bits]:
                expected[i * len(values) + j] = distance
    code, distances = study.within(values, bits)
    assert len(code) == len(expected)
    assert dict(zip(code.tolist(), distances.tolist(), strict=True)) == expected


@pytest.mark.parametrize("tokens", TOKENS)
def test_its_fingerprints_are_those_of_the_scheme(tokens: str) -> None:
    texts = [study.normalise(text) for text in [*_texts(6), "短", "OPEC 3.14"]]
    made = study.fingerprints(texts, tokens)
    for weights in WEIGHTS:
        for bits in (64, 128):
            ours = Fingerprinter(Scheme(tokens=tokens, weights=weights, bits=bits))
            expected = [ours.fingerprint(text).value for text in texts]
            assert [value if value is None else value >> (128 - bits) for value in made[weights]] == expected


def test_short_texts_are_paired_by_their_edit_distance() -> None:
    distance = pytest.importorskip("rapidfuzz.distance", reason="rapidfuzz: pip install --group bench").Levenshtein
    texts = [text[:length] for text, length in zip(_texts(400), [10, 15, 20, 35, 50] * 80, strict=False)]
    texts = list(dict.fromkeys(texts))
    every = {
        a * len(texts) + b: distance.normalized_similarity(texts[a], texts[b])
        for a, b in combinations(range(len(texts)), 2)
    }
    assert study.edit_pairs(texts, 0.8) == {code: alike for code, alike in every.items() if alike >= 0.8}


def test_what_is_counted_at_each_k_and_cut_is_what_is_there() -> None:
    rng = random.Random(1)
    distance = np.array([rng.randrange(8) for _ in range(200)])
    jaccards = np.array([[rng.random() for _ in study.WIDTHS] for _ in distance])
    table = study.counted(distance, np.searchsorted(study.CUTS, jaccards, side="right"), 7)
    for k, measure, cut in [(0, 0, 0), (3, 1, 5), (7, 3, 12), (7, 2, 17)]:
        expected = ((distance <= k) & (jaccards[:, measure] >= study.CUTS[cut])).sum()
        assert table[k, measure, cut] == expected


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
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, timeout=120)


def test_it_runs(corpora: list[str], tmp_path: Path) -> None:
    done = _run(*corpora, "--unrelated", "20", "--json", str(tmp_path / "study.json"))
    assert "### one: " in done.stdout
    assert "The best worst case" in done.stdout
    assert "MinHashLSH" in done.stdout or "no other library is measured" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "study.json").read_text().splitlines()]
    settings = len(TOKENS) * len(WEIGHTS) * sum(largest + 1 for largest in study.MAX_DISTANCE.values())
    for corpus in ("one", "other", "unrelated"):
        assert sum(row["corpus"] == corpus and "bits" in row for row in rows) == settings
    for row in rows:
        assert row["corpus"] == "unrelated" or 0 <= row["precision"] <= row["related"] <= 1


def test_it_runs_on_short_texts(corpora: list[str]) -> None:
    pytest.importorskip("rapidfuzz", reason="rapidfuzz: pip install --group bench")
    done = _run("--short", *corpora)
    assert "as articles, confirmed" in done.stdout
    assert "### Recall by length" in done.stdout
