"""Remove documents, and let search know at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.ops import Refresh, Remove, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.ops import Flow


def remove(ids: Sequence[str]) -> Flow[set[str]]:
    """Remove documents, so that no later ingest takes anything for a copy of them; returns the ids that were there."""
    removed = yield from ask(Remove(tuple(ids)))
    yield from ask(Refresh())
    return removed
