"""The node of the tests keeps what it has acknowledged, and ends with its owner."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests import ROOT
from tests.es_node import fixtures
from tests.es_node.node import NEWEST, Node, NodeError, running_node

OWNER = """
import time
from tests.es_node.node import running_node
with running_node() as node:
    print(node.pid, node.folder, flush=True)
    time.sleep(600)
"""


@pytest.mark.nightly
@pytest.mark.elasticsearch
def test_node_dies_with_its_killed_owner_and_its_folder_goes_at_the_next_start(mortal_node: Node) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, _, folder = owner.stdout.readline().strip().partition(" ")
        orphan = psutil.Process(int(pid))
        owner.kill()
    orphan.wait(10)
    with pytest.raises(NodeError), running_node(heap="1k"):  # fails at once, after it tidied up
        pass
    assert not Path(folder).exists()
    assert mortal_node.folder.exists(), "a node whose owner lives is not tidied away"


@pytest.mark.elasticsearch
def test_node_that_does_not_come_up_tells_its_last_lines(tmp_path: Path) -> None:
    fixtures.require_own_node(NEWEST)
    with pytest.raises(NodeError, match="Too small maximum heap"):
        Node(tmp_path, heap="1k").start()


def test_skip_becomes_a_failure_where_a_server_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = replace(NEWEST, jdks=range(999, 1001))
    for value, outcome in (("", pytest.skip.Exception), ("1", pytest.fail.Exception)):
        monkeypatch.setenv("ES_SIMHASH_REQUIRE_ELASTICSEARCH", value)
        with pytest.raises(outcome, match="JDK of version 999 or later"):
            fixtures.require_own_node(nowhere)
