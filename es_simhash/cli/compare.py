"""``es-simhash compare``: two texts side by side, with no store."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.options import json_option, print_json, read_text
from es_simhash.cli.scheme import make_fingerprinter, plain_scheme_options
from es_simhash.fingerprinting.encoding import SEGMENT_BITS
from es_simhash.similarity.compare import Comparison, Side
from es_simhash.similarity.compare import compare as compare_texts
from es_simhash.similarity.measures import SHINGLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHOWN = 8
"""How many words of each kind the text form shows; --json has all of them."""


@click.command()
@click.argument("texts", metavar="[TEXT]…", nargs=-1)
@click.option("--file", "files", metavar="FILE", multiple=True, help="A file with a text; - for standard input.")
@plain_scheme_options
@json_option
def compare(texts: tuple[str, ...], files: tuple[str, ...], as_json: bool, **choices: Any) -> None:
    """Compare two texts, A and B: which bits differ, and which words make them differ; TEXTs before files.

    \b
    es-simhash compare "市气象台发布暴雨橙色预警，部分路段积水" "市气象台发布暴雨红色预警，部分路段积水"
    es-simhash compare --file old.txt --file new.txt --bits 128
    es-simhash compare "市气象台发布暴雨橙色预警，部分路段积水" --file new.txt --json

    Jaccard is that of character shingles, cosine that of the weighed words, both from 0 to 1.
    """
    if len(texts) + len(files) != 2 or files.count("-") > 1:
        raise click.UsageError("give two: TEXTs, --file FILEs, or one of each")
    fingerprinter = make_fingerprinter(**choices)
    a, b = (*texts, *map(read_text, files))
    made = compare_texts(a, b, fingerprinter)
    if as_json:
        print_json(_plain(made))
        return
    for line in _shown(made):
        click.echo(line)


def _plain(made: Comparison) -> dict[str, Any]:
    return {
        "a": _plain_side(made.a),
        "b": _plain_side(made.b),
        "distance": made.distance,
        "differing": list(made.differing),
        "matching": list(made.matching),
        "jaccard": made.jaccard,
        "cosine": made.cosine,
        "verdicts": list(made.verdicts),
        "scheme": made.scheme.version,
    }


def _plain_side(side: Side) -> dict[str, Any]:
    return {
        "fingerprint": side.fingerprint.hex,
        "segments": list(side.fingerprint.segments),
        "features": side.fingerprint.features,
        "digest": side.fingerprint.digest,
        "pulls": [asdict(pull) for pull in side.pulls],
        "stop_words": list(side.stop_words),
        "short_words": list(side.short_words),
    }


def _shown(made: Comparison) -> Iterator[str]:
    too_little = f"none: fewer than {made.scheme.min_features} features"
    for name, side in (("A", made.a), ("B", made.b)):
        yield f"{name}         {side.fingerprint.hex or too_little}  {side.fingerprint.features} features"
    yield f"distance  {'none' if made.distance is None else f'{made.distance} of {made.scheme.bits} bits'}"
    yield f"jaccard   {made.jaccard:.4f} of shingles of {SHINGLE} characters"
    yield f"cosine    {made.cosine:.4f} of weighed words"
    yield f"verdict   {_verdict(made)}"
    if made.distance is not None:
        yield ""
        yield from _grid(made)
    for name, side in (("A", made.a), ("B", made.b)):
        yield ""
        pulls = [f"{pull.feature} {pull.weight:.2f}{f' > {pull.other:.2f}' * bool(pull.other)}" for pull in side.pulls]
        yield f"more in {name}    {_some(pulls)}"
        yield f"dropped      {_some(side.stop_words)} of the stop words; {_some(side.short_words)} of one character"


def _verdict(made: Comparison) -> str:
    if made.verdicts[0] == "exact_duplicate":
        return "exact duplicates: the normalised texts are the same"
    if "near_duplicate" in made.verdicts:
        return f"near-duplicates at a max_distance of {made.verdicts.index('near_duplicate')} or more"
    return f"different at every max_distance up to {made.scheme.max_distance}"


def _grid(made: Comparison) -> Iterator[str]:
    """A row a segment: its bits in A, its bits in B, and marks for those that differ."""
    values = [side.fingerprint.value or 0 for side in (made.a, made.b)]
    bits = [f"{value:0{made.scheme.bits}b}" for value in values]
    marks = "".join("^" if place in made.differing else "." for place in range(made.scheme.bits))
    yield f"    {'A':<{SEGMENT_BITS}}  {'B':<{SEGMENT_BITS}}  differing"
    for segment, same in enumerate(made.matching):
        start = SEGMENT_BITS * segment
        row = "  ".join(every[start : start + SEGMENT_BITS] for every in (*bits, marks))
        yield f"s{segment}  {row}  {'same' if same else marks[start : start + SEGMENT_BITS].count('^')}"


def _some(words: Sequence[str]) -> str:
    more = f", and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return (", ".join(words[:SHOWN]) or "nothing") + more
