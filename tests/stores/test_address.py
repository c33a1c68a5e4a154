"""What an address and its options may be: no server is asked."""

from __future__ import annotations

import asyncio

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch

from es_simhash import AsyncDocuments, Documents
from es_simhash.errors import InputError

URL = "http://localhost:9200"


def test_options_beside_a_client_are_refused_by_name() -> None:
    with Elasticsearch(URL) as client, pytest.raises(InputError, match="sheme, api_key given with a client"):
        Documents(client, index="news", sheme="128", api_key="x")


def test_the_async_door_refuses_them_too() -> None:
    async def main() -> None:
        async with AsyncElasticsearch(URL) as client:
            with pytest.raises(InputError, match="api_key given with a client"):
                AsyncDocuments(client, index="news", api_key="x")

    asyncio.run(main())


def test_an_index_is_named_once() -> None:
    with Documents(URL, index="news") as documents:
        assert documents.name == f"{URL}/news"
    with pytest.raises(InputError, match="names the index 'old', and index='news' is given too"):
        Documents(f"{URL}/old", index="news")


def test_a_path_before_the_index_is_kept() -> None:
    with Documents(f"{URL}/behind/a/proxy/news") as documents:
        assert documents.name == f"{URL}/behind/a/proxy/news"
