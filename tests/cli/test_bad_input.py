"""Bad input gives one clear line that names the place and the fix, the right exit code, and never a traceback.

A bad line is skipped. A store that cannot be used stops the command before anything is done. ``tests.cli`` checks every
run for a traceback.
"""

from __future__ import annotations

import re
import socket
import socketserver
import ssl
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents
from tests.cli import HARVEST, STORM, Done, complaint, es_simhash, line
from tests.es_node.proxy import Answer, Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

# --- lines -------------------------------------------------------------------------------------------------

# What a line is, its id where that can be read, and what the reason must say. tests/ingest has all kinds.
BAD_LINES: list[tuple[bytes, str | None, str]] = [
    (b"n1\tx", None, "not JSON: Expecting value at character 1"),
    (b'{"text": "x"}', None, "no field 'id': name the field that holds the id (--id-field; id_field in Python)"),
    (b'{"id": "b4"}', "b4", "no text in field 'text': name the field that holds the text (--text-field; "),
    ('{"id": "b10", "text": "暴雨"}'.encode("gbk"), None, "not in the encoding of the file (by default UTF-8) at"),
    (b'{"id": "b12", "text": "x", "simhash": 7}', "b12", "the field 'simhash' is used for the fingerprint: rename"),
]


def test_a_bad_line_is_rejected_with_its_place_and_the_fix_and_good_ones_are_stored(tmp_path: Path) -> None:
    good = [line(f"good {number}", "你好") for number in range(len(BAD_LINES) + 1)]
    bad = [line for line, _, _ in BAD_LINES]
    pairs = b"".join(one + other + b"\n" for one, other in zip(good, bad, strict=False))
    (tmp_path / "lines.jsonl").write_bytes(pairs + good[-1])
    done = es_simhash("ingest lines.jsonl --json", cwd=tmp_path)
    assert done.code == 3
    assert (done.json[-1]["rejected"], done.json[-1]["total"]) == (len(bad), len(bad) + len(good))
    for number, (outcome, (_, id, reason)) in enumerate(zip(done.json[1:-1:2], BAD_LINES, strict=True), 1):
        assert (outcome["id"], outcome["outcome"], outcome["stored"]) == (id, "rejected", False)
        assert outcome["place"] == f"lines.jsonl:{2 * number}"
        assert outcome["reason"].startswith(f"{outcome['place']}: ")
        assert reason in outcome["reason"]
    with Documents(f"sqlite:///{tmp_path / 'es-simhash.db'}") as documents:
        assert len(documents.similar("你好")) == len(good)
    text = es_simhash("ingest lines.jsonl --store sqlite:///text.db", cwd=tmp_path)
    assert text.err.splitlines() == [f"rejected: {outcome['reason']}" for outcome in done.json[1:-1:2]]


