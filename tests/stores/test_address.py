"""Addresses of stores, and their options. No request is sent."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.errors import InputError

URL = "http://localhost:9200"
CLASSES = [Documents, AsyncDocuments, SeenItems, AsyncSeenItems]


def test_options_together_with_a_client_are_named_in_the_error() -> None:
    with Elasticsearch(URL) as client, pytest.raises(InputError, match="sheme, api_key given with a client"):
        Documents(client, index="news", sheme="128", api_key="x")


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


# --- several hosts -------------------------------------------------------------------------------------------------


def nodes_of(documents: Documents) -> list[str]:
    """The addresses that the client may ask. It shuffles them."""
    return sorted(node.base_url for node in documents._store._index.client.transport.node_pool.all())  # type: ignore[attr-defined]


@pytest.mark.parametrize("client_class", CLASSES)
def test_an_address_may_name_several_hosts(client_class: type[Any]) -> None:
    assert opened(client_class, "http://a:9200,b:9201,[::1]:9202/news") == "http://a:9200,b:9201,[::1]:9202/news"


def test_each_host_gets_the_path_the_credentials_and_the_options() -> None:
    address = "https://ann:pa%2Css%40@a:9200,b:443/behind/a/proxy/news"
    with Documents(address, verify_certs=False, ssl_show_warn=False, request_timeout=3) as documents:
        assert documents.name == "https://a:9200,b:443/behind/a/proxy/news"
        assert nodes_of(documents) == ["https://a:9200/behind/a/proxy", "https://b:443/behind/a/proxy"]
        client = documents._store._index.client  # type: ignore[attr-defined]
        assert client._headers["authorization"] == f"Basic {b64encode(b'ann:pa,ss@').decode()}"


def test_elasticsearch_url_may_name_several_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELASTICSEARCH_URL", "http://a:9200,b:9200")
    monkeypatch.setenv("ELASTIC_API_KEY", "key")
    with Documents() as documents:
        assert documents.name == "http://a:9200,b:9200/es-simhash"
        assert documents._store._index.client._headers["authorization"] == "ApiKey key"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "options", [{"bearer_auth": "token"}, {"basic_auth": ("a", "b")}, {"headers": {"Authorization": "Bearer token"}}]
)
def test_other_credentials_replace_the_api_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setenv("ELASTIC_API_KEY", "key")
    with Documents(URL, index="news", **options) as documents:
        assert documents._store._index.client._headers["authorization"] in ("Bearer token", "Basic YTpi")  # type: ignore[attr-defined]


def test_the_options_of_sniffing_go_to_the_client() -> None:
    with Documents(URL, index="news", sniff_on_node_failure=True, min_delay_between_sniffing=1) as documents:
        assert documents._store._index.client.transport._sniff_on_node_failure  # type: ignore[attr-defined]


BAD_HOSTS = {
    "http://a:9200,b/news": "the address of b names no port: write http://b:9200/… (or :443)",
    "http://a,b:9200/news": "the address of a names no port",
    "http://a:9200,b:92x/news": "the host 'b' in the store's address has no valid port",
    "http://a:9200,b:99999/news": "the host 'b' in the store's address has no valid port",
    "http://a:9200,/news": "a host in the store's address has no name",
    "http://,a:9200/news": "a host in the store's address has no name",
    "http://a:9200,:9200/news": "a host in the store's address has no name",
    "http://a:9200,[::1:9200/news": "is invalid",
    "http://a:9200,http://b:9200/news": "the store's address has http:// in each host: write it once",
    "http://ann:secret@a:9200,bob:secret@b:9200/news": "the store's address has credentials in each host: write",
    "http://ann:secret/news": "the host 'ann' in the store's address has no valid port",
}


@pytest.mark.parametrize("address", BAD_HOSTS)
def test_an_address_with_a_bad_host_is_one_clear_line_without_the_password(address: str) -> None:
    with pytest.raises(InputError) as raised:
        Documents(address)
    message = str(raised.value)
    assert BAD_HOSTS[address] in message
    assert "secret" not in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("client_class", CLASSES)
@pytest.mark.parametrize("deadline", [-1, float("nan"), "5", None, True])
def test_a_deadline_that_is_no_number_of_seconds_is_refused(client_class: type[Any], deadline: Any) -> None:
    with pytest.raises(InputError, match="use a number of seconds from 0"):
        client_class("sqlite:///:memory:", deadline=deadline)
