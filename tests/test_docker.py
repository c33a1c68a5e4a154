"""Laws of docker/: versions pinned, nothing reachable from outside, data kept apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.es_node.node import NEWEST, RELEASES

FOLDER = Path(__file__).resolve().parents[1] / "docker"
FILES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))}

each_file = pytest.mark.parametrize("file", FILES)


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


@pytest.mark.parametrize(("file", "variable"), [("secured", "ELASTIC"), ("opensearch", "OPENSEARCH_INITIAL_ADMIN")])
def test_a_password_has_no_default(file: str, variable: str) -> None:
    given = [each["environment"] for each in services(file).values() if "environment" in each]
    assert given
    assert all(each[f"{variable}_PASSWORD"].startswith(f"${{{variable}_PASSWORD:?") for each in given)
