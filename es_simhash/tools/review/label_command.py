"""``es-simhash label``: label pairs of near documents in the terminal."""

from __future__ import annotations

import random
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from es_simhash.console.help import Command
from es_simhash.console.options import filter_option, store_options, text_field_option
from es_simhash.console.output import ask, count_of, echo, echo_coloured
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.console.terminal import has_colours
from es_simhash.tools.evaluation.sample import pairs_to_label
from es_simhash.tools.review.differences import differences, shortened
from es_simhash.tools.review.labels import LabelFile
from es_simhash.tools.review.side_by_side import side_by_side
from es_simhash.tools.review.titles import text_or_empty

if TYPE_CHECKING:
    from es_simhash import Documents
    from es_simhash.fingerprinting.scheme import Scheme

CONTEXT = 60
"""Characters of the same text that are shown beside a difference."""
LONGEST = 1_500
"""About how many characters of a text are shown."""
KEYS = "y duplicate, n different, s skip, u undo, q quit"


@click.command(cls=Command)
@click.option("--sample", metavar="N", type=click.IntRange(1), default=200, show_default=True, help="Draw N pairs.")
@click.option(
    "--out", metavar="FILE", default="labels.jsonl", show_default=True, help="File to which the labels are appended."
)
@click.option(
    "--seed", metavar="NUMBER", type=int, default=0, show_default=True, help="Another seed draws other pairs."
)
@text_field_option("Field that holds the text of a stored document.")
@filter_option("Draw only documents that match this query clause.")
@store_options
@scheme_options
def label(
    sample: int, out: str, seed: int, text_field: list[str] | None, filter: dict[str, Any] | None, **store: Any
) -> None:
    """Label pairs of stored documents by hand, for evaluate.

    Two texts stand side by side, and the words that only one of them has are marked. Press y if they are duplicates, n
    if they are not, s to skip the pair, u to undo the last answer, q to quit. If standard input is no terminal, each
    line of it is an answer.

    Each answer is in the file at once. Run the same command again to go on: pairs that have a label are not shown
    again. The same seed draws the same pairs, in random order: near fingerprints at all distances up to 7 bits (15 of
    128), pairs that only keys find, and pairs just outside of the rule copy. The kind of a pair is not shown: it would
    influence you. evaluate reads the file.

    \b
    es-simhash label --sample 200 --store http://localhost:9200/news
    """
    with open_documents(**store) as documents, LabelFile(out) as labels:
        fields = text_field or list(documents.rule().text_fields)
        pairs = pairs_to_label(documents, sample, fields, filter, seed)
        drawn = [(pair.a_id, pair.b_id, pair.distance) for pair in pairs]
        random.Random(seed).shuffle(drawn)
        left = [pair for pair in drawn if not labels.has(*pair[:2])]
        if len(left) < len(drawn):
            echo(f"{count_of(len(drawn) - len(left), 'pair')} of {len(drawn):,} labelled already in {out}")
        added = _Session(documents, labels, tuple(fields), documents.fingerprinter().scheme).ask_all(left)
    echo(f"{count_of(added, 'label')} added to {out}, {count_of(len(left) - added, 'pair')} left")


class _Session:
    """Shows pairs, and writes the answers of a person into the file."""

    def __init__(self, documents: Documents, labels: LabelFile, fields: tuple[str, ...], scheme: Scheme) -> None:
        self._documents = documents
        self._labels = labels
        self._fields = fields
        self._scheme = scheme

    def ask_all(self, pairs: list[tuple[str, str, int]]) -> int:
        """Ask for each pair, until the person quits, and return how many labels were added."""
        answers: list[bool] = []  # for each pair so far, whether it has a label
        while len(answers) < len(pairs):
            a_id, b_id, distance = pairs[len(answers)]
            sources = self._documents.sources([a_id, b_id], fields=self._fields)
            texts = [text_or_empty(sources.get(id, {}), self._fields) for id in (a_id, b_id)]
            echo("")
            echo(f"{len(answers) + 1:,} of {len(pairs):,}   A {a_id}   B {b_id}")
            self._show(*texts)
            answer = _answer(can_undo=bool(answers))
            if answer == "q":
                break
            if answer == "u":
                if answers.pop():
                    self._labels.undo()
                continue
            if answer in "yn":
                pair = {"a_id": a_id, "b_id": b_id, "distance": distance, "a": texts[0], "b": texts[1]}
                self._labels.add(pair, answer == "y")
            answers.append(answer in "yn")
        return sum(answers)

    def _show(self, a: str, b: str) -> None:
        parts, more = shortened(differences(a, b, self._scheme), CONTEXT, LONGEST)
        for line in side_by_side(parts, shutil.get_terminal_size().columns, has_colours()):
            echo_coloured(line)
        if more:
            echo(f"({count_of(more, 'more difference')} not shown)")


def _answer(*, can_undo: bool) -> str:
    """Return the answer of the person: one of y, n, s, u and q. The end of the input is q."""
    while True:
        ask(f"{KEYS}: ")
        if sys.stdin.isatty():
            key = click.getchar()
        else:
            line = sys.stdin.readline()
            key = line.strip() if line else "q"
        key = key.lower()
        echo(key[:8])
        if key == "u" and not can_undo:
            echo("nothing to undo")
        elif len(key) == 1 and key in "ynsuq":
            return key
