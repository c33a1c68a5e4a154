"""Texts that come again, changed a little or entirely: links hold, or lead elsewhere; groups find other heads."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, fingerprint
from tests.contract import LinearStore
from tests.contract.watched import WatchedStore
from tests.deciding.test_ingest import Plain
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

K = 7
WORDS = [f"{a}{b}" for a in "春夏秋冬东西南北山水" for b in "风雨云雪花草树木石路灯火"]


def text(seed: int, *more: str) -> str:
    rng = random.Random(seed)
    return "，".join([*(rng.choice(WORDS) for _ in range(60)), *more])


BASE, OTHER = text(1), text(2)
EDITED = next(
    edited for word in WORDS if 0 < (fingerprint(edited := text(1, word)).distance(fingerprint(BASE)) or 0) <= 3
)


@pytest.fixture(params=["lagging", "sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def client(request: pytest.FixtureRequest) -> Iterator[Documents]:
    if request.param == "lagging":
        store: Any = LinearStore(lagging=True)
    elif request.param == "sqlite":
        store = "sqlite:///:memory:"
    else:
        store = f"{request.getfixturevalue('elasticsearch_url')}/{request.getfixturevalue('make_index')()}"
    with Documents(store) as documents:
        documents.setup(keys=False)
        yield documents


def ingest(client: Documents, texts: dict[str, str], **options: Any) -> list[tuple[str, str | None]]:
    items = [{"id": id, "text": text} for id, text in texts.items()]
    return [
        (o.outcome, o.duplicate_of)
        for o in client.ingest(items, rule=DuplicateRule("fingerprint", max_distance=K), **keywords_of(options))
    ]


def links(client: Documents) -> dict[str, tuple[str, str | None]]:
    return {row.id: (row.group, row.duplicate_of) for row in client.export()}


def test_a_small_edit_keeps_all_links() -> None:
    store = WatchedStore(LinearStore())
    client = Documents(store)
    ingest(client, {"head": BASE, **{f"copy{n}": BASE for n in range(20)}})
    before = links(client)
    store.asked.clear()
    assert ingest(client, {"head": EDITED}) == [("updated", None)]
    assert links(client) == before
    assert [len(call.entries) for call in store.asked if call.method == "write"] == [1]


def test_after_a_large_edit_the_first_copy_stands_for_the_others(client: Documents) -> None:
    ingest(client, {"head": BASE, **{f"copy{n}": BASE for n in range(5)}, "near": EDITED})
    assert ingest(client, {"head": OTHER}) == [("updated", None)]
    assert links(client) == {
        "head": ("head", None),
        "copy0": ("copy0", None),
        **{f"copy{n}": ("copy0", "copy0") for n in range(1, 5)},
        "near": ("copy0", "copy0"),
    }


def test_a_text_that_comes_back_is_later_than_its_copies(client: Documents) -> None:
    ingest(client, {"a": BASE, "b": BASE})
    ingest(client, {"a": OTHER})
    assert ingest(client, {"a": BASE}) == [("updated", "b")]
    assert links(client) == {"a": ("b", "b"), "b": ("b", None)}


def test_a_member_that_changes_leaves_and_what_hung_on_it_stays_in_the_group(client: Documents) -> None:
    ingest(client, {"head": BASE, "member": EDITED, "copy": EDITED})
    assert links(client)["copy"] == ("head", "member")
    ingest(client, {"member": OTHER})
    assert links(client) == {"head": ("head", None), "member": ("member", None), "copy": ("head", "head")}


def test_a_head_that_joins_another_group_takes_nobody_along_who_is_not_near(client: Documents) -> None:
    ingest(client, {"one": BASE, "copy": BASE, "two": OTHER})
    ingest(client, {"one": OTHER})
    assert links(client) == {"one": ("two", "two"), "copy": ("copy", None), "two": ("two", None)}


def test_heads_of_two_groups_that_change_places_in_one_batch(client: Documents) -> None:
    ingest(client, {"a": BASE, "a2": BASE, "b": OTHER, "b2": OTHER})
    ingest(client, {"a": OTHER, "b": BASE})
    assert links(client) == {"a2": ("a2", None), "b": ("a2", "a2"), "b2": ("b2", None), "a": ("b2", "b2")}


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 100])
def test_a_large_group_whose_head_is_edited_finds_another(client: Documents, batch_size: int) -> None:
    members = {f"copy{n:04}": EDITED if n % 3 else BASE for n in range(1_500)}
    ingest(client, {"head": BASE, **members})
    assert {group for group, _ in links(client).values()} == {"head"}
    # Further documents of the run come upon a group that was just mended.
    outcomes = ingest(client, {"head": OTHER, "late": BASE, "later": OTHER}, batch_size=batch_size)
    assert outcomes == [("updated", None), ("exact_duplicate", "copy0000"), ("exact_duplicate", "head")]
    found = links(client)
    assert {found[id][0] for id in [*members, "late"]} == {"copy0000"}
    assert (found["head"], found["later"]) == (("head", None), ("head", "head"))
    assert {found[id][1] for id in members if members[id] == EDITED} == {"copy0000", "copy0001"}
    assert client.group(rule=DuplicateRule("fingerprint", max_distance=K)).changed == 0


def drifting() -> list[str]:
    """A text in small steps, until it has become another."""
    one, other = BASE.split("，"), OTHER.split("，")
    return ["，".join(other[:n] + one[n:]) for n in range(0, 61, 2)]


def test_by_many_small_edits_a_text_drifts_away_from_its_copies(client: Documents) -> None:
    reference = Plain(K, "index")
    ingest(client, {"head": BASE, "copy": BASE, "near": EDITED})
    for id, each in {"head": BASE, "copy": BASE, "near": EDITED}.items():
        reference.ingest(id, each)
    for step in drifting():
        ingest(client, {"head": step})
        reference.ingest("head", step)
        reference.mend()
        assert links(client) == reference.links()
    assert links(client) == {"head": ("head", None), "copy": ("copy", None), "near": ("copy", "copy")}


def named(store: WatchedStore) -> int:
    """Return how many ids were named in searches for candidates."""
    return sum(len(call.without) for call in store.asked if call.method == "candidates")


def test_what_changed_in_the_run_is_not_named_in_each_search() -> None:
    store = WatchedStore(LinearStore(lagging=True))
    client = Documents(store)
    ingest(client, {str(n): text(n) for n in range(100)})
    assert {outcome for outcome, _ in ingest(client, {str(n): text(n + 500) for n in range(100)}, batch_size=10)} == {
        "updated"
    }
    assert named(store) == 0


def test_an_older_state_that_search_still_finds_hides_no_copy() -> None:
    store = WatchedStore(LinearStore(lagging=True))
    client = Documents(store)
    ingest(client, {"first": BASE, "second": BASE})
    # The first is written anew, and search goes on to find it, for both, at its former text.
    assert ingest(client, {"first": OTHER, "third": BASE}, batch_size=1)[1] == ("exact_duplicate", "second")
    assert 0 < named(store) < 4
