"""The page of the report: nothing from a document becomes markup, and nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, DuplicateRule, Fingerprinter, Scheme
from es_simhash.tools.report.groups import Groups
from es_simhash.tools.report.page import page
from es_simhash.tools.report.review import MEMBERS, Review, pairs_with_other_numbers
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR
from tests.tools.evaluation.test_evaluation import NOTICE, OTHER_NUMBERS

if TYPE_CHECKING:
    from pathlib import Path

    from es_simhash.tools.report.page import Language

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror="alert(2)">\' onclick=alert(3) &lt;b&gt; &#60;i&#62; </details></body>'
    "<!-- ]]> <style>*{}</style> \u202e\x1b[31m\x00 javascript:alert(4) {{7*7}} {% raw %} <a href=//evil.example>"
)
ID = HOSTILE.replace("\0", "")
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "h3", "p", "dl"),
    *(
        "code",
        "dt",
        "dd",
        "div",
        "span",
        "details",
        "summary",
        "article",
        "del",
        "ins",
        "b",
        "button",
        "kbd",
        "noscript",
        "script",
    ),
}


class Reader(HTMLParser):
    """Reads a page; each element must be closed, and of a known kind."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert not any(name.startswith("on") or name in ("src", "href", "style") for name, _ in attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & {*self.open}:
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def read(html: str) -> str:
    """The text of a page, on one line."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return " ".join("".join(reader.text).split())


def page_of(
    folder: Path,
    texts: dict[str, str],
    *,
    removed: tuple[str, ...] = (),
    rule: DuplicateRule | None = None,
    language: Language = "en",
    scheme: Scheme | None = None,
    has_buttons: bool = False,
) -> str:
    """The page of a store with these documents; their ids are titles, too.

    :param removed: these are removed after the groups were read.
    """
    with Documents(f"sqlite:///{folder}/news.db", scheme=scheme) as documents:
        documents.setup(rule=rule)
        list(documents.ingest({"id": id, "title": id, "text": text} for id, text in texts.items()))
        groups = Groups(documents.export())
        info = documents.info()
        documents.remove(removed)
        review = Review(
            info.rule,
            Fingerprinter(info.scheme or Scheme()),
            groups,
            lambda ids, fields: documents.fetch(ids, fields=fields),
            "title",
        )
        pairs = pairs_with_other_numbers(review, documents)
        return "".join(page(review, pairs, HOSTILE, 10, language, has_buttons=has_buttons))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_from_a_document_is_markup_and_nothing_is_loaded(tmp_path: Path, language: Language) -> None:
    texts = {f"{ID}{number}": f"{HOSTILE} {text}" for number, text in enumerate([STORM, STORM_NEAR, STORM])}
    html = page_of(tmp_path, texts, language=language)
    text = read(html)
    assert "<script>alert(1)</script>" in text
    assert text.count("{{7*7}}") == 6
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", html)
    assert "default-src 'none'" in html
    assert not re.search(r"(?:src|href|url)\s*[=(]", re.sub(r"<(?:p|span|title|h1)[ >].*", "", html))
    assert "<script" not in html


@pytest.mark.parametrize("language", ["en", "zh"])
def test_with_buttons_one_script_runs_and_a_line_has_the_ids_as_they_are(tmp_path: Path, language: Language) -> None:
    texts = {ID: STORM, f"{ID}2": STORM_NEAR, "c": NOTICE, "d": OTHER_NUMBERS}
    made = page_of(tmp_path, texts, language=language, has_buttons=True)
    read(made)
    [script] = re.findall("<script>(.*?)</script>", made, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html.unescape(made)
    lines = [json.loads(html.unescape(line)) for line in re.findall('data-line="([^"]*)"', made)]
    assert lines == [{"id": f"{ID}2"}, {"id": "d"}]
    values = [json.loads(html.unescape(value)) for value in re.findall('type="button" value="([^"]*)"', made)]
    originals = [ID, "c"]
    assert values == [{"duplicate_of": each} for original in originals for each in (None, original)]


def test_a_group_has_its_original_then_the_least_similar_members_with_what_differs(tmp_path: Path) -> None:
    texts = {
        "original": STORM,
        "near": STORM_NEAR,
        "copy": STORM.replace("，", ","),
        "far": STORM_FARTHER[:-9],
        "x": HARVEST,
    }
    html = page_of(tmp_path, texts)
    text = read(html)
    assert "documents5 groups1 exact duplicates1 near-duplicates2" in text
    assert re.findall('class="id" dir="auto">(.*?)<', html) == ["original", "far", "near", "copy"]
    assert "<del>幼儿园</del><ins>托儿所</ins>" in html
    assert re.search(r"similarity 9\d%", text)
    assert " bits" not in text
    assert "Rule copy: a similarity of 80% or more, and no contradiction. Made 20" in text


def test_the_words_are_chinese(tmp_path: Path) -> None:
    text = read(page_of(tmp_path, {"a": STORM, "b": STORM_NEAR, "c": NOTICE, "d": OTHER_NUMBERS}, language="zh"))
    assert "规则 copy：相似度不低于 80%，且互不矛盾。生成于 20" in text
    assert re.search(r"相似度 9\d% 矛盾", text)
    assert not re.search("documents|similarity|group|numbers", text)


def test_pairs_that_only_their_numbers_keep_apart_have_their_similarity(tmp_path: Path) -> None:
    html = page_of(tmp_path, {"a": NOTICE, "b": OTHER_NUMBERS, "x": HARVEST})
    text = read(html)
    assert "There are no groups." in text
    assert re.search(r"[ab]and[ab]similarity 9\d% contradictions", text.replace(" and ", "and"))
    marked = '<del>{}</del><span class="badge warn">≠</span><ins>{}</ins>'
    assert marked.format(12, 15) in html or marked.format(15, 12) in html
    assert "0.00" not in text


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (DuplicateRule("fingerprint"), "Rule fingerprint: at most 3 bits differ"),
        (DuplicateRule("exact"), "Rule exact: exact duplicates alone"),
        (DuplicateRule("contained", contradictions="allow"), "Rule contained: a similarity of 90% or more."),
    ],
)
def test_bits_are_shown_where_fingerprints_decide(tmp_path: Path, rule: DuplicateRule, words: str) -> None:
    text = read(
        page_of(tmp_path, {"a": STORM, "b": STORM_NEAR, "c": STORM, "d": NOTICE, "e": OTHER_NUMBERS}, rule=rule)
    )
    assert words in text
    assert bool(re.search(r"\d bits", text.replace("3 bits differ", ""))) is (rule.rule == "fingerprint")
    assert ("similarity 9" in text) is (rule.rule == "contained")
    assert "contradictions" not in text


def test_of_a_large_group_some_members_are_shown_and_the_others_are_counted(tmp_path: Path) -> None:
    texts = {"original": STORM} | {f"near{n}": STORM + "。" + "甲乙丙丁戊己庚辛壬癸"[n] for n in range(10)}
    text = read(page_of(tmp_path, texts | {f"copy{n}": STORM for n in range(50)}))
    assert f"{10 - MEMBERS} more near-duplicates" in text
    assert "38 more exact duplicates" in text


def test_a_member_that_is_removed_meanwhile_is_counted_and_not_shown_as_a_text_without_words(tmp_path: Path) -> None:
    texts = {"original": STORM, "near": STORM_NEAR, "far": STORM_FARTHER[:-9]}
    html = page_of(tmp_path, texts, removed=("far",))
    assert re.findall('class="id" dir="auto">(.*?)<', html) == ["original", "near"]
    assert "1 more near-duplicates" in read(html)


def test_markup_is_not_shown_where_the_scheme_is_for_html(tmp_path: Path) -> None:
    html = page_of(tmp_path, {"a": f"<p>{STORM}</p>", "b": f"<div>{STORM_NEAR}</div>"}, scheme=Scheme(markup="html"))
    assert "&lt;p&gt;" not in html
    assert "<ins>托儿所</ins>" in html
