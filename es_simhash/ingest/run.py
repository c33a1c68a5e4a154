"""One run of documents: an ingest of new documents, or a backfill of stored ones.

A batch is read and fingerprinted, looked up, decided, written. Then its outcomes are yielded, and the checkpoint says
that it is done. With worker processes the stages overlap: while a batch is decided and written, a thread looks the next
one up, and the processes read further ones. The number of batches that are read ahead is bounded.
"""

from __future__ import annotations

import logging
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState, Scan
from es_simhash.deciding.ingest import ON_DUPLICATE, Ingest
from es_simhash.deciding.limits import LIMITS, Limits
from es_simhash.deciding.outcome import Document
from es_simhash.errors import InputError, StoreError, count_of, unfinished
from es_simhash.files import is_same_file
from es_simhash.ingest.batches import BATCH, Source, mark, parts_by_id
from es_simhash.ingest.checkpoint import Checkpoint
from es_simhash.ingest.reader import Reader
from es_simhash.ingest.stored_documents import next_pass, stored_lines
from es_simhash.retries import Call, running_call
from es_simhash.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.candidates import LookedUp
    from es_simhash.deciding.ingest import OnDuplicate
    from es_simhash.deciding.outcome import Outcome
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.lines import Line

    Items = list[Document | Outcome]

_log = logging.getLogger("es_simhash")
FIRST = 100
"""A backfill stops if it can use none of so many documents: the name of the field with the text is wrong then."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How documents are read, and what is done with them. The fields are keywords of ``Documents.ingest``.

    :raises InputError: for a value that is not allowed.
    """

    on_duplicate: OnDuplicate = "index"
    filter: Mapping[str, Any] | None = None
    batch_size: int = BATCH
    workers: int = 0
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        if self.on_duplicate not in ON_DUPLICATE:
            raise InputError(f"on_duplicate is {self.on_duplicate!r}: use one of {', '.join(ON_DUPLICATE)}")
        if type(self.workers) is not int or self.workers < 0:
            raise InputError(f"workers is {self.workers!r}: use a whole number from 0")
        if self.checkpoint is not None and self.on_duplicate == "fail":
            raise InputError("on_duplicate='fail' cannot resume from a checkpoint: use 'index' or 'skip'")


@dataclass(frozen=True)
class _Batch:
    """A batch that was read.

    :param lines: how many documents were read for it.
    :param mark: a short digest of the last one.
    """

    items: Items
    lines: int
    mark: str

    @property
    def ids(self) -> set[str]:
        """The ids of its documents, each of which occurs once."""
        return {item.id for item in self.items if isinstance(item, Document)}


def read_ahead(workers: int) -> int:
    """Return how many batches are read ahead: enough that no worker waits for its next batch."""
    return workers + 1 if workers else 0


def ingest(
    store: Store,
    source: Source,
    rule: ResolvedRule,
    id_field: str,
    options: RunOptions,
    *,
    deadline: float,
    check: Callable[[bool], object],
    limits: Limits = LIMITS,
    ahead: int | None = None,
) -> Iterator[Sequence[Outcome]]:
    """Ingest documents, and yield the outcomes of each batch.

    If the input ends in an error, everything before it is done. Then the error is raised.

    :param id_field: name of the field with the id.
    :param deadline: seconds for which single documents are sent again while the store is too busy for them.
    :param check: is called before each batch is written, with whether documents are written. It raises if the store is
        not what it was at the start.
    :param limits: of what is held in memory.
    :param ahead: how many batches are read ahead; by default enough that no worker waits for its next batch.
    """
    _log.info("%s: Scheme %s", store.name, rule.fingerprinter.scheme.version)
    core = Ingest(store, rule, options.on_duplicate, options.filter, deadline, limits=limits)
    reader = Reader.of(rule, id_field)
    run = _Run(core, source, reader, options.workers, check, ahead)
    if options.checkpoint is not None:
        run.checkpoint = _checkpoint(options.checkpoint, store, rule, id_field, options)
        run.checkpoint.skip_done(source, store)
    try:
        yield from run.outcomes()
    except StoreError as error:
        raise unfinished(error, run.left()) from error


def backfill(
    store: Store,
    rule: ResolvedRule,
    options: RunOptions,
    *,
    deadline: float,
    check: Callable[[bool], object],
    again: bool,
    stop: Callable[[], bool],
) -> Iterator[Sequence[Outcome]]:
    """Backfill stored documents, and yield the outcomes of each batch.

    It passes over the documents again while other writers change some of them.

    :param deadline: this and ``check`` as for :func:`ingest`.
    :param again: include documents that have a fingerprint.
    :param stop: is asked before each page: once it is true, no more is read.
    :raises InputError: if none of the first 100 documents can be used.
    """
    reader = Reader.of(rule, "_id", whole=False)
    time_fields = () if rule.time_field is None else (rule.time_field,)
    fields = (*rule.chosen.text_fields, *time_fields)
    scan: Scan | None = Scan(None, options.filter, fields, not again, None, options.batch_size)
    usable = False

    try:
        while scan is not None:
            store.refresh()
            core = Ingest(store, rule, "index", options.filter, deadline, stored=True)
            run = _Run(
                core, Source(stored_lines(store, scan, stop), options.batch_size), reader, options.workers, check
            )
            for outcomes in run.outcomes():
                usable = usable or _check_usable(outcomes)
                yield outcomes
            scan = None if stop() else next_pass(scan, options.filter, core.conflicts)
        everything = again and options.filter is None and not stop()
        if everything and rule.stored_keys is KeysState.INCOMPLETE:
            store.complete_keys()
    except StoreError as error:
        raise unfinished(error, "backfill again, for the documents that are left") from error


