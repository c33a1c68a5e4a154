"""A store that is restored from a snapshot is as it was, and an ingest goes on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents
from tests.cli import HARVEST, STORM, STORM_NEAR
from tests.es_node.fixtures import require_own_node
from tests.es_node.node import NEWEST, Node
from tests.es_node.rest import ask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.nightly, pytest.mark.elasticsearch]


@contextmanager
def started(folder: Path) -> Iterator[Node]:
    node = Node(folder / "node", settings={"path.repo": folder / "snapshots"})
    try:
        node.start()
        yield node
    finally:
        node.kill()


def fill(node: Node) -> dict[str, str | None]:
    """Store an original and its copy. Return the links."""
    with Documents(f"{node.url}/news") as documents:
        documents.setup()
        documents.add_many([{"id": "a", "text": STORM}, {"id": "b", "text": STORM_NEAR}])
        return {row.id: row.duplicate_of for row in documents.export()}


def check(node: Node, links: dict[str, str | None]) -> None:
    with Documents(f"{node.url}/news") as documents:
        assert {row.id: row.duplicate_of for row in documents.export()} == links
        [copy, new] = documents.add_many([{"id": "c", "text": STORM}, {"id": "d", "text": HARVEST}])
        assert (copy.outcome, copy.duplicate_of, new.outcome) == ("exact_duplicate", "a", "new")


def test_a_snapshot_is_restored(tmp_path: Path) -> None:
    require_own_node(NEWEST)
    with started(tmp_path) as node:
        links = fill(node)
        ask([node], "PUT", "/_snapshot/backup", {"type": "fs", "settings": {"location": "news"}})
        done = ask([node], "PUT", "/_snapshot/backup/one?wait_for_completion=true", {"indices": "news"})
        assert done["snapshot"]["state"] == "SUCCESS"
        ask([node], "DELETE", "/news")
        ask([node], "POST", "/_snapshot/backup/one/_restore?wait_for_completion=true", {"indices": "news"})
        check(node, links)
