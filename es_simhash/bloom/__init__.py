"""Might a set contain this item?

A Bloom filter answers: "no" is certain, "yes" is wrong at a rate that the filter keeps at any size.
"""

from es_simhash.bloom.filter import BloomFilter
from es_simhash.bloom.layer import Item

__all__ = ["BloomFilter", "Item"]
