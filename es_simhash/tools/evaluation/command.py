"""``es-simhash evaluate``: find the best rule for labelled pairs, or draw pairs to label."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash.console.exits import SOME_NOT_DONE
from es_simhash.console.first_lines import object_of
from es_simhash.console.help import Command, option
from es_simhash.console.input import Input, input_options, input_paths
from es_simhash.console.options import (
    filter_option,
    json_option,
    optional_store_options,
    pair_options,
    text_field_option,
)
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.console.scheme import make_fingerprinter, open_documents, scheme_options
from es_simhash.errors import InputError
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.tools.evaluation.labelled_pairs import PairReader
from es_simhash.tools.evaluation.output import json_form, table_lines
from es_simhash.tools.evaluation.precision import evaluate as evaluate_pairs
from es_simhash.tools.evaluation.sample import has_keys, pairs_to_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash import Documents
    from es_simhash.console.progress import Progress
    from es_simhash.tools.evaluation.precision import LabelledPair

SAMPLE = "Draw pairs to label"
_FOUND = {"keys": "by keys alone", "outside": "just outside of the rule copy"}


@click.command(cls=Command)
@click.argument("files", metavar="[PAIRS…|-]", nargs=-1)
@click.option("--truth", metavar="T", type=float, help='A pair with a "similarity" of at least T counts as duplicates.')
@pair_options
@json_option
@option(
    "--sample",
    section=SAMPLE,
    metavar="N",
    type=click.IntRange(1),
    help="Draw N pairs from the store for labelling, and do not evaluate.",
)
@option(
    "--seed",
    section=SAMPLE,
    metavar="NUMBER",
    type=int,
    default=0,
    show_default=True,
    help="Another seed draws other pairs.",
)
@text_field_option("Field that holds the text of a stored document.", section=SAMPLE)
@filter_option("Draw only documents that match this query clause.", section=SAMPLE)
@input_options
@optional_store_options
@scheme_options
def evaluate(
    files: tuple[str, ...],
    truth: float | None,
    rule: DuplicateRule,
    sample: int | None,
    seed: int,
    text_field: list[str] | None,
    filter: dict[str, Any] | None,
    as_json: bool,
    reading: dict[str, Any],
    store: str | None,
    connection: dict[str, Any],
    **choices: Any,
) -> None:
    """Find the best rule from pairs that you have labelled.

    For each rule, and for each max_distance k of fingerprints, it prints precision and recall with their intervals, and
    F1. It says if the answers are too few to choose, and lists duplicates that are not found. It also
    compares --rule with its refinements, or else the rule of the store. PAIRS are JSON lines, or the rows of a table.
    A line names two texts or two stored documents:

    \b
    {"a": "TEXT", "b": "TEXT", "duplicate": true}
    {"a_id": "news-1", "b_id": "news-2", "duplicate": 0}
    {"a": "TEXT", "b": "TEXT", "similarity": 0.87}   needs --truth 0.8

    A bad line is reported with its place and skipped. Ids and --sample need --store. With --store, the Scheme is that
    of the store, and a line with ids uses the stored fingerprints. Without --store, a line with texts and ids uses the
    texts. The rules copy and contained need the texts.

    \b
    es-simhash evaluate pairs.jsonl
    es-simhash evaluate pairs.jsonl --confirm 0.9 --bits 128
    es-simhash evaluate --sample 200 --store sqlite:///news.db > pairs.jsonl
    es-simhash evaluate labelled.jsonl --store sqlite:///news.db

    \f
    Precision is undefined ('-', in JSON null) if no pair is predicted as duplicates. F1 is 0 if no prediction is right.
    The command marks the rule and the k with the highest F1; of several k, the smallest. A text that is too short for a
    fingerprint is found at every k if it is an exact duplicate, and else only by texts.

    --sample prints lines {"a_id", "b_id", "distance", "a", "b", "found"}. Add "duplicate" to each line. Half of the
    pairs have near fingerprints, the same number at each distance from 0 to 7 (for 128 bits from 0 to 15). A quarter is
    found by keys alone, and a quarter is just outside of the rule copy. So precision and recall are those of these
    pairs, not of the store. The same seed draws the same pairs. A document takes about 400 bytes of memory. If there
    are more than a million documents, it takes a random million.
    """
    if sample is not None and (files or rule != DuplicateRule() or truth is not None):
        raise click.UsageError("--sample only draws pairs: use it without PAIRS, --truth, --rule and --confirm")
    if sample is not None and store is None:
        raise click.UsageError("--sample draws pairs from a store: name the store (--store URL)")
    with ExitStack() as stack:
        documents = None
        if store is not None:
            documents = stack.enter_context(open_documents(store, connection, **choices))
        if sample is not None and documents is not None:
            _print_sample(documents, sample, text_field, filter, seed)
            return
        fingerprinter = documents.fingerprinter() if documents else make_fingerprinter(**choices)
        if documents is not None and rule == DuplicateRule():
            rule = documents.rule()
        reader = PairReader(fingerprinter, truth, rule, documents.fetch if documents else None)
        source = Input(input_paths(files, "name a file of labelled pairs, or pipe them in"), **reading)
        progress = stack.enter_context(source.progress("pairs"))
        pairs = reader.read(source.lines(progress, object_of))
        evaluation = evaluate_pairs(_usable(pairs, progress, source), fingerprinter.scheme)
    if as_json:
        print_json(json_form(evaluation, rule, progress.rejected))
    else:
        for line in table_lines(evaluation, rule):
            echo(line)
    if progress.rejected:
        sys.exit(SOME_NOT_DONE)


def _usable(pairs: Iterable[LabelledPair | str], progress: Progress, source: Input) -> Iterator[LabelledPair]:
    """Yield the labelled pairs; a line that cannot be used is reported and counted.

    :raises InputError: at the end, if there was no pair.
    """
    used = False
    for pair in pairs:
        progress.done()
        if isinstance(pair, str):
            progress.reject(pair)
        else:
            used = True
            yield pair
    if not used:
        example = '{"a": "…", "b": "…", "duplicate": true}'
        raise InputError(f"no usable pairs in {source.names}: give lines such as {example}")


def _print_sample(
    documents: Documents, size: int, fields: list[str] | None, filter: dict[str, Any] | None, seed: int
) -> None:
    drawn: Counter[str] = Counter()
    for pair in pairs_to_label(documents, size, fields, filter, seed):
        print_json(asdict(pair))
        drawn[_FOUND.get(pair.found, f"at {count_of(pair.distance, 'bit')}")] += 1
    kinds = ", ".join(f"{count} {kind}" for kind, count in drawn.items())
    echo(f"{count_of(drawn.total(), 'pair')}: {kinds}", err=True)
    if not has_keys(documents):
        echo(
            f"{documents.name} has no complete keys, so near fingerprints alone are drawn: `es-simhash init --keys` "
            "and `es-simhash backfill --again` make them",
            err=True,
        )
