"""What an address and its options may be: no server is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch

from es_simhash import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.errors import InputError

URL = "http://localhost:9200"
DOORS = [Documents, AsyncDocuments, SeenItems, AsyncSeenItems]


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


def opened(door: type[Any], *address: str, **options: Any) -> str:
    """The name of what a door opens; nothing is sent."""
    made = door(*address, **options)
    closing = made.close()
    if closing is not None:
        asyncio.run(closing)
    name: str = made.name
    return name


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("end", ["", "/"])
def test_documents_and_users_have_an_index_each_where_the_address_names_none(
    door: type[Any], end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = "es-simhash" if "Documents" in door.__name__ else "es-simhash-users"
    assert opened(door, f"{URL}{end}") == f"{URL}/{index}"
    monkeypatch.setenv("ELASTICSEARCH_URL", f"{URL}{end}")
    assert opened(door) == f"{URL}/{index}"


@pytest.mark.parametrize("door", DOORS)
def test_an_index_that_is_named_is_the_one(door: type[Any]) -> None:
    assert opened(door, f"{URL}/news") == f"{URL}/news"
    assert opened(door, URL, index="news") == f"{URL}/news"


@pytest.mark.parametrize("door", DOORS)
def test_documents_and_users_share_a_file(door: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELASTICSEARCH_URL", raising=False)
    assert opened(door) == "sqlite:///es-simhash.db"
