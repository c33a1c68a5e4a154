"""An index is restored from a snapshot, while a program that knows later documents goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from tests.es_node.fixtures import require_own_node
from tests.es_node.node import RELEASES, running_cluster
from tests.es_node.rest import ask
from tests.faults import contents_of, news

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.es_node.node import Node

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

BEFORE, AFTER = news(20, 3), [{**each, "id": f"later {each['id']}"} for each in news(20, 4)]
RULE: dict[str, Any] = {"rule": "fingerprint", "max_distance": 7}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that may write snapshots."""
    require_own_node(RELEASES["7"])
    folder = str(tmp_path_factory.mktemp("snapshots"))
    with running_cluster(1, RELEASES["7"], path__repo=folder) as [node]:
        ask([node], "PUT", "/_snapshot/backup", {"type": "fs", "settings": {"location": folder}})
        yield node


def take_snapshot(node: Node, index: str) -> None:
    ask([node], "PUT", f"/_snapshot/backup/{index}?wait_for_completion=true", {"indices": index})


def restore(node: Node, index: str, **options: Any) -> None:
    ask([node], "POST", f"/_snapshot/backup/{index}/_restore?wait_for_completion=true", options)


def test_documents_after_the_snapshot_are_missed_and_a_new_run_brings_them_back(
    node: Node, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, Any] = {**RULE, "batch_size": 5}
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    with Documents(f"{node.url}/resumed") as documents:
        documents.setup(keys=False)
        list(documents.ingest(BEFORE, **options))
        take_snapshot(node, "resumed")
        list(documents.ingest(AFTER, checkpoint=first, **options))
        stored = contents_of(documents)
    ask([node], "DELETE", "/resumed")
    restore(node, "resumed")
    with Documents(f"{node.url}/resumed") as documents:
        list(documents.ingest(AFTER, checkpoint=first, **options))
        assert "has none of the last 5 documents" in caplog.text
        list(documents.ingest(AFTER, checkpoint=second, **options))
        assert contents_of(documents) == stored


def test_a_program_that_outlives_the_restore_writes_over_no_text_that_it_does_not_know(node: Node) -> None:
    with Documents(f"{node.url}/outlived") as documents, Documents(f"{node.url}/renamed") as renamed:
        documents.setup(keys=False)
        documents.add_many(BEFORE, **RULE)
        documents.store.refresh()
        stored = contents_of(documents)
        take_snapshot(node, "outlived")
        changed = [{**each, "text": after["text"]} for each, after in zip(BEFORE, AFTER, strict=True)]
        documents.add_many(changed, **RULE)
        restore(node, "outlived", rename_pattern="outlived", rename_replacement="renamed")
        assert contents_of(renamed) == stored
        ask([node], "DELETE", "/outlived")
        restore(node, "outlived")
        assert contents_of(documents) == stored
        outcomes = documents.add_many([*changed, *AFTER], **RULE)
        assert all(outcome.stored for outcome in outcomes)
        documents.store.refresh()
        documents.group(**RULE)
        rows = {row.id: row for row in documents.export()}
        assert len(rows) == len(BEFORE) + len(AFTER)
        assert all(rows[row.duplicate_of].group == row.group for row in rows.values() if row.duplicate_of)
        texts = documents.sources([each["id"] for each in changed], fields=["text"])
        assert {id: source["text"] for id, source in texts.items()} == {each["id"]: each["text"] for each in changed}
