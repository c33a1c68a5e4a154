"""The Elasticsearch that the tests use. The header of every run names it.

It is the server at ELASTICSEARCH_TEST_URL. If the variable is not set, the suite starts a node, which needs a JDK and
Maven. ES_SIMHASH_TEST_RELEASE names its release: 7, 8 or 9. If there is no JDK or no Maven, the tests that need a
server are skipped; with ES_SIMHASH_REQUIRE_ELASTICSEARCH=1 (as in CI) they fail.
"""

from __future__ import annotations

import os
import platform
import uuid
from importlib import metadata
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

import pytest
from elasticsearch import Elasticsearch

from tests.es_node.node import (
    RELEASES,
    Node,
    NodeUnavailableError,
    check_available,
    chosen_release,
    running_cluster,
    running_node,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

URL_VARIABLE = "ELASTICSEARCH_TEST_URL"
REQUIRE_VARIABLE = "ES_SIMHASH_REQUIRE_ELASTICSEARCH"
REPORTED_PACKAGES = ["elasticsearch", "numpy", "mmh3", "jieba", "rjieba"]


def pytest_report_header() -> list[str]:
    return [f"server: {_server()}", "versions: " + ", ".join(_versions())]


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """The address of an Elasticsearch that all tests share. Each test uses its own indices (`make_index`)."""
    if given := os.environ.get(URL_VARIABLE):
        yield given
        return
    if missing := _missing_for_own_node():
        skip_or_fail(f"no Elasticsearch: {URL_VARIABLE} is not set, and the suite cannot start a node: {missing}")
    with running_node(chosen_release()) as node:
        yield node.url


@pytest.fixture(scope="module")
def mortal_node() -> Iterator[Node]:
    """Another node than the shared one, for tests that kill it. A test that kills it restarts it."""
    require_own_node()
    with running_node(chosen_release()) as node:
        yield node


@pytest.fixture(scope="module")
def mortal_cluster() -> Iterator[list[Node]]:
    """Three nodes of release 7, for tests that kill them. A test that kills a node restarts it."""
    require_own_node("7")
    # Fewer waits than in production: a lost shard is copied at once, and a lost master is noticed soon.
    with running_cluster(3, cluster__follower_lag__timeout="10s") as nodes:
        yield nodes


@pytest.fixture
def make_index(elasticsearch_url: str) -> Iterator[Callable[[], str]]:
    """Return a new index name for each call. After the test the indices with these names are deleted."""
    names: list[str] = []

    def make() -> str:
        names.append(f"test-{uuid.uuid4().hex[:16]}")
        return names[-1]

    yield make
    if names:
        with Elasticsearch(elasticsearch_url) as client:
            client.indices.delete(index=names, ignore_unavailable=True)


@pytest.fixture
def index_name(make_index: Callable[[], str]) -> str:
    return make_index()


def require_own_node(release: str = "") -> None:
    if missing := _missing_for_own_node(release):
        skip_or_fail(f"the suite cannot start a node: {missing}")


def skip_or_fail(reason: str) -> NoReturn:
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{reason} ({REQUIRE_VARIABLE}=1 forbids to skip)", pytrace=False)
    pytest.skip(reason)


def _missing_for_own_node(release: str = "") -> str | None:
    try:
        check_available(RELEASES[release] if release else chosen_release())
    except NodeUnavailableError as missing:
        return str(missing)
    return None


def _server() -> str:
    if given := os.environ.get(URL_VARIABLE):
        address = urlsplit(given)
        return f"{address.scheme}://{address.hostname}:{address.port}"  # without the password
    if missing := _missing_for_own_node():
        return f"none: {missing}"
    return f"started by the suite when a test first needs it, {chosen_release()}"


def _versions() -> list[str]:
    return [f"python {platform.python_version()}", *(f"{name} {_version_of(name)}" for name in REPORTED_PACKAGES)]


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"
