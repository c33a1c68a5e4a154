"""Draw pairs of stored documents for a person to label: near fingerprints, and pairs in which rules may differ.

Half of the sample has near fingerprints. The other half is what fingerprints cannot show, a quarter each: pairs that
only keys find, and pairs just outside of the rule ``copy``. For these, random documents are looked up by keys. What one
kind lacks, the fingerprints supply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from es_simhash.errors import InputError
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.similarity.text_fields import field_names, text_of
from es_simhash.tools.evaluation.draw import DocumentSample, draw_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_simhash import Documents, Row
    from es_simhash.fingerprinting.scheme import Scheme

DOCUMENTS = 1_000_000
"""Documents that are held at most, some 400 bytes each. If there are more, a random sample of this size is held."""
BATCH = 100
"""Pairs whose texts are fetched at once."""

LOOKED_UP = 20
"""Documents that are looked up by keys at most, for each pair of the sample."""
OUTSIDE = 0.65
"""The least similarity of a pair just outside of the rule ``copy``."""

Found = Literal["fingerprints", "keys", "outside"]
_KINDS: tuple[tuple[Found, bool], ...] = (("keys", True), ("outside", False))
Drawn = tuple[str, str, int]
"""A drawn pair: two ids and their distance in bits."""


@dataclass(frozen=True)
class SampledPair:
    """Two stored documents that may be duplicates.

    :param distance: Hamming distance in bits.
    :param a: the text of the document ``a_id``.
    :param b: the text of the document ``b_id``.
    :param found: ``fingerprints``: they are near. ``keys``: they are not near, and duplicates by the rule ``copy``.
        ``outside``: no duplicates by it, but nearly: the texts have a similarity of ``OUTSIDE``, or other numbers.
    """

    a_id: str
    b_id: str
    distance: int
    a: str
    b: str
    found: Found = "fingerprints"


def sample_pairs(
    documents: Documents,
    size: int,
    *,
    text_field: str | Sequence[str] | None = None,
    filter: Mapping[str, Any] | None = None,
    seed: int = 0,
    most_documents: int = DOCUMENTS,
    batch: int = BATCH,
) -> Iterator[SampledPair]:
    """Draw pairs of documents with their texts, for a person to label.

    Half of them are within 7 bits of each other (15 of 128), the same number at each distance from 0 on, in order of
    distance. What one distance lacks, the others supply. Of documents with one fingerprint only one is paired with
    others. Then come pairs that only keys find, and pairs just outside of the rule ``copy``, a quarter each. Without
    keys there is none of these. The same store and seed give the same pairs.

    It reads all fingerprints first. Memory: some 400 bytes a document, for a million documents at most. In a larger
    store a random million takes part. At most 20 documents a pair are looked up by keys. Texts are fetched for a
    hundred pairs at a time.

    :param size: the most pairs.
    :param text_field: name of the field with the text, or several names. A dot leads into an object. By default those
        that the store keeps, or ``text``.
    :param filter: only documents that match this filter.
    :param most_documents: the most documents that take part.
    :param batch: pairs whose texts are fetched together.
    :raises InputError: for an invalid argument; naming a document without a text.
    """
    fields = documents.rule().text_fields if text_field is None else field_names(text_field)
    for name, number in (("size", size), ("most_documents", most_documents)):
        if type(number) is not int or number < 1:
            raise InputError(f"{name} is {number!r}: use a whole number from 1")
    rows = documents.export(filter=filter)

    def pairs() -> Iterator[SampledPair]:
        scheme = documents.fingerprinter().scheme
        sample = sampled(rows, scheme, seed, most_documents)
        by_keys = _by_keys(documents, sample.sorted()[0], size // 2, fields, batch) if has_keys(documents) else []
        by_fingerprint = draw_from(sample, size - len(by_keys), scheme.max_distance)
        for start in range(0, len(by_fingerprint), batch):
            yield from _with_texts(documents, by_fingerprint[start : start + batch], fields)
        near = {frozenset(pair[:2]) for pair in by_fingerprint}
        yield from (pair for pair in by_keys if frozenset((pair.a_id, pair.b_id)) not in near)

    return pairs()


def has_keys(documents: Documents) -> bool:
    """Whether keys find duplicates in this store."""
    return documents.keys() and documents.keys_complete()


def sampled(rows: Iterable[Row], scheme: Scheme, seed: int, most_documents: int = DOCUMENTS) -> DocumentSample:
    """Return a random sample of the documents that have a fingerprint: all, if they are not too many."""
    sample = DocumentSample(most_documents, seed, scheme.bits)
    for row in rows:
        if row.fingerprint is not None:
            sample.add(row.id, row.fingerprint)
    return sample


def draw_from(sample: DocumentSample, size: int, max_distance: int) -> list[Drawn]:
    """Draw pairs of near fingerprints, sorted by distance; :mod:`es_simhash.tools.evaluation.draw` has the rules."""
    ids, fingerprints, ranks = sample.sorted()
    pairs = draw_pairs(fingerprints, ranks, size, max_distance)
    return [(ids[left], ids[right], distance) for left, right, distance in pairs]


def _by_keys(
    documents: Documents, ids: Sequence[str], size: int, fields: tuple[str, ...], batch: int
) -> list[SampledPair]:
    """Return pairs that only keys find, and pairs just outside of the rule ``copy``: half of the size each, or fewer.

    A document supplies at most one pair of each kind, so that a family of pages does not fill the sample.

    :param ids: of the documents that take part, in random order.
    :param batch: documents, or pairs, whose texts are fetched together.
    """
    farthest = documents.fingerprinter().scheme.max_distance
    copy, wider = (
        DuplicateRule(text_field=fields),
        DuplicateRule(confirm=OUTSIDE, numbers_agree=False, text_field=fields),
    )
    taking_part, met = set(ids), set[frozenset[str]]()
    found: dict[Found, list[Drawn]] = {"keys": [], "outside": []}
    for start in range(0, min(len(ids), LOOKED_UP * size), batch):
        if all(len(pairs) >= size // 2 for pairs in found.values()):
            break
        texts = _texts(documents, ids[start : start + batch], fields)
        inside = documents.similar_many(texts.values(), rule=copy)
        around = documents.similar_many(texts.values(), rule=wider)
        for id, near, matches in zip(texts, inside, around, strict=True):
            duplicates = {match.id for match in near}
            for kind, wanted in _KINDS:
                for match in matches:
                    pair = frozenset((id, match.id))
                    if (match.id in duplicates) is not wanted or len(pair) == 1 or match.id not in taking_part:
                        continue
                    if match.distance is None or (wanted and match.distance <= farthest) or pair in met:
                        continue
                    met.add(pair)
                    found[kind].append((id, match.id, match.distance))
                    break
    return [
        pair
        for kind, drawn in found.items()
        for start in range(0, min(len(drawn), size // 2), batch)
        for pair in _with_texts(documents, drawn[start : min(start + batch, size // 2)], fields, kind)
    ]


def _texts(documents: Documents, ids: Sequence[str], fields: tuple[str, ...]) -> dict[str, str]:
    """Fetch the texts of documents. One that was removed meanwhile is left out.

    :raises InputError: if a document has no text; the message names the document.
    """
    texts: dict[str, str] = {}
    for id, source in documents.sources(ids, fields=fields).items():
        try:
            texts[id] = text_of(source, fields)
        except InputError as error:
            raise InputError(f"document {id!r}: {error}") from error
    return texts


def _with_texts(
    documents: Documents, drawn: Sequence[Drawn], fields: tuple[str, ...], found: Found = "fingerprints"
) -> list[SampledPair]:
    """Fetch the texts of drawn pairs. A pair with a document that was removed meanwhile is left out."""
    texts = _texts(documents, sorted({id for a, b, _ in drawn for id in (a, b)}), fields)
    return [SampledPair(a, b, bits, texts[a], texts[b], found) for a, b, bits in drawn if {a, b} <= texts.keys()]


def pairs_to_label(
    documents: Documents, size: int, text_field: list[str] | None, filter: dict[str, Any] | None, seed: int
) -> Iterator[SampledPair]:
    """Yield the pairs of :func:`sample_pairs`.

    :raises InputError: if there is none.
    """
    some = False
    for pair in sample_pairs(documents, size, text_field=text_field, filter=filter, seed=seed):
        some = True
        yield pair
    if not some:
        within = documents.fingerprinter().scheme.max_distance
        wider = "" if filter is None else ", or leave out --filter"
        raise InputError(
            f"no two documents in {documents.name} are within {within} bits of each other: ingest more documents{wider}"
        )
