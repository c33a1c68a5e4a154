"""Near-duplicate content in Elasticsearch, found by Simhash; and items that a user never sees twice.

Everything in ``__all__`` is public, and so is what docs/ shows of :mod:`es_simhash.tools`. All other modules are
internal: they may change.

A name is imported from its module at its first use. So the command starts to handle signals before it loads anything.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from es_simhash.bloom import BloomFilter
    from es_simhash.client import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
    from es_simhash.client.distinct import distinct, pairs
    from es_simhash.client.group_search import GroupSearch, group_search
    from es_simhash.client.near_query import NearQuery, near_query
    from es_simhash.decide.group import GroupReport
    from es_simhash.decide.outcome import Outcome
    from es_simhash.decide.remove import Duplicate
    from es_simhash.decide.similar import Match
    from es_simhash.errors import (
        AccessDenied,
        ConflictError,
        DuplicateFound,
        FilterFormatError,
        InputError,
        NotSetUp,
        SchemeMismatch,
        SimhashError,
        StoreError,
        StoreUnavailable,
    )
    from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter, fingerprint
    from es_simhash.fingerprinting.frequencies import DocumentFrequencies
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.fingerprinting.tables import IdfTable, StopWords
    from es_simhash.input import read_file
    from es_simhash.lines import Line
    from es_simhash.search.candidates import plain_clause
    from es_simhash.seen.changes import SeenReport, SeenStats
    from es_simhash.seen.page import Page
    from es_simhash.similarity.compare import Comparison, compare
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.store.types import Row

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "AsyncDocuments",
    "AsyncSeenItems",
    "BloomFilter",
    "Comparison",
    "ConflictError",
    "DocumentFrequencies",
    "Documents",
    "Duplicate",
    "DuplicateFound",
    "DuplicateRule",
    "FilterFormatError",
    "Fingerprint",
    "Fingerprinter",
    "GroupReport",
    "GroupSearch",
    "IdfTable",
    "InputError",
    "Line",
    "Match",
    "NearQuery",
    "NotSetUp",
    "Outcome",
    "Page",
    "Row",
    "Scheme",
    "SchemeMismatch",
    "SeenItems",
    "SeenReport",
    "SeenStats",
    "SimhashError",
    "StopWords",
    "StoreError",
    "StoreUnavailable",
    "compare",
    "distinct",
    "fingerprint",
    "group_search",
    "near_query",
    "pairs",
    "plain_clause",
    "read_file",
]

_MODULES = {
    "bloom": ["BloomFilter"],
    "client": ["AsyncDocuments", "AsyncSeenItems", "Documents", "SeenItems"],
    "client.group_search": ["GroupSearch", "group_search"],
    "client.near_query": ["NearQuery", "near_query"],
    "store.types": ["Row"],
    "decide.remove": ["Duplicate"],
    "decide.group": ["GroupReport"],
    "decide.outcome": ["Outcome"],
    "decide.similar": ["Match"],
    "errors": [
        "AccessDenied",
        "ConflictError",
        "DuplicateFound",
        "FilterFormatError",
        "InputError",
        "NotSetUp",
        "SchemeMismatch",
        "SimhashError",
        "StoreError",
        "StoreUnavailable",
    ],
    "fingerprinting.fingerprinter": ["Fingerprint", "Fingerprinter", "fingerprint"],
    "fingerprinting.frequencies": ["DocumentFrequencies"],
    "fingerprinting.scheme": ["Scheme"],
    "fingerprinting.tables": ["IdfTable", "StopWords"],
    "input": ["read_file"],
    "lines": ["Line"],
    "search.candidates": ["plain_clause"],
    "seen.changes": ["SeenReport", "SeenStats"],
    "seen.page": ["Page"],
    "similarity.compare": ["Comparison", "compare"],
    "similarity.rule": ["DuplicateRule"],
    "client.distinct": ["distinct", "pairs"],
}
"""The public names that each module defines."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
