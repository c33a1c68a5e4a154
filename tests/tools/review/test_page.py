"""The page of the report: nothing from a document becomes markup, and nothing is loaded from elsewhere."""

from __future__ import annotations

import ast
import inspect
import re
from html.parser import HTMLParser
from string import Formatter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import DuplicateRule, Scheme
from es_simhash.tools.review import NearMiss, report_command
from es_simhash.tools.review import page as page_module
from es_simhash.tools.review.findings import Review, ReviewedGroup
from es_simhash.tools.review.group_table import GroupMember, GroupSummary, Totals
from es_simhash.tools.review.page import Page
from es_simhash.tools.review.page_words import CHINESE, Language

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror="alert(2)">\' onclick=alert(3) &lt;b&gt; &#60;i&#62; </details></body>'
    "<!-- ]]> <style>*{}</style> \u202e\x1b[31m\x00\ud800 javascript:alert(4) {{7*7}} <a href=//evil.example>"
)
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "a", "header", "main", "section", "h1", "h2", "h3", "p", "dl"),
    *("dt", "dd", "div", "figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td", "span", "details", "del"),
    *("summary", "article", "ins", "bdi", "code"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "href", "id", "aria-labelledby", "aria-label"),
    *("aria-hidden", "scope", "style", "dir", "open"),
}


class Reader(HTMLParser):
    """Reads a page; each element must be closed, and of a known kind."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.values: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert {name for name, _ in attrs} <= ATTRIBUTES
        assert len({name for name, _ in attrs}) == len(attrs)
        self.values += [f"{name}={value}" for name, value in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def page_of(
    texts: list[str],
    title_field: str | None = "title",
    name: str = HOSTILE,
    language: Language = "en",
    bits: int | None = 3,
) -> str:
    """A page with a group of documents with these texts; texts are ids too, and near misses of each other."""
    ids = [f"{number}{text}" for number, text in enumerate(texts)]
    members = tuple(GroupMember(id, ids[0], number, number == 2, None) for number, id in enumerate(ids))
    group = ReviewedGroup(GroupSummary(ids[0], len(ids), 1, 3), members, frozenset(ids[3:]))
    review = Review(
        Totals(5, 1, 1, len(ids), 1, {len(ids): 1}, {0: 1, 9: 2, None: 1}),
        missing=2,
        max_distance=bits,
        groups=(group,),
        near_misses=(NearMiss(ids[0], ids[1], 4, 0.79),),
    )
    page = Page(review, Scheme(), name, name, name, title_field, ("text",), language)
    sources: dict[str, Any] = {id: {"title": text, "text": text} for id, text in zip(ids, texts, strict=True)}
    del sources[ids[-1]]  # a document that was removed meanwhile
    pieces = [*page.head(), *page.group(0, group, sources), *page.near_misses(review.near_misses, sources), page.foot()]
    return "".join(pieces)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page.encode().decode())  # it must have a form in UTF-8
    reader.close()
    assert not reader.open
    return reader


def test_hostile_titles_texts_and_ids_are_text_and_nothing_else() -> None:
    page = page_of([HOSTILE, f"{HOSTILE} more", HOSTILE, "暴雨 " + HOSTILE, "gone"])
    reader = read(page)
    text = "".join(reader.text)
    assert text.count("<script>alert(1)</script>") > 5
    assert "&lt;b&gt; &#60;i&#62;" in text
    assert not re.search("[\x00\x1b\u202e]", text)
    assert not [value for value in reader.values if "alert" in value or "://" in value or "evil" in value]
    assert [value for value in reader.values if value.startswith("href")] == ["href=#groups"]
    assert "default-src 'none'" in page
    assert "@import" not in page
    assert "url(" not in page


@settings(max_examples=50)
@given(st.lists(st.text(max_size=30) | st.sampled_from(["<", "&", '"', "a b", "暴雨预警"]), min_size=2, max_size=5))
def test_any_texts_make_a_page_whose_elements_are_closed(texts: list[str]) -> None:
    read(page_of(texts))


def test_differing_words_are_marked_and_members_outside_the_rule_too() -> None:
    texts = ["发布暴雨橙色预警", "发布暴雨红色预警", "发布暴雨橙色预警", "发布大风蓝色预警", "gone"]
    page = page_of(texts, title_field=None)
    assert page.count("<del>橙色</del><ins class=to>红色</ins>") == 2  # in the group, and as a near miss
    assert page.count('<span class="badge out">outside the rule</span>') == 3  # the legend, and two members
    assert "similarity 0.79" in page
    assert '<span class="badge">exact duplicates</span>' in page
    assert "no text" in page


def test_distances_beyond_that_of_the_rule_are_striped_if_it_has_one() -> None:
    texts = ["发布暴雨橙色预警", "发布暴雨红色预警", "发布大风蓝色预警"]
    assert page_of(texts).count("<tr class=out>") == 6  # 4 to 7 bits, 8 or more, and no distance
    assert "Striped" in page_of(texts)
    assert "<tr class=out>" not in page_of(texts, bits=None)
    assert "Striped" not in page_of(texts, bits=None)


def test_a_page_in_chinese_has_the_same_elements_and_no_english_word() -> None:
    texts = ["发布暴雨橙色预警", "发布暴雨红色预警", "发布暴雨橙色预警", "发布大风蓝色预警", "发布，暴雨橙色预警", ""]
    pages = [read(page_of(texts, name="新闻", language=language)) for language in ("en", "zh")]
    assert [value for value in pages[0].values if value != "lang=en" and "aria-label=" not in value] == [
        value for value in pages[1].values if value != "lang=zh-CN" and "aria-label=" not in value
    ]
    chinese = "".join(pages[1].text).replace("remove --duplicates", "")
    assert not re.search("[a-z]{2}", chinese)
    for text in ("新闻 中的重复文档", "组首以外的成员", "规则之外", "“差一点”的文档对", "没有文本"):
        assert text in chinese


def test_each_text_of_the_report_has_its_chinese_and_the_same_fields() -> None:
    sources = [inspect.getsource(module) for module in (page_module, report_command)]
    used = {node.value for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    assert set(CHINESE) <= used
    for english, chinese in CHINESE.items():
        fields = [{name for _, name, _, _ in Formatter().parse(text) if name} for text in (english, chinese)]
        assert fields[0] == fields[1]


@pytest.mark.parametrize(
    ("rule", "english", "chinese"),
    [
        (DuplicateRule(), "the texts have a similarity of 0.8 or more", "文本相似度不低于 0.8"),
        (DuplicateRule(rule="fingerprint"), "at most 3 bits differ", "汉明距离不超过 3 比特"),
        (DuplicateRule(rule="fingerprint", max_distance=1), "at most 1 bit differs", "汉明距离不超过 1 比特"),
        (DuplicateRule(rule="exact"), "exact duplicates only", "只认完全相同的文本"),
    ],
)
def test_the_rule_is_said_in_words(rule: DuplicateRule, english: str, chinese: str) -> None:
    bits = None if rule.rule == "copy" else rule.bits_allowed(Scheme())
    assert report_command.rule_in_words(rule, bits, "en").startswith(english)
    assert report_command.rule_in_words(rule, bits, "zh").startswith(chinese)
