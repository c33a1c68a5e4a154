"""The two thin classes: they make the calls of steps.py on a sync or an async client."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.drive import arun, run
from es_simhash.stores.elasticsearch import documents, users  # noqa: F401  they register their steps
from es_simhash.stores.elasticsearch.failures import FAILURES, translate
from es_simhash.stores.elasticsearch.steps import steps

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_simhash.contract import Request
    from es_simhash.stores.elasticsearch.steps import Call

R = TypeVar("R")


class ElasticsearchStore:
    """Performs the requests on one index, or on an alias of one.

    :param client: an official client.
    :param name: the address without secrets, for messages.
    :param owned: close the client with the store.
    """

    embedded = False

    def __init__(self, client: Elasticsearch, index: str, name: str, *, owned: bool) -> None:
        self.name = name
        self._client = client
        self._index = index
        self._owned = owned

    def perform(self, op: Request[R]) -> R:
        reply: R = run(steps(op, self._index, self.name), self._call)
        return reply

    def _call(self, call: Call) -> Any:
        try:
            return attrgetter(call.method)(self._client)(**call.arguments).body
        except FAILURES as error:
            raise translate(error, self.name) from error

    def close(self) -> None:
        if self._owned:
            self._client.close()


class AsyncElasticsearchStore:
    """:class:`ElasticsearchStore` on an async client."""

    embedded = False

    def __init__(self, client: AsyncElasticsearch, index: str, name: str, *, owned: bool) -> None:
        self.name = name
        self._client = client
        self._index = index
        self._owned = owned

    async def perform(self, op: Request[R]) -> R:
        reply: R = await arun(steps(op, self._index, self.name), self._call)
        return reply

    async def _call(self, call: Call) -> Any:
        try:
            return (await attrgetter(call.method)(self._client)(**call.arguments)).body
        except FAILURES as error:
            raise translate(error, self.name) from error

    async def close(self) -> None:
        if self._owned:
            await self._client.close()
