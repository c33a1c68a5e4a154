"""Requests are made, and responses are read, without a client."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

FOLDER = "es_simhash.stores.elasticsearch"
PURE = ["by_id", "documents", "failures", "index", "mapping", "rows", "search", "set_up", "store", "users"]


@pytest.mark.parametrize("module", PURE)
def test_no_client_is_imported(module: str) -> None:
    program = (
        f"import sys, {FOLDER}.{module}\n"
        "print(*sorted(sys.modules.keys() & {'elasticsearch', 'elastic_transport', 'opensearchpy'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_client_is_imported_by_one_module() -> None:
    program = f"import sys, {FOLDER}.client; print('elasticsearch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
