"""A store whose calls a test watches, delays or lets fail."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Store
from es_simhash.retries import Retrying, retried

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_simhash.errors import StoreError

METHODS = {
    name: inspect.signature(method)
    for name, method in inspect.getmembers(Store, inspect.isfunction)
    if not name.startswith("_")
}
"""The methods of the Store protocol."""


@dataclass(frozen=True)
class StoreCall:
    """A call of a method of a store. Its arguments are attributes; so are those of a Candidates or a Scan.

    :param method: name of the method.
    :param do: does it, and returns what it returns.
    """

    method: str
    arguments: Mapping[str, Any]
    do: Callable[[], Any]

    def __getattr__(self, name: str) -> Any:
        arguments = self.__dict__["arguments"]
        if name in arguments:
            return arguments[name]
        for value in arguments.values():
            if hasattr(value, name):
                return getattr(value, name)
        raise AttributeError(name)


class WatchedStore(Retrying):
    """A store that hands each call of a method to :meth:`perform`, and retries it as every store does.

    :param watched: the store that does the work.
    """

    def __init__(self, watched: Store) -> None:
        super().__init__()
        self.watched = watched
        self.name, self.embedded = watched.name, watched.embedded
        self.asked: list[StoreCall] = []
        """The calls until now."""

    def perform(self, call: StoreCall) -> Any:
        """Do what was called. Override it to watch, delay or fail."""
        return call.do()

    def times_asked(self, method: str) -> int:
        return sum(call.method == method for call in self.asked)

    def close(self) -> None:
        self.watched.close()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.__dict__["watched"], name)
        if name not in METHODS:
            return method

        @wraps(method)
        def called(*args: Any, **kwargs: Any) -> Any:
            bound = METHODS[name].bind(None, *args, **kwargs)
            bound.apply_defaults()
            arguments = {key: value for key, value in bound.arguments.items() if key != "self"}
            return _retried(self, StoreCall(name, arguments, lambda: method(*args, **kwargs)))

        return called


@retried
def _retried(store: WatchedStore, call: StoreCall) -> Any:
    store.asked.append(call)
    return store.perform(call)


class Meanwhile(WatchedStore):
    """Another program does something just before a call.

    :param method: name of the method that is called.
    :param happens: what the other program does.
    :param times: before so many calls; -1 for all.
    """

    def __init__(self, watched: Store, method: str, happens: Callable[[], object], times: int = 1) -> None:
        super().__init__(watched)
        self.method, self.happens, self.times = method, happens, times

    def perform(self, call: StoreCall) -> Any:
        if call.method == self.method and self.times:
            self.times -= 1
            self.happens()
        return super().perform(call)


class Failing(WatchedStore):
    """A store with an error at the n-th call of one method.

    :param number: counted from 1; 0 for no error until it is set.
    :param done: the store does what was called nevertheless.
    :param lasts: all later calls have the error, too.
    """

    def __init__(
        self, watched: Store, method: str, number: int, error: StoreError, *, done: bool = False, lasts: bool = False
    ) -> None:
        super().__init__(watched)
        self.method, self.number, self.done = method, number, done
        self._error, self._lasts = error, lasts

    def perform(self, call: StoreCall) -> Any:
        if call.method != self.method or self.number == 0:
            return super().perform(call)
        self.number -= 1
        if self.number > 0:
            return super().perform(call)
        if self.done:
            super().perform(call)
        self.number = int(self._lasts)
        raise self._error
