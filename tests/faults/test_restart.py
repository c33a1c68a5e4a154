"""A real node that is killed in the middle of an ingest, and comes back in time or does not."""

from __future__ import annotations

import json
import threading
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from tests.cli import es_simhash
from tests.es_node.proxy import Proxy
from tests.faults import BATCH, MAX_DISTANCE, contents, ingest, news, unharmed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.es_node.node import Node
    from tests.es_node.proxy import Request

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NEWS = news(60)
OPTIONS = ["--max-distance", str(MAX_DISTANCE), "--batch-size", str(BATCH), "--deadline", "1"]


class Killer:
    """A rule that kills the node at the n-th bulk request: before the node sees it, so it must come once more."""

    def __init__(self, node: Node, nth: int, *, restart: bool) -> None:
        self._node, self._left, self._restart = node, nth, restart
        self.restarting = threading.Thread(target=node.restart)

    def __call__(self, request: Request) -> None:
        self._left -= request.verb == "_bulk"
        if self._left == 0 and request.verb == "_bulk":
            self._node.kill()
            if self._restart:
                self.restarting.start()


@pytest.fixture
def direct(mortal_node: Node) -> str:
    address = f"{mortal_node.url}/test-{uuid.uuid4().hex[:16]}"
    with Documents(address, request_timeout=60) as documents:
        documents.setup(keys=False)
    return address


@pytest.fixture
def proxy(mortal_node: Node) -> Iterator[Proxy]:
    with Proxy(mortal_node.url) as proxy:
        yield proxy


@pytest.fixture
def address(proxy: Proxy, direct: str) -> str:
    return f"{proxy.url}/{direct.rpartition('/')[2]}"


@pytest.fixture
def lines(tmp_path: Path) -> str:
    """The news in a file, with a line that is none and an id that comes twice."""
    more = [b'{"id": "broken\n', json.dumps(NEWS[3]).encode() + b"\n"]
    (tmp_path / "news.jsonl").write_bytes(b"".join([*(json.dumps(each).encode() + b"\n" for each in NEWS), *more]))
    return "news.jsonl"


@pytest.mark.parametrize(("kind", "workers"), [("sync", 1), ("async", 0)])
def test_an_ingest_outlives_a_restart_of_the_node(
    mortal_node: Node, proxy: Proxy, address: str, direct: str, kind: str, workers: int
) -> None:
    killer = Killer(mortal_node, 5, restart=True)
    proxy.rule = killer
    outcomes = ingest(address, NEWS, kind, workers=workers, deadline=120)
    killer.restarting.join()
    expected, stored = unharmed(NEWS)
    assert [outcome.id for outcome in outcomes] == [document["id"] for document in NEWS]
    assert outcomes == expected
    assert contents(direct) == stored


@pytest.mark.parametrize("workers", [0, 2])
def test_where_the_node_stays_away_every_document_that_was_read_has_failed_and_is_kept(
    mortal_node: Node, proxy: Proxy, address: str, direct: str, tmp_path: Path, lines: str, workers: int
) -> None:
    options = [*OPTIONS, "--workers", str(workers)]
    proxy.rule = Killer(mortal_node, 5, restart=False)
    done = es_simhash(
        "ingest --rule fingerprint --json", lines, "--dead-letter", "dead", "--store", address, *options, cwd=tmp_path
    )
    mortal_node.restart()
    *outcomes, counts = done.json
    assert done.code == 1
    *repeated, last = done.err.splitlines()
    assert last.startswith(f"es-simhash: {address} can't be reached (")
    assert repeated
    assert all("; retrying for up to " in line or "answers again, after" in line for line in repeated)
    read = len(outcomes)
    assert [each["id"] for each in outcomes if each["id"]] == [str(n) for n in range(min(read, 60))]
    assert counts["total"] == read >= 5 * BATCH
    assert Counter(each["outcome"] for each in outcomes[4 * BATCH :])["failed"] == counts["failed"] > 0
    letters = [json.loads(line) for line in (tmp_path / "dead").read_bytes().splitlines()]
    assert [letter["document"] for letter in letters if letter["outcome"] == "failed"] == [
        NEWS[int(each["id"])] for each in outcomes if each["outcome"] == "failed"
    ]
    kept = {each["id"] for each in outcomes if each["stored"]}
    assert contents(direct).keys() == kept
    # What has failed, and what was never read, can be ingested still.
    rest = b"".join((tmp_path / lines).read_bytes().splitlines(keepends=True)[read:60])
    again = es_simhash("ingest --rule fingerprint --json dead - --store", direct, *options, cwd=tmp_path, stdin=rest)
    assert again.code == (3 if any("line" in letter for letter in letters) else 0)
    assert contents(direct) == unharmed(NEWS)[1]


@pytest.mark.parametrize("workers", [0, 2])
def test_with_a_state_the_run_goes_on_after_the_node_is_back(
    mortal_node: Node, proxy: Proxy, address: str, direct: str, tmp_path: Path, lines: str, workers: int
) -> None:
    command: list[Any] = [
        "ingest",
        "--rule",
        "fingerprint",
        "--json",
        lines,
        "--dead-letter",
        "dead",
        "--resume",
        "state",
        "--store",
        address,
    ]
    command += [*OPTIONS, "--workers", str(workers)]
    outcomes: list[dict[str, Any]] = []
    for nth in (3, 5):
        proxy.rule = Killer(mortal_node, nth, restart=False)
        done = es_simhash(*command, cwd=tmp_path)
        assert done.code == 1
        assert done.err.splitlines()[-1].startswith("es-simhash: ")
        outcomes += done.json[:-1]
        assert done.json[-1]["total"] == len(outcomes)
        mortal_node.restart()
    proxy.rule = lambda request: None
    done = es_simhash(*command, cwd=tmp_path)
    outcomes += done.json[:-1]
    expected, stored = unharmed(NEWS)
    assert done.code == 3  # of the two lines that can't be used
    assert [each["outcome"] for each in outcomes] == [*(o.outcome for o in expected), "rejected", "rejected"]
    assert [each["id"] for each in outcomes[:60]] == [document["id"] for document in NEWS]
    assert done.json[-1]["total"] == len(outcomes) == 62
    assert len((tmp_path / "dead").read_bytes().splitlines()) == 2
    assert contents(direct) == stored
