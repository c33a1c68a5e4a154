"""``es-simhash dedupe``: print the documents of files that are no copies of each other."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, deque
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import click

from es_simhash import Documents, DuplicateRule, Fingerprinter, InputError, Line, SimhashError
from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.input import Input, check_different_files, check_fields, input_paths, object_of
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import (
    api_key_option,
    ca_certs_option,
    chosen_rule,
    confirm_option,
    encoding_option,
    format_option,
    id_field_option,
    open_documents,
    read_fingerprinter,
    rule_option,
    scheme_options,
    text_field_option,
    workers_option,
)
from es_simhash.cli.outcomes import echo_counts
from es_simhash.cli.output import display, echo, not_compared
from es_simhash.cli.stored import is_store
from es_simhash.files import open_for_owner
from es_simhash.similarity.text_fields import field_value, text_of
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash import Match, Outcome
    from es_simhash.cli.progress import Progress
    from es_simhash.similarity.rule import Rule

_TEXTS = 100
"""Documents that are looked up together in a store of ``--against``."""
_OUTPUT = "/dev/stdout"
_KINDS = ("kept", "exact duplicates", "near-duplicates", "rejected")


@value
class Item:
    """A document of the input.

    :param id: None if it has none.
    :param text: None if there is a problem.
    :param output: the line that is written if the document is kept, with its line break.
    :param against: it is of a file of ``--against``: it is not written.
    """

    place: str
    id: Any
    text: str | None
    output: bytes
    against: bool
    problem: str | None = None


@value
class Copy:
    """What a document is a copy of.

    :param place: of the original: of its line, or the name of its store.
    """

    id: Any
    place: str
    exact: bool
    similarity: float | None
    distance: int | None


@click.command()
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@rule_option
@confirm_option
@text_field_option
@id_field_option
@click.option("--against", metavar="FILE|URL", multiple=True, help="Leave out copies of what is there, too.")
@click.option("--duplicates", metavar="FILE", help="Write what is left out to this file, each with its original.")
@click.option("--pairs", is_flag=True, help="Print who copies whom, in place of the documents that stay.")
@format_option
@encoding_option
@workers_option
@click.option("--quiet", is_flag=True, help="Print no counts, only errors and what was rejected.")
@scheme_options
@api_key_option
@ca_certs_option
def dedupe(
    files: tuple[str, ...],
    rule: Rule | None,
    confirm: float | None,
    text_field: tuple[str, ...] | None,
    id_field: str | None,
    against: tuple[str, ...],
    duplicates: str | None,
    pairs: bool,
    format: str | None,
    encoding: str,
    workers: int,
    quiet: bool,
    scheme: str | None,
    html: bool,
    api_key: str | None,
    ca_certs: str | None,
) -> None:
    """Print the documents of files without their copies.

    Reads what `es-simhash ingest` reads, and prints JSON lines in the order of the input. Each document that is left
    out is a copy of one that is printed. Documents need no id. A bad line is reported with its place. --pairs and
    --duplicates have {"id", "place", "duplicate_of", "original_place", "similarity", "distance"}.

    \b
    es-simhash dedupe crawl.jsonl > kept.jsonl
    es-simhash dedupe train.jsonl --against test.jsonl > clean.jsonl
    es-simhash dedupe today.jsonl --against http://es:9200/archive > new.jsonl
    """
    chosen = _rule(rule, confirm, text_field)
    known = tuple(name for name in against if not is_store(name))
    before = Input(input_paths(known) if known else (), format, encoding)
    source = Input(input_paths(files), format, encoding)
    inputs = (*before.paths, *source.paths)
    check_different_files({"the output": _OUTPUT, "--duplicates": duplicates}, inputs)
    fingerprinter = read_fingerprinter(scheme, html) or Fingerprinter()
    with ExitStack() as stack:
        archives = [
            stack.enter_context(open_documents(store=name, api_key=api_key, ca_certs=ca_certs, deadline=None))
            for name in against
            if is_store(name)
        ]
        decisions = Decisions(fingerprinter, chosen, archives, workers)
        progress = stack.enter_context(Input(inputs).progress(quiet=quiet))
        copies = None if duplicates is None else stack.enter_context(_opened(duplicates))
        interruptible = stack.enter_context(Interruptible())

        def items(files: Input, *, against: bool) -> Iterator[Item]:
            check = partial(check_fields, id_field=None, text_fields=chosen.text_fields)
            for line in interruptible.until_interrupted(files.lines(progress, check)):
                yield item_of(line, chosen.text_fields, id_field or "id", against=against)

        report = _Report(progress)
        try:
            every = decisions.of(chain(items(before, against=True), items(source, against=False)))
            _print(every, report, copies, pairs=pairs)
        except (SimhashError, KeyboardInterrupt):
            report.print(decisions.not_compared, quiet=quiet)
            raise
        report.print(decisions.not_compared, quiet=quiet)
    interruptible.exit_if_interrupted()
    if not report.counts:
        raise InputError(f"no documents in {source.names}: give one JSON object per line")
    exit_unless_all_done(progress.rejected, report.counts.total())


def _rule(rule: Rule | None, confirm: float | None, text_field: tuple[str, ...] | None) -> DuplicateRule:
    chosen = chosen_rule(DuplicateRule(), rule, confirm, text_field)
    return chosen if isinstance(chosen, DuplicateRule) else DuplicateRule(rule=chosen or "copy")


def _opened(path: str) -> IO[bytes]:
    try:
        return open(path, "wb", opener=open_for_owner)
    except OSError as error:
        raise InputError(f"cannot write {display(path)}: {error.strerror}") from error


def item_of(line: Line, text_fields: tuple[str, ...], id_field: str, *, against: bool) -> Item:
    """Return the document of a line."""
    try:
        document = object_of(line)
        text, id = text_of(document, text_fields), field_value(document, id_field)
        return Item(line.place, id, text, _output(line, document), against)
    except InputError as error:
        return Item(line.place, None, None, b"", against, str(error))


def _output(line: Line, document: dict[str, Any]) -> bytes:
    """Return the document as a line: as it stands in the input, if it is one line of JSON there."""
    raw = b"\n" if line.raw is None else line.raw.removeprefix(b"\xef\xbb\xbf").strip()
    if b"\n" in raw or b'"dead_letter"' in raw:  # a dead letter may carry the document
        return json_line(document)
    return raw + b"\n"


def json_line(value: Any) -> bytes:
    """Return a value as a line of JSON.

    :raises InputError: if it has no form in JSON.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only escape
        return json.dumps(value, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise InputError(f"the document cannot be written as JSON: {error}") from error


class Decisions:
    """Says what each document is a copy of: they are ingested into a store in memory, which skips copies.

    :param archives: stores whose documents come before all others. Each is asked at once, so one that cannot be
        searched stops the command before anything is printed.
    """

    def __init__(
        self, fingerprinter: Fingerprinter, rule: DuplicateRule, archives: list[Documents], workers: int
    ) -> None:
        self._documents = Documents("memory://", fingerprinter=fingerprinter)
        self._rule = replace(rule, text_field="text")
        self._archives = archives
        self._rule_of_archives = replace(rule, text_field=None)  # their texts may be in other fields
        self._workers = workers
        self._waiting: deque[tuple[Item, Copy | None]] = deque()
        self._kept: list[tuple[Any, str]] = []
        """Id and place of each document that was ingested."""
        self.not_compared = 0
        """How many documents were not compared, because very many may be near."""
        for archive in archives:
            archive.similar_many([], rule=self._rule_of_archives)

    def of(self, items: Iterable[Item]) -> Iterator[tuple[Item, Copy | None]]:
        """Yield each document, and what it is a copy of, in their order."""
        outcomes = self._documents.ingest(
            self._lines(items), on_duplicate="skip", workers=self._workers, rule=self._rule
        )
        for outcome in outcomes:
            yield from self._decided()
            item, _ = self._waiting.popleft()
            self.not_compared += outcome.left_out
            if outcome.outcome == "rejected":
                item = replace(item, problem=(outcome.reason or "").removeprefix(f"{item.place}: "))
            yield item, self._copy(outcome)
        yield from self._decided()

    def _decided(self) -> Iterator[tuple[Item, Copy | None]]:
        """Yield the documents at the front that need no outcome."""
        while self._waiting and (self._waiting[0][1] is not None or self._waiting[0][0].text is None):
            yield self._waiting.popleft()

    def _copy(self, outcome: Outcome) -> Copy | None:
        if outcome.duplicate_of is None:
            return None
        id, place = self._kept[int(outcome.duplicate_of)]
        return Copy(id, place, outcome.outcome == "exact_duplicate", outcome.similarity, outcome.distance)

    def _lines(self, items: Iterable[Item]) -> Iterator[Line]:
        """Yield the documents that are no copies of one in an archive."""
        for batch in batches(items, _TEXTS if self._archives else 1):
            known = self._in_archives([item for item in batch if item.text is not None])
            for item in batch:
                copy = known.get(id(item))
                self._waiting.append((item, copy))
                if copy is None and item.text is not None:
                    self._kept.append((item.id, item.place))
                    yield Line(item.place, {"id": len(self._kept) - 1, "text": item.text})

    def _in_archives(self, items: list[Item]) -> dict[int, Copy]:
        """Return what documents are copies of in an archive, by the identity of the item."""
        known: dict[int, Copy] = {}
        for archive in self._archives:
            left = [item for item in items if id(item) not in known]
            matches_of_texts = archive.similar_many([item.text or "" for item in left], rule=self._rule_of_archives)
            for item, matches in zip(left, matches_of_texts, strict=True):
                self.not_compared += matches.left_out
                if matches:
                    known[id(item)] = _copy_in(archive.name, matches[0])
        return known


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists. If they end in an error, those before it are yielded first."""
    batch: list[Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == size:
                yield batch
                batch = []
    except SimhashError:
        yield batch
        raise
    yield batch


def _copy_in(store: str, nearest: Match) -> Copy:
    return Copy(nearest.id, store, nearest.exact, 1.0 if nearest.exact else nearest.similarity, nearest.distance)


def _print(
    decisions: Iterable[tuple[Item, Copy | None]], report: _Report, copies: IO[bytes] | None, *, pairs: bool
) -> None:
    """Print the documents that stay, or the pairs.

    :param copies: the file that the documents that are left out are written to.
    """
    output = sys.stdout.buffer
    for item, copy in decisions:
        report.note(item, copy)
        if item.against or item.problem is not None:
            continue
        if copy is None:
            if not pairs:
                output.write(item.output)
            continue
        if pairs:
            output.write(json_line(_pair(item, copy)))
        if copies is not None:
            copies.write(json_line({**_pair(item, copy), "document": json.loads(item.output)}))
    output.flush()


def _pair(item: Item, copy: Copy) -> dict[str, Any]:
    """Return who copies whom, for JSON."""
    return {
        "id": item.id,
        "place": item.place,
        "duplicate_of": copy.id,
        "original_place": copy.place,
        "similarity": copy.similarity,
        "distance": copy.distance,
    }


class _Report:
    """What became of the documents."""

    def __init__(self, progress: Progress) -> None:
        self.counts: Counter[str] = Counter()
        self._progress = progress
        self._started = time.monotonic()

    def note(self, item: Item, copy: Copy | None) -> None:
        """Count a document. A rejected one is printed."""
        self._progress.done()
        if item.problem is not None:
            self._progress.reject(f"{item.place}: {item.problem}")
        if not item.against:
            self.counts[_kind(item, copy)] += 1

    def print(self, left_out: int, *, quiet: bool) -> None:
        """Print the counts on standard error, if there are any.

        :param left_out: pairs of documents that were not compared.
        """
        if quiet or not self.counts:
            return
        self._progress.clear()
        labelled = [(kind, self.counts[kind]) for kind in _KINDS]
        echo_counts(labelled, self.counts.total(), time.monotonic() - self._started, err=True)
        if left_out:
            echo(not_compared(left_out), err=True)


def _kind(item: Item, copy: Copy | None) -> str:
    """Return what a document counts as: one of ``_KINDS``."""
    kept, exact, near, rejected = _KINDS
    if item.problem is not None:
        return rejected
    if copy is None:
        return kept
    return exact if copy.exact else near