# --- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("ingest news.jsonl none.jsonl", "cannot read none.jsonl: No such file or directory"),
        (f"ingest {'x' * 300}", f"cannot read {'x' * 300}: File name too long"),
        ("ingest .", "cannot read .: Is a directory"),
        ("similar --file .", "cannot read .: Is a directory"),
        ("compare --file gbk.txt", "gbk.txt is not UTF-8 at byte 1: convert it to UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_nothing_is_done(tmp_path: Path, words: str, says: str) -> None:
    (tmp_path / "news.jsonl").write_bytes(line("n1"))
    (tmp_path / "gbk.txt").write_bytes(STORM.encode("gbk"))
    assert complaint(es_simhash(words, cwd=tmp_path)) == f"es-simhash: {says}"
    assert {path.name for path in tmp_path.iterdir()} == {"news.jsonl", "gbk.txt"}


def test_input_without_a_document_that_can_be_used_exits_with_1(tmp_path: Path) -> None:
    empty = es_simhash("ingest", cwd=tmp_path)
    assert (empty.code, empty.err) == (1, "es-simhash: no documents in stdin: give one JSON object per line\n")
    (tmp_path / "news.jsonl").write_bytes((line("n1") + line("n2", HARVEST)).decode().encode("utf-16"))
    done = es_simhash("ingest news.jsonl", cwd=tmp_path)
    assert done.code == 1
    assert re.match(
        r"rejected: news.jsonl:1: not in the encoding of the file.* or utf-16 \(--encoding; encoding in Python\)\n",
        done.err,
    )


# --- filters -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filter", "fix"),
    [
        ("lang:zh", "not JSON (Expecting value: line 1 column 1 (char 0)): use a JSON object, such as"),
        ('["zh"]', """not a JSON object: use a JSON object, such as '{"term": {"lang": "zh"}}'"""),
        ('{"bool":{"must":' * 30_000, "): use a JSON object, such as"),
    ],
    ids=["not JSON", "no object", "too deep"],
)
def test_a_filter_that_is_no_object_is_a_usage_error_with_the_fix(tmp_path: Path, filter: str, fix: str) -> None:
    done = es_simhash("similar", STORM, "--filter", filter, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: es-simhash similar ")
    assert fix in done.err
    assert list(tmp_path.iterdir()) == []


# --- addresses ---------------------------------------------------------------------------------------------

# A key and a certificate that it signs itself, good for 127.0.0.1 until 2120; they protect nothing.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgo8MhDfDbmp2odmrW
k2Zr4AyAmwDeoW6H2hg104r1XH6hRANCAASWr1ufpKJuS3ze610pfyYTpoVfpTmo
MwoQHRHkd29UJ9v20yYqBC80cJAH28hDrDRTKWHJz5yg134IFbUuHoQY
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBXTCCAQKgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAkxMjcuMC4w
LjEwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CTEyNy4wLjAuMTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJavW5+kom5LfN7r
XSl/JhOmhV+lOagzChAdEeR3b1Qn2/bTJioELzRwkAfbyEOsNFMpYcnPnKDXfggV
tS4ehBijQzBBMA8GA1UdEQQIMAaHBH8AAAEwDwYDVR0TAQH/BAUwAwEB/zAdBgNV
HQ4EFgQULD6VmdjlKyzGVaWbARp9AeglV5gwCgYIKoZIzj0EAwIDSQAwRgIhAK1x
HJgEOcGq3Ii7xVVYPkRU4BbfLeI8gFPDJRBO3Ci1AiEAmA1WoleBk4o2O5sO0kLA
Y6Ww88NKFE8D4nHycsT/HR8=
-----END CERTIFICATE-----
"""

DENIED = {"error": {"type": "security_exception", "reason": "unable to authenticate user [desk]"}, "status": 401}


class Greeting(socketserver.BaseRequestHandler):
    """What speaks first, and no HTTP."""

    def handle(self) -> None:
        self.request.sendall(b"220 mail.example ESMTP\r\n")
        self.request.recv(65_536)


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


# An address ({server} is the host and port of the server of that name), and what is said of it.
BAD_ADDRESSES = {
    "unknown kind": ("ftp://desk:hunter2@127.0.0.1:21/news", "use sqlite:///path/to.db or [opensearch+]http(s)://"),
    "a key in the query": ("http://127.0.0.1:9200/news?api_key=hunter2", "% / ? # @ as %25 %2F %3F %23 %40"),
    "half a character": ("http://desk:hunter2@127.0.0.1:9200/news-\udcff", "the store's address has a lone surrogate"),
    "a server that is down": ("http://desk:hunter2@{down}/news", "can't be reached"),
    "not Elasticsearch, JSON": ("http://desk:hunter2@{json}/news", "is not an Elasticsearch: check the address"),
    "not Elasticsearch, HTML": ("http://desk:hunter2@{html}/news", "is not an Elasticsearch: check the address"),
    "not HTTP": ("http://desk:hunter2@{mail}/news", "can't be reached"),
    "a wrong password": (
        "http://desk:hunter2@{denying}/news",
        "does not take these credentials: check user and password",
    ),
    "a server too busy": ("http://desk:hunter2@{busy}/news", "is too busy or not ready (HTTP 503"),
    "a certificate that nobody signed": ("https://desk:hunter2@{tls}/news", "ca_certs"),
    "TLS where there is none": ("https://desk:hunter2@{json}/news", "http:// if the server has no TLS"),
}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Servers that are of no use, by name: host and port."""
    certificate = tmp_path_factory.mktemp("tls") / "server.pem"
    certificate.write_text(CERTIFICATE)
    answers = {
        "json": Answer(200, {"status": "ok"}, {"Content-Type": "application/json"}),
        "html": Answer(404, b"<html>Not here</html>", {"Content-Type": "text/html"}),
        "denying": Answer(401, DENIED),
        "busy": Answer(503, {}),
        "tls": Answer(401, DENIED),
    }
    useless = {name: Proxy("", lambda request, answer=answer: answer) for name, answer in answers.items()}  # type: ignore[misc]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    tls = useless["tls"].server
    tls.socket = context.wrap_socket(tls.socket, server_side=True, do_handshake_on_connect=False)
    with ExitStack() as stack:
        mail = stack.enter_context(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeting))
        threading.Thread(target=mail.serve_forever, daemon=True).start()
        stack.callback(mail.shutdown)
        others = {"mail": mail.server_address[1], "down": unused_port()}
        yield {name: stack.enter_context(server).host for name, server in useless.items()} | {
            name: f"127.0.0.1:{port}" for name, port in others.items()
        }


