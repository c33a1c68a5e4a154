"""Near-duplicate content in Elasticsearch, found by Simhash; and items that a user never sees twice.

Everything in ``__all__`` is public, and so is what docs/ shows of :mod:`es_simhash.tools`. All other modules are
internal: they may change.
"""

from __future__ import annotations

from es_simhash.bloom import BloomFilter
from es_simhash.client import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.client.distinct import distinct, pairs
from es_simhash.client.group_search import GroupSearch, group_search
from es_simhash.client.near_query import NearQuery, near_query
from es_simhash.client.page import Page
from es_simhash.decide.compare import Comparison, compare
from es_simhash.decide.group import GroupReport
from es_simhash.decide.judge import Contradiction
from es_simhash.decide.outcome import Outcome
from es_simhash.decide.pin import Pin
from es_simhash.decide.remove import Duplicate
from es_simhash.decide.similar import Match, Matches
from es_simhash.errors import (
    AccessDenied,
    ConflictError,
    FilterFormatError,
    InputError,
    NotSetUp,
    SchemeMismatch,
    SimhashError,
    StoreError,
    StoreUnavailable,
    StoreUnreachable,
)
from es_simhash.input import read_file
from es_simhash.lines import Line
from es_simhash.rows import Row
from es_simhash.seen import SeenCounts, SeenReport, SeenStats
from es_simhash.similarity.differences import Difference
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.store.elastic.query_plan import plain_clause
from es_simhash.text.fingerprinter import Fingerprint, Fingerprinter, fingerprint
from es_simhash.text.scheme import Scheme
from es_simhash.text.tables import DocumentFrequencies, IdfTable, StopWords

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "AsyncDocuments",
    "AsyncSeenItems",
    "BloomFilter",
    "Comparison",
    "ConflictError",
    "Contradiction",
    "Difference",
    "DocumentFrequencies",
    "Documents",
    "Duplicate",
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
    "Matches",
    "NearQuery",
    "NotSetUp",
    "Outcome",
    "Page",
    "Pin",
    "Row",
    "Scheme",
    "SchemeMismatch",
    "SeenCounts",
    "SeenItems",
    "SeenReport",
    "SeenStats",
    "SimhashError",
    "StopWords",
    "StoreError",
    "StoreUnavailable",
    "StoreUnreachable",
    "compare",
    "distinct",
    "fingerprint",
    "group_search",
    "near_query",
    "pairs",
    "plain_clause",
    "read_file",
]
