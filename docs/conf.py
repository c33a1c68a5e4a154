"""The documentation site: `scripts/docs` builds it into build/docs."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sphinx
from sphinx import addnodes
from sphinx.environment.adapters.toctree import TocTree

from es_simhash import __version__

sys.path.insert(0, str(Path(__file__).parent))
from search import EnglishAndChinese

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "es_simhash"
author = "The authors of es_simhash"
version = release = __version__
language = "en"
html_search_language = EnglishAndChinese.lang

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "es_simhash"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_additional_pages = {"zh/search": "search.html"}  # the search of the Chinese pages, with their menu
nitpicky = True  # a reference to a name that no page has is an error
nitpick_ignore_regex = [
    ("py:.*", r"es_simhash\.(tools\.)?(?!tools\.)[a-z_]+\..*"),  # in a module: internal, as docs/api.rst says
    ("py:.*", r"(elasticsearch|opensearchpy)\..*"),  # not ours
]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the text says them; signatures with types are hard to read
autodoc_preserve_defaults = True

root = Path(__file__).parents[1]
README = {"README.md": "docs/index.md", "README.zh-CN.md": "docs/zh/index.md"}
"""The pages that begin with a README."""
CHINESE = {
    "Search": "搜索",
    "Next": "下一页",
    "Previous": "上一页",
    "Home": "首页",
    "On this page": "本页内容",
    "Back to top": "回到顶部",
}
"""The words of the theme on Chinese pages."""
LINK = re.compile(r"\[([^\]]*)\]\(([\w./-]+\.\w+)(#[^)]*)?\)")


def with_the_readme(app: Sphinx, page: str, content: list[str]) -> None:
    """Begin the site with README.md: its text stands in place of what is above the list of pages."""
    for readme, path in README.items():
        if path == f"docs/{page}.md":
            toctree = content[0].index("```{toctree}")
            text = with_links((root / readme).read_text(encoding="utf-8"), ".", path)
            content[0] = f"{text}\n{content[0][toctree:]}"
            return
    content[0] = with_links(content[0], posixpath.dirname(f"docs/{page}"), f"docs/{page}.md")


def with_links(text: str, folder: str, page: str) -> str:
    """Return a text with links that hold in the site. A file outside docs/ is shown as its path.

    :param folder: the folder of the repository to which the links of the text are relative.
    :param page: the path of the page that shows the text.
    """

    def link(match: re.Match[str]) -> str:
        label, target, anchor = match.groups("")
        path = posixpath.normpath(posixpath.join(folder, target))
        path = README.get(path, path)
        if path.startswith("docs/"):
            return f"[{label}]({posixpath.relpath(path, posixpath.dirname(page))}{anchor})"
        comma = "，" if page.startswith("docs/zh/") else ", "
        return f"`{path}`" if label == path else f"{label}{comma}`{path}`"

    return LINK.sub(link, text)


def language_of_the_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Name the language, so that a browser takes the Chinese form of the characters.

    The sidebar of a Chinese page lists the Chinese pages, with the captions of docs/zh/index.md.
    """

    def sidebar(**options: Any) -> str:
        trees = app.env.get_doctree("zh/index").findall(addnodes.toctree)
        resolved = [TocTree(app.env).resolve(page, builder, tree, **options) for tree in trees]
        return "".join(builder.render_partial(tree)["fragment"] for tree in resolved)

    def in_chinese(text: str, **values: Any) -> str:
        return CHINESE.get(text.strip(), text % values if values else text)

    if page.startswith("zh/"):
        builder: Any = app.builder
        context["language"] = "zh-CN"
        context["toctree"] = sidebar
        path = context["pathto"]
        context["pathto"] = lambda name, *args, **kwargs: path(
            "zh/search" if name == "search" else name, *args, **kwargs
        )
        context["_"] = context["gettext"] = in_chinese
    if page == "zh/search":  # the words of the search itself, such as "Search Results"
        words = Path(sphinx.__file__).parent / "locale" / "zh_CN" / "LC_MESSAGES" / "sphinx.js"
        app.add_js_file(None, body=words.read_text(encoding="utf-8"))


def setup(app: Sphinx) -> None:
    app.add_search_language(EnglishAndChinese)
    app.connect("source-read", with_the_readme)
    app.connect("html-page-context", language_of_the_page, priority=400)  # before the theme, which makes the sidebar
