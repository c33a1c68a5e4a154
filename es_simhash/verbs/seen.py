"""Seen items: read a user's filters, change them, and write them back only if nobody else was faster.

Reads are by id, never by search. A change is optimistic: it is written on condition that the document still has the
version that was read; whoever loses reads again and tries again, after a pause of random length, until a deadline.
An acknowledged add is never lost, and to repeat an add changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.bloom.seen import Generation, Seen, SeenConfig
from es_simhash.contract import (
    Changed,
    ChangeUsers,
    DescribeSeen,
    FetchUsers,
    ListUsers,
    Refresh,
    RemoveUsers,
    SetUpSeen,
    UserState,
    ask,
)
from es_simhash.drive import pauses_after_conflicts
from es_simhash.errors import (
    ConflictError,
    FilterFormatError,
    FilterMismatch,
    InputError,
    NotSetUp,
    SimhashError,
    StoreError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash.bloom import Item
    from es_simhash.contract import Flow

DEADLINE = 30.0
"""Seconds after which a change that other writers keep beating is given up."""
USERS = 500
"""Users of one request."""

Items = Mapping[str, Sequence["Item"]]
Change = Callable[[Seen, str], int]


@dataclass(frozen=True)
class Stats:
    """What is known of a user's seen items.

    :param exists: the store holds seen items of this user; without any, everything is unseen.
    :param generations: figures of each filter, from the oldest to the newest.
    :param forgotten: how many items are on the list of forgotten ones.
    """

    user: str
    exists: bool
    generations: tuple[Generation, ...]
    forgotten: int

    @property
    def count(self) -> int:
        """Items that changed a filter; one that is in two generations counts twice."""
        return sum(generation.count for generation in self.generations)


def set_up(chosen: Mapping[str, Any], name: str) -> Flow[str]:
    """Make what is missing; idempotent.

    :param chosen: numbers of a :class:`SeenConfig`; what is left out is as the store has it.
    :returns: ``created``, ``added`` or ``unchanged``.
    :raises FilterMismatch: if it was set up with another configuration.
    """
    stored = yield from ask(DescribeSeen())
    return (yield from ask(SetUpSeen(_agreed(stored, chosen, name))))


def check(chosen: Mapping[str, Any], name: str, *, set_up_if_missing: bool) -> Flow[SeenConfig]:
    """The store's configuration, which has the numbers that were chosen.

    :raises NotSetUp: if it was not set up, and ``set_up_if_missing`` doesn't allow to do it now.
    :raises FilterMismatch: if it was set up with another configuration.
    """
    stored = yield from ask(DescribeSeen())
    if stored is None and not set_up_if_missing:
        raise NotSetUp(
            f"{name} is not set up for seen items: run `es-simhash seen init --store {name}`, or setup() in code"
        )
    agreed = _agreed(stored, chosen, name)
    if stored is None:
        yield from ask(SetUpSeen(agreed))
    return agreed


def _agreed(stored: SeenConfig | None, chosen: Mapping[str, Any], name: str) -> SeenConfig:
    if stored is None:
        return SeenConfig(**chosen)
    theirs = stored.to_dict()
    if chosen.items() - theirs.items():
        raise FilterMismatch(
            f"the seen items of {name} were set up with {theirs}, not with {dict(chosen)}: "
            "leave the configuration out to use the store's, or use another index"
        )
    return stored


# --- reading -----------------------------------------------------------------------------------------------


def might_have_seen(config: SeenConfig, wanted: Items) -> Flow[dict[str, list[bool]]]:
    """For each user and item whether the user might have seen it; False is certain.

    :raises FilterFormatError: naming a user whose field holds something else.
    """
    found = {}
    for users in _chunks(wanted):
        states = yield from ask(FetchUsers(users))
        for user in users:
            seen = _read(config, states.get(user), user)
            found[user] = seen.might_contain(wanted[user]).tolist()
    return found


def unseen(config: SeenConfig, wanted: Items) -> Flow[dict[str, list[Item]]]:
    """For each user the items that the user has certainly not seen, in their order."""
    found = yield from might_have_seen(config, wanted)
    return {user: [i for i, seen in zip(items, found[user], strict=True) if not seen] for user, items in wanted.items()}


def stats(config: SeenConfig, user: str) -> Flow[Stats]:
    """Figures of one user; a user that isn't there has none."""
    state = (yield from ask(FetchUsers((user,)))).get(user)
    seen = _read(config, state, user)
    return Stats(user, state is not None and bool(state.filters), seen.generations(), len(seen.forgotten))


