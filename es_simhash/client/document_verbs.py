"""The verbs on documents, each written once for the sync and the async class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from es_simhash.client.adding import Adding, AddRequest, raise_for_duplicate
from es_simhash.client.arguments import (
    check_filter,
    check_ingest_filter,
    check_optional_filter,
    checked_ids,
    checked_kinds,
    checked_slice,
    checked_texts,
    checked_times,
)
from es_simhash.client.near_query import check_near, check_no_confirm, checked_fingerprint, near_query
from es_simhash.client.runs import Runs
from es_simhash.contract import Count, Fetch, Locate, Refresh, Scan, SetUpKeys, ask
from es_simhash.errors import InputError, NotSetUp, StoreError, count_of, unfinished
from es_simhash.ingest.batches import BATCH, Source
from es_simhash.ingest.reader import MAX_TEXT
from es_simhash.ingest.run import RunOptions, backfill, ingest
from es_simhash.lines import Line
from es_simhash.search.keys import SHINGLES
from es_simhash.similarity.rule import rule_of
from es_simhash.similarity.text_fields import field_names
from es_simhash.verbs import setup
from es_simhash.verbs.doctor import doctor
from es_simhash.verbs.group import check_head, group, no_progress
from es_simhash.verbs.remove import remove, remove_matching
from es_simhash.verbs.sample import BATCH as SAMPLE_BATCH
from es_simhash.verbs.sample import DOCUMENTS, check_sample, draw, with_texts
from es_simhash.verbs.similar import similar, similar_to_fingerprint, similar_to_stored
from es_simhash.verbs.stats import stats

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Unpack

    from es_simhash.client.adding import RefreshOption
    from es_simhash.client.arguments import Time
    from es_simhash.client.drivers import Stream
    from es_simhash.client.near_query import NearQuery
    from es_simhash.client.opening import Opening
    from es_simhash.contract import Flow, KeysState, Row
    from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter
    from es_simhash.ingest.checkpoint import Checkpoint
    from es_simhash.ingest.performer import Performer
    from es_simhash.similarity.rule import DuplicateRule, MatchOptions, RuleOptions
    from es_simhash.verbs.doctor import Diagnosis
    from es_simhash.verbs.group import GroupReport, Head, Progress
    from es_simhash.verbs.ingest import OnDuplicate
    from es_simhash.verbs.outcome import Outcome
    from es_simhash.verbs.sample import SampledPair
    from es_simhash.verbs.similar import Matches
    from es_simhash.verbs.stats import Stats


def never() -> bool:
    """Return False: nothing stops the run."""
    return False


def _keys_of_new_store(rule: DuplicateRule) -> tuple[str, ...]:
    """Return the kinds of keys of a store that is set up for a run by this rule."""
    return () if rule.confirm is None else (SHINGLES,)


class DocumentVerbs:
    """The verbs of :class:`~es_simhash.Documents` and :class:`~es_simhash.AsyncDocuments`.

    Each checks its arguments when it is called, and returns a flow or a stream.

    :param deadline: seconds for which requests are retried.
    :param embedded: the store belongs to this program alone.
    :param async_input: documents may come from an async iterable.
    """

    def __init__(self, opening: Opening, deadline: float, *, embedded: bool, async_input: bool) -> None:
        self._opening = opening
        self._embedded = embedded
        self._async_input = async_input
        self._adding = Adding(self._open_for_ingest, deadline)
        self._runs = Runs(self._adding)

    @property
    def described(self) -> str:
        """The Scheme, for the repr: it is that of the store until something asks the store for it."""
        return "" if self._opening.known is None else f", scheme={self._opening.known.scheme.version!r}"

    def setup(self, *, keys: Sequence[str] = (), template: bool = False) -> Flow[str]:
        """Make what is missing: the index or the file, or the fields in an index that exists.

        A second call does nothing.

        :param keys: kinds of keyword keys that each document gets. With ``shingles``, ``confirm`` finds duplicates of
            its similarity, whatever the distance of their fingerprints; docs/keys.md says how many it finds. With
            ``blocks``, a large index in Elasticsearch is searched faster, for a ``max_distance`` of up to 3. Keys can
            be added to a store that has documents: then a ``backfill`` of all documents with ``again`` must add the
            keys to them.
        :param template: for an index that rolls over: the name becomes an alias, its first index ends in ``-000001``,
            and an index template sets up those that follow. Elasticsearch only.
        :returns: ``created``, ``added`` or ``unchanged``.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        """
        return self._setup(checked_kinds(keys), template)

    def _setup(self, kinds: tuple[str, ...], template: bool) -> Flow[str]:
        fingerprinter = yield from self._opening.fingerprinter()
        made = yield from setup.set_up(fingerprinter.scheme, kinds, template=template)
        if not kinds:
            return made
        added = yield from ask(SetUpKeys(kinds))
        self._opening.forget_keys()
        if template and added == "added":
            yield from setup.set_up(fingerprinter.scheme, kinds, template=True)  # the template gets the keys, too
        return added if made == "unchanged" else made

    def fingerprinter(self) -> Flow[Fingerprinter]:
        """Return the object that makes the fingerprints.

        It is the one that the constructor was given, or one for the Scheme of the store, which is asked once.

        :raises SchemeError: if that Scheme names a table of your own. Give the constructor a ``fingerprinter`` then.
        """
        return self._opening.fingerprinter()

    # --- the store itself ------------------------------------------------------------------------------------

    def doctor(self) -> Flow[Diagnosis]:
        """Look for everything that a load needs: the server or the file, the index, the Scheme, the keys.

        It writes nothing. A fault is a line of the Diagnosis, and no error; also a store that cannot be reached.
        """
        return doctor(self._opening.name, self._opening.fingerprinter)

    def stats(self, *, progress: Progress = no_progress) -> Flow[Stats]:
        """Return figures of what the store holds: documents, copies, groups, what is hot, bytes, filters of users.

        It reads all fingerprints. Memory: some 200 bytes a document.

        :param progress: is called with ``read`` and a number of documents or users.
        :raises NotSetUp: if the store was not set up.
        """
        return stats(self._opening.name, progress)

    # --- write -----------------------------------------------------------------------------------------------

    def add(
        self,
        document: Mapping[str, Any],
        *,
        id_field: str = "id",
        on_duplicate: OnDuplicate = "index",
        filter: Mapping[str, Any] | None = None,
        refresh: RefreshOption = False,
        pipeline: str | None = None,
        max_text: int = MAX_TEXT,
        **rule: Unpack[RuleOptions],
    ) -> Flow[Outcome]:
        """Store one document, and return whether it is new or what it duplicates.

        Use one object for as long as the program runs, from any number of threads or tasks. It knows what it added,
        even if search does not find it yet: of ten concurrent calls with one text, one is ``new``. Calls that come
        while another one is at work go to the store together. What another program wrote is found after the next
        refresh of the index (1 s by default).

        The outcomes, and what happens to other documents, are those of :meth:`ingest`.

        :param refresh: as in Elasticsearch: with False the call does not wait for search to find the document; with
            ``"wait_for"`` it waits for the next refresh; with True it refreshes the index, which is slow.
        :param pipeline: name of an ingest pipeline of Elasticsearch. The fingerprint is that of the text before it.
        :param rule: this, ``id_field``, ``on_duplicate``, ``filter`` and ``max_text`` as for :meth:`ingest`.
        :returns: its Outcome. A document that cannot be used is ``rejected``, one that the store refuses has
            ``failed``, both with the reason.
        :raises DuplicateFound: under ``fail``, if it is a duplicate. It is not stored.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises StoreError: if the store fails for longer than the deadline. Add the document again then.
        """
        request = self._add_request(
            self._rule(rule), id_field, on_duplicate, filter, refresh, pipeline=pipeline, max_text=max_text
        )
        return self._add(Line("the document", document), request)

    def _add(self, line: Line, request: AddRequest) -> Flow[Outcome]:
        [outcome] = yield from self._adding.add([line], request)
        if request.on_duplicate == "fail":
            raise_for_duplicate(outcome)
        return outcome

    def add_many(
        self,
        documents: Iterable[Any],
        *,
        id_field: str = "id",
        on_duplicate: Literal["index", "skip"] = "index",
        filter: Mapping[str, Any] | None = None,
        refresh: RefreshOption = False,
        pipeline: str | None = None,
        max_text: int = MAX_TEXT,
        **rule: Unpack[RuleOptions],
    ) -> Flow[list[Outcome]]:
        """:meth:`add` for some documents: the outcomes are those of one call after the other, in a few requests.

        It does the work at once and returns a list, so it is the eager form of :meth:`ingest`. Use ``ingest`` for very
        many documents: it has worker processes and a checkpoint, and its memory does not grow.

        :param documents: dicts with an id and a text, or Lines from ``json_lines``.
        :raises StoreError: if the store fails for longer than the deadline. The message says how many are stored.
        """
        if on_duplicate not in ("index", "skip"):
            raise InputError(f"on_duplicate is {on_duplicate!r}: use 'index' or 'skip', or add(), which takes 'fail'")
        source = Source(documents)
        if self._async_input:  # the flow runs in a thread, but the iterator is the caller's own
            source = Source(list(documents))
        request = self._add_request(
            self._rule(rule), id_field, on_duplicate, filter, refresh, pipeline=pipeline, max_text=max_text
        )
        return self._add_many(source, request)

    def _add_many(self, source: Source, request: AddRequest) -> Flow[list[Outcome]]:
        outcomes: list[Outcome] = []
        while lines := source.take():
            try:
                outcomes += yield from self._adding.add(lines, request)
            except StoreError as error:
                report = f"the first {len(outcomes):,} documents are done: add the others again"
                raise unfinished(error, report) from error
        if source.error is not None:
            raise source.error
        return outcomes

    def _add_request(
        self,
        rule: DuplicateRule,
        id_field: str,
        on_duplicate: OnDuplicate,
        filter: Mapping[str, Any] | None,
        refresh: RefreshOption,
        *,
        pipeline: str | None,
        max_text: int,
    ) -> AddRequest:
        check_ingest_filter(filter)
        if pipeline is not None and self._embedded:
            raise InputError(f"{self._opening.name} has no ingest pipelines: leave pipeline out")
        return AddRequest(
            rule=rule,
            id_field=id_field,
            on_duplicate=on_duplicate,
            filter=filter,
            refresh=refresh,
            pipeline=pipeline,
            max_text=max_text,
        )

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

    def _open_for_ingest(self, rule: DuplicateRule) -> Flow[tuple[Fingerprinter, KeysState]]:
        fingerprinter = yield from self._opening.fingerprinter()
        rule.bits_allowed(fingerprinter.scheme)  # an invalid rule raises before anything is set up
        yield from self._opening.check(fingerprinter, set_up_if_missing=self._embedded, keys=_keys_of_new_store(rule))
        yield from self._opening.check_times(rule)
        return fingerprinter, (yield from self._opening.keys_for(rule))

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
        keys = _keys_of_new_store(rule)
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
        changed in the meantime. Memory: some 700 bytes a document; with ``confirm`` up to 450 for each near pair.

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
        return (yield from self._runs.change(group(resolved, filter, head, progress)))

    # --- read ------------------------------------------------------------------------------------------------

    def similar(
        self,
        text: str | None = None,
        *,
        fingerprint: Fingerprint | int | None = None,
        time: Time | None = None,
        filter: Mapping[str, Any] | None = None,
        **rule: Unpack[RuleOptions],
    ) -> Flow[Matches]:
        """Return the stored documents that are duplicates of a text, nearest first: all of them, or an error.

        With keys, at most 20 texts are compared. If more documents share keys, ``complete`` of the result is False.

        :param fingerprint: in place of the text: a Fingerprint of the store's Scheme, or its unsigned value. A value
            has no digest, so no match is ``exact`` then.
        :param time: of the text, needed with ``within``: as in a document, or a datetime. Without a time zone it is
            UTC.
        :param filter: a filter that the documents must match, such as ``{"term": {"lang": "zh"}}``.
        :param rule: as for :meth:`ingest`; ``text_field`` is the text of a stored document, for ``confirm``.
        :raises InputError: if the text, the fingerprint or the filter cannot be used; with ``confirm``, if a
            near-duplicate has no text in the store.
        :raises IncompleteAnswer: if the store could not search everywhere.
        """
        times = None if time is None else [time]
        if fingerprint is None:
            if text is None:
                raise InputError("there is nothing to look for: give a text, or fingerprint=…")
            return self._first(self.similar_many([text], times=times, filter=filter, **rule))
        check_optional_filter(filter)
        checked_rule = self._rule(rule)
        if text is not None:
            raise InputError("both a text and a fingerprint are given: give one of them")
        check_no_confirm(checked_rule)
        checked = checked_times(times, [""], checked_rule)
        return self._similar_to_fingerprint(fingerprint, checked[0] if checked else None, checked_rule, filter)

    def _similar_to_fingerprint(
        self, fingerprint: Fingerprint | int, time: int | None, rule: DuplicateRule, filter: Mapping[str, Any] | None
    ) -> Flow[Matches]:
        resolved = yield from self._opening.resolve(rule)
        value, digest = checked_fingerprint(fingerprint, resolved.bits)
        return (yield from similar_to_fingerprint(value, digest, resolved, filter, time))

    def near_query(self, near: str | Fingerprint | int, **rule: Unpack[RuleOptions]) -> Flow[NearQuery]:
        """Return the clause for a search of your own in Elasticsearch, and what reads the hits.

        It is :func:`es_simhash.near_query` with the Scheme and the keys of this store. Nothing is searched.

        :param near: a text, or its Fingerprint or unsigned fingerprint.
        :param rule: as for :meth:`ingest`, without ``within``.
        """
        checked = self._rule(rule)
        check_near(near, checked)
        return self._near_query(near, checked)

    def _near_query(self, near: str | Fingerprint | int, rule: DuplicateRule) -> Flow[NearQuery]:
        fingerprinter = yield from self._opening.check()
        keys = yield from self._opening.keys_for(rule)
        return near_query(near, fingerprinter=fingerprinter, keys=SHINGLES in keys.kinds, rule=rule)

    def _first(self, flow: Flow[list[Matches]]) -> Flow[Matches]:
        return (yield from flow)[0]

    def similar_many(
        self,
        texts: Iterable[str],
        *,
        times: Iterable[Time] | None = None,
        filter: Mapping[str, Any] | None = None,
        **rule: Unpack[RuleOptions],
    ) -> Flow[list[Matches]]:
        """:meth:`similar` for a batch of texts in one request: a list of matches for each.

        :param times: of the texts, one for each.
        """
        check_optional_filter(filter)
        checked, checked_rule = checked_texts(texts), self._rule(rule)
        return self._similar_many(checked, checked_times(times, checked, checked_rule), checked_rule, filter)

    def _similar_many(
        self, texts: list[str], times: list[int] | None, rule: DuplicateRule, filter: Mapping[str, Any] | None
    ) -> Flow[list[Matches]]:
        resolved = yield from self._opening.resolve(rule)
        fingerprinter = yield from self._opening.fingerprinter()
        return (yield from similar(texts, fingerprinter, resolved, filter, times))

    def similar_to(
        self, id: str | int, *, filter: Mapping[str, Any] | None = None, **rule: Unpack[RuleOptions]
    ) -> Flow[Matches]:
        """:meth:`similar` for a stored document, which is not among its own matches.

        :raises InputError: if there is no such document.
        """
        check_optional_filter(filter)
        return self._similar_to(checked_ids([id])[0], self._rule(rule), filter)

    def _similar_to(self, id: str, rule: DuplicateRule, filter: Mapping[str, Any] | None) -> Flow[Matches]:
        resolved = yield from self._opening.resolve(rule)
        return (yield from similar_to_stored(id, resolved, filter))

    def fetch(self, ids: Iterable[str | int]) -> Flow[dict[str, Row]]:
        """Return the Rows of documents as last written, by id: what :meth:`export` returns.

        Ids that do not exist are left out. All ids are asked for in one request: a thousand are fine.
        """
        return self._fetch(tuple(dict.fromkeys(checked_ids(ids))))

    def _fetch(self, ids: tuple[str, ...]) -> Flow[dict[str, Row]]:
        yield from self._opening.check()
        return (yield from ask(Fetch(ids)))

    def export(self, *, filter: Mapping[str, Any] | None = None) -> Stream[Row]:
        """Return the fingerprint, digest, group and original of every document, in no particular order.

        :param filter: only documents that match this filter.
        """
        check_optional_filter(filter)

        def rows(performer: Performer) -> Iterator[Sequence[Row]]:
            performer.perform(self._opening.check())
            performer.perform(ask(Refresh()))
            scan: Scan | None = Scan(filter=filter)
            count = 0
            while scan is not None:
                try:
                    page = performer.perform(ask(scan))
                except StoreError as error:
                    report = f"{count_of(count, 'document')} exported, others are missing: export again"
                    raise unfinished(error, report) from error
                yield page.rows
                count += len(page.rows)
                scan = scan.following(page)

        return rows

    def sample_pairs(
        self,
        size: int,
        *,
        text_field: str | Sequence[str] = "text",
        filter: Mapping[str, Any] | None = None,
        seed: int = 0,
        documents: int = DOCUMENTS,
    ) -> Stream[SampledPair]:
        """Draw pairs of documents within 7 bits of each other (15 of 128), with their texts, for a person to label.

        The same number is drawn at each distance from 0 on, in order of distance. What one distance lacks, the others
        supply. Of documents with one fingerprint only one is paired with others. The same store and seed give the same
        pairs.

        It reads all fingerprints first. Memory: some 400 bytes a document, for a million documents at most. In a larger
        store a random million takes part. Texts are fetched for a hundred pairs at a time.

        :param size: the most pairs.
        :param text_field: name of the field with the text, or several names. A dot leads into an object.
        :param filter: only documents that match this filter.
        :param documents: the most documents that take part.
        :raises InputError: naming a document without a text.
        """
        fields = field_names(text_field)
        check_optional_filter(filter)
        check_sample(size, documents)

        def pairs(performer: Performer) -> Iterator[Sequence[SampledPair]]:
            fingerprinter = performer.perform(self._opening.check())
            drawn = performer.perform(draw(fingerprinter.scheme, size, seed, documents, filter))
            for start in range(0, len(drawn), SAMPLE_BATCH):
                yield performer.perform(with_texts(drawn[start : start + SAMPLE_BATCH], fields))

        return pairs

    def _rule(self, options: RuleOptions | MatchOptions) -> DuplicateRule:
        """Return the rule that keywords describe. If the Scheme is known already, it is checked against it."""
        rule = rule_of(options)
        if self._opening.known is not None:
            rule.bits_allowed(self._opening.known.scheme)
        return rule
