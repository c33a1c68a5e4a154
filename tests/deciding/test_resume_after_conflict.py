"""A run is killed after another program has changed a document that it has decided. The next run decides it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from tests.contract.watched import StoreCall, WatchedStore
from tests.deciding.test_conflicts import METRO, RULE, STORM, TEA, ingest, texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from es_simhash import Outcome
    from es_simhash.contract import Store

CALLS = (0, 1, 2, 3, 5, 7)
"""So many calls of the store after the write it was killed, or it had come to its end."""


class Killed(BaseException):
    """The process is gone."""


class Dying(WatchedStore):
    """Another program does something just before the first write. Some calls later the process is killed.

    :param calls: that are done, counted from that write.
    """

    def __init__(self, watched: Store, does: Callable[[Documents], object], calls: int) -> None:
        super().__init__(watched)
        self.does = does
        self.calls = calls
        self.writing = False

    def perform(self, call: StoreCall) -> Any:
        if call.method == "write" and not self.writing:
            self.does(Documents(self.watched))
            self.writing = True
        if self.writing:
            self.calls -= 1
            if self.calls < 0:
                raise Killed
        return super().perform(call)


def killed_and_resumed(
    dying: Dying, checkpoint: Path, *given: dict[str, str]
) -> tuple[bool, dict[str | None, Outcome], dict[str, tuple[str, str | None]]]:
    """Return whether the first run was killed, the outcomes of the last, and the links of all documents."""
    killed = False
    outcomes: dict[str | None, Outcome] = {}

    def run(store: Store) -> None:
        for outcome in Documents(store).ingest(given, rule=RULE, checkpoint=str(checkpoint)):
            outcomes[outcome.id] = outcome

    try:
        run(dying)
    except Killed:
        killed = True
        run(dying.watched)
    rows = dying.watched.fetch(("a", "b", "c"))
    return killed, outcomes, {row.id: (row.group, row.duplicate_of) for row in rows.values()}


@pytest.mark.parametrize("calls", CALLS)
def test_the_outcome_is_that_of_the_text_that_another_program_wrote(store: Store, tmp_path: Path, calls: int) -> None:
    """The run decides that a is new. Another program writes a, and a copy of it."""

    def other(program: Documents) -> None:
        for id in ("a", "b"):
            program.add({"id": id, "text": METRO}, rule=RULE)

    killed, outcomes, links = killed_and_resumed(Dying(store, other, calls), tmp_path / "x", {"id": "a", "text": STORM})
    # After its own second write the run finds its own text.
    assert outcomes["a"].outcome == "updated" or (killed and outcomes["a"].outcome == "unchanged")
    assert texts(store, "a", "b") == {"a": STORM, "b": METRO}
    assert links == {"a": ("a", None), "b": ("b", None)}


@pytest.mark.parametrize("calls", CALLS)
def test_the_second_decision_is_not_replaced_by_the_first(store: Store, tmp_path: Path, calls: int) -> None:
    """The run decides that a is new. Another program writes the original c, and a with another text."""

    def other(program: Documents) -> None:
        program.add({"id": "c", "text": STORM}, rule=RULE)
        program.add({"id": "a", "text": METRO}, rule=RULE)
        program.store.refresh()

    _, outcomes, links = killed_and_resumed(Dying(store, other, calls), tmp_path / "x", {"id": "a", "text": STORM})
    assert outcomes["a"].duplicate_of == "c"
    assert texts(store, "a", "c") == {"a": STORM, "c": STORM}
    assert links == {"c": ("c", None), "a": ("c", "c")}


@pytest.mark.parametrize("calls", CALLS)
def test_copies_in_the_batch_lead_to_a_text_that_is_there(store: Store, tmp_path: Path, calls: int) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM})

    def other(program: Documents) -> None:
        program.add({"id": "a", "text": METRO}, rule=RULE)

    given = [{"id": "a", "text": TEA}, {"id": "b", "text": TEA}, {"id": "c", "text": STORM}]
    _, _, links = killed_and_resumed(Dying(store, other, calls), tmp_path / "x", *given)
    assert texts(store, "a", "b", "c") == {"a": TEA, "b": TEA, "c": STORM}
    assert links["c"] == ("c", None)
    assert (links["a"], links["b"]) in ((("b", "b"), ("b", None)), (("a", None), ("a", "a")))


def test_a_link_that_another_program_changed_since_the_write_stays(store: Store, tmp_path: Path) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM})
    given = [{"id": "b", "text": STORM}]
    outcomes = Documents(store).ingest(given, rule=RULE, checkpoint=str(tmp_path / "x"))
    assert next(outcomes).duplicate_of == "a"
    outcomes.close()  # the batch is written, and not done
    Documents(store).remove(["a"])
    (outcome,) = Documents(store).ingest(given, rule=RULE, checkpoint=str(tmp_path / "x"))
    assert outcome.duplicate_of == "a", "as it was decided"
    row = store.fetch(("b",))["b"]
    assert (row.group, row.duplicate_of) == ("b", None)
