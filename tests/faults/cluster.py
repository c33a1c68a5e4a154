"""Nodes of a cluster are killed and brought back, while a verb runs again and again; every run must end as a calm one.

The reference is an SQLite file, which no node takes away.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash import Documents, SeenItems
from tests.es_node.rest import ask
from tests.faults import RULE, contents_of, news, unharmed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.es_node.node import Node

DEADLINE = 300
SHARDS = {"number_of_shards": 3, "number_of_replicas": 1, "index.unassigned.node_left.delayed_timeout": "0"}


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
                node.restart()
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
def new_index(nodes: list[Node]) -> Iterator[str]:
    """Make an index with 3 shards and a replica of each, and yield its address. Delete it after the block."""
    index = f"test-{uuid.uuid4().hex[:16]}"
    ask(nodes, "PUT", f"/{index}?timeout=60s", {"settings": SHARDS}, ignore=[400])
    ask(nodes, "GET", f"/_cluster/health/{index}?wait_for_status=green&timeout=60s", ignore=[408])
    yield address_of(nodes, index)
    ask(nodes, "DELETE", f"/{index}?timeout=60s", ignore=[404])


def opened(address: str, documents: list[dict[str, Any]] | None = None) -> Documents:
    """Return Documents of an index that is set up, and perhaps ingest documents."""
    client = Documents(address, deadline=DEADLINE)
    client.setup(rule=RULE)
    client.add_many(documents or [])
    return client


def assert_equal(harmed: Mapping[Any, Any], calm: Mapping[Any, Any]) -> None:
    """Check that a run with kills has for each document what the calm run has. A failure names what differs."""
    keys = [key for key in calm.keys() | harmed.keys() if harmed.get(key) != calm.get(key)]
    lines = [f"{key}: {harmed.get(key)}, in the calm run {calm.get(key)}" for key in sorted(keys)[:20]]
    assert not lines, "\n".join(lines)


# --- the verbs: each returns how much of it was done, and raises if a run does not end as the calm one --------------


def ingest(nodes: list[Node], killer: NodeKiller) -> int:
    """One long ingest, which ends after the last kill."""
    given: list[dict[str, Any]] = []

    def documents() -> Iterator[dict[str, Any]]:
        for number in range(1_000_000):
            if killer.done:
                return
            for document in news(40, seed=number):
                given.append({**document, "id": f"{number}-{document['id']}"})
                yield given[-1]
            time.sleep(0.05)

    with new_index(nodes) as address, opened(address) as client:
        outcomes = list(client.ingest(documents()))
        expected, stored = unharmed(given)
        assert_equal(dict(enumerate(outcomes)), dict(enumerate(expected)))
        assert_equal(contents_of(client), stored)
    return len(outcomes)


def group(nodes: list[Node], killer: NodeKiller) -> int:
    """Group by one rule and by another, again and again."""
    runs = 0
    documents = news(120, seed=3)
    with new_index(nodes) as address, opened(address, documents) as client, opened("memory://") as reference:
        reference.add_many(documents)
        while not killer.done:
            for each in (client, reference):
                each.setup(rule=RULE if runs % 2 else "exact")
                each.group()
            assert_equal(contents_of(client), contents_of(reference))
            runs += 1
    return runs


def seen_adds(nodes: list[Node], killer: NodeKiller, clients: int = 4) -> int:
    """Some clients add items of the same users. Every acknowledged item must be seen."""
    with new_index(nodes) as address, SeenItems(address, deadline=DEADLINE) as seen:
        seen.setup()

        def add(client: int) -> list[tuple[str, str]]:
            rng = random.Random(client)
            acknowledged = []
            with SeenItems(address, deadline=DEADLINE) as own:
                while not killer.done:
                    user, item = f"user-{rng.randrange(5)}", f"{client}-{len(acknowledged)}"
                    own.add(user, [item])
                    acknowledged.append((user, item))
            return acknowledged

        with ThreadPoolExecutor(clients) as threads:
            adds = [pair for pairs in threads.map(add, range(clients)) for pair in pairs]
        by_user: dict[str, list[str]] = {}
        for user, item in adds:
            by_user.setdefault(user, []).append(item)
        assert not any(seen.unseen_many(by_user).values())
        return len(adds)


VERBS: dict[str, Callable[[list[Node], NodeKiller], int]] = {
    "ingest": ingest,
    "group": group,
    "seen adds": seen_adds,
}
