"""Laws of the compose files: versions pinned, nothing reachable from outside, every server watched."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from tests.es_node.node import NEWEST, RELEASES

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@pytest.mark.elasticsearch
@pytest.mark.parametrize("name", ["one-node.yml", "three-nodes.yml", "secured.yml", "secured-three-nodes.yml"])
def test_each_setting_is_one_that_elasticsearch_has(name: str, elasticsearch_url: str) -> None:
    """The jars of the node have no security, so its settings are left out."""
    assert {each for each in settings(name) if not each.startswith("xpack.security.")} <= registered(elasticsearch_url)


@pytest.mark.opensearch
def test_each_setting_is_one_that_opensearch_has(opensearch_url: str) -> None:
    assert settings("opensearch.yml") <= registered(opensearch_url)


def settings(name: str) -> set[str]:
    return {setting for node in nodes(name).values() for setting in node["environment"] if "." in setting}


def registered(url: str) -> set[str]:
    """Return all settings of a server."""
    with urllib.request.urlopen(f"{url}/_cluster/settings?include_defaults&flat_settings") as reply:
        return {setting for kind in json.load(reply).values() for setting in kind}


@pytest.mark.elasticsearch
@pytest.mark.parametrize("name", ["one-node.yml", "three-nodes.yml"])
def test_the_health_check_passes_on_so_many_nodes_and_fails_on_fewer_and_on_none(
    name: str, elasticsearch_url: str, tmp_path: Path
) -> None:
    [check] = health_checks(name)
    fewer = "wait_for_nodes=3" in check and node_count(elasticsearch_url) != 3
    assert passes(check, elasticsearch_url, tmp_path) is not fewer
    assert passes(for_nodes_of(elasticsearch_url, check), elasticsearch_url, tmp_path)
    assert not passes(check, "http://127.0.0.1:9", tmp_path)


@pytest.mark.elasticsearch
@SECURED
def test_the_health_check_of_a_secured_node_needs_its_password_and_its_certificate(
    name: str, elasticsearch_url: str, tmp_path: Path
) -> None:
    [check] = health_checks(name)
    secured_passes(check, elasticsearch_url, tmp_path, "config/certs/ca/ca.crt", "elastic", "ELASTIC_PASSWORD")


@pytest.mark.opensearch
def test_the_health_check_of_opensearch_needs_the_password_and_the_certificate(
    opensearch_url: str, tmp_path: Path
) -> None:
    [check] = health_checks("opensearch.yml")
    variable = "OPENSEARCH_INITIAL_ADMIN_PASSWORD"
    secured_passes(check, opensearch_url, tmp_path, "config/root-ca.pem", "admin", variable)


def health_checks(name: str) -> set[str]:
    """Return the commands of a file, as the shell in the container gets them."""
    return {node["healthcheck"]["test"].replace("$$", "$") for node in nodes(name).values()}


def node_count(url: str) -> int:
    with urllib.request.urlopen(f"{url}/_cluster/health") as reply:
        return int(json.load(reply)["number_of_nodes"])


def for_nodes_of(url: str, check: str) -> str:
    """Return a health check that waits for as many nodes as there are."""
    return check.replace("wait_for_nodes=3", f"wait_for_nodes={node_count(url)}")


def passes(check: str, url: str, folder: Path, **variables: str) -> bool:
    """Run a health check on a server, in a folder that stands for that of the server in the container."""
    command = re.sub("https?://localhost:9200", url, check).replace("timeout=5s", "timeout=1s")
    assert command != check
    return subprocess.run(["sh", "-c", command], cwd=folder, env={**os.environ, **variables}).returncode == 0


def secured_passes(check: str, url: str, folder: Path, certificate: str, user: str, variable: str) -> None:
    """Run a health check on a server that has a password, and that speaks TLS with a certificate for localhost."""
    if shutil.which("openssl") is None:
        pytest.fail("openssl is not installed")
    check = for_nodes_of(url, check)
    password = "with 'quotes' and $"
    file = folder / certificate
    file.parent.mkdir(parents=True)
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names, "-keyout", folder / "key", "-out", file]
    subprocess.run(make, check=True, capture_output=True)
    with secured(url, f"{user}:{password}", file, folder / "key") as address:
        assert passes(check, address, folder, **{variable: password})
        assert not passes(check, address, folder, **{variable: "another"})
        file.write_text("")
        assert not passes(check, address, folder, **{variable: password})


@contextmanager
def secured(url: str, login: str, certificate: Path, key: Path) -> Iterator[str]:
    """Yield the address of a server with TLS and a login, in front of another one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = 401, b""
            if self.headers["authorization"] == f"Basic {base64.b64encode(login.encode()).decode()}":
                try:
                    with urllib.request.urlopen(url + self.path) as reply:
                        status, body = reply.status, reply.read()
                except urllib.error.HTTPError as error:
                    with error:
                        status, body = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://localhost:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


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
