"""A search of your own for duplicates: the clause to put into the query, and the matches among the hits.

The clause finds candidates. The hits hold the stored fingerprint as signed longs. So one object has the clause, and
reads the hits.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash.decide.judge import Side
from es_simhash.decide.rule import ResolvedRule
from es_simhash.decide.similar import matches_among
from es_simhash.errors import InputError, shown
from es_simhash.rows import Hits, Row
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.rule import rule_of, rule_without_text
from es_simhash.similarity.text_fields import text_of
from es_simhash.store.elastic.query_plan import candidates_clause
from es_simhash.store.elastic.rows import FIELDS, row_of
from es_simhash.store.elastic.search import clause_of
from es_simhash.text.fingerprinter import Fingerprint, fingerprinter_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.decide.similar import Match
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.text.fingerprinter import Fingerprinter

_log = logging.getLogger("es_simhash")


@dataclass(frozen=True)
class NearQuery:
    """A search of your own for the duplicates of one text. :func:`near_query` makes it.

    >>> query = near_query("市气象台今晨发布暴雨橙色预警", rule="fingerprint")
    >>> answer = client.search(  # doctest: +SKIP
    ...     index="news", query={"bool": {"filter": [query.clause]}}, docvalue_fields=query.fields
    ... )
    >>> query.matches(answer["hits"]["hits"])  # doctest: +SKIP

    :param clause: it finds every duplicate, and a few other documents. Put it into filter context.
    :param fields: the ``docvalue_fields`` of the search, which :meth:`matches` reads.
    """

    clause: dict[str, Any]
    fields: list[dict[str, str]]
    _rule: ResolvedRule = field(repr=False)
    _row: Row = field(repr=False)
    _own: TextFeatures | None = field(repr=False)

    def matches(self, hits: Iterable[Mapping[str, Any]]) -> list[Match]:
        """Return the duplicates among the hits of a search, as :meth:`Documents.similar` does.

        :param hits: ``answer["hits"]["hits"]``, all or a part.
        :raises InputError: if the hits come without the fields; with ``min_similarity``, naming a hit without a text.
        """
        given = list(hits)
        rows = [row_of(hit, _log.warning) for hit in given]
        if given and not any(row.digest for row in rows):
            raise InputError(
                "none of the hits has a fingerprint: put query.clause into the query, and search with "
                "docvalue_fields=query.fields"
            )
        sources = {row.id: hit.get("_source") for row, hit in zip(rows, given, strict=True)}
        candidates = Hits([], [row for row in rows if row.digest])
        side = Side(self._row, self._own)
        return matches_among(side, candidates, self._rule, lambda near: [self._features(row, sources) for row in near])

    def _features(self, row: Row, sources: Mapping[str, Any]) -> TextFeatures:
        try:
            return TextFeatures(text_of(sources[row.id] or {}, self._rule.text_fields), self._rule.fingerprinter)
        except InputError as error:
            raise InputError(f"hit {row.id!r}: {error}; the hits must come with their text in _source") from error


def near_query(
    near: str | Fingerprint | int,
    *,
    fingerprinter: Fingerprinter | None = None,
    rule: str | DuplicateRule | None = None,
) -> NearQuery:
    """Return the clause for a search of your own for the duplicates of a text, and what reads the hits.

    By the rule ``fingerprint`` a text that is too short for a fingerprint finds its exact duplicates alone. An empty
    text finds nothing. :meth:`Documents.near_query` takes the Scheme and the rule from the store.

    :param near: a text; a Fingerprint; or an unsigned fingerprint, which finds no exact duplicates that lack one.
    :param fingerprinter: of the Scheme of the index, if that is not the default one.
    :param rule: the rule by which a document is a duplicate: a name or a DuplicateRule. For a text it is ``copy``
        by default: the index must have keys, and the hits their text in ``_source``. For a fingerprint it is
        ``fingerprint``.
    :raises InputError: if the text or the fingerprint cannot be used; for a fingerprint and a rule that compares texts;
        for ``within``.
    """
    chosen = rule_of(rule) if isinstance(near, str) else rule_without_text(rule)
    if chosen.within is not None:
        raise InputError("within has no clause: put a range on your time field into the query, and leave within out")
    fingerprinter = fingerprinter_of(fingerprinter)
    resolved = ResolvedRule(chosen, fingerprinter, keys=True)
    own = None
    if isinstance(near, str):
        own, near = TextFeatures(near, fingerprinter), fingerprinter.fingerprint(near)
    value, digest = checked_fingerprint(near, fingerprinter.scheme.bits)
    row = Row("", value, digest or "")
    fields = [{"field": f"simhash.{name}"} for name in FIELDS]
    return NearQuery(_clause(resolved, row, own), fields, resolved, row, own)


def checked_fingerprint(near: object, bits: int) -> tuple[int | None, str | None]:
    """Return the value and the digest of a fingerprint; None for what it does not have.

    :param bits: of the store's fingerprints.
    :raises InputError: if it is no fingerprint of this width.
    """
    if isinstance(near, Fingerprint):
        if near.bits != bits:
            raise InputError(f"the fingerprint has {near.bits} bits, the store's have {bits}: use the store's Scheme")
        return near.value, near.copy_digest
    if type(near) is int and 0 <= near < 1 << bits:
        return near, None
    raise InputError(
        f"{shown(near)} is no text and no fingerprint: use a string, a Fingerprint, or an unsigned integer of {bits} "
        "bits (a signed long of the index is value % 2**64)"
    )


def _clause(rule: ResolvedRule, row: Row, own: TextFeatures | None) -> dict[str, Any]:
    query = rule.query(row, own.keys if own is not None and rule.by == "keys" else None, is_decision=False)
    should: list[dict[str, Any]] = []
    if query.keys:
        should.append({"dis_max": {"queries": [clause_of(keys) for keys in query.keys]}})
    elif query.fingerprint is not None:
        should.append(candidates_clause([query.fingerprint], query.distance))
    if query.digest is not None:
        should.append({"term": {"simhash.digest": query.digest}})
    return {"bool": {"should": should, "minimum_should_match": 1}} if should else {"match_none": {}}
