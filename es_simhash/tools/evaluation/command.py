"""``es-simhash evaluate``: find the best rule for labelled pairs, or draw pairs to label."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash import DuplicateRule, Fingerprinter, InputError, Scheme
from es_simhash.cli.exits import SOME_NOT_DONE
from es_simhash.cli.input import Input, check_different_files, input_paths, sqlite_file
from es_simhash.cli.options import (
    FILE,
    chosen_rule,
    filter_option,
    json_option,
    lang_option,
    open_documents,
    rule_options,
    store_options,
)
from es_simhash.cli.output import count_of, echo, print_json
from es_simhash.lines import object_of
from es_simhash.text.normalisation import check_surrogates
from es_simhash.tools.evaluation.chart import chart_of
from es_simhash.tools.evaluation.figures import LabelledPair
from es_simhash.tools.evaluation.figures import evaluate as evaluate_pairs
from es_simhash.tools.evaluation.intervals import CONFIDENCE
from es_simhash.tools.evaluation.labels import label_page
from es_simhash.tools.evaluation.sample import sample_pairs
from es_simhash.tools.report.page import write_page
from es_simhash.tools.texts import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from typing_extensions import Unpack

    from es_simhash import Line
    from es_simhash.cli.options import StoreOptions
    from es_simhash.similarity.rule import Rule
    from es_simhash.tools.evaluation.figures import Figures
    from es_simhash.tools.report.page import Language

MOST_PLACES = 10
"""Wrong and missed pairs that the table names. --json names all."""
_FIGURES = ("precision", "precision_interval", "recall", "recall_interval", "f1", "right", "wrong", "missed")
UNSURE = "unsure"
"""The value of ``copy`` of a pair that does not count."""
_LABELS = {"true": True, "1": True, "false": False, "0": False}
"""The values of ``copy``. A spreadsheet writes TRUE and FALSE."""


@click.command()
@click.argument("files", metavar="[PAIRS…|-]", type=FILE, nargs=-1)
@click.option("--sample", metavar="N", type=click.IntRange(1), help="Draw N pairs from the store for labelling.")
@click.option("--page", metavar="FILE", type=FILE, help="For --sample: write a page to label them on.")
@click.option("--limits", is_flag=True, help="The figures of one rule, with different limits.")
@click.option("--chart", metavar="FILE", type=FILE, help="Draw precision and recall over the limit, as SVG.")
@lang_option
@click.option("--seed", metavar="NUMBER", type=int, default=0, help="For --sample: another seed draws other pairs.")
@rule_options
@filter_option("For --sample: only documents that match this query clause.")
@json_option
@store_options
def evaluate(
    files: tuple[str, ...],
    sample: int | None,
    page: str | None,
    limits: bool,
    chart: str | None,
    lang: Language,
    seed: int,
    rule: Rule | None,
    min_similarity: float | None,
    filter: dict[str, Any] | None,
    as_json: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Find the best rule from pairs that you have labelled.

    Prints precision, recall and F1 of each rule, each with its 95 % interval. PAIRS are JSON lines or rows of CSV, such
    as {"a": "TEXT", "b": "TEXT", "copy": true}. With --store, the rule and the Scheme are that of the store.

    --sample draws such lines with "copy": null, which becomes true, false, or "unsure", which does not count. A third
    is just above the limit of the store's rule, a third just below, a third contradicts each other: the figures are
    those of such pairs, not of the whole store.

    \b
    es-simhash evaluate --sample 200 --page labels.html
    es-simhash evaluate pairs.jsonl --limits --chart limits.svg
    """
    if sample is not None and (files or limits or chart is not None):
        raise click.UsageError("--sample draws pairs: leave out PAIRS, --limits and --chart")
    if page is not None and sample is None:
        raise click.UsageError("--page shows pairs to label: add --sample N")
    check_different_files({"--store": sqlite_file(store["store"]), "--page": page, "--chart": chart}, files or ("-",))
    if sample is not None:
        with open_documents(**store) as documents:
            pairs, scheme = sample_pairs(documents, sample, filter=filter, seed=seed), documents.info().scheme
            if page is not None:
                write_page(label_page(pairs, documents.name, scheme or Scheme(), lang), page)
                echo(f"{count_of(len(pairs), 'pair')}: label them on {page}")
                return
        for pair in pairs:
            print_json(asdict(pair) | {"copy": None})
        echo(f'{count_of(len(pairs), "pair")}: write "copy": true or false in each line', err=True)
        return
    source = Input(input_paths(files, "name a file of labelled pairs, or pipe them in"))
    with closing(source.lines()) as lines:
        labelled, texts, unsure, rejected = _read_labels(lines)
    for reason in rejected:
        echo(f"rejected: {reason}", err=True)
    if unsure:
        echo(f"{count_of(unsure, 'pair')} marked unsure: not counted", err=True)
    fingerprinter, stored_rule = Fingerprinter(), DuplicateRule()
    if store["store"] is not None:
        with open_documents(**store) as documents:
            info = documents.info()
            fingerprinter, stored_rule = Fingerprinter(info.scheme or Scheme()), info.rule
            now = texts_of(documents, texts)
            if others := sum(now.get(id) != text for id, text in texts.items()):
                gone = f"documents that {documents.name} has no longer, or with another text: {others:,}"
                echo(f"{gone}; their labels count for the texts in the lines", err=True)
    chosen = chosen_rule(stored_rule, rule, min_similarity=min_similarity) or stored_rule
    figures = evaluate_pairs(labelled, fingerprinter, rule=chosen, limits=limits or chart is not None)
    if chart is not None:
        write_page([chart_of(figures, lang)], chart)
    if as_json:
        best = figures[_best(figures)]
        for name, made in figures.items():
            about = {figure: getattr(made, figure) for figure in _FIGURES}
            print_json({"rule": name, **about, "is_worse": best.is_better_than(made)})
    else:
        for line in _table_lines(figures):
            echo(line)
    if rejected:
        sys.exit(SOME_NOT_DONE)


