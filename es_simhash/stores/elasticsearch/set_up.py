"""Set up a part of the index: make the index, or add our fields to one that exists; and read how it was set up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.errors import (
    AccessDenied,
    NotSetUp,
    StoreError,
    WrongServer,
)
from es_simhash.stores.elasticsearch.keys import lacks_scores, with_scores
from es_simhash.stores.elasticsearch.mapping import NOTHING, no_source
from es_simhash.stores.elasticsearch.routing import custom_routing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.contract import Place
    from es_simhash.stores.elasticsearch.index import Index
    from es_simhash.stores.elasticsearch.mapping import C, Part


_SOURCE_MODE = "index.mapping.source.mode"


def describe_part(part: Part[C], index: Index) -> C | None:
    """Return the configuration of a part of the index; None if the part was not set up."""
    mappings = read_mappings(index)
    stored = None if mappings is None else part.stored(mappings, index.name, index.routing)
    if stored is not None:
        check_routing(index)
    return stored


def check_routing(index: Index) -> None:
    """Check that no document has custom routing, if the store has none.

    Such a document is not found by its id alone. A write by its id would make a second document in another shard.

    :raises InputError: if a document has.
    :raises StoreUnavailable: if the server is too busy. The caller asks again.
    """
    if index.routing is not None:
        return
    search = {"query": {"exists": {"field": "_routing"}}, "size": 1, "_source": False, "track_total_hits": False}
    try:
        body = index.search(search)
    except AccessDenied:  # the first read will say so
        return
    for hit in body["hits"]["hits"]:
        raise custom_routing(f"document {hit['_id']!r} of {index.name}")


def check_source_mode(index: Index) -> None:
    """Check that the settings of the index do not disable ``_source``.

    :raises InputError: if they do.
    """
    body = index.send("GET", f"_settings/{_SOURCE_MODE}", flat_settings="true")
    for name, each in body.items():
        if each.get("settings", {}).get(_SOURCE_MODE) == "disabled":
            raise no_source(name)


def set_up_part(part: Part[C], config: C, index: Index, new: Mapping[str, Any] = NOTHING) -> str:
    """Make the index, or add the part to an index that exists.

    The server makes an index once, so of two programs that make it at the same moment one gets the error. The server
    has no condition for a change of a mapping. So after a part was added, the configuration is read again: a program
    that finds the configuration of another one raises the error.

    :param new: what else our part of ``_meta`` gets, if the part was not set up before.
    :returns: ``created``, ``added`` or ``unchanged``.
    :raises SimhashError: the part's error for a mismatch, if the index has another configuration.
    """
    mappings = read_mappings(index)
    if mappings is None:
        try:
            index.send("PUT", "", {"mappings": with_scores(part.mapping(config, new), index)})
        except StoreError as error:
            if "resource_already_exists" not in str(error):
                raise
            return set_up_part(part, config, index, new)  # another program was faster
        index.server.checked = False  # the cluster chose settings of the index
        return "created"
    unchanged = part.stored(mappings, index.name, index.routing) == config
    if unchanged and not lacks_scores(part, mappings.values(), index):
        return "unchanged"
    part.check(mappings, config, index.name)
    check_routing(index)
    check_source_mode(index)
    for each, mapping in mappings.items():
        addition = with_scores(part.addition(mapping, config, new), index)
        replace(index, index=each).send("PUT", "_mapping", addition)
    part.check(read_mappings(index) or {}, config, index.name)
    return "added"


def read_mappings(index: Index) -> dict[str, Any] | None:
    """Return the mapping of the index, or of each index behind the alias, by name; None if there is no index."""
    _check_server(index)
    try:
        body = index.send("GET", "_mapping")
    except NotSetUp:
        return None
    except WrongServer as error:
        raise _identified(error, index) from error
    if not isinstance(body, dict) or not all(map(_has_mappings, body.values())):
        raise WrongServer(f"the server at {index.name} is not {index.dialect.product}: check the address")
    index.members.set(body)
    return {existing: each["mappings"] for existing, each in body.items()}


def identify(index: Index) -> Place:
    _check_server(index)
    try:
        body = index.send("GET", "_settings/index.uuid")
    except NotSetUp:
        return frozenset()
    except AccessDenied:
        index.warn_once(
            "settings",
            f"{index.name}: this user may not read the settings, so a run does not notice that the index was deleted "
            "and made again: grant view_index_metadata",
        )
        return frozenset({(index.index, "")})
    except WrongServer as error:
        raise _identified(error, index) from error
    return frozenset((name, each["settings"]["index"]["uuid"]) for name, each in body.items())


def _check_server(index: Index) -> None:
    """Notice that the server is another product. Most programs send one of these requests first."""
    if not index.server.checked:
        index.dialect.check_server(index)
        index.server.checked = True


def _has_mappings(body: Any) -> bool:
    return isinstance(body, dict) and isinstance(body.get("mappings"), dict)


def _identified(error: WrongServer, index: Index) -> WrongServer:
    """Return the error that names the product of a server; the error itself if the server does not say."""
    try:
        index.send("GET", "/")
    except WrongServer as better:
        return better
    except StoreError:
        pass
    return error
