"""Verbs whose limits are so small that a few documents reach them: they are called without ``Documents``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.deciding.limits import LIMITS, Limits
from es_simhash.deciding.rule import resolve

from es_simhash.ingest import run
from es_simhash.ingest.batches import BATCH, Source
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_simhash.deciding.ingest import OnDuplicate
    from es_simhash.deciding.rule import ResolvedRule

    from es_simhash import Documents, Outcome


def limit_reading(store: Any, **limits: int) -> None:
    """Let a store of a server read so little at once; other stores have no such limits.

    :param limits: fields of the ``Limits`` of its Index.
    """
    if hasattr(store, "_index"):
        store._index = replace(store._index, limits=replace(store._index.limits, **limits))


def limit_adding(client: Documents, /, **limits: float) -> None:
    """Let ``add`` remember so little; the limits are fields of its ``MemoryLimits``."""
    client._adding._limits = replace(client._adding._limits, **limits)  # type: ignore[arg-type]


def in_batches(client: Any, size: int) -> Any:
    """Let an object ingest and backfill so many documents at once, and return it."""
    getattr(client, "_client", client)._batch = size
    return client


def resolved(documents: Documents, **rule: Any) -> ResolvedRule:
    """Return the rule that a verb takes, for a store that is set up."""
    reader = documents._reader
    return resolve(
        reader.rule(keywords_of(rule).get("rule")), documents.info().fingerprinter, documents.store.describe_keys()
    )


def ingested(
    documents: Documents,
    items: Iterable[Any],
    limits: Limits = LIMITS,
    *,
    ahead: int | None = None,
    on_duplicate: OnDuplicate = "index",
    filter: Mapping[str, Any] | None = None,
    batch_size: int = BATCH,
    checkpoint: str | None = None,
    deadline: float = 30.0,
    **rule: Any,
) -> Iterator[Outcome]:
    """Do what ``Documents.ingest`` does, for a store that is set up.

    :param limits: of what the run holds in memory.
    :param ahead: batches that are read ahead, as with workers, but without the processes.
    """
    options = run.RunOptions(
        on_duplicate=on_duplicate,
        filter=filter,
        batch_size=batch_size,
        checkpoint=checkpoint,
    )
    source, chosen = Source(items, batch_size), resolved(documents, **rule)
    more: dict[str, Any] = {"deadline": deadline, "check": lambda writes: None, "limits": limits, "ahead": ahead}
    for outcomes in run.ingest(documents.store, source, chosen, documents.info().id_field, options, **more):
        yield from outcomes
