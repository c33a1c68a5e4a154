"""Draw pairs of stored documents that are near each other, for a person to label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Refresh, Scan, ask
from es_simhash.errors import InputError
from es_simhash.evaluation.draw import DrawnDocuments, draw_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from es_simhash.contract import Flow
    from es_simhash.fingerprinting.scheme import Scheme

DOCUMENTS = 1_000_000
"""Documents among which pairs are looked for; of more, so many are drawn. Some 400 bytes each."""
BATCH = 100
"""Pairs whose texts are brought at once."""

Drawn = tuple[str, str, int]


@dataclass(frozen=True)
class SampledPair:
    """Two documents that are near each other.

    :param distance: Hamming distance in bits.
    :param a: the text of the one.
    :param b: the text of the other.
    """

    a_id: str
    b_id: str
    distance: int
    a: str
    b: str


def draw(
    scheme: Scheme, size: int, seed: int, documents: int = DOCUMENTS, clause: Mapping[str, Any] | None = None
) -> Flow[list[Drawn]]:
    """Draw pairs within the Scheme's max_distance, by the rules of ``evaluation.draw``.

    :param size: how many pairs there are at most.
    :param documents: how many documents are held at most.
    :param clause: only documents that match it.
    :returns: two ids and a distance for each pair, by distance.
    """
    for name, number in (("size", size), ("documents", documents)):
        if type(number) is not int or number < 1:
            raise InputError(f"{name} is {number!r}: use a whole number from 1")
    yield from ask(Refresh())
    drawn = DrawnDocuments(documents, seed, scheme.bits)
    scan: Scan | None = Scan(None, clause)
    while scan is not None:
        page = yield from ask(scan)
        for row in page.rows:
            if row.fingerprint is not None:
                drawn.add(row.id, row.fingerprint)
        scan = None if page.after is None else Scan(page.after, clause)
    ids, fingerprints, lots = drawn.sorted()
    pairs = draw_pairs(fingerprints, lots, size, scheme.max_distance)
    return [(ids[left], ids[right], distance) for left, right, distance in pairs]


def with_texts(
    drawn: Sequence[Drawn], fields: tuple[str, ...], text: Callable[[Mapping[str, Any]], str]
) -> Flow[list[SampledPair]]:
    """The pairs with their texts; those of which a document was removed meanwhile are left out.

    :param fields: where the text is.
    :param text: makes it of what these fields hold.
    :raises InputError: naming a document that has none.
    """
    ids = sorted({id for a, b, _ in drawn for id in (a, b)})
    scan: Scan | None = Scan(None, {"ids": {"values": ids}}, fields)
    texts: dict[str, str] = {}
    while scan is not None:
        page = yield from ask(scan)
        for row, source in zip(page.rows, page.sources, strict=True):
            try:
                texts[row.id] = text(source)
            except InputError as error:
                raise InputError(f"document {row.id!r}: {error}") from error
        scan = None if page.after is None else replace(scan, after=page.after)
    return [SampledPair(a, b, distance, texts[a], texts[b]) for a, b, distance in drawn if {a, b} <= texts.keys()]
