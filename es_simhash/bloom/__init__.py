"""Has this been seen? Bloom filters: no is certain, yes errs at a rate that is kept at any size."""

from es_simhash.bloom.filter import BloomFilter
from es_simhash.bloom.items import Item
from es_simhash.bloom.layer import LayerInfo

__all__ = ["BloomFilter", "Item", "LayerInfo"]
