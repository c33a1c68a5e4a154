"""Laws of the text of HTML: it is the text that the page was made of, whatever stands round it."""

from __future__ import annotations

import html
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import Documents, Scheme
from es_simhash.errors import InputError
from es_simhash.text.markup import _stream, text_of_html

if TYPE_CHECKING:
    from pathlib import Path

INLINE = ("a", "b", "em", "font", "span", "strong", "my-element")
APART = ("div", "h1", "li", "p", "section", "table", "td")
HIDDEN = (
    "<script>if (a < b) document.write('<p>x</p>')</script>",
    "<STYLE type=text/css>p > a { content: '</p>' }</STYLE>",
    "<title>a &amp; b</title>",
    "<noscript><p>switch it on</p></noscript>",
    "<iframe src=x><p>old</p></iframe>",
    "<template><div>later<template>x</template></div></template>",
    "<!-- <p>not yet</p> -->",
    "<!doctype html>",
    "<?php echo '1' ?>",
    "<img alt='picture' src=x>",
    "<input value='x'>",
    "<wbr>",
)


@dataclass(frozen=True)
class Piece:
    """A piece of a page: how it is written, and what a browser shows of it."""

    written: str
    shown: str


@st.composite
def characters(draw: st.DrawFn) -> Piece:
    """A piece of text; each character as it is, or as an entity."""
    text = draw(st.text(st.sampled_from("暴雨橙色ab1 ，<>&\"'é\n;#x") | st.characters(codec="utf-8"), max_size=6))
    text = text.replace("\r", "").replace("\0", "")
    ways = [
        html.escape,
        lambda c: f"&#{ord(c)};" if c.isalnum() else html.escape(c),
        lambda c: f"&#x{ord(c):X};" if c.isalnum() else html.escape(c),
    ]
    return Piece("".join(draw(st.sampled_from(ways))(character) for character in text), text)


def element(children: st.SearchStrategy[Piece]) -> st.SearchStrategy[Piece]:
    def make(name: str, attributes: str, inner: list[Piece]) -> Piece:
        shown = "".join(piece.shown for piece in inner)
        shown = f"\n{shown}\n" if name in APART else shown
        return Piece(f"<{name}{attributes}>{''.join(piece.written for piece in inner)}</{name.upper()} >", shown)

    attributes = st.sampled_from(["", " class='x'", ' title="a > b"', " hidden onclick=f(1)", "\n id=1 "])
    return st.builds(make, st.sampled_from(INLINE + APART), attributes, st.lists(children, max_size=4))


hidden = st.sampled_from(HIDDEN).map(lambda written: Piece(written, ""))
breaks = st.sampled_from(["<br>", "<br/>", "<BR />", "<hr>"]).map(lambda written: Piece(written, "\n"))
pieces = st.recursive(characters() | hidden | breaks, element, max_leaves=20)
pages = st.lists(pieces, max_size=5)


@given(pages)
def test_the_text_is_what_the_page_was_made_of(page: list[Piece]) -> None:
    written = "".join(piece.written for piece in page)
    assert text_of_html(written) == "".join(piece.shown for piece in page).strip()


SOUP = [
    *"<>/!-&;=\"' ?[]abps暴",
    "<p>",
    "</",
    "<!--",
    "script",
    "<a b='",
    "<![CDATA[",
    "<svg>",
    "</template",
    "&#",
    "1",
    "²",
]


@given(st.lists(st.sampled_from(SOUP), max_size=40).map("".join) | st.text())
def test_no_markup_is_an_error(soup: str) -> None:
    text_of_html(soup)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("&nbsp;", ""),
        ("<p></p><br><img src=x><!-- x -->", ""),
        ("&ldquo;好&rdquo;&hellip;&#12290;&#x4E2D;&copy", "“好”…。中©"),
        ("&#65中&#65², &#① <a b='&#²'>", "A中A², &#①"),
        ("foo<b>bar</b>baz", "foobarbaz"),
        ("<td>1</td><td>2</td>", "1\n\n2"),
        ("<p>一<p>二", "一\n二"),
        ("3 < 5 & 7 > 6", "3 < 5 & 7 > 6"),
        ("<b>bold<i>both</b>italic</i>", "boldbothitalic"),
        ("<svg><style/><text>图</text></svg>文", "图文"),
        ("<textarea><b>x</b></textarea>", "<b>x</b>"),
        ("text <unclosed", "text"),
        ("<script>never closed <p>文", ""),
        ("文</script>字", "文字"),
        ("文</template>字", "文字"),
    ],
)
def test_markup_is_read_as_a_browser_reads_it(written: str, shown: str) -> None:
    assert text_of_html(written) == shown


HOSTILE = {
    "nested formatting elements": "".join(f"<b id={n}>" for n in range(20_000)) + "<p>文" * 20_000,
    "misnested elements": "<a><b><i>" * 20_000 + "</a></b></i>" * 20_000 + "文",
    "attributes": "<a " + " ".join(f"a{n}=1" for n in range(50_000)) + ">文",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_markup_takes_long(kind: str) -> None:
    """Each takes a second at most on a quiet machine; a quadratic parser takes minutes. test_linear has simple ones."""
    before = time.process_time()
    assert text_of_html(HOSTILE[kind]).endswith("文")
    assert time.process_time() - before < 15


def test_a_store_for_html_is_not_set_up_without_the_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "justhtml", None)
    _stream.cache_clear()
    with (
        Documents(f"sqlite:///{tmp_path}/news.db", scheme=Scheme(markup="html")) as documents,
        pytest.raises(InputError, match=r"the parser of HTML is not installed: pip install 'es-simhash\[html\]'"),
    ):
        documents.setup()
    _stream.cache_clear()
    assert list(tmp_path.iterdir()) == []
