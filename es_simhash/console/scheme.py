"""Options that make a Scheme, with the user's own IDF table and stop words; and the stores that commands open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from es_simhash.client import Documents, SeenItems
from es_simhash.console.help import PLAIN_SCHEME, SCHEME, option
from es_simhash.console.input import open_input
from es_simhash.console.options import client_options
from es_simhash.console.output import display
from es_simhash.fingerprinting.characters import SCRIPTS
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.hashing import HASHES
from es_simhash.fingerprinting.markup import MARKUPS
from es_simhash.fingerprinting.normalisation import DIGESTS
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.fingerprinting.tables import LISTS, IdfTable, StopWords
from es_simhash.fingerprinting.tokens import TOKENS
from es_simhash.fingerprinting.weights import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

_SCHEME_OPTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("weights", "How the weight of a word is computed from its count.", {"type": click.Choice(list(WEIGHTS))}),
    ("bits", "Fingerprint width in bits.", {"type": click.Choice(["64", "128"])}),
    (
        "tokens",
        "How a text is cut into tokens. han_characters: single Han characters, and words of other scripts.",
        {"type": click.Choice(TOKENS)},
    ),
    (
        "idf",
        "IDF table, for the weights tf_idf: jieba, or a file that es-simhash idf made.",
        {"metavar": "FILE"},
    ),
    (
        "stop_words",
        "Stop words: 1 (the built-in list), none, or your own file with one word per line.",
        {"metavar": "FILE"},
    ),
    (
        "script",
        "simplified: traditional and variant Han characters are compared as simplified ones.",
        {"type": click.Choice(SCRIPTS)},
    ),
    (
        "markup",
        "The texts are HTML: compare them without tags, scripts and entities (needs es-simhash[html]).",
        {"flag": "--html", "flag_value": "html", "type": click.Choice(MARKUPS), "default": None},
    ),
    ("hash", "Hash function for words. fnv1a_64 works only with 64 bits.", {"type": click.Choice(list(HASHES))}),
    ("digest", "Hash function that finds exact duplicates.", {"type": click.Choice(list(DIGESTS))}),
]


def scheme_options(command: F) -> F:
    """Add the options that make a Scheme, for commands with a store: the arguments of :func:`open_documents`.

    The default of each option is the choice of the store.
    """
    return _with_options(command, SCHEME)


def plain_scheme_options(command: F) -> F:
    """Add the options that make a Scheme, for commands without a store: the arguments of :func:`make_fingerprinter`."""
    return _with_options(command, PLAIN_SCHEME)


def _with_options(command: F, section: str) -> F:
    for name, help, attributes in reversed(_SCHEME_OPTIONS):
        help = f"{help}  [default: {getattr(DEFAULT, name)}]"
        flag = attributes.get("flag", f"--{name.replace('_', '-')}")
        more = {key: value for key, value in attributes.items() if key != "flag"}
        command = option(flag, name, section=section, help=help, **more)(command)
    return command


def make_fingerprinter(**choices: Any) -> Fingerprinter:
    """Return a Fingerprinter, from the values of :func:`plain_scheme_options`.

    :raises InputError: if a file cannot be used. The message names the file and the line.
    :raises SchemeError: if the choices do not fit together.
    """
    return fingerprinter_factory(**choices)(None)


def fingerprinter_factory(
    bits: str | None, idf: str | None, stop_words: str | None, **choices: Any
) -> Callable[[Scheme | None], Fingerprinter]:
    """Read the files that the options name, and return a function that makes the Fingerprinter for a store.

    Its parameter is the Scheme of the store; None if the store has none. That Scheme is the default of every option
    that is not given. The function raises SchemeError if the choices do not fit together.

    :raises InputError: if a file cannot be used. The message names the file and the line.
    """
    chosen = {name: value for name, value in choices.items() if value is not None}
    if bits is not None:
        chosen["bits"] = int(bits)
    # To use a file that has the name of a built-in list, write ./none.
    if stop_words in LISTS:
        chosen["stop_words"] = stop_words
    if idf == DEFAULT.idf:
        chosen["idf"] = idf
    table = _read_table(IdfTable, idf) if idf not in (None, DEFAULT.idf) else None
    words = _read_table(StopWords, stop_words) if stop_words is not None and stop_words not in LISTS else None

    def fingerprinter(stored: Scheme | None) -> Fingerprinter:
        return Fingerprinter.using(replace(stored or DEFAULT, **chosen), idf=table, stop_words=words)

    return fingerprinter


def open_documents(store: str | None, connection: dict[str, Any], **choices: Any) -> Documents:
    """Open the documents of a store, from the values of ``store_options`` and :func:`scheme_options`.

    Every option of the Scheme that is not given is that of the store. Nothing is sent yet, and no file is created.

    :raises InputError: if the address or a file cannot be used.
    """
    address, options = client_options(store, connection)
    return Documents(address, fingerprinter=fingerprinter_factory(**choices), **options)


def open_seen(store: str | None, connection: dict[str, Any], **sizing: Any) -> SeenItems:
    """Open the seen items of a store, from the values of ``store_options``.

    :raises InputError: if the address cannot be used.
    """
    address, options = client_options(store, connection)
    return SeenItems(address, **sizing, **options)


T = TypeVar("T", IdfTable, StopWords)


def _read_table(kind: type[T], file: str) -> T:
    with open_input(file) as stream:
        return kind.read(stream, display(file))
