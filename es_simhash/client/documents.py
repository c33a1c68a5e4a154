"""Documents: the class that a program uses to find near-duplicates."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from es_simhash.client.adding import Adding, AddRequest, raise_for_duplicate
from es_simhash.client.arguments import (
    check_filter,
    check_ingest_filter,
    check_optional_filter,
    checked_deadline,
    checked_fields,
    checked_ids,
    checked_texts,
    checked_times,
)
from es_simhash.client.near_query import check_near, checked_fingerprint, near_query
from es_simhash.client.run_check import RunCheck
from es_simhash.client.runs import Runs
from es_simhash.client.store_info import StoreReader, new_store_has_keys
from es_simhash.contract import KeysState, Scan, pages
from es_simhash.deciding.duplicates import duplicates_of_heads, remove_duplicates
from es_simhash.deciding.group import group, no_progress
from es_simhash.deciding.remove import remove, remove_matching
from es_simhash.deciding.saved import Saved
from es_simhash.deciding.similar import similar, similar_to_fingerprint, similar_to_stored
from es_simhash.errors import InputError, StoreError, count_of, saying_what_is_done, unfinished
from es_simhash.free_memory import free_memory
from es_simhash.ingest.batches import BATCH, Source, line_of
from es_simhash.ingest.run import RunOptions, backfill, ingest
from es_simhash.retries import DEADLINE, Patience
from es_simhash.similarity.rule import DuplicateRule, rule_of
from es_simhash.similarity.text_fields import text_or_none
from es_simhash.stores.address import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from elasticsearch import Elasticsearch
    from opensearchpy import OpenSearch
    from typing_extensions import Self

    from es_simhash.client.adding import RefreshOption
    from es_simhash.client.arguments import Time
    from es_simhash.client.near_query import NearQuery
    from es_simhash.client.store_info import StoreInfo
    from es_simhash.contract import Row, ScanPage, Store
    from es_simhash.deciding.duplicates import Duplicate
    from es_simhash.deciding.group import GroupReport, Progress
    from es_simhash.deciding.ingest import OnDuplicate
    from es_simhash.deciding.outcome import Outcome
    from es_simhash.deciding.similar import Matches
    from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter
    from es_simhash.fingerprinting.scheme import Scheme

T = TypeVar("T")

_MEMBERS = 1_000
"""Members of groups that are compared with their heads at once."""


def never() -> bool:
    """Return False: nothing stops the run."""
    return False


class Documents:
    """Documents and their fingerprints in a store.

    >>> with Documents("sqlite:///news.db") as documents:
    ...     for outcome in documents.ingest([{"id": 1, "text": "…"}]):
    ...         print(outcome.id, outcome.outcome, outcome.duplicate_of)

    :param store: ``sqlite:///path/to.db``, ``http(s)://[user:password@]host:port[,host:port…]/index``, the
        same with ``opensearch+`` before ``http``, an :class:`elasticsearch.Elasticsearch` or an
        :class:`opensearchpy.OpenSearch` of your own, or None for ``ELASTICSEARCH_URL`` or else an SQLite file.
    :param index: the index, if ``store`` is a client.
    :param scheme: for a store that is set up now; by default ``Scheme()``. A store that was set up keeps its Scheme:
        leave ``scheme`` out to use it. Another one raises.
    :param segmenter: ``jieba`` or ``rjieba``. They give the same words. The default is the faster one installed.
    :param fingerprinter: a Fingerprinter with tables of your own, in place of ``scheme`` and ``segmenter``.
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
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | None = None,
        deadline: float = DEADLINE,
        **client_options: Any,
    ) -> None:
        self._patience = Patience(checked_deadline(deadline))
        self._store = open_store(store, index, patience=self._patience, **client_options)
        self._reader = StoreReader(self._store, scheme, segmenter, fingerprinter)
        self._adding = Adding(self._store, self._reader, self._patience.deadline)
        self._runs = Runs(self._store, self._adding)
        self._batch = BATCH

    @property
    def name(self) -> str:
        """The store's address, without credentials."""
        return self._store.name

    @property
    def store(self) -> Store:
        """The store itself, for what this class has no method for."""
        return self._store

    def __repr__(self) -> str:
        scheme = self._reader.given_scheme()
        return f"Documents({self.name!r}{'' if scheme is None else f', scheme={scheme.version!r}'})"

    def close(self) -> None:
        """Close the file, or the client unless it is yours."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- the store ---------------------------------------------------------------------------------------------------

    def setup(
        self, rule: str | DuplicateRule | None = None, *, keys: bool | None = None, id_field: str | None = None
    ) -> str:
        """Make what is missing: the index or the file, or the fields in an index that exists.

        A second call does nothing. With a rule, or with names of fields, the store keeps these: every other call uses
        them then. The first :meth:`ingest` lets the store keep what it has not got yet. After a change of the rule,
        :meth:`group` computes the links again.

        :param rule: a name or a DuplicateRule, and its ``text_field``, for the store to keep.
        :param keys: each document gets keyword keys. With them, the rules ``copy`` and ``contained`` find their
            duplicates, whatever the distance of the fingerprints; docs/keys.md says how many. None gives keys to a
            store that is set up now, unless its rule compares no texts. A store that was set up stays as it is.
        :param id_field: name of the field with the id, for the store to keep.
        :returns: ``created``, ``added`` (the fields), ``changed`` (the rule, or names of fields) or ``unchanged``.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        """
        gets_keys = new_store_has_keys(rule_of(rule)) if keys is None else keys
        fingerprinter = self._reader.fingerprinter(self._store.describe())
        made = self._store.set_up(fingerprinter.scheme, gets_keys)
        changed = self._reader.change(rule, id_field)
        self._reader.forget()
        return "changed" if changed and made == "unchanged" else made

    def info(self) -> StoreInfo:
        """Return how the store was set up: its Scheme, its rule, its keys, and the object that makes fingerprints.

        What the store said is known for ten seconds.

        :raises SchemeMismatch: if the store was set up with another Scheme.
        :raises InputError: if its Scheme names a table of your own. Give the constructor a ``fingerprinter`` then.
        """
        return self._reader.info()

    # --- write documents ---------------------------------------------------------------------------------------------

    def add(
        self,
        document: Mapping[str, Any],
        *,
        id_field: str | None = None,
        on_duplicate: OnDuplicate = "index",
        filter: Mapping[str, Any] | None = None,
        refresh: RefreshOption = False,
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
        :param rule: this, ``id_field``, ``on_duplicate`` and ``filter`` as for :meth:`ingest`.
        :returns: its Outcome. A document that cannot be used is ``rejected``, one that the store refuses has
            ``failed``, both with the reason.
        :raises DuplicateFound: under ``fail``, if it is a duplicate. It is not stored.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises StoreError: if the store fails for longer than the deadline. Add the document again then.
        """
        request = self._add_request(rule, id_field, on_duplicate, filter, refresh)
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
        rule: str | DuplicateRule | None = None,
    ) -> list[Outcome]:
        """:meth:`add` for some documents: the outcomes are those of one call after the other, in a few requests.

        It does the work at once and returns a list, so it is the eager form of :meth:`ingest`. Use ``ingest`` for very
        many documents: it has worker processes and a checkpoint, and its memory does not grow.

        :param documents: dicts or other mappings with an id and a text, or Lines.
        :raises StoreError: if the store fails for longer than the deadline. The message says how many are stored.
        """
        if on_duplicate not in ("index", "skip"):
            raise InputError(f"on_duplicate is {on_duplicate!r}: use 'index' or 'skip', or add(), which takes 'fail'")
        source = Source(documents)
        request = self._add_request(rule, id_field, on_duplicate, filter, refresh)
        outcomes: list[Outcome] = []
        with saying_what_is_done(lambda: f"the first {len(outcomes):,} documents are done: add the others again"):
            while lines := source.take():
                outcomes += self._adding.add(lines, request)
        if source.error is not None:
            raise source.error
        return outcomes

    def ingest(
        self,
        documents: Iterable[Any],
        *,
        id_field: str | None = None,
        on_duplicate: OnDuplicate = "index",
        filter: Mapping[str, Any] | None = None,
        workers: int = 0,
        checkpoint: str | None = None,
        rule: str | DuplicateRule | None = None,
    ) -> Generator[Outcome, None, None]:
        """Store documents, and return for each whether it is new or what it duplicates.

        The work is done while you iterate, so iterate to the end. Memory does not grow with the number of documents.
        A document that has not changed is ``unchanged`` and not written. If only its other fields have changed, it is
        ``updated``: it is written with the new fields, and keeps its links.
        If an id occurs again, the later document replaces the earlier one.
        At the end of the iteration search finds everything that was written. (In Elasticsearch, if you stop earlier,
        after the next refresh.) An SQLite file is set up if necessary; it has keys then, if texts decide.

        Invalid arguments raise at once. Nothing is sent before the first outcome is taken.

        :param documents: dicts or other mappings with an id and a text, in any number; Lines from
            ``read_file``; or a data frame. If they end in an error, everything before it is done, then it is raised.
        :param id_field: name of the field with the id. A dot leads into an object. By default the one that the store
            keeps, or ``id``.
        :param on_duplicate: what to do with a new document that is a duplicate: ``index`` it, linked to its original,
            ``skip`` it, or ``fail``.
        :param filter: only documents that match this filter can be the original of a new one.
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
        self._reader.checked(rule)
        options = RunOptions(on_duplicate=on_duplicate, filter=filter, workers=workers, checkpoint=checkpoint)
        check_ingest_filter(filter)
        source = Source(documents, self._batch)

        def batches() -> Iterator[Sequence[Outcome]]:
            if checkpoint is not None:  # a run that is resumed knows its address
                self._patience.answered = True
            chosen, name = self._reader.rule_to_write(rule), self._reader.id_field(id_field)
            resolved = self._reader.resolve(chosen, makes_file=True)
            check = RunCheck(self._reader, resolved, name, self.name)
            yield from ingest(
                self._store, source, resolved, name, options, deadline=self._patience.deadline, check=check
            )

        return _items(self._runs.results(batches()))

    def backfill(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        again: bool = False,
        workers: int = 0,
        stop: Callable[[], bool] = never,
        rule: str | DuplicateRule | None = None,
    ) -> Generator[Outcome, None, None]:
        """Give fingerprints to the documents of an existing index, and return for each what it duplicates.

        Our fields are added to the mapping. If texts decide, an index that gets them now has keys too. Other fields
        are not touched. A document that another writer changes in the meantime is read again, until a pass over the
        index meets no such document. After an interruption repeat the call: documents that have a fingerprint are not
        read again. Invalid arguments raise at once.

        :param filter: only documents that match this filter get a fingerprint, and can be originals.
        :param again: read documents with a fingerprint too. A document whose text has changed gets a new one.
        :param workers: this and ``rule`` as for :meth:`ingest`. If the store does not keep the field with the text, the
            rule names it: ``DuplicateRule(text_field="body")``.
        :param stop: is called before each page. Once it returns true, no more is read, and what was read is finished.
        :returns: an Outcome for each document. A document without a text is ``rejected``.
        :raises NotSetUp: if there is no such index.
        """
        self._reader.checked(rule)
        options = RunOptions(filter=filter, batch_size=self._batch, workers=workers)
        check_optional_filter(filter)

        def batches() -> Iterator[Sequence[Outcome]]:
            if rule_of(rule).text_field is None and self._reader.read().kept.text_field is None:
                raise InputError(
                    f"{self.name} does not know the field with the text: name it (rule=DuplicateRule(text_field=…))"
                )
            resolved = self._reader.resolve_for_backfill(self._reader.rule_to_write(rule))
            yield from backfill(
                self._store,
                resolved,
                options,
                deadline=self._patience.deadline,
                check=RunCheck(self._reader, resolved, None, self.name),
                again=again,
                stop=stop,
            )

        return _items(self._runs.results(batches()))

    def remove(
        self,
        ids: Iterable[str | int] | None = None,
        *,
        matching: Mapping[str, Any] | None = None,
        everything: bool = True,
        save: str | None = None,
        filter: Mapping[str, Any] | None = None,
        rule: str | DuplicateRule | None = None,
    ) -> set[str]:
        """Remove documents and the links to them. What duplicated one gets another original, or stands alone.

        :param matching: in place of ids, a filter: all documents that match it, with or without a fingerprint.
        :param everything: all documents of the store may match. With False they raise, and nothing is removed.
        :param save: path of a new file for what is removed, one document a line. :meth:`ingest` takes it back.
        :param filter: only documents that match this filter can become the other original. Use that of the ingest.
        :param rule: the rule of the ingest.
        :returns: the ids that were removed.
        :raises InputError: if the file exists; if all documents match, and ``everything`` is False.
        """
        if (ids is None) == (matching is None):
            raise InputError("give either ids or matching=…, a filter")
        check_optional_filter(filter)
        checked = [] if ids is None else checked_ids(ids)
        if matching is not None:
            check_filter(matching, "matching")
        resolved = self._reader.resolve(self._reader.rule_to_write(rule))
        with ExitStack() as stack:
            saved = self._saved(save, stack)
            stack.enter_context(self._runs.change())
            if matching is None:
                return remove(self._store, checked, resolved, filter, saved=saved)
            return remove_matching(self._store, matching, resolved, filter, everything=everything, saved=saved)

    def _saved(self, path: str | None, stack: ExitStack) -> Saved | None:
        if path is None:
            return None
        return stack.enter_context(closing(Saved(self._store, path, self._reader.id_field(None))))

    def group(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
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
        :param progress: is called with ``read``, ``compared`` (texts that were fetched) or ``written``, and how many.
        :param rule: as for :meth:`ingest`: each member of a group is a duplicate of at least one other. With
            ``confirm``, a near-duplicate without a text in the store is an error, and nothing is written.
        """
        check_optional_filter(filter)
        resolved = self._reader.resolve(self._reader.rule_to_write(rule))
        with self._runs.change():
            return group(self._store, resolved, filter, "earliest", progress, free_memory())

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

        :param save: path of a new file for what is removed, as for :meth:`remove`.
        :param filter: only documents that match this filter can become another original.
        :param rule: as for :meth:`duplicates`.
        :returns: how many documents were removed.
        """
        check_optional_filter(filter)
        resolved = self._reader.resolve(self._reader.rule_to_write(rule))
        with ExitStack() as stack:
            saved = self._saved(save, stack)
            stack.enter_context(self._runs.change())
            return remove_duplicates(self._store, duplicates, resolved, filter, saved)

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
        :raises StoreError: if the store could not search everywhere.
        """
        times = None if time is None else [time]
        if fingerprint is None:
            if text is None:
                raise InputError("there is nothing to look for: give a text, or fingerprint=…, or call similar_to(id)")
            return self.similar_many([text], times=times, filter=filter, rule=rule)[0]
        check_optional_filter(filter)
        if text is not None:
            raise InputError("both a text and a fingerprint are given: give one of them")
        chosen = self._reader.rule(rule, text=False)
        checked = checked_times(times, [""], chosen)
        resolved = self._reader.resolve(chosen)
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
        checked, chosen = checked_texts(texts), self._reader.rule(rule)
        checked_or_none = checked_times(times, checked, chosen)
        resolved = self._reader.resolve(chosen)
        return similar(self._store, checked, resolved, filter, checked_or_none)

    def similar_to(
        self, id: str | int, *, filter: Mapping[str, Any] | None = None, rule: str | DuplicateRule | None = None
    ) -> Matches:
        """:meth:`similar` for a stored document, which is not among its own matches.

        :raises InputError: if there is no such document.
        """
        check_optional_filter(filter)
        [checked] = checked_ids([id])
        return similar_to_stored(self._store, checked, self._reader.resolve(self._reader.rule(rule)), filter)

    def near_query(self, near: str | Fingerprint | int, *, rule: str | DuplicateRule | None = None) -> NearQuery:
        """Return the clause for a search of your own in Elasticsearch, and what reads the hits.

        It is :func:`es_simhash.near_query` with the Scheme and the keys of this store. Nothing is searched.

        :param near: a text, or its Fingerprint or unsigned fingerprint.
        :param rule: as for :meth:`ingest`, without ``within``.
        """
        text = isinstance(near, str)
        check_near(near, self._reader.checked(rule, text=text))  # before the store is asked
        chosen = self._reader.rule(rule, text=text)
        check_near(near, chosen)
        resolved = self._reader.resolve(chosen)
        keys = resolved.stored_keys is not KeysState.NONE
        return near_query(near, fingerprinter=resolved.fingerprinter, keys=keys, rule=chosen)

    def duplicates(
        self, *, filter: Mapping[str, Any] | None = None, rule: str | DuplicateRule | None = None
    ) -> Generator[Duplicate, None, None]:
        """Return the members of groups that are duplicates of the head of their group, in no particular order.

        These are the documents that :meth:`remove_duplicates` removes. A member that only a chain of other documents
        connects with the head is not among them.

        :param filter: only members that match this filter.
        :param rule: as for :meth:`ingest`: use the rule that made the groups.
        """
        check_optional_filter(filter)
        self._reader.checked(rule)

        def batches() -> Generator[Sequence[Duplicate], None, None]:
            resolved = self._reader.resolve(self._reader.rule(rule))
            for page in self._pages(Scan(filter=filter)):
                members = [row for row in page.rows if row.group != row.id]
                for start in range(0, len(members), _MEMBERS):
                    yield duplicates_of_heads(self._store, members[start : start + _MEMBERS], resolved)

        return _items(batches())

    # --- read documents ----------------------------------------------------------------------------------------------

    @overload
    def fetch(self, ids: Iterable[str | int]) -> dict[str, Row]: ...

    @overload
    def fetch(self, ids: Iterable[str | int], *, fields: Sequence[str]) -> dict[str, dict[str, Any]]: ...

    def fetch(
        self, ids: Iterable[str | int], *, fields: Sequence[str] | None = None
    ) -> dict[str, Row] | dict[str, dict[str, Any]]:
        """Return the Rows of documents as last written, by id: what :meth:`export` returns.

        Ids that do not exist are left out. All ids are asked for in one request: a thousand are fine.

        :param fields: return these fields of the documents in place of the Rows, for some hundred ids; a dot leads into
            an object. ``"*"`` for the whole documents, as they were written.
        """
        checked, names = tuple(dict.fromkeys(checked_ids(ids))), checked_fields(fields)
        self._reader.check()
        if fields is None:
            return self._store.fetch(checked)
        return self._store.fetch_fields(checked, names)

    @overload
    def export(
        self, *, filter: Mapping[str, Any] | None = None, text: Literal[False] = False
    ) -> Generator[Row, None, None]: ...

    @overload
    def export(
        self, *, filter: Mapping[str, Any] | None = None, text: Literal[True]
    ) -> Generator[tuple[Row, str | None], None, None]: ...

    def export(
        self, *, filter: Mapping[str, Any] | None = None, text: bool = False
    ) -> Generator[Row, None, None] | Generator[tuple[Row, str | None], None, None]:
        """Return the fingerprint, digest, group and original of every document, in no particular order.

        :param filter: only documents that match this filter.
        :param text: return pairs (Row, text). The text is that of the fields that the store keeps; None if a document
            has none.
        """
        check_optional_filter(filter)
        return _items(self._texts(filter)) if text else _items(page.rows for page in self._pages(Scan(filter=filter)))

    def _texts(self, filter: Mapping[str, Any] | None) -> Iterator[Sequence[tuple[Row, str | None]]]:
        fields = self._reader.rule(None).text_fields
        for page in self._pages(Scan(filter=filter, fields=fields)):
            both = zip(page.rows, page.sources, strict=True)
            # A page with fields also has the documents that were never fingerprinted.
            yield [(row, text_or_none(source, fields)) for row, source in both if row.digest]

    def _pages(self, scan: Scan) -> Iterator[ScanPage]:
        """Yield the pages of a Scan of everything that was written."""
        self._reader.check()
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
    ) -> AddRequest:
        check_ingest_filter(filter)
        return AddRequest(
            rule=self._reader.rule_to_write(rule),
            id_field=self._reader.id_field(id_field),
            on_duplicate=on_duplicate,
            filter=filter,
            refresh=refresh,
        )


def _items(batches: Iterator[Sequence[T]]) -> Generator[T, None, None]:
    """Yield the items of batches. The work is done while they are taken."""
    for batch in batches:
        yield from batch
