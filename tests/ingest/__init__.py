"""What the tests of ingest share: any JSON value, a reader, documents, and the worker processes that run."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import psutil
from hypothesis import strategies as st

from es_simhash import Documents, Fingerprinter
from es_simhash.decide.rule import ResolvedRule
from es_simhash.ingest.batches import Source
from es_simhash.ingest.reader import IdField, Reader
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.store.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash import Outcome

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Endless:
    """Documents without an end, counted."""

    def __init__(self) -> None:
        self.read = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            self.read += 1
            yield {"id": self.read, "text": f"第{self.read}条"}


def reader(id_field: str = "id", *text_fields: str) -> Reader:
    rule = DuplicateRule("fingerprint", text_field=text_fields or "text")
    return Reader(ResolvedRule(rule, Fingerprinter(), keys=False), IdField(id_field, is_stored=id_field != "_id"))


def new(store: Any = None) -> Documents:
    documents = Documents(MemoryStore() if store is None else store)
    documents.setup("fingerprint")
    return documents


def ingested(documents: Documents, items: Any, *, size: int = 500, **options: Any) -> Iterator[Outcome]:
    """Ingest in batches of a size."""
    with patch("es_simhash.client.documents.Source", partial(Source, size=size)):
        return documents.ingest(items, **options)


def failing(method: str, number: int, error: Exception) -> MemoryStore:
    """Return a store of which a method fails once.

    :param number: the call that fails, from 1 on.
    """
    store, numbers = MemoryStore(), itertools.count(1)
    perform = getattr(store, method)

    def call(*arguments: Any, **options: Any) -> Any:
        if next(numbers) == number:
            raise error
        return perform(*arguments, **options)

    setattr(store, method, call)
    return store


def contents(documents: Documents) -> list[Any]:
    return sorted((row.id, row.fingerprint, row.digest, row.group, row.duplicate_of) for row in documents.export())


def worker_processes(parent: int | None = None) -> list[psutil.Process]:
    """Return the worker processes that run.

    :param parent: the process whose children they are; this one by default.
    """
    children = psutil.Process(parent).children()
    return [child for child in children if child.is_running() and "LokyProcess" in " ".join(child.cmdline())]
