"""The sync and the async store: they make the Calls of a request on a client."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.drive import arun, run
from es_simhash.stores.elasticsearch.calls import Index
from es_simhash.stores.elasticsearch.handlers import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.contract import Request
    from es_simhash.stores.elasticsearch.calls import Call, Dialect
    from es_simhash.stores.elasticsearch.routing import Routing

R = TypeVar("R")


class _Base:
    """A store on one index, or on an alias of it.

    :param client: an official client.
    :param index: name of the index or the alias.
    :param name: the address without credentials, for messages.
    :param dialect: of the server and the client.
    :param owned: close the client together with the store.
    :param routing: of all documents.
    """

    embedded = False

    def __init__(
        self, client: Any, index: str, name: str, dialect: Dialect, *, owned: bool, routing: Routing | None = None
    ) -> None:
        name += "" if routing is None else routing.in_address
        self.name, self.dialect = name, dialect
        self._client = client
        self._index = Index(index, name, dialect, routing)
        self._owned = owned

    def _send(self, call: Call) -> Any:
        return self.dialect.send(self._client, call)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise an error of es_simhash in place of an exception of the client."""
        try:
            yield
        except self.dialect.failures as error:
            raise self.dialect.translate(error, self.name) from error


class IndexStore(_Base):
    """A Store on one index, or on an alias of it, through a sync client. The parameters are the same."""

    def perform(self, request: Request[R]) -> R:
        """Return the reply to a request."""
        return run(steps(request, self._index), self._call)

    def _call(self, call: Call) -> Any:
        with self._errors():
            return self.dialect.body(self._send(call))

    def close(self) -> None:
        """Close the client, if it belongs to the store."""
        if self._owned:
            self._client.close()


class AsyncIndexStore(_Base):
    """:class:`IndexStore` through an async client."""

    async def perform(self, request: Request[R]) -> R:
        """Return the reply to a request."""
        return await arun(steps(request, self._index), self._call)

    async def _call(self, call: Call) -> Any:
        with self._errors():
            return self.dialect.body(await self._send(call))

    async def close(self) -> None:
        """Close the client, if it belongs to the store."""
        if self._owned:
            await self._client.close()
