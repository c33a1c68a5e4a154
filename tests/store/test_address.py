"""From an address to a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch
from opensearchpy import OpenSearch

from es_simhash.errors import InputError, StoreUnavailable
from es_simhash.store.address import open_store
from es_simhash.store.memory_store import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from es_simhash.store.protocol import Store


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment name nothing."""
    for name in ("ELASTICSEARCH_URL", "ELASTIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def named(address: Any, *arguments: Any, **options: Any) -> str:
    """Return the name of the store at an address."""
    store: Store = open_store(address, *arguments, **options)
    store.close()
    return store.name


def test_an_address_names_a_store(tmp_path: Path) -> None:
    assert named(f"sqlite:///{tmp_path}/a.db") == f"sqlite:///{tmp_path}/a.db"
    assert named("http://here:9200/news") == "http://here:9200/news"
    assert named("https://here:9200/behind/proxy/news") == "https://here:9200/behind/proxy/news"
    assert named("http://user:p%40ss@one:9200,two:9201/news") == "http://one:9200,two:9201/news"
    assert named("opensearch+http://here:9200/news") == "opensearch+http://here:9200/news"
    assert named("http://[::1]:9200/news") == "http://[::1]:9200/news"
    assert named("http://here:9200", "news") == "http://here:9200/news"
    assert named("http://here:9200") == "http://here:9200/es-simhash"


def test_the_environment_names_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert named(None) == "sqlite:///es-simhash.db"
    monkeypatch.setenv("ELASTICSEARCH_URL", "http://here:9200")
    assert named(None, default_index="users") == "http://here:9200/users"


def test_a_client_is_used_and_not_closed() -> None:
    for official, name in (
        (Elasticsearch("http://here:9200"), "http://here:9200/news"),
        (OpenSearch("http://here:9200"), "opensearch+http://here:9200/news"),
    ):
        assert named(official, "news") == name
        official.close()
    store = MemoryStore()
    assert open_store(store) is store


OTHER_FORMS = (
    "",
    "sqlite:a.db",
    "ftp://here:9200/a",
    "127.0.0.1:9200/news",
    "here:9200",
    "http://here/a",
    "http://user:secret@here:port/a",
    "http://:9200/a",
    "http://here:9200/a?b=c",
    "http://one:9200,http://two:9200/a",
    "http://user:secret@one:9200,user:secret@two:9200/a",
    "http://user:secret/word@here:9200/a",
    "http://user:secret@here/a",
    "user:secret@here:9200/a",
    "user:secret",
    "user:secret/a",
    "http://user:secret/a",
    "sqlite://user:secret@a.db",
    "http://user:secret#secret@here:9200/a",
    "http://here:9200/a?api_key=secret",
)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("sqlite:///:memory:", "use memory://"),
        *((address, "is invalid: use sqlite:///") for address in OTHER_FORMS),
        ("http://user:secret@here:9200/a*", "several indices"),
        ("http://here:9200/a,b", "several indices"),
    ],
)
def test_an_address_that_names_none_is_an_error(address: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        open_store(address)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("prefix", "credentials"),
    [
        ("", {"api_key": "a2V5"}),
        ("", {"basic_auth": ("desk", "secret")}),
        ("", {"headers": {"Authorization": "secret"}}),
        ("opensearch+", {"http_auth": ("desk", "secret")}),
        ("opensearch+", {"headers": {"authorization": "secret"}}),
    ],
)
def test_credentials_beside_a_user_in_the_address_are_refused(
    prefix: str, credentials: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"has a user, and .* is given too: leave one of them out") as raised:
        open_store(f"{prefix}http://desk:secret@here:9200/a", **credentials)
    assert "secret" not in str(raised.value)
    monkeypatch.setenv("ELASTIC_API_KEY", "a2V5")
    assert open_store(f"{prefix}http://desk:secret@here:9200/a").name == f"{prefix}http://here:9200/a"


def test_options_that_a_store_lacks_are_errors() -> None:
    for address, options in (
        ("sqlite:///a.db", {"api_key": "x"}),
        ("http://here:9200/a", {"no_such_option": 1}),
        ("http://here:9200/a", {"ca_certs": "/no/such/file"}),
        ("http://here:9200/a", {"api_key": "Schlüssel"}),
        ("http://here:9200/a", {"index": "b"}),
        ("opensearch+http://here:9200/a", {"api_key": "x"}),
        ("opensearch+http://here:9200/a", {"no_such_option": 1}),
        (Elasticsearch("http://here:9200"), {}),
        (object(), {}),
    ):
        with pytest.raises(InputError):
            open_store(address, **options)  # type: ignore[arg-type]


def test_an_async_client_is_refused() -> None:
    pytest.importorskip("aiohttp")
    with pytest.raises(InputError, match="a sync client"):
        open_store(AsyncElasticsearch("http://here:9200"), index="a")  # type: ignore[arg-type]


@pytest.mark.parametrize("prefix", ["", "opensearch+"])
def test_a_host_that_never_answered_is_an_error_at_once(prefix: str) -> None:
    store = open_store(f"{prefix}http://127.0.0.1:9,127.0.0.1:19/news", deadline=60)
    with pytest.raises(StoreUnavailable, match="check the address"):
        store.describe()
    store.close()
