"""What does every store do? The Store protocol, and the values that its methods take and return."""

from es_simhash.contract.candidates import Candidates, Found
from es_simhash.contract.documents import Scan, ScanPage, Written, pages
from es_simhash.contract.fingerprints import FingerprintPage
from es_simhash.contract.health import Location, does_not_exist, similar_first
from es_simhash.contract.rows import Entry, Link, Probe, Row
from es_simhash.contract.seen import Changed, UserState, seen_mismatch
from es_simhash.contract.setup import KeysState, Place, StoredRule, scheme_mismatch
from es_simhash.contract.store import Store

__all__ = [
    "Candidates",
    "Changed",
    "Entry",
    "FingerprintPage",
    "Found",
    "KeysState",
    "Link",
    "Location",
    "Place",
    "Probe",
    "Row",
    "Scan",
    "ScanPage",
    "Store",
    "StoredRule",
    "UserState",
    "Written",
    "does_not_exist",
    "pages",
    "scheme_mismatch",
    "seen_mismatch",
    "similar_first",
]
