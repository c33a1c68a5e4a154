"""Options that several commands share, and what their values become: a store, a rule, a Scheme, a filter."""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from es_simhash import Documents, DuplicateRule, Fingerprinter, IdfTable, InputError, Scheme, SeenItems, StopWords
from es_simhash.cli.input import open_input, read_text
from es_simhash.cli.output import display
from es_simhash.input import FORMATS, checked_encoding
from es_simhash.retries import DEADLINE
from es_simhash.rows import Scan
from es_simhash.seen import SEEN_DEADLINE
from es_simhash.similarity.rule import RULES
from es_simhash.similarity.text_fields import field_names
from es_simhash.similarity.times import LONGEST
from es_simhash.store.address import default_address
from es_simhash.text.scheme import DEFAULT
from es_simhash.text.tables import LISTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from typing_extensions import Unpack

    from es_simhash.similarity.rule import Rule

F = TypeVar("F", bound="Callable[..., Any]")


def parsed_by(parse: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a callback of an option whose value is parsed, if it is given. An InputError is a usage error."""

    def callback(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except InputError as error:
            raise click.BadParameter(str(error)) from error

    return callback


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return several options as one, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


# --- the store ---------------------------------------------------------------------------------------------


class StoreOptions(TypedDict):
    """The values of :func:`store_options`: the address of a store, and how to reach it."""

    store: str | None
    api_key: str | None
    ca_certs: str | None
    deadline: float | None


api_key_option = click.option(
    "--api-key", metavar="KEY", help="API key for Elasticsearch.  [default: $ELASTIC_API_KEY]"
)
FILE = click.Path(readable=False)
"""A path. The shell completes it; whoever opens the file checks it."""
ca_certs_option = click.option(
    "--ca-certs", metavar="FILE", type=FILE, help="Certificates that the server's is checked with."
)
address_options = together(
    click.option(
        "--store",
        metavar="URL",
        help="sqlite:///path/to.db or [opensearch+]http://user:password@host:port/index.  "
        "[default: $ELASTICSEARCH_URL, else ./es-simhash.db]",
    ),
    api_key_option,
    ca_certs_option,
)
deadline_option = click.option(
    "--deadline",
    metavar="SECONDS",
    type=float,
    help=f"How long to retry.  [default: {DEADLINE:g}; seen items {SEEN_DEADLINE:g}]",
)
store_options = together(address_options, deadline_option)


def client_options(options: StoreOptions) -> dict[str, Any]:
    """Return what is given of the options of the connection, as keywords of Documents and SeenItems.

    A command with two stores has one ``--api-key`` for both. A file needs none.
    """
    is_file = (options["store"] or default_address()).startswith("sqlite:")
    unused = {"store", "api_key", "ca_certs"} if is_file else {"store"}
    return {name: value for name, value in options.items() if value is not None and name not in unused}


def open_documents(fingerprinter: Fingerprinter | None = None, **options: Unpack[StoreOptions]) -> Documents:
    """Open the documents of a store. Nothing is sent yet, and no file is created.

    :param fingerprinter: for a store that is set up now; None for that of the store.
    :raises InputError: if the address or a file cannot be used.
    """
    return Documents(options["store"], fingerprinter=fingerprinter, **client_options(options))


def open_seen(sizing: dict[str, Any] | None = None, **options: Unpack[StoreOptions]) -> SeenItems:
    """Open the seen items of a store.

    :param sizing: keywords of SeenItems for a store that is set up now.
    :raises InputError: if the address cannot be used.
    """
    return SeenItems(options["store"], **(sizing or {}), **client_options(options))


# --- the Scheme --------------------------------------------------------------------------------------------

scheme_options = together(
    click.option(
        "--scheme",
        metavar="FILE",
        type=FILE,
        help='How fingerprints are made, as JSON: {"weights": "tf_idf", "idf": "idf.txt", "stop_words": "stop.txt"}.',
    ),
    click.option("--html", is_flag=True, help="The texts are HTML (needs es-simhash[html])."),
)


def read_fingerprinter(scheme: str | None, html: bool) -> Fingerprinter | None:
    """Return the Fingerprinter of a file of ``--scheme``; None if neither option is given.

    :param scheme: path of a JSON object with fields of Scheme. ``idf`` and ``stop_words`` are names of built-in tables,
        or of files beside it.
    :raises InputError: if the file, or one that it names, cannot be used.
    """
    if scheme is None:
        return Fingerprinter(replace(DEFAULT, markup="html")) if html else None
    known = [field.name for field in fields(Scheme)]
    advice = f"write a JSON object with some of {', '.join(known)} into {display(scheme)}"
    choices = json_object(read_text(scheme), advice)
    if choices.keys() - set(known):
        raise InputError(f"no Scheme: {advice}")
    if html:
        choices["markup"] = "html"

    def table(name: str, built_in: Collection[str], read: Callable[..., Any]) -> Any:
        if name not in choices or str(choices[name]) in built_in:
            return None
        file = Path(scheme).parent / str(choices.pop(name))
        with open_input(os.fspath(file)) as stream:
            return read(stream, file.name)

    idf, words = table("idf", [DEFAULT.idf], IdfTable.read), table("stop_words", LISTS, StopWords.read)
    return Fingerprinter(Scheme(**choices), idf=idf, stop_words=words)


# --- which documents are near-duplicates -------------------------------------------------------------------

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def duration(value: str) -> timedelta:
    """Return a length of time such as ``12h``, ``7d`` or ``2w``.

    :raises InputError: if it is something else.
    """
    written = re.fullmatch("([0-9]{1,6})([hdw])", value)
    length = None if written is None else int(written[1]) * _UNITS[written[2]]
    if length is None or length > LONGEST:
        raise InputError(
            f"{value!r} is not a duration: use a whole number of hours, days or weeks, such as 12h, 7d or 2w, up to "
            f"{LONGEST.days}d"
        )
    return length


def duration_option(name: str, help: str) -> Callable[[F], F]:
    """Return an option that takes a length of time."""
    return click.option(name, metavar="DURATION", callback=parsed_by(duration), help=help)


rule_options = together(
    click.option(
        "--rule",
        metavar="RULE",
        type=click.Choice(RULES),
        help="Near-duplicates: copy (with edits), contained (also a part), fingerprint, or exact (none).  "
        "[default: copy, or the store's]",
    ),
    click.option(
        "--min-similarity",
        metavar="S",
        type=float,
        help="Least similarity of the texts.  [default: 0.8; contained 0.9]",
    ),
)
text_field_option = click.option(
    "--text-field",
    metavar="FIELDS",
    callback=parsed_by(field_names),
    help="Field with the text, or title,body.  [default: text, or the store's]",
)
id_field_option = click.option(
    "--id-field", metavar="FIELD", help="Field with the id, such as meta.id.  [default: id, or the store's]"
)


def chosen_rule(stored: DuplicateRule, rule: Rule | None, **refinements: Any) -> DuplicateRule | Rule | None:
    """Return the rule of a call: what the store keeps, refined; or another one, with the text fields of the store.

    :param stored: the rule of the store; DuplicateRule() without a store.
    :param rule: None if the option is not given.
    :param refinements: fields of DuplicateRule; None for an option that is not given.
    :returns: the ``rule`` of a method of Documents; None if nothing is given.
    :raises InputError: if the rule does not use an option.
    """
    given = {name: value for name, value in refinements.items() if value is not None}
    if not given:
        return rule
    if rule is None or rule == stored.rule:
        return replace(stored, **given)
    return DuplicateRule(rule=rule, **{"text_field": stored.text_field, **given})


def keep_fields(documents: Documents, text_field: tuple[str, ...] | None, id_field: str | None = None) -> None:
    """Let a store keep the names of fields that are given, if none of its documents has a fingerprint yet.

    A store that was not set up is set up.

    :raises InputError: if documents have fingerprints, of another text field.
    """
    if text_field is None and id_field is None:
        return
    info = documents.info()
    kept = info.rule.text_fields
    if info.scheme is None or not documents.store.count(Scan()):
        documents.setup(replace(info.rule, text_field=text_field or kept), id_field=id_field)
    elif text_field not in (None, kept):
        raise InputError(
            f"{documents.name} keeps the text field {','.join(kept)}: leave --text-field out, or change it by "
            f"`es-simhash init --text-field {','.join(text_field)} --store {documents.name}`"
        )


# --- filters, input and output -----------------------------------------------------------------------------

_CLAUSE = """use a JSON object, such as '{"term": {"lang": "zh"}}'"""


def json_object(text: str, advice: str = _CLAUSE) -> dict[str, Any]:
    """Return the JSON object that a text holds; by default a query clause.

    :param advice: what to write, if it holds none.
    :raises InputError: if it holds none.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({error}): {advice}") from error
    if not isinstance(value, dict):
        raise InputError(f"not a JSON object: {advice}")
    return value


def filter_option(help: str) -> Callable[[F], F]:
    """Return the option ``--filter``: a query clause as JSON."""
    return click.option("--filter", metavar="JSON", callback=parsed_by(json_object), help=help)


format_option = click.option(
    "--format",
    metavar="NAME",
    type=click.Choice(FORMATS),
    help=f"Of the input: {', '.join(FORMATS)}.  [default: by its suffix]",
)
encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    default="utf-8",
    show_default=True,
    callback=parsed_by(checked_encoding),
    help="Of the input, such as gb18030.",
)
workers_option = click.option(
    "--workers",
    metavar="N",
    type=int,
    default=lambda: len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    help="Processes for fingerprints.  [default: one a core]",
)
lang_option = click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the page."
)
dead_letter_option = click.option(
    "--dead-letter", metavar="FILE", type=FILE, help="Append what is rejected or fails, with the reason."
)
quiet_option = click.option("--quiet", is_flag=True, help="Print no line for each duplicate, but the counts.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON lines on standard output.")
