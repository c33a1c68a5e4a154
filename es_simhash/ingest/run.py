"""One run of documents: an ingest of new documents, or a backfill of stored ones.

A batch is read and fingerprinted, looked up, decided, written. Then its outcomes are yielded, and the checkpoint says
that it is done. With worker processes the stages overlap: while a batch is decided and written, a thread looks the next
one up, and the processes read further ones. The number of batches that are read ahead is bounded.
"""

from __future__ import annotations

import logging
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.decide.outcome import Document, Outcome
from es_simhash.decide.run import Options, Run
from es_simhash.errors import saying_what_is_done
from es_simhash.ingest.batches import Source, mark, parts_by_id, warn_of_missing_fields
from es_simhash.ingest.checkpoint import Checkpoint
from es_simhash.ingest.reader import IdField, Reader
from es_simhash.ingest.workers import Workers
from es_simhash.lines import Line
from es_simhash.retries import Call
from es_simhash.rows import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from es_simhash.decide.decider import Decider
    from es_simhash.decide.run import LookedUp
    from es_simhash.rows import Row
    from es_simhash.store.protocol import Store

_log = logging.getLogger("es_simhash")

UNFINISHED = (
    "repeat it: what is done stays as it is. If it replaces texts of stored documents, run `es-simhash group --since "
    "1d` then, because their copies may still be linked to them"
)
"""What to do after an error of the store or an interruption. A checkpoint knows what is done."""

B = TypeVar("B")
R = TypeVar("R")


@dataclass(frozen=True)
class _Batch:
    """A batch that was read.

    :param items: Documents, and the Outcomes of those that were rejected.
    :param mark: a short digest of its last line.
    :param emptied: of a backfill, the rows of documents that have a fingerprint, and no text any more.
    """

    items: Sequence[Document | Outcome]
    mark: str
    emptied: Sequence[Row]

    @property
    def documents(self) -> list[Document]:
        """Its documents, with different ids."""
        return [item for item in self.items if isinstance(item, Document)]


def ingest(
    decider: Decider,
    source: Source,
    id_field: IdField,
    options: Options,
    workers: int,
    checkpoint: str | None,
    check: Callable[[], object],
) -> Iterator[Outcome]:
    """Ingest documents, and return the outcome of each.

    If the input ends in an error, everything before it is done. Then the error is raised.

    :param check: is called before each batch is written. It raises if the store is not what it was at the start.
    """
    _log.info("%s: Scheme %s", decider.store.name, decider.rule.fingerprinter.scheme.version)
    run = Run(decider, options, is_load=True)
    stages = _Stages(decider, run, source, Reader(decider.rule, id_field), workers, check)
    if checkpoint is not None:
        stages.checkpoint = Checkpoint(checkpoint, decider.store.describe().instance)
        stages.checkpoint.skip_done(source, decider.store)
    return stages.outcomes()


def backfill(
    decider: Decider,
    filter: Mapping[str, Any] | None,
    workers: int,
    check: Callable[[], object],
    *,
    again: bool,
) -> Iterator[Outcome]:
    """Backfill stored documents, and yield the outcome of each.

    Where the rule has a time field, the documents are read in the order of their times, so the first published is the
    head.

    :param again: include documents that have a fingerprint.
    """
    store, chosen = decider.store, decider.rule.chosen
    time_fields = () if chosen.time_field is None else (chosen.time_field,)
    fields = (*chosen.text_fields, *time_fields)
    scan = Scan(filter=filter, fields=fields, missing=None if again else True, by_field=chosen.time_field)
    reader = Reader(decider.rule, IdField("_id", is_stored=False))
    run = Run(decider, Options(filter=filter), is_load=not again)
    with closing(_stored_lines(store, scan)) as lines:
        yield from _Stages(decider, run, Source(lines), reader, workers, check).outcomes()


def _stored_lines(store: Store, scan: Scan) -> Generator[Line, None, None]:
    """Yield all documents of a Scan."""
    for page in store.scan(scan):
        for stored in page:
            document = {**(stored.source or {}), "_id": stored.row.id}
            yield Line(f"document {stored.row.id!r}", document, stored=stored.row)


def _ahead(
    batches: Iterable[B], begin: Callable[[B], Callable[[], R]], count: int
) -> Iterator[tuple[B, Callable[[], R]]]:
    """Yield each batch with what returns the result of its work. The work of the next ones was begun.

    :param begin: begins the work for a batch.
    :param count: the number of batches whose work is begun ahead.
    """
    begun: deque[tuple[B, Callable[[], R]]] = deque()
    for batch in batches:
        begun.append((batch, begin(batch)))
        if len(begun) > count:
            yield begun.popleft()
    yield from begun


@dataclass
class _Stages:
    """The stages of a run over one input."""

    decider: Decider
    run: Run
    source: Source
    reader: Reader
    workers: int
    check: Callable[[], object]
    checkpoint: Checkpoint | None = None

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of each document, in the order of the input. At the end search finds what was written.

        With worker processes each batch is looked up while the one before it is decided and written. When the caller
        asks for more than the outcomes of a batch, the checkpoint says that it is done.
        """
        look_ups = Call()

        def begin(batch: _Batch) -> Callable[[], LookedUp]:
            look_up = partial(self.run.look_up, batch.documents)
            if not self.workers:
                return look_up
            return thread.submit(look_ups.do, look_up).result

        with (
            saying_what_is_done(lambda: UNFINISHED),
            closing(Workers(self.reader, self.workers)) as workers,
            ThreadPoolExecutor(1, "es-simhash-look-up") as thread,
        ):
            try:
                for batch, looked_up in _ahead(self._batches(workers), begin, min(1, self.workers)):
                    yield from self._taken(batch, looked_up())
                    if self.checkpoint is not None:
                        self.checkpoint.done(len(batch.items), batch.mark)
            finally:
                look_ups.cancel()  # the thread may be waiting to repeat a request
                self.decider.pending.end_whole()
            self.decider.forget(now=True)
        if self.source.error is not None:
            raise self.source.error

    def _batches(self, workers: Workers) -> Iterator[_Batch]:
        """Yield the batches of the input. One ends before an id that it already has."""
        is_first = not self.source.count
        for lines, read in _ahead(iter(self.source.take, []), workers.submit, self.workers):
            if is_first:
                warn_of_missing_fields(lines, self.reader.text_fields)
            is_first = False
            items, start = read(), 0
            emptied = [
                line.stored
                for line, item in zip(lines, items, strict=True)
                if isinstance(item, Outcome) and line.stored is not None and line.stored.digest
            ]
            for part in parts_by_id(items):
                start += len(part)
                yield _Batch(part, "" if self.checkpoint is None else mark(lines[start - 1]), emptied)
                emptied = []

    def _taken(self, batch: _Batch, looked: LookedUp) -> Sequence[Outcome]:
        """Decide and write a batch, and return its outcomes in the order of the input."""
        self.check()
        taken = {outcome.id: outcome for outcome in self.run.take(looked)}
        if batch.emptied:
            self.run.empty(batch.emptied)
        _log.info("written: a batch of %s", len(batch.items))
        return [item if isinstance(item, Outcome) else taken[item.id] for item in batch.items]
