"""Markup: the text that a browser shows of an HTML page or fragment.

The parser is justhtml (MIT, Python only, no dependencies; the extra ``html``), of which the stream of tags and texts is
used and no tree. Compared on 2 cores, Python 3.11, with a page of 6,100 characters and with 22 hostile inputs:

- justhtml's stream: 2 ms for the page (a fingerprint of its text takes 1 ms). Follows the tokenizer of the HTML
  standard. Its time is linear: at most 1.4 s for 400,000 characters of anything, such as 100,000 nested elements or
  200,000 comments that are never closed.
- selectolax (Lexbor): 0.5 ms. Builds the tree, as the standard says: 54 s for 100,000 nested elements, 16 s for 60,000
  misnested ones, more than 20 s for 100,000 attributes.
- lxml: 0.7 ms. Follows HTML 4. It loses the text below some hundred nested elements, and reports no error.
- html.parser, also under BeautifulSoup: 2 and 9 ms. More than 20 s for comments, tags or quotes that are never closed;
  and what it makes of broken markup depends on the release of Python, so that fingerprints would, too.

A tree shows which elements the markup implies or hides. The text can be read without one.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from justhtml.parser.stream import StreamEvent

MARKUPS = ("none", "html")
"""What a text can be written in: it is plain, or it is HTML."""

# Elements that a browser starts on a line of their own, or in a cell of their own; and the line break itself.
_NAMES = (
    "address article aside blockquote body br button caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing "
    "main menu nav ol optgroup option p plaintext pre search section select summary table tbody td textarea tfoot th "
    "thead tr ul xmp"
)
_APART = frozenset(_NAMES.split())
# Elements that hold nothing but characters, which a browser does not show on the page.
_NOT_SHOWN = frozenset(["iframe", "noembed", "noframes", "noscript", "script", "style", "title"])
# The parser takes ² and ① for digits of a number, which they are not, and fails.
_NO_DIGIT = re.compile(r"&#([0-9]*)(?=[^\0-\x7f])")


def text_of_html(html: str) -> str:
    """Return the text of a page or a fragment, with a line break round each element that stands apart.

    Tags, comments, scripts, styles, templates and the title are left out. Entities become their characters. Nothing is
    an error: broken markup is read as a browser reads it. So a ``<`` of plain text that a letter follows begins a tag.

    >>> text_of_html("<p>暴雨<b>橙色</b>预警&hellip;</p><script>var a = '<p>'</script><p>5 &lt; 6&nbsp;%</p>")
    '暴雨橙色预警…\\n\\n5 < 6\\xa0%'

    :returns: empty for what is markup only.
    :raises InputError: if the extra ``html`` is not installed.
    """
    texts: list[str] = []
    templates = 0
    hidden = False
    for event in _stream()(_NO_DIGIT.sub(lambda found: f"&#{found[1]};" if found[1] else "&amp;#", html)):
        if event[0] == "text":
            if not hidden and not templates:
                texts.append(event[1])
            hidden = False
        elif event[0] in ("start", "end"):
            name = event[1] if event[0] == "end" else event[1][0]
            # All that such an element has comes as one text, right behind its tag.
            hidden = event[0] == "start" and name in _NOT_SHOWN
            if name == "template":
                templates = max(0, templates + (1 if event[0] == "start" else -1))
            elif name in _APART and not templates:
                texts.append("\n")
    return "".join(texts).strip()


@cache
def _stream() -> Callable[[str], Iterable[StreamEvent]]:
    try:
        from justhtml import stream
    except ImportError as error:
        raise InputError("the parser of HTML is not installed: pip install 'es-simhash[html]'") from error
    return stream
