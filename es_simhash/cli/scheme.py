"""Options that make a Scheme, with the tables of one's own that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from es_simhash.cli.input import open_input
from es_simhash.cli.options import display, weights_option
from es_simhash.core.fingerprint import Fingerprinter
from es_simhash.core.hashing import HASHES
from es_simhash.core.idf import IdfTable
from es_simhash.core.scheme import DEFAULT, Scheme
from es_simhash.core.stop_words import LISTS, StopWords
from es_simhash.core.text import DIGESTS
from es_simhash.core.tokens import TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

_SCHEME = [
    weights_option,
    click.option(
        "--bits",
        type=click.Choice(["64", "128"]),
        default=str(DEFAULT.bits),
        show_default=True,
        help="Length of a fingerprint.",
    ),
    click.option(
        "--tokens",
        type=click.Choice(TOKENS),
        default=DEFAULT.tokens,
        show_default=True,
        help="What a text is cut into; characters, two by two, are for short texts.",
    ),
    click.option(
        "--idf",
        metavar="FILE",
        default=DEFAULT.idf,
        show_default=True,
        help="The IDF table for weights that ask for one: jieba's, or a file that es-simhash idf made.",
    ),
    click.option(
        "--stop-words",
        metavar="FILE",
        default=DEFAULT.stop_words,
        show_default=True,
        help="List 1, none, or a file of your own, a word a line.",
    ),
    click.option(
        "--hash",
        type=click.Choice(list(HASHES)),
        default=DEFAULT.hash,
        show_default=True,
        help="The hash of a word; fnv1a_64 has 64 bits only.",
    ),
    click.option(
        "--digest", type=click.Choice(list(DIGESTS)), default=DEFAULT.digest, show_default=True, help="Of exact copies."
    ),
    click.option(
        "--min-features",
        type=click.IntRange(1),
        default=DEFAULT.min_features,
        show_default=True,
        help="A text with fewer gets no fingerprint.",
    ),
]


def scheme_options(command: F) -> F:
    """The options that make a Scheme: the arguments of :func:`make_fingerprinter`."""
    for option in reversed(_SCHEME):
        command = option(command)
    return command


def make_fingerprinter(bits: str, idf: str, stop_words: str, **choices: Any) -> Fingerprinter:
    """A Fingerprinter, from the values of :func:`scheme_options`.

    :raises InputError: naming the file that can't be used, and its line.
    :raises SchemeError: for choices that don't go together.
    """
    # A file that is called like a list is ./none.
    listed = stop_words if stop_words in LISTS else DEFAULT.stop_words
    return Fingerprinter.using(
        Scheme(bits=int(bits), stop_words=listed, **choices),
        idf=None if idf == DEFAULT.idf else _read(IdfTable, idf),
        stop_words=None if stop_words in LISTS else _read(StopWords, stop_words),
    )


T = TypeVar("T", IdfTable, StopWords)


def _read(kind: type[T], file: str) -> T:
    with open_input(file) as stream:
        return kind.read(stream, display(file))
