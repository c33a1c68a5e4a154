"""What one look-up asks of an index: terms, postings and candidates, for each way to look up.

- A *term* is one value that a query asks for. Each shard looks it up in each of its Lucene segments.
- A *posting* is one document in the list of a term. A query reads the lists of all its terms.
- A *candidate* is a document that the query returns. The client compares its fingerprint, or its text.

The figures are expected values over look-ups of documents that are no copies: near-duplicates come on top, and are what
the user looks for. :mod:`es_simhash.sizing.chances` has the probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from es_simhash.errors import InputError
from es_simhash.fingerprinting.encoding import segment_count
from es_simhash.search.blocks import LARGEST_DISTANCE
from es_simhash.search.look_up import UNION, choose
from es_simhash.search.minhash import BANDS
from es_simhash.search.query_plan import query_plan
from es_simhash.sizing.chances import (
    GRAMS,
    SEGMENT,
    TEXTS,
    Texts,
    block_widths,
    blocks_chance,
    distinct,
    free_bits,
    plain_chance,
    plan_chance,
    within,
)

if TYPE_CHECKING:
    from es_simhash.search.query_plan import QueryPlan

Way = Literal["plain", "plan", "blocks", "shingles", "grams"]
WAYS: tuple[Way, ...] = ("plain", "plan", "blocks", "shingles", "grams")
MOST_TEXTS = 21
"""Candidates that a search by keys of the text returns: the 20 that are compared, and one more to know of others."""
_VALUES = 1 << SEGMENT


@dataclass(frozen=True)
class Pool:
    """The documents that are searched.

    :param documents: how many.
    :param bits: width of the fingerprints.
    :param max_distance: in bits.
    :param texts: how alike they are by chance.
    :param crowd: so many of them have their first segment in common.
    """

    documents: int
    bits: int = 64
    max_distance: int = 3
    texts: Texts = field(default_factory=lambda: TEXTS["random"])
    crowd: int = 0

    @property
    def plan(self) -> QueryPlan:
        """The query plan for this max_distance."""
        return query_plan(self.max_distance, segment_count(self.bits))


@dataclass(frozen=True)
class Work:
    """What one look-up takes.

    :param terms: by the number of fingerprints in a query; those of one query share terms.
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


def work(way: Way, pool: Pool, batch: int = 1, *, crowded: bool = False) -> Work:
    """Return what one look-up takes.

    :param way: ``plain``: an OR of the segments. ``plan``: the query plan on the segments. ``blocks``: block keys.
        ``shingles``: MinHash bands. ``grams``: the q-grams of a short text.
    :param batch: look-ups in one request. The ways differ in how many of them are one query.
    :param crowded: of a document of the crowd; else of one that is not.
    :raises InputError: if this way does not find everything within the max_distance.
    """
    if way == "plain":
        return _plain(pool, crowded)
    if way == "plan":
        chosen = choose(batch, pool.max_distance, pool.bits, pool.documents, blocks=False)
        return _plan(pool, min(batch, chosen.together), crowded)
    if way == "blocks":
        return _blocks(pool, min(batch, UNION), crowded)
    if way == "shingles":
        n = pool.documents
        return Work(BANDS, n * BANDS * pool.texts.band, n * pool.texts.bands, most=MOST_TEXTS)
    return Work(GRAMS, pool.documents * pool.texts.entries, pool.documents * pool.texts.filtered, most=MOST_TEXTS)


def mean_work(way: Way, pool: Pool, batch: int = 1) -> Work:
    """Return what a look-up takes in the mean, if as many look-ups as documents are of the crowd."""
    usual = work(way, pool, batch)
    if not pool.crowd:
        return usual
    crowded, share = work(way, pool, batch, crowded=True), pool.crowd / pool.documents
    return Work(
        usual.terms,
        usual.postings + share * (crowded.postings - usual.postings),
        usual.candidates + share * (crowded.candidates - usual.candidates),
        usual.together,
        usual.most,
    )


def way_of(pool: Pool, keys: tuple[str, ...] = (), batch: int = UNION, *, confirm: bool = False) -> Way:
    """Return the way that the library chooses: that of :func:`es_simhash.search.look_up.choose`.

    :param keys: kinds of keys that the index has.
    :param confirm: texts confirm, so the keys of the text are used.
    """
    if confirm and "shingles" in keys:
        return "shingles"
    return choose(batch, pool.max_distance, pool.bits, pool.documents, blocks="blocks" in keys).clause


def _plain(pool: Pool, crowded: bool) -> Work:
    segments = segment_count(pool.bits)
    if pool.max_distance >= segments:
        raise InputError(
            f"the plain OR finds everything within {segments - 1} bits only, and max_distance is {pool.max_distance}: "
            "use the query plan"
        )
    postings = pool.documents * segments / _VALUES * pool.texts.segment
    candidates = pool.documents * plain_chance(segments) * pool.texts.plain
    crowd = pool.crowd if crowded else 0
    return Work(segments, postings + crowd, candidates + crowd)


def _plan(pool: Pool, together: int, crowded: bool) -> Work:
    plan = pool.plan
    near = [within(SEGMENT, plan.radius)] * plan.segments
    exact = [within(SEGMENT, c.distance) - within(SEGMENT, c.distance - 1) for c in plan.clauses]
    partners = [within(SEGMENT, most) for clause in plan.clauses for _, most in clause.partners]
    asked = sum(_VALUES * (1 - (1 - size / _VALUES) ** together) for size in (*near, *exact, *partners))
    terms = asked / together
    postings = pool.documents * terms / _VALUES * pool.texts.segment
    candidates = pool.documents * plan_chance(plan, together=together) / together * pool.texts.plan
    if crowded and pool.crowd:
        # The first segment is asked for once, and again in each clause where it is a partner.
        postings += pool.crowd * (1 + sum(not partner for clause in plan.clauses for partner, _ in clause.partners))
        candidates += pool.crowd * plan_chance(plan, crowded=True)
    return Work(terms, postings, candidates, together)


def _blocks(pool: Pool, together: int, crowded: bool) -> Work:
    if pool.max_distance > LARGEST_DISTANCE:
        raise InputError(
            f"block keys find everything within {LARGEST_DISTANCE} bits, and max_distance is {pool.max_distance}: "
            "without them the segments are searched"
        )
    widths, equal = block_widths(pool.bits)
    sizes = key_sizes(widths, equal)
    terms = sum(distinct(2.0**size, together) for size in sizes) / together
    postings = pool.documents * sum(2.0**-size for size in sizes) * pool.texts.key
    candidates = pool.documents * blocks_chance(widths, equal) * pool.texts.blocks
    if crowded and pool.crowd:
        postings += pool.crowd * sum(2.0**-size for size in key_sizes(free_bits(widths, SEGMENT), equal))
        candidates += pool.crowd * blocks_chance(widths, equal, crowd=SEGMENT)
    return Work(terms, postings, candidates, together)


def key_sizes(widths: tuple[int, ...] | list[int], equal: int) -> list[int]:
    """Return the bits of each key: of each choice of ``equal`` blocks."""
    return [sum(chosen) for chosen in combinations(widths, equal)]
