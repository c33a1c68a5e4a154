"""Near-duplicate content in Elasticsearch, found by Simhash; and items that a user never sees twice."""

from es_simhash.client import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.core.bloom import BloomFilter
from es_simhash.core.fingerprint import Fingerprint, Fingerprinter, fingerprint
from es_simhash.core.scheme import Scheme
from es_simhash.errors import SimhashError
from es_simhash.flows.outcome import Outcome
from es_simhash.flows.similar import Match
from es_simhash.stores.elasticsearch.clause import candidates_clause, plain_clause, ring_clause

__version__ = "0.1.0"

__all__ = [
    "AsyncDocuments",
    "AsyncSeenItems",
    "BloomFilter",
    "Documents",
    "Fingerprint",
    "Fingerprinter",
    "Match",
    "Outcome",
    "Scheme",
    "SeenItems",
    "SimhashError",
    "candidates_clause",
    "fingerprint",
    "plain_clause",
    "ring_clause",
]
