"""Options that several commands share, and the functions that check their values."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from es_simhash.console.help import CONNECTION, DUPLICATES, OWN, RULE, AddOption, option
from es_simhash.console.output import show_details
from es_simhash.errors import InputError
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.retries import DEADLINE
from es_simhash.search.times import LONGEST
from es_simhash.seen.changes import SEEN_DEADLINE
from es_simhash.similarity.measures import MEASURES
from es_simhash.similarity.rule import DEFAULT_MAX_DISTANCE, RULES, DuplicateRule
from es_simhash.similarity.text_fields import field_names
from es_simhash.stores.address import DEFAULT_ADDRESS, DEFAULT_INDEX, USERS_INDEX, default_address
from es_simhash.stores.address import sqlite_file as sqlite_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from es_simhash.client import Documents

F = TypeVar("F", bound="Callable[..., Any]")
Command: TypeAlias = "Callable[..., None]"


# --- several options as one argument -----------------------------------------------------------------------


def collect_options(
    argument: str, names: tuple[str, ...], options: list[AddOption], collect: Callable[..., Any] = dict
) -> Callable[[Command], Command]:
    """Add options to a command, and pass their values to it as one argument.

    :param argument: name of the command function's parameter.
    :param names: names of the values.
    :param collect: makes the argument of the values, which it gets as keywords; by default a dict.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_dict(**values: Any) -> None:
            collected = {name: values.pop(name) for name in names}
            command(**{argument: collect(**collected)}, **values)

        decorated: Command = with_dict
        for add_option in reversed(options):
            decorated = add_option(decorated)
        return decorated

    return decorate


