"""Each step of one text beside its floor, in processor time."""

from __future__ import annotations

import json
import random
import unicodedata
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bench import by_turns, microseconds, ratio
from dedupe import HASHES, shingles_of
from es_simhash import DuplicateRule, Fingerprinter, compare, read_file
from es_simhash.decide.judge import Side, judge
from es_simhash.decide.rule import ResolvedRule
from es_simhash.rows import Row
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.text.keys import keys_of_texts
from es_simhash.text.normalisation import compared_characters_of_texts
from es_simhash.text.tokens import segmenter, tokenize
from texts import LENGTHS, SHARES, edited, texts, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench import Bench, Values

FINGERPRINTER = Fingerprinter()
RULE = ResolvedRule(DuplicateRule(), FINGERPRINTER, keys=True)


class Given:
    """The texts of a round, and what the steps take of them. Each round has others: what was compared is kept."""

    def __init__(self, own: list[str], file: Path) -> None:
        self.texts, self.file, rng = own, file, random.Random(1)
        self.copies = [edited(text, rng) for text in own]
        write(file, ({"id": number, "text": text} for number, text in enumerate(own)))

    @cached_property
    def lines(self) -> list[str]:
        return self.file.read_text(encoding="utf-8").splitlines()

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.texts, self.copies, strict=True))

    @cached_property
    def normalised(self) -> list[str]:
        return list(map(FINGERPRINTER.scheme.normalise, self.texts))

    @cached_property
    def normalised_pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.normalised, map(FINGERPRINTER.scheme.normalise, self.copies), strict=True))

    @cached_property
    def words_of_pairs(self) -> list[tuple[str, str]]:
        a, b = (compared_characters_of_texts(side) for side in zip(*self.normalised_pairs, strict=True))
        return list(zip(a, b, strict=True))


class Step(NamedTuple):
    """A step: what it does with one item, or with all together, of which part of the Given; beside which floor."""

    call: Callable[[Any], object]
    given: str
    floor: str = ""
    at_once: bool = False


def steps_of(bench: Bench) -> dict[str, Step]:
    """Return the steps in the order of a program. Those of other libraries are left out if they are not installed."""
    steps = {
        "read and write a line": Step(lambda line: written(json.loads(line)), "lines"),
        "`read_file`, and write": Step(read_and_write, "file", "read and write a line", at_once=True),
        "NFKC": Step(partial(unicodedata.normalize, "NFKC"), "texts"),
        "normalise": Step(FINGERPRINTER.scheme.normalise, "texts", "NFKC"),
    }
    if rjieba := bench.peer("rjieba"):
        steps["rjieba alone"] = Step(rjieba.Jieba().cut, "normalised")
    segment = segmenter()
    steps |= {
        "words": Step(lambda text: tokenize(text, segment), "normalised", "rjieba alone"),
        "words, votes and digest: the fingerprint": Step(
            lambda text: FINGERPRINTER.fingerprints_normalised([text]), "normalised", "rjieba alone"
        ),
    }
    if (simhash := bench.peer("simhash")) and (jieba := bench.peer("jieba")):
        jieba.setLogLevel("WARNING")
        steps["fingerprint by 1e0ng/simhash with jieba"] = Step(
            lambda text: simhash.Simhash(list(jieba.cut(text))).value, "normalised", "rjieba alone"
        )
    if rensa := bench.peer("rensa"):

        def signature(text: str) -> object:
            made = rensa.RMinHash(HASHES, 1)
            made.update(list(shingles_of(text)))
            return made.digest()

        steps["MinHash by rensa"] = Step(signature, "normalised")
    steps |= {
        "keys of one text": Step(lambda text: keys_of_texts([text]), "normalised", "MinHash by rensa"),
        "keys of texts together": Step(keys_of_texts, "normalised", "MinHash by rensa", at_once=True),
    }
    if rapidfuzz := bench.peer("rapidfuzz.distance", "rapidfuzz"):
        similarity = rapidfuzz.Levenshtein.normalized_similarity
        steps["rapidfuzz alone, of a pair"] = Step(lambda pair: similarity(*pair), "words_of_pairs")
    return steps | {
        "judge a pair": Step(judged, "normalised_pairs", "rapidfuzz alone, of a pair"),
        "`compare` a pair, from its texts": Step(lambda pair: compare(*pair), "pairs", "rapidfuzz alone, of a pair"),
    }


def written(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)


def read_and_write(file: Path) -> object:
    return [written(line.document) for line in read_file(file)]


def judged(pair: tuple[str, str]) -> object:
    a, b = (Side(Row(text, 0, text), TextFeatures(text, FINGERPRINTER, is_normalised=True)) for text in pair)
    return list(judge(b, [a], RULE))


def steps(bench: Bench) -> None:
    """Take all steps with texts of each length."""
    chosen = steps_of(bench)
    floors = {name: step.floor for name, step in chosen.items()}
    columns = {f"{length:,}": measured(bench, chosen, length) for length in LENGTHS}
    bench.page.beside("µs of the processor for a text, by its characters (× the floor of the step)", columns, floors)
    values, ours = columns[f"{LENGTHS[-1]:,}"], "words, votes and digest: the fingerprint"
    if other := values.get("fingerprint by 1e0ng/simhash with jieba"):
        bench.page.aim("fingerprints, × the rate of 1e0ng/simhash with jieba", ratio(other, values[ours]), at_least=10)
    if alone := values.get("rjieba alone"):
        bench.page.aim("fingerprints, × the time of rjieba alone", ratio(values[ours], alone), at_most=1.67)


def measured(bench: Bench, chosen: dict[str, Step], length: int) -> Values:
    count = max(10, bench.count // SHARES[length])
    made = texts(bench, count * (bench.rounds + 1), length)
    given = [
        Given(made[count * number : count * (number + 1)], bench.folder / f"{length}-{number}.jsonl")
        for number in range(bench.rounds + 1)
    ]

    def task(step: Step, number: int) -> float:
        return microseconds(step.call, getattr(given[number], step.given), count if step.at_once else None)

    for step in chosen.values():
        task(step, -1)  # loads dictionaries
    return by_turns({name: partial(task, step) for name, step in chosen.items()}, bench.rounds)
