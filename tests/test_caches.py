"""What lives as long as the process is bounded in bytes, whatever it is fed with."""

from __future__ import annotations

import gc
import json
import logging
import random
import sys
import tracemalloc
from collections.abc import Callable

import pytest

from es_simhash import BloomFilter, DuplicateRule, Fingerprinter, Scheme
from es_simhash.decide.rule import ResolvedRule
from es_simhash.decide.texts import Texts
from es_simhash.rows import Row, Stored
from es_simhash.similarity.confirm import TextFeatures, similarities
from es_simhash.similarity.differences import _opposed
from es_simhash.similarity.names import sound_alike
from es_simhash.similarity.tokens import tokens
from es_simhash.store.memory_store import MemoryStore
from es_simhash.store.sqlite.schema import _parsed
from es_simhash.text.normalisation import normalise, without_outlet
from es_simhash.text.numbers import by_value
from es_simhash.text.qgrams import shared_at_least
from es_simhash.text.tokens import dictionary_words, part_of_speech, segmenter, tokenize
from es_simhash.text.votes import hasher

FULL = 40 << 20
"""Bytes that a cache holds at most."""
LONG = 10_000
"""Characters of long texts. Nothing is kept of them."""


def han(length: int, seed: int) -> str:
    """Return random Han characters."""
    return "".join(map(chr, random.Random(seed).choices(range(0x4E00, 0x9FA5), k=length)))


def words_of(number: int, length: int) -> None:
    for word in dictionary_words(han(length, number))[:10]:
        part_of_speech(word)


def hashes_of(number: int, length: int) -> None:
    for name in ("murmur3", "fnv1a_64"):
        hasher(name, 8)(f"{number:0{length}}")


def tokens_of(number: int, length: int) -> None:
    word = f"{number}".translate(str.maketrans("0123456789", "abcdefghij"))
    tokens(f"{word:x<{length}}, {number:0{length}}, {number:0{length}}万", length)


Fill = Callable[[int, int], object]
CACHES: dict[str, tuple[Fill, int, int]] = {
    "es_simhash.text.tokens._segmenter": (lambda n, length: tokenize(han(length, n), segmenter()), 600, 120),
    "es_simhash.text.tokens._dictionary": (words_of, 2_200, 60),
    "es_simhash.text.votes.hasher": (hashes_of, 70_000, 20),
    "es_simhash.similarity.tokens._token": (tokens_of, 12_000, 30),
    "es_simhash.similarity.tokens._character": (tokens_of, 12_000, 1),
    "es_simhash.similarity.tokens._tokens": (tokens_of, 2_200, 15),
    "es_simhash.similarity.differences._stems": (
        lambda n, length: _opposed(f"{n:x<{length}}", f"y{n:x<{length - 1}}"),
        12_000,
        30,
    ),
    "es_simhash.similarity.names._sounds": (
        lambda n, length: sound_alike(*(han(min(length, 2_000), 2 * n + each) for each in (0, 1))),
        4_400,
        10,
    ),
    "es_simhash.text.numbers.values_of": (tokens_of, 12_000, 15),
    "es_simhash.text.numbers._shortest": (lambda n, length: by_value(f"{n:0>{length}}000万吨"), 11_000, 15),
    "es_simhash.text.normalisation._parts_of_title": (
        lambda n, length: without_outlet(f"{n:x<{length - 10}}_chinanews"),
        2_200,
        60,
    ),
    "es_simhash.text.normalisation._character_of": (lambda n, length: normalise(f"&x{n:0>{length - 1}};"), 1_100, 32),
    "es_simhash.text.qgrams._shared_at_least": (
        lambda n, length: shared_at_least("中" * min(length, 75), 0.5 + n / 2_200),
        1_100,
        75,
    ),
    "es_simhash.store.sqlite.schema._parsed": (
        lambda n, length: _parsed(json.dumps({"terms": {"a": [f"{n}-{each}" for each in range(length // 10)]}})),
        6,
        300_000,
    ),
    "es_simhash.bloom.filter._config_of": (
        lambda n, _: BloomFilter.from_bytes(BloomFilter(8 + n, 0.01).to_bytes()),
        200,
        0,
    ),
}
"""By the place of each cache: what adds the nth entry, how many fill it, and the most characters that it keeps."""


def kept(fill: Fill, count: int, length: int) -> int:
    """Return how many bytes more are in use when a cache was filled."""
    fill(0, LONG)  # loads tables, and jieba's model, which characters that are repeated need
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(count):
            fill(number, length)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("place", CACHES)
def test_a_full_cache_holds_some_megabytes(place: str) -> None:
    assert kept(*CACHES[place]) < FULL


@pytest.mark.parametrize("place", sorted(CACHES.keys() - {"es_simhash.store.sqlite.schema._parsed"}))
def test_a_cache_keeps_nothing_of_a_long_text(place: str) -> None:
    assert kept(CACHES[place][0], 5, LONG) < 3 * LONG


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 30, 600, LONG])
def test_the_texts_that_are_compared_again_are_bounded_in_bytes(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("es_simhash.decide.texts.KEPT", 2_000_000)
    fingerprinter = Fingerprinter(Scheme(weights="equal"))
    texts = Texts(MemoryStore(), ResolvedRule(DuplicateRule(), fingerprinter, True))

    new = TextFeatures("中" * length, fingerprinter)

    def fill(number: int, length: int) -> None:
        features = TextFeatures(han(length, number), fingerprinter)
        similarities(new, [features], DuplicateRule(), exactly=True)
        assert len(features.keys.values) > 0
        texts.keep(features.digest, features)

    assert kept(fill, 3_000_000 // (1_000 + 20 * length), length) < 2_400_000


def without_text(id: str) -> Stored:
    return Stored(Row(id, None, ""), (), {})


@pytest.mark.slow
def test_what_was_warned_about_is_bounded_too(caplog: pytest.LogCaptureFixture) -> None:
    texts = Texts(MemoryStore(), ResolvedRule(DuplicateRule(), Fingerprinter(Scheme()), True))
    with caplog.at_level(logging.CRITICAL, logger="es_simhash"):
        assert kept(lambda n, length: texts.of_stored(without_text(f"{n:0{length}}")), 50_000, 512) < FULL


def test_a_warning_comes_once(caplog: pytest.LogCaptureFixture) -> None:
    texts = Texts(MemoryStore(), ResolvedRule(DuplicateRule(), Fingerprinter(Scheme()), True))
    for id in ("a", "b", "a"):
        texts.of_stored(without_text(id))
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == ["a", "b"]


def test_nothing_of_a_module_grows_but_caches_with_a_bound() -> None:
    """A container of a module, and a cache without a bound, is as large before and after all caches are filled."""

    def sizes() -> dict[str, int]:
        modules = {name: module for name, module in sys.modules.items() if name.startswith("es_simhash.")}
        values = {f"{name}.{key}": value for name, module in modules.items() for key, value in vars(module).items()}
        caches = {name: value.cache_info() for name, value in values.items() if hasattr(value, "cache_info")}
        return {name: len(value) for name, value in values.items() if isinstance(value, dict | list | set)} | {
            name: info.currsize for name, info in caches.items() if info.maxsize is None
        }

    for fill, _, _ in CACHES.values():
        fill(0, LONG)
    before = sizes()
    for fill, _, _ in CACHES.values():
        for number in range(10):
            fill(number, 100)
    assert sizes() == before