@pytest.fixture(scope="module")
def refused(servers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """What an ingest into each of BAD_ADDRESSES comes to."""
    folder = tmp_path_factory.mktemp("addresses")
    (folder / "lines.jsonl").write_bytes(line("n1") * 20)

    def ingest(kind: str) -> Done:
        address = BAD_ADDRESSES[kind][0].format(**servers)
        return es_simhash("ingest lines.jsonl --workers 0 --deadline 0 --store", address, cwd=folder)

    return {kind: ingest(kind) for kind in BAD_ADDRESSES}


@pytest.mark.parametrize("kind", BAD_ADDRESSES)
def test_an_address_that_cannot_be_used_is_an_error_with_the_fix_and_without_secrets(
    refused: dict[str, Done], kind: str
) -> None:
    assert (refused[kind].code, refused[kind].out) == (1, "")
    assert BAD_ADDRESSES[kind][1] in refused[kind].err.splitlines()[-1]
    shown = refused[kind].out + refused[kind].err
    assert "Connection(" not in shown
    for secret in ("hunter2", "desk", "aHVudGVyMg"):
        assert secret not in shown


def test_an_api_key_with_a_line_break_is_an_error_and_not_shown(tmp_path: Path, servers: dict[str, str]) -> None:
    address = f"http://{servers['json']}/news"
    said = complaint(es_simhash("init", "--store", address, cwd=tmp_path, env={"ELASTIC_API_KEY": "hunter2\nhunter2"}))
    assert "copy it again, or check $ELASTIC_API_KEY (api_key)" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("certificates", ["none.pem", "server.pem"])
def test_ca_certs_decides_whether_a_certificate_is_trusted(
    tmp_path: Path, servers: dict[str, str], certificates: str
) -> None:
    (tmp_path / "server.pem").write_text(CERTIFICATE)
    address = f"https://{servers['tls']}/news"
    said = complaint(es_simhash("init", "--store", address, "--ca-certs", certificates, cwd=tmp_path))
    if certificates == "none.pem":
        assert "there is no file 'none.pem': correct its name (ca_certs)" in said
    else:
        assert "does not take these credentials" in said, "TLS was fine"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("init --deadline nan", "deadline"),
        ("ingest none.jsonl --resume x --dead-letter y", "cannot read none.jsonl"),
        ("ingest - --store ftp://h/news --resume x --dead-letter y", "address is invalid"),
        ("ingest - --text-field body --workers -1", "workers must be a whole number from 0 to 1000, and is -1"),
    ],
)
def test_a_command_that_cannot_start_creates_no_file(tmp_path: Path, words: str, says: str) -> None:
    assert says in complaint(es_simhash(words, cwd=tmp_path, stdin=line("n1")))
    assert list(tmp_path.iterdir()) == []
