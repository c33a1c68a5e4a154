"""The state of the keys. The mapping keeps it in its ``_meta``, beside the Scheme."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState
from es_simhash.errors import NotSetUp
from es_simhash.search.keys import SHINGLES
from es_simhash.stores.elasticsearch.failures import check_complete
from es_simhash.stores.elasticsearch.keys import lacks_scores, warn_if_unknown
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from es_simhash.stores.elasticsearch.meta import change_meta, meta_values
from es_simhash.stores.elasticsearch.set_up import read_mappings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_simhash.stores.elasticsearch.index import Index

KEY = "keys"
"""The name of the state in our part of ``_meta``."""
_States = dict[str, KeysState]
"""The state of each index, by the index's name. An alias may have several indices."""


def describe_keys(index: Index) -> KeysState:
    mappings = read_mappings(index) or {}
    states = _states(meta_values(mappings, KEY))
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

    return "added" if _change(change, index) else "unchanged"


def complete_keys(index: Index) -> None:
    def change(states: _States) -> _States:
        if index.routing is not None and _lacks_keys(states, index):
            return {}  # documents with another routing, which this backfill has not read
        return {name: replace(state, complete=True) for name, state in states.items() if not state.complete}

    _change(change, index)


def _change(change: Callable[[_States], _States], index: Index) -> bool:
    """Change the states of the indices, and return whether there was anything to change.

    :param change: returns the states to write, by index; nothing if all are as they should be.
    """

    def values(found: Mapping[str, Any]) -> dict[str, Any]:
        return {name: state.to_dict() for name, state in change(_states(found)).items()}

    return change_meta(values, KEY, "the state of the keys", index)


def _is_empty(index: Index) -> bool:
    """Return whether the index has no fingerprinted document."""
    return not _count({"exists": {"field": "simhash.digest"}}, index)


def _lacks_keys(states: _States, index: Index) -> bool:
    """Return whether a document of the index lacks keys that it should have."""
    if not any(SHINGLES in state.kinds for state in states.values()):
        return False
    fingerprinted, without = {"exists": {"field": "simhash.digest"}}, {"exists": {"field": "simhash.length"}}
    return bool(_count({"bool": {"filter": [fingerprinted], "must_not": [without]}}, index))


def _count(query: dict[str, Any], index: Index) -> int:
    """Return how many documents of the index match, whatever their routing is."""
    check_complete(index.send(index.request("POST", "_refresh")), index.name)
    body = index.send(replace(index, routing=None).request("POST", "_count", {"query": query}))
    check_complete(body, index.name)
    count: int = body["count"]
    return count


def _states(values: Mapping[str, Any]) -> _States:
    return {name: KeysState.from_dict(each) if each is not None else KeysState() for name, each in values.items()}


def _describe(state: KeysState) -> str:
    return f"{' '.join(state.kinds) or 'none'}{'' if state.complete else ', incomplete'}"
