"""Which keys a text carries and asks for, by its length.

*Short* texts have up to ``SHORT`` word characters. A pair of texts is judged by the measure of its shorter text: by
Levenshtein similarity if that is short, by Jaccard similarity of shingles if not. So

- a text of up to ``SHORT`` / ``LEAST`` word characters carries q-grams: a short text, and every text that a short one
  can resemble by ``LEAST`` or more;
- a text of more than ``SHORT`` word characters carries MinHash bands.

What lies between carries both and asks for both: with its q-grams for short texts, with its bands for the others. No
pair across the boundary with a Levenshtein similarity of ``LEAST`` or more is lost: Both texts carry q-grams, and
either asks for lengths that include the other's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.fingerprinting.word_characters import shingle_numbers
from es_simhash.search import minhash
from es_simhash.search.qgrams import gram_keys, gram_query

if TYPE_CHECKING:
    from es_simhash.search.qgrams import GramQuery

SHORT = 60
"""Word characters of the longest short text. Bands find a text of 60 with two wrong characters, one of 20 in 2 of 5
cases; a longer text has more q-grams than bands."""
LEAST = 0.8
"""The least Levenshtein similarity for which no pair across the boundary is lost."""
LONGEST_WITH_GRAMS = int(SHORT / LEAST)


@dataclass(frozen=True)
class TextQuery:
    """What a text asks for: documents that fulfil either are candidates.

    :param bands: documents that share one of these keys; empty for a short text.
    :param grams: documents with a length in the range that share enough keys; None for a long text.
    """

    bands: list[str]
    grams: GramQuery | None


def text_keys(words: str) -> list[str]:
    """Return the keys that a stored text carries; none if it has no word character."""
    keys = gram_keys(words) if len(words) <= LONGEST_WITH_GRAMS else []
    if len(words) > SHORT:
        keys += minhash.keys(shingle_numbers(words))
    return keys


def text_query(words: str, similarity: float = LEAST) -> TextQuery:
    """Return what a text asks for.

    :param words: the word characters of the text, one at least.
    :param similarity: above 0, up to 1: the Levenshtein similarity to the short texts that are looked for.
    :raises InputError: if there is no such similarity, or no word character.
    """
    if len(words) <= SHORT:
        return TextQuery([], gram_query(words, similarity, LONGEST_WITH_GRAMS))
    bands = minhash.keys(shingle_numbers(words))
    return TextQuery(bands, gram_query(words, similarity, SHORT) if len(words) <= LONGEST_WITH_GRAMS else None)
