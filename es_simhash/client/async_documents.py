"""The door to documents for async programs: what ``documents.py`` has, awaited."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.client.arguments import checked_fields, checked_ids, checked_slice, checked_texts, near
from es_simhash.client.opening import Opening
from es_simhash.contract import Count, Fetch, Refresh, Scan, ask
from es_simhash.drive import arun, patiently
from es_simhash.ingest.batches import BATCH
from es_simhash.ingest.reader import MAX_TEXT, Reader
from es_simhash.ingest.run import Choices, Run
from es_simhash.ingest.stored_documents import apages, first_pass, never, next_pass
from es_simhash.search.filters import matches
from es_simhash.stores.address import open_async_store
from es_simhash.verbs import setup as opening
from es_simhash.verbs.group import group, no_progress
from es_simhash.verbs.ingest import DEADLINE
from es_simhash.verbs.remove import remove, remove_matching
from es_simhash.verbs.sample import BATCH as SAMPLE_BATCH
from es_simhash.verbs.sample import DOCUMENTS, draw, with_texts
from es_simhash.verbs.similar import similar, similar_to_stored

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterable,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Mapping,
        Sequence,
    )

    from elasticsearch import AsyncElasticsearch
    from typing_extensions import Self

    from es_simhash.client.arguments import MaxDistance
    from es_simhash.contract import AsyncStore, Flow, Op, Row
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.ingest.checkpoint import IngestState
    from es_simhash.similarity.measures import Measure
    from es_simhash.verbs.group import GroupReport, Head, Progress
    from es_simhash.verbs.ingest import OnDuplicate
    from es_simhash.verbs.outcome import Outcome
    from es_simhash.verbs.sample import SampledPair
    from es_simhash.verbs.similar import Match

T = TypeVar("T")


class AsyncDocuments:
    """:class:`Documents` for async programs: the same methods, awaited; ``ingest`` is an async iterator."""

    def __init__(
        self,
        store: str | AsyncElasticsearch | AsyncStore | None = None,
        *,
        index: str | None = None,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | None = None,
        **client_options: Any,
    ) -> None:
        self._store = open_async_store(store, index, **client_options)
        self._opening = Opening(self._store.name, scheme, segmenter, fingerprinter)

    @property
    def name(self) -> str:
        """The store's address, without secrets."""
        return self._store.name

    @property
    def fingerprinter(self) -> Awaitable[Fingerprinter]:
        """:attr:`Documents.fingerprinter`, to be awaited."""
        return self._run(self._opening.fingerprinter())

    async def setup(self) -> str:
        """:meth:`Documents.setup`."""
        return await self._run(opening.set_up((await self.fingerprinter).scheme, self._store.name))

    async def ingest(
        self,
        documents: AsyncIterable[Any] | Iterable[Any],
        *,
        id_field: str = "id",
        text_field: str | Sequence[str] = "text",
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        on_duplicate: OnDuplicate = "index",
        filter: Mapping[str, Any] | None = None,
        batch_size: int = BATCH,
        max_text: int = MAX_TEXT,
        workers: int = 0,
        deadline: float = DEADLINE,
        state: str | IngestState | None = None,
    ) -> AsyncIterator[Outcome]:
        """:meth:`Documents.ingest`; the documents may come from an async iterator.

        What can't be used is said when the first outcome is awaited, since the store's Scheme is asked for before.
        """
        patience = deadline if state is not None else 0.0  # else whoever mistyped an address would wait
        fingerprinter = await self._run(self._opening.fingerprinter(), patience)
        choices = Choices(
            id_field=id_field,
            text_field=text_field,
            near=near(fingerprinter, max_distance, confirm, measure, text_field),
            on_duplicate=on_duplicate,
            filter=filter,
            batch_size=batch_size,
            max_text=max_text,
            workers=workers,
            deadline=deadline,
            state=state,
        )
        if filter is not None:
            matches({}, "", filter)  # what can't be judged is said now, not at the first document
        run = Run(fingerprinter, documents, choices)
        await self._run(self._opening.check(fingerprinter, set_up_if_missing=self._store.embedded), patience)
        async with aclosing(run.aoutcomes(self._store)) as outcomes:
            async for outcome in outcomes:
                yield outcome

    async def backfill(
        self,
        text_field: str | Sequence[str],
        *,
        filter: Mapping[str, Any] | None = None,
        again: bool = False,
        slice: tuple[int, int] | None = None,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        batch_size: int = BATCH,
        max_text: int = MAX_TEXT,
        workers: int = 0,
        deadline: float = DEADLINE,
        stop: Callable[[], bool] = never,
    ) -> AsyncIterator[Outcome]:
        """:meth:`Documents.backfill`, as an async iterator; what can't be used is said as by :meth:`ingest`."""
        fingerprinter = await self.fingerprinter
        choices = Choices(
            id_field="_id",
            text_field=text_field,
            near=near(fingerprinter, max_distance, confirm, measure, text_field),
            on_duplicate="index",
            filter=filter,
            batch_size=batch_size,
            max_text=max_text,
            workers=workers,
            deadline=deadline,
        )

        async def perform(op: Op[T]) -> T:
            return await self._run(ask(op), choices.deadline)

        scan: Scan | None = first_pass(choices, checked_slice(slice), again)
        await self._run(opening.extend(fingerprinter.scheme, self._store.name, embedded=self._store.embedded))
        while scan is not None:
            await perform(Refresh())
            run = Run(fingerprinter, apages(scan, perform, stop), choices)
            async with aclosing(run.aoutcomes(self._store)) as outcomes:
                async for outcome in outcomes:
                    yield outcome
            scan = None if stop() else next_pass(scan, choices, run.ingest.conflicts)

    async def missing(self, *, filter: Mapping[str, Any] | None = None) -> int:
        """:meth:`Documents.missing`."""
        return await self._run(ask(Count(Scan(None, filter, (), missing=True))))

    async def similar(
        self,
        text: str,
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
    ) -> list[Match]:
        """:meth:`Documents.similar`."""
        return (
            await self.similar_many(
                [text],
                max_distance=max_distance,
                confirm=confirm,
                measure=measure,
                text_field=text_field,
                filter=filter,
            )
        )[0]

    async def similar_many(
        self,
        texts: Iterable[str],
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
    ) -> list[list[Match]]:
        """:meth:`Documents.similar_many`."""
        rule = await self._run(self._opening.near(max_distance, confirm, measure, text_field))
        given = list(checked_texts(texts))
        fingerprints = await asyncio.to_thread((await self.fingerprinter).fingerprints, given)
        return await self._run(
            similar(fingerprints, rule.max_distance, filter, rule.texts, given), aside=rule.texts is not None
        )

    async def similar_to(
        self,
        id: str | int,
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
    ) -> list[Match]:
        """:meth:`Documents.similar_to`."""
        rule = await self._run(self._opening.near(max_distance, confirm, measure, text_field))
        return await self._run(
            similar_to_stored(checked_ids([id])[0], rule.max_distance, filter, rule.texts), aside=rule.texts is not None
        )

    async def remove(
        self,
        ids: Iterable[str | int],
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        among: Mapping[str, Any] | None = None,
    ) -> set[str]:
        """:meth:`Documents.remove`."""
        rule = await self._run(self._opening.near(max_distance, confirm, measure, text_field))
        return await self._run(remove(checked_ids(ids), rule, among=among), aside=True)

    async def remove_matching(
        self,
        filter: Mapping[str, Any],
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        among: Mapping[str, Any] | None = None,
    ) -> int:
        """:meth:`Documents.remove_matching`."""
        rule = await self._run(self._opening.near(max_distance, confirm, measure, text_field))
        return await self._run(remove_matching(filter, rule, among), aside=True)

    async def group(
        self,
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
        head: Head = "earliest",
        progress: Progress = no_progress,
    ) -> GroupReport:
        """:meth:`Documents.group`."""
        rule = await self._run(self._opening.near(max_distance, confirm, measure, text_field))
        scheme = (await self.fingerprinter).scheme
        return await self._run(group(scheme, rule.max_distance, filter, head, progress, rule.texts), aside=True)

    async def export(self, *, filter: Mapping[str, Any] | None = None) -> AsyncIterator[Row]:
        """:meth:`Documents.export`, as an async iterator."""
        await self._run(self._opening.check())
        await self._run(ask(Refresh()))
        page = await self._run(ask(Scan(None, filter)))
        for row in page.rows:
            yield row
        while page.after is not None:
            page = await self._run(ask(Scan(page.after, filter)))
            for row in page.rows:
                yield row

    async def fetch(self, ids: Iterable[str | int]) -> dict[str, Row]:
        """:meth:`Documents.fetch`."""
        await self._run(self._opening.check())
        return await self._run(ask(Fetch(tuple(dict.fromkeys(checked_ids(ids))))))

    async def sample_pairs(
        self,
        size: int,
        *,
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
        seed: int = 0,
        documents: int = DOCUMENTS,
    ) -> AsyncIterator[SampledPair]:
        """:meth:`Documents.sample_pairs`, as an async iterator."""
        fingerprinter = await self._run(self._opening.check())
        drawn = await self._run(draw(fingerprinter.scheme, size, seed, documents, filter), aside=True)
        fields = checked_fields(text_field)
        text = Reader(fingerprinter, "_id", fields).text
        for start in range(0, len(drawn), SAMPLE_BATCH):
            for pair in await self._run(with_texts(drawn[start : start + SAMPLE_BATCH], fields, text)):
                yield pair

    async def close(self) -> None:
        """:meth:`Documents.close`."""
        await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[T], deadline: float = 0.0, *, aside: bool = False) -> T:
        return await arun(patiently(flow, deadline), self._store.perform, aside=aside)
