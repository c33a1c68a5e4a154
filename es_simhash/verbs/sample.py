"""The verb sample: it draws pairs of stored documents that are near each other, for a person to label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract import FetchFields, Refresh, Scan, ask, each_page
from es_simhash.errors import InputError
from es_simhash.similarity.text_fields import text_of
from es_simhash.tools.evaluation.draw import DocumentSample, draw_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Flow, ScanPage
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


def check_sample(size: object, documents: object) -> None:
    """Check the numbers of :func:`draw`.

    :raises InputError: if one is no whole number from 1.
    """
    for name, number in (("size", size), ("documents", documents)):
        if type(number) is not int or number < 1:
            raise InputError(f"{name} is {number!r}: use a whole number from 1")


def draw(
    scheme: Scheme,
    size: int,
    seed: int,
    documents: int = DOCUMENTS,
    filter: Mapping[str, Any] | None = None,
    max_distance: int | None = None,
) -> Flow[list[Drawn]]:
    """Draw pairs of near fingerprints; :mod:`es_simhash.tools.evaluation.draw` has the rules.

    :param size: how many pairs are drawn at most.
    :param documents: how many documents are held at most.
    :param filter: draws only from documents that match it.
    :param max_distance: the largest distance in bits; by default the largest max_distance of the Scheme.
    :returns: the pairs, sorted by distance.
    """
    yield from ask(Refresh())
    sample = DocumentSample(documents, seed, scheme.bits)

    def take(page: ScanPage) -> None:
        for row in page.rows:
            if row.fingerprint is not None:
                sample.add(row.id, row.fingerprint)

    yield from each_page(Scan(filter=filter), take)
    ids, fingerprints, ranks = sample.sorted()
    pairs = draw_pairs(fingerprints, ranks, size, scheme.max_distance if max_distance is None else max_distance)
    return [(ids[left], ids[right], distance) for left, right, distance in pairs]


def with_texts(drawn: Sequence[Drawn], fields: tuple[str, ...]) -> Flow[list[SampledPair]]:
    """Fetch the texts of drawn pairs. A pair with a document that was removed meanwhile is left out.

    :param fields: the fields that hold the text.
    :raises InputError: if a document has no text; the message names the document.
    """
    ids = sorted({id for a, b, _ in drawn for id in (a, b)})
    sources = yield from ask(FetchFields(tuple(ids), fields))
    texts: dict[str, str] = {}
    for id, source in sources.items():
        try:
            texts[id] = text_of(source, fields)
        except InputError as error:
            raise InputError(f"document {id!r}: {error}") from error
    return [SampledPair(a, b, distance, texts[a], texts[b]) for a, b, distance in drawn if {a, b} <= texts.keys()]
