"""``es-simhash evaluate``: which max_distance fits pairs that a person has labelled; and pairs to be labelled."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.evaluation import plain, table
from es_simhash.cli.exits import SOME_NOT_DONE
from es_simhash.cli.input import input_paths, lines_of, progress_bar
from es_simhash.cli.options import (
    confirm_option,
    display,
    filter_option,
    json_option,
    measure_option,
    print_json,
    store_options,
    text_field_option,
)
from es_simhash.cli.plot import check_plot, plot
from es_simhash.cli.scheme import make_fingerprinter, open_documents, scheme_options
from es_simhash.errors import InputError
from es_simhash.evaluation.evaluate import evaluate as evaluate_pairs
from es_simhash.evaluation.labelled_pairs import PairReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.client import Documents
    from es_simhash.evaluation.evaluate import LabelledPair


_STORE = ("store", "api_key", "ca_certs", "no_verify_certs", "timeout")


@click.command()
@click.argument("files", metavar="[PAIRS…|-]", nargs=-1)
@click.option("--truth", metavar="T", type=float, help="From which similarity on a pair is one of duplicates.")
@confirm_option
@measure_option
@click.option("--plot", "picture", metavar="FILE", help="Draw it: a .png or .svg file. Needs es-simhash[plot].")
@click.option("--sample", metavar="N", type=click.IntRange(1), help="Draw N pairs from the store instead, to label.")
@click.option(
    "--seed", metavar="NUMBER", type=int, default=0, show_default=True, help="Of --sample: draws other pairs."
)
@text_field_option("Of --sample: where a document's text is; several fields are joined.")
@filter_option("documents of --sample must match")
@store_options
@scheme_options
@json_option
def evaluate(
    files: tuple[str, ...],
    truth: float | None,
    confirm: float | None,
    measure: Any,
    picture: str | None,
    sample: int | None,
    seed: int,
    text_field: list[str],
    clause: dict[str, Any] | None,
    as_json: bool,
    **choices: Any,
) -> None:
    """Say of every max_distance k what it finds of labelled PAIRS, and which k to choose.

    PAIRS are lines of JSON, of texts or of documents in --store, whose stored fingerprints are taken then:

    \b
    {"a": "TEXT", "b": "TEXT", "duplicate": true}
    {"a_id": "news-1", "b_id": "news-2", "duplicate": 0}
    {"a": "TEXT", "b": "TEXT", "similarity": 0.87}      a label by --truth 0.8

    Ids and --sample need a --store: here it has no default. Of a line with texts and ids the stored fingerprints are
    taken where there is a --store, else those of the texts. Where there is one, the Scheme is the store's. A line that
    can't be used is reported with its place and stops nothing.

    \b
    es-simhash evaluate pairs.jsonl
    es-simhash evaluate pairs.jsonl --confirm 0.8 --bits 128 --plot curve.png
    es-simhash evaluate --sample 200 --store http://localhost:9200/news > pairs.jsonl
    es-simhash evaluate labelled.jsonl --store http://localhost:9200/news

    Precision is undefined, '-' or null, where nothing is predicted; F1 is 0 where nothing is rightly predicted. The k
    to choose has the highest F1, and is the smallest of several. A text with too little to say for a fingerprint is
    found only as an exact copy, at every k.

    --sample prints lines {"a_id", "b_id", "distance", "a", "b"}: add "duplicate" to each. As many are drawn at each
    distance from 0 to 7, of 128 bits to 15, so precision is that of these pairs, not of the store; and recall is that
    of what is within 7 bits, or 15. The same seed draws the same pairs. Memory: some 400 bytes a document, for a
    million at most; of more documents a random million takes part.
    """
    store = {name: choices.pop(name) for name in _STORE}
    if sample is not None and (files or picture is not None or confirm is not None or truth is not None):
        raise click.UsageError("--sample draws pairs to label: PAIRS, --truth, --confirm and --plot go without it")
    if sample is not None and store["store"] is None:
        raise click.UsageError("--sample draws pairs from a store: name it, --store URL")
    if picture is not None:
        check_plot(picture)
    with ExitStack() as stack:
        documents = None
        if store["store"] is not None:
            documents = stack.enter_context(open_documents(**store, **choices))
        if sample is not None and documents is not None:
            _print_sample(documents, sample, text_field, clause, seed)
            return
        fingerprinter = documents.fingerprinter if documents else make_fingerprinter(**choices)
        reader = PairReader(
            fingerprinter, truth, None if confirm is None else measure, documents.fetch if documents else None
        )
        pairs = _Pairs(reader, input_paths(files, "name a file of labelled pairs, or pipe them in"))
        made = evaluate_pairs(pairs.usable(), fingerprinter.scheme, confirm)
    if picture is not None:
        plot(made, picture)
    if as_json:
        print_json(plain(made, measure, pairs.rejected))
    else:
        for line in table(made, measure):
            click.echo(line)
    if pairs.rejected:
        sys.exit(SOME_NOT_DONE)


class _Pairs:
    """The pairs of files; what can't be used is reported and counted."""

    def __init__(self, reader: PairReader, paths: tuple[str, ...]) -> None:
        self.rejected = 0
        self._reader = reader
        self._paths = paths

    def usable(self) -> Iterator[LabelledPair]:
        used = 0
        with progress_bar(self._paths) as progress:
            for pair in self._reader.read(lines_of(self._paths, progress)):
                if isinstance(pair, str):
                    self.rejected += 1
                    progress.clear()
                    click.echo(f"rejected: {pair}", err=True)
                else:
                    used += 1
                    yield pair
        if not used:
            wanted = 'lines {"a": "…", "b": "…", "duplicate": true} are wanted'
            raise InputError(f"no usable pairs in {', '.join(map(display, self._paths))}: {wanted}")


def _print_sample(documents: Documents, size: int, fields: list[str], clause: dict[str, Any] | None, seed: int) -> None:
    drawn: dict[int, int] = {}
    for pair in documents.sample_pairs(size, text_field=fields, filter=clause, seed=seed):
        print_json(asdict(pair))
        drawn[pair.distance] = drawn.get(pair.distance, 0) + 1
    if not drawn:
        within = documents.fingerprinter.scheme.max_distance
        raise InputError(f"no two documents in {documents.name} are within {within} bits of each other")
    shares = ", ".join(f"{count} at {distance}" for distance, count in drawn.items())
    click.echo(f"{sum(drawn.values()):,} pairs; of each distance in bits: {shares}", err=True)
