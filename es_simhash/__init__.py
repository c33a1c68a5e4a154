"""Near-duplicate content in Elasticsearch, found by Simhash; and items that a user never sees twice."""

from es_simhash.client import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.core.bloom import BloomFilter
from es_simhash.core.fingerprint import Fingerprint, Fingerprinter, fingerprint
from es_simhash.core.scheme import CONFIRMED, Scheme
from es_simhash.errors import SimhashError
from es_simhash.flows.group import GroupReport
from es_simhash.flows.outcome import Counts, Outcome
from es_simhash.flows.page import Page
from es_simhash.flows.sample import SampledPair
from es_simhash.flows.seen import Report, Stats
from es_simhash.flows.similar import Match
from es_simhash.ops import Row
from es_simhash.stores.elasticsearch.clause import candidates_clause, plain_clause, ring_clause

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
    "Report",
    "Row",
    "SampledPair",
    "Scheme",
    "SeenItems",
    "SimhashError",
    "Stats",
    "candidates_clause",
    "fingerprint",
    "plain_clause",
    "ring_clause",
]
