"""What a user has seen: read the Bloom filters, change them, and write them back unless another writer was faster.

Reads are by id, never by search. A change is optimistic: the store writes it only if the user's document still has the
version that was read. On a conflict the document is read again and the change is tried again, after a pause of random
length, until a deadline. An acknowledged add is never lost. A repeated add changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.bloom.seen import Generation, Seen, SeenConfig
from es_simhash.errors import (
    ConflictError,
    FilterFormatError,
    InputError,
    SimhashError,
    StoreError,
)
from es_simhash.parts import in_parts
from es_simhash.retries import Waits, end_after
from es_simhash.rows import UserState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.store.protocol import Store

SEEN_DEADLINE = 30.0
"""Seconds for which a change is tried after version conflicts."""
USERS = 500
"""Users in one request."""
NOTHING = UserState()
"""What a store without a user holds of the user."""

Change = Callable[[Seen, str], int]
"""Changes what a user has seen. Returns how many items this concerned."""
Progress = Callable[[int], object]
"""Is called with the number of users so far."""


@dataclass(frozen=True)
class SeenStats:
    """Figures of what one user has seen.

    :param generations: figures of each filter, from the oldest to the newest. There is none if everything is unseen.
    :param forgotten: number of forgotten items.
    """

    user: str
    generations: tuple[Generation, ...]
    forgotten: int


@dataclass(frozen=True)
class SeenReport:
    """The result of a change of several users.

    :param results: how many items the change concerned, for each user whose change is stored or was not necessary.
    :param failed: the error, for each user whose change is not stored.
    """

    results: dict[str, int]
    failed: dict[str, SimhashError]


@dataclass(frozen=True)
class SeenCounts:
    """The result of a change of all users.

    :param users: how many were changed.
    :param failed: the error, for each user whose change is not stored.
    """

    users: int
    failed: dict[str, SimhashError]


@dataclass(frozen=True)
class Changes:
    """Changes what users have seen, each user in the same way.

    :param change: is called for each user. Returns 1, or how many items it concerned.
    :param now: seconds since 1970.
    :param deadline: seconds for which conflicts are retried, for some hundred users.
    :param anew: drop what they had seen before.
    """

    store: Store
    config: SeenConfig
    change: Change
    now: int
    deadline: float
    anew: bool = False

    def of_users(self, users: Sequence[str]) -> SeenReport:
        """Change what some users have seen. The result has for each user what ``change`` returned."""
        report = SeenReport({}, {})
        for left in in_parts(users, USERS):
            # The waits are short, because the other writer has already finished.
            waits = Waits(end_after(self.deadline), maximum=0.01, longest=0.5)
            while (left := self._attempt(left, report)) and waits.wait():
                pass
            for user in left:
                report.failed[user] = ConflictError(
                    f"the seen items of user {user!r} were not stored: gave up after {self.deadline:g} s of version "
                    "conflicts; try again later"
                )
        return report

    def of_lists(self, lists: Iterable[Sequence[str]], progress: Progress | None) -> SeenCounts:
        """Change what users have seen, list by list.

        :param progress: is called with the number of users so far.
        """
        total, changed, failed = 0, 0, dict[str, SimhashError]()
        for users in lists:
            report = self.of_users(users)
            total += len(users)
            changed += sum(report.results.values())
            failed.update(report.failed)
            if progress is not None:
                progress(total)
        return SeenCounts(changed, failed)

    def _attempt(self, users: Sequence[str], report: SeenReport) -> Sequence[str]:
        """Read, change and write once. Results go into the report. Returns the users with a conflict."""
        current = self.store.read_users(users)
        states: dict[str, UserState] = {}
        for user in users:
            state = current.get(user, NOTHING)
            try:
                if self.anew:
                    seen = Seen(self.config, changed=bool(state.seen))
                else:
                    seen = Seen.from_json(self.config, state.seen, user, self.now)
                report.results[user] = self.change(seen, user)
            except FilterFormatError as error:
                report.failed[user] = error
            except InputError as error:
                report.failed[user] = InputError(f"the seen items of user {user!r} were not changed: {error}")
            else:
                if seen.changed:
                    states[user] = UserState(seen.to_json(), state.version)
        if not states:
            return ()
        written = self.store.write_users(states)
        for user, reason in written.refused.items():
            report.failed[user] = StoreError(f"the seen items of user {user!r} were not stored: {reason}")
        for user in written.conflicts | written.refused.keys():
            del report.results[user]
        return tuple(written.conflicts)
