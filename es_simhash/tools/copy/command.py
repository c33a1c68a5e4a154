"""``es-simhash copy``: store the documents of an index or file in another one, under another Scheme or other keys."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash import Counts, Documents
from es_simhash.console.dead_letters import DeadLetters
from es_simhash.console.exits import exit_unless_all_done
from es_simhash.console.help import Command
from es_simhash.console.input import check_different_files
from es_simhash.console.interrupt import Interruptible
from es_simhash.console.options import (
    client_options,
    connection_options,
    json_option,
    quiet_option,
    rule_options,
    sqlite_file,
    text_field_option,
)
from es_simhash.console.output import count_of, echo
from es_simhash.console.runs import OutcomePrinter, print_outcomes, run_options
from es_simhash.console.scheme import fingerprinter_factory, scheme_options
from es_simhash.errors import InputError
from es_simhash.tools.copy.checkpoint import CopyCheckpoint
from es_simhash.tools.copy.stores import setup_for_copy
from es_simhash.tools.copy.stores import switch_alias as switch
from es_simhash.tools.copy.write_order import whole_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash import Outcome
    from es_simhash.similarity.rule import RuleOptions
    from es_simhash.tools.copy.write_order import Position, WholeDocument


@click.command(cls=Command)
@click.option("--from", "old", metavar="URL", required=True, help="The store with the documents.")
@click.option(
    "--to",
    "new",
    metavar="URL",
    required=True,
    help="The new store. It is set up if necessary. Make an index with your own mapping before.",
)
@rule_options(text_field_option("Field that holds the text."))
@click.option(
    "--keys/--no-keys",
    default=None,
    help="Whether the new store gets keys.  [default: as the old one]",
)
@click.option(
    "--switch-alias",
    metavar="NAME",
    help="After a copy of all documents, take this alias from the old index and give it to the new one, in one "
    "request.",
)
@click.option(
    "--dead-letter",
    metavar="FILE",
    help="Append rejected and failed documents to this file: JSON lines with the document and the reason. You can "
    "ingest the file, with --id-field _id.",
)
@click.option(
    "--resume",
    metavar="FILE",
    help="Record the progress in this file (a checkpoint). If the command is stopped, run it again with the same "
    "options to continue. The file is removed after the last document.",
)
@json_option
@quiet_option
@run_options
@connection_options
@scheme_options
def copy(
    old: str,
    new: str,
    rule: RuleOptions,
    keys: bool | None,
    switch_alias: str | None,
    dead_letter: str | None,
    resume: str | None,
    run: dict[str, Any],
    as_json: bool,
    quiet: bool,
    connection: dict[str, Any],
    **choices: Any,
) -> None:
    """Copy all documents to a store with another Scheme or keys.

    Fingerprints, outcomes and groups are made anew, in the order in which the documents were written. The Scheme, the
    keys and the rule are those of the old store, except for the options that you give. The old store is only read, and
    searches go on.

    \b
    es-simhash copy --from sqlite:///old.db --to sqlite:///new.db --bits 128
    es-simhash copy --from http://es:9200/news-1 --to http://es:9200/news-2

    \f
    With --switch-alias, searches go over to the new index when all documents are there.

    What is written to the old store while the command runs may be missed. Run it again: documents that are in the new
    store with the same text are `unchanged`, and are not written. A document that was removed from the old store stays
    in the new one. A document without a text is rejected: it is named, and it is not in the new store. Then the alias
    is not switched.
    """
    check_different_files(
        {"--from": sqlite_file(old), "--to": sqlite_file(new), "--resume": resume, "--dead-letter": dead_letter}, ()
    )
    with ExitStack() as stack:
        source = stack.enter_context(_open(old, connection, fingerprinter_factory(**choices)))
        target = stack.enter_context(_open(new, connection, source.fingerprinter()))
        if source.name == target.name:
            raise InputError(f"--from and --to are one index, {target.name}: name a new one (--to)")
        if switch_alias is not None:
            switch(source, switch_alias, _index_beside(source, target), check=True)
        if setup_for_copy(target, source, keys=keys) == "created" and sqlite_file(new) is None:
            echo(
                f"{target.name}: created with the fields of es_simhash; the server chooses the type of others", err=True
            )
        checkpoint = stack.enter_context(closing(CopyCheckpoint(resume))) if resume else None
        bar = stack.enter_context(tqdm(unit=" documents", disable=True if quiet else None, leave=False))
        progress = _Progress(stack, source.name, checkpoint, dead_letter)
        interruptible = stack.enter_context(Interruptible())
        documents = stack.enter_context(closing(whole_documents(source, after=progress.position)))
        outcomes = target.ingest(
            progress.noted(interruptible.until_interrupted(documents)),
            id_field="_id",
            checkpoint=checkpoint,
            rule=source.rule(**rule),
            **run,
        )

        def note(outcome: Outcome) -> None:
            progress.done(outcome)
            bar.update()

        print_outcomes(outcomes, progress.counts, OutcomePrinter(as_json, bar, quiet=quiet), note)
        interruptible.exit_if_interrupted("; run the same command again to continue")
        if checkpoint is not None:
            checkpoint.remove()
        if switch_alias is not None:
            _switch_unless_missing(switch_alias, source, target, progress.counts.not_taken)
    exit_unless_all_done(progress.counts.not_taken, progress.counts.total)


def _open(address: str, connection: dict[str, Any], fingerprinter: Any) -> Documents:
    if sqlite_file(address) is not None:  # the options are meant for the other store
        connection = {"deadline": connection["deadline"]}
    _, options = client_options(address, connection)
    return Documents(address, fingerprinter=fingerprinter, **options)


class _Progress:
    """What is done: counts, dead letters, and the position in the write order."""

    def __init__(
        self, stack: ExitStack, source: str, checkpoint: CopyCheckpoint | None, dead_letter: str | None
    ) -> None:
        self._source = source
        self._checkpoint = checkpoint
        self._letters: DeadLetters | None = None
        self._read: deque[Position] = deque()
        self.counts = checkpoint.counts if checkpoint else Counts()
        self.position = checkpoint.position(source) if checkpoint else None
        if dead_letter is not None:
            note = checkpoint.note if checkpoint else None
            self._letters = stack.enter_context(closing(DeadLetters(dead_letter, note)))

    def noted(self, documents: Iterator[WholeDocument]) -> Iterator[WholeDocument]:
        """Yield documents. Their outcomes come in the same order."""
        for document in documents:
            self._read.append(document.position)
            yield document

    def done(self, outcome: Outcome) -> None:
        """Note the outcome of the next document."""
        self.position = self._read.popleft()
        if self._letters is not None and outcome.reason is not None:
            self._letters.put(outcome)
        if self._checkpoint is not None:
            letters = {} if self._letters is None else self._letters.note
            self._checkpoint.note = {"from": self._source, "position": list(self.position), **letters}


def _index_beside(source: Documents, target: Documents) -> str:
    """Return the name of the new index.

    :raises InputError: if the two are not indices of one server.
    """
    server, _, _ = source.name.rpartition("/")
    to_server, _, to = target.name.rpartition("/")
    if server != to_server or sqlite_file(source.name) is not None:
        raise InputError(
            f"an alias is one of a server, and {source.name} and {target.name} are not two indices of one server: "
            "leave out --switch-alias"
        )
    return to


def _switch_unless_missing(alias: str, source: Documents, target: Documents, missing: int) -> None:
    """Give the alias to the new index, unless documents are missing in it."""
    if missing:
        echo(
            f"es-simhash: the alias {alias!r} was not switched, because the new index lacks "
            f"{count_of(missing, 'document')}: correct what was rejected or failed in {source.name} and copy again, or "
            "switch the alias yourself",
            err=True,
        )
        return
    to = _index_beside(source, target)
    switch(source, alias, to)
    echo(f"{alias}: now an alias of {to}", err=True)
