"""The progress bar of ``es-simhash group``, and groups that come from a file."""

from __future__ import annotations

import json
from io import StringIO
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from tqdm import tqdm

from es_simhash import Documents, DuplicateRule
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


def test_group_says_how_many_pairs_were_not_compared(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/news.db"
    text = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。" * 3
    with Documents(store) as documents:
        documents.setup(keys=False)
        documents.add_many([{"id": f"d{n}", "text": text + "。" + "一" * n} for n in range(30)])
        documents.setup(rule=DuplicateRule(confirm=0.8, max_distance=7))
        left_out = documents.group(rule=DuplicateRule(confirm=0.8, max_distance=7)).left_out
    assert left_out > 1
    assert (
        f"about {left_out} pairs were not compared: very many documents share keys or are near\n"
        in run("group", "--confirm", "0.8", "--max-distance", "7", "--store", store).stdout
    )


def test_a_file_of_groups_has_its_heads() -> None:
    refused = run("group", "--rule", "fingerprint", "--from", "links.parquet", "--head", "latest")
    assert refused.exit_code == 2
    assert "use --from without --head" in refused.stderr
