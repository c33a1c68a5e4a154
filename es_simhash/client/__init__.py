"""What does a program call? A sync class, and an async class that runs it in threads."""

from es_simhash.client.documents import AsyncDocuments, Documents
from es_simhash.client.seen import AsyncSeenItems, SeenItems

__all__ = ["AsyncDocuments", "AsyncSeenItems", "Documents", "SeenItems"]
