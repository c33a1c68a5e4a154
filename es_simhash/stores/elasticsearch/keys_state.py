"""The state of the keys. The mapping keeps it in its ``_meta``, beside the Scheme."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState
from es_simhash.errors import NotSetUp
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
    by_index = _states(meta_values(mappings, KEY))
    states = set(by_index.values())
    if states <= {KeysState.NONE}:
        return KeysState.NONE
    if KeysState.NONE in states:
        found = ", ".join(f"{name}: {state.value}" for name, state in sorted(by_index.items()))
        raise NotSetUp(
            f"{index.name} is an alias of indices with keys and without ({found}): run `es-simhash init --keys --store "
            f"{index.name}`, then a backfill of all documents"
        )
    warn_if_unknown(mappings.values(), index)
    if lacks_scores(DOCUMENTS, mappings.values(), index):
        raise NotSetUp(
            f"the mapping of {index.name} is not that of OpenSearch 3, so rare keys would not come first: run "
            f"`es-simhash init --store {index.name}`"
        )
    return KeysState.INCOMPLETE if KeysState.INCOMPLETE in states else KeysState.COMPLETE


def set_up_keys(index: Index) -> str:
    def change(states: _States) -> _States:
        # Indices of one alias get one state.
        if len(set(states.values())) == 1 and KeysState.NONE not in states.values():
            return {}
        return dict.fromkeys(states, KeysState.COMPLETE if _is_empty(index) else KeysState.INCOMPLETE)

    return "added" if _change(change, index) else "unchanged"


def complete_keys(index: Index) -> None:
    def change(states: _States) -> _States:
        incomplete = [name for name, state in states.items() if state is KeysState.INCOMPLETE]
        if incomplete and index.routing is not None and _some_lack_keys(index):
            return {}  # documents with another routing, which this backfill has not read
        return dict.fromkeys(incomplete, KeysState.COMPLETE)

    _change(change, index)


def _change(change: Callable[[_States], _States], index: Index) -> bool:
    """Change the states of the indices, and return whether there was anything to change.

    :param change: returns the states to write, by index; nothing if all are as they should be.
    """

    def values(found: Mapping[str, Any]) -> dict[str, Any]:
        return {name: state.value for name, state in change(_states(found)).items()}

    return change_meta(values, KEY, "the state of the keys", index)


def _is_empty(index: Index) -> bool:
    """Return whether the index has no fingerprinted document."""
    return not _count({"exists": {"field": "simhash.digest"}}, index)


def _some_lack_keys(index: Index) -> bool:
    """Return whether a fingerprinted document of the index has no keys."""
    fingerprinted, without = {"exists": {"field": "simhash.digest"}}, {"exists": {"field": "simhash.length"}}
    return bool(_count({"bool": {"filter": [fingerprinted], "must_not": [without]}}, index))


def _count(query: dict[str, Any], index: Index) -> int:
    """Return how many documents of the index match, whatever their routing is."""
    check_complete(index.send("POST", "_refresh"), index.name)
    return replace(index, routing=None).number_of(query)


def _states(values: Mapping[str, Any]) -> _States:
    return {name: KeysState.NONE if each is None else KeysState.of_value(each) for name, each in values.items()}
