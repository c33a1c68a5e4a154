"""The progress bar of ``es-simhash group``."""

from __future__ import annotations

from io import StringIO

from tqdm import tqdm

from es_simhash.cli.group import show_stages


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
