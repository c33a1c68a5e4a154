"""The documentation site: `scripts/docs` builds it into build/docs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "es_simhash"
author = "The authors of es_simhash"
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "es_simhash"
html_show_sourcelink = False
html_copy_source = False
nitpicky = True  # a reference to a name that no page has is an error
nitpick_ignore_regex = [
    ("py:.*", r"es_simhash\.(errors|search|stores|testing)\b.*|(elasticsearch|opensearchpy)\..*")
]  # internal, and not ours

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature shows them
autodoc_preserve_defaults = True

root = Path(__file__).parents[1]


def files_of_the_repository(app: Sphinx, page: str, content: list[str]) -> None:
    """Show a link to a file outside docs/ as the file's path: the site has only the pages."""
    content[0] = re.sub(r"\[([^\]]*)\]\(\.\./([^)#]+)[^)]*\)", r"\1 (`\2`)", content[0])


def setup(app: Sphinx) -> None:
    app.connect("source-read", files_of_the_repository)
