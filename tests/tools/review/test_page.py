"""The page of the report: nothing from a document becomes markup, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import Scheme
from es_simhash.tools.review import NearMiss
from es_simhash.tools.review.findings import Review, ReviewedGroup
from es_simhash.tools.review.group_table import GroupMember, GroupSummary, Totals
from es_simhash.tools.review.page import Page

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


def page_of(texts: list[str], title_field: str | None = "title") -> str:
    """A page with a group of documents with these texts; texts are ids too, and near misses of each other."""
    ids = [f"{number}{text}" for number, text in enumerate(texts)]
    members = tuple(GroupMember(id, ids[0], number, number == 2, None) for number, id in enumerate(ids))
    group = ReviewedGroup(GroupSummary(ids[0], len(ids), 1, 3), members, frozenset(ids[3:]))
    review = Review(
        Totals(5, 1, 1, len(ids), 1, {len(ids): 1}, {0: 1, 9: 2, None: 1}),
        missing=2,
        max_distance=3,
        groups=(group,),
        near_misses=(NearMiss(ids[0], ids[1], 4, 0.79),),
    )
    page = Page(review, Scheme(), HOSTILE, HOSTILE, HOSTILE, title_field, ("text",))
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
