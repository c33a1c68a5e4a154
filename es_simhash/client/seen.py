"""SeenItems: the class that a program uses to never show an item twice."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from es_simhash.bloom.seen import Seen, SeenConfig, user_id
from es_simhash.client.arguments import checked_deadline, checked_list, checked_moment
from es_simhash.client.page import DEPTH, Filling
from es_simhash.client.set_up import SetUp
from es_simhash.errors import InputError, NotSetUp, shown
from es_simhash.parts import in_parts
from es_simhash.retries import limited
from es_simhash.rows import Description
from es_simhash.seen import NOTHING, SEEN_DEADLINE, USERS, Changes, SeenStats
from es_simhash.store.address import USERS_INDEX, open_store
from es_simhash.store.description import not_set_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime, timedelta

    from es_simhash.bloom import Item
    from es_simhash.client.page import Page
    from es_simhash.rows import SeenTime
    from es_simhash.seen import Change, Progress, SeenCounts, SeenReport
    from es_simhash.store.address import Address

    ByUser = Mapping[str, Iterable[Item]] | Mapping[int, Iterable[Item]] | Mapping[str | int, Iterable[Item]]

I = TypeVar("I", bound="Item")  # noqa: E741  an item of the caller's type

_ALWAYS = 1 << 62
"""Seconds since 1970, later than any generation started."""


class SeenItems(AbstractContextManager["SeenItems"]):
    """What each user has seen. "Not seen" is certain; "seen" is wrong at a rate that you choose.

    >>> seen = SeenItems("sqlite:///users.db", capacity=1_000, error_rate=0.01)
    >>> seen.add("ann", ["news-1", "news-2"])
    2
    >>> seen.unseen("ann", ["news-2", "news-3"])
    ['news-3']

    An item is a string, an integer or UTF-8 bytes. The integer 1 and the string "1" are the same item. A user's id is a
    string or an integer, and becomes the id of a document. In Elasticsearch only the object ``seen`` of that document
    is touched. No acknowledged add is lost, with any number of writers.

    :param store: as for :class:`~es_simhash.Documents`. The index is that of the users: ``es-simhash-users`` if the
        address names none. Do not use an index that documents are ingested into: an ingest replaces whole documents.
    :param capacity: items that a user's filter is made for first. It grows beyond, at the same error rate.
    :param error_rate: the share of unseen items that may be reported as seen.
    :param generations: filters that are kept for a user. With more than one, ``rotate`` drops old items.
    :param period: seconds after which an add starts a new generation; 0: only ``rotate`` starts one. The store keeps
        these four numbers. Leave one out to use the store's own.
    :param deadline: seconds for which a change is retried after version conflicts, and for which each request is
        retried while the store is busy, away or does not answer. A call for one user ends within these seconds.
    :raises InputError: if the address or a number cannot be used. Nothing is sent before the first request.
    """

    def __init__(
        self,
        store: Address = None,
        *,
        index: str | None = None,
        capacity: int | None = None,
        error_rate: float | None = None,
        generations: int | None = None,
        period: int | None = None,
        deadline: float = SEEN_DEADLINE,
        **client_options: Any,
    ) -> None:
        config = {"capacity": capacity, "error_rate": error_rate, "generations": generations, "period": period}
        self._chosen: dict[str, Any] = {key: value for key, value in config.items() if value is not None}
        SeenConfig(**self._chosen)  # raises for a number that cannot be used
        self.deadline = checked_deadline(deadline)
        self._store = open_store(store, index, deadline=self.deadline, default_index=USERS_INDEX, **client_options)
        self._stored = SetUp(self._store)
        self.name = self._store.name
        """The store's address, without credentials."""

    def __repr__(self) -> str:
        chosen = "".join(f", {key}={value!r}" for key, value in self._chosen.items())
        return f"SeenItems({self.name!r}{chosen})"

    def close(self) -> None:
        """Close the file, or the client unless it is yours."""
        self._store.close()

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def setup(self) -> str:
        """Make what is missing: the index or the file, or the field in an index that exists.

        A second call does nothing.

        :returns: ``created``, ``added`` or ``unchanged``.
        :raises SchemeMismatch: if the store was set up with another configuration.
        """
        made = self._store.set_up(Description(seen=replace(self._described() or SeenConfig(), **self._chosen)))
        self._stored.forget()
        return made

    def add(self, user: str | int, items: Iterable[Item]) -> int:
        """Add items to what a user has seen. Items that are stored already are not written again.

        :returns: how many of them were not seen before.
        :raises ConflictError: if other writers were faster until the deadline. Nothing was stored then.
        :raises InputError: for an item of another type. Nothing was stored then.
        """
        with limited(self.deadline):
            return _single(self.add_many({user_id(user): items}))

    def add_many(self, items: ByUser, *, anew: bool = False) -> SeenReport:
        """:meth:`add` for many users, by one read and one write for some hundred of them.

        :param items: the items of each user.
        :param anew: drop what these users had seen before, forgotten items too.
        :returns: ``results``, a count for each user whose items are stored; ``failed``, the error for each other user.
        :raises StoreUnavailable: if the store is away until the deadline. The call can be repeated.
        """
        checked, now = _by_user(items), _now()

        def add(seen: Seen, user: str) -> int:
            return seen.add(checked[user], now)

        return self._change(list(checked), add, sets_up=True, anew=anew)

    def unseen(self, user: str | int, items: Iterable[I]) -> list[I]:
        """Return the items that a user has certainly not seen, in their order. Call it with a page of candidates."""
        with limited(self.deadline):
            [unseen] = self.unseen_many({user_id(user): items}).values()
        return cast("list[I]", unseen)

    def unseen_many(self, items: ByUser) -> dict[str, list[Item]]:
        """:meth:`unseen` for many users, by one read."""
        checked = _by_user(items)
        unseen: dict[str, list[Item]] = {}
        for users in in_parts(list(checked), USERS):
            for user, seen in self._seen(users, sets_up=True).items():
                unseen[user] = list(compress(checked[user], (~seen.might_contain(checked[user])).tolist()))
        return unseen

    def forget(self, user: str | int, items: Iterable[Item]) -> int:
        """Make items unseen until they are added again.

        They are put on an exact list beside the Bloom filter, which holds a thousand at most, because a bit cannot be
        cleared for one item.

        :returns: how many of them might have been seen.
        :raises InputError: if the list is full.
        """
        [(checked, listed)] = _by_user({user_id(user): items}).items()
        with limited(self.deadline):
            return _single(self._change([checked], lambda seen, _: seen.forget(listed)))

    def rotate(
        self,
        users: Iterable[str | int] | None = None,
        *,
        before: datetime | timedelta | None = None,
        progress: Progress | None = None,
    ) -> SeenCounts:
        """Start a generation for these users, or for all. If all generations are used, the oldest is dropped.

        With n generations an item is remembered for at least n-1 rotations after it was last added. Users are read and
        written by the hundred; nothing is kept of those that are done.

        :param before: only users whose newest generation started before this time, or so long ago; by default all.
            After an interruption ``timedelta(hours=1)`` leaves out those that were rotated in the last hour.
        :param progress: is called with the number of users so far.
        :returns: ``users``, how many were rotated: those who had seen anything; ``failed``, the errors by user.
        :raises InputError: if the store keeps one generation: that would forget everything.
        """
        checked = None if users is None else list(map(user_id, checked_list(users, "users")))
        moment = checked_moment(before, "before")
        limit = _ALWAYS if moment is None else moment // 1_000_000
        config, now = self._config(), _now()
        if config.generations == 1:
            raise InputError(
                f"{self.name} keeps one generation for each user, and a rotation would forget everything: keep more in "
                "a new store (generations=2; `es-simhash seen init --generations 2`)"
            )

        def rotate(seen: Seen, _: str) -> int:
            if 0 < seen.newest < limit:
                seen.rotate(now)
            return int(seen.changed)

        listed = [checked] if checked is not None else self._listed("newest", limit)
        return Changes(self._store, config, rotate, now, self.deadline).of_lists(listed, progress)

    def remove_inactive(self, before: datetime | timedelta, *, progress: Progress | None = None) -> SeenCounts:
        """Forget all items of the users who have seen nothing new since a time, as :meth:`remove` does.

        :param before: the time, or how long ago: ``timedelta(days=90)``.
        :param progress: is called with the number of users so far.
        :returns: ``users``, how many were removed; ``failed``, the errors by user.
        """
        moment, config = checked_moment(before, "before"), self._config()
        if moment is None:
            raise InputError("before is None: use a datetime, or a timedelta such as timedelta(days=90)")
        limit = moment // 1_000_000

        def clear(seen: Seen, _: str) -> int:
            if 0 < seen.added < limit:
                seen.clear()
            return int(seen.changed)

        changes = Changes(self._store, config, clear, _now(), self.deadline)
        return changes.of_lists(self._listed("added", limit), progress)

    def _listed(self, time: SeenTime, before: int) -> Iterator[list[str]]:
        """Yield the users of whom a time is before another one, with what was written until now."""
        self._store.refresh()
        yield from self._store.list_users(time, before)

    def stats(self, user: str | int) -> SeenStats:
        """Return figures of a user's Bloom filters."""
        [(name, seen)] = self._seen_of(user).items()
        return SeenStats(name, seen.generations(), len(seen.forgotten))

    def to_bytes(self, user: str | int) -> list[bytes]:
        """Return a user's Bloom filters, the oldest first, for a program elsewhere, such as on the user's device.

        :meth:`BloomFilter.from_bytes <es_simhash.BloomFilter.from_bytes>` reads them, and docs/stored.md has their
        bytes. An item might have been seen if one of them contains it. They contain forgotten items too.
        """
        [seen] = self._seen_of(user).values()
        return [each.to_bytes() for each in seen.filters]

    def _seen_of(self, user: str | int) -> dict[str, Seen]:
        with limited(self.deadline):
            return self._seen([user_id(user)])

    def _seen(self, users: Sequence[str], *, sets_up: bool = False) -> dict[str, Seen]:
        """Return what some hundred users have seen."""

        def read() -> dict[str, Seen]:
            config, states = self._config(sets_up=sets_up), self._store.read_users(users)
            return {user: Seen.from_json(config, states.get(user, NOTHING).seen, user, _now()) for user in users}

        return self._stored.going_on(read)

    def _change(
        self, users: Sequence[str], change_one: Change, *, sets_up: bool = False, anew: bool = False
    ) -> SeenReport:
        """Change what users have seen."""

        def attempt() -> SeenReport:
            config = self._config(sets_up=sets_up)
            return Changes(self._store, config, change_one, _now(), self.deadline, anew).of_users(users)

        return self._stored.going_on(attempt)

    def remove(self, user: str | int) -> bool:
        """Forget all items of a user. A user's document that holds nothing else is deleted.

        :returns: whether there were any.
        """
        with limited(self.deadline):
            self._stored.forget()  # a field `seen` of another program stays
            return bool(_single(self._change([user_id(user)], lambda seen, _: int(seen.changed), anew=True)))

    def _config(self, *, sets_up: bool = False) -> SeenConfig:
        """Return the store's configuration.

        :param sets_up: make a file that was never there.
        """
        former, stored = self._stored.known, self._described()
        is_new = former is None or former.seen is None
        if stored is None and not (is_new and sets_up and not self._store.lags):
            self._stored.forget()  # after `seen init` the next call succeeds
            raise not_set_up(self.name, "it does not exist, or it holds no seen items", "seen init")
        config = replace(stored or SeenConfig(), **self._chosen)
        if config != stored:
            self._store.set_up(Description(seen=config))
            self._stored.forget()
            self._stored.read()
        return config

    def _described(self) -> SeenConfig | None:
        """Return the configuration that the store keeps, if there is one."""
        try:
            return self._stored.read().seen
        except NotSetUp:
            return None

    def page(
        self,
        user: str | int | None,
        fetch: Callable[[int, int], Any],
        size: int,
        *,
        item: Callable[[Any], Item] | None = None,
        group: Callable[[Any], Item | None] | None = None,
        offset: int = 0,
        depth: int = DEPTH,
    ) -> Page[Any]:
        """Return a page of hits that a user has not seen, from a function that returns pages of hits.

        It fetches hits until the page is full or the source is exhausted. By default the hits are those of a search of
        your own in Elasticsearch, and the page has no copies: one hit of each group, and none of a group that the user
        has seen. ::

            def search(offset: int, size: int) -> Any:
                search = group_search({"query": query, "from": offset, "size": size})
                return search.hits(client.msearch(index="news", searches=search.searches))

            page = seen.page("ann", search, 10)
            seen.add("ann", page.items)

        Hits that were seen are fetched too. The first fetch asks for twice the size, each later one for as many hits as
        all before it together, and for 1,000 at most. So a page of 10 that ends at hit 640 takes six fetches, and one
        of a user who has seen 10,000 hits takes 16. With a plain search all copies are fetched as well.

        :param user: None for one who has seen nothing.
        :param fetch: is called with an offset and a size, and returns the hits from there on, fewer at the end: a list,
            or the answer of Elasticsearch.
        :param item: for hits of another kind: returns the item of a hit. By default the id of a hit of Elasticsearch,
            and the group is its field ``simhash.group``.
        :param group: returns the group of a hit, None if it has none. ``items`` of the page has the items and the
            groups to add.
        :param offset: where to start. The page says where the next one starts.
        :param depth: no hit behind the first so many of the source is fetched; an ``index.max_result_window`` of
            another size is its reason. The page is exhausted there.
        :raises InputError: for a size, an offset or a depth that is out of range.
        """
        if not callable(fetch):
            raise InputError(f"fetch is {shown(fetch)}: use a function of an offset and a size")
        filling = Filling(self, user, size, item, group, offset, depth)
        page = None
        while page is None:
            page = filling.take(fetch(filling.offset, filling.wanted))
        return page


def _now() -> int:
    return int(time.time())


def _single(report: SeenReport) -> int:
    """Return the result of a change of one user, or raise its error."""
    for error in report.failed.values():
        raise error
    return next(iter(report.results.values()))


def _by_user(items: Mapping[Any, Iterable[Item]]) -> dict[str, list[Item]]:
    """Return user ids as strings, and items as lists. The users 1 and "1" are the same."""
    by_user: defaultdict[str, list[Item]] = defaultdict(list)
    if not isinstance(items, Mapping):
        raise InputError(f"the items are {shown(items)}: use a dict with the items of each user")
    for user, theirs in items.items():
        name = user_id(user)
        by_user[name].extend(checked_list(theirs, f"items of user {name!r}"))
    return dict(by_user)
