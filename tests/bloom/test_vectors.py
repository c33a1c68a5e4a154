"""Golden files of the byte format: every released version stays readable and gives the same answers.

A golden file is a pair: ``bloom-VERSION-NAME.bin`` has the bytes, ``bloom-VERSION-NAME.json`` says what is in them. The
files hold from the first release on: from then on they are never edited, and a new layout gets new files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from es_simhash.bloom import BloomFilter
from es_simhash.bloom.format import VERSION

GOLDEN_FILES = sorted((Path(__file__).parents[1] / "vectors").glob("bloom-*.json"))


@pytest.fixture(params=GOLDEN_FILES, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> dict[str, Any]:
    path: Path = request.param
    expected: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return expected | {"bytes": path.with_suffix(".bin").read_bytes()}


def test_every_version_has_a_golden_file() -> None:
    versions = [json.loads(path.read_text(encoding="utf-8"))["version"] for path in GOLDEN_FILES]
    assert set(versions) == set(range(1, VERSION + 1))


def test_a_golden_file_is_read_with_its_properties(golden: dict[str, Any]) -> None:
    seen = BloomFilter.from_bytes(golden["bytes"])
    assert golden["bytes"][4] == golden["version"]
    for name in ("capacity", "error_rate", "generation", "count"):
        assert getattr(seen, name) == golden[name], name
    assert [[layer.capacity, layer.m, layer.k, layer.count, layer.set_bits] for layer in seen.layers] == golden[
        "layers"
    ]


def test_a_golden_file_gives_the_same_answers(golden: dict[str, Any]) -> None:
    seen = BloomFilter.from_bytes(golden["bytes"])
    assert seen.contains_many(golden["inside"]).all()
    assert all(item in seen for item in golden["inside"])
    strangers = [*golden["not_seen"], *golden["false_positives"]]
    expected = [False] * len(golden["not_seen"]) + [True] * len(golden["false_positives"])
    assert seen.contains_many(strangers).tolist() == expected
    assert [item in seen for item in strangers] == expected


def test_the_items_of_a_golden_file_make_the_same_filter(golden: dict[str, Any]) -> None:
    seen = BloomFilter(golden["capacity"], golden["error_rate"], generation=golden["generation"])
    seen.update(golden["inside"])
    assert seen == BloomFilter.from_bytes(golden["bytes"])
    if golden["version"] == VERSION:
        assert seen.to_bytes() == golden["bytes"]
