"""An index on the shared node, and a proxy in front of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents
from tests.es_node.proxy import Proxy
from tests.faults import RULE

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def proxy(elasticsearch_url: str) -> Iterator[Proxy]:
    with Proxy(elasticsearch_url) as proxy:
        yield proxy


@pytest.fixture
def direct(elasticsearch_url: str, index_name: str) -> str:
    """The address of an index that was set up, past the proxy."""
    address = f"{elasticsearch_url}/{index_name}"
    with Documents(address) as documents:
        documents.setup(rule=RULE)
    return address


@pytest.fixture
def address(proxy: Proxy, direct: str, index_name: str) -> str:
    """The address of that index, through the proxy."""
    return f"{proxy.url}/{index_name}"
