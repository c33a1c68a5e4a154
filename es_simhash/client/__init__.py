"""The doors: what a program calls. Each method is one flow, run on the store; each class has an async twin."""

from es_simhash.client.async_documents import AsyncDocuments
from es_simhash.client.documents import Documents
from es_simhash.client.seen import AsyncSeenItems, SeenItems

__all__ = ["AsyncDocuments", "AsyncSeenItems", "Documents", "SeenItems"]
