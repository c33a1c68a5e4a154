"""Near-duplicate content in Elasticsearch, found by Simhash; and items that a user never sees twice."""

from es_simhash.bloom import BloomFilter
from es_simhash.client import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.contract import Row
from es_simhash.errors import SimhashError
from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter, fingerprint
from es_simhash.fingerprinting.scheme import CONFIRMED, Scheme
from es_simhash.search.candidates import candidates_clause, plain_clause
from es_simhash.verbs.group import GroupReport
from es_simhash.verbs.outcome import Counts, Outcome
from es_simhash.verbs.page import Page
from es_simhash.verbs.sample import SampledPair
from es_simhash.verbs.seen import SeenReport, SeenStats
from es_simhash.verbs.similar import Match

__version__ = "0.1.0"

__all__ = [
    "CONFIRMED",
    "AsyncDocuments",
    "AsyncSeenItems",
    "BloomFilter",
    "Counts",
    "Documents",
    "Fingerprint",
    "Fingerprinter",
    "GroupReport",
    "Match",
    "Outcome",
    "Page",
    "Row",
    "SampledPair",
    "Scheme",
    "SeenItems",
    "SeenReport",
    "SeenStats",
    "SimhashError",
    "candidates_clause",
    "fingerprint",
    "plain_clause",
]
