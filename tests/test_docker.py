"""Laws of the compose files: versions pinned, nothing reachable from outside, every server watched."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
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


def test_there_is_a_file_for_one_node_and_for_three_each_also_secured_and_for_opensearch() -> None:
    assert {path.stem for path in FILES} == {"one-node", "three-nodes", "secured", "secured-three-nodes", "opensearch"}


@each_file
def test_file_is_valid_by_the_compose_specification(path: Path) -> None:
    """The schema is that of https://github.com/compose-spec/compose-spec at commit 170098b."""
    schema = json.loads((Path(__file__).with_name("compose-spec.json")).read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(read(path))


@each_server
def test_server_has_a_memory_limit_of_twice_its_heap_and_locks_its_memory(server: dict[str, Any]) -> None:
    java = next(value for key, value in server["environment"].items() if key.endswith("_JAVA_OPTS"))
    heap, limit = (re.search(r":-(\d+)([mg])\}", text) for text in (java, server["mem_limit"]))
    assert heap is not None
    assert limit is not None
    unit = {"m": 1, "g": 1024}
    assert int(limit[1]) * unit[limit[2]] >= 2 * int(heap[1]) * unit[heap[2]]
    assert server["environment"]["bootstrap.memory_lock"] == "true"
    assert server["ulimits"]["memlock"] == -1


@each_server
def test_health_check_waits_for_a_slow_machine(server: dict[str, Any]) -> None:
    check = server["healthcheck"]
    assert int(check["retries"]) * int(check["interval"].removesuffix("s")) >= 1_200


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


SECURED = pytest.mark.parametrize("name", ["secured.yml", "secured-three-nodes.yml"])


def nodes(name: str) -> dict[str, Any]:
    """The servers of a file, by name."""
    return {name: each for name, each in read(FOLDER / name)["services"].items() if "entrypoint" not in each}


@pytest.mark.parametrize("name", ["three-nodes.yml", "secured-three-nodes.yml", "opensearch.yml"])
def test_three_nodes_seek_each_other(name: str) -> None:
    services = nodes(name)
    masters = "cluster_manager" if name == "opensearch.yml" else "master"
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


@SECURED
def test_secured_nodes_demand_a_password_and_speak_tls(name: str) -> None:
    for node in nodes(name).values():
        environment = node["environment"]
        assert environment["ELASTIC_PASSWORD"].startswith("${ELASTIC_PASSWORD:?"), "no default"
        for switch in ("security", "security.http.ssl", "security.transport.ssl"):
            assert environment[f"xpack.{switch}.enabled"] == "true"
        assert node["depends_on"] == {"certificates": {"condition": "service_completed_successfully"}}
        assert "--insecure" not in node["healthcheck"]["test"]


def test_opensearch_demands_a_password_and_its_health_is_asked_with_tls() -> None:
    for service in read(FOLDER / "opensearch.yml")["services"].values():
        environment = service["environment"]
        assert environment["OPENSEARCH_INITIAL_ADMIN_PASSWORD"].startswith("${OPENSEARCH_INITIAL_ADMIN_PASSWORD:?")
        assert not any("DISABLE_SECURITY" in name or "plugins.security" in name for name in environment)
        assert "--cacert config/root-ca.pem" in service["healthcheck"]["test"]
        assert "'https://localhost:9200/" in service["healthcheck"]["test"]


@SECURED
def test_certificates_are_made_where_the_secured_nodes_read_them(name: str) -> None:
    services = read(FOLDER / name)["services"]
    folder = "certificates:/usr/share/elasticsearch/config/certs"
    assert folder in services["certificates"]["volumes"]
    script = services["certificates"]["command"][0]
    assert "$" not in script.replace("$$", ""), "a single $ would be compose's"
    for node, service in nodes(name).items():
        assert f"{folder}:ro" in service["volumes"]
        # certutil names folder and files in its zip after the node
        assert f"--name {node} " in script or (
            "--name $$node " in script and re.search(rf"for node in .*{node}", script)
        )
        files = {f"certs/{node}/{node}.{kind}" for kind in ("crt", "key")}
        settings = {value for key, value in service["environment"].items() if ".ssl." in key and "certs/" in value}
        assert settings == {"certs/ca/ca.crt", *files}


@SECURED
def test_a_secured_file_says_all_steps_to_the_first_ingest(name: str) -> None:
    steps = (FOLDER / name).read_text(encoding="utf-8").split("name: ")[0]
    for step in ("export ELASTIC_PASSWORD=", "up --wait", "ca.crt ca.crt", "es-simhash init", "es-simhash ingest"):
        assert step in steps


def test_the_image_of_the_command_runs_it_as_a_user_without_rights_and_copies_what_is_there() -> None:
    lines = (FOLDER / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert {line.split()[1] for line in lines if line.startswith("FROM ")} == {"python:3.13-slim"}
    assert [line for line in lines if line.startswith(("USER", "ENTRYPOINT"))] == [
        "USER es-simhash",
        'ENTRYPOINT ["es-simhash"]',
    ]
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert set(copied) == {line[1:] for line in ignored if line.startswith("!")}
    assert all((FOLDER.parent / name).exists() for name in copied)


def test_the_image_installs_extras_that_the_package_has() -> None:
    project = (FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8")
    section = project.split("[project.optional-dependencies]")[1].split("\n\n")[0]
    extras = set(re.findall(r"^(\w+) =", section, re.MULTILINE))
    named = re.findall(r"\[([\w,]+)\]'", (FOLDER / "Dockerfile").read_text(encoding="utf-8"))
    assert named, "no extras"
    assert {extra for names in named for extra in names.split(",")} <= extras
