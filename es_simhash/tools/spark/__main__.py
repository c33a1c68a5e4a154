"""The Spark job: ``python -m es_simhash.tools.spark INPUT OUTPUT``, or this file with ``spark-submit``.

It is the only module of this package that prints.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from es_simhash.console import main as console
from es_simhash.console.exits import SOME_NOT_DONE
from es_simhash.console.help import DUPLICATES, Command, option
from es_simhash.console.options import json_option, pair_options, text_field_option
from es_simhash.console.output import count_of, echo, not_compared, print_json
from es_simhash.console.scheme import make_fingerprinter, plain_scheme_options
from es_simhash.groups.links import HEADS
from es_simhash.tools.spark.group import SparkGroups, group_frame
from es_simhash.tools.spark.job import check_output, open_session, read_documents
from es_simhash.tools.spark.session import check_pyspark

if TYPE_CHECKING:
    from es_simhash.similarity.rule import DuplicateRule

_TEXT_FIELD = text_field_option("Column with the text.", "text", DUPLICATES)


@click.command(cls=Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("input")
@click.argument("output")
@pair_options
@_TEXT_FIELD
@option(
    "--keys",
    section=DUPLICATES,
    is_flag=True,
    help="Candidates come from the keys of the texts, as in a store with keys, for a rule by which texts decide.",
)
@click.option(
    "--head",
    type=click.Choice(HEADS),
    default="earliest",
    show_default=True,
    help="Which member becomes the head of a group, as for es-simhash group.",
)
@click.option(
    "--order",
    metavar="COLUMN",
    default="written",
    show_default=True,
    help="Column with the write order of a document: a whole number. es-simhash group --from needs written.",
)
@click.option(
    "--checkpoints",
    metavar="FOLDER",
    help="Folder that all machines reach, for intermediate results. The job survives the loss of a machine then. At "
    "the end it deletes what it wrote there.",
)
@json_option
@plain_scheme_options
def group(
    input: str,
    output: str,
    rule: DuplicateRule,
    text_field: list[str],
    keys: bool,
    head: Any,
    order: str,
    checkpoints: str | None,
    as_json: bool,
    **scheme: Any,
) -> None:
    """Group the documents of INPUT with Spark, and write the links to OUTPUT as Parquet.

    INPUT is Parquet, or JSON lines if its name ends in .jsonl or .json (also .gz). It has the columns id and written,
    and a text, or the columns of es-simhash export --fields. The groups are those of es-simhash group. OUTPUT must not
    exist. es-simhash group --from OUTPUT writes the links into a store.

    \b
    es-simhash export --fields text,written,version,scheme > documents.jsonl
    python -m es_simhash.tools.spark documents.jsonl links.parquet --keys
    es-simhash group --from links.parquet

    Exit code 3: some pairs of documents were not compared, because very many share keys or are near each other.
    """
    fingerprinter = make_fingerprinter(**scheme)
    check_pyspark()
    with open_session(checkpoints) as session:
        check_output(session, output)
        documents = read_documents(session, input)
        rule = replace(rule, text_field=text_field)
        found = group_frame(documents, fingerprinter=fingerprinter, keys=keys, head=head, order=order, rule=rule)
        found.links.write.parquet(output)
        _print(found, as_json=as_json)
    if found.left_out:
        raise click.exceptions.Exit(SOME_NOT_DONE)


def _print(found: SparkGroups, *, as_json: bool) -> None:
    if as_json:
        print_json({each.name: getattr(found, each.name) for each in fields(found) if each.name != "links"})
        return
    groups = f"{count_of(found.groups, 'group')} with {count_of(found.members, 'member')}"
    echo(f"{count_of(found.documents, 'document')}, {groups}")
    if found.left_out:
        echo(not_compared(found.left_out))


def main() -> None:
    """Run the job. An error of the library is one line on standard error."""
    console.main(group, "es_simhash.tools.spark")


if __name__ == "__main__":
    main()
