"""``es-simhash compare``: compare two texts. No store is needed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash.console.help import Command
from es_simhash.console.input import read_text
from es_simhash.console.options import json_option, pair_options
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.console.scheme import make_fingerprinter, plain_scheme_options
from es_simhash.fingerprinting.encoding import SEGMENT_BITS
from es_simhash.fingerprinting.shingles import SHINGLE
from es_simhash.fingerprinting.weights import MIN_FEATURES
from es_simhash.similarity.compare import Comparison, Side
from es_simhash.similarity.compare import compare as compare_texts
from es_simhash.tools.decision import decision_json, keys_line, numbers_line, rule_json, texts_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.similarity.compare import Verdict
    from es_simhash.similarity.rule import DuplicateRule

_NAMES: dict[Verdict, str] = {
    "exact_duplicate": "exact duplicates",
    "near_duplicate": "near-duplicates",
    "different": "different",
}
SHOWN_WORDS = 8
"""The text form shows this many words of each kind. --json has all of them."""


@click.command(cls=Command)
@click.argument("texts", metavar="[TEXT]…", nargs=-1)
@click.option("--file", "files", metavar="FILE", multiple=True, help="Read a text from this file; - is standard input.")
@pair_options
@json_option
@plain_scheme_options
def compare(texts: tuple[str, ...], files: tuple[str, ...], rule: DuplicateRule, as_json: bool, **choices: Any) -> None:
    """Compare two texts: which bits and which words differ.

    Give two TEXTs, two --file, or one of each. The first text is A, the second is B; a TEXT comes before a file. No
    store is needed.

    \b
    es-simhash compare "市气象台发布暴雨橙色预警" "市气象台发布暴雨红色预警"
    es-simhash compare --file old.txt --file new.txt --bits 128
    es-simhash compare --file old.txt --file new.txt --rule contained
    es-simhash compare "市气象台发布暴雨橙色预警" --file new.txt --json

    \f
    Jaccard is the similarity of the character shingles. Cosine is the similarity of the weighted words. Both are from 0
    to 1. 'more in A' lists the words that weigh more in A than in B: the word, its weight in A, and if it is also in B
    '>' and its weight in B.

    With --confirm or --max-distance, 'rule' is what B is to A under these options. With --confirm, 'texts', 'numbers'
    and 'keys' say why: the similarity, the numbers that only one text has, and how many keys of B the text A has.
    """
    if len(texts) + len(files) != 2 or files.count("-") > 1:
        raise click.UsageError("give two texts: two TEXTs, two --file FILE, or one of each")
    fingerprinter = make_fingerprinter(**choices)
    a, b = (*texts, *map(read_text, files))
    comparison = compare_texts(a, b, fingerprinter, rule=rule)
    if as_json:
        print_json(_json_form(comparison, rule))
        return
    for line in _text_form(comparison, rule):
        echo(line)


def _json_form(comparison: Comparison, rule: DuplicateRule) -> dict[str, Any]:
    return {
        "a": _json_side(comparison.a),
        "b": _json_side(comparison.b),
        "distance": comparison.distance,
        "differing": list(comparison.differing),
        "matching": list(comparison.matching),
        "jaccard": comparison.jaccard,
        "cosine": comparison.cosine,
        "verdicts": list(comparison.verdicts),
        "rule": {"max_distance": rule.max_distance, **rule_json(rule)},
        "texts": None if comparison.texts is None else decision_json(comparison.texts),
        "verdict": comparison.verdict,
        "verdict_with_keys": comparison.verdict_with_keys,
        "scheme": comparison.scheme.version,
    }


def _json_side(side: Side) -> dict[str, Any]:
    return {
        "fingerprint": side.fingerprint.hex,
        "segments": list(side.fingerprint.segments),
        "features": side.fingerprint.features,
        "digest": side.fingerprint.digest,
        "pulls": [asdict(pull) for pull in side.pulls],
        "stop_words": list(side.stop_words),
        "short_words": list(side.short_words),
    }


def _text_form(comparison: Comparison, rule: DuplicateRule) -> Iterator[str]:
    too_short = f"none: fewer than {MIN_FEATURES} features (text too short)"
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        yield f"{name}         {side.fingerprint.hex or too_short}  {count_of(side.fingerprint.features, 'feature')}"
    distance = "none" if comparison.distance is None else f"{comparison.distance} of {comparison.scheme.bits} bits"
    yield f"distance  {distance}"
    yield f"jaccard   {comparison.jaccard:.4f} of {SHINGLE}-character shingles"
    yield f"cosine    {comparison.cosine:.4f} of weighted words"
    yield f"verdict   {_verdict(comparison)}"
    if comparison.texts is not None:
        yield f"texts     {texts_line(comparison.texts, rule)}"
        yield f"numbers   {numbers_line(comparison.texts)}"
        yield f"keys      {keys_line(comparison.texts)}"
    if comparison.verdict_with_keys is not None:
        yield f"rule      {_NAMES[comparison.verdict]}; in a store with keys: {_NAMES[comparison.verdict_with_keys]}"
    elif rule.max_distance is not None:
        yield f"rule      {_NAMES[comparison.verdict]}"
    if comparison.distance is not None:
        yield ""
        yield from _grid(comparison)
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        yield ""
        pulls = [f"{pull.feature} {pull.weight:.2f}{f' > {pull.other:.2f}' * bool(pull.other)}" for pull in side.pulls]
        yield f"more in {name}    {_first_words(pulls)}"
        dropped = (
            f"stop words: {_first_words(side.stop_words)}; words of one character: {_first_words(side.short_words)}"
        )
        yield f"dropped      {dropped}"


def _verdict(comparison: Comparison) -> str:
    if comparison.verdicts[0] == "exact_duplicate":
        return "exact duplicates: the normalised texts are the same"
    if "near_duplicate" in comparison.verdicts:
        return f"near-duplicates at a max_distance of {comparison.verdicts.index('near_duplicate')} or more"
    return f"different at every max_distance up to {comparison.scheme.max_distance}"


def _grid(comparison: Comparison) -> Iterator[str]:
    """Yield one row for each segment: its bits in A, its bits in B, and a mark below each bit that differs."""
    values = [side.fingerprint.value or 0 for side in (comparison.a, comparison.b)]
    bits = [f"{value:0{comparison.scheme.bits}b}" for value in values]
    marks = "".join("^" if index in comparison.differing else "." for index in range(comparison.scheme.bits))
    yield f"    {'A':<{SEGMENT_BITS}}  {'B':<{SEGMENT_BITS}}  differing"
    for segment, same in enumerate(comparison.matching):
        start = SEGMENT_BITS * segment
        row = "  ".join(column[start : start + SEGMENT_BITS] for column in (*bits, marks))
        yield f"s{segment}  {row}  {'same' if same else marks[start : start + SEGMENT_BITS].count('^')}"


def _first_words(words: Sequence[str]) -> str:
    more = f", and {len(words) - SHOWN_WORDS} more" if len(words) > SHOWN_WORDS else ""
    return (", ".join(words[:SHOWN_WORDS]) or "none") + more
