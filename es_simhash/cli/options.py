"""Options that several commands share, and what they make of them."""

from __future__ import annotations

import json
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from es_simhash.client.arguments import DEFAULT_MAX_DISTANCE, EXACT
from es_simhash.errors import InputError
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.measures import MEASURES
from es_simhash.stores.address import DEFAULT_ADDRESS, DEFAULT_INDEX, USERS_INDEX

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

F = TypeVar("F", bound="Callable[..., Any]")
Command: TypeAlias = "Callable[..., None]"
Option: TypeAlias = "Callable[[Any], Any]"


def _seconds(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value <= 86_400:  # nan is neither
        raise click.BadParameter(f"{value:g} is not a time to wait: use a number of seconds above 0, up to 86400")
    return value


_STORE = [
    click.option(
        "--store",
        metavar="URL",
        help="sqlite:///path/to.db, or http(s)://[user:password@]host:port/index; an index that is left out is "
        f"{DEFAULT_INDEX}, for what users have seen {USERS_INDEX}.  "
        f"[default: ELASTICSEARCH_URL, else {DEFAULT_ADDRESS}]",
    ),
    click.option("--api-key", metavar="KEY", help="For an Elasticsearch.  [default: ELASTIC_API_KEY]"),
    click.option("--ca-certs", metavar="FILE", help="Certificate of the authority that signed the server's."),
    click.option("--no-verify-certs", is_flag=True, help="Accept any certificate. For tests only."),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=float,
        callback=_seconds,
        help="How long to wait for an answer.  [default: 10]",
    ),
]

_WIDEST = Scheme(bits=128)


def _distance(context: click.Context, parameter: click.Parameter, value: str | None) -> int | str | None:
    """Bits, or what is exact by name."""
    if value is None or value in EXACT:
        return value
    bits: int = click.IntRange(0, _WIDEST.max_distance).convert(value, parameter, context)  # type: ignore[arg-type]
    return bits


confirm_option = click.option(
    "--confirm",
    metavar="S",
    type=click.FloatRange(0, 1),
    help="Compare the texts too: near-duplicates have a similarity of S or more, from 0 to 1, such as 0.8.",
)
measure_option = click.option(
    "--similarity",
    "measure",
    type=click.Choice(MEASURES),
    default=MEASURES[0],
    show_default=True,
    help="What --confirm goes by: shingles of characters, weighed words, or edits (for short texts).",
)
_NEAR = [
    click.option(
        "--max-distance",
        metavar="K",
        callback=_distance,
        help=f"How many bits may differ: 0 to {DEFAULT.max_distance} of {DEFAULT.bits}, 0 to {_WIDEST.max_distance} of "
        f"{_WIDEST.bits}. Or exact: 'fingerprint' (equal ones), 'digest' (only copies).  "
        f"[default: {DEFAULT_MAX_DISTANCE}; the most with --confirm]",
    ),
    confirm_option,
    measure_option,
]


def text_field_option(what: str, default: str | None = "text") -> Callable[[F], F]:
    """The option ``--text-field``: a list of names."""
    return click.option(
        "--text-field",
        metavar="FIELD[,FIELD]",
        default=default,
        required=default is None,
        show_default=default is not None,
        callback=lambda context, parameter, value: [field.strip() for field in value.split(",")],
        help=what,
    )


def as_one_argument(name: str, keywords: tuple[str, ...], options: list[Option]) -> Callable[[Command], Command]:
    """These options, which a command gets as one argument: a dict of keywords for a verb of the library."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gathered(**values: Any) -> None:
            together = {keyword: values.pop(keyword) for keyword in keywords}
            command(**{name: together}, **values)

        decorated: Command = gathered
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def near_options(texts: str, default: str | None = "text") -> Callable[[Command], Command]:
    """The options that say what a near-duplicate is, as the argument ``near``.

    :param texts: what ``--text-field`` says; its default is ``default``.
    """
    keywords = ("text_field", "max_distance", "confirm", "measure")
    return as_one_argument("near", keywords, [text_field_option(texts, default), *_NEAR])


json_option = click.option("--json", "as_json", is_flag=True, help="JSON lines on standard output.")


def filter_option(what: str) -> Callable[[F], F]:
    """The option ``--filter``, which becomes the argument ``clause``."""
    return click.option(
        "--filter", "clause", metavar="JSON", callback=parse_clause, help=f"A query clause that {what}."
    )


def store_options(command: F) -> F:
    """The options that say which store, and how to reach it: the arguments of :func:`client_options`."""
    for option in reversed(_STORE):
        command = option(command)
    return command


def client_options(
    store: str | None, api_key: str | None, ca_certs: str | None, no_verify_certs: bool, timeout: float | None
) -> tuple[str | None, dict[str, Any]]:
    """The store's address and the client's options, from the values of :func:`store_options`."""
    options: dict[str, Any] = {"api_key": api_key, "ca_certs": ca_certs, "request_timeout": timeout}
    if no_verify_certs:
        options |= {"verify_certs": False, "ssl_show_warn": False}
    return store, {name: value for name, value in options.items() if value is not None}


def parse_clause(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """A query clause given as JSON."""
    if value is None:
        return None
    try:
        clause = json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f'not JSON ({error}); such as \'{{"term": {{"lang": "zh"}}}}\'') from error
    if not isinstance(clause, dict):
        raise click.BadParameter('an object is wanted, such as \'{"term": {"lang": "zh"}}\'')
    return clause


def read_text(file: str) -> str:
    """The text of a file, or of standard input for ``-``.

    :raises InputError: naming the file.
    """
    try:
        with click.open_file(file, "rb") as stream:
            data: bytes = stream.read()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{display(file)} is not UTF-8 at byte {error.start + 1}: convert it to UTF-8") from error
    except OSError as error:
        raise InputError(f"{display(file)} can't be read: {error.strerror}") from error


def print_json(value: Any) -> None:
    """One line of JSON on standard output, in UTF-8 wherever that is."""
    click.echo(json.dumps(value, ensure_ascii=False).encode())


def display(path: str) -> str:
    """A file's name for messages."""
    return "stdin" if path == "-" else click.format_filename(path)
