"""Which Elasticsearch the tests talk to, said in the header of every run.

The address in ELASTICSEARCH_TEST_URL comes first; else a node started by the suite, where a JDK and Maven are found;
else the tests that need one are skipped, or failed where ES_SIMHASH_REQUIRE_ELASTICSEARCH=1 (as in CI) says so.
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

from tests.es_node.node import VERSION, Node, NodeUnavailableError, check_available, running_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

URL_VARIABLE = "ELASTICSEARCH_TEST_URL"
REQUIRE_VARIABLE = "ES_SIMHASH_REQUIRE_ELASTICSEARCH"
REPORTED_PACKAGES = ["elasticsearch", "numpy", "mmh3", "jieba", "rjieba"]


def pytest_report_header() -> list[str]:
    return [f"server: {_server()}", "versions: " + ", ".join(_versions())]


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """The address of an Elasticsearch that all tests share: each keeps to indices of its own (`make_index`)."""
    if given := os.environ.get(URL_VARIABLE):
        yield given
        return
    if missing := _missing_for_own_node():
        skip_or_fail(f"no Elasticsearch: {URL_VARIABLE} is not set, and the suite cannot start a node: {missing}")
    with running_node() as node:
        yield node.url


@pytest.fixture(scope="module")
def mortal_node() -> Iterator[Node]:
    """A node apart from the shared one, for tests that kill it; whoever kills it restarts it."""
    require_own_node()
    with running_node() as node:
        yield node


@pytest.fixture
def make_index(elasticsearch_url: str) -> Iterator[Callable[[], str]]:
    """Give index names that nobody else has, one a call; whatever is there under them afterwards is deleted."""
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


def require_own_node() -> None:
    if missing := _missing_for_own_node():
        skip_or_fail(f"the suite cannot start a node: {missing}")


def skip_or_fail(reason: str) -> NoReturn:
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{reason} ({REQUIRE_VARIABLE}=1 forbids to skip)", pytrace=False)
    pytest.skip(reason)


def _missing_for_own_node() -> str | None:
    try:
        check_available()
    except NodeUnavailableError as missing:
        return str(missing)
    return None


def _server() -> str:
    if given := os.environ.get(URL_VARIABLE):
        address = urlsplit(given)
        return f"{address.scheme}://{address.hostname}:{address.port}"  # without the password
    if missing := _missing_for_own_node():
        return f"none: {missing}"
    return f"started by the suite when a test first needs it, Elasticsearch {VERSION}"


def _versions() -> list[str]:
    return [f"python {platform.python_version()}", *(f"{name} {_version_of(name)}" for name in REPORTED_PACKAGES)]


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"
