"""What does a program call? A sync class, and an async class that runs it in threads."""

from es_simhash.client.aio import AsyncDocuments, AsyncSeenItems
from es_simhash.client.documents import Documents
from es_simhash.client.seen import SeenItems

__all__ = ["AsyncDocuments", "AsyncSeenItems", "Documents", "SeenItems"]
