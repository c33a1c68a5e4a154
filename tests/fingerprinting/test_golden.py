"""Golden vectors of Scheme rules 1: what was stored once compares for ever.

``tests/vectors/scheme-1.jsonl`` was written once and is never edited. A line that is not met any more means that
stored fingerprints and digests have lost their meaning: mend the code, or make the change a new number of the
rules with a new file beside this one. Each line has a text (to be repeated ``times``), its features, the hex of
its fingerprint for each kind of weights (null if it has too little to say) and digests by name, all under the
default Scheme but for what the line names.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.normalisation import DIGESTS
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.fingerprinting.word_segmenters import SEGMENTERS
from tests.fingerprinting.test_fingerprinter import plain_aggregate
from tests.fingerprinting.test_normalisation import plain_normalise
from tests.fingerprinting.test_tokens import plain_tokenize
from tests.fingerprinting.test_weights import plain_weigh

FILE = Path(__file__).resolve().parents[1] / "vectors" / "scheme-1.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]

KINDS = ("sqrt_tf", "tf", "tf_idf")  # of weights that there were when the file was written

each_line = pytest.mark.parametrize("line", LINES, ids=[f"line {number}" for number, _ in enumerate(LINES, 1)])


def text_of(line: dict[str, Any]) -> str:
    return str(line["text"]) * int(line.get("times", 1))


def scheme_of(line: dict[str, Any], **choices: Any) -> Scheme:
    return Scheme(min_features=line.get("min_features", Scheme.min_features), **choices)


@each_line
def test_fingerprints_are_those_of_the_file(line: dict[str, Any]) -> None:
    for weights, golden in line["hex"].items():
        for segmenter in SEGMENTERS:
            made = Fingerprinter(scheme_of(line, weights=weights), segmenter).fingerprint(text_of(line))
            assert (made.hex, made.features) == (golden, line["features"])


@each_line
def test_digests_are_those_of_the_file(line: dict[str, Any]) -> None:
    for name, golden in line["digest"].items():
        assert Fingerprinter(scheme_of(line, digest=name)).fingerprint(text_of(line)).digest == golden


@each_line
def test_the_file_is_what_the_slow_twins_give_one_after_the_other(line: dict[str, Any]) -> None:
    normalised = plain_normalise(text_of(line))
    words = plain_tokenize(normalised)
    for weights, golden in line["hex"].items():
        weighed = plain_weigh(words, weights, line.get("min_features", 4))
        assert (f"{plain_aggregate(weighed):016x}" if weighed else None) == golden
        assert len(weighed) == line["features"]
    plain = {"blake2b": partial(hashlib.blake2b, digest_size=16)}
    for name, golden in line["digest"].items():
        assert plain.get(name, getattr(hashlib, name))(normalised.encode("utf-8")).hexdigest() == golden


def test_the_file_has_its_kinds_of_weights_and_every_digest() -> None:
    assert all(line["hex"].keys() == set(KINDS) for line in LINES)
    assert {name for line in LINES for name in line["digest"]} == set(DIGESTS)


def test_the_file_tells_the_kinds_of_weights_apart() -> None:
    assert any(len(set(line["hex"].values())) == len(KINDS) for line in LINES)