def parsed_by(parse: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a callback of an option whose value is parsed, if it is given. An InputError is a usage error."""

    def callback(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except InputError as error:
            raise click.BadParameter(str(error)) from error

    return callback


# --- the store ---------------------------------------------------------------------------------------------


def _check_timeout(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value <= 86_400:  # also false for nan
        raise click.BadParameter(f"{value:g} is not a time to wait: use a number of seconds above 0, up to 86400")
    return value


def _store_option(default: str) -> AddOption:
    return click.option(
        "--store",
        metavar="URL",
        help="The store: sqlite:///path/to.db, http://host:port/index, or opensearch+http://host:port/index. With a "
        "password: https://user:password@host:port/index. Several hosts: host:port,host:port. With ?routing=VALUE at "
        "the end: only the documents of this routing value. A URL without an index means the index "
        f"{DEFAULT_INDEX}; for the seen commands {USERS_INDEX}.  [default: {default}]",
    )


_CONNECTION_OPTIONS = [
    option(
        "--api-key",
        section=CONNECTION,
        metavar="KEY",
        help="API key for Elasticsearch.  [default: $ELASTIC_API_KEY]",
    ),
    option(
        "--ca-certs",
        section=CONNECTION,
        metavar="FILE",
        help="Certificate of the authority that signed the server's certificate.",
    ),
    option("--no-verify-certs", section=CONNECTION, is_flag=True, help="Accept any certificate. For tests only."),
    option(
        "--timeout",
        "request_timeout",
        section=CONNECTION,
        metavar="SECONDS",
        type=float,
        callback=_check_timeout,
        help="How long to wait for each answer of the store.  [default: 10]",
    ),
    option(
        "--deadline",
        section=CONNECTION,
        metavar="SECONDS",
        type=click.FloatRange(0, 86_400),
        help="How long to retry a request while the store is busy or cannot be reached.  "
        f"[default: {DEADLINE:g}; for the seen commands {SEEN_DEADLINE:g}]",
    ),
]


_SERVER_FLAGS = {
    "api_key": "--api-key",
    "ca_certs": "--ca-certs",
    "no_verify_certs": "--no-verify-certs",
    "request_timeout": "--timeout",
}
"""The connection options that an SQLite file has no use for."""


def _log_more(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        show_details()


_verbose_option = click.option(
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_log_more,
    help="Log each request to a server and each batch on standard error.",
)
connection_options = collect_options(
    "connection",
    ("api_key", "ca_certs", "no_verify_certs", "request_timeout", "deadline"),
    [*_CONNECTION_OPTIONS, _verbose_option],
)
"""Add the options that say how to reach a store, as the argument ``connection``."""


def store_options(command: F) -> F:
    """Add the options that name a store and how to reach it: the arguments of :func:`client_options`."""
    add_store = _store_option(f"$ELASTICSEARCH_URL, else {DEFAULT_ADDRESS}")
    return add_store(connection_options(command))  # type: ignore[no-any-return]


def optional_store_options(command: F) -> F:
    """:func:`store_options` for a command that needs no store: it opens one only if ``--store`` names one."""
    return _store_option("none")(connection_options(command))  # type: ignore[no-any-return]


def client_options(store: str | None, connection: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the store's address, and the other arguments of Documents and SeenItems that :func:`store_options` set.

    :raises InputError: if an option is for servers, and the store is an SQLite file.
    """
    given = {name: value for name, value in connection.items() if value is not None and value is not False}
    wrong = ", ".join(flag for name, flag in _SERVER_FLAGS.items() if name in given)
    if wrong and (store or default_address()).startswith("sqlite:"):
        raise InputError(f"{wrong} given with an SQLite file: use these with Elasticsearch or OpenSearch only")
    if given.pop("no_verify_certs", False):
        given |= {"verify_certs": False, "ssl_show_warn": False}
    return store, given


# --- which documents are near-duplicates -------------------------------------------------------------------

_SCHEME_128 = Scheme(bits=128)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def _parse_fields(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    """Return the names of fields, checked."""
    return None if value is None else list(field_names(value))


def duration(value: str) -> timedelta:
    """Return a length of time such as ``12h``, ``7d`` or ``2w``.

    :raises InputError: if it is something else.
    """
    number, unit = value[:-1], _UNITS.get(value[-1:])
    if unit is None or not (number.isascii() and number.isdecimal()) or len(number) > 6 or int(number) * unit > LONGEST:
        raise InputError(
            f"{value!r} is not a duration: use a whole number of hours, days or weeks, such as 12h, 7d or 2w, up to "
            f"{LONGEST.days}d"
        )
    return int(number) * unit


def text_field_option(help: str, default: str | None = None, section: str = OWN) -> AddOption:
    """Return the option ``--text-field``: a list of field names; None if it is not given, and has no default.

    :param help: what the field holds.
    :param default: None if the store says it.
    """
    help += " Several fields, such as title,body, are joined."
    if default is None:
        help += "  [default: that of the store, else text]"
    more: dict[str, Any] = {} if default is None else {"default": default, "show_default": True}
    return option("--text-field", section=section, metavar="FIELDS", callback=_parse_fields, help=help, **more)


stored_text_field_option = text_field_option("Field that holds the text of a stored document.", section=DUPLICATES)


_rule_option = option(
    "--rule",
    section=DUPLICATES,
    type=click.Choice(RULES),
    help="What counts beside exact duplicates. copy: a text with some edits. contained: also a text that is a part of "
    "the other. fingerprint: a near fingerprint, no text is read. exact: nothing.  [default: that of the store, if "
    "there is one; else copy]",
)
confirm_option = option(
    "--confirm",
    section=RULE,
    metavar="S",
    type=click.FloatRange(0, 1, min_open=True),
    help="The texts have a similarity of at least S, above 0, up to 1.  [default: 0.8; for --rule contained 0.9]",
)
measure_option = option(
    "--similarity",
    "measure",
    section=RULE,
    type=click.Choice(MEASURES),
    help="How --rule copy measures: jaccard of shingles, levenshtein, either (the larger of these), cosine of words, "
    "or containment.  [default: either]",
)
numbers_option = option(
    "--numbers-agree/--any-numbers",
    section=RULE,
    default=None,
    help="Texts with other numbers are no duplicates, or they may be.  [default: numbers agree]",
)
_WITHIN_OPTIONS = [
    option(
        "--within",
        section=DUPLICATES,
        metavar="DURATION",
        callback=parsed_by(duration),
        help="Only documents whose times differ by at most this can be duplicates: 12h, 7d or 2w. Use it with "
        "--time-field.",
    ),
    option(
        "--time-field",
        section=DUPLICATES,
        metavar="FIELD",
        help="For --within: field that holds the time of a document, such as 2024-05-01 or 2024-05-01T08:30:00+08:00, "
        "or milliseconds since 1970.",
    ),
]
_RULE_OPTIONS = [
    _rule_option,
    option(
        "--max-distance",
        section=RULE,
        metavar="K",
        type=click.IntRange(0, _SCHEME_128.max_distance),
        help="The fingerprints of near-duplicates differ in at most K bits (rules fingerprint and copy). "
        f"K is 0 to {DEFAULT.max_distance} for {DEFAULT.bits} bits, and 0 to {_SCHEME_128.max_distance} for "
        f"{_SCHEME_128.bits} bits.  [default: {DEFAULT_MAX_DISTANCE} for fingerprint; any for copy, and without keys "
        "the largest K]",
    ),
    confirm_option,
    measure_option,
    numbers_option,
]

_RULE_NAMES = ("rule", "max_distance", "confirm", "measure", "numbers_agree")


id_field_option = option(
    "--id-field",
    section=OWN,
    metavar="FIELD",
    help="Field that holds the id. A dot leads into an object: meta.id.  [default: that of the store, else id]",
)


def rule_options(text_field: AddOption = stored_text_field_option) -> Callable[[Command], Command]:
    """Add the options that define a near-duplicate, as the argument ``given``: what is given, by name.

    :param text_field: the option ``--text-field``.
    """
    names = ("text_field", *_RULE_NAMES, "within", "time_field")
    return collect_options("given", names, [text_field, *_RULE_OPTIONS, *_WITHIN_OPTIONS], _given)


def refined_rule(stored: DuplicateRule, given: dict[str, Any]) -> DuplicateRule:
    """Return the rule of a store with the options that are given. Options that name another rule say everything."""
    if given.get("rule", stored.rule) != stored.rule:
        return DuplicateRule(**given)
    return replace(stored, **given)


def given_rule(documents: Documents, given: dict[str, Any]) -> DuplicateRule | None:
    """Return the rule that the options of :func:`rule_options` give; None if there are none."""
    return refined_rule(documents.rule(), given) if given else None


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


pair_options = collect_options("rule", _RULE_NAMES, _RULE_OPTIONS, lambda **values: DuplicateRule(**_given(**values)))
"""Add the options that define a near-duplicate of two texts, as the argument ``rule``: a DuplicateRule."""


# --- filters and output ------------------------------------------------------------------------------------


def parse_filter(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """Return the filter that a JSON text holds."""
    if value is None:
        return None
    example = """use a JSON object, such as '{"term": {"lang": "zh"}}'"""
    try:
        filter = json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f"not JSON ({error}): {example}") from error
    except RecursionError as error:
        raise click.BadParameter(f"nested too deeply: {example}") from error
    if not isinstance(filter, dict):
        raise click.BadParameter(f"not a JSON object: {example}")
    return filter


def filter_option(help: str, section: str = OWN) -> AddOption:
    """Return the option ``--filter``: a query clause as JSON."""
    return option("--filter", section=section, metavar="JSON", callback=parse_filter, help=help)


quiet_option = click.option(
    "--quiet", is_flag=True, help="Print only errors and what was rejected: no progress, no duplicates, no counts."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON lines on standard output.")
