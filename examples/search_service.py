"""A search service on FastAPI: add documents one at a time, look up duplicates, search without what a user has seen.

    pip install '.[async]' fastapi uvicorn
    es-simhash init --store http://localhost:9200/news
    es-simhash seen init --store http://localhost:9200
    STORE=http://localhost:9200 INDEX=news uvicorn --app-dir examples search_service:app

    curl -X POST localhost:8000/documents -H 'content-type: application/json' -d '{"id": "a", "text": "…"}'
    curl 'localhost:8000/similar?text=…'
    curl 'localhost:8000/search?text=…&user=ann'

One client and one object of each class serve all requests, for as long as the service runs.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from elasticsearch import AsyncElasticsearch
from fastapi import FastAPI, HTTPException

from es_simhash import AsyncDocuments, AsyncSeenItems

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

INDEX = os.environ.get("INDEX", "news")
USERS = os.environ.get("USERS", "es-simhash-users")
PAGE = 10


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncElasticsearch(os.environ.get("STORE", "http://localhost:9200")) as client:
        app.state.client = client
        app.state.documents = AsyncDocuments(client, index=INDEX)
        app.state.seen = AsyncSeenItems(client, index=USERS)
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/documents")
async def add(document: dict[str, Any]) -> dict[str, Any]:
    """Store a document, and say what it duplicates."""
    outcome = await app.state.documents.add(document)
    if outcome.outcome == "rejected":
        raise HTTPException(422, outcome.reason)
    if outcome.outcome == "failed":
        raise HTTPException(503, outcome.reason)
    return {"outcome": outcome.outcome, "duplicate_of": outcome.duplicate_of, "distance": outcome.distance}


@app.get("/similar")
async def similar(text: str, max_distance: int = 3) -> list[dict[str, Any]]:
    """Return the stored near-duplicates of a text."""
    matches = await app.state.documents.similar(text, max_distance=max_distance)
    return [{"id": match.id, "distance": match.distance} for match in matches]


@app.get("/search")
async def search(text: str, user: str, offset: int = 0) -> dict[str, Any]:
    """Return a page of hits: one of each group, and none that the user has seen. The page counts as seen."""

    async def hits(offset: int, size: int) -> Any:
        return await app.state.client.search(
            index=INDEX,
            query={"match": {"text": text}},
            from_=offset,
            size=size,
            source=["text"],
            docvalue_fields=["simhash.group"],
        )

    page = await app.state.seen.search_page(user, hits, PAGE, offset=offset)
    await app.state.seen.add(user, page.items)
    return {
        "hits": [{"id": hit["_id"], "text": hit["_source"]["text"]} for hit in page.hits],
        "next": None if page.exhausted else page.offset,
    }
