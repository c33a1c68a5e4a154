"""Every version of the bytes that was ever released stays readable, and answers as it did.

A vector is two files that are never edited: ``bloom-….bin``, and ``bloom-….json`` with what is in it. A new layout is
a new pair.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from es_simhash.bloom import BloomFilter
from es_simhash.bloom.format import READABLE, VERSION

VECTORS = sorted((Path(__file__).parents[1] / "vectors").glob("bloom-*.json"))


@pytest.fixture(params=VECTORS, ids=lambda path: path.stem)
def vector(request: pytest.FixtureRequest) -> dict[str, Any]:
    path: Path = request.param
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return told | {"bytes": path.with_suffix(".bin").read_bytes()}


def test_every_version_has_a_vector() -> None:
    versions = [json.loads(path.read_text(encoding="utf-8"))["version"] for path in VECTORS]
    assert set(versions) == set(READABLE)


def test_a_vector_is_read_as_what_it_is(vector: dict[str, Any]) -> None:
    seen = BloomFilter.from_bytes(vector["bytes"])
    assert vector["bytes"][4] == vector["version"]
    for name in ("capacity", "error_rate", "seed", "generation", "count", "estimated_count"):
        assert getattr(seen, name) == vector[name], name
    assert [[layer.capacity, layer.m, layer.k, layer.count, layer.set_bits] for layer in seen.layers] == vector[
        "layers"
    ]


def test_a_vector_answers_as_it_did(vector: dict[str, Any]) -> None:
    seen = BloomFilter.from_bytes(vector["bytes"])
    assert seen.contains_many(vector["inside"]).all()
    assert all(item in seen for item in vector["inside"])
    strangers = [*vector["not_seen"], *vector["false_positives"]]
    expected = [False] * len(vector["not_seen"]) + [True] * len(vector["false_positives"])
    assert seen.contains_many(strangers).tolist() == expected
    assert [item in seen for item in strangers] == expected


def test_the_items_of_a_vector_make_it_again(vector: dict[str, Any]) -> None:
    seen = BloomFilter(vector["capacity"], vector["error_rate"], seed=vector["seed"], generation=vector["generation"])
    seen.update(vector["inside"])
    assert seen == BloomFilter.from_bytes(vector["bytes"])
    if vector["version"] == VERSION:
        assert seen.to_bytes() == vector["bytes"]
