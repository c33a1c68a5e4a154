"""Laws of docker/: versions pinned, nothing reachable from outside, every server watched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.es_node.node import NEWEST, RELEASES

FOLDER = Path(__file__).resolve().parents[1] / "docker"
FILES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))}
SERVERS = [
    pytest.param(service, id=f"{file}-{name}")
    for file, content in FILES.items()
    for name, service in content["services"].items()
    if "entrypoint" not in service  # with one of its own it borrows the image for another task
]

each_file = pytest.mark.parametrize("file", FILES)
each_server = pytest.mark.parametrize("server", SERVERS)


def services(file: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = FILES[file]["services"]
    return found


@each_file
def test_the_image_is_the_version_that_the_tests_run_and_can_be_set(file: str) -> None:
    image = f"docker.elastic.co/elasticsearch/elasticsearch:${{ES_VERSION:-{NEWEST.version}}}"
    if file == "opensearch":
        image = f"opensearchproject/opensearch:${{OPENSEARCH_VERSION:-{RELEASES['opensearch'].version}}}"
    assert {service["image"] for service in services(file).values()} == {image}


@each_file
def test_ports_are_published_on_loopback_only(file: str) -> None:
    ports = [port for service in services(file).values() for port in service.get("ports", [])]
    assert ports
    assert all(re.fullmatch(r"127\.0\.0\.1:\$\{(ES|OPENSEARCH)_PORT\w*:-\d+\}:9200", port) for port in ports)
    assert len(set(ports)) == len(ports)


@each_file
def test_each_server_keeps_its_data_in_a_named_volume_of_its_own(file: str) -> None:
    mounts = [mount for service in services(file).values() for mount in service["volumes"]]
    data = [mount.split(":")[0] for mount in mounts if mount.endswith("/data")]
    assert len(data) == len(set(data)) == sum("healthcheck" in service for service in services(file).values())
    assert {mount.split(":")[0] for mount in mounts} == set(FILES[file]["volumes"])


@each_server
def test_the_health_check_fails_on_a_red_cluster_and_waits_for_a_slow_machine(server: dict[str, Any]) -> None:
    check = server["healthcheck"]
    assert re.search(r"curl -f.*_cluster/health\?.*wait_for_status=yellow&timeout=5s", check["test"])
    assert "--insecure" not in check["test"]
    assert int(check["retries"]) * int(check["interval"].removesuffix("s")) >= 1_200


@each_server
def test_the_memory_limit_is_twice_the_heap(server: dict[str, Any]) -> None:
    [java] = [value for name, value in server["environment"].items() if name.endswith("_JAVA_OPTS")]
    heap, limit = (re.search(r":-(\d+)([mg])\}", text) for text in (java, server["mem_limit"]))
    assert heap is not None
    assert limit is not None
    unit = {"m": 1, "g": 1024}
    assert int(limit[1]) * unit[limit[2]] >= 2 * int(heap[1]) * unit[heap[2]]


@pytest.mark.parametrize(("file", "variable"), [("secured", "ELASTIC"), ("opensearch", "OPENSEARCH_INITIAL_ADMIN")])
def test_a_password_has_no_default(file: str, variable: str) -> None:
    given = [each["environment"] for each in services(file).values() if "environment" in each]
    assert given
    assert all(each[f"{variable}_PASSWORD"].startswith(f"${{{variable}_PASSWORD:?") for each in given)
