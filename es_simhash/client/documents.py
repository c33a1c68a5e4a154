"""The door to documents: each method is one flow, run on the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.client.arguments import checked_fields, checked_ids, checked_slice, checked_texts, near
from es_simhash.client.opening import Opening
from es_simhash.contract import Count, Fetch, Refresh, Scan, ask
from es_simhash.drive import patiently, run
from es_simhash.ingest.batches import BATCH
from es_simhash.ingest.reader import MAX_TEXT, Reader
from es_simhash.ingest.run import Choices, Run
from es_simhash.ingest.stored_documents import first_pass, never, next_pass, pages
from es_simhash.search.filters import matches
from es_simhash.stores.address import open_store
from es_simhash.verbs import setup as opening
from es_simhash.verbs.group import group, no_progress
from es_simhash.verbs.ingest import DEADLINE
from es_simhash.verbs.remove import remove, remove_matching
from es_simhash.verbs.sample import BATCH as SAMPLE_BATCH
from es_simhash.verbs.sample import DOCUMENTS, draw, with_texts
from es_simhash.verbs.similar import similar, similar_to_stored

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Generator,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from elasticsearch import Elasticsearch
    from typing_extensions import Self

    from es_simhash.client.arguments import MaxDistance
    from es_simhash.contract import Flow, Op, Row, Store
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


class Documents:
    """Documents and their fingerprints in a store.

    >>> with Documents("sqlite:///news.db") as documents:
    ...     for outcome in documents.ingest([{"id": 1, "text": "…"}]):
    ...         print(outcome.id, outcome.outcome, outcome.duplicate_of)

    :param store: ``sqlite:///path/to.db``, ``http(s)://[user:password@]host:port/index``, an
        :class:`elasticsearch.Elasticsearch` of your own, or None for ``ELASTICSEARCH_URL`` or else an SQLite file.
    :param index: the index, where ``store`` is a client.
    :param scheme: of a store that is to be set up; by default ``Scheme()``. One that was set up keeps the one it has:
        that is taken where none is given, and another is refused.
    :param segmenter: ``jieba`` or ``rjieba``; they give the same words, the default is the faster one installed.
    :param fingerprinter: one with tables of your own, in place of ``scheme`` and ``segmenter``.
    :param client_options: for the Elasticsearch client: ``api_key``, ``ca_certs``, ``request_timeout``, …
    :raises InputError: if the address can't be understood, or if ``fingerprinter`` comes with what it is in place of.
        Nothing is sent before the first request.
    """

    def __init__(
        self,
        store: str | Elasticsearch | Store | None = None,
        *,
        index: str | None = None,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | None = None,
        **client_options: Any,
    ) -> None:
        self._store = open_store(store, index, **client_options)
        self._opening = Opening(self._store.name, scheme, segmenter, fingerprinter)

    @property
    def name(self) -> str:
        """The store's address, without secrets."""
        return self._store.name

    @property
    def fingerprinter(self) -> Fingerprinter:
        """What makes the fingerprints: as it was given, or by the Scheme of the store, which is asked for it once.

        :raises SchemeError: if that Scheme names a table of your own: a ``fingerprinter`` with it must be given then.
        """
        return self._run(self._opening.fingerprinter())

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
    ) -> Generator[Outcome, None, None]:
        """Store documents, and say of each what it is.

        Works as you take the outcomes, to the end of the iterator; memory does not grow with the number of documents.
        A document whose text has not changed is ``unchanged`` and not written, even if its other fields have.
        Everything written can be found by search once the iterator is exhausted (in Elasticsearch, else after the next
        refresh). An SQLite file is set up where needed.

        What can't be used is said at the call. The store is asked for its Scheme there, where none was given and it is
        not known yet; else nothing is sent before the first outcome is taken.

        :param documents: dicts with an id and a text, of any length, or Lines as ``lines.json_lines`` gives
            them. If they end in an error, what came before it is done, and the error raised then.
        :param text_field: name of the field with the text, or several to be joined.
        :param max_distance: how near a near-duplicate is: 0 to 7 bits, or to 15 of 128; by default 3, or as many as
            there can be where there is a ``confirm``. Exact mode: ``"fingerprint"`` (equal ones), or ``"digest"`` (only
            copies).
        :param confirm: the similarity that near-duplicates have at least, from 0 to 1, such as 0.8: the texts of what
            is within ``max_distance`` are compared. Those of stored documents come from the store, out of
            ``text_field``; a document that may duplicate one without a text there has failed.
        :param measure: the similarity: ``jaccard`` of character shingles, ``cosine`` of weighed words, or
            ``levenshtein`` (for short texts).
        :param on_duplicate: what to do with a new document that duplicates another: ``index`` it with what it
            duplicates, ``skip`` it, or ``fail``.
        :param filter: a query clause: only documents that match it can be what a new one duplicates.
        :param workers: processes that fingerprint, while the store is asked and written to. With 0 all is done in this
            one, and each batch has its outcomes before the next is read. With more, a script needs its
            ``if __name__ == "__main__":``, as for all of ``multiprocessing``.
        :param deadline: seconds for which a request is repeated while the store is busy or away; the first ones, which
            look how the store was set up, only with a ``state``.
        :param state: a file, made where there is none, that says how far this ingest is: after an interruption, a
            crash or a store that was away too long, the same call with the same documents goes on from there.
        :returns: an Outcome for each document, in their order. A document that can't be used is ``rejected`` with
            the reason and stops nothing; one that the store refuses has ``failed``. Both carry the document.
        :raises DuplicateFound: under ``fail``, after the outcome of that document.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        :raises StoreError: if the store can't go on. What was read until then has ``failed``; or with a ``state``, what
            has no outcome yet is done by the next call.
        """
        patience = deadline if state is not None else 0.0  # else whoever mistyped an address would wait
        fingerprinter = self._run(self._opening.fingerprinter(), patience)
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
        return self._ingest(fingerprinter, Run(fingerprinter, documents, choices), patience)

    def _ingest(self, fingerprinter: Fingerprinter, run: Run, patience: float) -> Generator[Outcome, None, None]:
        self._run(self._opening.check(fingerprinter, set_up_if_missing=self._store.embedded), patience)
        yield from run.outcomes(self._store)

    def backfill(
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
    ) -> Generator[Outcome, None, None]:
        """Give the documents of an index that exists their fingerprints, and say of each what it is.

        Our fields are added to the mapping. Other fields are not touched, and a document that others write meanwhile is
        left to its next turn: this goes on until a pass over the index meets none. A call that was interrupted is
        repeated: what has a fingerprint is not looked at again. What can't be used is said at the call, as by
        :meth:`ingest`.

        :param text_field: name of the field with the text, or several to be joined; a dot leads into an object.
        :param filter: only documents that match this clause get a fingerprint, and can be what another duplicates.
        :param again: look at documents with a fingerprint too: those whose text has changed get another.
        :param slice: ``(i, n)``: only the i-th of n parts of the index, for several programs at once.
        :param max_distance: this, ``confirm`` and ``measure`` as for :meth:`ingest`.
        :param stop: is asked before each page: once it is true, what was read is finished, and no more is read.
        :returns: an Outcome for each document; one without text is ``rejected``.
        :raises NotSetUp: if there is no such index.
        """
        fingerprinter = self.fingerprinter
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
        return self._backfill(fingerprinter, choices, checked_slice(slice), again, stop)

    def _backfill(
        self,
        fingerprinter: Fingerprinter,
        choices: Choices,
        slice: tuple[int, int] | None,
        again: bool,
        stop: Callable[[], bool],
    ) -> Generator[Outcome, None, None]:
        def perform(op: Op[T]) -> T:
            return self._run(ask(op), choices.deadline)

        self._run(opening.extend(fingerprinter.scheme, self._store.name, embedded=self._store.embedded))
        scan: Scan | None = first_pass(choices, slice, again)
        while scan is not None:
            perform(Refresh())
            run = Run(fingerprinter, pages(scan, perform, stop), choices)
            yield from run.outcomes(self._store)
            scan = None if stop() else next_pass(scan, choices, run.ingest.conflicts)

    def missing(self, *, filter: Mapping[str, Any] | None = None) -> int:
        """How many documents have no fingerprint: what :meth:`backfill` would look at."""
        return self._run(ask(Count(Scan(None, filter, (), missing=True))))

    def similar(
        self,
        text: str,
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
    ) -> list[Match]:
        """Everything stored within ``max_distance`` bits of a text, nearest first. Complete, or an error.

        :param max_distance: 0 to 7; of 128 bits 0 to 15. By default 3, or with ``confirm`` the widest. Exact mode:
            ``"fingerprint"`` (equal ones), or ``"digest"`` (only copies).
        :param confirm: the similarity that the texts of matches have at least, from 0 to 1, such as 0.8.
        :param measure: the similarity: ``jaccard`` of character shingles, ``cosine`` of weighed words, or
            ``levenshtein`` (for short texts).
        :param text_field: where the text of a stored document is, for ``confirm``; several fields are joined.
        :param filter: a query clause that the matches must satisfy, such as ``{"term": {"lang": "zh"}}``.
        :raises InputError: if the text or the filter can't be used; naming a document that is near, if it has no text
            in the store for ``confirm``.
        :raises IncompleteAnswer: if the store could not look everywhere.
        """
        return self.similar_many(
            [text], max_distance=max_distance, confirm=confirm, measure=measure, text_field=text_field, filter=filter
        )[0]

    def similar_many(
        self,
        texts: Iterable[str],
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
    ) -> list[list[Match]]:
        """:meth:`similar` for a batch of texts, in one request: a list of matches for each."""
        rule = self._run(self._opening.near(max_distance, confirm, measure, text_field))
        given = list(checked_texts(texts))
        fingerprints = self.fingerprinter.fingerprints(given)
        return self._run(similar(fingerprints, rule.max_distance, filter, rule.texts, given))

    def similar_to(
        self,
        id: str | int,
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
    ) -> list[Match]:
        """:meth:`similar` for a stored document, which is not among its own matches.

        :raises InputError: if there is no such document.
        """
        rule = self._run(self._opening.near(max_distance, confirm, measure, text_field))
        return self._run(similar_to_stored(checked_ids([id])[0], rule.max_distance, filter, rule.texts))

    def remove(
        self,
        ids: Iterable[str | int],
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        among: Mapping[str, Any] | None = None,
    ) -> set[str]:
        """Remove documents, and the links to them: what duplicated one finds another original, or stands for itself.

        :param max_distance: how near that other original is; this and the rest as it was ingested with.
        :param among: a query clause: only documents that match it can be that original, as by the ``filter`` of an
            ingest.
        :returns: the ids that were there.
        """
        rule = self._run(self._opening.near(max_distance, confirm, measure, text_field))
        return self._run(remove(checked_ids(ids), rule, among=among))

    def remove_matching(
        self,
        filter: Mapping[str, Any],
        *,
        max_distance: MaxDistance = None,
        confirm: float | None = None,
        measure: Measure = "jaccard",
        text_field: str | Sequence[str] = "text",
        among: Mapping[str, Any] | None = None,
    ) -> int:
        """:meth:`remove` for all documents that match a clause, fingerprinted or not; returns how many were there."""
        rule = self._run(self._opening.near(max_distance, confirm, measure, text_field))
        return self._run(remove_matching(filter, rule, among))

    def group(
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
        """Recompute the groups of all documents, and what each of them duplicates.

        Documents that are near each other, directly or by a chain, get the id of one of them in ``simhash.group``.

        An ingest gives each new document the group of what it duplicates; this also finds what several ingests added at
        the same moment, and what lies between two groups. Only what changes is written, and nothing that others wrote
        meanwhile. Memory: some 700 bytes a document; with ``confirm`` up to 450 for each near pair.

        :param max_distance: how near a member of a group is to at least one other, in bits.
        :param confirm: and how similar their texts are, from 0 to 1; with ``measure`` and ``text_field`` as for
            :meth:`similar`. A near-duplicate without a text in the store is an error, and nothing is written.
        :param filter: only documents that match this clause are looked at: they are grouped as if there were no others.
        :param head: after which member a group is named: the ``earliest`` that was written, the ``latest``, or the one
            under which most members are already (``kept``), so that few documents change.
        :param progress: is called with ``read``, ``compared`` (texts that were brought) or ``written``, and how many.
        """
        rule = self._run(self._opening.near(max_distance, confirm, measure, text_field))
        return self._run(group(self.fingerprinter.scheme, rule.max_distance, filter, head, progress, rule.texts))

    def export(self, *, filter: Mapping[str, Any] | None = None) -> Iterator[Row]:
        """The fingerprint, digest, group and duplicate of every document, in no particular order, page by page.

        :param filter: only documents that match this clause.
        """
        self._run(self._opening.check())
        self._run(ask(Refresh()))
        page = self._run(ask(Scan(None, filter)))
        yield from page.rows
        while page.after is not None:
            page = self._run(ask(Scan(page.after, filter)))
            yield from page.rows

    def fetch(self, ids: Iterable[str | int]) -> dict[str, Row]:
        """What :meth:`export` gives, of these documents, as last written: by id; those that are not there are left out.

        All of them in one request: a thousand are fine.
        """
        self._run(self._opening.check())
        return self._run(ask(Fetch(tuple(dict.fromkeys(checked_ids(ids))))))

    def sample_pairs(
        self,
        size: int,
        *,
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
        seed: int = 0,
        documents: int = DOCUMENTS,
    ) -> Iterator[SampledPair]:
        """Draw pairs of documents within 7 bits of each other, or 15 of 128, with their texts, for a person to label.

        As many are drawn at each distance from 0 on, by distance; what one lacks the others make up for. Of documents
        with one and the same fingerprint only one is paired with others. The same store and seed give the same pairs.

        Looks at all fingerprints first. Memory: some 400 bytes a document, for a million of them at most; of a larger
        store a random million takes part. The texts are brought a hundred pairs at a time.

        :param size: how many pairs there are at most.
        :param text_field: name of the field with the text, or several to be joined; a dot leads into an object.
        :param filter: only documents that match this clause.
        :param documents: how many documents take part at most.
        :raises InputError: naming a document that has no text in the field.
        """
        fingerprinter = self._run(self._opening.check())
        drawn = self._run(draw(fingerprinter.scheme, size, seed, documents, filter))
        fields = checked_fields(text_field)
        text = Reader(fingerprinter, "_id", fields).text
        for start in range(0, len(drawn), SAMPLE_BATCH):
            yield from self._run(with_texts(drawn[start : start + SAMPLE_BATCH], fields, text))

    def close(self) -> None:
        """Close the file, or the client if it is not yours."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _run(self, flow: Flow[T], deadline: float = 0.0) -> T:
        return run(patiently(flow, deadline), self._store.perform)
