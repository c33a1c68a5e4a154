"""What is read in order to be written or saved is whole, also what a server does not return by itself.

Elasticsearch 9.2 and later leaves vectors out of the documents that it returns.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, SeenItems
from es_simhash.store.address import open_store
from es_simhash.store.elastic.store import ElasticStore
from tests.cli import HARVEST, STORM, STORM_NEAR, es_simhash
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", [ELASTICSEARCH, OPENSEARCH])]

VALUES = {
    "dense_vector": [0.5, 2.0, -3.0],
    "sparse_vector": {"storm": 1.5},
    "rank_feature": 2.5,
    "geo_point": {"lat": 39.9, "lon": 116.4},
    "object": {"any": [{"thing": 1}]},
}
"""A value for a field of each type. The object is not indexed."""
OPTIONS: dict[str, Any] = {
    "dense_vector": {"dims": 3, "index": True, "similarity": "l2_norm"},
    "object": {"enabled": False},
}


class Server:
    """Indices with a field for each type that the server has, and one of them in an object."""

    def __init__(self, new_address: Callable[[], str]) -> None:
        self._new_address = new_address
        self.rest = {
            f"the_{type}": value for type, value in VALUES.items() if self._makes({f"the_{type}": self._field(type)})
        }
        self.rest["outer"] = dict(self.rest)
        assert "the_geo_point" in self.rest

    @staticmethod
    def _field(type: str) -> dict[str, Any]:
        return {"type": type, **OPTIONS.get(type, {})}

    def _makes(self, properties: dict[str, Any]) -> str | None:
        address = self._new_address()
        try:
            send(address, "PUT", "", {"mappings": {"properties": properties}})
        except Exception:  # the server has no such type
            return None
        return address

    def new(self) -> str:
        """Return the address of a new index."""
        inner = {name: self._field(name.removeprefix("the_")) for name in self.rest if name != "outer"}
        address = self._makes({**inner, "outer": {"properties": inner}})
        assert address is not None
        return address

    def document(self, id: str, text: str, **fields: Any) -> dict[str, Any]:
        """Return a document with all these fields."""
        return {"id": id, "text": text, **self.rest, **fields}


def send(address: str, method: str, path: str, body: Any = None, parameters: Any = None) -> Any:
    """Send a request to an index, and return the body of the response."""
    store = open_store(address)
    assert isinstance(store, ElasticStore)
    try:
        return store.connection.send(method, path, body, parameters)
    finally:
        store.close()


def stored(address: str) -> dict[str, Any]:
    """Return all documents of an index as the server keeps them, without our own fields."""
    send(address, "POST", "_refresh")
    settings = send(address, "GET", "", None, {"include_defaults": "true", "flat_settings": "true"})
    [defaults] = [index["defaults"] for index in settings.values()]
    knows = "index.mapping.exclude_source_vectors" in defaults
    body = {"size": 100, "_source": {"exclude_vectors": False} if knows else True}
    hits = send(address, "POST", "_search", body)["hits"]["hits"]
    return {
        hit["_id"]: {name: value for name, value in hit["_source"].items() if name not in ("simhash", "seen")}
        for hit in sorted(hits, key=lambda hit: hit["_id"])
    }


def in_order(documents: dict[str, Any]) -> str:
    """Return documents with the order of their fields, but for vectors, which the server moves."""

    def others(fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if "vector" not in name}

    return json.dumps(json.loads(json.dumps(documents), object_hook=others))


@pytest.fixture
def server(request: pytest.FixtureRequest, kind: str) -> Server:
    return Server(new_addresses(request, kind))


def test_every_verb_that_writes_keeps_whole_documents(server: Server, tmp_path: Path) -> None:
    address, other, saved = server.new(), server.new(), str(tmp_path / "saved.jsonl")
    given = {
        id: server.document(id, text)
        for id, text in (("a", STORM), ("b", STORM_NEAR), ("c", STORM_NEAR), ("d", HARVEST))
    }
    for id, document in given.items():
        send(address, "PUT", f"_doc/{id}", document)
    with Documents(address) as documents:
        documents.setup("copy")
        verbs: dict[str, Callable[[], Any]] = {
            "backfill": lambda: list(documents.backfill()),
            "group": documents.group,
            "relink": lambda: documents.ingest([server.document("a", HARVEST)]),
            "keep": lambda: documents.ingest([server.document("b", STORM)], on_update="keep"),
            "ingest again": lambda: documents.ingest([server.document("a", STORM)]),
            "change of another field": lambda: documents.ingest([server.document("d", HARVEST, tag=1)]),
        }
        expected = dict(given)
        for name, verb in verbs.items():
            outcomes = list(verb() or []) if name != "group" else [verb()]
            assert outcomes, name
            if name in ("relink", "ingest again"):
                expected["a"] = server.document("a", HARVEST if name == "relink" else STORM)
            if name.startswith("change"):
                expected["d"] = server.document("d", HARVEST, tag=1)
            found = stored(address)
            assert found == expected, name
            assert in_order(found) == in_order(expected), name
        assert documents.fetch(["a"], fields="*") == {"a": expected["a"]}
        assert documents.fetch(["a"], fields=["outer"]) == {"a": {"outer": expected["a"]["outer"]}}
        assert documents.remove(["a"], save=saved) == {"a"}
        del expected["a"]
        assert stored(address) == expected, "what was linked to a removed document"
        assert documents.remove_duplicates(documents.duplicates(), save=str(tmp_path / "copies.jsonl")) >= 1
        matching = {"term": {"_id": "d"}}
        assert documents.remove(matching=matching, save=str(tmp_path / "matching.jsonl")) == {"d"}
    lines = [tmp_path / name for name in ("saved.jsonl", "copies.jsonl", "matching.jsonl")]
    done = es_simhash("ingest", *map(str, lines), "--store", address, "--workers", "0", cwd=tmp_path)
    assert done.code == 0
    expected["a"] = server.document("a", STORM)
    assert stored(address) == expected, "what was removed, and came back"
    with Documents(other) as copy:
        copy.setup("copy")
    assert es_simhash("ingest", address, "--store", other, "--workers", "0", cwd=tmp_path).code == 0
    assert stored(other) == expected, "from one store into another one"


def test_every_change_of_seen_items_keeps_whole_documents(server: Server) -> None:
    users = server.new()
    profiles = {user: dict(server.rest) for user in ("ann", "bob")}
    vectors = {name: value for name, value in server.rest.items() if "vector" in name}
    profiles["cid"] = vectors or {"the_geo_point": server.rest["the_geo_point"]}
    for user, profile in profiles.items():
        send(users, "PUT", f"_doc/{user}", profile)
    with SeenItems(users, generations=2) as seen:
        seen.setup()
        for change in (
            lambda user: seen.add(user, ["x", "y"]),
            lambda user: seen.forget(user, ["x"]),
            lambda user: seen.rotate([user]),
            lambda user: seen.add_many({user: ["z"]}, anew=True),
            seen.remove,
        ):
            for user in profiles:
                change(user)
            assert stored(users) == profiles
        assert seen.add("dan", ["x"]) == 1
        assert seen.remove("dan")
    assert stored(users) == profiles, "a document that holds nothing else is gone"
