"""What does a program call? Each verb is written once, and driven by a sync and an async class."""

from es_simhash.client.documents import AsyncDocuments, Documents
from es_simhash.client.seen import AsyncSeenItems, SeenItems

__all__ = ["AsyncDocuments", "AsyncSeenItems", "Documents", "SeenItems"]
