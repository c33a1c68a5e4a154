"""Laws of the compose files: versions pinned, nothing reachable from outside, every server watched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.es_node.node import NEWEST, RELEASES

FOLDER = Path(__file__).resolve().parents[1] / "docker"
FILES = sorted(FOLDER.glob("*.yml"))
SERVERS = [
    pytest.param(service, id=f"{path.stem}-{name}")
    for path in FILES
    for name, service in yaml.safe_load(path.read_text(encoding="utf-8"))["services"].items()
    if "entrypoint" not in service  # with one of its own it borrows the image for another task
]

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
each_server = pytest.mark.parametrize("server", SERVERS)


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def test_there_is_a_file_for_one_node_for_three_for_a_secured_one_and_for_opensearch() -> None:
    assert [path.name for path in FILES] == ["one-node.yml", "opensearch.yml", "secured.yml", "three-nodes.yml"]


@each_file
def test_image_is_the_version_that_the_tests_run_and_can_be_set(path: Path) -> None:
    assert NEWEST.version.startswith("9.")
    image = f"docker.elastic.co/elasticsearch/elasticsearch:${{ES_VERSION:-{NEWEST.version}}}"
    if path.stem == "opensearch":
        image = f"opensearchproject/opensearch:${{OPENSEARCH_VERSION:-{RELEASES['opensearch'].version}}}"
    assert {service["image"] for service in read(path)["services"].values()} == {image}


@each_file
def test_ports_are_published_on_loopback_only(path: Path) -> None:
    ports = [port for service in read(path)["services"].values() for port in service.get("ports", [])]
    assert ports, "a cluster that nobody reaches"
    for port in ports:
        assert re.fullmatch(r"127\.0\.0\.1:\$\{(ES|OPENSEARCH)_PORT\w*:-\d+\}:9200", port)
    assert len(set(ports)) == len(ports)
    assert all("network_mode" not in service for service in read(path)["services"].values())


@each_server
def test_server_has_a_health_check_that_fails_on_a_red_cluster(server: dict[str, Any]) -> None:
    check = server["healthcheck"]
    assert re.search(r"curl -f.*_cluster/health\?.*wait_for_status=yellow", check["test"])
    inner = re.search(r"timeout=(\d+)s", check["test"])
    assert inner is not None
    assert int(inner[1]) < int(check["timeout"].removesuffix("s")), "the answer comes before curl is cut off"


@each_server
def test_server_has_a_fixed_heap(server: dict[str, Any]) -> None:
    [options] = [value for name, value in server["environment"].items() if name.endswith("_JAVA_OPTS")]
    assert re.fullmatch(r"-Xms(\$\{(ES|OPENSEARCH)_HEAP:-\d+[mg]\}) -Xmx\1", options)


@each_file
def test_data_is_in_named_volumes_of_one_server_each(path: Path) -> None:
    content = read(path)
    mounts = [mount for service in content["services"].values() for mount in service["volumes"]]
    data = [mount.split(":")[0] for mount in mounts if re.search(":/usr/share/(elastic|open)search/data$", mount)]
    assert len(data) == len(set(data)) == sum("healthcheck" in service for service in content["services"].values())
    assert {mount.split(":")[0] for mount in mounts} == set(content["volumes"])


@each_file
def test_depends_on_names_services_of_the_file(path: Path) -> None:
    services = read(path)["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services) - {name}


@pytest.mark.parametrize(("name", "masters"), [("three-nodes", "master"), ("opensearch", "cluster_manager")])
def test_three_nodes_seek_each_other(name: str, masters: str) -> None:
    services = read(FOLDER / f"{name}.yml")["services"]
    assert len(services) == 3
    for node, service in services.items():
        environment = service["environment"]
        assert environment["node.name"] == node
        assert set(environment["discovery.seed_hosts"].split(",")) == set(services) - {node}
        assert environment[f"cluster.initial_{masters}_nodes"].split(",") == sorted(services)
        assert "discovery.type" not in environment
        assert "wait_for_nodes=3" in service["healthcheck"]["test"]
    assert len({service["environment"]["cluster.name"] for service in services.values()}) == 1


@pytest.mark.parametrize("name", ["one-node.yml", "three-nodes.yml"])
def test_security_is_off_only_with_a_word_why(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    switches = [line for line in text.splitlines() if "xpack.security.enabled" in line]
    assert switches
    assert all(line.endswith('"false" # for tests, on loopback only') for line in switches)


def test_secured_node_demands_a_password_and_speaks_tls() -> None:
    services = read(FOLDER / "secured.yml")["services"]
    environment = services["elasticsearch"]["environment"]
    assert environment["ELASTIC_PASSWORD"].startswith("${ELASTIC_PASSWORD:?"), "no default"
    for switch in ("xpack.security.enabled", "xpack.security.http.ssl.enabled", "xpack.security.transport.ssl.enabled"):
        assert environment[switch] == "true"
    assert services["elasticsearch"]["depends_on"] == {"certificates": {"condition": "service_completed_successfully"}}
    assert "--insecure" not in services["elasticsearch"]["healthcheck"]["test"]


def test_opensearch_demands_a_password_and_its_health_is_asked_with_tls() -> None:
    for service in read(FOLDER / "opensearch.yml")["services"].values():
        environment = service["environment"]
        assert environment["OPENSEARCH_INITIAL_ADMIN_PASSWORD"].startswith("${OPENSEARCH_INITIAL_ADMIN_PASSWORD:?")
        assert not any("DISABLE_SECURITY" in name or "plugins.security" in name for name in environment)
        assert "--cacert config/root-ca.pem" in service["healthcheck"]["test"]
        assert "'https://localhost:9200/" in service["healthcheck"]["test"]


def test_certificates_are_made_where_the_secured_node_reads_them() -> None:
    services = read(FOLDER / "secured.yml")["services"]
    folder = "certificates:/usr/share/elasticsearch/config/certs"
    assert folder in services["certificates"]["volumes"]
    assert f"{folder}:ro" in services["elasticsearch"]["volumes"]
    script = services["certificates"]["command"][0]
    assert "--name elasticsearch" in script  # certutil names folder and files in its zip so
    assert "$" not in script.replace("$$", ""), "a single $ would be compose's"
    for setting, value in services["elasticsearch"]["environment"].items():
        if ".ssl." in setting and not setting.endswith(".enabled"):
            assert value in {
                "certs/ca/ca.crt",
                "certs/elasticsearch/elasticsearch.crt",
                "certs/elasticsearch/elasticsearch.key",
            }
