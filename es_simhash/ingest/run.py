"""One run of documents: an ingest of new documents, or a backfill of stored ones.

A batch is read and fingerprinted, decided, written. Then its outcomes are yielded, and the checkpoint says that it is
done. While a batch is decided and written, worker processes read further ones. Their number is bounded.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from es_simhash.decide.outcome import Document, Outcome
from es_simhash.decide.run import Options, Run
from es_simhash.errors import saying_what_is_done
from es_simhash.ingest.batches import Source, mark, parts_by_id, warn_of_missing_fields
from es_simhash.ingest.checkpoint import Checkpoint
from es_simhash.ingest.reader import IdField, Reader
from es_simhash.ingest.workers import Workers
from es_simhash.lines import Line
from es_simhash.rows import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from es_simhash.decide.turn import Turn
    from es_simhash.rows import Row
    from es_simhash.store.protocol import Store

_log = logging.getLogger("es_simhash")

UNFINISHED = "repeat it: what is done stays as it is"
"""What to do after an error of the store or an interruption. A checkpoint knows what is done."""


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


def ingest(
    turn: Turn, source: Source, id_field: IdField, options: Options, workers: int, checkpoint: str | None
) -> Iterator[Outcome]:
    """Ingest documents, and return the outcome of each.

    If the input ends in an error, everything before it is done. Then the error is raised.
    """
    _log.info("%s: Scheme %s", turn.store.name, turn.rule.fingerprinter.scheme.version)
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(checkpoint, turn.store.describe().instance)
        kept.skip_done(source)
    return _outcomes(turn, options, source, Reader(turn.rule, id_field), workers, kept)


def backfill(
    turn: Turn,
    filter: Mapping[str, Any] | None,
    workers: int,
    *,
    again: bool,
) -> Iterator[Outcome]:
    """Backfill stored documents, and yield the outcome of each.

    Where the rule has a time field, the documents are read in the order of their times, so the first published is the
    original.

    :param again: include documents that have a fingerprint.
    """
    chosen = turn.rule.chosen
    time_fields = () if chosen.time_field is None else (chosen.time_field,)
    fields = (*chosen.text_fields, *time_fields)
    scan = Scan(filter=filter, fields=fields, missing=None if again else True, by_field=chosen.time_field)
    reader = Reader(turn.rule, IdField("_id", is_stored=False))
    with closing(_stored_lines(turn.store, scan)) as lines:
        yield from _outcomes(turn, Options(filter=filter), Source(lines), reader, workers, None)


def _stored_lines(store: Store, scan: Scan) -> Generator[Line, None, None]:
    """Yield all documents of a Scan."""
    for page in store.scan(scan):
        for stored in page:
            document = {**(stored.source or {}), "_id": stored.row.id}
            yield Line(f"document {stored.row.id!r}", document, stored=stored.row)


def _outcomes(
    turn: Turn, options: Options, source: Source, reader: Reader, workers: int, checkpoint: Checkpoint | None
) -> Iterator[Outcome]:
    """Yield the outcome of each document, in the order of the input. At the end search finds what was written.

    When the caller asks for more than the outcomes of a batch, the checkpoint says that it is done.
    """
    run, taken, stored = Run(turn, options), 0, None
    is_held = options.filter is not None  # a filter needs the documents themselves
    with ExitStack() as stack:
        stack.enter_context(saying_what_is_done(lambda: UNFINISHED))
        processes = stack.enter_context(closing(Workers(reader, workers)))
        for batch in _batches(source, reader, processes, workers, marks=checkpoint is not None):
            if taken and not is_held:  # of a few documents there is no second batch
                with turn.take():
                    stored = turn.store.count(Scan()) if stored is None else stored
                if is_held := turn.pays(taken, stored + taken):
                    stack.enter_context(turn.holding(turn.room))
            outcomes = run.take(batch.items)
            if batch.emptied:
                run.empty(batch.emptied)
            _log.info("written: a batch of %s", len(batch.items))
            yield from outcomes
            taken += len(batch.items)
            if checkpoint is not None:
                checkpoint.done(len(batch.items), batch.mark)
        with turn.take():
            turn.store.refresh()
    if source.error is not None:
        raise source.error


def _batches(source: Source, reader: Reader, workers: Workers, count: int, *, marks: bool) -> Iterator[_Batch]:
    """Yield the batches of the input. One ends before an id that it already has. Worker processes read ahead.

    :param count: of the worker processes.
    :param marks: the checkpoint needs the marks of lines.
    """
    is_first = not source.count
    ahead: deque[tuple[list[Line], Callable[[], Sequence[Document | Outcome]]]] = deque()
    for lines in chain(iter(source.next_batch, []), repeat([], count)):
        if lines:
            ahead.append((lines, workers.submit(lines)))
        if not ahead or (lines and len(ahead) <= count):
            continue
        lines, read = ahead.popleft()
        if is_first:
            warn_of_missing_fields(lines, reader.text_fields)
        is_first = False
        items, start = read(), 0
        emptied = [
            line.stored
            for line, item in zip(lines, items, strict=True)
            if isinstance(item, Outcome) and line.stored is not None and line.stored.digest
        ]
        for part in parts_by_id(items):
            start += len(part)
            yield _Batch(part, mark(lines[start - 1]) if marks else "", emptied)
            emptied = []
