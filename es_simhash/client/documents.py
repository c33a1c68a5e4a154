"""The doors to documents: Documents and AsyncDocuments."""

from __future__ import annotations

from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.core.fingerprint import Fingerprinter
from es_simhash.core.scheme import DEFAULT, Scheme
from es_simhash.drive import arun, run
from es_simhash.errors import InputError
from es_simhash.flows import opening
from es_simhash.flows.group import group
from es_simhash.flows.ingest import Ingest
from es_simhash.flows.remove import remove
from es_simhash.flows.similar import similar, similar_to_stored
from es_simhash.ops import Refresh, Scan, ask
from es_simhash.reading import BATCH, MAX_TEXT, Reader, Run
from es_simhash.stores.address import open_async_store, open_store

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterable,
        AsyncIterator,
        Generator,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from elasticsearch import AsyncElasticsearch, Elasticsearch
    from typing_extensions import Self

    from es_simhash.flows.group import GroupReport
    from es_simhash.flows.ingest import OnDuplicate, Outcome
    from es_simhash.flows.similar import Match
    from es_simhash.ops import AsyncStore, Flow, Row, Store

T = TypeVar("T")

DEFAULT_MAX_DISTANCE = 3


class Documents:
    """Documents and their fingerprints in a store.

    >>> with Documents("sqlite:///news.db") as documents:
    ...     for outcome in documents.ingest([{"id": 1, "text": "…"}]):
    ...         print(outcome.id, outcome.outcome, outcome.duplicate_of)

    :param store: ``sqlite:///path/to.db``, ``http(s)://[user:password@]host:port/index``, an
        :class:`elasticsearch.Elasticsearch` of your own, or None for ``ELASTICSEARCH_URL`` or else an SQLite file.
    :param index: the index, where ``store`` is a client.
    :param scheme: must equal the one that the store was set up with.
    :param segmenter: ``jieba`` or ``rjieba``; they give the same words, the default is the faster one installed.
    :param client_options: for the Elasticsearch client: ``api_key``, ``ca_certs``, ``request_timeout``, …
    :raises InputError: if the address can't be understood. Nothing is sent before the first request.
    """

    def __init__(
        self,
        store: str | Elasticsearch | Store | None = None,
        *,
        index: str | None = None,
        scheme: Scheme = DEFAULT,
        segmenter: str | None = None,
        **client_options: Any,
    ) -> None:
        self.fingerprinter = Fingerprinter(scheme, segmenter)
        self._store = open_store(store, index, **client_options)
        self._checked = False

    @property
    def name(self) -> str:
        """The store's address, without secrets."""
        return self._store.name

    def setup(self) -> str:
        """Make what is missing: the index or the file, or the fields in an index that exists. Idempotent.

        :returns: ``created``, ``added`` or ``unchanged``.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        """
        return self._run(opening.set_up(self.fingerprinter.scheme, self._store.name))

    def ingest(
        self,
        documents: Iterable[Any],
        *,
        id_field: str = "id",
        text_field: str | Sequence[str] = "text",
        max_distance: int = DEFAULT_MAX_DISTANCE,
        on_duplicate: OnDuplicate = "index",
        batch_size: int = BATCH,
        max_text: int = MAX_TEXT,
    ) -> Iterator[Outcome]:
        """Store documents, and say of each what it is.

        Works as you take the outcomes, to the end of the iterator; memory does not grow with the number of documents.
        Everything written can be found by search once the iterator is exhausted (in Elasticsearch, else after the next
        refresh). An SQLite file is set up where needed.

        :param documents: dicts with an id and a text, of any length, or Lines as ``reading.json_lines`` gives them.
        :param text_field: name of the field with the text, or several to be joined.
        :param max_distance: how near a near-duplicate is: 0 to 7 bits.
        :param on_duplicate: what to do with a new document that duplicates another: ``index`` it with what it
            duplicates, ``skip`` it, or ``fail``.
        :returns: an Outcome for each document, in their order. A document that can't be used is ``rejected`` with
            the reason and stops nothing.
        :raises DuplicateFound: under ``fail``, after the outcome of that document.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        :raises StoreError: if the store can't go on; what has no outcome yet is not stored for sure.
        """
        ingest = Ingest(self._distance(max_distance), on_duplicate)
        batches = _run(self.fingerprinter, id_field, text_field, batch_size, max_text).batches(documents)
        return self._ingest(ingest, batches)

    def _ingest(self, ingest: Ingest, batches: Generator[Any, None, None]) -> Iterator[Outcome]:
        with closing(batches):
            self._check(set_up_if_missing=self._store.embedded)
            for batch in batches:
                yield from self._run(ingest.batch(batch))
                if ingest.stopped:
                    break
        self._run(ingest.finish())
        if ingest.stopped:
            raise ingest.stopped

    def similar(
        self, text: str, *, max_distance: int = DEFAULT_MAX_DISTANCE, filter: Mapping[str, Any] | None = None
    ) -> list[Match]:
        """Everything stored within ``max_distance`` bits of a text, nearest first. Complete, or an error.

        :param max_distance: 0 to 7.
        :param filter: a query clause that the matches must satisfy, such as ``{"term": {"lang": "zh"}}``.
        :raises InputError: if the text or the filter can't be used.
        :raises IncompleteAnswer: if the store could not look everywhere.
        """
        return self.similar_many([text], max_distance=max_distance, filter=filter)[0]

    def similar_many(
        self, texts: Iterable[str], *, max_distance: int = DEFAULT_MAX_DISTANCE, filter: Mapping[str, Any] | None = None
    ) -> list[list[Match]]:
        """:meth:`similar` for a batch of texts, in one request: a list of matches for each."""
        self._check()
        fingerprints = self.fingerprinter.fingerprints(_texts(texts))
        return self._run(similar(fingerprints, self._distance(max_distance), filter))

    def similar_to(
        self, id: str | int, *, max_distance: int = DEFAULT_MAX_DISTANCE, filter: Mapping[str, Any] | None = None
    ) -> list[Match]:
        """:meth:`similar` for a stored document, which is not among its own matches.

        :raises InputError: if there is no such document.
        """
        self._check()
        return self._run(similar_to_stored(_ids([id])[0], self._distance(max_distance), filter))

    def remove(self, ids: Iterable[str | int]) -> set[str]:
        """Remove documents.

        :returns: the ids that were there.
        """
        self._check()
        return self._run(remove(_ids(ids)))

    def group(
        self, *, max_distance: int = DEFAULT_MAX_DISTANCE, filter: Mapping[str, Any] | None = None
    ) -> GroupReport:
        """Recompute the groups of all documents.

        Documents that are near each other, directly or by a chain, get the id of one of them in ``simhash.group``.

        An ingest gives each new document the group of what it duplicates; this also finds what several ingests added at
        the same moment, and what lies between two groups. Only what changes is written, and nothing that others wrote
        meanwhile. Memory: some 700 bytes a document.

        :param max_distance: how near a member of a group is to at least one other, in bits.
        :param filter: only documents that match this clause are looked at: they are grouped as if there were no others.
        """
        self._check()
        return self._run(group(self.fingerprinter.scheme, self._distance(max_distance), filter))

    def export(self, *, filter: Mapping[str, Any] | None = None) -> Iterator[Row]:
        """The fingerprint, digest, group and duplicate of every document, in no particular order, page by page.

        :param filter: only documents that match this clause.
        """
        self._check()
        self._run(ask(Refresh()))
        page = self._run(ask(Scan(None, filter)))
        yield from (document.row for document in page.documents)
        while page.after is not None:
            page = self._run(ask(Scan(page.after, filter)))
            yield from (document.row for document in page.documents)

    def close(self) -> None:
        """Close the file, or the client if it is not yours."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> T:
        return run(flow, self._store.perform)

    def _check(self, *, set_up_if_missing: bool = False) -> None:
        if not self._checked:
            flow = opening.check(self.fingerprinter.scheme, self._store.name, set_up_if_missing=set_up_if_missing)
            self._run(flow)
            self._checked = True

    def _distance(self, max_distance: int) -> int:
        return _distance(max_distance, self.fingerprinter.scheme)


class AsyncDocuments:
    """:class:`Documents` for async programs: the same methods, awaited; ``ingest`` is an async iterator."""

    def __init__(
        self,
        store: str | AsyncElasticsearch | AsyncStore | None = None,
        *,
        index: str | None = None,
        scheme: Scheme = DEFAULT,
        segmenter: str | None = None,
        **client_options: Any,
    ) -> None:
        self.fingerprinter = Fingerprinter(scheme, segmenter)
        self._store = open_async_store(store, index, **client_options)
        self._checked = False

    @property
    def name(self) -> str:
        """The store's address, without secrets."""
        return self._store.name

    async def setup(self) -> str:
        """:meth:`Documents.setup`."""
        return await self._run(opening.set_up(self.fingerprinter.scheme, self._store.name))

    def ingest(
        self,
        documents: AsyncIterable[Any] | Iterable[Any],
        *,
        id_field: str = "id",
        text_field: str | Sequence[str] = "text",
        max_distance: int = DEFAULT_MAX_DISTANCE,
        on_duplicate: OnDuplicate = "index",
        batch_size: int = BATCH,
        max_text: int = MAX_TEXT,
    ) -> AsyncIterator[Outcome]:
        """:meth:`Documents.ingest`; the documents may come from an async iterator."""
        ingest = Ingest(self._distance(max_distance), on_duplicate)
        batches = _run(self.fingerprinter, id_field, text_field, batch_size, max_text).abatches(documents)
        return self._ingest(ingest, batches)

    async def _ingest(self, ingest: Ingest, batches: AsyncGenerator[Any, None]) -> AsyncIterator[Outcome]:
        async with aclosing(batches):
            await self._check(set_up_if_missing=self._store.embedded)
            async for batch in batches:
                for outcome in await self._run(ingest.batch(batch)):
                    yield outcome
                if ingest.stopped:
                    break
        await self._run(ingest.finish())
        if ingest.stopped:
            raise ingest.stopped

    async def similar(
        self, text: str, *, max_distance: int = DEFAULT_MAX_DISTANCE, filter: Mapping[str, Any] | None = None
    ) -> list[Match]:
        """:meth:`Documents.similar`."""
        return (await self.similar_many([text], max_distance=max_distance, filter=filter))[0]

    async def similar_many(
        self, texts: Iterable[str], *, max_distance: int = DEFAULT_MAX_DISTANCE, filter: Mapping[str, Any] | None = None
    ) -> list[list[Match]]:
        """:meth:`Documents.similar_many`."""
        await self._check()
        fingerprints = self.fingerprinter.fingerprints(_texts(texts))
        return await self._run(similar(fingerprints, self._distance(max_distance), filter))

    async def similar_to(
        self, id: str | int, *, max_distance: int = DEFAULT_MAX_DISTANCE, filter: Mapping[str, Any] | None = None
    ) -> list[Match]:
        """:meth:`Documents.similar_to`."""
        await self._check()
        return await self._run(similar_to_stored(_ids([id])[0], self._distance(max_distance), filter))

    async def remove(self, ids: Iterable[str | int]) -> set[str]:
        """:meth:`Documents.remove`."""
        await self._check()
        return await self._run(remove(_ids(ids)))

    async def group(
        self, *, max_distance: int = DEFAULT_MAX_DISTANCE, filter: Mapping[str, Any] | None = None
    ) -> GroupReport:
        """:meth:`Documents.group`."""
        await self._check()
        return await self._run(group(self.fingerprinter.scheme, self._distance(max_distance), filter))

    async def export(self, *, filter: Mapping[str, Any] | None = None) -> AsyncIterator[Row]:
        """:meth:`Documents.export`, as an async iterator."""
        await self._check()
        await self._run(ask(Refresh()))
        page = await self._run(ask(Scan(None, filter)))
        for document in page.documents:
            yield document.row
        while page.after is not None:
            page = await self._run(ask(Scan(page.after, filter)))
            for document in page.documents:
                yield document.row

    async def close(self) -> None:
        """:meth:`Documents.close`."""
        await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[T]) -> T:
        return await arun(flow, self._store.perform)

    async def _check(self, *, set_up_if_missing: bool = False) -> None:
        if not self._checked:
            flow = opening.check(self.fingerprinter.scheme, self._store.name, set_up_if_missing=set_up_if_missing)
            await self._run(flow)
            self._checked = True

    def _distance(self, max_distance: int) -> int:
        return _distance(max_distance, self.fingerprinter.scheme)


def _run(
    fingerprinter: Fingerprinter, id_field: str, text_field: str | Sequence[str], batch_size: int, max_text: int
) -> Run:
    text_fields = (text_field,) if isinstance(text_field, str) else tuple(text_field)
    return Run(Reader(fingerprinter, id_field, text_fields, max_text), batch_size)


def _ids(ids: Iterable[Any]) -> list[str]:
    if isinstance(ids, str | bytes):
        raise InputError(f"the ids are one string, {ids!r}: put it in a list")
    checked = list(ids)
    for id in checked:
        if isinstance(id, bool) or not isinstance(id, str | int) or id == "":
            raise InputError(f"the id {id!r} can't be one: use a string or a whole number")
    return list(map(str, checked))


def _texts(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str):
        raise InputError("the texts are one string: put it in a list, or use similar()")
    return texts


def _distance(max_distance: int, scheme: Scheme) -> int:
    if type(max_distance) is not int or not 0 <= max_distance <= scheme.max_distance:
        raise InputError(f"max_distance is {max_distance!r}: use 0 to {scheme.max_distance} at {scheme.bits} bits")
    return max_distance
