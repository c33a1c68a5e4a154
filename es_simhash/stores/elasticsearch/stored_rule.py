"""The rule that the index keeps. It stands in the ``_meta`` of the mapping, beside the Scheme."""

from __future__ import annotations

from dataclasses import replace as replaced
from functools import reduce
from typing import TYPE_CHECKING, Any

from es_simhash.contract import StoredRule
from es_simhash.errors import InputError, StoreError
from es_simhash.stores.elasticsearch.meta import change_meta, meta_values
from es_simhash.stores.elasticsearch.set_up import read_mappings

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Index

KEY = "rule"
"""The name of the rule in our part of ``_meta``."""


def describe_rule(index: Index) -> StoredRule:
    values = meta_values(read_mappings(index) or {}, KEY)
    rules = {name: _rule(value, index.name) for name, value in values.items()}
    common = reduce(StoredRule.updated, rules.values(), StoredRule())
    if any(rule.differing(common) != StoredRule() for rule in rules.values()):
        found = "; ".join(f"{name}: {rule}" for name, rule in sorted(rules.items()))
        raise InputError(
            f"{index.name} is an alias of indices that keep different rules ({found}): choose one with "
            f"`es-simhash init --rule RULE --store {index.name}`, then run `es-simhash group`"
        )
    return replaced(common, everywhere=all(rule == common for rule in rules.values()))


def keep_rule(index: Index, rule: StoredRule, replace: bool = False) -> None:
    def change(values: dict[str, Any]) -> dict[str, Any]:
        if replace:
            kept = {name: _rule_or_none(value, index.name).updated(rule) for name, value in values.items()}
        else:
            stored = {name: _rule(value, index.name) for name, value in values.items()}
            common = reduce(StoredRule.updated, stored.values(), rule)
            kept = {name: common.updated(each) for name, each in stored.items()}
        return {name: each.to_dict() for name, each in kept.items() if each.to_dict() != values[name]}

    change_meta(change, KEY, "the rule", index)


def _rule(value: Any, name: str) -> StoredRule:
    return StoredRule() if value is None else StoredRule.from_dict(value, name)


def _rule_or_none(value: Any, name: str) -> StoredRule:
    """Return a stored rule; an empty one in place of one that cannot be used."""
    try:
        return _rule(value, name)
    except StoreError:
        return StoredRule()
