"""A page on which a person labels pairs. It needs no server and no network: its button saves JSON lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from es_simhash import compare
from es_simhash.tools.differences import differences, shortened
from es_simhash.tools.report.page import template_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash import Scheme
    from es_simhash.tools.evaluation.sample import SampledPair
    from es_simhash.tools.report.page import Language

CONTEXT = 200
"""Characters of the same text beside a difference."""
LONGEST = 4_000
"""About how many characters of a pair are shown. What is saved is whole."""


def label_page(pairs: Sequence[SampledPair], name: str, scheme: Scheme, language: Language = "en") -> Iterator[str]:
    """Yield the pieces of the page.

    Without JavaScript the pairs can be read, and the page says how to label them in a file.

    :param name: of the store.
    """
    shown = (
        (
            {**asdict(pair), "copy": None},
            *shortened(
                differences(pair.a, pair.b, scheme, compare(pair.a, pair.b, scheme).contradictions), CONTEXT, LONGEST
            ),
        )
        for pair in pairs
    )
    page = template_of("evaluation/labels.html", language)
    yield from page.generate(has_buttons=True, name=name, shown=shown, total=len(pairs))
