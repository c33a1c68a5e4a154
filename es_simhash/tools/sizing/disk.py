"""Bytes of an index in Elasticsearch, by field.

**An inverted index** has a dictionary of terms, and a list of postings for each term. Lucene keeps terms in blocks of
some 35, which share a prefix, and of each term the rest. The number of the only document of a term stands in the
dictionary; longer lists have the gaps between the numbers, in bytes of 7 bits, or from 128 documents on in packed bits.

**Doc values** of a keyword field have the terms once more, and for each value of a document the number of its term.

:func:`bytes_by_field` uses the names of the API ``_disk_usage``. It was compared with indices of one Lucene segment:
see scripts/benchmark/model.md.
"""

from __future__ import annotations

from math import exp, log, log2
from typing import TYPE_CHECKING

from es_simhash.fingerprinting.encoding import segment_count
from es_simhash.search.encoding import DIGITS, HASH_BITS
from es_simhash.search.minhash import BANDS
from es_simhash.tools.sizing.chances import SEGMENT, distinct

if TYPE_CHECKING:
    from es_simhash.tools.sizing.model import Collection

HEX, BASE_64, DECIMAL = 16, 64, 10
BLOCK = 35
"""Terms of a block of Lucene's dictionary: it has 25 to 48."""
PACKED = 128
"""Postings of a packed block."""
SOURCE, SOURCE_128 = 118.0, 40.0
"""Bytes of the object simhash in the compressed _source without keys; what 128 bits add."""
SOURCE_BAND = 8.1
"""Bytes of a key in the compressed _source."""
SEQUENCE, WRITTEN = 5.0, 2.5
"""Bytes of _seq_no and of simhash.written."""
LONG = 8.0 + 9.0
"""Bytes of 64 bits of a fingerprint: its doc values and its points. All of these constants: Elasticsearch 9.5.3, 20,000
random documents."""
ALL_DIFFERENT = 2.0**128
"""So many values that no two documents have the same one."""
BAND_VALUES = 2.0**HASH_BITS
DIGEST = 32
"""Characters of a digest."""


def bytes_by_field(
    collection: Collection, *, keys: bool = False, source_bytes: float = 0, band_values: float = BAND_VALUES
) -> dict[str, float]:
    """Return the bytes of a document in each field, without replicas.

    :param collection: the documents of one shard. More documents share terms, so each takes less.
    :param keys: the index has keys.
    :param source_bytes: of the document's own fields, in the index.
    :param band_values: values that a MinHash band may have.
    """
    n = collection.documents
    words = collection.bits // 64
    id_characters = len(str(n))
    fields = {
        "_source": SOURCE + SOURCE_128 * (words - 1) + source_bytes,
        "_id": inverted(n, ALL_DIFFERENT, id_characters, DECIMAL) + id_characters + 5,
        "_seq_no": SEQUENCE,
        "simhash.fp": LONG,
        "simhash.digest": inverted(n, ALL_DIFFERENT, DIGEST, HEX) + doc_values(n, ALL_DIFFERENT, DIGEST, HEX),
        "simhash.group": inverted(n, ALL_DIFFERENT, id_characters, DECIMAL)
        + doc_values(n, ALL_DIFFERENT, id_characters, DECIMAL),
        "simhash.written": WRITTEN,
    }
    fields |= {
        f"simhash.s{i}": inverted(n, 2**SEGMENT, SEGMENT // 4, HEX) for i in range(segment_count(collection.bits))
    }
    if words > 1:
        fields["simhash.fp1"] = LONG
    if keys:
        each = inverted(n, band_values, DIGITS, BASE_64, BANDS) + doc_values(n, band_values, DIGITS, BASE_64, BANDS)
        fields["simhash.keys"] = BANDS * each
        fields["_source"] += SOURCE_BAND * BANDS
    return fields


def cached_bytes(fields: dict[str, float]) -> float:
    """Return the bytes of a document that look-ups and writes read: the dictionaries, the postings, the doc values."""
    return sum(each for name, each in fields.items() if name not in ("_source", "_seq_no"))


def inverted(documents: int, values: float, characters: int, alphabet: int, fields: int = 1) -> float:
    """Return the bytes of a value of a document in an inverted index.

    :param documents: each of them has one value.
    :param values: how many there are, each as likely.
    :param characters: of a value that tell it from others.
    :param alphabet: letters of a character.
    :param fields: as many kinds of values share the dictionary, so their prefixes are longer.
    """
    terms = distinct(values, documents)
    term = 1 + suffix(terms * fields, characters, alphabet) + _vint(documents / 2)
    a_term = documents / terms
    if a_term < 2:  # the first posting of a term stands in the dictionary; a second one has its own list
        return (terms * term + (documents - terms) * _vint(values)) / documents
    gap = documents / a_term
    packed = a_term // PACKED * PACKED / a_term
    posting = packed * (log2(5.4 * gap) / 8 + 0.1) + (1 - packed) * _vint(gap)
    return posting + terms * term / documents


def doc_values(documents: int, values: float, characters: int, alphabet: int, fields: int = 1) -> float:
    """Return the bytes of a value of a document in doc values."""
    terms = distinct(values, documents)
    return terms / documents * suffix(terms * fields, characters, alphabet) + log2(max(2, terms * fields)) / 8


def suffix(terms: float, characters: int, alphabet: int) -> float:
    """Return the characters of a term that its block of the dictionary does not share."""
    return max(1.0, characters - log(max(1.0, terms / BLOCK), alphabet))


def _vint(gap: float) -> float:
    """Return the bytes of a number with the mean ``gap``, in bytes of 7 bits."""
    return 1.0 + sum(exp(-(2.0**bits) / max(gap, 1.0)) for bits in (7, 14, 21, 28))
