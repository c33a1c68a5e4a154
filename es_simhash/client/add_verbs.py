"""The verbs that add single documents: ``add`` and ``add_many``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from es_simhash.client.adding import Adding, AddRequest, raise_for_duplicate
from es_simhash.client.arguments import check_ingest_filter
from es_simhash.client.opening import keys_of_new_store
from es_simhash.client.store_verbs import StoreVerbs
from es_simhash.errors import InputError, StoreError, unfinished
from es_simhash.ingest.batches import Source
from es_simhash.ingest.reader import MAX_TEXT
from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Unpack

    from es_simhash.client.adding import RefreshOption
    from es_simhash.client.opening import Opening
    from es_simhash.contract import KeysState
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.similarity.rule import DuplicateRule, RuleOptions
    from es_simhash.verbs.ingest import OnDuplicate
    from es_simhash.verbs.outcome import Outcome


class AddVerbs(StoreVerbs):
    """The verbs that add single documents.

    :param deadline: seconds for which requests are retried.
    :param embedded: the store belongs to this program alone.
    :param async_input: documents may come from an async iterable.
    """

    def __init__(self, opening: Opening, deadline: float, *, embedded: bool, async_input: bool) -> None:
        super().__init__(opening, embedded=embedded)
        self._async_input = async_input
        self._adding = Adding(self._open_for_ingest, deadline)

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

    def _add(self, line: Line, request: AddRequest) -> Outcome:
        [outcome] = self._adding.add([line], request)
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
    ) -> list[Outcome]:
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

    def _add_many(self, source: Source, request: AddRequest) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while lines := source.take():
            try:
                outcomes += self._adding.add(lines, request)
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

    def _open_for_ingest(self, rule: DuplicateRule) -> tuple[Fingerprinter, KeysState]:
        fingerprinter = self._opening.fingerprinter()
        rule.bits_allowed(fingerprinter.scheme)  # an invalid rule raises before anything is set up
        self._opening.check(fingerprinter, set_up_if_missing=self._embedded, keys=keys_of_new_store(rule))
        self._opening.check_times(rule)
        return fingerprinter, (self._opening.keys_for(rule))
