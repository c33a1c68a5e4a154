"""Documents: the class that a program uses to find near-duplicates."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, overload

from es_simhash.client.arguments import (
    checked_deadline,
    checked_fields,
    checked_ids,
    checked_list,
    checked_moment,
    checked_texts,
    checked_times,
)
from es_simhash.client.near_query import checked_fingerprint, near_query
from es_simhash.client.store_info import StoreReader
from es_simhash.decide.group import group
from es_simhash.decide.pin import Pin, pin
from es_simhash.decide.relink import AT_ONCE
from es_simhash.decide.remove import (
    Duplicate,
    duplicates,
    remove,
    remove_duplicates,
    remove_matching,
    saving,
)
from es_simhash.decide.run import Options
from es_simhash.decide.similar import similar, similar_to_fingerprint, similar_to_stored
from es_simhash.decide.turn import Turn
from es_simhash.errors import InputError, count_of, saying_what_is_done, whole_number
from es_simhash.filters import check_filter, check_filter_of_originals
from es_simhash.ingest.add import Adds
from es_simhash.ingest.batches import Source, line_of
from es_simhash.ingest.reader import IdField, Reader
from es_simhash.ingest.run import backfill, ingest
from es_simhash.parts import in_parts
from es_simhash.retries import DEADLINE, limited
from es_simhash.rows import Row, Scan
from es_simhash.similarity.text_fields import check_id_field
from es_simhash.store.address import open_store

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence
    from datetime import datetime, timedelta

    from es_simhash.client.arguments import Time
    from es_simhash.client.near_query import NearQuery
    from es_simhash.decide.group import GroupReport, Progress
    from es_simhash.decide.outcome import Outcome
    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.decide.run import OnDuplicate, OnUpdate
    from es_simhash.decide.similar import Matches
    from es_simhash.lines import Line
    from es_simhash.rows import Description, Stored
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.store.address import Address
    from es_simhash.text.fingerprinter import Fingerprint, Fingerprinter
    from es_simhash.text.scheme import Scheme


class Documents(AbstractContextManager["Documents"]):
    """Documents and their fingerprints in a store.

    >>> with Documents("sqlite:///news.db") as documents:
    ...     for outcome in documents.ingest([{"id": 1, "text": "…"}]):
    ...         print(outcome.id, outcome.outcome, outcome.duplicate_of)
    1 new None

    :param store: ``sqlite:///path/to.db``, ``http(s)://[user:password@]host:port[,host:port…]/index``, the
        same with ``opensearch+`` before ``http``, an :class:`elasticsearch.Elasticsearch` or an
        :class:`opensearchpy.OpenSearch` of your own, or None for ``ELASTICSEARCH_URL`` or else an SQLite file.
    :param index: the index, if ``store`` is a client.
    :param scheme: for a store that is set up now; by default ``Scheme()``. A store that was set up keeps its Scheme:
        leave ``scheme`` out to use it. Another one raises.
    :param fingerprinter: a Fingerprinter with tables of your own, in place of ``scheme``.
    :param deadline: seconds for which each request is retried while the store is busy, away or does not answer; 0 to
        raise at once. ``add``, ``similar``, ``similar_to`` and ``fetch`` end within these seconds as a whole. If no
        host answers the very first request, it is not retried, because the address may be mistyped.
    :param client_options: ``request_timeout``, the seconds for one answer (10), within the deadline. A fifth of them is
        for the connection. And options of the official client: ``api_key``, ``ca_certs``, …; for the OpenSearch client
        also ``http_auth``, …
    :raises InputError: if the address cannot be used; for a ``fingerprinter`` together with a ``scheme``. Nothing is
        sent before the first request.
    """

    def __init__(
        self,
        store: Address = None,
        *,
        index: str | None = None,
        scheme: Scheme | None = None,
        fingerprinter: Fingerprinter | None = None,
        deadline: float = DEADLINE,
        **client_options: Any,
    ) -> None:
        self.deadline = checked_deadline(deadline)
        if of_setup := sorted({"rule", "id_field"} & client_options.keys()):
            raise InputError(f"Documents takes no {of_setup[0]}: the store keeps it; call setup({of_setup[0]}=…) once")
        self.store = open_store(store, index, deadline=self.deadline, **client_options)
        """The store itself, for what this class has no method for."""
        self.name = self.store.name
        """The store's address, without credentials."""
        self._reader = StoreReader(self.store, scheme, fingerprinter)
        self._stored = self._reader.stored
        self._lock = threading.Lock()
        self._adds: Adds | None = None
        self._written_to: tuple[ResolvedRule, str] | None = None

    def __repr__(self) -> str:
        return f"Documents({self.name!r})"

    def close(self) -> None:
        """Close the file, or the client unless it is yours."""
        self.store.close()

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- the store ---------------------------------------------------------------------------------------------------

    def setup(self, rule: str | DuplicateRule | None = None, *, id_field: str | None = None) -> str:
        """Make what is missing: the index or the file, or the fields in an index that exists.

        The store keeps the rule and the names of the fields, and every call that writes uses them. A second call
        changes what it names. After a change of the rule, :meth:`group` computes the links again.

        :param rule: a name or a DuplicateRule, and its ``text_field``, for the store to keep. By default ``copy`` and
            ``text``. By a rule that compares texts each document gets keyword keys.
        :param id_field: name of the field with the id, for the store to keep. By default ``id``.
        :returns: ``created``, ``added`` (the fields), ``changed`` (the rule, or names of fields) or ``unchanged``.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        """
        return self._reader.set_up(rule, id_field)

    def info(self) -> Description:
        """Return how the store was set up: its Scheme, its rule, its keys; if it was not, how it would be.

        What the store said is known for a second.

        :raises SchemeMismatch: if the store was set up with another Scheme.
        :raises InputError: if its Scheme names a table of your own. Give the constructor a ``fingerprinter`` then.
        """
        return self._reader.info()

    # --- write documents ---------------------------------------------------------------------------------------------

    def add(
        self,
        document: Mapping[str, Any],
        *,
        on_duplicate: OnDuplicate = "index",
        on_update: OnUpdate = "write",
        filter: Mapping[str, Any] | None = None,
        refresh: bool = False,
    ) -> Outcome:
        """Store one document, and return whether it is new or what it duplicates.

        Use one object for as long as the program runs, from any number of threads or tasks. It knows what it added,
        even if search does not find it yet: of ten concurrent calls with one text, one is ``new``. What another
        program wrote is found after the next refresh of the index (1 s by default).

        The outcomes, and what happens to other documents, are those of :meth:`ingest`.

        :param refresh: refresh the index, which is slow. By default search finds the document after the next refresh.
        :param on_duplicate: this, ``on_update`` and ``filter`` as for :meth:`ingest`.
        :returns: its Outcome. A document that cannot be used is ``rejected``, one that the store refuses has
            ``failed``, both with the reason.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises StoreError: if the store fails for longer than the deadline. Add the document again then.
        """
        options = Options(on_duplicate, on_update, filter)
        with limited(self.deadline):
            [outcome] = self._add([line_of(document, "the document")], options)
            if refresh:
                self.store.refresh()
        return outcome

    def add_many(
        self,
        documents: Iterable[Any],
        *,
        on_duplicate: OnDuplicate = "index",
        on_update: OnUpdate = "write",
        filter: Mapping[str, Any] | None = None,
        refresh: bool = False,
    ) -> list[Outcome]:
        """:meth:`add` for some documents: the outcomes are those of one call after the other, in a few requests.

        It does the work at once and returns a list, so it is the eager form of :meth:`ingest`. Use ``ingest`` for very
        many documents: it has worker processes and a checkpoint, and its memory does not grow.

        :param documents: dicts or other mappings with an id and a text, or Lines.
        :raises StoreError: if the store fails for longer than the deadline. The message says how many are stored.
        """
        source, options = Source(documents), Options(on_duplicate, on_update, filter)
        outcomes: list[Outcome] = []
        with saying_what_is_done(lambda: f"the first {len(outcomes):,} documents are done: add the others again"):
            while lines := source.next_batch():
                outcomes += self._add(lines, options)
            if refresh:
                self.store.refresh()
        if source.error is not None:
            raise source.error
        return outcomes

    def _add(self, lines: Sequence[Line], options: Options) -> list[Outcome]:
        """Add documents in their order, and return their outcomes."""

        def add() -> list[Outcome]:
            adds = self._adds_for_writing(new=True)
            return adds.add(Reader(adds.turn.rule, IdField.of(self._reader.read())).read_all(lines), options)

        return self._stored.going_on(add)

    def ingest(
        self,
        documents: Iterable[Any],
        *,
        id_field: str | None = None,
        on_duplicate: OnDuplicate = "index",
        on_update: OnUpdate = "write",
        filter: Mapping[str, Any] | None = None,
        workers: int = 0,
        checkpoint: str | None = None,
    ) -> Generator[Outcome, None, None]:
        """Store documents, and return for each whether it is new or what it duplicates.

        The work is done while you iterate, so iterate to the end. All documents of the store are held in
        memory while they fit into a quarter of the free memory: it grows by some 0.6 KB a document until then.
        A document that has not changed is ``unchanged`` and not written. If only its other fields have changed, it is
        ``updated``: it is written with the new fields, and keeps its links.
        If an id occurs again, the later document replaces the earlier one.
        At the end of the iteration search finds everything that was written. (In Elasticsearch, if you stop earlier,
        after the next refresh.) An SQLite file is set up if necessary. The rule is that of the store (:meth:`setup`).

        Invalid arguments raise at once. Nothing is sent before the first outcome is taken.

        :param documents: dicts or other mappings with an id and a text, in any number; Lines from
            ``read_file``; or a data frame. If they end in an error, everything before it is done, then it is raised.
        :param id_field: name of the field with the id. A dot leads into an object. By default the one that the store
            keeps, or ``id``.
        :param on_duplicate: what to do with a new document that is a duplicate: ``index`` it, linked to its original,
            or ``skip`` it.
        :param on_update: what to do with another text for a stored id: ``write`` it, or ``keep`` the stored document,
            with all its fields, if the text is a copy of its text by the rule: a page whose counter or clock changed.
            That costs no write. The outcome is ``kept``.
        :param filter: only documents that match this filter can be the original of a new one.
        :param workers: processes that fingerprint while the store is asked and written to. With 0 this process does
            it, and each batch has its outcomes before the next one is read. The processes do not run your script again.
        :param checkpoint: path of a small file that records the progress; it is made if it does not exist. After an
            interruption, a crash or a long failure of the store, the same call with the same documents resumes there.
            After a crash the documents of up to one batch may be done again, and are ``unchanged`` then.
        :returns: an Outcome for each document, in their order. A document that cannot be used is ``rejected`` with the
            reason. A document that the store refuses has ``failed``. Both carry the document, and stop nothing.
        :raises NotSetUp: if the index has no fingerprint fields.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        :raises StoreError: if the store fails for longer than the deadline. Repeat the call then, with the documents
            that have no outcome; with a ``checkpoint``, with all of them.
        """
        check_id_field(id_field)
        options, workers = Options(on_duplicate, on_update, filter), whole_number("workers", workers, 0, 1_000)
        return self._ingest(Source(documents), id_field, options, workers, checkpoint)

    def _ingest(
        self, source: Source, id_field: str | None, options: Options, workers: int, checkpoint: str | None
    ) -> Generator[Outcome, None, None]:
        turn = self._turn_for_writing(new=True)
        field = IdField.of(self._reader.read(), id_field)
        yield from ingest(turn, source, field, options, workers, checkpoint)

    def _adds_for_writing(self, *, new: bool = False, stale: bool = False) -> Adds:
        """Return what all calls of this object that write share, by the rule of the store, as long as it is the same.

        The parameters are those of ``StoreReader.for_writing``.
        """
        rule, instance = self._reader.for_writing(new=new, stale=stale)
        with self._lock:
            if self._adds is None or self._written_to != (rule, instance):
                turn = Turn(self.store, rule, self._reader.run_check(rule, instance))
                self._adds, self._written_to = Adds(turn), (rule, instance)
            return self._adds

    def _turn_for_writing(self, *, new: bool = False, stale: bool = False) -> Turn:
        """Return the turn of all calls of this object that write. Search finds what was written before, by anybody."""
        turn = self._adds_for_writing(new=new, stale=stale).turn
        with turn.take():
            turn.store.refresh()
        return turn

    def backfill(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        again: bool = False,
        workers: int = 0,
    ) -> Generator[Outcome, None, None]:
        """Give fingerprints to the documents of an index that was set up, and return for each what it duplicates.

        Only our own field of a document is written: :meth:`setup` names the fields with the text. A document that
        another writer changes in the meantime has ``failed``: the next call takes it. After an interruption repeat the
        call: documents that have a fingerprint are not read again. Invalid arguments raise at once.

        :param filter: only documents that match this filter get a fingerprint, and can be originals.
        :param again: read documents with a fingerprint too. A document whose text has changed gets a new one.
        :param workers: as for :meth:`ingest`.
        :returns: an Outcome for each document. A document without a text is ``rejected``.
        :raises NotSetUp: if the index has no fingerprint fields.
        """
        check_filter_of_originals(filter)
        return self._backfill(filter, again, whole_number("workers", workers, 0, 1_000))

    def _backfill(self, filter: Mapping[str, Any] | None, again: bool, workers: int) -> Generator[Outcome, None, None]:
        turn = self._turn_for_writing(stale=True)
        is_whole = again and filter is None
        for outcome in backfill(turn, filter, workers, again=again):
            is_whole = is_whole and outcome.outcome != "failed"
            yield outcome
        if is_whole:
            self._stored.forget()
            with turn.take():  # raises if the rule has changed since
                self._reader.end_stale()

    def remove(
        self,
        ids: Iterable[str | int] | None = None,
        *,
        matching: Mapping[str, Any] | None = None,
        save: str | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> set[str]:
        """Remove documents and the links to them. What duplicated one gets another original, or stands alone.

        :param matching: in place of ids, a filter: all documents that match it, with or without a fingerprint.
        :param save: path of a new file for what is removed, one document a line. :meth:`ingest` takes it back.
        :param filter: only documents that match this filter can become the other original. Use that of the ingest.
        :returns: the ids that were removed.
        :raises InputError: if the file exists.
        """
        if (ids is None) == (matching is None):
            raise InputError("give either ids or matching=…, a filter")
        check_filter_of_originals(filter)
        check_filter(matching, "matching")
        checked = [] if ids is None else checked_ids(ids)
        turn, id_field = self._turn_for_writing(), self._reader.read().id_field
        with saving(save, id_field) as put:
            if matching is None:
                return remove(turn, checked, put, filter)
            return remove_matching(turn, matching, put, filter)

    def group(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        since: datetime | timedelta | None = None,
        progress: Progress | None = None,
    ) -> GroupReport:
        """Decide all documents again, in the order in which they count, as if each came after all that are earlier.

        A group is an original and its copies: ``simhash.group`` of each is the id of the first original. An ingest does
        the same for new documents. This also finds what several programs added at the same moment. It writes only what
        changes, and nothing that another program changed meanwhile. Other calls of this object have their turn
        meanwhile. Where a quarter of the free memory is enough (0.8 KB a document), what is near is looked up in
        memory; else the store is searched.

        :param filter: only documents that match this filter are decided, as if there were no others.
        :param since: only documents whose text was written at this time or later, and what is linked to them: a
            datetime (without a time zone it is UTC), or a timedelta before now.
        :param progress: is called with the number of documents that were decided, and of all.
        """
        check_filter_of_originals(filter)
        start = checked_moment(since, "since")
        return group(self._turn_for_writing(), filter, start, progress)

    def remove_duplicates(
        self,
        duplicates: Iterable[Duplicate],
        *,
        save: str | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> int:
        """Remove documents that :meth:`duplicates` returned, all of them or some. The originals stay.

        Each is looked at again, and stays if it is no duplicate of its original any more. Take all duplicates before
        you call this: ``list(documents.duplicates())``. Do not run ``group`` in between.

        :param save: path of a new file for what is removed, as for :meth:`remove`.
        :param filter: only documents that match this filter can become another original.
        :returns: how many documents were removed.
        """
        check_filter_of_originals(filter)
        checked = checked_list(duplicates, "duplicates", Duplicate)
        turn, id_field = self._turn_for_writing(), self._reader.read().id_field
        with saving(save, id_field) as put:
            return remove_duplicates(turn, checked, put, filter)

    # --- what a person says ------------------------------------------------------------------------------------------

    def pin(self, id: str | int, *, duplicate_of: str | int | None = None) -> None:
        """Say that a document is no copy, or a copy of another one. The pin holds until its text changes.

        An ingest of the same text, other fields, :meth:`group` and :meth:`backfill` keep it. Another text lifts it; its
        Outcome has ``pin_lifted``. What was a copy of the document is decided again.

        :param duplicate_of: id of the original that it is a copy of; None: it is no copy.
        :raises InputError: if one of the two does not exist or has no fingerprint; if the original is a copy itself.
        """
        self._pin(Pin(id, duplicate_of))  # type: ignore[arg-type]  # it makes strings of them

    def unpin(self, id: str | int) -> None:
        """Take the pin of a document away, and decide it again.

        :raises InputError: if it does not exist.
        """
        self._pin(Pin(id, pinned=False))  # type: ignore[arg-type]

    def _pin(self, one: Pin) -> None:
        for reason in self.pin_many([one]).values():
            raise InputError(f"document {one.id!r} cannot be pinned: {reason}")

    def pin_many(self, pins: Iterable[Pin]) -> dict[str, str]:
        """:meth:`pin` and :meth:`unpin` for many documents. Of two pins of one id the later one holds.

        :returns: by id, why a document could not be pinned. The others are.
        """
        last = {one.id: one for one in checked_list(pins, "pins", Pin)}
        turn, problems = self._turn_for_writing(), dict[str, str]()
        for part in in_parts(list(last.values()), AT_ONCE):
            problems |= pin(turn, part)
        return problems

    def pins(self) -> Generator[Pin, None, None]:
        """Yield the pins of the store."""
        self._reader.read()
        self.store.refresh()
        for page in self.store.scan(Scan(pinned=True)):
            yield from (Pin(one.row.id, one.row.duplicate_of) for one in page)

    # --- find documents ----------------------------------------------------------------------------------------------

    def similar(
        self,
        near: str | Fingerprint | int,
        *,
        time: Time | None = None,
        filter: Mapping[str, Any] | None = None,
        rule: str | DuplicateRule | None = None,
        contradicting: bool = False,
    ) -> Matches:
        """Return the stored documents that are duplicates of a text, the most similar first.

        With keys, a limited number of texts is compared: 20 with a long text, up to 1,000 with a short one. If more
        documents share keys, ``complete`` of the result is False.

        :param near: a text. Or a Fingerprint of the store's Scheme, or its unsigned value: the rule is ``fingerprint``
            then, unless you choose ``exact``. A value has no digest, so no match is ``exact``.
        :param time: of the text, needed with ``within``: as in a document, or a datetime. Without a time zone it is
            UTC.
        :param filter: a filter that the documents must match, such as ``{"term": {"lang": "zh"}}``.
        :param rule: ``copy``, ``contained``, ``fingerprint``, ``exact`` or a :class:`DuplicateRule`, in place of the
            rule of the store; ``text_field`` is the text of a stored document.
        :param contradicting: return those that are similar enough and contradict the text, too: the same news with
            another figure. Their ``relation`` is ``contradicts``.
        :raises InputError: if the text, the fingerprint or the filter cannot be used.
        :raises StoreError: if the store could not search everywhere.
        """
        times = None if time is None else [time]
        with limited(self.deadline):
            if isinstance(near, str):
                [matches] = self.similar_many(
                    [near], times=times, filter=filter, rule=rule, contradicting=contradicting
                )
                return matches
            check_filter(filter)

            def find() -> Matches:
                resolved = self._reader.rule(rule, text=False)
                checked = checked_times(times, [""], resolved.window)
                value, digest = checked_fingerprint(near, resolved.fingerprinter.scheme.bits)
                row = Row("", value, digest or "", time=checked[0] if checked else None)
                return similar_to_fingerprint(self.store, row, resolved, filter)

            return self._stored.going_on(find)

    def similar_many(
        self,
        texts: Iterable[str],
        *,
        times: Iterable[Time] | None = None,
        filter: Mapping[str, Any] | None = None,
        rule: str | DuplicateRule | None = None,
        contradicting: bool = False,
    ) -> list[Matches]:
        """:meth:`similar` for a batch of texts in one request: a list of matches for each.

        :param times: of the texts, one for each.
        """
        check_filter(filter)
        checked, given = checked_texts(texts), None if times is None else checked_list(times, "times")

        def find() -> list[Matches]:
            resolved = self._reader.rule(rule)
            moments = checked_times(given, checked, resolved.window)
            return similar(self.store, checked, resolved, filter, moments, contradicting=contradicting)

        return self._stored.going_on(find)

    def similar_to(
        self,
        id: str | int,
        *,
        filter: Mapping[str, Any] | None = None,
        rule: str | DuplicateRule | None = None,
        contradicting: bool = False,
    ) -> Matches:
        """:meth:`similar` for a stored document, which is not among its own matches.

        :raises InputError: if there is no such document.
        """
        check_filter(filter)
        [checked] = checked_ids([id])
        with limited(self.deadline):
            return self._stored.going_on(
                lambda: similar_to_stored(
                    self.store, checked, self._reader.rule(rule), filter, contradicting=contradicting
                )
            )

    def near_query(self, near: str | Fingerprint | int, *, rule: str | DuplicateRule | None = None) -> NearQuery:
        """Return the clause for a search of your own in Elasticsearch, and what reads the hits.

        It is :func:`es_simhash.near_query` with the Scheme and the rule of this store. Nothing is searched.

        :param near: a text, or its Fingerprint or unsigned fingerprint.
        :param rule: as for :meth:`similar`, without ``within``.
        """
        resolved = self._reader.rule(rule, text=isinstance(near, str))
        return near_query(near, fingerprinter=resolved.fingerprinter, rule=resolved.chosen)

    def msearch(self, searches: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Send a multi-search by the client of the store, and return the answer of the server.

        >>> search = group_search({"query": {"match": {"text": "暴雨"}}})  # doctest: +SKIP
        >>> search.hits(documents.msearch(search.searches))  # doctest: +SKIP

        :param searches: its lines: before the body of each search a header, such as ``{}``.
        :raises InputError: if the store is no server; if the server does not understand a search.
        """
        lines = checked_list(searches, "searches", dict)
        for line in lines:
            check_filter(line, "a search")
        store: Any = self.store

        def send() -> dict[str, Any]:
            self._reader.read()
            if not store.lags:
                raise InputError(f"{self.name} takes no searches of your own: use Elasticsearch or OpenSearch for them")
            answer: dict[str, Any] = store.connection.send("POST", "_msearch", lines)
            return answer

        with limited(self.deadline):
            return self._stored.going_on(send)

    def members(self, id: str | int) -> list[Row]:
        """Return the group of a stored document: the Rows of all its documents, in their order.

        What was written in the last second may be missing, but for the document itself.

        :raises InputError: if there is no such document.
        """
        [checked] = checked_ids([id])

        def find() -> list[Row]:
            row = self.fetch([checked]).get(checked)
            if row is None:
                raise InputError(f"there is no document with id {checked!r}: add it first, or run backfill")
            others = (other for other in self.store.members([row.group]) if other.id != row.id)
            return sorted([row, *others], key=lambda row: row.order)

        with limited(self.deadline):
            return self._stored.going_on(find)

    def duplicates(self, *, filter: Mapping[str, Any] | None = None) -> Generator[Duplicate, None, None]:
        """Return the copies in the store that are copies of the original of their group as both are stored now.

        These are the documents that :meth:`remove_duplicates` removes. Texts are compared, those of exact copies too.

        :param filter: only copies that match this filter.
        """
        check_filter(filter)
        return self._duplicates(filter)

    def _duplicates(self, filter: Mapping[str, Any] | None) -> Generator[Duplicate, None, None]:
        yield from duplicates(self.store, self._reader.rule(None), filter)

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

        def read() -> Mapping[str, Stored]:
            self._reader.read()
            return self.store.read(checked, () if fields is None else names)

        with limited(self.deadline):
            stored = self._stored.going_on(read)
        if fields is None:
            return {id: one.row for id, one in stored.items() if one.row.digest}
        return {id: one.source or {} for id, one in stored.items()}

    def export(self, *, filter: Mapping[str, Any] | None = None) -> Generator[Row, None, None]:
        """Return the fingerprint, digest, group and original of every document, in no particular order.

        :param filter: only documents that match this filter.
        """
        check_filter(filter)
        return self._export(filter)

    def _export(self, filter: Mapping[str, Any] | None) -> Generator[Row, None, None]:
        self._reader.read()
        self.store.refresh()
        count = 0
        with saying_what_is_done(lambda: f"{count_of(count, 'document')} exported, others are missing: export again"):
            for page in self.store.scan(Scan(filter=filter)):
                for stored in page:
                    count += 1
                    yield stored.row