def _read_labels(lines: Iterator[Line]) -> tuple[list[LabelledPair], dict[str, str], int, list[str]]:
    """Return the pairs that lines label, the texts of the stored documents that they name, by id, the number of pairs
    that do not count, and what cannot be used.
    """
    pairs: list[LabelledPair] = []
    texts: dict[str, str] = {}
    rejected: list[str] = []
    unsure = 0
    for line in lines:
        try:
            pair = object_of(line)
            a, b, label = pair.get("a"), pair.get("b"), pair.get("copy")
            if not isinstance(a, str) or not isinstance(b, str):
                raise InputError('"a" and "b" must be texts')
            check_surrogates(a + b, "a text")
            if label != UNSURE and str(label).lower() not in _LABELS:
                raise InputError(
                    f'the label "copy" is {json.dumps(label, ensure_ascii=False)}: write true or false, or "{UNSURE}"'
                )
            if label == UNSURE:
                unsure += 1
            else:
                pairs.append(LabelledPair(a, b, _LABELS[str(label).lower()], line.place))
                ids = pair.get("a_id"), pair.get("b_id")
                texts |= {id: text for id, text in zip(ids, (a, b), strict=True) if isinstance(id, str) and id}
        except InputError as error:
            rejected.append(f"{line.place}: {error}")
    return pairs, texts, unsure, rejected


def _table_lines(figures: Mapping[str, Figures]) -> Iterator[str]:
    best = _best(figures)
    width = max(map(len, figures))
    yield f"{'rule':<{width}}  {'precision':^19}  {'recall':^19}  {'F1':^5}  right  wrong  missed"
    for name, made in figures.items():
        mark = "  <" if name == best else "" if figures[best].is_better_than(made) else "  ~"
        precision = "-" if made.precision is None else _share(made.precision, made.precision_interval)
        yield (
            f"{name:<{width}}  {precision:^19}  {_share(made.recall, made.recall_interval):^19}  {made.f1:.3f}  "
            f"{made.right:>5}  {len(made.wrong):>5}  {len(made.missed):>6}{mark}"
        )
    yield f"in brackets: the interval of Wilson, {CONFIDENCE:.0%}. <: the highest F1. ~: not shown to be worse"
    for kind, places in (("wrong", figures[best].wrong), ("missed", figures[best].missed)):
        if places:
            more = " …" if len(places) > MOST_PLACES else ""
            yield f"{kind} by {best}: {', '.join(places[:MOST_PLACES])}{more}"


def _best(figures: Mapping[str, Figures]) -> str:
    """Return the name of the rule with the highest F1; of several, the first."""
    return max(figures, key=lambda name: figures[name].f1)


def _share(share: float, interval: tuple[float, float]) -> str:
    return f"{share:.3f} ({interval[0]:.2f}-{interval[1]:.2f})"
