"""``es-simhash idf``: an IDF table from documents of one's own."""

from __future__ import annotations

import sys

import click

from es_simhash.cli.exits import SOME_NOT_DONE
from es_simhash.cli.input import input_paths, lines_of, progress_bar
from es_simhash.cli.options import display, text_field_option
from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.frequencies import MAX_WORDS, DocumentFrequencies
from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.ingest.reader import Reader
from es_simhash.lines import Line, parsed


@click.command()
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@text_field_option("Where a document's text is; several fields are joined.")
@click.option(
    "--tokens",
    type=click.Choice(TOKENS),
    default=TOKENS[0],
    show_default=True,
    help="What texts are cut into, as for the fingerprints that the table is for.",
)
@click.option(
    "--max-words",
    type=click.IntRange(2),
    default=MAX_WORDS,
    show_default=True,
    help="Distinct words that are held in memory at a time, some 200 bytes each.",
)
def idf(files: tuple[str, ...], text_field: list[str], tokens: str, max_words: int) -> None:
    """Make an IDF table: print how telling each word of your documents is, a line 'word idf' each, sorted by word.

    Reads JSON lines, one object a line, from files or standard input. A line that can't be used is reported with its
    place and stops nothing. The IDF of a word is ln((1 + N) / (1 + df)) + 1, where df of the N documents have it.

    \b
    es-simhash idf news.jsonl > idf.txt
    zcat crawl.jsonl.gz | es-simhash idf --text-field title,text - > idf.txt

    Fingerprints by it are made with --weights tf_idf --idf idf.txt. If there are more than --max-words distinct words,
    the rarest words are dropped, and a message says so.
    """
    paths = input_paths(files)
    # The rule for a document's text is that of ingest; neither an id nor a fingerprint is taken here.
    reader = Reader(Fingerprinter(), "id", tuple(text_field))
    frequencies = DocumentFrequencies(tokens, max_words=max_words)
    rejected = 0
    with progress_bar(paths) as progress:
        for line in lines_of(paths, progress):
            try:
                frequencies.add(_text(line, reader))
            except InputError as error:
                rejected += 1
                progress.clear()
                click.echo(f"rejected: {line.place}: {error}", err=True)
    if not frequencies.documents:
        raise InputError(f"no documents in {', '.join(map(display, paths))}: JSON lines are wanted")
    table = frequencies.table()
    for row in table.lines():
        click.echo(row.encode())
    click.echo(_summary(frequencies, len(table.units)), err=True)
    if rejected:
        sys.exit(SOME_NOT_DONE)


def _text(line: Line, reader: Reader) -> str:
    line = parsed(line)
    if line.problem is not None:
        raise InputError(line.problem)
    if not isinstance(line.document, dict):
        raise InputError("a document must be a JSON object")
    return reader.text(line.document)


def _summary(frequencies: DocumentFrequencies, words: int) -> str:
    said = f"{words:,} words of {frequencies.documents:,} documents"
    if frequencies.understated:
        said += f"; counts may be too low by {frequencies.understated}: raise --max-words for exact ones"
    return said