def _check_usable(outcomes: Sequence[Outcome]) -> bool:
    """Return whether one of the first outcomes is of a document that can be used.

    :raises InputError: if there are enough, and none is.
    """
    rejected = [outcome for outcome in outcomes[:FIRST] if outcome.outcome == "rejected"]
    if len(rejected) == FIRST:
        raise InputError(
            f"stopped, because none of the first {FIRST} documents can be used. {rejected[0].reason}. If they have no "
            "text, leave them out by a filter"
        )
    return len(rejected) < len(outcomes)


class _Run:
    """A run over one input.

    :param ahead: how many batches are read ahead. With 0 the outcomes of a batch are yielded before the next is read.
    """

    checkpoint: Checkpoint | None = None

    def __init__(
        self,
        core: Ingest,
        source: Source,
        reader: Reader,
        workers: int,
        check: Callable[[bool], object],
        ahead: int | None = None,
    ) -> None:
        self._core = core
        self._source = source
        self._reader = reader
        self._workers = workers
        self._check = check
        self._ahead = read_ahead(workers) if ahead is None else ahead
        self._read = 0
        """Documents that were read, and whose outcomes were not yielded."""

    def outcomes(self) -> Iterator[Sequence[Outcome]]:
        """Yield the outcomes of each batch, in the order of the input.

        When the caller asks for the next batch, the outcomes of the last one count as taken.

        :raises DuplicateFound: after the outcome of a duplicate under ``fail``.
        """
        look_ups = (running_call() or Call()).part()
        with (
            Workers(self._reader, self._workers) as workers,
            ThreadPoolExecutor(1, "es-simhash-look-up") as thread,
        ):
            try:
                yield from self._overlapping(self._batches(workers), thread, look_ups)
            finally:
                look_ups.cancel()  # the thread may be waiting to retry a request
        self._core.finish()
        if self._source.error is not None:
            raise self._source.error

    def _overlapping(
        self, batches: Iterator[_Batch], thread: ThreadPoolExecutor, look_ups: Call
    ) -> Iterator[Sequence[Outcome]]:
        """Look each batch up while the one before it is decided and written, if batches are read ahead."""
        before: tuple[_Batch, Callable[[], LookedUp]] | None = None
        for batch in batches:
            if before is not None and before[0].ids & batch.ids:
                yield from self._finished(*before)  # its look-up is to find what the one before wrote
                before = None
            unwritten = None if before is None else before[1]()
            look_up = self._core.prepare_look_up(batch.items, unwritten)
            if not self._ahead:
                yield from self._finished(batch, look_up)
                continue
            looked_up = thread.submit(look_ups.do, look_up).result
            if before is not None:
                yield from self._finished(*before)
            before = batch, looked_up
        if before is not None:
            yield from self._finished(*before)

    def left(self) -> str:
        """Return what is left to do after an error of the store."""
        if self.checkpoint is not None:
            return "the same call continues from its checkpoint"
        verbs = "was read is" if self._read == 1 else "were read are"
        return f"{count_of(self._read, 'document')} that {verbs} not stored, and nothing more was read"

    def _batches(self, workers: Workers[Line, Document | Outcome]) -> Iterator[_Batch]:
        """Yield the batches of the input. One ends before an id that it already has."""
        reading: deque[tuple[list[Line], Callable[[], Sequence[Document | Outcome]]]] = deque()
        more = True
        while more or reading:
            while more and len(reading) < max(1, self._ahead):
                lines = self._source.take()
                more = bool(lines)
                self._read += len(lines)
                if lines:
                    reading.append((lines, workers.submit(lines)))
            if reading:
                lines, items = reading.popleft()
                start = 0
                for part in parts_by_id(items()):
                    start += len(part)
                    yield _Batch(part, len(part), "" if self.checkpoint is None else mark(lines[start - 1]))

    def _finished(self, batch: _Batch, looked_up: Callable[[], LookedUp]) -> Iterator[Sequence[Outcome]]:
        """Decide and write a batch, and yield its outcomes."""
        found = looked_up()
        decisions = self._core.decide(found)
        self._check(bool(decisions))
        outcomes = self._core.write(found, decisions)
        _log.info("written: a batch of %s", batch.lines)
        self._read -= batch.lines
        yield outcomes
        if self._core.stopped:
            self._core.finish()
            raise self._core.stopped
        if self.checkpoint is not None:
            self.checkpoint.done(batch.lines, batch.mark, outcomes)


def _checkpoint(path: str, store: Store, rule: ResolvedRule, id_field: str, options: RunOptions) -> Checkpoint:
    if is_same_file(path, store.name.removeprefix("sqlite:///")):
        raise InputError(f"the checkpoint {path!r} is the file of the store: name another file")
    about = {
        "store": store.name,
        "scheme": rule.fingerprinter.scheme.version,
        "rule": str(rule.chosen),
        "id_field": id_field,
        "on_duplicate": options.on_duplicate,
        "filter": options.filter,
    }
    return Checkpoint(path, about)
