"""The page for labelling: nothing from a document becomes markup, what it saves is what was drawn, and keys label."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from typing import Any

from es_simhash import Scheme
from es_simhash.tools.evaluation import SampledPair
from es_simhash.tools.evaluation.labels import label_page
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR
from tests.tools.report.test_page import HOSTILE

PAIRS = [
    SampledPair("a", "b", STORM, STORM_NEAR),
    SampledPair("a", "c</script>", STORM, STORM_FARTHER),
    SampledPair("d", "e", HOSTILE, HOSTILE + HARVEST),
]


def page_of(pairs: list[SampledPair], **options: Any) -> str:
    return "".join(label_page(pairs, "news</title>", Scheme(), **options))


def test_nothing_from_a_document_is_markup_and_one_script_may_run() -> None:
    made = page_of(PAIRS)
    assert "alert(1)" in made
    assert re.findall("<(?:script|img|a )[^>]*>", made) == ["<script>"]
    script = made.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html.unescape(made)


def test_the_page_is_in_both_languages_and_readable_without_a_script() -> None:
    made = page_of(PAIRS, language="zh")
    assert '<html lang="zh-CN">' in made
    assert "没有 JavaScript" in made.partition("<noscript>")[2].partition("</noscript>")[0]
    assert "暴雨橙色预警" in made.partition("<main>")[2].partition("</main>")[0]
    assert all("hidden" in each for each in re.findall("<(?:p|div)[^>]*>(?=<button|\n<span role)", made))
