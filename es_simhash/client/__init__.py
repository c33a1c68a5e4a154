"""What does a program call? Each verb is a method of a sync class; the async class runs it in a thread."""

from es_simhash.client.documents import AsyncDocuments, Documents
from es_simhash.client.seen import AsyncSeenItems, SeenItems

__all__ = ["AsyncDocuments", "AsyncSeenItems", "Documents", "SeenItems"]
