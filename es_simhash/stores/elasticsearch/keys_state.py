"""The state of the keys. The mapping keeps it in its ``_meta``, beside the Scheme."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState
from es_simhash.errors import ConflictError, NotSetUp, not_set_up
from es_simhash.retries import Waits
from es_simhash.search.keys import BLOCKS, SHINGLES
from es_simhash.stores.elasticsearch.failures import check_complete
from es_simhash.stores.elasticsearch.keys import lacks_scores, warn_if_unknown
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS, META, our_meta
from es_simhash.stores.elasticsearch.set_up import read_mappings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_simhash.stores.elasticsearch.index import Index

KEY = "keys"
"""The name of the state in our part of ``_meta``."""
DEADLINE = 10.0
"""Seconds after which a change gives up, if other programs keep replacing it."""

_States = dict[str, KeysState]
"""The state of each index, by the index's name. An alias may have several indices."""


def describe_keys(index: Index) -> KeysState:
    mappings = (read_mappings(index)) or {}
    states = _states(mappings)
    if len({state.kinds for state in states.values()}) > 1:
        found = ", ".join(f"{name}: {_describe(state)}" for name, state in sorted(states.items()))
        raise NotSetUp(
            f"{index.name} is an alias of indices with different keys ({found}): run `es-simhash init --store "
            f"{index.name}` with these keys, then a backfill of all documents"
        )
    kinds = next(iter(states.values()), KeysState()).kinds
    if SHINGLES in kinds:
        warn_if_unknown(mappings.values(), index)
    if SHINGLES in kinds and lacks_scores(DOCUMENTS, mappings.values(), index):
        raise NotSetUp(
            f"the mapping of {index.name} is not that of OpenSearch 3, so rare keys would not come first: run "
            f"`es-simhash init --store {index.name}`"
        )
    return KeysState(kinds, complete=all(state.complete for state in states.values()))


def set_up_keys(index: Index, kinds: tuple[str, ...]) -> str:
    def change(states: _States) -> _States:
        every = set(kinds).union(*(state.kinds for state in states.values()))
        # Indices of one alias get one state. If theirs differ, each may lack the keys that another one has.
        common = next(iter(states.values())) if len(set(states.values())) == 1 else KeysState()
        if every <= set(common.kinds):
            return {}
        return dict.fromkeys(states, common.with_kinds(every, complete=_is_empty(index)))

    return "added" if (_change(change, index)) else "unchanged"


def complete_keys(index: Index) -> None:
    def change(states: _States) -> _States:
        if index.routing is not None and (_lacks_keys(states, index)):
            return {}  # documents with another routing, which this backfill has not read
        return {name: replace(state, complete=True) for name, state in states.items() if not state.complete}

    _change(change, index)


def _change(change: Callable[[_States], _States], index: Index) -> bool:
    """Change the states of the indices, and return whether there was anything to change.

    The server replaces ``_meta`` as a whole, and it has no condition for that. So everything else in ``_meta`` is
    written again as it was read. Then the states are read again: if another program has replaced them meanwhile, they
    are changed once more.

    :param change: returns the states to write, by index; nothing if all are as they should be.
    :raises NotSetUp: if an index was not set up.
    """
    waits = Waits.after_conflict(DEADLINE)
    changed = False
    while True:
        mappings = (read_mappings(index)) or {}
        if DOCUMENTS.stored(mappings, index.name, index.routing) is None:
            raise not_set_up(index.name)
        states = change(_states(mappings))
        if not states:
            return changed
        if changed and not waits.wait():
            raise ConflictError(
                f"{index.name}: the state of the keys was not changed, because other programs keep changing the "
                "mapping: try again later"
            )
        for name, state in states.items():
            meta = mappings[name]["_meta"]
            changed_meta = {**meta, META: {**meta[META], KEY: state.to_dict()}}
            index.send(replace(index, index=name).request("PUT", "_mapping", {"_meta": changed_meta}))
        changed = True


def _is_empty(index: Index) -> bool:
    """Return whether the index has no fingerprinted document."""
    return not (_count({"exists": {"field": "simhash.digest"}}, index))


def _lacks_keys(states: _States, index: Index) -> bool:
    """Return whether a document of the index lacks keys that it should have."""
    kinds = {kind for state in states.values() for kind in state.kinds}
    fields = {SHINGLES: ("simhash.digest", "simhash.length"), BLOCKS: ("simhash.fp", "simhash.blocks")}
    lacking = [
        {"bool": {"filter": [{"exists": {"field": has}}], "must_not": [{"exists": {"field": lacks}}]}}
        for kind, (has, lacks) in fields.items()
        if kind in kinds
    ]
    return bool(_count({"bool": {"should": lacking, "minimum_should_match": 1}}, index))


def _count(query: dict[str, Any], index: Index) -> int:
    """Return how many documents of the index match, whatever their routing is."""
    check_complete(index.send(index.request("POST", "_refresh")), index.name)
    body = index.send(replace(index, routing=None).request("POST", "_count", {"query": query}))
    check_complete(body, index.name)
    count: int = body["count"]
    return count


def _states(mappings: Mapping[str, Mapping[str, Any]]) -> _States:
    values = {name: our_meta(mapping).get(KEY) for name, mapping in mappings.items()}
    return {name: KeysState.from_dict(each) if each is not None else KeysState() for name, each in values.items()}


def _describe(state: KeysState) -> str:
    return f"{' '.join(state.kinds) or 'none'}{'' if state.complete else ', incomplete'}"
