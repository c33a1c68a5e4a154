"""``es-simhash compare`` says what two texts are to each other, and why; of one text it prints the fingerprint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, DuplicateRule, Scheme, compare, fingerprint
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR, complaint, es_simhash

if TYPE_CHECKING:
    from pathlib import Path


def test_the_json_form_is_the_library_s_comparison(tmp_path: Path) -> None:
    made = compare(STORM, STORM_NEAR)
    [shown] = es_simhash("compare", STORM, STORM_NEAR, "--json", cwd=tmp_path).json
    assert (shown["relation"], shown["similarity"], shown["distance"]) == (
        made.relation,
        made.similarity,
        made.distance,
    )
    assert shown["cosine"] == made.cosine
    assert (shown["contradictions"], shown["contradict"]) == ([], False)
    assert (shown["a"]["fingerprint"], shown["b"]["fingerprint"]) == (made.a.hex, made.b.hex)
    assert (shown["rule"]["rule"], shown["scheme"]) == ("copy", Scheme().version)


@pytest.mark.parametrize(
    ("texts", "options", "lines"),
    [
        (
            (STORM, STORM.replace("，", ",")),
            [],
            ["exact duplicates: the normalised texts are equal", "similarity: 1.000; at least 0.8 for"],
        ),
        ((STORM, STORM_FARTHER), [], ["near-duplicates by the rule copy", "暴雨[-橙色-]{+重大+}预警"]),
        (
            (STORM, STORM_FARTHER),
            ["--rule", "fingerprint"],
            ["different by the rule fingerprint", "bits of 64; at most 3 for duplicates\n"],
        ),
        (
            (STORM, HARVEST),
            ["--rule", "contained"],
            ["different by the rule contained", "at least 0.9 for"],
        ),
        ((STORM, STORM_FARTHER), ["--min-similarity", "0.999"], ["different by the rule copy", "; at least 0.999 for"]),
        (
            ("今天有12个小区停水", "今天有15个小区停水"),
            [],
            [
                "cosine of the word counts: 0.833\n",
                "contradictions: 1; too many for a duplicate\n  A: 12 | B: 15\n",
                "今天有[-12-]≠{+15+}个小区停水\n",
            ],
        ),
        (("雨", "云"), ["--rule", "fingerprint"], ["distance: unknown: a text is too short"]),
    ],
)
def test_the_verdict_stands_first_and_then_what_differs(
    tmp_path: Path, texts: tuple[str, str], options: list[str], lines: list[str]
) -> None:
    done = es_simhash("compare", *texts, *options, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    shown = done.out.splitlines()
    assert " duplicates" in shown[0] or "near-duplicates" in shown[0] or "different" in shown[0]
    for line in lines:
        assert line in done.out
    assert ("bit" in done.out) == ("fingerprint" in options and STORM in texts)


def test_texts_come_from_files_and_from_a_store_with_its_rule_and_its_scheme(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/news.db"
    with Documents(store, scheme=Scheme(weights="tf")) as documents:
        documents.setup(DuplicateRule("fingerprint", text_field="body"))
        documents.add({"id": "a", "body": STORM})
    (tmp_path / "b.txt").write_text(STORM_NEAR, encoding="utf-8")
    [made] = es_simhash("compare --file b.txt --id a --json --store", store, cwd=tmp_path).json
    assert (made["rule"]["rule"], made["scheme"]) == ("fingerprint", Scheme(weights="tf").version)
    assert made["a"]["fingerprint"] == fingerprint(STORM_NEAR, Scheme(weights="tf")).hex
    assert made["b"]["fingerprint"] == fingerprint(STORM, Scheme(weights="tf")).hex
    done = es_simhash("compare --id a --id b --store", store, cwd=tmp_path)
    assert "has no document 'b' with a text: give the id of a stored document" in complaint(done)


def test_one_text_has_its_fingerprint_and_its_segments(tmp_path: Path) -> None:
    (tmp_path / "scheme.json").write_text(json.dumps({"bits": 128, "weights": "tf_idf"}), encoding="utf-8")
    for options, scheme in ([], Scheme()), (["--scheme", "scheme.json"], Scheme(bits=128, weights="tf_idf")):
        made = fingerprint(STORM, scheme)
        [shown] = es_simhash("compare", STORM, *options, "--json", cwd=tmp_path).json
        assert shown == {
            "fingerprint": made.hex,
            "segments": list(made.segments),
            "features": made.features,
            "digest": made.digest,
            "scheme": scheme.version,
        }
    lines = es_simhash("compare", STORM, cwd=tmp_path).out.splitlines()
    assert lines[:2] == [
        f"fingerprint  {fingerprint(STORM).hex}",
        f"segments     {' '.join(fingerprint(STORM).segments)}",
    ]
    assert "fewer than 4 features (text too short)" in es_simhash("compare", "雨", cwd=tmp_path).out


def test_the_texts_of_html_are_compared_without_its_tags(tmp_path: Path) -> None:
    done = es_simhash("compare", f"<p>{STORM}</p>", STORM, "--html", cwd=tmp_path)
    assert done.out.startswith("exact duplicates")


@pytest.mark.parametrize("arguments", [[], ["a", "b", "c"], ["--file", "-", "--file", "-"]])
def test_another_number_of_texts_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    done = es_simhash("compare", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert "give one or two texts: TEXT, --file FILE or --id ID" in done.err
