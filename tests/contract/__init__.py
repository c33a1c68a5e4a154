"""What must a store pass? The contract suite. It compares every store with the reference implementation.

To test a store of your own, unpack the source distribution of es_simhash, subclass :class:`StoreContract` in a test
module, and run pytest on it from the folder with ``tests``, or with that folder in ``PYTHONPATH``::

    from tests.contract import StoreContract


    class TestMyStore(StoreContract):
        def make_store(self) -> Store:
            return MyStore(...)  # new, empty, not set up

        def open_again(self, store: Store) -> Store:
            return MyStore(...)  # the same data, as a second program opens it

- pytest runs every test of the suite. Each test calls ``make_store`` once.
- ``open_again`` may be left out if only one program can reach the data of the store.
- To close the stores, override both methods and add a fixture with ``autouse=True``.
- For readable failures, put ``pytest.register_assert_rewrite("tests.contract")`` into ``conftest.py``.

``LinearStore`` is the reference implementation. It keeps everything in memory, and it looks at every document for every
search. It suits tests of programs that use a store, too.
"""

from tests.contract.documents_contract import DocumentsContract
from tests.contract.health_contract import HealthContract
from tests.contract.keys_contract import KeysContract
from tests.contract.linear import LinearStore
from tests.contract.search_contract import SearchContract
from tests.contract.seen_contract import SeenContract
from tests.contract.set_up_contract import SetUpContract
from tests.contract.times_contract import TimesContract


class StoreContract(
    SetUpContract,
    DocumentsContract,
    SearchContract,
    KeysContract,
    TimesContract,
    SeenContract,
    HealthContract,
):
    """All tests for a store. Subclass it, and define ``make_store`` and perhaps ``open_again``."""


__all__ = ["LinearStore", "StoreContract"]
