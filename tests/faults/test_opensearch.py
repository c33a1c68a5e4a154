"""A cluster of three OpenSearch nodes, of which one is killed at any moment: the verbs end as if none were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.cluster import VERBS, NodeKiller

if TYPE_CHECKING:
    from tests.es_node.node import Node

pytestmark = [pytest.mark.opensearch, pytest.mark.slow]


@pytest.mark.parametrize("mortal_cluster", ["opensearch"], indirect=True)
def test_an_ingest_on_opensearch_ends_as_a_calm_run_although_nodes_and_the_master_are_killed(
    mortal_cluster: list[Node],
) -> None:
    with NodeKiller(mortal_cluster, 2) as killer:
        figures = VERBS["ingest"](mortal_cluster, killer)
    assert (killer.kills, killer.masters) == (2, 1)
    assert figures.documents > 0
    assert figures.lost == 0
