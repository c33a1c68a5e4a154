"""A run notices that another index or file is at its address than when it began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import KeysState
from es_simhash.errors import NotSetUp

if TYPE_CHECKING:
    from es_simhash.client.store_info import StoreReader
    from es_simhash.contract import Place
    from es_simhash.deciding.rule import ResolvedRule


class RunCheck:
    """Checks that a store is as it was when a run began. It is called before each batch is written.

    :param rule: of the run.
    :param id_field: the store is to keep it; None if it has none.
    """

    def __init__(self, reader: StoreReader, rule: ResolvedRule, id_field: str | None, name: str) -> None:
        self._reader = reader
        self._rule = rule
        self._id_field = id_field
        self._name = name
        self._place = reader.read().place

    def __call__(self, writes: bool) -> None:
        """Check it. The store is asked again if it was not asked for 10 seconds.

        :param writes: documents are written, so the store is to keep the rule. A run in which all lines are rejected
            leaves it open.
        :raises SchemeMismatch: if it has another Scheme.
        :raises InputError: if it keeps another rule, and documents are written.
        :raises NotSetUp: if an index or a file was deleted, made again or replaced, or its keys are not what they were.
        """
        reading = self._reader.read()
        if reading.place != self._place:
            _check_same(self._name, self._place, reading.place)
            self._place = reading.place
        self._reader.check()
        if writes:
            self._reader.keep(self._rule.chosen, self._id_field)
        now, then = reading.keys, self._rule.stored_keys
        if now is not then and (then, now) != (KeysState.INCOMPLETE, KeysState.COMPLETE):
            raise NotSetUp(f"the keys of {self._name} were changed while documents were written: start again")


def _check_same(name: str, before: Place, now: Place) -> None:
    """Check that documents which were written before are still at the address.

    :raises NotSetUp: if they are not.
    """
    if before <= now:
        return
    was, is_now = (" and ".join(sorted(dict(place))) or "nothing" for place in (before, now))
    what = f"{was} was deleted and made again" if was == is_now else f"the address leads to {is_now} now, not to {was}"
    raise NotSetUp(f"{name}: {what}: what this run wrote before is not there, so start again")
