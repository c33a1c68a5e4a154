"""First contact: ``--help`` and ``--version``, ``es-simhash init``, and which store and key the environment names."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import threading
from base64 import b64encode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

import es_simhash as package
from es_simhash.cli import cli
from tests.cli import STORM, complaint, environment, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# --- help --------------------------------------------------------------------------------------------------

LOADS_A_DICTIONARY = """
import sys
from es_simhash.cli import cli
for arguments in {arguments}:
    cli.main(arguments, standalone_mode=False)
sys.exit("jieba" in sys.modules or "rjieba" in sys.modules)
"""


def loads_a_dictionary(tmp_path: Path, *arguments: list[str]) -> bool:
    code = LOADS_A_DICTIONARY.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True)
    assert done.returncode in (0, 1), done.stderr
    assert not done.stderr
    return bool(done.returncode)


@pytest.mark.parametrize("command", [None, *cli.commands])
def test_help_teaches_with_an_example_that_the_command_understands(tmp_path: Path, command: str | None) -> None:
    done = es_simhash(*filter(None, [command]), "--help", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    examples = re.findall(r"^ +(?:.* \| )?es-simhash (\w+) (.*?)(?: {3,}.*| > .*)?$", done.out, re.MULTILINE)
    assert examples
    for name, arguments in examples:
        assert command in (None, name)
        cli.commands[name].make_context(name, shlex.split(arguments))  # parses, and raises for what it doesn't know


def test_help_loads_no_dictionary(tmp_path: Path) -> None:
    assert not loads_a_dictionary(tmp_path, ["--help"], *([command, "--help"] for command in cli.commands))
    assert loads_a_dictionary(tmp_path, ["fingerprint", STORM]), "or this test could not fail"


@pytest.mark.parametrize("code", ["0 done", "1 nothing", "2 command", "3 done, but", "4 stopped", "130 interrupted"])
def test_help_explains_every_exit_code(tmp_path: Path, code: str) -> None:
    assert code in (cli.epilog or "")


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = es_simhash("--version", cwd=tmp_path)
    assert (done.code, done.out) == (0, f"es-simhash, version {package.__version__}\n")


# --- init --------------------------------------------------------------------------------------------------


def test_init_makes_the_file_once_and_may_be_repeated(tmp_path: Path) -> None:
    first = es_simhash("init", "--store", "sqlite:///news.db", cwd=tmp_path)
    assert (first.code, first.err) == (0, "")
    assert first.out == "sqlite:///news.db: created, ready for `es-simhash ingest`\n"
    assert (tmp_path / "news.db").exists()
    second = es_simhash("init", "--store", "sqlite:///news.db", cwd=tmp_path)
    assert (second.code, second.out) == (0, "sqlite:///news.db: was set up already; nothing to do\n")


def test_without_an_address_the_store_is_a_file_in_the_working_directory(tmp_path: Path) -> None:
    assert es_simhash("init", cwd=tmp_path).out.startswith("sqlite:///es-simhash.db: created")
    assert (tmp_path / "es-simhash.db").exists()


@pytest.mark.elasticsearch
def test_init_makes_the_index_once_and_may_be_repeated(tmp_path: Path, elasticsearch_url: str, index_name: str) -> None:
    address = f"{elasticsearch_url}/{index_name}"
    assert es_simhash("init", "--store", address, cwd=tmp_path).out.startswith(f"{address}: created")
    assert es_simhash("init", "--store", address, cwd=tmp_path).out.startswith(f"{address}: was set up already")


@pytest.mark.elasticsearch
def test_init_adds_the_fields_to_an_index_that_exists(tmp_path: Path, elasticsearch_url: str, index_name: str) -> None:
    theirs = {"properties": {"title": {"type": "keyword"}}, "_meta": {"owner": "desk"}}
    address = f"{elasticsearch_url}/{index_name}"
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.create(index=index_name, mappings=theirs)
        done = es_simhash("init", "--store", address, cwd=tmp_path)
        mapping = client.indices.get_mapping(index=index_name)[index_name]["mappings"]
    assert done.out == f"{address}: the fields for fingerprints were added to what was there\n"
    assert mapping["properties"]["title"] == {"type": "keyword"}
    assert mapping["_meta"]["owner"] == "desk"
    assert es_simhash("ingest", "--store", address, cwd=tmp_path, stdin=line("n1")).code == 0


# --- what the environment names ----------------------------------------------------------------------------

NO_SUCH_INDEX = json.dumps({"error": {"type": "index_not_found_exception", "reason": "no such index"}, "status": 404})


@contextmanager
def listening() -> Iterator[tuple[int, list[tuple[str, str | None]]]]:
    """A server that has no index: its port, and the path and the credentials of every request to it."""
    requests: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append((self.path, self.headers["Authorization"]))
            self.send_response(404)
            self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(NO_SUCH_INDEX)))
            self.end_headers()
            self.wfile.write(NO_SUCH_INDEX.encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port, requests
        server.shutdown()
        thread.join()


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("in_environment", "arguments", "authorization"),
    [
        ({}, [], None),
        ({"ELASTIC_API_KEY": "a2V5"}, [], "ApiKey a2V5"),
        ({"ELASTIC_API_KEY": "a2V5\n"}, [], "ApiKey a2V5"),
        ({"ELASTIC_API_KEY": "a2V5"}, ["--api-key", "b3RoZXI="], "ApiKey b3RoZXI="),
        ({"ELASTIC_API_KEY": "a2V5"}, ["--store", "http://desk:secret@{host}/news"], basic("desk", "secret")),
        ({}, ["--store", "http://desk:%E5%AF%86%2F%20@{host}/news"], basic("desk", "密/ ")),
        ({}, ["--store", "http://编辑:密码@{host}/news"], basic("编辑", "密码")),
    ],
    ids=["none", "key", "key out of a file", "option first", "address first", "percent-encoded", "Chinese"],
)
def test_the_credentials_sent_are_those_given(
    tmp_path: Path, in_environment: dict[str, str], arguments: list[str], authorization: str | None
) -> None:
    with listening() as (port, requests):
        host = f"127.0.0.1:{port}"
        named = {"ELASTICSEARCH_URL": f"http://{host}/news", **in_environment}
        done = es_simhash("similar", STORM, *(a.format(host=host) for a in arguments), cwd=tmp_path, env=named)
    assert "run `es-simhash init" in complaint(done)
    assert requests == [("/news/_mapping", authorization)]


@pytest.mark.parametrize(
    ("path", "arguments", "index"),
    [("/news", [], "news"), ("", [], "es-simhash"), ("/news", ["--store", "http://{host}/other"], "other")],
    ids=["with an index", "without one", "option first"],
)
def test_elasticsearch_url_names_the_store(tmp_path: Path, path: str, arguments: list[str], index: str) -> None:
    with listening() as (port, requests):
        host = f"127.0.0.1:{port}"
        named = {"ELASTICSEARCH_URL": f"http://{host}{path}"}
        done = es_simhash("similar", STORM, *(a.format(host=host) for a in arguments), cwd=tmp_path, env=named)
    assert f"http://{host}/{index} is not set up" in complaint(done)
    assert [path for path, _ in requests] == [f"/{index}/_mapping"]
