"""``--confirm`` on the command line: near-duplicates must also have similar texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli import HARVEST, STORM, STORM_NEAR, es_simhash
from tests.similarity.reference import similarity

if TYPE_CHECKING:
    from pathlib import Path

SHUFFLED = "，".join(reversed(STORM.replace("。", "，").strip("，").split("，")))  # the same words, in another order
TEXTS = {"storm": STORM, "near": STORM_NEAR, "shuffled": SHUFFLED, "harvest": HARVEST}
SIMILARITY = similarity(STORM, STORM_NEAR)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("confirm")
    lines = [json.dumps({"id": id, "text": text}, ensure_ascii=False) for id, text in TEXTS.items()]
    (folder / "news.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_ingest_similar_group_and_remove_with_confirm(folder: Path) -> None:
    done = es_simhash("ingest", "news.jsonl", "--confirm", "0.9", "--json", cwd=folder)
    assert done.code == 0
    outcomes = {line["id"]: line for line in done.json if "id" in line}
    assert {id: line["outcome"] for id, line in outcomes.items()} == {
        "storm": "new",
        "near": "near_duplicate",
        "shuffled": "new",
        "harvest": "new",
    }
    assert outcomes["near"]["similarity"] == SIMILARITY >= 0.9
    assert all("similarity" not in outcomes[id] for id in ("storm", "shuffled"))

    done = es_simhash("similar", "--id", "storm", "--confirm", "0.9", "--json", cwd=folder)
    assert [(line["id"], line["similarity"]) for line in done.json] == [("near", SIMILARITY)]
    done = es_simhash("similar", STORM, "--confirm", "0.9", cwd=folder)
    assert [line.split() for line in done.out.splitlines()] == [
        ["id", "distance", "similarity", "exact"],
        ["storm", "0", "1.000", "yes"],
        ["near", str(outcomes["near"]["distance"]), f"{SIMILARITY:.3f}"],
    ]
    done = es_simhash("similar", STORM, "--confirm", "0.9", "--similarity", "cosine", "--json", cwd=folder)
    assert {line["id"] for line in done.json} == {"storm", "near", "shuffled"}

    assert (
        "updated the group or the original of 0 documents\n" in es_simhash("group", "--confirm", "0.9", cwd=folder).out
    )
    assert es_simhash("init", "--rule", "fingerprint", "--max-distance", "7", cwd=folder).code == 0
    assert (
        "updated the group or the original of 1 document\n"
        in es_simhash("group", "--rule", "fingerprint", "--max-distance", "7", cwd=folder).out
    )
    assert es_simhash("init", "--confirm", "0.9", cwd=folder).code == 0
    assert (
        "updated the group or the original of 1 document\n" in es_simhash("group", "--confirm", "0.9", cwd=folder).out
    )
    assert es_simhash("remove", "storm", "--confirm", "0.9", "--json", cwd=folder).json == [{"removed": 1}]
    exported = {line["id"]: line for line in es_simhash("export", cwd=folder).json}
    assert exported["near"]["duplicate_of"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["similar", "…", "--confirm", "1.5"], "1.5 is not in the range"),
        (["group", "--confirm", "alike"], "not a valid float"),
        (["similar", "…", "--confirm", "0.8", "--similarity", "dice"], "'dice' is not one of"),
        (["similar", "…", "--rule", "fingerprint", "--max-distance", "16"], "16 is not in the range 0<=x<=15"),
        (["ingest", "--rule", "fingerprint", "-", "--max-distance", "exact"], "'exact' is not a valid integer"),
    ],
)
def test_a_wrong_option_is_a_usage_error(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = es_simhash(*arguments, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("keys", [False, True])
def test_a_text_that_finds_nothing_says_why_in_one_line(tmp_path: Path, keys: bool) -> None:
    store = ("--store", "sqlite:///short.db")
    es_simhash("init", "--html", "--keys" if keys else "--no-keys", *store, cwd=tmp_path)
    texts = {"empty": "", "markup": "<p>&nbsp;</p>", "dots": "……", "words": "暴雨致城区多处路段积水"}
    lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items())
    done = es_simhash("ingest", "--confirm", "0.8", "--json", *store, cwd=tmp_path, stdin=lines.encode())
    assert [line["outcome"] for line in done.json[:4]] == ["new"] * 4
    short = "the text is too short for a fingerprint"
    for text, problem in (
        ("<p> </p>", "the text is empty without its white space and markup: no document is a duplicate of it"),
        ("", "the text is empty without its white space and markup: no document is a duplicate of it"),
        ("！！", f"{'the text has no letter, digit or Han character' if keys else short}: only exact duplicates of it"),
        ("积水", "no documents with a text similarity of 0.8 or more" if keys else f"{short}: only exact duplicates"),
    ):
        done = es_simhash("similar", text, "--confirm", "0.8", *store, cwd=tmp_path)
        *warning, said = done.err.splitlines()
        assert (done.code, done.out, len(warning)) == (0, "", 0 if keys else 1)
        assert said.startswith(problem)
        assert all("has no keys" in each for each in warning)
    for id in texts:
        done = es_simhash("similar", "--id", id, "--confirm", "0.8", *store, cwd=tmp_path)
        assert (done.code, done.out, done.err.splitlines()[-1][:12]) == (0, "", "no documents")
