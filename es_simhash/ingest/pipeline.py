"""The pipeline of one run: read, fingerprint, look up, decide, write. The stages overlap.

While one batch is decided and written, a thread looks the next one up, and worker processes fingerprint further
batches. The number of batches that are read ahead is bounded, so memory does not grow with the input.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from es_simhash.contract import Scan
from es_simhash.deciding.outcome import Document, failed, with_document
from es_simhash.errors import InputError, SchemeMismatch, StoreError, count_of, is_interrupted
from es_simhash.ingest.batches import Source, mark
from es_simhash.ingest.ids import claim
from es_simhash.portal import Portal
from es_simhash.retries import Call, running_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.candidates import LookedUp
    from es_simhash.deciding.ingest import Ingest
    from es_simhash.deciding.outcome import Outcome
    from es_simhash.ingest.checkpoint import Checkpoint
    from es_simhash.ingest.ids import FirstPlaces
    from es_simhash.lines import Line
    from es_simhash.workers import Workers

    Items = Sequence[Document | Outcome]

_log = logging.getLogger("es_simhash")
_of_iterators = logging.getLogger("es_simhash.iterators")

T = TypeVar("T")

NOT_REACHED = "not stored, because the run ended with an error: ingest it again"
"""The reason of a document that was read before the run ended. The error itself is raised, so it is not repeated."""


@dataclass(frozen=True)
class _Batch:
    """A batch in the pipeline.

    :param count: documents that were read for it.
    :param mark: a short digest of the last line, for the checkpoint.
    :param items: function that waits for the Documents, and the Outcomes of rejected lines.
    """

    count: int
    mark: str
    items: Callable[[], Items]


@dataclass(frozen=True)
class _StartedBatch:
    """A batch that is being looked up.

    :param looked_up: function that waits for the result; without batches that are read ahead, it looks the batch up.
    """

    count: int
    mark: str
    items: Items
    looked_up: Callable[[], LookedUp]


class Pipeline:
    """The pipeline of one run.

    :param source: the input.
    :param workers: make Documents of lines.
    :param read_ahead: batches that are fingerprinted ahead, beside the one that is looked up. With 0 each batch is
        written, and its outcomes are returned, before the next is read.
    :param checkpoint: where to resume, and where to record progress.
    :param check: is called before each batch is looked up, before it is written, and before its outcomes are returned,
        with whether documents are written. It may raise.
    """

    def __init__(
        self,
        ingest: Ingest,
        source: Source,
        workers: Workers[Line, Document | Outcome],
        ids: FirstPlaces,
        store: Store,
        read_ahead: int,
        checkpoint: Checkpoint | None,
        check: Callable[[bool], object],
    ) -> None:
        self._ingest = ingest
        self._source = source
        self._workers = workers
        self._ids = ids
        self._store = store
        self._read_ahead = read_ahead
        self._checkpoint = checkpoint
        self._check = check
        self._look_up_thread = Portal(1)
        self._look_up_call = (running_call() or Call()).another()
        self._reading: deque[_Batch] = deque()
        self._looking_up: deque[_StartedBatch] = deque()
        self._more = True

    def batches(self) -> Iterator[Sequence[Outcome]]:
        """Yield the outcomes of each batch, in the order of the input.

        When the caller asks for the next batch, the outcomes of the last one count as taken.

        :raises StoreError: if the store fails for longer than the deadline. Before, everything that was read gets the
            outcome ``failed``; with a checkpoint it has no outcome, and the next run decides it.
        :raises DuplicateFound: after the outcome of a duplicate under ``fail``.
        """
        outer = running_call()
        try:
            with nullcontext() if outer is None else outer.when_cancelled(self._look_up_call.cancel):
                yield from self._batches()
        finally:
            self._look_up_call.cancel()  # first: the thread may be waiting to retry a request
            self._look_up_thread.wait()

    def _batches(self) -> Iterator[Sequence[Outcome]]:
        try:
            if self._checkpoint is not None:
                yield from self._resume(self._checkpoint)
            self._look_up_next(None)
            while self._looking_up:
                batch = self._looking_up[0]
                looked_up = batch.looked_up()
                if self._read_ahead:
                    self._look_up_next(looked_up)
                decisions = self._ingest.decide(looked_up)
                self._check(bool(decisions))
                if self._checkpoint is not None:
                    claims = [(item.id, item.place) for item in batch.items if isinstance(item, Document)]
                    self._checkpoint.decided(batch.count, batch.mark, claims, decisions)
                outcomes = self._ingest.write(looked_up, decisions)
                self._check(bool(decisions))
                self._looking_up.popleft()
                _log.info("written: a batch of %s", batch.count)
                yield from self._taken(outcomes)
                if not self._read_ahead:
                    self._look_up_next(None)
        except (StoreError, SchemeMismatch, InputError):
            yield from self._give_up()
            raise
        except GeneratorExit as left:
            if not is_interrupted(left):
                self._warn_of_unwritten()
            raise
        self._ingest.finish()

    def _look_up_next(self, unwritten: LookedUp | None) -> None:
        """Start to look up the next batch, in a thread if batches are read ahead.

        :param unwritten: the batch before, if it is not written yet.
        """
        self._fill()
        if not self._reading:
            return
        self._check(False)
        batch = self._reading[0]
        items = claim(batch.items(), self._ids)
        look_up = self._ingest.prepare_look_up(items, unwritten)
        if self._read_ahead:
            look_up = self._look_up_thread.start(look_up, self._look_up_call).result
        self._looking_up.append(_StartedBatch(batch.count, batch.mark, items, look_up))
        self._reading.popleft()
        if self._read_ahead:
            self._fill()

    def _fill(self) -> None:
        """Read ahead as far as allowed."""
        while self._more and len(self._reading) < max(1, self._read_ahead):
            lines = self._source.take()
            self._more = bool(lines)
            if lines:
                last = "" if self._checkpoint is None else mark(lines[-1])
                self._reading.append(_Batch(len(lines), last, self._workers.submit(lines)))

    def _taken(self, outcomes: Sequence[Outcome]) -> Iterator[Sequence[Outcome]]:
        """Yield outcomes. After the caller has taken them, record that."""
        yield outcomes
        if self._ingest.stopped:
            self._ingest.finish()
            raise self._ingest.stopped
        if self._checkpoint is not None:
            self._checkpoint.finished([outcome.id for outcome in outcomes if outcome.stored and outcome.id is not None])

    def _give_up(self) -> Iterator[Sequence[Outcome]]:
        """Yield the outcome ``failed`` for everything that was read. With a checkpoint the next run decides it."""
        if self._checkpoint is not None:
            return
        for started in self._looking_up:
            yield [failed(item, NOT_REACHED) for item in started.items]
        for batch in self._reading:
            yield [failed(item, NOT_REACHED) for item in batch.items()]

    def _warn_of_unwritten(self) -> None:
        """Warn of documents that were read ahead and are not stored, unless the next run reads them again."""
        count = sum(batch.count for batch in self._looking_up) + sum(batch.count for batch in self._reading)
        if count and self._checkpoint is None:
            _of_iterators.warning(
                "the run was left before its end: %d documents were read ahead and are not stored: ingest them again",
                count,
            )

    # --- resume --------------------------------------------------------------------------------------------

    def _resume(self, checkpoint: Checkpoint) -> Iterator[Sequence[Outcome]]:
        """Skip the documents that are done, and write the batch that was decided, as it was decided."""
        count, last = checkpoint.done
        if count and checkpoint.skips_done:
            self._take_again(count, last, checkpoint, keep=False)
            self._ids.fill(checkpoint.claims())
        pending = checkpoint.pending
        if count or pending:
            # What the interrupted run wrote may not be searchable yet. Without this, its copies would be new.
            self._store.refresh()
            self._check_still_there(checkpoint)
        if pending is not None:
            lines = self._take_again(pending.documents, pending.mark, checkpoint)
            items = claim(self._workers.submit(lines)(), self._ids)
            looked_up = self._ingest.look_up(items)
            decisions = dict(pending.decisions)
            for document in looked_up.documents:
                if (decision := decisions.get(document.id)) is not None:
                    decisions[document.id] = replace(decision, outcome=with_document(decision.outcome, document))
            if any(document.id not in decisions for document in looked_up.documents):
                # These could not be used when the batch was decided.
                decisions = {**self._ingest.decide(looked_up), **decisions}
            outcomes = self._ingest.write(looked_up, decisions, resumed=True)
            yield from self._taken(outcomes)

    def _check_still_there(self, checkpoint: Checkpoint) -> None:
        """Check that the store has what is done: it may have been deleted or restored since.

        It warns if only the last documents are not there.

        :raises InputError: if the store is empty.
        """
        ids = checkpoint.last_stored
        if not ids or self._store.fetch(tuple(ids)):
            return
        again = "ingest everything again, with another checkpoint"
        if not self._store.count(Scan()):
            raise InputError(
                f"{self._store.name} has no documents, and the checkpoint {checkpoint.path!r} has some as done: if the "
                f"store was made again since, {again}"
            )
        _log.warning(
            "%s has none of the last %s that the checkpoint %r has as done: if it was restored since, %s",
            self._store.name,
            count_of(len(ids), "document"),
            checkpoint.path,
            again,
        )

    def _take_again(self, count: int, last: str, checkpoint: Checkpoint, *, keep: bool = True) -> list[Line]:
        """Read lines that an interrupted run has read, and check that the last is the same.

        :param keep: return the lines; else they are only skipped.
        """
        kept: list[Line] = []
        lines: list[Line] = []
        while count and (taken := self._source.take(count)):
            count -= len(taken)
            lines = taken
            if keep:
                kept += lines
        if count or mark(lines[-1]) != last:
            raise InputError(
                f"the checkpoint {checkpoint.path!r} belongs to another input: give the same documents in the same "
                "order, or name another file"
            )
        return kept
