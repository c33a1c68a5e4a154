"""What the tests of the classes share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash import SeenItems
from es_simhash.rows import UserState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from elasticsearch import Elasticsearch

    from es_simhash.store.protocol import Store

# False positives so rare that each answer is the only right one.
CONFIG: dict[str, Any] = {"capacity": 100, "error_rate": 1e-6, "generations": 3}
PROFILE = {"name": "安妮", "tags": ["a", "b"], "visits": 3, "deep": {"er": [1, None]}, "seen_at": "2024-01-01"}
STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
METRO = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"
HARVEST = "今年夏粮再获丰收，全国小麦单产创下新高，农业部门表示将继续落实补贴政策，稳定农民种粮收益。"


class Clock:
    """What time it is for the classes, in seconds since 1970."""

    now = 1_000

    def time(self) -> float:
        """As ``time.time``."""
        return self.now


class Source:
    """Hits by offset and size, as a search gives them; it keeps what it was asked."""

    def __init__(self, hits: Sequence[Any]) -> None:
        self.hits = hits
        self.asked: list[tuple[int, int]] = []

    def __call__(self, offset: int, size: int) -> Sequence[Any]:
        self.asked.append((offset, size))
        return self.hits[offset : offset + size]


def before(store: Store, method: str, happens: Callable[[], Any] = lambda: None, times: int = 1) -> list[Any]:
    """Let something happen just before the next calls of a method of a store.

    :param times: how often it happens; -1 for always.
    :returns: a list that gets the first argument of each call.
    """
    perform, calls = getattr(store, method), list[Any]()

    def call(*args: Any, **keywords: Any) -> Any:
        calls.append(args[0] if args else None)
        if times < 0 or len(calls) <= times:
            happens()
        return perform(*args, **keywords)

    setattr(store, method, call)
    return calls


def links(documents: Any) -> dict[str, str | None]:
    """Return what each stored document is a copy of."""
    return {row.id: row.duplicate_of for row in documents.export()}


def state_of(store: Store, user: str) -> UserState | None:
    """What the store holds of a user."""
    return store.read_users([user]).get(user)


def source(client: Elasticsearch, index: str, user: str = "ann") -> dict[str, Any]:
    """A user's document."""
    document: dict[str, Any] = client.get(index=index, id=user)["_source"]
    return document


def spoil(store: Store, user: str) -> None:
    """Put bytes that are no filter in the place of a user's."""
    state = state_of(store, user)
    assert state is not None
    store.write_users({user: UserState({**state.seen, "filters": ["d2hhdCBpcyB0aGlz"]}, state.version)})


def memory(added: set[int]) -> SeenItems:
    seen = SeenItems("memory://", **CONFIG)
    seen.add("ann", added)
    return seen
