"""The stages of an ingest, overlapping: read, fingerprint, look up, settle.

:func:`stages` says in which order things are begun and waited for; it does nothing itself. Two drivers do what it
yields, with threads or with tasks. While one batch is settled, the next is looked up, further ones are fingerprinted in
worker processes, and no more than that many are read ahead: memory doesn't grow with the input.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Refresh, ask
from es_simhash.drive import arun, run, with_retries
from es_simhash.errors import InputError, SimhashError, StoreError
from es_simhash.ingest.batches import mark
from es_simhash.ingest.ids import claim
from es_simhash.verbs.ingest import failed
from es_simhash.verbs.outcome import Document

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Sequence
    from typing import TypeAlias

    from es_simhash.contract import AsyncStore, Flow, Store
    from es_simhash.ingest.batches import Source
    from es_simhash.ingest.checkpoint import IngestState
    from es_simhash.ingest.ids import FirstPlaces
    from es_simhash.ingest.workers import Workers
    from es_simhash.lines import Line
    from es_simhash.verbs.ingest import Ingest, Looked
    from es_simhash.verbs.outcome import Outcome

    Items = Sequence[Document | Outcome]
    Request: TypeAlias = "Take | Read | LookUp | Wait | Do | Emit"
    Stages = Generator[Request, Any, None]


@dataclass(frozen=True)
class Take:
    """Reply: the next lines of the input, as many as a batch holds or ``count`` at most; none at its end.

    An error of the input is its end; who drives the stages raises it when they are done with what was read.
    """

    count: int | None = None


@dataclass(frozen=True)
class Read:
    """Begin to make documents of lines. Reply: what to wait for."""

    lines: Sequence[Line]


@dataclass(frozen=True)
class LookUp:
    """Begin to ask the store. Reply: what to wait for."""

    flow: Flow[Looked]


@dataclass(frozen=True)
class Wait:
    """Reply: the result of what was begun, or its error."""

    begun: Any


@dataclass(frozen=True)
class Do:
    """Reply: what the flow returns."""

    flow: Flow[Any]


@dataclass(frozen=True)
class Emit:
    """Give outcomes to the caller. The reply comes when all have been taken."""

    outcomes: Sequence[Outcome]


@dataclass(frozen=True)
class _Batch:
    """A batch on its way.

    :param documents: how many were read for it.
    :param mark: of the last of them.
    :param begun: what is to be waited for: its documents, and later what the store knows of them.
    """

    documents: int
    mark: str
    begun: Any
    items: Items = ()


class Pipeline:
    """One run.

    :param read_ahead: how many batches are being fingerprinted at most, beside the one that is looked up; with 0 each
        batch is settled, and its outcomes are given, before the next is read.
    :param state: what to go on from, and where to note how far it is.
    """

    def __init__(self, ingest: Ingest, ids: FirstPlaces, read_ahead: int, state: IngestState | None = None) -> None:
        self._ingest = ingest
        self._ids = ids
        self._read_ahead = read_ahead
        self._state = state
        self._reading: deque[_Batch] = deque()
        self._looking: deque[_Batch] = deque()
        self._more = True

    def stages(self) -> Stages:
        """All of it, in order."""
        try:
            if self._state is not None:
                yield from self._go_on(self._state)
            yield from self._look_up_next(None)
            while self._looking:
                batch = self._looking[0]
                looked = yield Wait(batch.begun)
                if self._read_ahead:
                    yield from self._look_up_next(looked)
                decisions = yield Do(self._ingest.decide(looked))
                if self._state is not None:
                    claims = [(item.id, item.place) for item in batch.items if isinstance(item, Document)]
                    self._state.decided(batch.documents, batch.mark, claims, decisions)
                outcomes = yield Do(self._ingest.settle(looked, decisions))
                self._looking.popleft()
                yield from self._emit(outcomes)
                if not self._read_ahead:
                    yield from self._look_up_next(None)
        except StoreError as error:
            yield from self._give_up(error)
            raise
        yield Do(self._ingest.finish())

    def _look_up_next(self, unsettled: Looked | None) -> Generator[Any, Any, None]:
        """Begin with the next batch that was read, while the one before may not be settled yet."""
        yield from self._read_some()
        if not self._reading:
            return
        batch = self._reading[0]
        items = claim((yield Wait(batch.begun)), self._ids)
        begun = yield LookUp(self._ingest.look_up(items, unsettled))
        self._looking.append(replace(batch, items=items, begun=begun))
        self._reading.popleft()
        if self._read_ahead:
            yield from self._read_some()

    def _read_some(self) -> Generator[Any, Any, None]:
        """Read as far ahead as allowed."""
        while self._more and len(self._reading) < max(1, self._read_ahead):
            lines = yield Take()
            self._more = bool(lines)
            if lines:
                self._reading.append(_Batch(len(lines), mark(lines[-1]), (yield Read(lines))))

    def _emit(self, outcomes: Sequence[Outcome]) -> Generator[Any, Any, None]:
        yield Emit(outcomes)
        if self._ingest.stopped:
            yield Do(self._ingest.finish())
            raise self._ingest.stopped
        if self._state is not None:
            self._state.finished()

    def _give_up(self, error: StoreError) -> Generator[Any, Any, None]:
        """Everything that was read has failed; with a state it is still to be done."""
        if self._state is not None:
            return
        for batch in self._looking:
            yield Emit([failed(item, str(error)) for item in batch.items])
        for batch in self._reading:
            yield Emit([failed(item, str(error)) for item in (yield Wait(batch.begun))])

    # --- going on ------------------------------------------------------------------------------------------

    def _go_on(self, state: IngestState) -> Generator[Any, Any, None]:
        """Pass over what is done, and settle what was decided, as it was decided."""
        count, last = state.done
        if count:
            yield from self._take_again(count, last, state, keep=False)
            self._ids.fill(state.claims())
        pending = state.pending
        if count or pending:
            yield Do(ask(Refresh()))  # what was written before may not be searchable yet
        if pending is not None:
            lines = yield from self._take_again(pending.documents, pending.mark, state)
            items = claim((yield Wait((yield Read(lines)))), self._ids)
            looked = yield Wait((yield LookUp(self._ingest.look_up(items))))
            decisions = pending.decisions
            if any(document.id not in decisions for document in looked.documents):
                # They could not be used at that time.
                decisions = {**(yield Do(self._ingest.decide(looked))), **decisions}
            yield from self._emit((yield Do(self._ingest.settle(looked, decisions, again=True))))

    def _take_again(
        self, count: int, last: str, state: IngestState, *, keep: bool = True
    ) -> Generator[Any, Any, list[Line]]:
        """So many lines, of which the last is known; without ``keep`` they are only passed over."""
        kept: list[Line] = []
        lines: list[Line] = []
        while count and (taken := (yield Take(count))):
            count -= len(taken)
            lines = taken
            if keep:
                kept += lines
        if count or mark(lines[-1]) != last:
            raise InputError(
                f"the state {state.path!r} is of another input: give the same documents in the same order, or name "
                "another file"
            )
        return kept


def run_stages(
    stages: Stages, source: Source, workers: Workers, store: Store, deadline: float, *, overlap: bool
) -> Generator[Outcome, None, None]:
    """Do what the stages say; with ``overlap`` look-ups run in a thread."""
    with ExitStack() as stack:
        stack.enter_context(closing(workers))
        begin = stack.enter_context(ThreadPoolExecutor(1)).submit if overlap else _at_once
        ended = threading.Event()
        stack.callback(ended.set)  # before the thread is waited for: it may be repeating a request
        stack.enter_context(closing(stages))

        def perform(flow: Flow[Any]) -> Any:
            return run(with_retries(flow, deadline, ended.is_set), store.perform)

        request = next(stages, None)
        while request is not None:
            reply: Any = None
            try:
                match request:
                    case Take(count):
                        reply = source.take(count)
                    case Read(lines):
                        reply = workers.submit(lines)
                    case LookUp(flow):
                        reply = begin(perform, flow).result
                    case Wait(begun):
                        reply = begun()
                    case Do(flow):
                        reply = perform(flow)
                    case Emit(outcomes):
                        yield from outcomes
            except SimhashError as error:
                request = _next(stages, error=error)
            else:
                request = _next(stages, reply)
        if source.error is not None:
            raise source.error


async def arun_stages(
    stages: Stages, source: Source, workers: Workers, store: AsyncStore, deadline: float
) -> AsyncGenerator[Outcome, None]:
    """:func:`run_stages`, awaiting; look-ups run as tasks."""
    looking: set[asyncio.Task[Looked]] = set()
    try:
        request = next(stages, None)
        while request is not None:
            reply: Any = None
            try:
                match request:
                    case Take(count):
                        reply = await source.atake(count)
                    case Read(lines):
                        reply = await asyncio.to_thread(workers.submit, lines)
                    case LookUp(flow):
                        reply = asyncio.create_task(arun(with_retries(flow, deadline), store.perform, aside=True))
                        looking.add(reply)
                    case Wait(asyncio.Task() as task):
                        looking.discard(task)
                        reply = await task
                    case Wait(begun):
                        reply = await asyncio.to_thread(begun)
                    case Do(flow):
                        reply = await arun(with_retries(flow, deadline), store.perform, aside=True)
                    case Emit(outcomes):
                        for outcome in outcomes:
                            yield outcome
            except SimhashError as error:
                request = _next(stages, error=error)
            else:
                request = _next(stages, reply)
        if source.error is not None:
            raise source.error
    finally:
        stages.close()
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        workers.close()


def _next(stages: Stages, reply: Any = None, error: SimhashError | None = None) -> Request | None:
    """The next request; None at the end."""
    try:
        return stages.throw(error) if error is not None else stages.send(reply)
    except StopIteration:
        return None


def _at_once(work: Callable[..., Any], *arguments: Any) -> Future[Any]:
    future: Future[Any] = Future()
    try:
        future.set_result(work(*arguments))
    except SimhashError as error:
        future.set_exception(error)
    return future
