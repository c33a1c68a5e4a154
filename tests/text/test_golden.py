"""Laws of Scheme rules 1: fingerprints, digests and Schemes are the same in every release. See ``golden.py``."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from es_simhash.text.features import WEIGHTS
from es_simhash.text.normalisation import DIGESTS
from es_simhash.text.scheme import Scheme
from es_simhash.text.tokens import segmenter
from es_simhash.text.votes import HASHES
from tests.text.golden import output_of, read

LINES = read()

each_line = pytest.mark.parametrize("line", LINES, ids=[f"line {number}" for number, _ in enumerate(LINES, 1)])


@each_line
def test_fingerprints_digests_and_versions_are_those_of_the_file(line: dict[str, Any]) -> None:
    for name in ("jieba", "rjieba"):
        with patch("es_simhash.text.fingerprinter.segmenter", partial(segmenter, name)):
            assert {**line, **output_of(line)} == line


@each_line
def test_schemes_are_those_of_the_file(line: dict[str, Any]) -> None:
    assert list(Scheme.from_dict(line["scheme"]).to_dict().items()) == list(line["scheme"].items())


def test_the_file_has_every_choice() -> None:
    schemes = [Scheme.from_dict(line["scheme"]) for line in LINES]
    assert {scheme.bits for scheme in schemes} == {64, 128}
    assert {scheme.weights for scheme in schemes} == set(WEIGHTS)
    assert {scheme.hash for scheme in schemes} == set(HASHES)
    assert {scheme.digest for scheme in schemes} == set(DIGESTS)
    assert {scheme.stop_words for scheme in schemes} > {"1", "none"}
    assert {scheme.idf for scheme in schemes} > {"jieba"}
    assert Scheme(bits=128, weights="equal") in schemes
    assert any("features" in line for line in LINES)
