"""The Elasticsearch and the OpenSearch that the tests use. The header of every run names them.

It is the server at ELASTICSEARCH_TEST_URL. If the variable is not set, the suite starts a node, which needs a JDK and
Maven. ES_SIMHASH_TEST_RELEASE names its release: 7, 8 or 9. If there is no JDK or no Maven, the tests that need a
server are skipped; with ES_SIMHASH_REQUIRE_ELASTICSEARCH=1 (as in CI) they fail.

The same holds for OpenSearch, with OPENSEARCH_TEST_URL, ES_SIMHASH_REQUIRE_OPENSEARCH and the release opensearch-3.
"""

from __future__ import annotations

import itertools
import os
import platform
import uuid
from importlib import metadata
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import pytest
from elasticsearch import Elasticsearch
from opensearchpy import OpenSearch

from tests.es_node.node import (
    RELEASES,
    Node,
    NodeUnavailableError,
    Release,
    check_available,
    chosen_release,
    running_cluster,
    running_node,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPORTED_PACKAGES = ["elasticsearch", "opensearch-py", "numpy", "mmh3", "jieba", "rjieba"]


def pytest_report_header() -> list[str]:
    versions = (f"{name} {metadata.version(name)}" for name in REPORTED_PACKAGES)
    return [
        *(f"{product}: {_described(product)}" for product in ("elasticsearch", "opensearch")),
        f"versions: python {platform.python_version()}, {', '.join(versions)}",
    ]


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """The address of an Elasticsearch that all tests share. Each test uses its own indices (`make_index`)."""
    yield from _shared_server("elasticsearch")


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """The address of an OpenSearch that all tests share, as `elasticsearch_url`, without ``opensearch+``."""
    yield from _shared_server("opensearch")


def _shared_server(product: str) -> Iterator[str]:
    if given := os.environ.get(f"{product.upper()}_TEST_URL"):
        yield given
        return
    require_own_node(chosen_release(product))
    with running_node(chosen_release(product)) as node:
        yield node.url


@pytest.fixture(scope="module")
def mortal_node() -> Iterator[Node]:
    """Another node than the shared one, for tests that kill it. A test that kills it restarts it."""
    require_own_node(chosen_release())
    with running_node(chosen_release()) as node:
        yield node


@pytest.fixture(scope="module")
def mortal_cluster(request: pytest.FixtureRequest) -> Iterator[list[Node]]:
    """Three nodes for tests that kill them: of release 7, or of the one that an indirect parameter names.

    A test that kills a node restarts it.
    """
    release = RELEASES[getattr(request, "param", "7")]
    require_own_node(release)
    with running_cluster(release) as nodes:
        yield nodes


@pytest.fixture
def client(elasticsearch_url: str) -> Iterator[Elasticsearch]:
    """The official client of the shared Elasticsearch."""
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        yield client


@pytest.fixture
def make_index(elasticsearch_url: str) -> Iterator[Callable[[], str]]:
    """Return a new index name for each call. After the test the indices with these names are deleted."""
    with Elasticsearch(elasticsearch_url) as client:
        yield from _index_names(client)


@pytest.fixture
def make_opensearch_index(opensearch_url: str) -> Iterator[Callable[[], str]]:
    """`make_index` on OpenSearch."""
    with OpenSearch(opensearch_url) as client:
        yield from _index_names(client)


def _index_names(client: Any) -> Iterator[Callable[[], str]]:
    names: list[str] = []

    def make() -> str:
        names.append(f"test-{uuid.uuid4().hex[:16]}")
        return names[-1]

    yield make
    if names:
        client.indices.delete(index=names, ignore_unavailable=True)


ELASTICSEARCH = pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)
OPENSEARCH = pytest.param("opensearch", marks=pytest.mark.opensearch)


def new_addresses(request: pytest.FixtureRequest, kind: str) -> Callable[[], str]:
    """Return a function that returns addresses at which nothing is yet.

    :param kind: of the store: memory, sqlite, elasticsearch or opensearch.
    """
    if kind in ("memory", "sqlite"):
        folder, numbers = request.getfixturevalue("tmp_path"), itertools.count()
        return lambda: "memory://" if kind == "memory" else f"sqlite:///{folder}/{next(numbers)}.db"
    prefix, name = ("", "make_index") if kind == "elasticsearch" else ("opensearch+", "make_opensearch_index")
    url, make = request.getfixturevalue(f"{kind}_url"), request.getfixturevalue(name)
    return lambda: f"{prefix}{url}/{make()}"


@pytest.fixture(params=["sqlite", ELASTICSEARCH])
def new_address(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Returns addresses at which nothing is yet. A module may choose other kinds of stores."""
    return new_addresses(request, request.param)


@pytest.fixture
def address(new_address: Callable[[], str]) -> str:
    return new_address()


@pytest.fixture
def index_name(make_index: Callable[[], str]) -> str:
    return make_index()


def require_own_node(release: Release) -> None:
    """Skip or fail where this machine cannot start a node."""
    if missing := _missing_for_own_node(release):
        variables = f"{release.product.upper()}_TEST_URL is not set, and"
        reason = f"no {release}: {variables} the suite cannot start a node: {missing}"
        skip_or_fail(reason, f"ES_SIMHASH_REQUIRE_{release.product.upper()}")


def skip_or_fail(reason: str, variable: str) -> NoReturn:
    if os.environ.get(variable) == "1":
        pytest.fail(f"{reason} ({variable}=1 forbids to skip)", pytrace=False)
    pytest.skip(reason)


def _missing_for_own_node(release: Release) -> str | None:
    try:
        check_available(release)
    except NodeUnavailableError as missing:
        return str(missing)
    return None


def _described(product: str) -> str:
    """Return which server the tests use, for the header."""
    if given := os.environ.get(f"{product.upper()}_TEST_URL"):
        address = urlsplit(given)
        return f"{address.scheme}://{address.hostname}:{address.port}"  # without the password
    if missing := _missing_for_own_node(chosen_release(product)):
        return f"none: {missing}"
    return f"started by the suite when a test first needs it, {chosen_release(product)}"
