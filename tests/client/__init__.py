"""What the tests of the classes share: stores to open them on, and stores on which something happens in between."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

from elasticsearch import Elasticsearch
from es_simhash.contract import UserState

from es_simhash import SeenItems
from tests.contract.watched import Meanwhile, StoreCall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pytest
    from es_simhash.contract import Store

    from es_simhash import AsyncSeenItems

# False positives so rare that each answer is the only right one.
CONFIG: dict[str, Any] = {"capacity": 100, "error_rate": 1e-6, "generations": 3}
PROFILE = {"name": "安妮", "tags": ["a", "b"], "visits": 3, "deep": {"er": [1, None]}, "seen_at": "2024-01-01"}


class Called:
    """An AsyncSeenItems that is used by calls: each awaits on one event loop."""

    def __init__(self, seen: AsyncSeenItems, loop: asyncio.AbstractEventLoop) -> None:
        self._seen = seen
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._seen, name)
        return lambda *args, **options: self._loop.run_until_complete(method(*args, **options))

    def page(self, user: Any, fetch: Callable[[int, int], Any], size: int, **options: Any) -> Any:
        async def afetch(offset: int, size: int) -> Any:
            await asyncio.sleep(0)
            return fetch(offset, size)

        return self._loop.run_until_complete(self._seen.page(user, afetch, size, **options))


class Stores:
    """One store of each kind, set up with CONFIG, that the tests of this module share: each has users of its own."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self._request = request
        self._folder = folder
        self._addresses: dict[str, str] = {}

    def address(self, kind: str) -> str:
        kind = kind.removeprefix("async ")
        if kind not in self._addresses:
            self._addresses[kind] = self._new(kind)
            with SeenItems(self._addresses[kind], **CONFIG) as seen:
                seen.setup()
        return self._addresses[kind]

    def _new(self, kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{self._folder / 'users.db'}"
        return f"{self._request.getfixturevalue('elasticsearch_url')}/test-{uuid.uuid4().hex[:16]}"

    def remove(self) -> None:
        if made := self._addresses.get("elasticsearch"):
            url, _, index = made.rpartition("/")
            with Elasticsearch(url) as client:
                client.indices.delete(index=index)


class Clock:
    """What time it is for the classes, in seconds since 1970."""

    now = 1_000


class Watched(Meanwhile):
    """A store on which something happens between a read of users and the write that follows."""

    def __init__(self, store: Store, happens: Callable[[], Any] = lambda: None, times: int = 1) -> None:
        super().__init__(store, "change_users", happens, times)

    def perform(self, call: StoreCall) -> Any:
        assert self.times_asked("list_users") < 50, "users are listed for ever"
        return super().perform(call)

    def close(self) -> None: ...


def state_of(store: Store, user: str) -> UserState | None:
    """What the store holds of a user, its version too."""
    return store.fetch_users((user,)).get(user)


class Source:
    """Hits by offset and size, as a search gives them; it keeps what it was asked."""

    def __init__(self, hits: Sequence[Any]) -> None:
        self.hits = hits
        self.asked: list[tuple[int, int]] = []

    def __call__(self, offset: int, size: int) -> Sequence[Any]:
        self.asked.append((offset, size))
        return self.hits[offset : offset + size]


def source(client: Elasticsearch, index: str, user: str = "ann") -> dict[str, Any]:
    """A user's document."""
    document: dict[str, Any] = client.get(index=index, id=user)["_source"]
    return document


def spoil(store: Store, user: str) -> None:
    """Put bytes that are no filter in the place of a user's."""
    state = state_of(store, user)
    assert state is not None
    store.change_users({user: UserState((b"what is this",), state.newest, {}, state.version)})


def memory(added: set[int]) -> SeenItems:
    seen = SeenItems("sqlite:///:memory:", **CONFIG)
    seen.add("ann", added)
    return seen
