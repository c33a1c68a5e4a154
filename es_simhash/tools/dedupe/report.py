"""What a dedupe leaves out, as a page on which a person can check it: each document beside its original."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash import Row
from es_simhash.cli.input import is_store
from es_simhash.tools.report.groups import Groups
from es_simhash.tools.report.page import page, write_page
from es_simhash.tools.report.review import COMPARED, Review

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_simhash import DuplicateRule, Fingerprinter
    from es_simhash.tools.dedupe.copies import Copy, Item
    from es_simhash.tools.report.page import Language

GROUPS = 100
"""The most groups on the page, the largest ones."""


class CopiesReport:
    """Collects documents and their originals for a page. A document is named by its id and its place."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._texts: dict[str, str] = {}
        self._near: Counter[str] = Counter()
        """Copies by their original: the texts of the first ones are kept."""

    def note(self, item: Item, copy: Copy | None) -> None:
        """Take a document that stays or is left out."""
        name = _name(item.id, item.place)
        if copy is None:
            self._add(name, name)
            return
        original = _name(copy.id, copy.place)
        if is_store(copy.place) and original not in self._texts:
            self._add(original, original)
        self._add(name, original if copy.exact else name, original)
        self._texts.setdefault(original, copy.text or "")
        self._near[original] += not copy.exact
        if not copy.exact and item.text is not None and self._near[original] <= COMPARED:
            self._texts[name] = item.text

    def _add(self, name: str, digest: str, original: str | None = None) -> None:
        # Their order is that of writing, so the review compares the first copies, whose texts are kept.
        self._rows.append(Row(name, None, digest, duplicate_of=original, written=len(self._rows)))

    def write(self, path: str, names: str, rule: DuplicateRule, fingerprinter: Fingerprinter, lang: Language) -> None:
        """Write the page.

        :param names: of the files.
        :raises InputError: if the file cannot be written.
        """
        with closing(Groups(self._rows)) as groups:
            review = Review(replace(rule, text_field="text"), fingerprinter, groups, self._sources)
            write_page(page(review, (), names, GROUPS, lang), path)

    def _sources(self, ids: Iterable[str], fields: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {id: {"text": self._texts[id]} for id in ids if id in self._texts}


def _name(id: Any, place: str) -> str:
    return place if id is None else f"{id}, {place}"
