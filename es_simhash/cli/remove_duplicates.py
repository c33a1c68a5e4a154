"""``es-simhash remove --duplicates``: find them, show them, ask, save them to a file, and remove them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.console.help import option
from es_simhash.console.options import collect_options
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.deciding.duplicates import Duplicate
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_simhash.client import Documents
    from es_simhash.similarity.rule import RuleOptions

_SECTION = "Remove all duplicates"
SHOWN = 10
"""Duplicates that are shown before the question. --dry-run shows all of them."""


@dataclass(frozen=True)
class DuplicatesOptions:
    """The values of :data:`duplicates_options`."""

    duplicates: bool
    dry_run: bool
    yes: bool
    save: str | None

    def check(self, *, as_json: bool) -> None:
        """Check that the options fit together.

        :raises UsageError: if they do not.
        :raises InputError: if the file to save to exists.
        """
        if not self.duplicates and (self.dry_run or self.yes or self.save is not None):
            raise click.UsageError("--dry-run, --yes and --save belong to --duplicates")
        if self.dry_run and (self.yes or self.save is not None):
            raise click.UsageError("--dry-run removes nothing: use it without --yes and --save")
        if self.duplicates and not (self.dry_run or self.yes) and (as_json or not sys.stdin.isatty()):
            raise click.UsageError("nobody can answer the question before the removal: give --yes or --dry-run")
        if self.save is not None and os.path.exists(self.save):
            raise InputError(f"{self.save} exists: name a new file (save)")


duplicates_options = collect_options(
    "chosen",
    ("duplicates", "dry_run", "yes", "save"),
    [
        option(
            "--duplicates",
            section=_SECTION,
            is_flag=True,
            help="Remove each member of a group that is a duplicate of the head of its group. Asks first.",
        ),
        option("--dry-run", section=_SECTION, is_flag=True, help="Show what would be removed. Remove nothing."),
        option("--yes", section=_SECTION, is_flag=True, help="Do not ask."),
        option(
            "--save",
            section=_SECTION,
            metavar="FILE",
            help="Write the removed documents to a new file, before they are removed. restore takes it back.",
        ),
    ],
    DuplicatesOptions,
)


def remove_duplicates(
    documents: Documents,
    chosen: DuplicatesOptions,
    rule: RuleOptions,
    filter: Mapping[str, Any] | None,
    *,
    as_json: bool,
) -> None:
    """Find all duplicates, and remove them unless the person says no.

    :param filter: only documents that match it become originals.
    """
    with ExitStack() as stack:
        # All must be found before the first is removed. A file holds them, since there may be many.
        plan = stack.enter_context(tempfile.TemporaryFile())
        show = SHOWN if not chosen.dry_run else None
        count = exact = 0
        found = tqdm(documents.duplicates(**rule), unit=" duplicates found", disable=None, leave=False)
        for duplicate in found:
            plan.write(json.dumps(list(asdict(duplicate).values())).encode() + b"\n")
            if show is None or (count < show and not chosen.yes):
                found.clear()
                _show(duplicate, as_json=as_json)
            count += 1
            exact += duplicate.exact
        if not as_json:
            if not chosen.dry_run and not chosen.yes and count > SHOWN:
                echo(f"and {count - SHOWN:,} more")
            echo(
                f"{count_of(count, 'duplicate')} of the heads of their groups: {exact:,} exact, {count - exact:,} near"
            )
        if chosen.dry_run:
            return
        if count and not chosen.yes and not click.confirm(f"Remove {count_of(count, 'document')}?"):
            echo("nothing was removed")
            return
        save = chosen.save if count else None
        plan.seek(0)
        planned = tqdm(_planned(plan), total=count, unit=" duplicates", disable=None, leave=False)
        removed = documents.remove_duplicates(planned, save=save, filter=filter, **rule)
    if as_json:
        print_json({"removed": removed})
        return
    echo(f"removed {count_of(removed, 'document')}")
    if removed < count:
        echo(f"kept {count_of(count - removed, 'document')} that changed in the meantime: run the command again")


def _show(duplicate: Duplicate, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(duplicate))
    elif duplicate.exact:
        echo(f"{duplicate.id}  exact duplicate of {duplicate.head}")
    else:
        bits = "" if duplicate.distance is None else f", {count_of(duplicate.distance, 'bit')}"
        echo(f"{duplicate.id}  near-duplicate of {duplicate.head}{bits}")


def _planned(plan: IO[bytes]) -> Iterator[Duplicate]:
    for line in plan:
        yield Duplicate(*json.loads(line))
