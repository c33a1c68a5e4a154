"""What all tests share: the real Elasticsearch, and how hypothesis draws examples."""

from __future__ import annotations

import os
from itertools import compress
from operator import not_

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.es_node.fixtures"]

# A test's first example may load a dictionary or open a connection: no law here is about time. Where CI is set, the
# examples are the same in each run, so what fails there fails here too; elsewhere each run draws others.
settings.register_profile(
    "untimed",
    settings(),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    database=None if "CI" in os.environ else settings().database,
)
settings.load_profile("untimed")
settings.register_profile("quick", settings.get_profile("untimed"), max_examples=20)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run no test that is slow or needs a server")
    parser.addoption("--nightly", action="store_true", help="run the tests with the marker nightly too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes minutes, unless it is asked for. Skip what this system cannot run."""
    if os.name != "posix":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="needs a POSIX system"))
    left_out = [] if config.option.nightly else ["nightly"]
    if config.option.quick:
        left_out += ["slow", "elasticsearch", "opensearch"]
    is_left_out = [any(map(item.get_closest_marker, left_out)) for item in items]
    config.hook.pytest_deselected(items=[*compress(items, is_left_out)])
    items[:] = compress(items, map(not_, is_left_out))


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples where the slow tests are left out."""
    if config.option.quick or "not slow" in config.option.markexpr:
        settings.load_profile("quick")
