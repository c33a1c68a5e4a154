"""The search of the documentation site finds Chinese words.

Chinese has no spaces, so a page is indexed by each two Han characters that stand side by side, and by each character.
The browser splits what a reader types in the same way. This needs no dictionary.

``python docs/search.py build/docs 布隆过滤器 分组`` checks the site: the search finds each word on every Chinese page
that has it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.search.en import SearchEnglish

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")


def pairs(run: str) -> list[str]:
    """Return each two characters of a run of Han characters that stand side by side; a single character as it is."""
    return [run[n : n + 2] for n in range(len(run) - 1)] or [run]


class EnglishAndChinese(SearchEnglish):
    """English words as before, Han characters in pairs."""

    lang = "en-zh"  # not the language_name: with it the theme names the stemmer, which is the English one
    js_splitter_code = r"""
function splitQuery(query) {
  const han = "[\\u3400-\\u4dbf\\u4e00-\\u9fff]";
  const words = query.match(new RegExp(`${han}+|(?:(?!${han})[\\p{Letter}\\p{Number}_])+`, "gu"));
  return (words || []).flatMap((word) =>
    new RegExp(`^${han}{2}`).test(word)
      ? Array.from({ length: word.length - 1 }, (_, n) => word.slice(n, n + 2))
      : [word]);
}
"""

    def split(self, input: str) -> list[str]:
        runs = _HAN.findall(input)
        return [*super().split(_HAN.sub(" ", input)), *(term for run in runs for term in (*pairs(run), *run))]


def found(index: dict[str, Any], word: str) -> set[str]:
    """Return the names of the pages that the browser finds for a Chinese word."""
    pages = set(range(len(index["docnames"])))
    for term in pairs(word):
        hits = [index[table].get(term, []) for table in ("terms", "titleterms")]
        pages &= {page for hit in hits for page in (hit if isinstance(hit, list) else [hit])}
    return {index["docnames"][page] for page in pages}


def check(site: Path, words: list[str]) -> None:
    script = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(script[script.index("(") + 1 : script.rindex(")")])
    for word in words:
        pages = Path(__file__).parent.glob("zh/*.md")
        expected = {f"zh/{page.stem}" for page in pages if word in page.read_text(encoding="utf-8")}
        missing = expected - found(index, word)
        if missing or not expected:
            sys.exit(f"the search does not find {word} on {sorted(missing) or 'any page'}")


if __name__ == "__main__":
    check(Path(sys.argv[1]), sys.argv[2:])
