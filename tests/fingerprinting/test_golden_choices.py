"""Golden vectors of the choices that came after the first release: other weights, tables, hashes, lengths, tokens.

``tests/vectors/scheme-1-choices.jsonl`` was written once, by the slow twins of these tests, and is never edited: new
choices are a new file (``-2``: Han characters). Each line has a text, or pairs of a feature and a weight of the
caller's own; the choices of the Scheme that are not the default; the IDF table (word to number) and the stop words
where they are one's own, as they were given; and what must come out: the Scheme's version, the number of features, the
hex and the digest.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter, fingerprint
from es_simhash.fingerprinting.hashing import HASHES
from es_simhash.fingerprinting.idf import IdfTable
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.fingerprinting.stop_words import STOP_WORDS, StopWords
from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.fingerprinting.weights import WEIGHTS
from es_simhash.fingerprinting.word_segmenters import SEGMENTERS
from tests.fingerprinting.test_fingerprinter import plain_aggregate, plain_fingerprint
from tests.fingerprinting.test_normalisation import plain_normalise

FILES = sorted((Path(__file__).resolve().parents[1] / "vectors").glob("scheme-1-choices*.jsonl"))
LINES: list[dict[str, Any]] = [
    json.loads(line) for file in FILES for line in file.read_text(encoding="utf-8").splitlines()
]

each_line = pytest.mark.parametrize("line", LINES, ids=[f"line {number}" for number, _ in enumerate(LINES, 1)])


def fingerprinter_of(line: dict[str, Any], segmenter: str | None = None) -> Fingerprinter:
    idf = IdfTable.of(line["idf"]) if "idf" in line else None
    stop_words = StopWords.of(line["stop_words"]) if "stop_words" in line else None
    return Fingerprinter.using(Scheme(**line["scheme"]), segmenter, idf=idf, stop_words=stop_words)


def made_of(line: dict[str, Any], segmenter: str) -> Fingerprint:
    fingerprinter = fingerprinter_of(line, segmenter)
    if "pairs" in line:
        return fingerprint(scheme=fingerprinter.scheme, features=line["pairs"])
    return fingerprinter.fingerprint(line["text"])


@each_line
@pytest.mark.parametrize("segmenter", SEGMENTERS)
def test_fingerprints_are_those_of_the_file(line: dict[str, Any], segmenter: str) -> None:
    made = made_of(line, segmenter)
    assert (made.hex, made.features, made.digest) == (line["hex"], line["features"], line["digest"])


@each_line
def test_schemes_are_those_of_the_file_and_are_read_back(line: dict[str, Any]) -> None:
    scheme = fingerprinter_of(line).scheme
    assert scheme.version == line["version"]
    assert Scheme.from_dict(scheme.to_dict()) == scheme


@each_line
def test_the_file_is_what_the_slow_twins_give(line: dict[str, Any]) -> None:
    scheme = Scheme(**line["scheme"])
    if "pairs" in line:
        weighed: dict[str, int] = {}
        for feature, weight in line["pairs"]:
            weighed[feature] = weighed.get(feature, 0) + max(1, round(weight * 1024))
        value: int | None = plain_aggregate(weighed, scheme.bits, scheme.hash)
        digested = json.dumps(sorted(weighed.items()), ensure_ascii=False, separators=(",", ":"))
    else:
        table = {plain_normalise(word): max(1, round(number * 1024)) for word, number in line.get("idf", {}).items()}
        value = plain_fingerprint(line["text"], scheme, table or None, plain_stop_words(line))
        digested = plain_normalise(line["text"])
    assert (None if value is None else f"{value:0{scheme.bits // 4}x}") == line["hex"]
    assert hashlib.new(scheme.digest, digested.encode()).hexdigest() == line["digest"]


def plain_stop_words(line: dict[str, Any]) -> set[str]:
    if "stop_words" in line:
        return {plain_normalise(word) for word in line["stop_words"]}
    return set() if line["scheme"].get("stop_words") == "none" else set(STOP_WORDS)


def test_the_file_has_every_choice_there_is() -> None:
    schemes = [fingerprinter_of(line).scheme for line in LINES]
    assert {scheme.weights for scheme in schemes} == set(WEIGHTS)
    assert {scheme.hash for scheme in schemes} == set(HASHES)
    assert {scheme.tokens for scheme in schemes} == set(TOKENS)
    assert {scheme.bits for scheme in schemes} == {64, 128}
    assert {scheme.stop_words for scheme in schemes} >= {"1", "none"}
    assert any(scheme.idf != "jieba" for scheme in schemes)
    assert any("pairs" in line for line in LINES)
