"""The node of the tests keeps what it has acknowledged, and ends with its owner."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elasticsearch import Elasticsearch

from tests.es_node import fixtures
from tests.es_node import node as node_module
from tests.es_node.node import NEWEST, RELEASES, Node, NodeError, NodeUnavailableError, running_node

if TYPE_CHECKING:
    from collections.abc import Callable

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
def test_document_outlives_a_killed_node(mortal_node: Node) -> None:
    url = mortal_node.url
    with Elasticsearch(url) as client:
        client.index(index="kept", id="1", document={"title": "新桥通车"})
        mortal_node.kill()
        assert mortal_node.pid is None
        mortal_node.restart()
        assert mortal_node.url == url
        assert client.get(index="kept", id="1")["_source"] == {"title": "新桥通车"}
        client.indices.refresh(index="kept")
        assert client.count(index="kept")["count"] == 1


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


@pytest.mark.elasticsearch
def test_indices_are_deleted_after_the_test(elasticsearch_url: str, make_index: Callable[[], str]) -> None:
    first, second = make_index(), make_index()
    assert first != second
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.create(index=first)  # the second one is never made, and that is no error


@pytest.mark.nightly
@pytest.mark.elasticsearch
def test_a_killed_node_comes_back_to_its_cluster_and_keeps_its_data(mortal_cluster: list[Node]) -> None:
    first, second, _ = mortal_cluster
    with Elasticsearch(first.url) as client:
        client.indices.create(index="kept", settings={"number_of_replicas": 2})
        client.index(index="kept", id="1", document={"title": "新桥通车"})
        assert client.info()["version"]["number"] == RELEASES["7"].version
    second.kill()
    second.restart()
    with Elasticsearch(second.url, request_timeout=90) as client:
        assert client.cluster.health(wait_for_nodes="3", wait_for_status="green", timeout="60s")["number_of_nodes"] == 3
        assert client.get(index="kept", id="1", preference="_local")["_source"] == {"title": "新桥通车"}


@pytest.mark.parametrize("release", RELEASES)
def test_a_source_has_the_lines_of_its_release_alone(release: str) -> None:
    text = "".join(RELEASES[release].source(path) for path in RELEASES[release].sources)
    majors = {each.major for each in RELEASES.values()}
    assert {major for major in majors if f"// only in {major}" in text} == {RELEASES[release].major}


def test_missing_jdk_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NodeUnavailableError, match="JDK of version 999 or later"):
        node_module.find_jdk(replace(NEWEST, jdks=range(999, 1001)))


def test_missing_maven_matters_only_before_the_first_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(node_module, "find_jdk", lambda release: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NodeUnavailableError, match="no mvn on PATH"):
        node_module.check_available()


def test_skip_becomes_a_failure_where_elasticsearch_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(fixtures.REQUIRE_VARIABLE, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no server"):
        fixtures.skip_or_fail("no server")
    monkeypatch.setenv(fixtures.REQUIRE_VARIABLE, "1")
    with pytest.raises(pytest.fail.Exception, match="no server"):
        fixtures.skip_or_fail("no server")


def test_header_names_the_server_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fixtures.URL_VARIABLE, "https://elastic:secret@es.example:9243")
    server, _, versions = fixtures.pytest_report_header()
    assert server == "server: https://es.example:9243"
    assert "secret" not in server
    assert versions.startswith("versions: python ")
