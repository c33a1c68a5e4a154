"""A run notices that another index or file is at its address than when it began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import KeysState
from es_simhash.errors import NotSetUp

if TYPE_CHECKING:
    from es_simhash.client.opening import Opening
    from es_simhash.contract import Place
    from es_simhash.deciding.rule import ResolvedRule


class RunCheck:
    """Checks that a store is as it was when a run began.

    It is called before a batch is looked up, before it is written, and before its outcomes are returned.

    :param rule: of the run.
    :param id_field: the store is to keep it; None if it has none.
    :param place: what was at the address when the run began.
    """

    def __init__(self, opening: Opening, rule: ResolvedRule, id_field: str | None, place: Place) -> None:
        self._opening = opening
        self._rule = rule
        self._id_field = id_field
        self._place = place

    def __call__(self, writes: bool) -> None:
        """Check it.

        :param writes: documents are written, so the store is to keep the rule. A run in which all lines are rejected
            leaves it open.
        :raises SchemeMismatch: if it has another Scheme.
        :raises InputError: if it keeps another rule, and documents are written.
        :raises NotSetUp: if an index or a file was deleted, made again or replaced, or its keys are not what they were.
        """
        opening, before = self._opening, self._place
        self._place = opening.notice()
        if self._place != before:
            _check_same(opening.name, before, self._place)
        opening.check(self._rule.fingerprinter)
        if writes:
            opening.keep(self._rule.chosen, self._id_field)
        now, then = opening.keys(), self._rule.stored_keys
        if now is not then and (then, now) != (KeysState.INCOMPLETE, KeysState.COMPLETE):
            raise NotSetUp(f"the keys of {opening.name} were changed while documents were written: start again")


def _check_same(name: str, before: Place, now: Place) -> None:
    """Check that documents which were written before are still at the address. An alias may roll over.

    :raises NotSetUp: if they are not.
    """
    ids = dict(now)
    made_again = sorted(each for each, id in before if ids.get(each, id) != id)
    if made_again:
        what = f"{' and '.join(made_again)} was deleted and made again"
    elif before and not now:
        what = f"{' and '.join(sorted(dict(before)))} was deleted"
    elif before and not before & now:
        what = f"the address leads to {' and '.join(sorted(ids))} now, and led to {' and '.join(sorted(dict(before)))}"
    else:
        return
    raise NotSetUp(f"{name}: {what} during the run: what was written before is not there, so start again")
