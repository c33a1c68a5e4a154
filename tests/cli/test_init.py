"""``--help`` and ``--version``, ``es-simhash init``, and which store and key the environment names."""

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
from unicodedata import east_asian_width
from urllib.parse import unquote

import click
import pytest
from elasticsearch import Elasticsearch

import es_simhash as package
from es_simhash.cli import cli
from tests.cli import STORM, complaint, environment, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

# --- help --------------------------------------------------------------------------------------------------

# Every command, the groups among them, asked for its help in one process.
ASK_ALL = """
import sys
import click
from es_simhash.cli import cli

def ask(command, path):
    print("\\f", *path)
    cli.main([*path, "--help" if isinstance(command, click.Group) else "--help-all"], standalone_mode=False)
    for name, inner in getattr(command, "commands", {}).items():
        ask(inner, [*path, name])

ask(cli, [])
if sys.argv[1:]:
    cli.main(sys.argv[1:], standalone_mode=False)
sys.exit("jieba" in sys.modules or "rjieba" in sys.modules)
"""


def ask_all(folder: Path, *afterwards: str) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [sys.executable, "-c", ASK_ALL, *afterwards], cwd=folder, env=environment(), capture_output=True
    )
    assert done.stderr == b""
    return done


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[bytes]:
    return ask_all(tmp_path_factory.mktemp("help"))


@pytest.fixture(scope="module")
def helps(asked: subprocess.CompletedProcess[bytes]) -> dict[str, str]:
    """The whole help of every command, by its name; of the command without a subcommand under an empty one."""
    parts = asked.stdout.decode().split("\f")[1:]
    return {name.strip(): text for name, _, text in (part.partition("\n") for part in parts)}


def test_every_help_teaches_with_an_example_that_the_command_understands(helps: dict[str, str]) -> None:
    assert {"", *cli.commands} <= helps.keys()
    for asked_for, text in helps.items():
        examples = re.findall(r"^ +(?:.* \| )?es-simhash (.*?)(?: {3,}.*| > .*)?$", text, re.MULTILINE)
        assert examples, asked_for
        for example in examples:
            assert example.startswith(asked_for)
            command: click.Command = cli
            words = shlex.split(re.sub(r"\$\(.*?\)", "0", example))
            while isinstance(command, click.Group):
                command = command.commands[words.pop(0)]
            command.make_context("", words)  # parses, and raises for what it doesn't know


def test_help_loads_no_dictionary(asked: subprocess.CompletedProcess[bytes], tmp_path: Path) -> None:
    assert asked.returncode == 0
    assert ask_all(tmp_path, "fingerprint", STORM).returncode == 1, "or this test could not fail"


def test_help_explains_every_exit_code(helps: dict[str, str]) -> None:
    said = " ".join(helps[""].split())
    codes = ["0 done", "1 stopped by an error; or all", "2 the command", "3 done, but", "4 stopped"]
    assert [code for code in (*codes, "130 interrupted", "143 terminated") if code not in said] == []


def test_help_says_that_the_store_has_the_default_of_each_scheme_option(helps: dict[str, str]) -> None:
    plain = {"compare", "dedupe", "fingerprint"}
    with_scheme = {name: " ".join(text.split()) for name, text in helps.items() if "--weights [" in text}
    assert plain < with_scheme.keys()
    for name, text in with_scheme.items():
        title = "Scheme:" if name in plain else "Scheme (defaults: the store's choices, else those in brackets):"
        _, found, section = text.partition(f" {title} ")
        assert found, name
        for default in ("64", "sqrt_tf", "words", "jieba", "1", "murmur3", "md5"):
            assert f"[default: {default}]" in section, name


def test_help_fits_a_terminal_of_80_columns_and_breaks_no_name(helps: dict[str, str]) -> None:
    for name, text in helps.items():
        for row in text.splitlines():
            assert sum(2 if east_asian_width(character) in "WF" else 1 for character in row) <= 80, (name, row)
            assert not re.search(r"\w-$", row), (name, row)
            assert row == row.rstrip(), (name, row)


def test_help_shows_every_option_once(helps: dict[str, str]) -> None:
    for name, text in helps.items():
        shown = re.findall(r"^  (--[a-z-]+)", text.partition("\nOptions:\n")[2], re.MULTILINE)
        assert len(shown) == len(set(shown)), name
        command: click.Command = cli
        for word in name.split():
            assert isinstance(command, click.Group)
            command = command.commands[word]
        options = {each.opts[0] for each in command.params if isinstance(each, click.Option)}
        assert options == set(shown), name
        assert ("\n  --store URL " in text) == ("--store" in options), name


def test_help_lists_commands_in_the_order_in_which_they_are_added_with_whole_sentences(helps: dict[str, str]) -> None:
    for name, group in (("", cli), ("seen", cli.commands["seen"])):
        assert isinstance(group, click.Group)
        rows = helps[name].partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
        assert [row.split()[0] for row in rows] == list(group.commands)
        assert all(row.endswith(".") and not row.endswith("...") for row in rows), rows


