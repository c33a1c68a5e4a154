"""A run of documents through the pipeline: what the sync and the async door put together alike."""

from __future__ import annotations

from contextlib import ExitStack, aclosing, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.ingest.batches import Source
from es_simhash.ingest.checkpoint import IngestState
from es_simhash.ingest.ids import FirstPlaces
from es_simhash.ingest.pipeline import Pipeline, arun_stages, run_stages
from es_simhash.ingest.reader import Reader, field_names
from es_simhash.ingest.workers import Workers
from es_simhash.verbs.ingest import Ingest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from es_simhash.contract import AsyncStore, Store
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.verbs.ingest import OnDuplicate
    from es_simhash.verbs.neighbours import Near
    from es_simhash.verbs.outcome import Outcome


@dataclass(frozen=True, kw_only=True)
class Choices:
    """How documents are read and what is done with them; the words of ``Documents.ingest``."""

    id_field: str
    text_field: str | Sequence[str]
    near: Near
    on_duplicate: OnDuplicate
    filter: Mapping[str, Any] | None
    batch_size: int
    max_text: int
    workers: int
    deadline: float
    state: str | IngestState | None = None

    @property
    def text_fields(self) -> tuple[str, ...]:
        return field_names(self.text_field)


def read_ahead(workers: int) -> int:
    """How many batches are fingerprinted ahead: enough that no worker waits for its next."""
    return workers + 1 if workers else 0


class Run:
    """One run; what can't be used is said before anything is done.

    :raises InputError: naming the choice.
    """

    def __init__(self, fingerprinter: Fingerprinter, documents: Any, choices: Choices) -> None:
        if type(choices.workers) is not int or choices.workers < 0:
            raise InputError(f"workers is {choices.workers!r}: use a whole number from 0")
        if choices.state is not None and choices.on_duplicate == "fail":
            raise InputError("a run that fails at a duplicate has no state to go on from: use index or skip")
        self.ingest = Ingest(choices.near, choices.on_duplicate, choices.filter, choices.deadline)
        self._source = Source(documents, choices.batch_size)
        reader = Reader(fingerprinter, choices.id_field, choices.text_fields, choices.max_text)
        self._workers = Workers(reader, choices.workers)
        self._choices = choices
        self._scheme = fingerprinter.scheme

    def outcomes(self, store: Store) -> Iterator[Outcome]:
        """The outcomes, as the work is done."""
        with ExitStack() as stack:
            stages = self._pipeline(stack, store.name).stages()
            overlap = self._choices.workers > 0
            done = run_stages(stages, self._source, self._workers, store, self._choices.deadline, overlap=overlap)
            yield from stack.enter_context(closing(done))

    async def aoutcomes(self, store: AsyncStore) -> AsyncGenerator[Outcome, None]:
        """:meth:`outcomes`, awaited."""
        with ExitStack() as stack:
            stages = self._pipeline(stack, store.name).stages()
            done = arun_stages(stages, self._source, self._workers, store, self._choices.deadline)
            async with aclosing(done):
                async for outcome in done:
                    yield outcome

    def _pipeline(self, stack: ExitStack, name: str) -> Pipeline:
        ids = stack.enter_context(FirstPlaces())
        return Pipeline(self.ingest, ids, read_ahead(self._choices.workers), self._state(stack, name))

    def _state(self, stack: ExitStack, name: str) -> IngestState | None:
        choices = self._choices
        state = choices.state
        if isinstance(state, str):
            state = stack.enter_context(closing(IngestState(state)))
        if state is not None:
            texts = choices.near.texts
            confirm = {"confirm": texts.confirm.least, "measure": texts.confirm.measure} if texts else {}
            state.begin(
                {
                    "store": name,
                    "scheme": self._scheme.version,
                    "id_field": choices.id_field,
                    "text_field": list(choices.text_fields),
                    "max_distance": choices.near.max_distance,
                    "on_duplicate": choices.on_duplicate,
                    "filter": choices.filter,
                    "max_text": choices.max_text,
                    **confirm,
                }
            )
        return state
