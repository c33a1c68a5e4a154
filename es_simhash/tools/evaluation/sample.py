"""Pairs of near documents that a command draws from a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.client import Documents
    from es_simhash.verbs.sample import SampledPair


def sampled_pairs(
    documents: Documents, size: int, text_field: list[str], filter: dict[str, Any] | None, seed: int
) -> Iterator[SampledPair]:
    """Yield the pairs of ``documents.sample_pairs``.

    :raises InputError: if there is none.
    """
    some = False
    for pair in documents.sample_pairs(size, text_field=text_field, filter=filter, seed=seed):
        some = True
        yield pair
    if not some:
        within = documents.fingerprinter().scheme.max_distance
        wider = "" if filter is None else ", or leave out --filter"
        raise InputError(
            f"no two documents in {documents.name} are within {within} bits of each other: ingest more documents{wider}"
        )