def test_the_real_command_prints_the_same_help(tmp_path: Path, helps: dict[str, str]) -> None:
    done = es_simhash("ingest", "--rule", "fingerprint", "--help-all", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.partition("\n")[2] == helps["ingest"].partition("\n")[2]


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = es_simhash("--version", cwd=tmp_path)
    assert (done.code, done.out) == (0, f"es-simhash, version {package.__version__}\n")


# --- init --------------------------------------------------------------------------------------------------


def test_init_creates_a_file_in_the_working_directory_by_default_and_can_be_repeated(tmp_path: Path) -> None:
    first = es_simhash("init", cwd=tmp_path)
    assert (first.code, first.err) == (0, "")
    assert (
        first.out == "sqlite:///es-simhash.db: created; next run `es-simhash ingest --store sqlite:///es-simhash.db`\n"
    )
    assert (tmp_path / "es-simhash.db").exists()
    second = es_simhash("init", "--store", "sqlite:///es-simhash.db", cwd=tmp_path)
    assert (second.code, second.out) == (0, "sqlite:///es-simhash.db: already set up; nothing to do\n")


def test_init_names_the_backfill_until_documents_have_their_keys(tmp_path: Path) -> None:
    store = "sqlite:///es-simhash.db"
    assert es_simhash("ingest", "--rule", "fingerprint", "-", cwd=tmp_path, stdin=line("n1")).code == 0
    backfill = f"next run `es-simhash backfill --again --text-field FIELD --store {store}`"
    for says in (
        f"added the keys; if it has documents, {backfill}",
        f"already set up, but documents lack their keys; {backfill}",
    ):
        assert es_simhash("init", "--keys", cwd=tmp_path).out == f"{store}: {says}\n"
    assert es_simhash("backfill", "--rule", "fingerprint", "--again", "--text-field", "text", cwd=tmp_path).code == 0
    assert es_simhash("init", cwd=tmp_path).out == f"{store}: already set up; nothing to do\n"


@pytest.mark.elasticsearch
def test_init_adds_the_fields_to_an_index_that_exists(tmp_path: Path, elasticsearch_url: str, index_name: str) -> None:
    theirs = {"properties": {"title": {"type": "keyword"}}, "_meta": {"owner": "desk"}}
    address = f"{elasticsearch_url}/{index_name}"
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.create(index=index_name, mappings=theirs)
        done = es_simhash("init", "--store", address, cwd=tmp_path)
        mapping = client.indices.get_mapping(index=index_name)[index_name]["mappings"]
    assert done.out == (
        f"{address}: added the fields for fingerprints to the existing index; next run `es-simhash backfill "
        f"--text-field FIELD --store {address}`\n"
    )
    assert mapping["properties"]["title"] == {"type": "keyword"}
    assert mapping["_meta"]["owner"] == "desk"
    assert es_simhash("ingest", "--rule", "fingerprint", "--store", address, cwd=tmp_path, stdin=line("n1")).code == 0


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

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

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
    ("in_environment", "arguments", "index", "authorization"),
    [
        ({"ELASTICSEARCH_URL": "http://{host}"}, [], "es-simhash", None),
        ({"ELASTIC_API_KEY": "a2V5\n"}, ["--store", "http://{host}/other"], "other", "ApiKey a2V5"),
        ({"ELASTIC_API_KEY": "a2V5"}, ["--api-key", "b3RoZXI="], "news", "ApiKey b3RoZXI="),
        ({"ELASTIC_API_KEY": "a2V5", "ELASTICSEARCH_URL": "http://desk:s@{host}/news"}, [], "news", basic("desk", "s")),
        ({"ELASTICSEARCH_URL": "http://desk:%E5%AF%86%2F%20@{host}/a%40b"}, [], "a@b", basic("desk", "密/ ")),
        ({"ELASTICSEARCH_URL": "http://编辑:密码@{host}/news"}, [], "news", basic("编辑", "密码")),
    ],
    ids=["no index", "key out of a file", "option first", "address first", "percent-encoded", "Chinese"],
)
def test_the_environment_names_the_store_and_the_credentials_and_options_override_it(
    tmp_path: Path, in_environment: dict[str, str], arguments: list[str], index: str, authorization: str | None
) -> None:
    with listening() as (port, requests):
        host = f"127.0.0.1:{port}"
        named = {"ELASTICSEARCH_URL": "http://{host}/news", **in_environment}
        done = es_simhash(
            "similar --rule fingerprint",
            STORM,
            *(argument.format(host=host) for argument in arguments),
            cwd=tmp_path,
            env={name: value.format(host=host) for name, value in named.items()},
        )
    assert f"http://{host}/{index} does not exist: correct the name, or run `es-simhash init --store" in complaint(done)
    assert {(unquote(path), given) for path, given in requests} == {
        (path, authorization) for path in (f"/{index}/_mapping", f"/{index}/_count", "/_resolve/index/*")
    }


def test_for_seen_items_an_address_without_an_index_means_the_index_of_users(tmp_path: Path) -> None:
    with listening() as (port, requests):
        url = f"http://127.0.0.1:{port}"
        done = es_simhash("seen", "stats", "--user", "ann", cwd=tmp_path, env={"ELASTICSEARCH_URL": url})
    assert f"{url}/es-simhash-users does not exist: correct the name, or run `es-simhash seen init" in complaint(done)
    assert {unquote(path) for path, _ in requests} == {
        "/es-simhash-users/_mapping",
        "/es-simhash-users/_count",
        "/_resolve/index/*",
    }


@pytest.mark.parametrize("name", ["similar", "doctor"])
def test_a_command_imports_no_other_command(name: str) -> None:
    program = (
        "import sys; from es_simhash.cli import _COMMANDS, cli; before = set(sys.modules)\n"
        f"cli.commands[{name!r}]\n"
        "modules = {f'es_simhash.{module}' for module in _COMMANDS.values()}\n"
        "print(*sorted(modules & before), *sorted(modules & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    [module] = done.stdout.split()
    assert name in module
