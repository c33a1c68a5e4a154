"""Documents and AsyncDocuments: the classes that a program uses to find near-duplicates."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, Literal

from es_simhash.client.adding import Adding, AddRequest, raise_for_duplicate
from es_simhash.client.arguments import (
    check_filter,
    check_ingest_filter,
    check_optional_filter,
    checked_deadline,
    checked_ids,
    checked_slice,
    checked_texts,
    checked_times,
)
from es_simhash.client.clients import AsyncClient, Results, SyncClient, async_iterator, async_method
from es_simhash.client.near_query import check_near, checked_fingerprint, near_query
from es_simhash.client.opening import Opening, kept_rule, new_store_has_keys
from es_simhash.client.run_check import RunCheck
from es_simhash.client.runs import Runs
from es_simhash.contract import KeysState, Scan, does_not_exist, pages
from es_simhash.deciding.duplicates import duplicates_of_heads, remove_duplicates
from es_simhash.deciding.given_links import new_link, write_links
from es_simhash.deciding.group import group, no_progress
from es_simhash.deciding.remove import remove, remove_matching
from es_simhash.deciding.similar import similar, similar_to_fingerprint, similar_to_stored
from es_simhash.deciding.undo import Saved, restore
from es_simhash.errors import InputError, NotSetUp, StoreError, count_of, saying_what_is_done, unfinished
from es_simhash.fingerprinting.normalisation import MAX_TEXT
from es_simhash.free_memory import free_memory
from es_simhash.groups.links import check_head
from es_simhash.ingest.batches import BATCH, Source, line_of
from es_simhash.ingest.run import RunOptions, backfill, ingest
from es_simhash.portal import THREADS
from es_simhash.retries import DEADLINE, Patience
from es_simhash.similarity.rule import DuplicateRule, rule_of
from es_simhash.similarity.text_fields import field_names, text_or_none
from es_simhash.stores.address import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from elasticsearch import AsyncElasticsearch, Elasticsearch
    from opensearchpy import AsyncOpenSearch, OpenSearch

    from es_simhash.client.adding import RefreshOption
    from es_simhash.client.arguments import Time
    from es_simhash.client.near_query import NearQuery
    from es_simhash.contract import Row, ScanPage, Store
    from es_simhash.deciding.duplicates import Duplicate
    from es_simhash.deciding.given_links import LinksReport, NewLink
    from es_simhash.deciding.group import GroupReport, Progress
    from es_simhash.deciding.ingest import OnDuplicate
    from es_simhash.deciding.outcome import Outcome
    from es_simhash.deciding.similar import Matches
    from es_simhash.deciding.undo import RestoreReport
    from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.groups.links import Head

_MEMBERS = 1_000
"""Members of groups that are compared with their heads at once."""


def never() -> bool:
    """Return False: nothing stops the run."""
    return False


class Documents(SyncClient):
    """Documents and their fingerprints in a store.

    >>> with Documents("sqlite:///news.db") as documents:
    ...     for outcome in documents.ingest([{"id": 1, "text": "…"}]):
    ...         print(outcome.id, outcome.outcome, outcome.duplicate_of)

    :param store: ``sqlite:///path/to.db``, ``http(s)://[user:password@]host:port[,host:port…]/index``, the
        same with ``opensearch+`` before ``http``, an :class:`elasticsearch.Elasticsearch` or an
        :class:`opensearchpy.OpenSearch` of your own, or None for ``ELASTICSEARCH_URL`` or else an SQLite file.
    :param index: the index, if ``store`` is a client.
    :param routing: read and write only the documents with this routing value (docs/how-to/tenants.md).
    :param scheme: for a store that is set up now; by default ``Scheme()``. A store that was set up keeps its Scheme:
        leave ``scheme`` out to use it. Another one raises.
    :param segmenter: ``jieba`` or ``rjieba``. They give the same words. The default is the faster one installed.
    :param fingerprinter: a Fingerprinter with tables of your own, in place of ``scheme`` and ``segmenter``; or a
        function that makes one for the store's Scheme (None if the store is not set up).
    :param deadline: seconds for which each request is retried while the store is busy or away; 0 to raise at once. If
        no host answers the very first request, it is not retried, because the address may be mistyped.
    :param client_options: for the official client: ``api_key``, ``ca_certs``, ``request_timeout``,
        ``sniff_on_node_failure``, …; for the OpenSearch client also ``http_auth``, …
    :raises InputError: if the address cannot be used; for a ``fingerprinter`` together with a ``scheme``. Nothing is
        sent before the first request.
    """

    def __init__(
        self,
        store: str | Elasticsearch | OpenSearch | Store | None = None,
        *,
        index: str | None = None,
        routing: str | None = None,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | Callable[[Scheme | None], Fingerprinter] | None = None,
        deadline: float = DEADLINE,
        **client_options: Any,
    ) -> None:
        self._patience = Patience(checked_deadline(deadline))
        super().__init__(open_store(store, index, patience=self._patience, routing=routing, **client_options))
        self._opening = Opening(self._store, scheme, segmenter, fingerprinter)
        self._adding = Adding(self._store, self._opening, self._patience.deadline)
        self._runs = Runs(self._store, self._adding)

    def _details(self) -> str:
        """Return the Scheme, if it is known: it is that of the store until something asks the store for it."""
        return "" if self._opening.known is None else f", scheme={self._opening.known.scheme.version!r}"

    # --- the store ---------------------------------------------------------------------------------------------------

    def setup(
        self,
        *,
        keys: bool | None = None,
        template: bool = False,
        id_field: str | None = None,
        rule: str | DuplicateRule | None = None,
    ) -> str:
        """Make what is missing: the index or the file, or the fields in an index that exists.

        A second call does nothing. With a rule, or with names of fields, the store keeps these: every other call uses
        them then. The first :meth:`ingest` lets the store keep what it has not got yet. After a change of the rule,
        :meth:`group` computes the links again.

        :param keys: each document gets keyword keys. With them, the rules ``copy`` and ``contained`` find their
            duplicates, whatever the distance of the fingerprints; docs/keys.md says how many. None gives keys to a
            store that is set up now, unless its rule compares no texts. Keys can be added to a store that has
            documents: then a ``backfill`` of all documents with ``again`` must add the keys to them.
        :param template: for an index that rolls over: the name becomes an alias, its first index ends in ``-000001``,
            and an index template sets up those that follow. Not for SQLite.
        :param id_field: name of the field with the id, for the store to keep.
        :param rule: a name or a DuplicateRule, and its ``text_field``, for the store to keep.
        :returns: ``created``, ``added`` (fields or keys), ``changed`` (the rule, or names of fields) or ``unchanged``.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        """
        kept = kept_rule(rule, id_field)
        gets_keys = new_store_has_keys(kept.rule or DuplicateRule()) if keys is None else keys
        scheme = self._opening.fingerprinter().scheme
        made = self._store.set_up(scheme, gets_keys, template)
        added = self._store.set_up_keys() if keys else "unchanged"  # a store that was set up keeps its keys
        changed = self._opening.change_rule(kept)
        self._opening.forget()
        if template and (added == "added" or changed):
            self._store.set_up(scheme, gets_keys, template=True)  # the template gets them, too
        if made != "unchanged":
            return made
        return "changed" if changed and added == "unchanged" else added

    def fingerprinter(self) -> Fingerprinter:
        """Return the object that makes the fingerprints.

        It is the one that the constructor was given, or one for the Scheme of the store, which is asked once.

        :raises SchemeError: if that Scheme names a table of your own. Give the constructor a ``fingerprinter`` then.
        """
        return self._opening.fingerprinter()

    def rule(self, rule: str | DuplicateRule | None = None) -> DuplicateRule:
        """Return the rule that the methods use: the one that the store keeps, or ``copy``.

        :param rule: another one, as for the method that is called next: it gets the store's text field.
        """
        return self._opening.rule(rule)

    def id_field(self) -> str:
        """Return the name of the field with the id: the one that the store keeps, or ``id``."""
        return self._opening.id_field(None)

    def keys(self) -> bool:
        """Return whether the documents of the store get keys; see :meth:`setup`.

        :raises NotSetUp: if the store was not set up.
        """
        return self._opening.keys_if_set_up() is not KeysState.NONE

    def keys_complete(self) -> bool:
        """Return whether no document lacks its keys; see :meth:`setup`.

        :raises NotSetUp: if the store was not set up.
        """
        return self._opening.keys_if_set_up() is not KeysState.INCOMPLETE

    # --- write documents ---------------------------------------------------------------------------------------------

    def add(
        self,
        document: Mapping[str, Any],
        *,
        id_field: str | None = None,
        on_duplicate: OnDuplicate = "index",
        filter: Mapping[str, Any] | None = None,
        refresh: RefreshOption = False,
        pipeline: str | None = None,
        max_text: int = MAX_TEXT,
        keep_fields: bool = False,
        rule: str | DuplicateRule | None = None,
    ) -> Outcome:
        """Store one document, and return whether it is new or what it duplicates.

        Use one object for as long as the program runs, from any number of threads or tasks. It knows what it added,
        even if search does not find it yet: of ten concurrent calls with one text, one is ``new``. Calls that come
        while another one is at work go to the store together. What another program wrote is found after the next
        refresh of the index (1 s by default).

        The outcomes, and what happens to other documents, are those of :meth:`ingest`.

        :param refresh: as in Elasticsearch: with False the call does not wait for search to find the document; with
            ``"wait_for"`` it waits for the next refresh; with True it refreshes the index, which is slow.
        :param pipeline: name of an ingest pipeline of Elasticsearch. The fingerprint is that of the text before it.
        :param rule: this, ``id_field``, ``on_duplicate``, ``filter``, ``max_text`` and ``keep_fields`` as for
            :meth:`ingest`.
        :returns: its Outcome. A document that cannot be used is ``rejected``, one that the store refuses has
            ``failed``, both with the reason.
        :raises DuplicateFound: under ``fail``, if it is a duplicate. It is not stored.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises StoreError: if the store fails for longer than the deadline. Add the document again then.
        """
        request = self._add_request(rule, id_field, on_duplicate, filter, refresh, pipeline, max_text, keep_fields)
        [outcome] = self._adding.add([line_of(document, "the document")], request)
        if on_duplicate == "fail":
            raise_for_duplicate(outcome)
        return outcome

    def add_many(
        self,
        documents: Iterable[Any],
        *,
        id_field: str | None = None,
        on_duplicate: Literal["index", "skip"] = "index",
        filter: Mapping[str, Any] | None = None,
        refresh: RefreshOption = False,
        pipeline: str | None = None,
        max_text: int = MAX_TEXT,
        keep_fields: bool = False,
        rule: str | DuplicateRule | None = None,
    ) -> list[Outcome]:
        """:meth:`add` for some documents: the outcomes are those of one call after the other, in a few requests.

        It does the work at once and returns a list, so it is the eager form of :meth:`ingest`. Use ``ingest`` for very
        many documents: it has worker processes and a checkpoint, and its memory does not grow.

        :param documents: dicts or other mappings with an id and a text, or Lines from ``json_lines``.
        :raises StoreError: if the store fails for longer than the deadline. The message says how many are stored.
        """
        if on_duplicate not in ("index", "skip"):
            raise InputError(f"on_duplicate is {on_duplicate!r}: use 'index' or 'skip', or add(), which takes 'fail'")
        source = Source(documents)
        request = self._add_request(rule, id_field, on_duplicate, filter, refresh, pipeline, max_text, keep_fields)
        outcomes: list[Outcome] = []
        with saying_what_is_done(lambda: f"the first {len(outcomes):,} documents are done: add the others again"):
            while lines := source.take():
                outcomes += self._adding.add(lines, request)
        if source.error is not None:
            raise source.error
        return outcomes

    def ingest(
        self,
        documents: Iterable[Any] | AsyncIterable[Any],
        *,
        id_field: str | None = None,
        on_duplicate: OnDuplicate = "index",
        filter: Mapping[str, Any] | None = None,
        batch_size: int = BATCH,
        max_text: int = MAX_TEXT,
        keep_fields: bool = False,
        workers: int = 0,
        checkpoint: str | None = None,
        rule: str | DuplicateRule | None = None,
    ) -> Results[Outcome]:
        """Store documents, and return for each whether it is new or what it duplicates.

        The work is done while you iterate, so iterate to the end. Memory does not grow with the number of documents.
        A document that has not changed is ``unchanged`` and not written. If only its other fields have changed, it is
        ``updated``: it is written with the new fields, and keeps its links.
        If an id occurs again, the later document replaces the earlier one.
        At the end of the iteration search finds everything that was written. (In Elasticsearch, if you stop earlier,
        after the next refresh.) An SQLite file is set up if necessary; it has keys then, if texts decide.

        Invalid arguments raise at once. Nothing is sent before the first outcome is taken.

        :param documents: dicts or other mappings with an id and a text, in any number; Lines from ``read_file`` or
            ``json_lines``; or a data frame. An AsyncDocuments also takes an async iterable. If they end in an error,
            everything before it is done, then it is raised.
        :param id_field: name of the field with the id. A dot leads into an object. By default the one that the store
            keeps, or ``id``.
        :param on_duplicate: what to do with a new document that is a duplicate: ``index`` it, linked to its original,
            ``skip`` it, or ``fail``.
        :param filter: only documents that match this filter can be the original of a new one.
        :param batch_size: the most documents in one request.
        :param max_text: the most characters of a text. A document with a longer one is rejected.
        :param keep_fields: a stored document with the same text stays as it is and is ``unchanged``, even if its other
            fields have changed.
        :param workers: processes that fingerprint while the store is asked and written to. With 0 this process does
            it, and each batch has its outcomes before the next one is read. The processes do not run your script again.
        :param checkpoint: path of a small file that records the progress; it is made if it does not exist. After an
            interruption, a crash or a long failure of the store, the same call with the same documents resumes there.
            After a crash the documents of up to one batch may be done again, and are ``unchanged`` then.
        :param rule: ``copy``, ``contained``, ``fingerprint``, ``exact`` or a :class:`DuplicateRule`. By default the
            rule that the store keeps; so is the text field, if the rule names none. The first ingest lets the store
            keep its rule and the names of the fields. A method that writes raises for another rule, or for other
            fields: :meth:`setup` changes them. A method that only reads takes another one.
        :returns: an Outcome for each document, in their order. A document that cannot be used is ``rejected`` with the
            reason. A document that the store refuses has ``failed``. Both carry the document, and stop nothing.
        :raises DuplicateFound: under ``fail``, after the outcome of the duplicate.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        :raises StoreError: if the store fails for longer than the deadline. The message says how many documents were
            read and have no outcome. With a ``checkpoint`` the next call decides them.
        """
        self._opening.checked(rule)
        options = RunOptions(
            on_duplicate=on_duplicate,
            filter=filter,
            batch_size=batch_size,
            max_text=max_text,
            keep_fields=keep_fields,
            workers=workers,
            checkpoint=checkpoint,
        )
        check_ingest_filter(filter)
        source = Source(documents, batch_size)

        def batches() -> Iterator[Sequence[Outcome]]:
            if checkpoint is not None:  # a run that is resumed knows its address
                self._patience.answered = True
            opening = self._opening
            place = opening.notice()
            chosen, name = opening.rule_to_write(rule), opening.id_field(id_field)
            resolved = opening.resolve(chosen, makes_file=True)
            check = RunCheck(opening, resolved, name, place)
            yield from ingest(
                self._store, source, resolved, name, options, deadline=self._patience.deadline, check=check
            )

        return Results(self._runs.results(batches()), "ingest")

    def backfill(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        again: bool = False,
        slice: tuple[int, int] | None = None,
        batch_size: int = BATCH,
        max_text: int = MAX_TEXT,
        workers: int = 0,
        stop: Callable[[], bool] = never,
        rule: str | DuplicateRule | None = None,
    ) -> Results[Outcome]:
        """Give fingerprints to the documents of an existing index, and return for each what it duplicates.

        Our fields are added to the mapping. If texts decide, an index that gets them now has keys too. Other fields
        are not touched. A document that another writer changes in the meantime is read again, until a pass over the
        index meets no such document. After an interruption repeat the call: documents that have a fingerprint are not
        read again. Invalid arguments raise at once.

        :param filter: only documents that match this filter get a fingerprint, and can be originals.
        :param again: read documents with a fingerprint too. A document whose text has changed gets a new one.
        :param slice: ``(i, n)``: only the i-th of n parts of the index, for several programs at once.
        :param batch_size: this, ``max_text``, ``workers`` and ``rule`` as for :meth:`ingest`. If the store does not
            keep the field with the text, the rule names it: ``DuplicateRule(text_field="body")``.
        :param stop: is called before each page. Once it returns true, no more is read, and what was read is finished.
        :returns: an Outcome for each document. A document without a text is ``rejected``.
        :raises NotSetUp: if there is no such index.
        """
        self._opening.checked(rule)
        options = RunOptions(
            filter=filter,
            batch_size=batch_size,
            max_text=max_text,
            workers=workers,
        )
        check_optional_filter(filter)
        part = checked_slice(slice)

        def batches() -> Iterator[Sequence[Outcome]]:
            place = self._opening.notice()
            if rule_of(rule).text_field is None and self._opening.stored_rule().text_field is None:
                raise InputError(
                    f"{self.name} does not know the field with the text: name it (rule=DuplicateRule(text_field=…))"
                )
            resolved = self._opening.resolve_for_backfill(self._opening.rule_to_write(rule))
            yield from backfill(
                self._store,
                resolved,
                options,
                deadline=self._patience.deadline,
                check=RunCheck(self._opening, resolved, None, place),
                again=again,
                slice=part,
                stop=stop,
            )

        return Results(self._runs.results(batches()), "backfill")

    def missing(self, *, filter: Mapping[str, Any] | None = None) -> int:
        """Return how many documents have no fingerprint. :meth:`backfill` reads these.

        :param filter: only documents that match this filter.
        :raises NotSetUp: if there is no such index or file.
        """
        check_optional_filter(filter)
        if self._store.embedded:  # otherwise a count creates the file
            self._opening.check()
        try:
            return self._store.count(Scan(None, filter, (), missing=True))
        except NotSetUp as error:
            raise does_not_exist(self._store.locate(), self.name) from error

    def remove(
        self,
        ids: Iterable[str | int],
        *,
        filter: Mapping[str, Any] | None = None,
        rule: str | DuplicateRule | None = None,
    ) -> set[str]:
        """Remove documents and the links to them. What duplicated one gets another original, or stands alone.

        :param filter: only documents that match this filter can become the other original. Use that of the ingest.
        :param rule: the rule of the ingest.
        :returns: the ids that were removed.
        """
        check_optional_filter(filter)
        checked, resolved = checked_ids(ids), self._opening.resolve(self._opening.rule_to_write(rule))
        with self._runs.change():
            return remove(self._store, checked, resolved, filter)

    def remove_matching(
        self,
        matching: Mapping[str, Any],
        *,
        filter: Mapping[str, Any] | None = None,
        everything: bool = True,
        rule: str | DuplicateRule | None = None,
    ) -> int:
        """:meth:`remove` for all documents that match a filter, with or without a fingerprint.

        :param matching: a filter: the documents to remove.
        :param filter: only documents that match this filter can become another original. Use that of the ingest.
        :param everything: all documents of the store may match. With False they raise, and nothing is removed.
        :returns: how many documents were removed.
        :raises InputError: if all documents match, and ``everything`` is False.
        """
        check_filter(matching, "matching")
        check_optional_filter(filter)
        resolved = self._opening.resolve(self._opening.rule_to_write(rule))
        with self._runs.change():
            return remove_matching(self._store, matching, resolved, filter, everything=everything)

    def group(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        head: Head = "earliest",
        progress: Progress = no_progress,
        rule: str | DuplicateRule | None = None,
    ) -> GroupReport:
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
        resolved = self._opening.resolve(self._opening.rule_to_write(rule))
        with self._runs.change():
            return group(self._store, resolved, filter, head, progress, free_memory())

    def write_links(
        self,
        links: Iterable[Any],
        *,
        filter: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
        rule: str | DuplicateRule | None = None,
    ) -> LinksReport:
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
        source = Source(links)
        resolved = self._opening.resolve(self._opening.rule_to_write(rule))
        scheme = self._opening.fingerprinter().scheme.version

        def take() -> list[NewLink]:
            lines = source.take()
            if not lines and source.error is not None:
                raise source.error
            for line in lines:
                if line.problem is not None:
                    raise InputError(f"{line.place}: {line.problem}")
            return [new_link(line.document, line.place, scheme) for line in lines]

        with self._runs.change():
            return write_links(self._store, take, resolved, filter, progress)

    def remove_duplicates(
        self,
        duplicates: Iterable[Duplicate],
        *,
        save: str | None = None,
        filter: Mapping[str, Any] | None = None,
        rule: str | DuplicateRule | None = None,
    ) -> int:
        """Remove documents that :meth:`duplicates` returned, all of them or some. The heads stay.

        Each is looked at again, and stays if it is no duplicate of its head any more. Take all duplicates before you
        call this: ``list(documents.duplicates())``. Do not run ``group`` in between.

        :param save: path of a new file for what is removed. :meth:`restore` takes it back.
        :param filter: only documents that match this filter can become another original.
        :param rule: as for :meth:`duplicates`.
        :returns: how many documents were removed.
        """
        check_optional_filter(filter)
        resolved = self._opening.resolve(self._opening.rule_to_write(rule))
        with ExitStack() as stack:
            saved = None if save is None else stack.enter_context(closing(Saved(self._store, save)))
            return remove_duplicates(self._store, duplicates, resolved, filter, saved)

    def restore(self, path: str) -> RestoreReport:
        """Store again what :meth:`remove_duplicates` removed, exactly as it was.

        Each document gets its contents, its id, its routing and its links. Documents that stayed get the links back
        that the removal changed. A document that exists again with other contents stays as it is. You can repeat it.

        :param path: of the file that ``save`` named.
        :raises InputError: if the file is of something else.
        :raises SchemeMismatch: if the store has another Scheme now.
        """
        self._opening.check()
        with self._runs.change():
            return restore(self._store, path, self._patience.deadline)

    # --- find documents ----------------------------------------------------------------------------------------------

    def similar(
        self,
        text: str | None = None,
        *,
        fingerprint: Fingerprint | int | None = None,
        time: Time | None = None,
        filter: Mapping[str, Any] | None = None,
        rule: str | DuplicateRule | None = None,
    ) -> Matches:
        """Return the stored documents that are duplicates of a text, nearest first: all of them, or an error.

        With keys, a limited number of texts is compared: 20 with a long text, up to 1,000 with a short one. If more
        documents share keys, ``complete`` of the result is False.

        :param fingerprint: in place of the text: a Fingerprint of the store's Scheme, or its unsigned value. The rule
            is ``fingerprint`` then, unless you choose ``exact``. A value has no digest, so no match is ``exact``.
        :param time: of the text, needed with ``within``: as in a document, or a datetime. Without a time zone it is
            UTC.
        :param filter: a filter that the documents must match, such as ``{"term": {"lang": "zh"}}``.
        :param rule: as for :meth:`ingest`; ``text_field`` is the text of a stored document.
        :raises InputError: if the text, the fingerprint or the filter cannot be used; if texts decide and a candidate
            has no text in the store.
        :raises IncompleteAnswer: if the store could not search everywhere.
        """
        times = None if time is None else [time]
        if fingerprint is None:
            if text is None:
                raise InputError("there is nothing to look for: give a text, or fingerprint=…, or call similar_to(id)")
            return self.similar_many([text], times=times, filter=filter, rule=rule)[0]
        check_optional_filter(filter)
        if text is not None:
            raise InputError("both a text and a fingerprint are given: give one of them")
        chosen = self._opening.rule(rule, text=False)
        checked = checked_times(times, [""], chosen)
        resolved = self._opening.resolve(chosen)
        value, digest = checked_fingerprint(fingerprint, resolved.bits)
        return similar_to_fingerprint(self._store, value, digest, resolved, filter, checked[0] if checked else None)

    def similar_many(
        self,
        texts: Iterable[str],
        *,
        times: Iterable[Time] | None = None,
        filter: Mapping[str, Any] | None = None,
        rule: str | DuplicateRule | None = None,
    ) -> list[Matches]:
        """:meth:`similar` for a batch of texts in one request: a list of matches for each.

        :param times: of the texts, one for each.
        """
        check_optional_filter(filter)
        checked, chosen = checked_texts(texts), self._opening.rule(rule)
        checked_or_none = checked_times(times, checked, chosen)
        resolved = self._opening.resolve(chosen)
        return similar(self._store, checked, resolved, filter, checked_or_none)

    def similar_to(
        self, id: str | int, *, filter: Mapping[str, Any] | None = None, rule: str | DuplicateRule | None = None
    ) -> Matches:
        """:meth:`similar` for a stored document, which is not among its own matches.

        :raises InputError: if there is no such document.
        """
        check_optional_filter(filter)
        [checked] = checked_ids([id])
        return similar_to_stored(self._store, checked, self._opening.resolve(self._opening.rule(rule)), filter)

    def near_query(self, near: str | Fingerprint | int, *, rule: str | DuplicateRule | None = None) -> NearQuery:
        """Return the clause for a search of your own in Elasticsearch, and what reads the hits.

        It is :func:`es_simhash.near_query` with the Scheme and the keys of this store. Nothing is searched.

        :param near: a text, or its Fingerprint or unsigned fingerprint.
        :param rule: as for :meth:`ingest`, without ``within``.
        """
        text = isinstance(near, str)
        check_near(near, self._opening.checked(rule, text=text))  # before the store is asked
        chosen = self._opening.rule(rule, text=text)
        check_near(near, chosen)
        resolved = self._opening.resolve(chosen)
        keys = resolved.stored_keys is not KeysState.NONE
        return near_query(near, fingerprinter=resolved.fingerprinter, keys=keys, rule=chosen)

    def are_duplicates(
        self, pairs: Iterable[tuple[str | int, str | int]], *, rule: str | DuplicateRule | None = None
    ) -> list[bool]:
        """Return for each pair of stored documents whether they are duplicates of each other.

        Stored fingerprints are compared, and stored texts if the rule has a ``confirm``. A document that does not exist
        is no duplicate. A hundred pairs at once are fine. Without pairs only the rule and the store are checked.

        :param pairs: of ids.
        :param rule: as for :meth:`ingest`.
        """
        checked = [(a, b) for a, b in map(checked_ids, pairs)]
        resolved = self._opening.resolve(self._opening.rule(rule))
        if not checked:
            return []
        rows = self._store.fetch(tuple(sorted({id for pair in checked for id in pair})), resolved.time_field)
        stored = [(rows[a], rows[b]) for a, b in checked if a in rows and b in rows]
        found = {(a.id, b.id) for a, b in resolved.duplicates(self._store, stored)}
        return [pair in found for pair in checked]

    def duplicates(
        self, *, filter: Mapping[str, Any] | None = None, rule: str | DuplicateRule | None = None
    ) -> Results[Duplicate]:
        """Return the members of groups that are duplicates of the head of their group, in no particular order.

        These are the documents that :meth:`remove_duplicates` removes. A member that only a chain of other documents
        connects with the head is not among them.

        :param filter: only members that match this filter.
        :param rule: as for :meth:`ingest`: use the rule that made the groups.
        """
        check_optional_filter(filter)
        self._opening.checked(rule)

        def batches() -> Generator[Sequence[Duplicate], None, None]:
            resolved = self._opening.resolve(self._opening.rule(rule))
            for page in self._pages(Scan(filter=filter)):
                members = [row for row in page.rows if row.group != row.id]
                for start in range(0, len(members), _MEMBERS):
                    yield duplicates_of_heads(self._store, members[start : start + _MEMBERS], resolved)

        return Results(batches())

    # --- read documents ----------------------------------------------------------------------------------------------

    def fetch(self, ids: Iterable[str | int]) -> dict[str, Row]:
        """Return the Rows of documents as last written, by id: what :meth:`export` returns.

        Ids that do not exist are left out. All ids are asked for in one request: a thousand are fine.
        """
        checked = tuple(dict.fromkeys(checked_ids(ids)))
        self._opening.check()
        return self._store.fetch(checked)

    def sources(self, ids: Iterable[str | int], *, fields: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """Return stored documents as they were written, by id. Ids that do not exist are left out.

        All ids are asked for in one request: a hundred are fine.

        :param fields: return only these fields; a dot leads into an object. None for the whole documents.
        """
        checked, names = tuple(dict.fromkeys(checked_ids(ids))), None if fields is None else tuple(fields)
        self._opening.check()
        return self._store.fetch_fields(checked, names)

    def export(self, *, filter: Mapping[str, Any] | None = None) -> Results[Row]:
        """Return the fingerprint, digest, group and original of every document, in no particular order.

        :param filter: only documents that match this filter.
        """
        check_optional_filter(filter)
        return Results(page.rows for page in self._pages(Scan(filter=filter)))

    def export_texts(
        self, *, text_field: str | Sequence[str] | None = None, filter: Mapping[str, Any] | None = None
    ) -> Results[tuple[Row, str | None]]:
        """Return the pairs (what :meth:`export` returns, text) of every document, in no particular order.

        :param text_field: name of the field with the text, or several names: the fields are joined. A dot leads into an
            object. By default those that the store keeps, or ``text``. The text of a document without one is None.
        :param filter: only documents that match this filter.
        """
        given = None if text_field is None else field_names(text_field)
        check_optional_filter(filter)

        def batches() -> Generator[Sequence[tuple[Row, str | None]], None, None]:
            fields = given or self.rule().text_fields
            for page in self._pages(Scan(filter=filter, fields=fields)):
                both = zip(page.rows, page.sources, strict=True)
                # A page with fields also has the documents that were never fingerprinted.
                yield [(row, text_or_none(source, fields)) for row, source in both if row.digest]

        return Results(batches())

    def _pages(self, scan: Scan) -> Iterator[ScanPage]:
        """Yield the pages of a Scan of everything that was written."""
        self._opening.check()
        self._store.refresh()
        count = 0
        try:
            for page in pages(self._store, scan):
                yield page
                count += len(page.rows)
        except StoreError as error:
            report = f"{count_of(count, 'document')} exported, others are missing: export again"
            raise unfinished(error, report) from error

    def _add_request(
        self,
        rule: str | DuplicateRule | None,
        id_field: str | None,
        on_duplicate: OnDuplicate,
        filter: Mapping[str, Any] | None,
        refresh: RefreshOption,
        pipeline: str | None,
        max_text: int,
        keep_fields: bool,
    ) -> AddRequest:
        check_ingest_filter(filter)
        if pipeline is not None and self._store.embedded:
            raise InputError(f"{self.name} has no ingest pipelines: leave pipeline out")
        return AddRequest(
            rule=self._opening.rule_to_write(rule),
            id_field=self._opening.id_field(id_field),
            on_duplicate=on_duplicate,
            filter=filter,
            refresh=refresh,
            pipeline=pipeline,
            max_text=max_text,
            keep_fields=keep_fields,
        )


class AsyncDocuments(AsyncClient):
    """:class:`Documents` for async programs: the same methods, awaited, or iterated by ``async for``.

    Threads run the methods, and the event loop sends the requests. With an async client, the event loop also runs short
    calls of ``similar``, ``similar_to``, ``fetch`` and ``sources``. Invalid arguments of a method that is awaited raise
    when it is awaited.

    :param store: as for Documents, or an :class:`elasticsearch.AsyncElasticsearch` or an
        :class:`opensearchpy.AsyncOpenSearch` of your own.
    :param threads: the most calls that run in threads at the same time. Further calls wait.
    """

    def __init__(
        self,
        store: str | AsyncElasticsearch | AsyncOpenSearch | Store | None = None,
        *,
        index: str | None = None,
        routing: str | None = None,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | Callable[[Scheme | None], Fingerprinter] | None = None,
        deadline: float = DEADLINE,
        threads: int = THREADS,
        **client_options: Any,
    ) -> None:
        patience = Patience(checked_deadline(deadline))
        opened = open_store(store, index, patience=patience, is_async=True, routing=routing, **client_options)
        documents = Documents(
            opened, scheme=scheme, segmenter=segmenter, fingerprinter=fingerprinter, deadline=patience.deadline
        )
        super().__init__(documents, threads)

    setup = async_method(Documents.setup)
    fingerprinter = async_method(Documents.fingerprinter)
    rule = async_method(Documents.rule)
    id_field = async_method(Documents.id_field)
    keys = async_method(Documents.keys)
    keys_complete = async_method(Documents.keys_complete)
    add = async_method(Documents.add)
    add_many = async_method(Documents.add_many)
    ingest = async_iterator(Documents.ingest)
    backfill = async_iterator(Documents.backfill)
    missing = async_method(Documents.missing)
    remove = async_method(Documents.remove)
    remove_matching = async_method(Documents.remove_matching)
    group = async_method(Documents.group)
    write_links = async_method(Documents.write_links)
    remove_duplicates = async_method(Documents.remove_duplicates)
    restore = async_method(Documents.restore)
    similar = async_method(Documents.similar, short=True)
    similar_many = async_method(Documents.similar_many)
    similar_to = async_method(Documents.similar_to, short=True)
    near_query = async_method(Documents.near_query)
    are_duplicates = async_method(Documents.are_duplicates)
    duplicates = async_iterator(Documents.duplicates)
    fetch = async_method(Documents.fetch, short=True)
    sources = async_method(Documents.sources, short=True)
    export = async_iterator(Documents.export)
    export_texts = async_iterator(Documents.export_texts)
