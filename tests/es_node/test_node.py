"""The node of the tests keeps what it has acknowledged, and ends with its owner."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.es_node import fixtures
from tests.es_node import node as node_module
from tests.es_node.node import NEWEST, Node, NodeError, NodeUnavailableError, running_node

REPOSITORY = Path(__file__).resolve().parents[2]
OWNER = """
import time
from tests.es_node.node import running_node
with running_node() as node:
    print(node.folder, flush=True)
    time.sleep(600)
"""


@pytest.mark.nightly
@pytest.mark.elasticsearch
def test_running_node_refuses_a_second_start_on_its_folder(mortal_node: Node) -> None:
    with pytest.raises(NodeError, match="already runs in"):
        Node(mortal_node.folder).start()
    assert mortal_node.pid


def test_a_lock_that_another_process_holds_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    with path.open("a+") as file, path.open("a+") as later:
        assert node_module._take(file, shared=True)
        holder = subprocess.Popen(["sleep", "0.3"], pass_fds=[file.fileno()])  # as between a fork and its exec
        file.close()
        assert not node_module._take(later)
        assert node_module._take(later, seconds=30)
        assert holder.wait() == 0


@pytest.mark.nightly
@pytest.mark.elasticsearch
def test_node_dies_with_its_killed_owner_and_its_folder_goes_at_the_next_start(mortal_node: Node) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        orphan = Node(Path(owner.stdout.readline().strip()))
        assert orphan.pid
        owner.kill()
    deadline = time.monotonic() + 10
    while orphan.pid:
        assert time.monotonic() < deadline, "the node outlived its owner"
        time.sleep(0.05)

    with pytest.raises(NodeError), running_node(heap="1k"):  # fails at once, after it tidied up
        pass
    assert not orphan.folder.exists()
    assert mortal_node.pid, "a node whose owner lives is not tidied away"


@pytest.mark.elasticsearch
def test_node_that_does_not_come_up_tells_its_last_lines(tmp_path: Path) -> None:
    fixtures.require_own_node()
    with pytest.raises(NodeError, match="Too small maximum heap"):
        Node(tmp_path, heap="1k").start()


def test_missing_jdk_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NodeUnavailableError, match="JDK of version 999 or later"):
        node_module.find_jdk(replace(NEWEST, jdks=range(999, 1001)))


def test_skip_becomes_a_failure_where_elasticsearch_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(fixtures.REQUIRE_VARIABLE, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no server"):
        fixtures.skip_or_fail("no server")
    monkeypatch.setenv(fixtures.REQUIRE_VARIABLE, "1")
    with pytest.raises(pytest.fail.Exception, match="no server"):
        fixtures.skip_or_fail("no server")
