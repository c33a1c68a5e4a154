"""The progress bar of ``es-simhash group``, and groups that come from a file."""

from __future__ import annotations

import json
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tqdm import tqdm

from es_simhash import Documents, InputError
from es_simhash.cli import cli
from es_simhash.console.progress import show_stages

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def test_the_progress_bar_starts_again_at_zero_with_each_stage() -> None:
    with tqdm(file=StringIO(), disable=False) as bar:
        progress = show_stages(bar)
        shown = []
        for stage, count in (("read", 1_000), ("read", 500), ("compared", 20), ("written", 7), ("written", 3)):
            progress(stage, count)
            shown.append((bar.desc, bar.n))
    assert shown == [("read: ", 1_000), ("read: ", 1_500), ("compared: ", 20), ("written: ", 7), ("written: ", 10)]


def test_a_progress_bar_that_is_not_shown_raises_nothing() -> None:
    with tqdm(disable=True) as bar:
        progress = show_stages(bar)
        progress("read", 1)
        progress("written", 1)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_an_export_with_fields_is_written_back_by_group_from(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/news.db"
    texts = ["市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水", "地铁三号线今日开通试运营，线路全长三十一公里"]
    with Documents(store) as documents:
        documents.add_many(
            [{"id": f"d{n}", "body": text} for n, text in enumerate(texts)], text_field="body", rule="fingerprint"
        )
    fields = ("--fields", "text, written,version,scheme", "--text-field", "body", "--store", store)
    exported = lines(run("export", *fields))
    assert [each["text"] for each in exported] == texts
    assert exported[0]["written"] < exported[1]["written"]
    links = tmp_path / "links"
    links.mkdir()
    (links / "_SUCCESS").touch()
    for n, each in enumerate(exported):
        digest = exported[0]["digest"]
        heads = {"group": "d0", "group_digest": digest, "original_digest": digest, "order": "written"}
        link = each | heads | {"duplicate_of": "d0" if each["id"] == "d1" else None}
        (links / f"part-{n}.json").write_text(json.dumps(link, ensure_ascii=False), encoding="utf-8")
    written = run("group", "--rule", "fingerprint", "--from", str(links), "--store", store)
    assert (written.exit_code, written.stdout) == (0, "2 documents, updated the group or the original of 1\n")
    assert [each["group"] for each in lines(run("export", "--store", store))] == ["d0", "d0"]
    with Documents(store) as documents:
        documents.add({"id": "d1", "body": texts[1] + "，日均客流五十万人次"}, text_field="body", rule="fingerprint")
    skipped = run("group", "--rule", "fingerprint", "--from", str(links), "--store", store).stdout
    assert skipped.endswith("skipped 1 document that another program changed since: group them again\n")


def test_a_file_or_a_field_that_does_not_exist_is_named(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/news.db")
    assert (
        "there is no field 'body': use text, written, version, scheme"
        in run("export", "--fields", "body", *store).stderr
    )
    for path, message in {"missing": "No such file or directory", ".": "has no files"}.items():
        assert message in str(run("group", "--rule", "fingerprint", "--from", str(tmp_path / path), *store).exception)


def test_an_export_says_how_many_documents_have_no_text(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/news.db")
    with Documents(store[1]) as documents:
        documents.add({"id": "a", "body": "市气象台今晨发布暴雨橙色预警"}, text_field="body")
        documents.setup(text_field="title")
        documents.add({"id": "b", "title": "地铁三号线今日开通试运营"}, text_field="title")
        documents.setup(text_field="text")
    some = run("export", "--fields", "text", "--text-field", "body", *store)
    assert (some.exit_code, [each["text"] is None for each in lines(some)]) == (0, [False, True])
    assert some.stderr == "1 of 2 documents has no text in field 'body': name it with --text-field\n"
    with pytest.raises(InputError, match=r"^2 of 2 documents have no text in field 'text': name it with --text-field$"):
        CliRunner().invoke(cli, ["export", "--fields", "text", *store], catch_exceptions=False)
    unused = run("export", "--text-field", "body", *store)
    assert (unused.exit_code, unused.stdout) == (2, "")
    assert "add text to --fields" in unused.stderr


def test_group_says_how_many_pairs_were_not_compared(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/news.db"
    text = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。" * 3
    with Documents(store) as documents:
        documents.setup(keys=False)
        documents.add_many([{"id": f"d{n}", "text": text + "。" + "一" * n} for n in range(30)])
        documents.setup(confirm=0.8, max_distance=7)
        left_out = documents.group(confirm=0.8, max_distance=7).left_out
    assert left_out > 1
    assert (
        f"about {left_out} pairs were not compared: very many documents share keys or are near\n"
        in run("group", "--confirm", "0.8", "--max-distance", "7", "--store", store).stdout
    )


def test_a_file_of_groups_has_its_heads() -> None:
    refused = run("group", "--rule", "fingerprint", "--from", "links.parquet", "--head", "latest")
    assert refused.exit_code == 2
    assert "use --from without --head" in refused.stderr
