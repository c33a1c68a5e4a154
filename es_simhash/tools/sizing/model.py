"""What one look-up asks of an index: terms, postings and candidates, for each way to look up.

- A *term* is one value that a query asks for. Each shard looks it up in each of its Lucene segments.
- A *posting* is one document in the list of a term. A query reads the lists of all its terms.
- A *candidate* is a document that the query returns. The client compares its fingerprint, or its text.

The figures are expected values over look-ups of documents that are no copies: near-duplicates come on top, and are what
the user looks for. :mod:`es_simhash.tools.sizing.chances` has the probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from es_simhash.errors import InputError
from es_simhash.fingerprinting.encoding import segment_count
from es_simhash.search.look_up import UNION, Clause, choose
from es_simhash.search.minhash import BANDS
from es_simhash.search.query_plan import query_plan
from es_simhash.tools.sizing.chances import (
    GRAMS,
    SEGMENT,
    TEXTS,
    Texts,
    plain_chance,
    plan_chance,
    within,
)

if TYPE_CHECKING:
    from es_simhash.search.query_plan import QueryPlan

Way = Literal[Clause, "shingles", "grams"]
"""How documents are looked up: by a clause for fingerprints, or by keys of the text."""
MOST_RETURNED = 21
"""Candidates that a search by keys of the text returns. The library compares 20 texts
(:data:`es_simhash.similarity.confirm.MOST_TEXTS`); one more tells whether there are others."""
_VALUES = 1 << SEGMENT


@dataclass(frozen=True)
class Collection:
    """The documents of an index: how many, how wide their fingerprints, how alike.

    :param documents: how many.
    :param bits: width of the fingerprints.
    :param max_distance: in bits.
    :param texts: how alike they are by chance.
    :param hot: so many of them have their first segment in common, which is a hot segment.
    """

    documents: int
    bits: int = 64
    max_distance: int = 3
    texts: Texts = field(default_factory=lambda: TEXTS["random"])
    hot: int = 0

    @property
    def plan(self) -> QueryPlan:
        """The query plan for this max_distance."""
        return query_plan(self.max_distance, segment_count(self.bits))


@dataclass(frozen=True)
class Work:
    """What one look-up takes.

    :param terms: the terms of a query, divided by the number of fingerprints in it.
    :param postings: that it reads, in all shards together.
    :param candidates: that it returns by chance.
    :param together: fingerprints in one query.
    :param most: so many candidates of a look-up are returned at most; None for all. By keys of the text it is those
        that share the most and the rarest keys.
    """

    terms: float
    postings: float
    candidates: float
    together: int = 1
    most: int | None = None

    @property
    def returned(self) -> float:
        """The candidates that the server returns."""
        return self.candidates if self.most is None else min(self.candidates, self.most)


def work(way: Way, collection: Collection, batch: int = 1, *, hot: bool = False) -> Work:
    """Return what one look-up takes.

    :param way: ``plain``: an OR of the segments. ``plan``: the query plan on the segments.
        ``shingles``: MinHash bands. ``grams``: the q-grams of a short text.
    :param batch: look-ups in one request. The ways differ in how many of them are one query.
    :param hot: of a document with the hot segment; else of one without it.
    :raises InputError: if this way does not find everything within the max_distance.
    """
    if way == "plain":
        return _plain(collection, hot)
    if way == "plan":
        chosen = choose(batch, collection.max_distance, collection.bits, collection.documents)
        return _plan(collection, min(batch, chosen.together), hot)
    if way == "shingles":
        n = collection.documents
        return Work(BANDS, n * BANDS * collection.texts.band, n * collection.texts.bands, most=MOST_RETURNED)
    return Work(
        GRAMS,
        collection.documents * collection.texts.entries,
        collection.documents * collection.texts.filtered,
        most=MOST_RETURNED,
    )


def mean_work(way: Way, collection: Collection, batch: int = 1) -> Work:
    """Return what a look-up takes in the mean, if the hot segment is as frequent among look-ups as among documents."""
    usual = work(way, collection, batch)
    if not collection.hot:
        return usual
    hottest, share = work(way, collection, batch, hot=True), collection.hot / collection.documents
    return Work(
        usual.terms,
        usual.postings + share * (hottest.postings - usual.postings),
        usual.candidates + share * (hottest.candidates - usual.candidates),
        usual.together,
        usual.most,
    )


def way_of(collection: Collection, batch: int = UNION, *, keys: bool = False) -> Way:
    """Return the way that the library chooses: that of :func:`es_simhash.search.look_up.choose`.

    :param keys: the index has keys, and texts confirm, so the keys are used.
    """
    if keys:
        return "shingles"
    return choose(batch, collection.max_distance, collection.bits, collection.documents).clause


def _plain(collection: Collection, hot: bool) -> Work:
    segments = segment_count(collection.bits)
    if collection.max_distance >= segments:
        raise InputError(
            f"the plain OR finds everything within {segments - 1} bits only, and max_distance is "
            f"{collection.max_distance}: use the query plan"
        )
    postings = collection.documents * segments / _VALUES * collection.texts.segment
    candidates = collection.documents * plain_chance(segments) * collection.texts.plain
    others = collection.hot if hot else 0
    return Work(segments, postings + others, candidates + others)


def _plan(collection: Collection, together: int, hot: bool) -> Work:
    plan = collection.plan
    near = [within(SEGMENT, plan.radius)] * plan.segments
    exact = [within(SEGMENT, c.distance) - within(SEGMENT, c.distance - 1) for c in plan.clauses]
    partners = [within(SEGMENT, most) for clause in plan.clauses for _, most in clause.partners]
    asked = sum(_VALUES * (1 - (1 - size / _VALUES) ** together) for size in (*near, *exact, *partners))
    terms = asked / together
    postings = collection.documents * terms / _VALUES * collection.texts.segment
    candidates = collection.documents * plan_chance(plan, together=together) / together * collection.texts.plan
    if hot and collection.hot:
        # The first segment is asked for once, and again in each clause where it is a partner.
        postings += collection.hot * (1 + sum(not partner for clause in plan.clauses for partner, _ in clause.partners))
        candidates += collection.hot * plan_chance(plan, hot=True)
    return Work(terms, postings, candidates, together)
