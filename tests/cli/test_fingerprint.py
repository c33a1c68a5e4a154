"""``es-simhash fingerprint`` prints what the library computes, and needs no store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash import Scheme, fingerprint
from tests.cli import STORM, Done, es_simhash

if TYPE_CHECKING:
    from pathlib import Path

OURS = fingerprint(STORM)


def test_the_text_form_shows_fingerprint_segments_features_and_digest(tmp_path: Path) -> None:
    done = es_simhash("fingerprint", STORM, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert dict(printed.split(maxsplit=1) for printed in done.out.splitlines()) == {
        "fingerprint": OURS.hex,
        "segments": " ".join(OURS.segments),
        "features": str(OURS.features),
        "digest": OURS.digest,
    }


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("fingerprint")
    nobody = {"ELASTICSEARCH_URL": "http://127.0.0.1:1/none"}
    return folder, es_simhash("fingerprint", STORM, "--json", cwd=folder, env=nobody)


def test_the_json_form_has_the_values_of_the_library_and_the_scheme(shown: tuple[Path, Done]) -> None:
    assert shown[1].json == [
        {
            "fingerprint": OURS.hex,
            "segments": list(OURS.segments),
            "features": OURS.features,
            "digest": OURS.digest,
            "scheme": Scheme().version,
        }
    ]


def test_no_store_is_needed_or_touched(shown: tuple[Path, Done]) -> None:
    folder, done = shown
    assert (done.code, done.err) == (0, "")
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_the_weights_are_part_of_the_fingerprint_and_of_the_scheme(tmp_path: Path) -> None:
    scheme = Scheme(weights="tf_idf")
    theirs = fingerprint(STORM, scheme)
    assert theirs.value != OURS.value
    done = es_simhash("fingerprint", STORM, "--json", "--weights", "tf_idf", cwd=tmp_path)
    assert [(each["fingerprint"], each["scheme"]) for each in done.json] == [(theirs.hex, scheme.version)]


@pytest.mark.parametrize(
    ("file", "data"),
    [("article.txt", b"\xef\xbb\xbf" + STORM.encode()), ("-", STORM.encode())],
    ids=["file with a BOM", "standard input"],
)
def test_a_file_and_standard_input_give_the_same_fingerprint_as_the_text(
    tmp_path: Path, file: str, data: bytes
) -> None:
    (tmp_path / "article.txt").write_bytes(data)
    done = es_simhash("fingerprint", "--file", file, "--json", cwd=tmp_path, stdin=data)
    assert [each["fingerprint"] for each in done.json] == [OURS.hex]


def test_a_short_text_has_a_digest_and_no_fingerprint(tmp_path: Path) -> None:
    [shown] = es_simhash("fingerprint", "你好。", "--json", cwd=tmp_path).json
    assert (shown["fingerprint"], shown["segments"], shown["digest"]) == (None, [], fingerprint("你好。").digest)


def test_the_text_form_says_why_there_is_no_fingerprint(tmp_path: Path) -> None:
    done = es_simhash("fingerprint", "你好", cwd=tmp_path)
    assert done.code == 0
    assert "fingerprint  none: fewer than 4 features" in done.out


@pytest.mark.parametrize("arguments", [[], [STORM, "--file", "article.txt"]], ids=["neither", "both"])
def test_a_text_or_a_file_must_be_given_and_not_both(tmp_path: Path, arguments: list[str]) -> None:
    done = es_simhash("fingerprint", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert "give a TEXT or --file FILE" in done.err
