"""``es-simhash idf``: make an IDF table from your own documents."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from es_simhash.console.exits import SOME_NOT_DONE
from es_simhash.console.first_lines import check_fields, object_of
from es_simhash.console.help import Command
from es_simhash.console.input import Input, input_options, input_paths
from es_simhash.console.options import text_field_option
from es_simhash.console.output import count_of, echo, print_utf8
from es_simhash.errors import InputError
from es_simhash.fingerprinting.frequencies import MAX_WORDS, DocumentFrequencies
from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.similarity.text_fields import text_of


@click.command(cls=Command)
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@text_field_option("Field that holds the text.", "text")
@click.option(
    "--tokens",
    type=click.Choice(TOKENS),
    default=TOKENS[0],
    show_default=True,
    help="How texts are cut into tokens. Use the same --tokens for the fingerprints.",
)
@click.option(
    "--max-words",
    metavar="N",
    type=click.IntRange(2),
    default=MAX_WORDS,
    show_default=True,
    help="Largest number of distinct words in memory. A word takes about 200 bytes.",
)
@input_options
def idf(files: tuple[str, ...], text_field: list[str], tokens: str, max_words: int, reading: dict[str, Any]) -> None:
    """Make an IDF table from your own documents.

    Reads files or standard input, as `es-simhash ingest` does. A bad line is reported with its place and skipped.
    Prints one line 'word idf' for each word, sorted by word. The rarer a word, the larger its IDF. It is
    ln((1 + N) / (1 + df)) + 1: N is the number of documents, df is the number of documents with the word.

    \b
    es-simhash idf news.jsonl > idf.txt
    es-simhash idf crawl.jsonl.gz --text-field title,text > idf.txt

    To use the table, give --weights tf_idf --idf idf.txt to the other commands. If there are more than --max-words
    distinct words, the rarest are dropped and a message says so.
    """
    source = Input(input_paths(files), **reading)
    fields = tuple(text_field)
    frequencies = DocumentFrequencies(tokens, max_words=max_words)
    with source.progress() as progress:
        for line in source.lines(progress, partial(check_fields, id_field=None, text_fields=fields)):
            progress.done()
            try:
                frequencies.add(text_of(object_of(line), fields))
            except InputError as error:
                progress.reject(f"{line.place}: {error}")
    if not frequencies.documents:
        raise InputError(f"no documents in {source.names}: give one JSON object per line")
    table = frequencies.table()
    for row in table.lines():
        print_utf8(row)
    echo(_summary(frequencies, len(table.units)), err=True)
    if progress.rejected:
        sys.exit(SOME_NOT_DONE)


def _summary(frequencies: DocumentFrequencies, words: int) -> str:
    summary = f"{count_of(words, 'word')} of {count_of(frequencies.documents, 'document')}"
    if frequencies.understated:
        summary += f"; counts may be too low by {frequencies.understated}: raise --max-words for exact counts"
    return summary
