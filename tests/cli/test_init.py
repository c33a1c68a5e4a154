"""``es-simhash init``, and which store and key the environment names."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, DuplicateRule
from tests.cli import STORM, complaint, es_simhash, line
from tests.es_node.proxy import Answer, Proxy

if TYPE_CHECKING:
    from pathlib import Path

    from tests.es_node.proxy import Request

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


def rule_of(folder: Path, store: str) -> DuplicateRule:
    with Documents(f"sqlite:///{folder}/{store}") as documents:
        return documents.info().rule


def test_the_store_keeps_the_rule_and_a_later_init_changes_what_it_names(tmp_path: Path) -> None:
    words = "--rule copy --min-similarity 0.7 --allow-contradictions --within 7d --time-field day"
    done = es_simhash(f"init {words} --text-field title,body --id-field url", cwd=tmp_path)
    assert done.code == 0
    rule = DuplicateRule(
        rule="copy",
        min_similarity=0.7,
        contradictions="allow",
        within=timedelta(days=7),
        time_field="day",
        text_field=("title", "body"),
    )
    assert rule_of(tmp_path, "es-simhash.db") == rule
    assert "its rule is contained" in es_simhash("init --rule contained --min-similarity 0.95", cwd=tmp_path).out
    changed = DuplicateRule(rule="contained", min_similarity=0.95, text_field=("title", "body"))
    assert rule_of(tmp_path, "es-simhash.db") == changed
    assert "already set up" in es_simhash("init --rule contained --min-similarity 0.95", cwd=tmp_path).out


def test_a_change_says_what_to_run_next(tmp_path: Path) -> None:
    assert es_simhash("ingest --workers 0", cwd=tmp_path, stdin=line("a", title=STORM)).code == 0
    for words, says in [
        ("--id-field url", "next run `es-simhash backfill --store "),
        ("--rule contained", "its rule is contained; with documents next run `es-simhash backfill --store "),
        (
            "--text-field title",
            "next run `es-simhash backfill --again --store sqlite:///es-simhash.db`, then `es-simhash group",
        ),
    ]:
        assert says in es_simhash(f"init {words}", cwd=tmp_path).out, words


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        ("--rule fingerprint --min-similarity 0.9", "does not use min_similarity", 1),
        ("--min-similarity 2", "2", 1),
        ("--time-field day", "set within too", 1),
        ("--within 7d", "set time_field too", 1),
        ("--within soon", "'soon' is not a duration", 2),
        ("--max-distance 8", "8 is not in the range", 2),
    ],
)
def test_wrong_options_are_an_error_with_the_fix(tmp_path: Path, words: str, says: str, code: int) -> None:
    done = es_simhash(f"init {words}", cwd=tmp_path)
    assert (done.code, says in done.err) == (code, True)
    assert list(tmp_path.iterdir()) == []


# --- the Scheme --------------------------------------------------------------------------------------------


def scheme(folder: Path, **choices: Any) -> None:
    (folder / "conf").mkdir(exist_ok=True)
    (folder / "conf" / "scheme.json").write_text(json.dumps(choices), encoding="utf-8")


def test_a_scheme_is_read_from_a_file_with_tables_beside_it(tmp_path: Path) -> None:
    scheme(tmp_path, weights="tf_idf", idf="idf.txt", stop_words="stop.txt")
    (tmp_path / "conf" / "idf.txt").write_text("暴雨 7.25\n预警 6\n", encoding="utf-8")
    (tmp_path / "conf" / "stop.txt").write_text("的\n", encoding="utf-8")
    assert es_simhash("init --scheme conf/scheme.json", cwd=tmp_path).code == 0
    with Documents(f"sqlite:///{tmp_path}/es-simhash.db") as documents:
        stored = documents.store.describe().scheme
    assert stored is not None
    assert (stored.weights, stored.idf == "jieba", stored.stop_words == "1") == ("tf_idf", False, False)


def test_a_store_with_tables_of_ones_own_says_in_every_command_how_to_open_it(tmp_path: Path) -> None:
    scheme(tmp_path, stop_words="stop.txt")
    (tmp_path / "conf" / "stop.txt").write_text("的\n", encoding="utf-8")
    assert es_simhash("init --scheme conf/scheme.json", cwd=tmp_path).code == 0
    for words in ("ingest --workers 0", f"similar {STORM}", "group", "report"):
        said = complaint(es_simhash(words, cwd=tmp_path, stdin=line("a")))
        assert "pass it to the Fingerprinter (stop_words=…), and this to Documents (fingerprinter=…), in Python" in said
    done = es_simhash("compare --scheme conf/scheme.json --store sqlite:///es-simhash.db", STORM, cwd=tmp_path)
    assert done.code == 0


def test_html_is_a_scheme_of_its_own_and_another_one_is_refused(tmp_path: Path) -> None:
    assert es_simhash("init --html", cwd=tmp_path).code == 0
    with Documents(f"sqlite:///{tmp_path}/es-simhash.db") as documents:
        stored = documents.store.describe().scheme
    assert stored is not None
    assert stored.markup == "html"
    scheme(tmp_path, weights="tf")
    assert "holds fingerprints of Scheme" in complaint(es_simhash("init --scheme conf/scheme.json", cwd=tmp_path))
    assert es_simhash("init --html", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not JSON ("),
        ("[]", "not a JSON object: write a JSON object with some of bits, "),
        ('{"weihgts": "tf"}', "no Scheme: write a JSON object with some of bits, "),
        ('{"weights": "heavy"}', "heavy"),
        ('{"idf": 7}', "cannot read 7: No such file"),
        ('{"weights": "tf_idf", "idf": "none.txt"}', "cannot read none.txt: No such file"),
    ],
)
def test_a_wrong_scheme_file_is_one_line(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "scheme.json").write_text(content, encoding="utf-8")
    assert says in complaint(es_simhash("init --scheme scheme.json", cwd=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["scheme.json"]


# --- an index ----------------------------------------------------------------------------------------------


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
    assert es_simhash("ingest", "--store", address, cwd=tmp_path, stdin=line("n1")).code == 0


# --- what the environment names ----------------------------------------------------------------------------

NO_SUCH_INDEX = Answer(404, {"error": {"type": "index_not_found_exception", "reason": "no such index"}, "status": 404})


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.elasticsearch
@pytest.mark.parametrize("settings", [{"mapping.source.mode": "synthetic"}, {"mode": "logsdb"}])
def test_init_refuses_an_index_that_makes_its_documents_from_their_fields(
    client: Elasticsearch, elasticsearch_url: str, index_name: str, tmp_path: Path, settings: dict[str, str]
) -> None:
    client.indices.create(index=index_name, settings=settings)
    said = complaint(es_simhash("init", "--store", f"{elasticsearch_url}/{index_name}", cwd=tmp_path))
    assert "makes it from its fields (synthetic)" in said
    assert "_meta" not in client.indices.get_mapping(index=index_name)[index_name]["mappings"]


@pytest.mark.slow
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
    requests: list[Request] = []

    def answer(request: Request) -> Answer:
        requests.append(request)
        return NO_SUCH_INDEX

    with Proxy("", answer) as server:
        host = server.host
        named = {"ELASTICSEARCH_URL": "http://{host}/news", **in_environment}
        done = es_simhash(
            "similar --rule fingerprint",
            STORM,
            *(argument.format(host=host) for argument in arguments),
            cwd=tmp_path,
            env={name: value.format(host=host) for name, value in named.items()},
        )
    assert f"http://{host}/{index} is not set up (there is no such index): run `es-simhash init" in complaint(done)
    assert {request.headers.get("Authorization") for request in requests} == {authorization}
    assert f"/{index}" in {unquote(request.path).partition("?")[0] for request in requests}


@pytest.mark.slow
def test_for_seen_items_an_address_without_an_index_means_the_index_of_users(tmp_path: Path) -> None:
    with Proxy("", lambda request: NO_SUCH_INDEX) as server:
        url = server.url
        done = es_simhash("seen", "show", "--user", "ann", cwd=tmp_path, env={"ELASTICSEARCH_URL": url})
    assert f"{url}/es-simhash-users is not set up (it does not exist" in complaint(done)
    assert "run `es-simhash seen init" in complaint(done)
