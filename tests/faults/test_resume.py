"""With a state a run goes on from wherever it broke off, and ends as if it had not: nothing lost, nothing twice."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.errors import StoreUnavailable
from tests.es_node.proxy import Drop
from tests.faults import BATCH, MAX_DISTANCE, VERBS, contents, contents_of, ingest, later, news

if TYPE_CHECKING:
    from pathlib import Path

    from tests.es_node.proxy import Proxy, Rule

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]


def gone_after(writes: int, *, done: bool) -> Rule:
    """So many writes are answered; the next one is not, whether it was ``done`` or not, and nothing after it."""
    left = iter(range(writes))
    gone: list[bool] = []

    def rule(request: Any) -> Drop | None:
        if request.verb not in VERBS or (not gone and (request.verb != "_bulk" or next(left, None) is not None)):
            return None
        gone.append(True)
        return Drop(done=done and len(gone) == 1)

    return rule


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(("seed", "on_duplicate"), [(24, "index"), (25, "index"), (28, "index"), (30, "index")])
def test_a_run_that_breaks_off_again_and_again_ends_as_one_that_does_not(
    proxy: Proxy, address: str, direct: str, tmp_path: Path, seed: int, on_duplicate: Any, grouped: bool
) -> None:
    before = news(30, seed)
    after = later(before, seed)
    options: dict[str, Any] = {"max_distance": MAX_DISTANCE, "batch_size": BATCH, "on_duplicate": on_duplicate}
    with Documents("sqlite:///:memory:") as reference:
        list(reference.ingest(before, rule="fingerprint", max_distance=3))
        ingest(direct, before, rule="fingerprint", max_distance=3)
        with Documents(direct) as documents:
            for client in (reference, documents):
                if grouped:
                    client.setup(rule="fingerprint", max_distance=MAX_DISTANCE)
                    client.group(rule="fingerprint", max_distance=MAX_DISTANCE)
                client.setup(rule="copy", max_distance=MAX_DISTANCE)
        expected, stored = list(reference.ingest(after, **options)), contents_of(reference)
    rng = random.Random(seed)
    outcomes: list[Any] = []
    broken = 0
    for _ in range(100):
        proxy.rule = gone_after(rng.randint(1, 2), done=rng.random() < 0.7)
        try:
            with Documents(address, max_retries=0, deadline=0) as documents:
                outcomes.extend(documents.ingest(after, checkpoint=str(tmp_path / "state"), **options))
        except StoreUnavailable:
            broken += 1
        else:
            break
    assert broken > 2
    assert outcomes == expected
    assert contents(direct) == stored
