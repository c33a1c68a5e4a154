"""Addresses of stores, and their options. No request is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch

from es_simhash import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.errors import InputError

URL = "http://localhost:9200"
CLASSES = [Documents, AsyncDocuments, SeenItems, AsyncSeenItems]


def test_options_together_with_a_client_are_named_in_the_error() -> None:
    with Elasticsearch(URL) as client, pytest.raises(InputError, match="sheme, api_key given with a client"):
        Documents(client, index="news", sheme="128", api_key="x")


def test_the_async_classes_refuse_them_too() -> None:
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


def opened(client_class: type[Any], *address: str, **options: Any) -> str:
    """Return the name of the store that a class opens."""
    client = client_class(*address, **options)
    closing = client.close()
    if closing is not None:
        asyncio.run(closing)
    name: str = client.name
    return name


@pytest.mark.parametrize("client_class", CLASSES)
@pytest.mark.parametrize("end", ["", "/"])
def test_documents_and_users_have_different_indexes_if_the_address_names_none(
    client_class: type[Any], end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = "es-simhash" if "Documents" in client_class.__name__ else "es-simhash-users"
    assert opened(client_class, f"{URL}{end}") == f"{URL}/{index}"
    monkeypatch.setenv("ELASTICSEARCH_URL", f"{URL}{end}")
    assert opened(client_class) == f"{URL}/{index}"


@pytest.mark.parametrize("client_class", CLASSES)
def test_an_index_that_the_address_or_an_argument_names_is_used(client_class: type[Any]) -> None:
    assert opened(client_class, f"{URL}/news") == f"{URL}/news"
    assert opened(client_class, URL, index="news") == f"{URL}/news"


@pytest.mark.parametrize("client_class", CLASSES)
def test_documents_and_users_share_a_file(client_class: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELASTICSEARCH_URL", raising=False)
    assert opened(client_class) == "sqlite:///es-simhash.db"
