"""The verbs that write documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.client.add_verbs import AddVerbs
from es_simhash.client.arguments import (
    check_filter,
    check_ingest_filter,
    check_optional_filter,
    checked_ids,
    checked_slice,
)
from es_simhash.client.opening import keys_of_new_store
from es_simhash.client.runs import Runs
from es_simhash.contract import Count, Locate, Scan, ask
from es_simhash.errors import InputError, NotSetUp
from es_simhash.free_memory import free_memory
from es_simhash.groups.links import check_head
from es_simhash.ingest.batches import BATCH, Source
from es_simhash.ingest.reader import MAX_TEXT
from es_simhash.ingest.run import RunOptions, backfill, ingest
from es_simhash.verbs import setup
from es_simhash.verbs.group import group, no_progress
from es_simhash.verbs.remove import remove, remove_matching
from es_simhash.verbs.write_links import new_link, write_links

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Unpack

    from es_simhash.client.drivers import Stream
    from es_simhash.client.opening import Opening
    from es_simhash.contract import Flow, KeysState
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.groups.links import Head
    from es_simhash.ingest.checkpoint import Checkpoint
    from es_simhash.ingest.performer import Performer
    from es_simhash.similarity.rule import DuplicateRule, MatchOptions, RuleOptions
    from es_simhash.verbs.group import GroupReport, Progress
    from es_simhash.verbs.ingest import OnDuplicate
    from es_simhash.verbs.outcome import Outcome
    from es_simhash.verbs.write_links import LinksReport, NewLink


def never() -> bool:
    """Return False: nothing stops the run."""
    return False


class WritingVerbs(AddVerbs):
    """The verbs that write documents and their links.

    The parameters are those of :class:`AddVerbs`.
    """

    def __init__(self, opening: Opening, deadline: float, *, embedded: bool, async_input: bool) -> None:
        super().__init__(opening, deadline, embedded=embedded, async_input=async_input)
        self._runs = Runs(self._adding)

    def ingest(
        self,
        documents: Iterable[Any] | AsyncIterable[Any],
        *,
        id_field: str = "id",
        on_duplicate: OnDuplicate = "index",
        filter: Mapping[str, Any] | None = None,
        batch_size: int = BATCH,
        max_text: int = MAX_TEXT,
        workers: int = 0,
        checkpoint: str | Checkpoint | None = None,
        **rule: Unpack[RuleOptions],
    ) -> Stream[Outcome]:
        """Store documents, and return for each whether it is new or what it duplicates.

        The work is done while you iterate, so iterate to the end. Memory does not grow with the number of documents.
        A document whose text has not changed is ``unchanged`` and not written, even if its other fields have changed.
        At the end of the iteration search finds everything that was written. (In Elasticsearch, if you stop earlier,
        after the next refresh.) An SQLite file is set up if necessary; with ``confirm`` it has keys then.

        Invalid arguments raise at once. Nothing is sent before the first outcome is taken.

        :param documents: dicts with an id and a text, in any number; Lines from ``read_file`` or ``json_lines``; or a
            data frame. An AsyncDocuments also takes an async iterable. If they end in an error, everything before it is
            done, then it is raised.
        :param id_field: name of the field with the id. A dot leads into an object.
        :param on_duplicate: what to do with a new document that is a duplicate: ``index`` it, linked to its original,
            ``skip`` it, or ``fail``.
        :param filter: only documents that match this filter can be the original of a new one.
        :param batch_size: the most documents in one request.
        :param max_text: the most characters of a text. A document with a longer one is rejected.
        :param workers: processes that fingerprint while the store is asked and written to. With 0 this process does
            it, and each batch has its outcomes before the next one is read. The processes do not run your script again.
        :param checkpoint: a file that records the progress; it is made if it does not exist. After an interruption, a
            crash or a long failure of the store, the same call with the same documents resumes there.
        :param rule: a DuplicateRule as ``rule``, or its fields: ``max_distance``, ``confirm``, ``measure``,
            ``numbers_agree``, ``within``, ``time_field``, ``text_field``.
        :returns: an Outcome for each document, in their order. A document that cannot be used is ``rejected`` with the
            reason. A document that the store refuses has ``failed``. Both carry the document, and stop nothing.
        :raises DuplicateFound: under ``fail``, after the outcome of the duplicate.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        :raises StoreError: if the store fails for longer than the deadline. What was read before has ``failed``. With a
            ``checkpoint`` the next call decides the documents that have no outcome.
        """
        options = RunOptions(
            rule=self._rule(rule),
            id_field=id_field,
            on_duplicate=on_duplicate,
            filter=filter,
            batch_size=batch_size,
            max_text=max_text,
            workers=workers,
            checkpoint=checkpoint,
        )
        check_ingest_filter(filter)
        source = Source(documents, batch_size, async_allowed=self._async_input)

        def outcomes(performer: Performer) -> Iterator[Sequence[Outcome]]:
            if checkpoint is not None:  # a run that is resumed knows its address
                performer.patience.answered = True
            fingerprinter, keys = performer.perform(self._open_for_ingest(options.rule))
            batches = ingest(performer, source, fingerprinter, options, keys)
            yield from self._runs.results(performer, batches)

        return outcomes

    def backfill(
        self,
        text_field: str | Sequence[str],
        *,
        filter: Mapping[str, Any] | None = None,
        again: bool = False,
        slice: tuple[int, int] | None = None,
        batch_size: int = BATCH,
        max_text: int = MAX_TEXT,
        workers: int = 0,
        stop: Callable[[], bool] = never,
        **rule: Unpack[MatchOptions],
    ) -> Stream[Outcome]:
        """Give fingerprints to the documents of an existing index, and return for each what it duplicates.

        Our fields are added to the mapping. With ``confirm``, an index that gets them now has keys too. Other fields
        are not touched. A document that another writer changes in the meantime is read again, until a pass over the
        index meets no such document. After an interruption repeat the call: documents that have a fingerprint are not
        read again. Invalid arguments raise at once.

        :param text_field: name of the field with the text, or several names: the fields are joined. A dot leads into an
            object.
        :param filter: only documents that match this filter get a fingerprint, and can be originals.
        :param again: read documents with a fingerprint too. A document whose text has changed gets a new one.
        :param slice: ``(i, n)``: only the i-th of n parts of the index, for several programs at once.
        :param batch_size: this, ``max_text``, ``workers`` and ``rule`` as for :meth:`ingest`.
        :param stop: is called before each page. Once it returns true, no more is read, and what was read is finished.
        :returns: an Outcome for each document. A document without a text is ``rejected``.
        :raises NotSetUp: if there is no such index.
        """
        options = RunOptions(
            rule=replace(self._rule(rule), text_field=text_field),
            filter=filter,
            batch_size=batch_size,
            max_text=max_text,
            workers=workers,
        )
        check_optional_filter(filter)
        part = checked_slice(slice)

        def outcomes(performer: Performer) -> Iterator[Sequence[Outcome]]:
            fingerprinter, keys = performer.perform(self._open_for_backfill(options.rule))
            batches = backfill(performer, fingerprinter, options, keys, again=again, slice=part, stop=stop)
            yield from self._runs.results(performer, batches)

        return outcomes

    def _open_for_backfill(self, rule: DuplicateRule) -> Flow[tuple[Fingerprinter, KeysState]]:
        fingerprinter = yield from self._opening.fingerprinter()
        rule.bits_allowed(fingerprinter.scheme)
        yield from self._opening.check_times(rule)
        keys = keys_of_new_store(rule)
        yield from setup.set_up_existing(fingerprinter.scheme, self._opening.name, embedded=self._embedded, keys=keys)
        return fingerprinter, (yield from self._opening.keys())

    def missing(self, *, filter: Mapping[str, Any] | None = None) -> Flow[int]:
        """Return how many documents have no fingerprint. :meth:`backfill` reads these.

        :param filter: only documents that match this filter.
        :raises NotSetUp: if there is no such index or file.
        """
        check_optional_filter(filter)
        return self._missing(Count(Scan(None, filter, (), missing=True)))

    def _missing(self, count: Count) -> Flow[int]:
        if self._embedded:  # otherwise a count creates the file
            yield from self._opening.check()
        try:
            return (yield from ask(count))
        except NotSetUp as error:
            location = yield from ask(Locate())
            raise setup.does_not_exist(location, self._opening.name) from error

    def remove(
        self, ids: Iterable[str | int], *, filter: Mapping[str, Any] | None = None, **rule: Unpack[RuleOptions]
    ) -> Flow[set[str]]:
        """Remove documents and the links to them. What duplicated one gets another original, or stands alone.

        :param filter: only documents that match this filter can become the other original. Use that of the ingest.
        :param rule: the rule of the ingest: ``rule``, or its fields, as for :meth:`ingest`.
        :returns: the ids that were removed.
        """
        check_optional_filter(filter)
        return self._remove(checked_ids(ids), self._rule(rule), filter)

    def _remove(self, ids: list[str], rule: DuplicateRule, filter: Mapping[str, Any] | None) -> Flow[set[str]]:
        resolved = yield from self._opening.resolve(rule)
        return (yield from self._runs.change(remove(ids, resolved, filter)))

    def remove_matching(
        self,
        matching: Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None = None,
        everything: bool = True,
        **rule: Unpack[RuleOptions],
    ) -> Flow[int]:
        """:meth:`remove` for all documents that match a filter, with or without a fingerprint.

        :param matching: a filter: the documents to remove.
        :param filter: only documents that match this filter can become another original. Use that of the ingest.
        :param everything: all documents of the store may match. With False they raise, and nothing is removed.
        :returns: how many documents were removed.
        :raises InputError: if all documents match, and ``everything`` is False.
        """
        check_filter(matching, "matching")
        check_optional_filter(filter)
        return self._remove_matching(matching, self._rule(rule), filter, everything)

    def _remove_matching(
        self, matching: Mapping[str, Any], rule: DuplicateRule, filter: Mapping[str, Any] | None, everything: bool
    ) -> Flow[int]:
        resolved = yield from self._opening.resolve(rule)
        return (yield from self._runs.change(remove_matching(matching, resolved, filter, everything=everything)))

    def group(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        head: Head = "earliest",
        progress: Progress = no_progress,
        **rule: Unpack[RuleOptions],
    ) -> Flow[GroupReport]:
        """Recompute the groups of all documents, and the original of each.

        Documents that are duplicates of each other, directly or by a chain, get the id of one of them in
        ``simhash.group``.

        An ingest gives each new document the group of its original. This also finds what several ingests added at the
        same moment, and what lies between two groups. It writes only what changes, and nothing that another writer
        changed in the meantime. Memory: some 200 bytes a document, up to 300 with long ids; with ``confirm`` up to 450
        more for each near pair. A warning says before the reading if 300 bytes a document, without the pairs, are
        more than is free.

        :param filter: only documents that match this filter are grouped, as if there were no others.
        :param head: the member whose id names the group: the ``earliest`` that was written, the ``latest``, or the one
            whose id most members have already (``kept``), so that few documents change.
        :param progress: is called with ``read``, ``compared`` (texts that were fetched) or ``written``, and how many.
        :param rule: as for :meth:`ingest`: each member of a group is a duplicate of at least one other. With
            ``confirm``, a near-duplicate without a text in the store is an error, and nothing is written.
        """
        check_optional_filter(filter)
        check_head(head)
        return self._group(self._rule(rule), filter, head, progress)

    def _group(
        self, rule: DuplicateRule, filter: Mapping[str, Any] | None, head: Head, progress: Progress
    ) -> Flow[GroupReport]:
        resolved = yield from self._opening.resolve(rule)
        return (yield from self._runs.change(group(resolved, filter, head, progress, free_memory())))

    def write_links(
        self,
        links: Iterable[Any],
        *,
        filter: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
        **rule: Unpack[RuleOptions],
    ) -> Flow[LinksReport]:
        """Write groups and originals that another program computed, such as the Spark job.

        A document that was changed since it was exported stays as it is. Links to documents that were changed or
        removed since are repaired at the end. Memory: some 250 bytes for each head and each original of a link that is
        written, and for each document that was changed since. Links that are right already take none.

        :param links: dicts with the fields ``id``, ``group``, ``duplicate_of`` (or None), ``version``, ``digest``,
            ``group_digest`` (of the head), ``original_digest`` (of the original, or None), ``scheme`` and ``order``
            (``"written"``); Lines from ``read_file``; or a data frame. The Spark job writes them.
        :param filter: only documents that match this filter become originals in the repair.
        :param progress: is called with ``written`` and how many.
        :param rule: the rule of the job, as for :meth:`ingest`.
        :raises InputError: for a link without one of the fields. Links before it may be written.
        :raises SchemeMismatch: if the links were computed under another Scheme.
        """
        check_optional_filter(filter)
        return self._write_links(Source(links), self._rule(rule), filter, progress)

    def _write_links(
        self, source: Source, rule: DuplicateRule, filter: Mapping[str, Any] | None, progress: Progress
    ) -> Flow[LinksReport]:
        resolved = yield from self._opening.resolve(rule)
        scheme = (yield from self._opening.fingerprinter()).scheme.version

        def take() -> list[NewLink]:
            lines = source.take()
            if not lines and source.error is not None:
                raise source.error
            for line in lines:
                if line.problem is not None:
                    raise InputError(f"{line.place}: {line.problem}")
            return [new_link(line.document, line.place, scheme) for line in lines]

        return (yield from self._runs.change(write_links(take, resolved, filter, progress)))
