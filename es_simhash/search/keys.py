"""Keyword keys of a document: documents with enough keys in common are candidates.

A store keeps the keys of a document in one multi-valued keyword field. Kinds of keys are told apart by their first
character. ``init --keys`` chooses them by these names:

- ``shingles``: keys of the text. They are MinHash bands (:mod:`es_simhash.search.minhash`), and q-grams
  (:mod:`es_simhash.search.qgrams`) for short texts. The store keeps the number of word characters beside them.
- ``blocks``: keys of the fingerprint (:mod:`es_simhash.search.blocks`).

The rest of this module is about the keys of the text.

A *short* text has up to ``SHORT`` word characters. Two texts are compared by the measure of the shorter one: by
Levenshtein similarity if it is short, by Jaccard similarity of shingles if not. So

- a text of up to ``SHORT`` / ``LEAST`` word characters has q-grams: a short text, and every text that a short one can
  resemble by ``LEAST`` or more;
- a text of more than ``SHORT`` word characters has MinHash bands.

A text between the two has both, and looks for both: with its q-grams for short texts, with its bands for the others. No
pair across the boundary with a Levenshtein similarity of ``LEAST`` or more is lost: both texts have q-grams, and each
looks for lengths that include the other's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.fingerprinting.shingles import shingle_numbers
from es_simhash.search import minhash, qgrams

if TYPE_CHECKING:
    from collections.abc import Sequence

SHINGLES = "shingles"
BLOCKS = "blocks"
KINDS = (SHINGLES, BLOCKS)
"""The names of the kinds of keys, for ``init --keys``."""
SHORT = 60
"""Word characters of the longest short text. Bands find a text of 60 with two wrong characters, one of 20 in 2 of 5
cases; a longer text has more q-grams than bands."""
LEAST = 0.8
"""The least Levenshtein similarity for which no pair across the boundary is lost."""
LONGEST_WITH_GRAMS = int(SHORT / LEAST)
BANDS_IN_COMMON = 1


@dataclass(frozen=True)
class TextKeys:
    """The keys of one text.

    :param values: all different.
    :param length: word characters of the text.
    :param words: the word characters of a text with q-grams; else empty.
    """

    values: tuple[str, ...]
    length: int
    words: str = ""


@dataclass(frozen=True)
class KeyQuery:
    """A condition on the keys of a document: at least ``minimum`` of these keys, and a length in a range.

    :param lengths: the smallest and the largest number of word characters; None for any.
    """

    keys: tuple[str, ...]
    minimum: int
    lengths: tuple[int, int] | None = None


def text_keys(words: str) -> TextKeys:
    """Return the keys of a text.

    :param words: the word characters of the text; a text without any has no keys.
    """
    with_grams = len(words) <= LONGEST_WITH_GRAMS
    values = qgrams.gram_keys(words) if with_grams else []
    if len(words) > SHORT:
        values += minhash.keys(shingle_numbers(words))
    return TextKeys(tuple(values), len(words), words if with_grams else "")


def key_queries(keys: TextKeys, similarity: float) -> tuple[KeyQuery, ...]:
    """Return the conditions of which a similar document fulfils at least one.

    :param similarity: the least similarity: Levenshtein where one of the texts is short, else Jaccard.
    """
    queries = []
    bands = tuple(key for key in keys.values if key.startswith(minhash.KIND))
    if bands:
        queries.append(KeyQuery(bands, BANDS_IN_COMMON))
    if keys.words and similarity > 0:
        longest = LONGEST_WITH_GRAMS if keys.length <= SHORT else SHORT
        grams = qgrams.gram_query(keys.words, similarity, longest)
        if grams is not None:
            queries.append(KeyQuery(tuple(grams.keys), max(1, grams.least), (grams.shortest, grams.longest)))
    return tuple(queries)


def rows_sharing(
    queries: Sequence[Sequence[KeyQuery]], keys: Sequence[Sequence[str]], lengths: Sequence[int | None]
) -> list[dict[int, int]]:
    """Return for each set of queries the documents that fulfil one of them.

    :param queries: for each document that looks, its queries.
    :param keys: of each document that may be found.
    :param lengths: of each document that may be found.
    :returns: for each set of queries, by index of the document, how many keys it shares: the largest number over the
        queries that it fulfils.
    """
    conditions = [(asker, query) for asker, some in enumerate(queries) for query in some]
    wanted: defaultdict[str, list[int]] = defaultdict(list)
    for number, (_, query) in enumerate(conditions):
        for key in query.keys:
            wanted[key].append(number)
    found: list[dict[int, int]] = [{} for _ in queries]
    for index, (theirs, length) in enumerate(zip(keys, lengths, strict=True)):
        shared: Counter[int] = Counter()
        for key in theirs:
            if key in wanted:
                shared.update(wanted[key])
        for number, count in shared.items():
            asker, query = conditions[number]
            if count >= query.minimum and _in_range(length, query.lengths):
                found[asker][index] = max(count, found[asker].get(index, 0))
    return found


def _in_range(length: int | None, lengths: tuple[int, int] | None) -> bool:
    return lengths is None or (length is not None and lengths[0] <= length <= lengths[1])
