"""The fields of a rule, as tests draw them, become the one argument of a method."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from es_simhash import DuplicateRule

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELDS = {field.name for field in fields(DuplicateRule)}


def keywords_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a method: the fields of a DuplicateRule among them are its ``rule``."""
    rule = {name: value for name, value in options.items() if name in _FIELDS}
    if rule.keys() <= {"rule"}:
        return dict(options)
    others = {name: value for name, value in options.items() if name not in _FIELDS}
    if isinstance(whole := rule.pop("rule", "copy"), DuplicateRule):
        return others | {"rule": replace(whole, **rule)}
    return others | {"rule": DuplicateRule(whole, **rule)}
