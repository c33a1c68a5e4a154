"""The verbs on seen items, each written once for the sync and the async class."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.bloom.seen import SeenConfig, user_id
from es_simhash.errors import InputError
from es_simhash.verbs import seen as verbs

if TYPE_CHECKING:
    from es_simhash.bloom import Item
    from es_simhash.contract import Flow
    from es_simhash.verbs.seen import SeenReport, SeenStats

    ByUser = Mapping[str, Iterable[Item]] | Mapping[int, Iterable[Item]] | Mapping[str | int, Iterable[Item]]

I = TypeVar("I", bound="Item")  # noqa: E741  an item of the caller's type


class SeenVerbs:
    """The verbs of :class:`~es_simhash.SeenItems` and :class:`~es_simhash.AsyncSeenItems`.

    :param config: the numbers that the caller chose; None stands for the store's own.
    :param name: of the store, for messages.
    :param deadline: seconds for which a change is retried after version conflicts.
    :param embedded: the store belongs to this program alone.
    :raises InputError: for a number out of range.
    """

    def __init__(self, config: Mapping[str, float | int | None], name: str, deadline: float, *, embedded: bool) -> None:
        chosen: dict[str, Any] = {key: value for key, value in config.items() if value is not None}
        checked = SeenConfig(**chosen)
        self._chosen = {key: getattr(checked, key) for key in chosen}
        self.described = "".join(f", {key}={value!r}" for key, value in self._chosen.items())
        """The numbers that the caller chose, for the repr."""
        self._name = name
        self._deadline = deadline
        self._embedded = embedded
        self._stored: SeenConfig | None = None

    def setup(self) -> Flow[str]:
        """Make what is missing: the index or the file, or the field in an index that exists.

        A second call does nothing.

        :returns: ``created``, ``added`` or ``unchanged``.
        :raises FilterMismatch: if the store was set up with another configuration.
        """
        return verbs.set_up(self._chosen, self._name)

    def add(self, user: str | int, items: Iterable[Item]) -> Flow[int]:
        """Add items to what a user has seen. Items that are stored already are not written again.

        :returns: how many of them were not seen before.
        :raises ConflictError: if there were version conflicts until the deadline. Nothing was stored then.
        :raises InputError: for an item of another type. Nothing was stored then.
        """
        return _single(self.add_many({user: items}))

    def add_many(self, items: ByUser) -> Flow[SeenReport]:
        """:meth:`add` for many users, by one read and one write for some hundred of them.

        :param items: the items of each user.
        :returns: ``results``, a count for each user whose items are stored; ``failed``, the error for each other user.
            If the store is away until the deadline, the users that are not done have ``failed``.
        """
        return self._add(_by_user(items), rebuild=False)

    def rebuild_many(self, items: ByUser) -> Flow[SeenReport]:
        """:meth:`add_many` to new filters: what these users had seen before is dropped, forgotten items too."""
        return self._add(_by_user(items), rebuild=True)

    def _add(self, items: dict[str, list[Item]], *, rebuild: bool) -> Flow[SeenReport]:
        config = yield from self._config(makes_file=True)
        return (yield from verbs.add(config, items, _now(), self._deadline, rebuild=rebuild))

    def unseen(self, user: str | int, items: Iterable[I]) -> Flow[list[I]]:
        """Return the items that a user has certainly not seen, in their order. Call it with a page of candidates."""
        return self._of_user(user_id(user), self.unseen_many({user: items}))

    def unseen_many(self, items: ByUser) -> Flow[dict[str, list[Item]]]:
        """:meth:`unseen` for many users, by one read."""
        return self._unseen(_by_user(items))

    def _unseen(self, items: dict[str, list[Item]]) -> Flow[dict[str, list[Item]]]:
        config = yield from self._config(makes_file=True)
        return (yield from verbs.unseen(config, items))

    def might_have_seen(self, user: str | int, items: Iterable[Item]) -> Flow[list[bool]]:
        """Return for each item whether the user might have seen it. False is certain."""
        return self._of_user(user_id(user), self._might_have_seen(_by_user({user: items})))

    def _might_have_seen(self, items: dict[str, list[Item]]) -> Flow[dict[str, list[bool]]]:
        config = yield from self._config(makes_file=True)
        return (yield from verbs.might_have_seen(config, items))

    def forget(self, user: str | int, items: Iterable[Item]) -> Flow[int]:
        """Make items unseen until they are added again.

        They are put on an exact list beside the Bloom filter, which holds a thousand at most, because a bit cannot be
        cleared for one item.

        :returns: how many of them might have been seen.
        :raises InputError: if the list is full.
        """
        return _single(self.forget_many({user: items}))

    def forget_many(self, items: ByUser) -> Flow[SeenReport]:
        """:meth:`forget` for many users."""
        return self._forget(_by_user(items))

    def _forget(self, items: dict[str, list[Item]]) -> Flow[SeenReport]:
        config = yield from self._config()
        return (yield from verbs.forget(config, items, self._deadline))

    def rotate(self, users: Iterable[str | int] | None = None, *, before: int | None = None) -> Flow[SeenReport]:
        """Start a generation for these users, or for all. If all generations are used, the oldest is dropped.

        With n generations an item is remembered for at least n-1 rotations after it was last added.

        :param before: only users whose newest generation started before this time, in seconds since 1970; by default
            now. After an interruption, repeat the call with the same time.
        :returns: ``results``, 1 for each user that had seen anything; ``failed``, the error for each other user.
        """
        return self._rotate(None if users is None else _user_ids(users), before)

    def _rotate(self, users: list[str] | None, before: int | None) -> Flow[SeenReport]:
        config = yield from self._config()
        return (yield from verbs.rotate(config, users, _now(), before, self._deadline))

    def stats(self, user: str | int) -> Flow[SeenStats]:
        """Return figures of a user's Bloom filters. For an unknown user ``exists`` is False."""
        return self._stats(user_id(user))

    def _stats(self, user: str) -> Flow[SeenStats]:
        config = yield from self._config()
        return (yield from verbs.stats(config, user))

    def clear(self, user: str | int) -> Flow[None]:
        """Forget everything that a user has seen."""
        return self._clear(user_id(user))

    def _clear(self, user: str) -> Flow[None]:
        config = yield from self._config()
        yield from _single(verbs.clear(config, [user], self._deadline))

    def remove(self, user: str | int) -> Flow[bool]:
        """Remove the seen items from a user's document, and remove the document if it holds nothing else.

        :returns: whether there were any.
        """
        return self._remove(user_id(user))

    def _remove(self, user: str) -> Flow[bool]:
        yield from self._config()
        return bool((yield from verbs.remove([user])))

    def _of_user(self, user: str, flow: Flow[dict[str, Any]]) -> Flow[Any]:
        return (yield from flow)[user]

    def _config(self, *, makes_file: bool = False) -> Flow[SeenConfig]:
        """Return the store's configuration.

        :param makes_file: the first call of a program may be ``unseen`` or ``add``, so they make the file of an
            embedded store. The other verbs do not: the name of the file may be mistyped.
        """
        if self._stored is None:
            self._stored = yield from verbs.check(
                self._chosen, self._name, embedded=self._embedded, makes_file=makes_file
            )
        return self._stored


def _single(flow: Flow[SeenReport]) -> Flow[int]:
    """Return the result of a change of one user, or raise its error."""
    report = yield from flow
    for error in report.failed.values():
        raise error
    return next(iter(report.results.values()))


def _by_user(items: Mapping[Any, Iterable[Item]]) -> dict[str, list[Item]]:
    """Return user ids as strings, and items as lists. The users 1 and "1" are the same."""
    by_user: defaultdict[str, list[Item]] = defaultdict(list)
    for user, theirs in items.items():
        if isinstance(theirs, str | bytes) or not isinstance(theirs, Iterable):
            raise InputError(f"the items of user {user!r} are one {type(theirs).__name__}: put it in a list")
        by_user[user_id(user)].extend(theirs)
    return dict(by_user)


def _user_ids(users: Iterable[str | int]) -> list[str]:
    if isinstance(users, str):
        raise InputError(f"the users are one string, {users!r}: put it in a list")
    return list(map(user_id, users))


def _now() -> int:
    return int(time.time())
