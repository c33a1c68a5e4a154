"""What lives as long as the process is bounded in bytes, whatever it is fed with."""

from __future__ import annotations

import gc
import json
import logging
import random
import sys
import tracemalloc
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Callable

FULL = 40 << 20
"""Bytes that a cache holds at most."""
LONG = 10_000
"""Characters of long texts. Nothing is kept of them."""


def han(length: int, seed: int) -> str:
    """Return random Han characters."""
    return "".join(map(chr, random.Random(seed).choices(range(0x4E00, 0x9FA5), k=length)))


def fill_new_words(count: int, length: int) -> None:
    for seed in range(count):
        tokenize(han(length, seed), segmenter())


def fill_dictionary(count: int, length: int) -> None:
    for seed in range(count):
        for word in dictionary_words(han(length, seed))[:10]:
            part_of_speech(word)


def fill_hashes(count: int, length: int) -> None:
    for name in ("murmur3", "fnv1a_64"):
        for number in range(count):
            hasher(name, 8)(f"{number:0{length}}")


def fill_tokens(count: int, length: int) -> None:
    for number in range(count):
        word = f"{number}".translate(str.maketrans("0123456789", "abcdefghij"))
        tokens(f"{word:x<{length}}, {number:0{length}}, {number:0{length}}万", length)


def fill_terms(count: int, length: int) -> None:
    for number in range(count):
        _opposed(f"{number:x<{length}}", f"y{number:x<{length - 1}}")


def fill_sounds(count: int, length: int) -> None:
    for seed in range(count):
        sound_alike(*(han(min(length, 2_000), 2 * seed + each) for each in (0, 1)))


def fill_numbers(count: int, length: int) -> None:
    for number in range(count):
        by_value(f"{number:0>{length}}000万吨")


def fill_references(count: int, length: int) -> None:
    for number in range(count):
        normalise(f"&x{number:0>{length - 1}};")


def fill_titles(count: int, length: int) -> None:
    for number in range(count):
        without_outlet(f"{number:x<{length - 10}}_chinanews")


def fill_lengths(count: int, length: int) -> None:
    for number in range(count):
        shared_at_least("中" * min(length, 75), 0.5 + number / count / 2)


def fill_filters(count: int, length: int) -> None:
    for number in range(min(count, 6)):
        _parsed(json.dumps({"terms": {"a": [f"{number}-{each}" for each in range(length // 10)]}}))


def fill_configurations(count: int, length: int) -> None:
    for number in range(count):
        bloom = BloomFilter(8 + number, 0.01)
        BloomFilter.from_bytes(bloom.to_bytes())


CACHES: dict[str, tuple[Callable[[int, int], None], int, int]] = {
    "es_simhash.text.tokens._segmenter": (fill_new_words, 600, 120),
    "es_simhash.text.tokens._dictionary": (fill_dictionary, 2_200, 60),
    "es_simhash.text.votes.hasher": (fill_hashes, 70_000, 20),
    "es_simhash.similarity.tokens._token": (fill_tokens, 12_000, 30),
    "es_simhash.similarity.tokens._character": (fill_tokens, 12_000, 1),
    "es_simhash.similarity.tokens._tokens": (fill_tokens, 2_200, 15),
    "es_simhash.similarity.differences._stems": (fill_terms, 12_000, 30),
    "es_simhash.similarity.names._sounds": (fill_sounds, 4_400, 10),
    "es_simhash.text.numbers.values_of": (fill_tokens, 12_000, 15),
    "es_simhash.text.numbers._shortest": (fill_numbers, 11_000, 15),
    "es_simhash.text.normalisation._parts_of_title": (fill_titles, 2_200, 60),
    "es_simhash.text.normalisation._character_of": (fill_references, 1_100, 32),
    "es_simhash.text.qgrams._shared_at_least": (fill_lengths, 1_100, 75),
    "es_simhash.store.sqlite.schema._parsed": (fill_filters, 6, 300_000),
    "es_simhash.bloom.filter._config_of": (fill_configurations, 200, 0),
}
"""By the place of each cache: what fills it, with so many arguments of the most characters that it keeps."""


def kept(fill: Callable[[int, int], None], count: int, length: int) -> int:
    """Return how many bytes more are in use when a cache was filled."""
    fill(1, LONG)  # loads tables, and jieba's model, which characters that are repeated need
    gc.collect()
    tracemalloc.start()
    try:
        fill(count, length)
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

    def fill(count: int, length: int) -> None:
        new = TextFeatures("中" * length, fingerprinter)
        for number in range(count):
            features = TextFeatures(han(length, number), fingerprinter)
            similarities(new, [features], DuplicateRule(), exactly=True)
            assert len(features.keys.values) > 0
            texts.keep(features.digest, features)

    assert kept(fill, 3_000_000 // (1_000 + 20 * length), length) < 2_400_000


@pytest.mark.slow
def test_what_was_warned_about_is_bounded_too(caplog: pytest.LogCaptureFixture) -> None:
    texts = Texts(MemoryStore(), ResolvedRule(DuplicateRule(), Fingerprinter(Scheme()), True))
    with caplog.at_level(logging.CRITICAL, logger="es_simhash"):

        def fill(count: int, length: int) -> None:
            for number in range(count):
                texts.of_stored(Stored(Row(f"{number:0{length}}", None, ""), (), {}))

        assert kept(fill, 50_000, 512) < FULL


def test_a_warning_comes_once(caplog: pytest.LogCaptureFixture) -> None:
    texts = Texts(MemoryStore(), ResolvedRule(DuplicateRule(), Fingerprinter(Scheme()), True))
    for id in ("a", "b", "a"):
        texts.of_stored(Stored(Row(id, None, ""), (), {}))
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
        fill(1, LONG)
    before = sizes()
    for fill, _, _ in CACHES.values():
        fill(10, 100)
    assert sizes() == before
