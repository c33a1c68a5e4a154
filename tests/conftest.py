"""What all tests share: the real Elasticsearch, and readable failures of the store contract."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.es_node.fixtures"]
pytest.register_assert_rewrite("tests.contract")

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


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples where the slow tests are left out."""
    if "not slow" in config.option.markexpr:
        settings.load_profile("quick")
