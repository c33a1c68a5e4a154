"""``es-simhash remove``: remove documents by their ids, by a query clause, or all duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.remove_duplicates import duplicates_options, remove_duplicates
from es_simhash.console.exits import exit_unless_all_done
from es_simhash.console.help import Command
from es_simhash.console.options import filter_option, json_option, parse_filter, rule_options, store_options
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.console.scheme import open_documents, scheme_options

if TYPE_CHECKING:
    from es_simhash.cli.remove_duplicates import DuplicatesOptions
    from es_simhash.similarity.rule import RuleOptions


@click.command(cls=Command)
@click.argument("ids", metavar="[ID…]", nargs=-1)
@rule_options()
@click.option(
    "--matching",
    metavar="JSON",
    callback=parse_filter,
    help="Remove all documents that match this query clause, instead of ids.",
)
@click.option("--everything", is_flag=True, help="With --matching: also if all documents of the store match.")
@duplicates_options
@filter_option(
    "Only documents that match this query clause can become the new original. Use the --filter of the ingest."
)
@json_option
@store_options
@scheme_options
def remove(
    ids: tuple[str, ...],
    rule: RuleOptions,
    matching: dict[str, Any] | None,
    everything: bool,
    chosen: DuplicatesOptions,
    filter: dict[str, Any] | None,
    as_json: bool,
    **store: Any,
) -> None:
    """Remove documents by id, by a query clause, or all duplicates.

    Use the same --filter as for the ingest.

    \b
    es-simhash remove news-1 news-2
    es-simhash remove --matching '{"range": {"date": {"lt": "2024-01-01"}}}'
    es-simhash remove --duplicates --dry-run
    es-simhash remove --duplicates --save removed.jsonl

    \f
    If another document duplicates a removed one, it gets a new original. If there is no other original, it becomes an
    original itself.

    --duplicates removes each member of a group that is a duplicate of the head of its group. The head stays. In a chain
    of small changes, a member that is far from the head stays too. First run group with the same rule. Do not run group
    at the same time.

    Ids that no document has are named on standard error. Then the exit code is 3, or 1 if no document has any of them.

    If --matching matches all documents of the store, nothing is removed, unless you give --everything.
    """
    if bool(ids) + (matching is not None) + chosen.duplicates != 1:
        raise click.UsageError("give either ids or --matching, or --duplicates")
    if everything and matching is None:
        raise click.UsageError("--everything belongs to --matching")
    chosen.check(as_json=as_json)
    missing: list[str] = []
    with open_documents(**store) as documents:
        if chosen.duplicates:
            remove_duplicates(documents, chosen, rule, filter, as_json=as_json)
            return
        if matching is not None:
            removed = documents.remove_matching(matching, filter=filter, everything=everything, **rule)
        else:
            found = documents.remove(ids, filter=filter, **rule)
            removed = len(found)
            missing = [id for id in dict.fromkeys(ids) if id not in found]
    if as_json:
        print_json({"removed": removed})
    else:
        echo(f"removed {count_of(removed, 'document')}")
    if missing:
        echo(f"not found: {', '.join(missing)}", err=True)
    exit_unless_all_done(len(missing), removed + len(missing))
