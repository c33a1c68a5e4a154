"""What all tests share: the real Elasticsearch, and readable failures of the store contract."""

from __future__ import annotations

import pytest

pytest_plugins = ["tests.es_node.fixtures"]
pytest.register_assert_rewrite("es_simhash.testing")
