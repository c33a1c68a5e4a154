"""A search of your own for duplicates: the clause to put into the query, and the matches among the hits.

The clause finds candidates. The hits hold the stored fingerprint as signed longs. So one object has the clause, and
reads the hits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState
from es_simhash.deciding.rule import resolve
from es_simhash.deciding.similar import Match, rank
from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.search.candidates import candidates_clause
from es_simhash.search.hamming import hamming_distance
from es_simhash.similarity.rule import rule_of, rule_without_text
from es_simhash.stores.elasticsearch.keys import sharing_clause
from es_simhash.stores.elasticsearch.rows import ROW_FIELDS, simhash_values
from es_simhash.stores.stored_row import stored_row, without_damaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.contract import Row
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.similarity.confirm import TextFeatures
    from es_simhash.similarity.rule import DuplicateRule


@dataclass(frozen=True)
class NearQuery:
    """A search of your own for the duplicates of one text. :func:`near_query` makes it.

    >>> query = near_query("市气象台今晨发布暴雨橙色预警", rule="fingerprint")
    >>> answer = client.search(
    ...     index="news", query={"bool": {"filter": [query.clause]}}, docvalue_fields=query.fields
    ... )
    >>> query.matches(answer["hits"]["hits"])

    :param clause: it finds every duplicate, and a few other documents. Put it into filter context.
    :param fields: the ``docvalue_fields`` of the search, which :meth:`matches` reads.
    """

    clause: dict[str, Any]
    fields: list[dict[str, str]]
    _rule: ResolvedRule = field(repr=False)
    _value: int | None = field(repr=False)
    _digest: str | None = field(repr=False)
    _own: TextFeatures | None = field(repr=False)

    def matches(self, hits: Iterable[Mapping[str, Any]]) -> list[Match]:
        """Return the duplicates among the hits of a search, the nearest first.

        :param hits: ``answer["hits"]["hits"]``, all or a part.
        :raises InputError: if the hits come without the fields; with ``confirm``, naming a hit without a text.
        """
        given = list(hits)
        values = [simhash_values(hit) for hit in given]
        if given and not any(values):
            raise InputError(
                "none of the hits has a fingerprint: put query.clause into the query, and search with "
                "docvalue_fields=query.fields"
            )
        read = [stored_row(hit["_id"], each, None) for hit, each in zip(given, values, strict=True)]
        hit_of = {hit["_id"]: hit for hit in given}
        found = [self._match(row, hit_of[row.id]) for row in without_damaged(read) if row.digest]
        return sorted((match for match in found if match is not None), key=rank)

    def _match(self, row: Row, hit: Mapping[str, Any]) -> Match | None:
        if row.digest == self._digest:
            return Match(row.id, 0, True, None if self._rule.texts is None else 1.0)
        distance = hamming_distance(self._value, row.fingerprint)
        far = distance is None or distance > self._rule.max_distance
        if far and (not self._rule.keys or self._rule.limited):
            return None
        texts = self._rule.texts
        if texts is None or self._own is None:
            return Match(row.id, distance, False)
        similarity = texts.similarity(self._own, texts.of_hit(row.id, hit.get("_source", {})))
        return Match(row.id, distance, False, similarity) if texts.is_enough(similarity) else None


def near_query(
    near: str | Fingerprint | int,
    *,
    fingerprinter: Fingerprinter | None = None,
    keys: bool = False,
    rule: str | DuplicateRule | None = None,
) -> NearQuery:
    """Return the clause for a search of your own for the duplicates of a text, and what reads the hits.

    Without keys, a text that is too short for a fingerprint finds its exact duplicates alone. An empty text finds
    nothing. :meth:`Documents.near_query` takes the Scheme and the keys from the store.

    :param near: a text; a Fingerprint; or an unsigned fingerprint, which finds no exact duplicates that lack one.
    :param fingerprinter: of the Scheme of the index, if that is not the default one.
    :param keys: the index has complete keys (``init``), so they find the candidates where texts decide.
    :param rule: the rule by which a document is a duplicate: a name or a DuplicateRule. For a text it is ``copy``
        by default: the hits must come with the text in their ``_source``. For a fingerprint it is ``fingerprint``.
    :raises InputError: if the text or the fingerprint cannot be used; for a fingerprint and a rule that compares texts;
        for ``within``.
    """
    chosen = rule_of(rule) if isinstance(near, str) else rule_without_text(rule)
    check_near(near, chosen)
    fingerprinter = fingerprinter or Fingerprinter()
    resolved = resolve(chosen, fingerprinter, KeysState.COMPLETE if keys else KeysState.NONE)
    own: TextFeatures | None = None
    if isinstance(near, str):
        if resolved.texts is not None:
            own = resolved.texts.confirm.features(near)
        near = fingerprinter.fingerprint(near)
    value, digest = checked_fingerprint(near, fingerprinter.scheme.bits)
    return NearQuery(
        _clause(resolved, value, digest, own), [{"field": name} for name in ROW_FIELDS], resolved, value, digest, own
    )


def check_near(near: object, rule: DuplicateRule) -> None:
    """Check that a search of your own can look for a text or a fingerprint by this rule.

    :raises InputError: if it cannot.
    """
    if rule.within is not None:
        raise InputError("within has no clause: put a range on your time field into the query, and leave within out")
    if isinstance(near, str):
        check_surrogates(near, "the text")


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
        f"the fingerprint is {near!r}: use a Fingerprint, or an unsigned integer of {bits} bits (a signed long of the "
        f"index is value % 2**64)"
    )


def _clause(rule: ResolvedRule, value: int | None, digest: str | None, own: TextFeatures | None) -> dict[str, Any]:
    should: list[dict[str, Any]] = []
    if rule.keys:
        queries = [
            query for query in rule.queries(own.keys if own else None) if len(query.keys) >= max(1, query.minimum)
        ]
        should += [sharing_clause(queries)] if queries else []
    elif value is not None and rule.max_distance >= 0:
        should.append(candidates_clause(value, rule.max_distance, bits=rule.bits))
    if digest is not None:
        should.append({"term": {"simhash.digest": digest}})
    return {"bool": {"should": should, "minimum_should_match": 1}} if should else {"match_none": {}}
