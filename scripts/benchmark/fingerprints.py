"""Text to fingerprint, beside the libraries that make fingerprints or signatures."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import interleaved, seconds_of
from es_simhash import Fingerprinter
from report import Table
from texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench import Bench

LENGTH = 1_500
SHINGLE = 5


def fingerprints(bench: Bench) -> None:
    """Time each contender on the same texts. Each starts from the text, and ends with a fingerprint or a signature."""
    some = texts(bench.texts, bench.count, LENGTH, bench.seed)
    ours = Fingerprinter()
    one_by_one: dict[str, Callable[[str], Any]] = {
        "es_simhash, one by one": ours.fingerprint,
        **segmenters(bench),
        **peers(bench),
    }
    contenders: dict[str, Callable[[list[str]], Any]] = {name: each(function) for name, function in one_by_one.items()}
    contenders["es_simhash"] = ours.fingerprints
    for function in contenders.values():
        function(some[:1])  # load the dictionaries

    def turn(function: Callable[[list[str]], Any]) -> float:
        return seconds_of(lambda: function(some))

    taken = interleaved({name: partial(turn, function) for name, function in contenders.items()}, bench.rounds)
    rates = {name: [len(some) / each for each in values] for name, values in taken.items()}
    characters = sum(map(len, some)) // len(some)
    table = Table(f"{len(some):,} texts of {characters:,} characters", "texts a second", rates, "es_simhash")
    bench.report.add(table)
    aim = bench.report.aim
    aim("fingerprints, × 1e0ng/simhash with jieba", table.ratio("es_simhash", "1e0ng/simhash with jieba"), at_least=10)
    aim("fingerprints, share of the rate of rjieba alone", table.ratio("es_simhash", "rjieba alone"), at_least=0.4)


def each(function: Callable[[str], Any]) -> Callable[[list[str]], Any]:
    return lambda texts: list(map(function, texts))


def segmenters(bench: Bench) -> dict[str, Callable[[str], Any]]:
    found: dict[str, Callable[[str], Any]] = {}
    if jieba := bench.peer("jieba"):
        jieba.setLogLevel(logging.WARNING)
        found["jieba alone"] = jieba.lcut
    if rjieba := bench.peer("rjieba"):
        found["rjieba alone"] = rjieba.Jieba().cut
    return found


def peers(bench: Bench) -> dict[str, Callable[[str], Any]]:
    found: dict[str, Callable[[str], Any]] = {}
    if simhash := bench.peer("simhash"):
        if jieba := bench.peer("jieba"):
            found["1e0ng/simhash with jieba"] = lambda text: simhash.Simhash(list(jieba.cut(text))).value
        # With a text it makes 4-grams of characters. It fails where one of them occurs more than 255 times.
        found["1e0ng/simhash, 4-grams"] = lambda text: simhash.Simhash(text).value
    if gaoya := bench.peer("gaoya.simhash", "gaoya"):
        index = gaoya.SimHashStringIndex(64, 6, 3, "char", False, (SHINGLE, SHINGLE))
        found["gaoya SimHash, with its insert"] = lambda text: index.insert_document(0, text)
    if gaoya := bench.peer("gaoya.minhash", "gaoya"):
        bands = gaoya.MinHashStringIndex(32, 0.5, 32, 4, None, "char", False, (SHINGLE, SHINGLE))
        found["gaoya MinHash, with its insert"] = lambda text: bands.insert_document(0, text)
    if rensa := bench.peer("rensa"):

        def rensa_signature(text: str) -> Any:
            made = rensa.RMinHash(128, 1)
            made.update(shingles(text))
            return made.digest()

        found["rensa MinHash"] = rensa_signature
    if datasketch := bench.peer("datasketch"):

        def datasketch_signature(text: str) -> Any:
            made = datasketch.MinHash(128)
            made.update_batch([shingle.encode() for shingle in shingles(text)])
            return made.digest()

        found["datasketch MinHash"] = datasketch_signature
    return found


def shingles(text: str) -> list[str]:
    return list({text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1))})
