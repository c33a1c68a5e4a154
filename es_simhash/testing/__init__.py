"""For whoever writes another store: the laws that every store keeps, and the slow twin it is compared with.

A new store is tested by one subclass::

    class TestMyStore(StoreContract):
        def make_store(self) -> Store:
            return MyStore(...)
"""

from es_simhash.testing.documents import DocumentsContract
from es_simhash.testing.linear import LinearStore
from es_simhash.testing.seen import SeenContract


class StoreContract(DocumentsContract, SeenContract):
    """All laws of a store, as tests for pytest. Subclass it and define ``make_store``."""


__all__ = ["LinearStore", "StoreContract"]
