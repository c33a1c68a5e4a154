"""A store of each kind, set up and empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.stores.address import open_store
from tests.contract import LinearStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.contract import Store


@pytest.fixture(params=["linear", "sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "linear":
        store: Store = LinearStore()
    elif request.param == "sqlite":
        store = open_store("sqlite:///:memory:")
    else:
        url, make_index = request.getfixturevalue("elasticsearch_url"), request.getfixturevalue("make_index")
        store = open_store(f"{url}/{make_index()}")
    store.set_up(DEFAULT)
    yield store
    store.close()
