"""Keep each article once: take the articles out of saved pages of the web, and store them.

    pip install trafilatura
    python examples/pages.py STORE pages/*.html

STORE is the address of a store, such as sqlite:///articles.db. Menus, frames and lists of other articles are left out,
so one article on the pages of two sites is a copy, and two articles of one site are none. Pages without an article are
named.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import trafilatura

from es_simhash import Documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def article(page: str) -> str | None:
    """Return the text of the article of a page; None if there is none."""
    return trafilatura.extract(page, include_comments=False, include_tables=True, favor_recall=True)


def documents(files: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield a document for each page that has an article."""
    for file in files:
        text = article(Path(file).read_text(encoding="utf-8", errors="replace"))
        if text:
            yield {"id": file, "text": text}
        else:
            print(f"{file}  has no article")


if __name__ == "__main__":
    with Documents(sys.argv[1]) as store:
        for outcome in store.ingest(documents(sys.argv[2:])):
            print(outcome.id, outcome.outcome.replace("_", " "), outcome.duplicate_of or "", sep="  ")
