"""Switch an alias: one request that takes an alias from an index and gives it to another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from es_simhash.errors import InputError, NotSetUp
from es_simhash.stores.elasticsearch.set_up import read_mappings

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Index

_NOT_IN_NAMES = frozenset('*?,"<>| /\\#:')


def switch_alias(index: Index, alias: str, to: str, check: bool = False) -> None:
    if not alias or alias[0] in "_-+" or _NOT_IN_NAMES & set(alias):
        raise InputError(f"{alias!r} cannot be the name of an alias: correct it (alias)")
    former = read_mappings(index)
    # With a wildcard, an alias that does not exist is no error.
    found = index.send("GET", f"/_alias/{quote(alias, safe='')}*")
    holders = {name: each["aliases"][alias] for name, each in found.items() if alias in each["aliases"]}
    if set(holders) == {to}:
        return
    target = None if check else _only_index(to, index)
    if target is not None and set(holders) == {target}:
        return
    _check(alias, holders, former or {}, index)
    if target is None:
        return
    properties: dict[str, Any] = {}
    for name in sorted(holders):  # the newest index last
        properties |= holders[name]
    actions = [{"remove": {"index": name, "alias": alias}} for name in holders]
    index.send("POST", "/_aliases", {"actions": [*actions, {"add": {**properties, "index": target, "alias": alias}}]})


def _check(alias: str, holders: dict[str, Any], former: dict[str, Any], index: Index) -> None:
    """Check that the indices of the store have the alias, and no others have it."""
    if alias in former:
        raise InputError(
            f"{alias!r} is an index, so it cannot be an alias: copy without one (alias), then name the new index in "
            "your programs"
        )
    if not holders:
        raise InputError(f"there is no alias {alias!r}: add it to {', '.join(sorted(former))}, or correct the name")
    if others := sorted(set(holders) - set(former)):
        raise InputError(
            f"the alias {alias!r} is one of {', '.join(others)} too, and {index.name} is another store: name another "
            "alias (alias)"
        )


def _only_index(name: str, index: Index) -> str:
    """Return the index that a name means."""
    body = replace(index, index=name).send("GET", "_alias")
    if len(body) != 1:
        raise NotSetUp(f"{name!r} is an alias of several indices: switch {index.index!r} by hand")
    return str(next(iter(body)))
