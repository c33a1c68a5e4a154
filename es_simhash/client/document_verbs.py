"""The verbs on documents, each written once for the sync and the async class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.client.arguments import (
    check_optional_filter,
    checked_ids,
    checked_texts,
    checked_times,
)
from es_simhash.client.near_query import check_near, check_no_confirm, checked_fingerprint, near_query
from es_simhash.client.writing_verbs import WritingVerbs
from es_simhash.contract import Fetch, Refresh, Scan, ask
from es_simhash.errors import InputError, StoreError, count_of, unfinished
from es_simhash.search.keys import SHINGLES
from es_simhash.similarity.text_fields import field_names, text_or_none
from es_simhash.verbs.similar import similar, similar_to_fingerprint, similar_to_stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Unpack

    from es_simhash.client.arguments import Time
    from es_simhash.client.drivers import Stream
    from es_simhash.client.near_query import NearQuery
    from es_simhash.contract import Flow, Row, ScanPage
    from es_simhash.fingerprinting.fingerprinter import Fingerprint
    from es_simhash.ingest.performer import Performer
    from es_simhash.similarity.rule import DuplicateRule, RuleOptions
    from es_simhash.verbs.similar import Matches


class DocumentVerbs(WritingVerbs):
    """The verbs of :class:`~es_simhash.Documents` and :class:`~es_simhash.AsyncDocuments`."""

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
            for page in self._pages(performer, Scan(filter=filter)):
                yield page.rows

        return rows

    def export_texts(
        self, *, text_field: str | Sequence[str] = "text", filter: Mapping[str, Any] | None = None
    ) -> Stream[tuple[Row, str | None]]:
        """Return the pairs (what :meth:`export` returns, text) of every document, in no particular order.

        :param text_field: name of the field with the text, or several names: the fields are joined. A dot leads into an
            object. The text of a document without one is None.
        :param filter: only documents that match this filter.
        """
        fields = field_names(text_field)
        check_optional_filter(filter)

        def pairs(performer: Performer) -> Iterator[Sequence[tuple[Row, str | None]]]:
            for page in self._pages(performer, Scan(filter=filter, fields=fields)):
                both = zip(page.rows, page.sources, strict=True)
                # A page with fields also has the documents that were never fingerprinted.
                yield [(row, text_or_none(source, fields)) for row, source in both if row.digest]

        return pairs

    def _pages(self, performer: Performer, scan: Scan) -> Iterator[ScanPage]:
        performer.perform(self._opening.check())
        performer.perform(ask(Refresh()))
        more: Scan | None = scan
        count = 0
        while more is not None:
            try:
                page = performer.perform(ask(more))
            except StoreError as error:
                report = f"{count_of(count, 'document')} exported, others are missing: export again"
                raise unfinished(error, report) from error
            yield page
            count += len(page.rows)
            more = more.following(page)
