"""``es-simhash idf`` prints the library's IDF table, and ``fingerprint --idf`` uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash import Fingerprinter, Scheme
from es_simhash.fingerprinting.frequencies import idf_table
from es_simhash.fingerprinting.tables import StopWords
from tests.cli import HARVEST, STORM, STORM_NEAR, complaint, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [STORM, STORM_NEAR, HARVEST]
LINES = b"".join(line(n, text) for n, text in enumerate(TEXTS))


def test_the_table_is_the_library_s_table(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(LINES)
    done = es_simhash("idf", "news.jsonl", cwd=tmp_path)
    table = idf_table(TEXTS)
    assert done.out.splitlines() == list(table.lines())
    assert (done.code, done.err) == (0, f"{len(table.units)} words of 3 documents\n")
    assert es_simhash("idf", cwd=tmp_path, stdin=LINES).out == done.out


def test_the_documents_of_a_dead_letter_file_are_counted(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(LINES.replace(b'"id"', b'"key"'))
    assert es_simhash("ingest", "--rule", "fingerprint", "news.jsonl", "--dead-letter", "dead", cwd=tmp_path).code == 1
    assert es_simhash("idf", "dead", cwd=tmp_path) == es_simhash("idf", cwd=tmp_path, stdin=LINES)


def test_fingerprints_can_use_the_table_and_their_scheme_names_it(tmp_path: Path) -> None:
    made = es_simhash("idf", "-", cwd=tmp_path, stdin=LINES)
    (tmp_path / "idf.txt").write_text(made.out, encoding="utf-8")
    (tmp_path / "stop.txt").write_text("暴雨\n居民\n", encoding="utf-8")
    ours = Fingerprinter.using(
        Scheme(weights="tf_idf", bits=128, hash="jenkins", digest="sha256"),
        idf=idf_table(TEXTS),
        stop_words=StopWords.of(["暴雨", "居民"]),
    )
    choices = ["--weights", "tf_idf", "--bits", "128", "--hash", "jenkins"]
    choices += ["--digest", "sha256", "--idf", "idf.txt", "--stop-words", "stop.txt"]
    [shown] = es_simhash("fingerprint", STORM, *choices, "--json", cwd=tmp_path).json
    theirs = ours.fingerprint(STORM)
    assert (shown["fingerprint"], shown["digest"]) == (theirs.hex, theirs.digest)
    assert shown["scheme"] == ours.scheme.version


def test_several_fields_are_joined_and_tokens_can_be_chosen(tmp_path: Path) -> None:
    data = line(1, "暴雨", title="预警") + line(2, "停课")
    done = es_simhash("idf", "--text-field", "title, text", "--tokens", "han_characters", cwd=tmp_path, stdin=data)
    assert done.out.splitlines() == list(idf_table(["预警\n暴雨", "停课"], "han_characters").lines())


def test_a_bad_line_is_reported_with_its_place_and_skipped(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(LINES + b"{\n" + b'["text"]\n' + b'{"title": "x"}\n' + line(9, 7))
    done = es_simhash("idf", "news.jsonl", cwd=tmp_path)
    assert done.code == 3
    assert done.out.splitlines() == list(idf_table(TEXTS).lines())
    places = [message.split(": ")[1] for message in done.err.splitlines() if message.startswith("rejected: ")]
    assert places == [f"news.jsonl:{n}" for n in (4, 5, 6, 7)]
    assert "no text in field 'text': name the field that holds the text (--text-field)" in done.err


def test_a_message_says_that_there_were_more_words_than_max_words(tmp_path: Path) -> None:
    done = es_simhash("idf", "--max-words", "100", cwd=tmp_path, stdin=LINES)
    assert done.code == 0
    assert 0 < len(done.out.splitlines()) <= 100 < len(idf_table(TEXTS).units)
    assert "counts may be too low by" in done.err


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no documents in stdin: give one JSON object per line"),
        (line(1, "，。！"), "cannot make an IDF table: the documents have no words"),
    ],
)
def test_input_without_words_is_an_error(tmp_path: Path, data: bytes, problem: str) -> None:
    assert complaint(es_simhash("idf", cwd=tmp_path, stdin=data)) == f"es-simhash: {problem}"


@pytest.mark.parametrize(
    ("options", "data", "problem"),
    [
        (
            ["--weights", "tf_idf", "--idf", "table.txt"],
            b"word\n",
            "table.txt:1: the line has 1 instead of 2 columns: write a word, a space and its IDF, such as '暴雨 7.25'",
        ),
        (
            ["--weights", "tf_idf", "--idf", "table.txt"],
            b"word nan\n",
            "table.txt:1: the IDF nan is not a positive finite number: correct or remove it",
        ),
        (["--stop-words", "table.txt"], b"\xff\n", "table.txt:1: not UTF-8 at byte 1: convert the file to UTF-8"),
        (["--stop-words", "other.txt"], b"", "cannot read other.txt: No such file or directory"),
        (
            ["--idf", "table.txt"],
            b"word 1\n",
            "Scheme.idf names a custom table, but Scheme.weights 'sqrt_tf' use no IDF: use the weights tf_idf",
        ),
        (
            ["--bits", "128", "--hash", "fnv1a_64"],
            b"",
            "Scheme.hash is 'fnv1a_64', which has fewer than 128 bits: use one of murmur3, jenkins",
        ),
    ],
)
def test_a_table_or_a_choice_that_cannot_be_used_is_an_error_of_one_line_with_the_fix(
    tmp_path: Path, options: list[str], data: bytes, problem: str
) -> None:
    (tmp_path / "table.txt").write_bytes(data)
    assert complaint(es_simhash("fingerprint", STORM, *options, cwd=tmp_path)) == f"es-simhash: {problem}"


@pytest.mark.parametrize(("options", "stop_words"), [(["--stop-words", "none"], "none"), (["--stop-words", "1"], "1")])
def test_the_lists_that_need_no_file_are_chosen_by_name(tmp_path: Path, options: list[str], stop_words: str) -> None:
    ours = Fingerprinter(Scheme(stop_words=stop_words)).fingerprint(STORM)
    [shown] = es_simhash("fingerprint", STORM, *options, "--json", cwd=tmp_path).json
    assert shown["fingerprint"] == ours.hex
