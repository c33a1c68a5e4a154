"""Nodes of a cluster are killed and brought back, while a verb runs again and again; every run must end as a calm one.

The reference is an SQLite file, which no node takes away.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash import AsyncDocuments, Documents, SeenItems
from es_simhash.deciding.group import group as group_stored
from es_simhash.deciding.remove import remove as remove_stored
from es_simhash.deciding.remove import remove_matching
from es_simhash.stores.address import open_store
from tests.es_node.rest import ask
from tests.faults import BATCH, MAX_DISTANCE, contents_of, later, news
from tests.limited import limit_reading, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.deciding.outcome import Outcome
    from tests.es_node.node import Node

DEADLINE = 300
SHARDS = {"number_of_shards": 3, "number_of_replicas": 1, "index.unassigned.node_left.delayed_timeout": "0"}
GROUPED, REMOVED = 4, 5
"""Documents in one request of these verbs, so that they send many requests for few documents."""


# --- kill ------------------------------------------------------------------------------------------------------


@dataclass
class NodeKiller:
    """Kills a node with SIGKILL and starts it again, in a thread, until the block ends. Every other one is the master.

    It waits until every shard has its copies before it kills the next one. So each document always has a copy.

    :param most: it stops after this number of kills.
    """

    nodes: list[Node]
    most: int
    seed: int = 0
    kills: int = 0
    masters: int = 0
    error: BaseException | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> NodeKiller:
        self._thread = threading.Thread(target=self._run, name="node-killer")
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    @property
    def done(self) -> bool:
        return self.kills >= self.most or self.error is not None

    def _run(self) -> None:
        rng = random.Random(self.seed)
        try:
            while self.kills < self.most and not self._ended.is_set():
                self._ended.wait(rng.uniform(0.2, 1.5))
                master = self._master()
                ordinary = rng.choice([node for node in self.nodes if node is not master])
                node = master if self.kills % 2 else ordinary
                node.kill()
                self.masters += node is master
                self._ended.wait(rng.uniform(0.5, 2))
                node.restart(seconds=300)  # the machine may be busy
                self._wait_until_green()
                self.kills += 1
        except BaseException as error:
            self.error = error

    def _master(self) -> Node:
        name = ask(self.nodes, "GET", "/_cat/master?format=json")[0]["node"]
        return self.nodes[int(str(name).rpartition("-")[2])]

    def _wait_until_green(self) -> None:
        wanted = f"wait_for_nodes={len(self.nodes)}&wait_for_status=green&timeout=120s"
        health = ask(self.nodes, "GET", f"/_cluster/health?{wanted}", ignore=[408])
        assert not health["timed_out"], health


# --- the index ---------------------------------------------------------------------------------------------------


def address_of(nodes: list[Node], index: str) -> str:
    return f"{nodes[0].release.scheme}http://{','.join(node.url.removeprefix('http://') for node in nodes)}/{index}"


@contextmanager
def new_index(nodes: list[Node], documents: list[dict[str, Any]] | None = None) -> Iterator[str]:
    """Make an index with 3 shards and a replica of each, and yield its address. Delete it after the block.

    :param documents: are stored without fingerprints.
    """
    index = f"test-{uuid.uuid4().hex[:16]}"
    ask(nodes, "PUT", f"/{index}?timeout=60s", {"settings": SHARDS}, ignore=[400])
    ask(nodes, "GET", f"/_cluster/health/{index}?wait_for_status=green&timeout=60s", ignore=[408])
    if documents:
        lines = [line for each in documents for line in ({"index": {"_id": each["id"]}}, each)]
        assert not ask(nodes, "POST", f"/{index}/_bulk?refresh=true", lines)["errors"]
    yield address_of(nodes, index)
    ask(nodes, "DELETE", f"/{index}?timeout=60s", ignore=[404])


def opened(address: str) -> Documents:
    """Return Documents that read small pages."""
    documents = Documents(address, deadline=DEADLINE)
    limit_reading(documents.store, page=20, scan_page=7)
    return documents


def calm(documents: list[dict[str, Any]], max_distance: int = MAX_DISTANCE) -> tuple[list[Outcome], dict[str, Any]]:
    """Return the outcomes of an ingest where no node is killed, and the contents after it."""
    with Documents("sqlite:///:memory:") as reference:
        outcomes = list(reference.ingest(documents, rule="fingerprint", max_distance=max_distance, batch_size=BATCH))
        return outcomes, contents_of(reference)


# --- the verbs -----------------------------------------------------------------------------------------------------


@dataclass
class Figures:
    """What the runs of a verb did.

    :param runs: how many ended as the calm run did. A run that ends otherwise raises.
    :param lost: acknowledged writes that are not in the store.
    """

    runs: int = 0
    documents: int = 0
    lost: int = 0


def ingest(nodes: list[Node], killer: NodeKiller, kind: str = "sync") -> Figures:
    """One long ingest, which ends after the last kill. Then updates of its documents."""
    figures = Figures()
    given: list[dict[str, Any]] = []

    def documents() -> Iterator[dict[str, Any]]:
        for number in range(1_000_000):
            if killer.done:
                return
            for document in news(40, seed=number):
                given.append({**document, "id": f"{number}-{document['id']}"})
                yield given[-1]
            time.sleep(0.05)

    with new_index(nodes) as address:
        with opened(address) as client:
            client.setup(keys=False)
        outcomes = _outcomes(address, documents(), kind)
        expected, stored = calm(given)
        assert outcomes == expected
        with opened(address) as client:
            found = contents_of(client)
        figures.lost = sum(outcome.stored and outcome.id not in found for outcome in outcomes)
        assert found == stored
        figures.documents, figures.runs = len(outcomes), 1
    return figures


def _outcomes(address: str, documents: Any, kind: str) -> list[Outcome]:
    options: dict[str, Any] = {"rule": "fingerprint", "max_distance": MAX_DISTANCE, "batch_size": BATCH}
    if kind == "sync":
        with opened(address) as client:
            return list(client.ingest(documents, workers=1, **options))

    async def run() -> list[Outcome]:
        store = open_store(address, is_async=True)
        limit_reading(store, page=20, scan_page=7)
        async with AsyncDocuments(store, deadline=DEADLINE) as client:
            return [outcome async for outcome in client.ingest(documents, **options)]

    return asyncio.run(run())


def updates(nodes: list[Node], killer: NodeKiller) -> Figures:
    """Ingests of changed documents, again and again: links are changed, and members get other heads."""
    figures = Figures()
    while not killer.done:
        before = news(30, seed=figures.runs)
        after = later(before, seed=figures.runs)
        with new_index(nodes) as address, opened(address) as client, Documents("sqlite:///:memory:") as reference:
            client.setup(keys=False)
            for documents in (before, after):
                options: dict[str, Any] = {"rule": "fingerprint", "max_distance": MAX_DISTANCE, "batch_size": BATCH}
                expected = list(reference.ingest(documents, **options))
                assert list(client.ingest(documents, **options)) == expected
            assert contents_of(client) == contents_of(reference)
        figures.runs += 1
        figures.documents += len(before) + len(after)
    return figures


def several_ingests(nodes: list[Node], killer: NodeKiller) -> Figures:
    """Three clients ingest at once, and then one groups: the groups are those of a calm run."""
    figures = Figures()
    while not killer.done:
        documents = news(60, seed=figures.runs)
        with new_index(nodes) as address, opened(address) as client:
            client.setup(keys=False)
            with ThreadPoolExecutor(3) as threads:
                runs = [threads.submit(_outcomes, address, documents[part::3], "sync") for part in range(3)]
                outcomes = [outcome for run in runs for outcome in run.result()]
            assert {outcome.outcome for outcome in outcomes} <= {"new", "exact_duplicate", "near_duplicate"}
            rule = resolved(client, rule="fingerprint", max_distance=MAX_DISTANCE)
            group_stored(client.store, rule, batch=GROUPED)
            assert _groups(contents_of(client)) == _calm_groups(documents)
        figures.runs += 1
        figures.documents += len(documents)
    return figures


def group(nodes: list[Node], killer: NodeKiller) -> Figures:
    """Group by one rule and by another, again and again."""
    figures = Figures()
    documents = news(120, seed=3)
    with new_index(nodes) as address, opened(address) as client, Documents("sqlite:///:memory:") as reference:
        client.setup(keys=False)
        for each in (client, reference):
            list(each.ingest(documents, rule="fingerprint", max_distance=0))
        while not killer.done:
            rule: dict[str, Any] = {"rule": "fingerprint", "max_distance": MAX_DISTANCE if figures.runs % 2 == 0 else 0}
            for each in (client, reference):
                each.setup(keys=False, **rule)
            expected, report = reference.group(), group_stored(client.store, resolved(client), batch=GROUPED)
            assert (report.documents, report.groups, report.members) == (120, expected.groups, expected.members)
            assert contents_of(client) == contents_of(reference)
            figures.runs += 1
            figures.documents += len(documents)
    return figures


def backfill(nodes: list[Node], killer: NodeKiller) -> Figures:
    """Backfill a new index of documents without fingerprints, again and again."""
    figures = Figures()
    while not killer.done:
        documents = news(80, seed=figures.runs)
        with new_index(nodes, documents) as address, opened(address) as client:
            workers = figures.runs % 2
            outcomes = list(
                client.backfill(
                    "text", rule="fingerprint", max_distance=MAX_DISTANCE, batch_size=BATCH, workers=workers
                )
            )
            assert sorted(outcome.id or "" for outcome in outcomes) == sorted(each["id"] for each in documents)
            assert all(outcome.stored for outcome in outcomes)
            found = contents_of(client)
            figures.lost += sum(outcome.id not in found for outcome in outcomes)
            assert {o.id: o.duplicate_of for o in outcomes} == {id: row[3] for id, row in found.items()}
            again = client.backfill("text", rule="fingerprint", max_distance=MAX_DISTANCE, batch_size=BATCH, again=True)
            assert sorted((o.id or "", o.outcome) for o in again) == sorted((e["id"], "unchanged") for e in documents)
            rule = resolved(client, rule="fingerprint", max_distance=MAX_DISTANCE)
            group_stored(client.store, rule, batch=GROUPED)
            assert _groups(contents_of(client)) == _calm_groups(documents)
        figures.runs += 1
        figures.documents += len(documents)
    return figures


def remove(nodes: list[Node], killer: NodeKiller) -> Figures:
    """Remove documents of a new index, by their ids and by a filter."""
    figures = Figures()
    while not killer.done:
        documents = news(40, seed=figures.runs)
        gone = [str(number) for number in range(0, 40, 3)]
        with new_index(nodes) as address, opened(address) as client, Documents("sqlite:///:memory:") as reference:
            client.setup(keys=False)
            for each in (client, reference):
                list(each.ingest(documents, rule="fingerprint", max_distance=MAX_DISTANCE))
            reference.remove(gone, rule="fingerprint", max_distance=MAX_DISTANCE)
            rule = resolved(client, rule="fingerprint", max_distance=MAX_DISTANCE)
            if figures.runs % 2:
                remove_stored(client.store, gone, rule, batch=REMOVED)
            else:
                remove_matching(client.store, {"ids": {"values": gone}}, rule, batch=REMOVED)
            assert contents_of(client) == contents_of(reference)
        figures.runs += 1
        figures.documents += len(gone)
    return figures


def look_ups(nodes: list[Node], killer: NodeKiller) -> Figures:
    """Search and export the same documents, again and again."""
    figures = Figures()
    documents = news(120, seed=5)
    with new_index(nodes) as address, opened(address) as client:
        client.setup(keys=False)
        list(client.ingest(documents, rule="fingerprint", max_distance=MAX_DISTANCE))
        _, stored = calm(documents)
        with Documents("sqlite:///:memory:") as reference:
            list(reference.ingest(documents, rule="fingerprint", max_distance=MAX_DISTANCE))
            texts = [document["text"] for document in documents[:20]]
            near = reference.similar_many(texts, rule="fingerprint", max_distance=MAX_DISTANCE)
        while not killer.done:
            assert contents_of(client) == stored
            assert client.similar_many(texts, rule="fingerprint", max_distance=MAX_DISTANCE) == near
            figures.runs += 1
            figures.documents += len(documents)
    return figures


def seen_adds(nodes: list[Node], killer: NodeKiller, clients: int = 4) -> Figures:
    """Some clients add items of the same users. Every acknowledged item must be seen."""
    figures = Figures()
    with new_index(nodes) as address:
        with SeenItems(address, deadline=DEADLINE) as seen:
            seen.setup()

        def add(client: int) -> list[tuple[str, str]]:
            rng = random.Random(client)
            acknowledged = []
            with SeenItems(address, deadline=DEADLINE) as seen:
                while not killer.done:
                    user, item = f"user-{rng.randrange(5)}", f"{client}-{len(acknowledged)}"
                    seen.add(user, [item])
                    acknowledged.append((user, item))
            return acknowledged

        with ThreadPoolExecutor(clients) as threads:
            adds = [pair for each in threads.map(add, range(clients)) for pair in each]
        by_user: dict[str, list[str]] = {}
        for user, item in adds:
            by_user.setdefault(user, []).append(item)
        with SeenItems(address, deadline=DEADLINE) as seen:
            figures.lost = sum(map(len, seen.unseen_many(by_user).values()))
        assert figures.lost == 0
        figures.runs, figures.documents = clients, len(adds)
    return figures


def _groups(contents: dict[str, Any]) -> set[frozenset[str]]:
    members: dict[str, set[str]] = {}
    for id, (_, _, head, _) in contents.items():
        members.setdefault(head, set()).add(id)
    return set(map(frozenset, members.values()))


def _calm_groups(documents: list[dict[str, Any]]) -> set[frozenset[str]]:
    with Documents("sqlite:///:memory:") as reference:
        list(reference.ingest(documents, rule="fingerprint", max_distance=MAX_DISTANCE))
        reference.group(rule="fingerprint", max_distance=MAX_DISTANCE)
        return _groups(contents_of(reference))


VERBS: dict[str, Callable[[list[Node], NodeKiller], Figures]] = {
    "ingest": ingest,
    "updates": updates,
    "several ingests": several_ingests,
    "group": group,
    "backfill": backfill,
    "remove": remove,
    "look-ups": look_ups,
    "seen adds": seen_adds,
}
