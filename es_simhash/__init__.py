"""Near-duplicate content in Elasticsearch, found by Simhash; and items that a user never sees twice.

Everything in ``__all__`` is public, and so is the module :mod:`es_simhash.contract` (what a store does), and what
docs/ shows of :mod:`es_simhash.tools`. All other modules are internal: they may change.

A name is imported from its module at its first use. So the command starts to handle signals before it loads anything.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from es_simhash.bloom import BloomFilter
    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.client import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
    from es_simhash.client.group_search import GroupSearch, group_search
    from es_simhash.client.near_query import NearQuery, near_query
    from es_simhash.contract import Row
    from es_simhash.deciding.duplicates import Duplicate
    from es_simhash.deciding.given_links import LinksReport
    from es_simhash.deciding.group import GroupReport
    from es_simhash.deciding.outcome import Counts, Outcome
    from es_simhash.deciding.similar import Match
    from es_simhash.deciding.undo import RestoreReport
    from es_simhash.errors import (
        AccessDenied,
        ConflictError,
        DuplicateFound,
        FilterFormatError,
        FilterMismatch,
        IncompleteAnswer,
        InputError,
        NotSetUp,
        SchemeError,
        SchemeMismatch,
        SimhashError,
        StoreError,
        StoreUnavailable,
        TooLarge,
        Unsupported,
        WrongServer,
    )
    from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter, fingerprint
    from es_simhash.fingerprinting.frequencies import DocumentFrequencies, idf_table
    from es_simhash.fingerprinting.scheme import CONFIRMED, Scheme
    from es_simhash.fingerprinting.tables import IdfTable, StopWords
    from es_simhash.input import read_file
    from es_simhash.lines import Line, json_lines
    from es_simhash.search.candidates import candidates_clause, plain_clause
    from es_simhash.seen.changes import SeenReport, SeenStats
    from es_simhash.seen.page import Page
    from es_simhash.similarity.compare import Comparison, compare
    from es_simhash.similarity.rule import DuplicateRule

__version__ = "0.1.0"

__all__ = [
    "CONFIRMED",
    "AccessDenied",
    "AsyncDocuments",
    "AsyncSeenItems",
    "BloomFilter",
    "Comparison",
    "ConflictError",
    "Counts",
    "DocumentFrequencies",
    "Documents",
    "Duplicate",
    "DuplicateFound",
    "DuplicateRule",
    "FilterFormatError",
    "FilterMismatch",
    "Fingerprint",
    "Fingerprinter",
    "GroupReport",
    "GroupSearch",
    "IdfTable",
    "IncompleteAnswer",
    "InputError",
    "Line",
    "LinksReport",
    "Match",
    "NearQuery",
    "NotSetUp",
    "Outcome",
    "Page",
    "RestoreReport",
    "Row",
    "Scheme",
    "SchemeError",
    "SchemeMismatch",
    "SeenConfig",
    "SeenItems",
    "SeenReport",
    "SeenStats",
    "SimhashError",
    "StopWords",
    "StoreError",
    "StoreUnavailable",
    "TooLarge",
    "Unsupported",
    "WrongServer",
    "candidates_clause",
    "compare",
    "fingerprint",
    "group_search",
    "idf_table",
    "json_lines",
    "near_query",
    "plain_clause",
    "read_file",
]

_MODULES = {
    "bloom": ["BloomFilter"],
    "bloom.seen": ["SeenConfig"],
    "client": ["AsyncDocuments", "AsyncSeenItems", "Documents", "SeenItems"],
    "client.group_search": ["GroupSearch", "group_search"],
    "client.near_query": ["NearQuery", "near_query"],
    "contract": ["Row"],
    "errors": [
        "AccessDenied",
        "ConflictError",
        "DuplicateFound",
        "FilterFormatError",
        "FilterMismatch",
        "IncompleteAnswer",
        "InputError",
        "NotSetUp",
        "SchemeError",
        "SchemeMismatch",
        "SimhashError",
        "StoreError",
        "StoreUnavailable",
        "TooLarge",
        "Unsupported",
        "WrongServer",
    ],
    "fingerprinting.fingerprinter": ["Fingerprint", "Fingerprinter", "fingerprint"],
    "fingerprinting.frequencies": ["DocumentFrequencies", "idf_table"],
    "fingerprinting.scheme": ["CONFIRMED", "Scheme"],
    "fingerprinting.tables": ["IdfTable", "StopWords"],
    "input": ["read_file"],
    "lines": ["Line", "json_lines"],
    "search.candidates": ["candidates_clause", "plain_clause"],
    "similarity.compare": ["Comparison", "compare"],
    "similarity.rule": ["DuplicateRule"],
    "deciding.duplicates": ["Duplicate"],
    "deciding.group": ["GroupReport"],
    "deciding.outcome": ["Counts", "Outcome"],
    "seen.page": ["Page"],
    "seen.changes": ["SeenReport", "SeenStats"],
    "deciding.similar": ["Match"],
    "deciding.undo": ["RestoreReport"],
    "deciding.given_links": ["LinksReport"],
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
