"""``es-simhash compare`` prints the library's comparison, and needs no store."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from es_simhash import DuplicateRule
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.similarity.compare import compare
from tests.cli import HARVEST, STORM, STORM_NEAR, complaint, es_simhash

if TYPE_CHECKING:
    from pathlib import Path


def test_the_json_form_is_the_library_s_comparison(tmp_path: Path) -> None:
    made = compare(STORM, STORM_NEAR, Scheme(bits=128, weights="tf_idf"))
    arguments = ["--bits", "128", "--weights", "tf_idf", "--json"]
    [shown] = es_simhash("compare", STORM, STORM_NEAR, *arguments, cwd=tmp_path).json
    assert (shown["distance"], shown["scheme"]) == (made.distance, made.scheme.version)
    assert (shown["jaccard"], shown["cosine"]) == (made.jaccard, made.cosine)
    assert (shown["differing"], shown["matching"]) == (list(made.differing), list(made.matching))
    assert shown["verdicts"] == list(made.verdicts)
    for name, side in (("a", made.a), ("b", made.b)):
        assert shown[name]["fingerprint"] == side.fingerprint.hex
        assert shown[name]["segments"] == list(side.fingerprint.segments)
        assert shown[name]["digest"] == side.fingerprint.digest
        assert shown[name]["pulls"] == [asdict(pull) for pull in side.pulls]
        assert shown[name]["stop_words"] == list(side.stop_words)
        assert shown[name]["short_words"] == list(side.short_words)


@pytest.mark.parametrize("bits", [64, 128])
def test_the_text_form_shows_one_row_of_bits_per_segment_and_marks_the_bits_that_differ(
    tmp_path: Path, bits: int
) -> None:
    made = compare(STORM, STORM_NEAR, Scheme(bits=bits))
    done = es_simhash("compare", STORM, STORM_NEAR, "--bits", str(bits), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines() if line[:1] == "s" and line[1:2].isdigit()]
    assert [row[0] for row in rows] == [f"s{n}" for n in range(bits // 16)]
    assert [int("".join(row[column] for row in rows), 2) for column in (1, 2)] == [
        made.a.fingerprint.value,
        made.b.fingerprint.value,
    ]
    marks = "".join(row[3] for row in rows)
    assert [index for index, mark in enumerate(marks) if mark == "^"] == list(made.differing)
    assert f"distance  {made.distance} of {bits} bits" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (STORM, STORM.replace("，", ","), "exact duplicates: the normalised texts are the same"),
        (STORM, HARVEST, "different at every max_distance up to 7"),
    ],
)
def test_the_text_form_shows_the_verdict(tmp_path: Path, a: str, b: str, verdict: str) -> None:
    assert f"verdict   {verdict}\n" in es_simhash("compare", a, b, cwd=tmp_path).out


def test_a_text_without_a_fingerprint_has_no_rows_of_bits(tmp_path: Path) -> None:
    done = es_simhash("compare", "你好", STORM, cwd=tmp_path)
    assert "A         none: fewer than 4 features" in done.out
    assert "distance  none" in done.out
    assert "s0" not in done.out


def test_texts_files_and_standard_input_can_be_combined(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(STORM, encoding="utf-8")
    (tmp_path / "b.txt").write_text(STORM_NEAR, encoding="utf-8")
    shown = es_simhash("compare", STORM, STORM_NEAR, "--json", cwd=tmp_path).json
    for arguments in (["--file", "a.txt", "--file", "b.txt"], [STORM, "--file", "b.txt"], [STORM, "--file", "-"]):
        done = es_simhash("compare", *arguments, "--json", cwd=tmp_path, stdin=STORM_NEAR.encode())
        assert done.json == shown


@pytest.mark.parametrize("arguments", [[], [STORM], [STORM, STORM, STORM], ["--file", "-", "--file", "-"]], ids=len)
def test_exactly_two_texts_must_be_given(tmp_path: Path, arguments: list[str]) -> None:
    done = es_simhash("compare", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert "give two texts: two TEXTs, two --file FILE, or one of each" in done.err


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    said = complaint(es_simhash("compare", STORM, "--file", "none.txt", cwd=tmp_path))
    assert said == "es-simhash: cannot read none.txt: No such file or directory"


def test_the_user_s_own_tables_are_used(tmp_path: Path) -> None:
    (tmp_path / "idf.txt").write_text("幼儿园 50\n", encoding="utf-8")
    (tmp_path / "stop.txt").write_text("暴雨\n", encoding="utf-8")
    tables = ["--weights", "tf_idf", "--idf", "idf.txt", "--stop-words", "stop.txt"]
    [shown] = es_simhash("compare", STORM, STORM_NEAR, *tables, "--json", cwd=tmp_path).json
    assert shown["a"]["pulls"] == [{"feature": "幼儿园", "weight": 50.0, "other": 0.0}]
    assert "暴雨" in shown["a"]["stop_words"]
    assert json.dumps(shown["scheme"]).count("sha256:") == 2


NOTICE, CHANGED = (STORM + day for day in ("三月五日八时起停课。", "3月6日9时起停课。"))


def test_under_a_rule_it_shows_the_similarity_the_numbers_the_keys_and_the_verdicts(tmp_path: Path) -> None:
    rule = ["--confirm", "0.8", "--numbers-agree"]
    made = compare(NOTICE, CHANGED, rule=DuplicateRule(confirm=0.8, numbers_agree=True))
    assert made.texts is not None
    [shown] = es_simhash("compare", NOTICE, CHANGED, *rule, "--json", cwd=tmp_path).json
    assert shown["texts"] == json.loads(json.dumps(asdict(made.texts) | {"candidate": True}))
    assert (shown["verdict"], shown["verdict_with_keys"]) == ("different", "different")
    assert shown["rule"] == {
        "max_distance": None,
        "rule": "copy",
        "confirm": 0.8,
        "similarity": "either",
        "numbers_agree": True,
    }
    [bands] = made.texts.keys
    lines = es_simhash("compare", NOTICE, CHANGED, *rule, cwd=tmp_path).out.splitlines()
    assert lines[6:10] == [
        f"texts     {made.texts.similarity:.4f} either similarity; 0.8 needed",
        "numbers   only in A: 5, 8; only in B: 6, 9",
        f"keys      {bands.shared} of 50 bands in common, 1 needed",
        "rule      different; in a store with keys: different",
    ]
    lines = es_simhash("compare", NOTICE, CHANGED, "--any-numbers", cwd=tmp_path).out.splitlines()
    assert lines[9] == "rule      near-duplicates; in a store with keys: near-duplicates"
    lines = es_simhash(
        "compare", STORM, HARVEST, "--rule", "fingerprint", "--max-distance", "3", cwd=tmp_path
    ).out.splitlines()
    assert lines[6] == "rule      different"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("……", "none: no letter, digit or Han character"),
        ("", "none: no letter, digit or Han character"),
        ("暴雨", "3 of 3 q-grams in common, 3 needed"),
    ],
)
def test_texts_that_are_short_or_empty_have_a_line_of_keys_too(tmp_path: Path, text: str, keys: str) -> None:
    done = es_simhash("compare", text, text, "--confirm", "0.8", cwd=tmp_path)
    assert f"keys      {keys}\n" in done.out


def test_a_rule_that_is_not_allowed_is_one_line(tmp_path: Path) -> None:
    said = complaint(es_simhash("compare", STORM, STORM, "--rule", "fingerprint", "--max-distance", "9", cwd=tmp_path))
    assert (
        said == "es-simhash: max_distance is 9: use 0 to 7 at 64 bits; for exact duplicates alone use the rule 'exact'"
    )
    said = complaint(es_simhash("compare", STORM, STORM, "--rule", "fingerprint", "--numbers-agree", cwd=tmp_path))
    expected = "the rule 'fingerprint' does not use numbers_agree: leave it out, or use the rule 'copy' or 'contained'"
    assert said == f"es-simhash: {expected}"
