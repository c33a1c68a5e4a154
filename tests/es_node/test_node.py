"""A test that needs a node tells if there can be none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.es_node import fixtures
from tests.es_node.node import NEWEST


def test_skip_becomes_a_failure_where_a_server_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = replace(NEWEST, jdks=range(999, 1001))
    for value, outcome in (("", pytest.skip.Exception), ("1", pytest.fail.Exception)):
        monkeypatch.setenv("ES_SIMHASH_REQUIRE_ELASTICSEARCH", value)
        with pytest.raises(outcome, match="JDK of version 999 or later"):
            fixtures.require_own_node(nowhere)
