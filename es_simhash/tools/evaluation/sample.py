"""Draw pairs of stored documents that are near each other, for a person to label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
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

Drawn = tuple[str, str, int]
"""A drawn pair: two ids and their distance in bits."""


@dataclass(frozen=True)
class SampledPair:
    """Two stored documents that are near each other.

    :param distance: Hamming distance in bits.
    :param a: the text of the document ``a_id``.
    :param b: the text of the document ``b_id``.
    """

    a_id: str
    b_id: str
    distance: int
    a: str
    b: str


def sample_pairs(
    documents: Documents,
    size: int,
    *,
    text_field: str | Sequence[str] = "text",
    filter: Mapping[str, Any] | None = None,
    seed: int = 0,
    most_documents: int = DOCUMENTS,
) -> Iterator[SampledPair]:
    """Draw pairs of documents within 7 bits of each other (15 of 128), with their texts, for a person to label.

    The same number is drawn at each distance from 0 on, in order of distance. What one distance lacks, the others
    supply. Of documents with one fingerprint only one is paired with others. The same store and seed give the same
    pairs.

    It reads all fingerprints first. Memory: some 400 bytes a document, for a million documents at most. In a larger
    store a random million takes part. Texts are fetched for a hundred pairs at a time.

    :param size: the most pairs.
    :param text_field: name of the field with the text, or several names. A dot leads into an object.
    :param filter: only documents that match this filter.
    :param most_documents: the most documents that take part.
    :raises InputError: for an invalid argument; naming a document without a text.
    """
    fields = field_names(text_field)
    for name, number in (("size", size), ("most_documents", most_documents)):
        if type(number) is not int or number < 1:
            raise InputError(f"{name} is {number!r}: use a whole number from 1")
    rows = documents.export(filter=filter)

    def pairs() -> Iterator[SampledPair]:
        scheme = documents.fingerprinter().scheme
        drawn = draw(rows, scheme, size, seed, most_documents)
        for start in range(0, len(drawn), BATCH):
            yield from _with_texts(documents, drawn[start : start + BATCH], fields)

    return pairs()


def draw(
    rows: Iterable[Row],
    scheme: Scheme,
    size: int,
    seed: int,
    most_documents: int = DOCUMENTS,
    max_distance: int | None = None,
) -> list[Drawn]:
    """Draw pairs of near fingerprints; :mod:`es_simhash.tools.evaluation.draw` has the rules.

    :param rows: the documents that take part.
    :param size: how many pairs are drawn at most.
    :param most_documents: how many documents are held at most.
    :param max_distance: the largest distance in bits; by default the largest max_distance of the Scheme.
    :returns: the pairs, sorted by distance.
    """
    sample = DocumentSample(most_documents, seed, scheme.bits)
    for row in rows:
        if row.fingerprint is not None:
            sample.add(row.id, row.fingerprint)
    ids, fingerprints, ranks = sample.sorted()
    pairs = draw_pairs(fingerprints, ranks, size, scheme.max_distance if max_distance is None else max_distance)
    return [(ids[left], ids[right], distance) for left, right, distance in pairs]


def _with_texts(documents: Documents, drawn: Sequence[Drawn], fields: tuple[str, ...]) -> list[SampledPair]:
    """Fetch the texts of drawn pairs. A pair with a document that was removed meanwhile is left out.

    :raises InputError: if a document has no text; the message names the document.
    """
    sources = documents.sources(sorted({id for a, b, _ in drawn for id in (a, b)}), fields=fields)
    texts: dict[str, str] = {}
    for id, source in sources.items():
        try:
            texts[id] = text_of(source, fields)
        except InputError as error:
            raise InputError(f"document {id!r}: {error}") from error
    return [SampledPair(a, b, distance, texts[a], texts[b]) for a, b, distance in drawn if {a, b} <= texts.keys()]


def pairs_to_label(
    documents: Documents, size: int, text_field: list[str], filter: dict[str, Any] | None, seed: int
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
