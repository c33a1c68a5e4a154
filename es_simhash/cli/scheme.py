"""Options that make a Scheme, with the tables of one's own that it names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from es_simhash.cli.input import open_input
from es_simhash.cli.options import client_options, display
from es_simhash.client import Documents
from es_simhash.contract import Describe, ask
from es_simhash.drive import run, with_retries
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.hashing import HASHES
from es_simhash.fingerprinting.idf import IdfTable
from es_simhash.fingerprinting.normalisation import DIGESTS
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.fingerprinting.stop_words import LISTS, StopWords
from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.fingerprinting.weights import WEIGHTS
from es_simhash.stores.address import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

_SCHEME: list[tuple[str, str, dict[str, Any]]] = [
    ("weights", "How a word's count becomes its weight.", {"type": click.Choice(list(WEIGHTS))}),
    ("bits", "Length of a fingerprint.", {"type": click.Choice(["64", "128"])}),
    (
        "tokens",
        "What a text is cut into; characters are taken two by two; Han characters one by one.",
        {"type": click.Choice(TOKENS)},
    ),
    (
        "idf",
        "The IDF table for weights that ask for one: jieba, or a file that es-simhash idf made.",
        {"metavar": "FILE"},
    ),
    ("stop_words", "List 1, none, or a file of your own, a word a line.", {"metavar": "FILE"}),
    ("hash", "The hash of a word; fnv1a_64 has 64 bits only.", {"type": click.Choice(list(HASHES))}),
    ("digest", "Of exact copies.", {"type": click.Choice(list(DIGESTS))}),
    ("min_features", "A text with fewer gets no fingerprint.", {"type": click.IntRange(1)}),
]


def scheme_options(command: F) -> F:
    """The options that make a Scheme, where a store says what is not chosen: arguments of :func:`open_documents`."""
    return _with_options(command, "as the store has it, else ")


def plain_scheme_options(command: F) -> F:
    """The options that make a Scheme, where there is no store: the arguments of :func:`make_fingerprinter`."""
    return _with_options(command, "")


def _with_options(command: F, before_default: str) -> F:
    for name, says, kind in reversed(_SCHEME):
        default = f"[default: {before_default}{getattr(DEFAULT, name)}]"
        command = click.option(f"--{name.replace('_', '-')}", help=f"{says}  {default}", **kind)(command)
    return command


def make_fingerprinter(
    bits: str | None, idf: str | None, stop_words: str | None, stored: Scheme | None = None, **choices: Any
) -> Fingerprinter:
    """A Fingerprinter, from the values of :func:`scheme_options`.

    :param stored: the Scheme of a store, for what was not chosen.
    :raises InputError: naming the file that can't be used, and its line.
    :raises SchemeError: for choices that don't go together.
    """
    chosen = {name: value for name, value in choices.items() if value is not None}
    if bits is not None:
        chosen["bits"] = int(bits)
    # A file that is called like a list is ./none.
    if stop_words in LISTS:
        chosen["stop_words"] = stop_words
    if idf == DEFAULT.idf:
        chosen["idf"] = idf
    table = _read(IdfTable, idf) if idf not in (None, DEFAULT.idf) else None
    words = _read(StopWords, stop_words) if stop_words is not None and stop_words not in LISTS else None
    return Fingerprinter.using(replace(stored or DEFAULT, **chosen), idf=table, stop_words=words)


def open_documents(
    store: str | None,
    api_key: str | None,
    ca_certs: str | None,
    no_verify_certs: bool,
    timeout: float | None,
    *,
    deadline: float = 0.0,
    **choices: Any,
) -> Documents:
    """The documents of a store, from the values of ``store_options`` and of :func:`scheme_options`.

    What is not chosen is as the store has it: only ``init``, or a first ingest, has to be told.

    :param deadline: seconds for which the store is asked while it is busy or away.
    """
    address, options = client_options(store, api_key, ca_certs, no_verify_certs, timeout)
    opened = open_store(address, **options)
    try:
        stored = run(with_retries(ask(Describe()), deadline), opened.perform)
        return Documents(opened, fingerprinter=make_fingerprinter(stored=stored, **choices))
    except BaseException:
        opened.close()
        raise


T = TypeVar("T", IdfTable, StopWords)


def _read(kind: type[T], file: str) -> T:
    with open_input(file) as stream:
        return kind.read(stream, display(file))