# --- changing ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What became of a change of several users.

    :param results: for each user whose change is stored (or was not needed): how many items it concerned.
    :param failed: the error, for each user whose change is not stored.
    """

    results: dict[str, int]
    failed: dict[str, SimhashError]


def add(
    config: SeenConfig, wanted: Items, now: int, deadline: float = DEADLINE, *, afresh: bool = False
) -> Flow[Report]:
    """Add items to users' filters.

    :param now: seconds since 1970.
    :param deadline: seconds until which conflicts are tried again.
    :param afresh: what these users had seen before is dropped.
    :returns: for each user how many of the items were not seen before.
    """

    def change(seen: Seen, user: str) -> int:
        if afresh:
            seen.clear()
        return seen.add(wanted[user], now)

    return (yield from _change(config, tuple(wanted), change, deadline))


def forget(config: SeenConfig, wanted: Items, deadline: float = DEADLINE) -> Flow[Report]:
    """Take items for not seen, until they are added again; for each user how many might have been seen."""
    return (yield from _change(config, tuple(wanted), lambda seen, user: seen.forget(wanted[user]), deadline))


def clear(config: SeenConfig, users: Sequence[str], deadline: float = DEADLINE) -> Flow[Report]:
    """Forget everything that these users have seen; their documents stay."""

    def change(seen: Seen, user: str) -> int:
        seen.clear()
        return int(seen.changed)

    return (yield from _change(config, tuple(users), change, deadline))


def rotate(
    config: SeenConfig, users: Sequence[str] | None, now: int, before: int | None, deadline: float = DEADLINE
) -> Flow[Report]:
    """Begin a generation for these users, or for all who have one; 1 for each whose was begun.

    :param now: seconds since 1970.
    :param before: only for users whose newest generation was begun before this time; by default ``now``. After an
        interruption the same time goes on where it stopped.
    """
    limit = now if before is None else min(before, now)

    def change(seen: Seen, user: str) -> int:
        if 0 < seen.newest < limit:
            seen.rotate(now)
        return int(seen.changed)

    if users is not None:
        return (yield from _change(config, tuple(users), change, deadline))
    total = Report({}, {})
    left: list[str] = []  # failed, or not rotated although they were listed: they would be listed again for ever
    while True:
        yield from ask(Refresh())
        some = yield from ask(ListUsers(limit, without=tuple(left)))
        if not some:
            return total
        report = yield from _change(config, tuple(some), change, deadline)
        total.results.update(report.results)
        total.failed.update(report.failed)
        left += [user for user in some if not report.results.get(user)]


def remove(users: Sequence[str]) -> Flow[set[str]]:
    """Take the seen items out of users' documents, and remove documents that hold nothing else.

    :returns: the users that had any.
    """
    return (yield from ask(RemoveUsers(tuple(users))))


def _change(config: SeenConfig, users: tuple[str, ...], change: Change, seconds: float) -> Flow[Report]:
    report = Report({}, {})
    end = time.monotonic() + seconds
    for chunk in _chunks(users):
        left, waits = chunk, None
        while left := (yield from _attempt(config, left, change, report)):
            waits = waits or pauses_after_conflicts(end - time.monotonic())
            if (pause := next(waits, None)) is None:
                report.failed.update({user: _beaten(user, seconds) for user in left})
                break
            yield pause
    return report


def _attempt(config: SeenConfig, users: tuple[str, ...], change: Change, report: Report) -> Flow[tuple[str, ...]]:
    """Read, change and write once; what is settled goes into the report, who was beaten is returned."""
    current = yield from ask(FetchUsers(users))
    states: dict[str, UserState] = {}
    counts: dict[str, int] = {}
    for user in users:
        state = current.get(user)
        try:
            seen = _read(config, state, user)
            counts[user] = change(seen, user)
        except (InputError, FilterMismatch) as error:
            report.failed[user] = type(error)(f"the seen items of user {user!r} stay as they were: {error}")
            continue
        except SimhashError as error:
            report.failed[user] = error
            continue
        if seen.changed:
            version = state.version if state else None
            states[user] = UserState(seen.values(), seen.newest, seen.forgotten, version)
    answer = (yield from ask(ChangeUsers(states))) if states else Changed(frozenset(), {})
    report.failed.update({user: _refused(user, reason) for user, reason in answer.refused.items()})
    unsettled = answer.conflicts | answer.refused.keys()
    report.results.update({user: count for user, count in counts.items() if user not in unsettled})
    return tuple(answer.conflicts)


def _read(config: SeenConfig, state: UserState | None, user: str) -> Seen:
    if state is None:
        return Seen(config)
    try:
        if state.damaged:
            raise FilterFormatError(state.damaged)
        return Seen.read(config, state.filters, state.forgotten)
    except FilterFormatError as error:
        raise FilterFormatError(
            f"the seen items of user {user!r} can't be read: {error}; remove them, and rebuild them from a log"
        ) from error


def _refused(user: str, reason: str) -> StoreError:
    return StoreError(f"the seen items of user {user!r} were not stored: {reason}")


def _beaten(user: str, seconds: float) -> ConflictError:
    return ConflictError(
        f"the seen items of user {user!r} were not stored: other writers were faster for {seconds:g} s; try again later"
    )


def _chunks(users: Iterable[str]) -> Iterator[tuple[str, ...]]:
    everyone = tuple(users)
    return (everyone[start : start + USERS] for start in range(0, len(everyone), USERS))
