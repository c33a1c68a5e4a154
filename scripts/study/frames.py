"""Is an article found in the frame of another site? With tags taken out alone, and with the article taken out.

    pip install --group bench
    python scripts/study/corpora.py DIR
    python scripts/study/frames.py --folder DIR > frames.md

The pages are those that the extractor gne is tested with: articles of some forty Chinese sites, saved with their
frames. What gne takes for the article says which element of a page holds it; its lines are replaced by those of another
article. So the truth is known: one article in the frames of two sites is a copy, and two articles in one frame are
none. Pages of which gne takes less than 300 letters, or more than 20,000, are left out.
"""

from __future__ import annotations

import argparse
import random
import re
from copy import deepcopy
from pathlib import Path

from gne import GeneralNewsExtractor
from lxml import html

import corpora
from es_simhash import Scheme, compare
from truth import share

PAIRS = 3
"""Other sites in whose frames an article stands."""


class Page:
    """A saved page, and where its article is.

    :ivar lines: of the article.
    """

    def __init__(self, text, lines):
        self.lines = lines
        self._tree = html.document_fromstring(re.sub(r"^<\?xml[^>]*\?>", "", text))
        for each in self._tree.xpath(".//script|.//style|.//noscript|.//comment()"):
            each.drop_tree()
        words = [letters(line) for line in lines]
        holding = [each for each in self._elements() if share_of(words, letters(each.text_content())) >= 0.9]
        self._article = holding[-1] if holding else None  # the innermost
        self.is_usable = self._article is not None and self._article.tag != "p"

    def _elements(self):
        for each in self._tree.iter():
            if isinstance(each.tag, str) and each.tag not in ("html", "head", "body"):
                yield each

    def with_article(self, lines):
        """The page, with another article in the place of its own."""
        path = self._tree.getroottree().getpath(self._article)
        tree = deepcopy(self._tree)
        [place] = tree.xpath(path)
        place.clear()
        for line in lines:
            html.etree.SubElement(place, "p").text = line
        return html.tostring(tree, encoding="unicode")


def letters(text):
    return re.sub(r"\W", "", text)


def share_of(lines, text):
    return sum(len(line) for line in lines if line in text) / sum(map(len, lines))


def saved_pages(folder):
    """The pages by name; a name begins with the site."""
    for file in sorted((folder / corpora.PAGES / "tests").glob("*/*.html")):
        text = file.read_text(encoding="utf-8", errors="replace")
        article = GeneralNewsExtractor().extract(text)["content"]
        lines = [line.strip() for line in article.split("\n") if len(letters(line)) >= 10]
        if 300 <= sum(len(letters(line)) for line in lines) <= 20_000:
            page = Page(text, lines)
            if page.is_usable:
                yield (file.parent.name, file.name), page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("study-corpora"), help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    article = corpora.script("../examples/pages.py")["article"]
    pages, drawn = dict(saved_pages(arguments.folder)), random.Random(arguments.seed)
    settings = {"`init --html`": (lambda page: page, Scheme(markup="html")), "`examples/pages.py`": (article, Scheme())}
    print("# Is an article found in the frame of another site?\n\n`python scripts/study/frames.py`.\n")
    print(f"{len(pages)} pages of {len({site for site, _ in pages})} sites, by the rule `copy`.\n")
    print(
        "| | one article in two frames | found | two articles in one frame | taken for copies |\n|---|---|---|---|---|"
    )
    pairs = [
        (one, other)
        for one in pages
        for other in drawn.sample([name for name in pages if name[0] != one[0]], PAIRS)
        if pages[one].lines[0] != pages[other].lines[0]
    ]
    for name, (text_of, scheme) in settings.items():
        found = wrong = 0
        for one, other in pairs:
            own = text_of(pages[one].with_article(pages[one].lines)) or ""
            elsewhere = text_of(pages[other].with_article(pages[one].lines)) or ""
            beside = text_of(pages[one].with_article(pages[other].lines)) or ""
            found += compare(own, elsewhere, scheme).is_duplicate
            wrong += compare(own, beside, scheme).is_duplicate
        row = (name, len(pairs), share(found, len(pairs)), len(pairs), share(wrong, len(pairs)))
        print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
