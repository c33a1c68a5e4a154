"""Which items are no copy of an earlier one? No store is needed."""

from es_simhash.tools.dedupe.copies import Pair, distinct, pairs

__all__ = ["Pair", "distinct", "pairs"]
