"""What is sent to an OpenSearch, and what its answers mean: a small server records requests and answers them."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from opensearchpy import AWSV4SignerAsyncAuth, OpenSearch, Urllib3AWSV4SignerAuth

from es_simhash import AsyncDocuments, Documents
from es_simhash.errors import AccessDenied, InputError, SimhashError, StoreError, StoreUnavailable, WrongServer
from es_simhash.stores import clients
from es_simhash.stores.clients import OPENSEARCH
from tests.stores.elasticsearch.recorder import INFO, set_up

if TYPE_CHECKING:
    from tests.stores.elasticsearch.recorder import Recorder

ELASTICSEARCH_7_10 = {
    "version": {"number": "7.10.2", "build_flavor": "default"},
    "tagline": "You Know, for Search",
}


# --- authentication ------------------------------------------------------------------------------------------------


class Credentials:
    access_key, secret_key, token = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session"


def signature(method: str, path: str, headers: dict[str, str], body: bytes) -> str:
    """Return the signature of a request with AWS Signature Version 4, as the server computes it.

    Source: AWS, "Create a signed AWS API request" (IAM user guide), steps 1 to 4.
    """
    _, _, credential = headers["authorization"].partition("Credential=")
    _, date, region, service, _ = credential.partition(",")[0].split("/")
    signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    url = urlsplit(path)
    query = sorted(parse_qsl(url.query, keep_blank_values=True))
    canonical = [
        method,
        quote(url.path, safe="/-_.~"),
        "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in query),
        *(f"{name}:{headers[name].strip()}" for name in signed),
        "",
        ";".join(signed),
        hashlib.sha256(body).hexdigest(),
    ]
    hashed = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], f"{date}/{region}/{service}/aws4_request", hashed])
    key = f"AWS4{Credentials.secret_key}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_each_request_is_signed_for_aws(recorder: Recorder, kind: str) -> None:
    async def main() -> None:
        auth = AWSV4SignerAsyncAuth(Credentials(), "eu-west-1", "es")
        async with AsyncDocuments(f"{recorder.address}-暴雨", http_auth=auth) as documents:
            await documents.setup(keys=False)

    if kind == "async":
        asyncio.run(main())
    else:
        set_up(f"{recorder.address}-暴雨", http_auth=Urllib3AWSV4SignerAuth(Credentials(), "eu-west-1", "es"))
    assert {method for method, _, _, _ in recorder.asked} == {"GET", "PUT"}
    for method, path, headers, body in recorder.asked:
        assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        assert headers["x-amz-security-token"] == "session"
        assert headers["authorization"].endswith(f"Signature={signature(method, path, headers, body)}")


def test_a_password_outside_latin_1_is_sent(recorder: Recorder) -> None:
    set_up(recorder.address.replace("http://", "http://ann:%E5%AF%86%E7%A0%81@"))
    assert {headers["authorization"] for _, _, headers, _ in recorder.asked} == {"Basic YW5uOuWvhueggQ=="}


# --- options -------------------------------------------------------------------------------------------------------


def test_the_options_of_the_command_line_have_the_names_of_the_client() -> None:
    with Documents("opensearch+http://a:9200,b:9200/p/news", request_timeout=3, verify_certs=False) as documents:
        assert documents.name == "opensearch+http://a:9200,b:9200/p/news"
        transport = documents._store._index.client.transport  # type: ignore[attr-defined]
        assert transport.retry_on_timeout
        connections = transport.connection_pool.connections
        assert sorted((each.host, each.timeout, each.url_prefix) for each in connections) == [
            ("http://a:9200", 3, "/p"),
            ("http://b:9200", 3, "/p"),
        ]


AOSS = "opensearch+https://abc123.eu-west-1.aoss.amazonaws.com:443/news"
AOSS_ON_AWS = "opensearch+https://abc123.aoss.eu-west-1.on.aws:443/news"
BAD_OPTIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "an API key": ("opensearch+http://a:9200/news", {"api_key": "k"}, "OpenSearch takes no API key"),
    "a mistyped name": ("opensearch+http://a:9200/news", {"http_auht": 1}, "has no option 'http_auht'"),
    "no such file": ("opensearch+https://a:9200/news", {"ca_certs": "none.pem"}, "there is no file 'none.pem'"),
    "no port": ("opensearch+https://a/news", {}, "write opensearch+https://a:9200/… (or :443)"),
    "a scheme in each host": ("opensearch+http://a:1,opensearch+http://b:1/news", {}, "write it once"),
    "serverless": (AOSS, {}, "is a serverless collection, which has no refresh"),
    "serverless, by its newer name": (AOSS_ON_AWS, {}, "is a serverless collection, which has no refresh"),
}


@pytest.mark.parametrize("kind", BAD_OPTIONS)
def test_what_the_client_does_not_take_is_refused_at_once(kind: str) -> None:
    address, options, message = BAD_OPTIONS[kind]
    with pytest.raises(InputError) as raised:
        Documents(address, **options)
    assert message in str(raised.value)


def test_a_client_of_a_serverless_collection_is_refused() -> None:
    host = {"host": "abc123.eu-west-1.aoss.amazonaws.com", "port": 443, "use_ssl": True}
    with OpenSearch([host]) as client, pytest.raises(InputError, match="is a serverless collection"):
        Documents(client, index="news")


def test_a_client_that_is_missing_or_of_another_major_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.1.0", "2.7.1", "4.0.1"):
        with monkeypatch.context() as patch:
            patch.setattr(clients, "version", lambda name, version=version: version)
            with pytest.raises(InputError, match=rf"opensearch-py {version} is installed, .*: pip install 'es-simhash"):
                OPENSEARCH.load()
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    with pytest.raises(InputError, match=r"needs the client opensearch-py: pip install 'es-simhash\[opensearch\]'"):
        Documents("opensearch+http://a:9200/news")


@pytest.mark.slow
def test_no_other_client_is_imported_for_an_opensearch() -> None:
    program = (
        "import sys; from es_simhash import Documents; Documents('opensearch+http://a:9200/news').close()\n"
        "print(*sorted(sys.modules.keys() & {'elasticsearch', 'opensearchpy'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["opensearchpy"]


# --- answers -------------------------------------------------------------------------------------------------------

AWS_DENIED = {"Message": "User: anonymous is not authorized to perform: es:ESHttpPut"}
NO_CREATE = {
    "type": "security_exception",
    "reason": "no permissions for [indices:admin/create] and User [name=ann, backend_roles=[]]",
}
NO_CREATE = {"error": {"root_cause": [NO_CREATE], **NO_CREATE}, "status": 403}
ANSWERS: dict[str, tuple[str, int, Any, type[SimhashError], str]] = {
    "an Elasticsearch": (
        "GET /",
        200,
        ELASTICSEARCH_7_10,
        WrongServer,
        "is an Elasticsearch: use the address http://127",
    ),
    "another server": ("GET /", 200, {"status": "ok"}, WrongServer, "is not an OpenSearch: check the address"),
    "a web page": ("GET /", 200, "<html>", WrongServer, "is not an OpenSearch: check the address"),
    "no such page": ("GET /", 404, "", WrongServer, "does not say what it is .*a serverless collection can't be used"),
    "too old": (
        "GET /",
        200,
        {**INFO, "version": {"distribution": "opensearch", "number": "2.3.0"}},
        WrongServer,
        "is OpenSearch 2.3, which has no points in time: use OpenSearch 2.4 or later",
    ),
    "a wrong password": (
        "GET /news/_mapping",
        401,
        "Unauthorized",
        AccessDenied,
        "check user and password, or the signer",
    ),
    "busy": ("GET /", 429, {"message": "Too Many Requests"}, StoreUnavailable, r"HTTP 429, Too Many Requests"),
    "AWS permits nothing": (
        "GET /news/_mapping",
        403,
        AWS_DENIED,
        AccessDenied,
        "not authorized to perform: es:ESHttpPut",
    ),
    "no privilege to create": ("PUT /news", 403, NO_CREATE, AccessDenied, r"indices:admin/create.*add the privilege"),
    "no cluster manager": (
        "PUT /news",
        500,
        {"error": {"type": "not_cluster_manager_exception", "reason": "elected"}, "status": 500},
        StoreUnavailable,
        "not_cluster_manager_exception",
    ),
    "an unknown failure": ("PUT /news", 400, {"error": {"type": "x", "reason": "why"}}, StoreError, "HTTP 400: x: why"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_becomes_an_error_that_says_what_to_do(recorder: Recorder, kind: str) -> None:
    request, status, answer, error, message = ANSWERS[kind]
    recorder.answers[request] = (status, answer)
    with pytest.raises(error, match=message) as raised:
        set_up(recorder.address, max_retries=0)
    assert len(str(raised.value).splitlines()) == 1


def test_a_user_who_may_not_see_the_version_works_on_with_the_index(recorder: Recorder) -> None:
    recorder.answers["GET /"] = (403, AWS_DENIED)
    set_up(recorder.address)
    paths = [path for _, path, _, _ in recorder.asked]
    assert [path for path in dict.fromkeys(paths) if "_settings" not in path] == ["/", "/news/_mapping", "/news"]
    assert paths.count("/") == 1


def test_a_version_of_compatibility_is_an_opensearch(recorder: Recorder) -> None:
    recorder.answers["GET /"] = (200, {**INFO, "version": {"number": "7.10.2"}})
    set_up(recorder.address)


def test_a_server_that_is_down_is_named_without_the_password() -> None:
    with pytest.raises(StoreError, match=r"^opensearch\+http://127.0.0.1:1/news can't be reached") as raised:
        set_up("opensearch+http://ann:secret@127.0.0.1:1/news", max_retries=0)
    assert "secret" not in str(raised.value)
