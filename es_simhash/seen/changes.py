"""Seen items: read a user's Bloom filters, change them, and write them back unless another writer was faster.

Reads are by id, never by search. A change is optimistic: the store writes it only if the user's document still has the
version that was read. On a conflict the document is read again and the change is tried again, after a pause of random
length, until a deadline. An acknowledged add is never lost. A repeated add changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash.bloom.seen import Generation, Seen, SeenConfig
from es_simhash.errors import (
    ConflictError,
    FilterFormatError,
    InputError,
    NotSetUp,
    SchemeMismatch,
    SimhashError,
    StoreError,
    StoreUnavailable,
    count_of,
    saying_what_is_done,
)
from es_simhash.retries import Waits
from es_simhash.store.description import not_set_up
from es_simhash.store.types import Description, UserState, Written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash.bloom import Item
    from es_simhash.store.protocol import Store

SEEN_DEADLINE = 30.0
"""Seconds for which a change is tried after version conflicts."""
USERS = 500
"""Users in one request."""

Change = Callable[[Seen, str], int]
"""Changes what a user has seen. Returns how many items this concerned."""


@dataclass(frozen=True)
class SeenStats:
    """Figures of what one user has seen.

    :param exists: the store holds seen items of this user. Otherwise everything is unseen.
    :param generations: figures of each filter, from the oldest to the newest.
    :param forgotten: number of forgotten items.
    """

    user: str
    exists: bool
    generations: tuple[Generation, ...]
    forgotten: int

    @property
    def count(self) -> int:
        """The number of items that changed a filter. An item in two generations counts twice."""
        return sum(generation.count for generation in self.generations)


@dataclass(frozen=True)
class SeenReport:
    """The result of a change of several users.

    :param results: how many items the change concerned, for each user whose change is stored or was not necessary.
    :param failed: the error, for each user whose change is not stored.
    """

    results: dict[str, int]
    failed: dict[str, SimhashError]


def set_up(store: Store, config: Mapping[str, Any], name: str) -> str:
    """Make what is missing. A second call does nothing.

    :param config: some numbers of a :class:`SeenConfig`. The store's own stand for the others.
    :param name: of the store, for messages.
    :returns: ``created``, ``added`` or ``unchanged``.
    :raises SchemeMismatch: if the store was set up with another configuration.
    """
    try:
        stored = store.describe().seen
    except NotSetUp:
        stored = None
    return store.set_up(Description(seen=_agreed(stored, config, name)))


def check(store: Store, config: Mapping[str, Any], name: str, *, sets_up: bool) -> SeenConfig:
    """Return the store's configuration.

    :param config: some numbers that it must have.
    :param sets_up: set up an embedded store that was not.
    :raises NotSetUp: if it was not set up.
    :raises SchemeMismatch: if the store was set up with another configuration.
    """
    reason = "it holds documents alone"
    try:
        stored = store.describe().seen
    except NotSetUp as error:
        stored, reason = None, error.reason
    if stored is None and (store.lags or not sets_up):
        raise not_set_up(name, reason, "seen init")
    agreed = _agreed(stored, config, name)
    if stored is None:
        store.set_up(Description(seen=agreed))
    return agreed


def _agreed(stored: SeenConfig | None, config: Mapping[str, Any], name: str) -> SeenConfig:
    if stored is None:
        return SeenConfig(**config)
    if config.items() - stored.to_dict().items():
        raise SchemeMismatch(
            f"the seen items of {name} were set up with {stored}, not with {replace(stored, **config)}: leave "
            "the configuration out to use the store's own, or use another index"
        )
    return stored


# --- read ------------------------------------------------------------------------------------------------------


def might_have_seen(store: Store, config: SeenConfig, items: Mapping[str, Sequence[Item]]) -> dict[str, list[bool]]:
    """Return for each user and item whether the user might have seen it. False is certain.

    :raises FilterFormatError: naming a user whose stored bytes cannot be read.
    """
    found = {}
    for users in _chunks(items):
        states = store.read_users(users)
        for user in users:
            found[user] = _read(config, states.get(user), user).might_contain(items[user]).tolist()
    return found


def stats(store: Store, config: SeenConfig, user: str) -> SeenStats:
    """Return figures of one user."""
    state = store.read_users([user]).get(user)
    seen = _read(config, state, user)
    return SeenStats(user, state is not None and bool(state.filters), seen.generations(), len(seen.forgotten))


# --- change ----------------------------------------------------------------------------------------------------


def change(store: Store, config: SeenConfig, users: Iterable[str], change: Change, deadline: float) -> SeenReport:
    """Change what users have seen.

    :param deadline: seconds for which conflicts are retried, for some hundred users.
    :returns: for each user what ``change`` returned.
    """
    report = SeenReport({}, {})
    every = tuple(users)
    for left in _chunks(every):
        waits = Waits.after_conflict(deadline)
        try:
            while left := _attempt(store, config, left, change, report):
                if waits.wait():
                    continue
                for user in left:
                    report.failed[user] = ConflictError(
                        f"the seen items of user {user!r} were not stored: gave up after {deadline:g} s of version "
                        "conflicts; try again later"
                    )
                break
        except StoreUnavailable as error:  # until the deadline: no user after these can be changed
            for user in every:
                if user not in report.results and user not in report.failed:
                    message = f"the seen items of user {user!r} were perhaps not changed: {error}"
                    report.failed[user] = type(error)(message)
            break
    return report


def rotate(
    store: Store,
    config: SeenConfig,
    users: Sequence[str] | None,
    now: int,
    before: int | None,
    deadline: float,
) -> SeenReport:
    """Start a generation for these users, or for all that have one. Returns 1 for each user.

    :param now: seconds since 1970.
    :param before: only users whose newest generation started before this time; by default ``now``.
    """
    limit = now if before is None else min(before, now)

    def start(seen: Seen, user: str) -> int:
        if 0 < seen.newest < limit:
            seen.rotate(now)
        return int(seen.changed)

    if users is not None:
        return change(store, config, users, start, deadline)
    total = SeenReport({}, {})

    def done() -> str:
        rotated = count_of(len(total.results), "user")
        return (
            f"{rotated} rotated so far: rotate again, with before=timedelta(hours=1) (--before 1h) to leave these out"
        )

    with saying_what_is_done(done):
        store.refresh()
        for listed in store.list_users(limit):
            report = change(store, config, listed, start, deadline)
            total.results.update(report.results)
            total.failed.update(report.failed)
            if any(isinstance(error, StoreUnavailable) for error in report.failed.values()):
                break
    return total


def remove(store: Store, users: Sequence[str]) -> set[str]:
    """Remove the seen items from users' documents, and remove documents that hold nothing else.

    :returns: the users that had seen items.
    """
    states = store.read_users(users)
    had = {user for user, state in states.items() if state.filters or state.newest or state.damaged}
    store.remove_users(users)
    return had


def _attempt(
    store: Store, config: SeenConfig, users: tuple[str, ...], change: Change, report: SeenReport
) -> tuple[str, ...]:
    """Read, change and write once. Results go into the report. Returns the users with a conflict."""
    current = store.read_users(users)
    states: dict[str, UserState] = {}
    counts: dict[str, int] = {}
    for user in users:
        state = current.get(user)
        try:
            seen = _read(config, state, user)
            counts[user] = change(seen, user)
        except (InputError, SchemeMismatch) as error:
            report.failed[user] = type(error)(f"the seen items of user {user!r} were not changed: {error}")
            continue
        except SimhashError as error:
            report.failed[user] = error
            continue
        if seen.changed:
            version = state.version if state else None
            states[user] = UserState(seen.values(), seen.newest, seen.forgotten, version)
    answer = store.write_users(states) if states else Written({}, frozenset(), {})
    for user, reason in answer.refused.items():
        report.failed[user] = StoreError(f"the seen items of user {user!r} were not stored: {reason}")
    not_stored = answer.conflicts | answer.refused.keys()
    report.results.update({user: count for user, count in counts.items() if user not in not_stored})
    return tuple(answer.conflicts)


def _read(config: SeenConfig, state: UserState | None, user: str) -> Seen:
    if state is None:
        return Seen(config)
    try:
        if state.damaged:
            raise FilterFormatError(state.damaged)
        return Seen(config, state.filters, state.forgotten)
    except FilterFormatError as error:
        raise FilterFormatError(
            f"the seen items of user {user!r} cannot be read: {error}; remove them, and rebuild them from a log"
        ) from error


def _chunks(users: Iterable[str]) -> Iterator[tuple[str, ...]]:
    every = tuple(users)
    return (every[start : start + USERS] for start in range(0, len(every), USERS))
