"""The state of an ingest: what was decided is written as it was decided, and whoever goes on must mean the same run."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.errors import InputError, StoreError, StoreUnavailable
from es_simhash.ingest.checkpoint import FORMAT, Checkpoint
from es_simhash.retries import DEADLINE
from tests.contract import LinearStore
from tests.contract.watched import Failing
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.deciding.outcome import Outcome

VECTORS = Path(__file__).parents[1] / "vectors"

# Ten documents in batches of three; 3 is 1 again, 5 has no text, 8 nearly repeats 1.
STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
TEXTS: list[Any] = [STORM, "第一", "第二", STORM, "第三", None, "第四", "第五", STORM.replace("部分", "多处"), "第六"]
INPUT = [{"id": str(number), "text": text} for number, text in enumerate(TEXTS)]
OUTCOMES = ["new"] * 3 + ["exact_duplicate", "new", "rejected", "new", "new", "near_duplicate", "new"]


def mortal(dies_at: int, *, after: bool = True) -> Any:
    """A store that dies at its n-th write, before it or after it."""
    return set_up(Failing(LinearStore(), "write", dies_at, StoreError("it died"), done=after))


def ingest(store: Any, path: Path, documents: Any = INPUT, deadline: float = DEADLINE, **options: Any) -> list[Outcome]:
    opened = Documents(store, deadline=deadline)
    return list(
        opened.ingest(
            documents, **keywords_of({"batch_size": 3, "checkpoint": str(path), "rule": "fingerprint", **options})
        )
    )


def contents(store: Any) -> list[Any]:
    return sorted(
        (row.id, row.fingerprint, row.digest, row.group, row.duplicate_of) for row in Documents(store).export()
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.state"


@pytest.fixture(scope="module")
def whole() -> list[Any]:
    store = LinearStore()
    Documents(store).setup(keys=False)
    list(Documents(store).ingest(INPUT, batch_size=3, rule="fingerprint"))
    return contents(store)


def set_up(store: Any) -> Any:
    Documents(store).setup(keys=False)
    return store


# --- going on ----------------------------------------------------------------------------------------------


def test_with_a_state_the_outcomes_are_those_without(path: Path, whole: list[Any]) -> None:
    store = set_up(LinearStore())
    assert [outcome.outcome for outcome in ingest(store, path)] == OUTCOMES
    assert contents(store) == whole


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("dies_at", "workers"), [(1, 0), (2, 0), (2, 1), (4, 0)])
def test_what_a_store_that_died_did_not_do_is_done_by_the_next_call(
    path: Path, whole: list[Any], dies_at: int, after: bool, workers: int
) -> None:
    store = mortal(dies_at, after=after)
    found: list[Outcome] = []
    with pytest.raises(StoreError, match="it died"):
        found.extend(
            Documents(store).ingest(INPUT, batch_size=3, checkpoint=str(path), workers=workers, rule="fingerprint")
        )
    assert len(found) == 3 * (dies_at - 1)
    found += ingest(store, path)
    assert [outcome.outcome for outcome in found] == OUTCOMES
    assert [outcome.id for outcome in found] == [document["id"] for document in INPUT]
    assert contents(store) == whole


@pytest.mark.parametrize("taken", range(1, 11))
def test_after_a_break_the_next_call_gives_the_batch_again_and_all_that_follow(
    path: Path, whole: list[Any], taken: int
) -> None:
    store = set_up(LinearStore())
    outcomes: Iterator[Outcome] = Documents(store).ingest(INPUT, batch_size=3, checkpoint=str(path), rule="fingerprint")
    for _ in range(taken):
        next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    rest = ingest(store, path)
    begun = (taken - 1) // 3 * 3  # of the batch whose outcomes were not all taken
    assert [outcome.id for outcome in rest] == [document["id"] for document in INPUT[begun:]]
    assert [outcome.outcome for outcome in rest] == OUTCOMES[begun:]
    assert contents(store) == whole


def test_an_error_of_the_caller_s_loses_nothing(path: Path, whole: list[Any]) -> None:
    store = set_up(LinearStore())
    outcomes = Documents(store).ingest(INPUT, batch_size=3, checkpoint=str(path), rule="fingerprint")
    with pytest.raises(ZeroDivisionError):
        [1 / (outcome.id != "4") for outcome in outcomes]
    outcomes.close()  # type: ignore[attr-defined]
    assert [outcome.outcome for outcome in ingest(store, path)] == OUTCOMES[3:]
    assert contents(store) == whole


def test_an_id_of_before_the_interruption_is_rejected_with_its_first_place(path: Path) -> None:
    store = set_up(LinearStore())
    ingest(store, path, INPUT[:6])
    [again] = ingest(store, path, [*INPUT[:6], {"id": "1", "text": "y"}])
    assert again.reason == (
        "document 7: the id '1' occurred before in this run, at document 2: the first one counts; use another id"
    )


def test_when_nothing_is_left_nothing_is_done(path: Path, whole: list[Any]) -> None:
    store = set_up(LinearStore())
    ingest(store, path)
    assert ingest(store, path) == []
    assert contents(store) == whole


def test_of_input_that_has_grown_only_the_new_is_done(path: Path) -> None:
    store = set_up(LinearStore())
    ingest(store, path)
    more = [{"id": "10", "text": STORM}, {"id": "11", "text": "第七"}]
    found = ingest(store, path, [*INPUT, *more])
    assert [(outcome.id, outcome.outcome, outcome.place) for outcome in found] == [
        ("10", "exact_duplicate", "document 11"),
        ("11", "new", "document 12"),
    ]


def test_other_workers_and_batches_go_on_where_the_first_ended(path: Path, whole: list[Any]) -> None:
    store = mortal(2)
    with pytest.raises(StoreError):
        ingest(store, path)
    assert [outcome.outcome for outcome in ingest(store, path, batch_size=4, workers=1)] == OUTCOMES[3:]
    assert contents(store) == whole


# At its second fetch the store is away between two batches. At its second write a batch is decided and not written.
@pytest.mark.parametrize("method", ["fetch", "write"])
def test_a_resumed_run_finds_what_the_interrupted_run_wrote_although_search_lags(path: Path, method: str) -> None:
    store = set_up(Failing(LinearStore(lagging=True), method, 2, StoreUnavailable("it is away")))
    documents = [{"id": "a", "text": STORM}, {"id": "b", "text": "第一"}, {"id": "copy", "text": STORM}]
    with pytest.raises(StoreUnavailable):
        ingest(store, path, documents, deadline=0, batch_size=1)
    resumed = ingest(store, path, documents, batch_size=1)
    assert [(outcome.id, outcome.outcome, outcome.duplicate_of) for outcome in resumed] == [
        ("b", "new", None),
        ("copy", "exact_duplicate", "a"),
    ]


# --- another run -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [INPUT[:5], INPUT[1:], [*INPUT[:9], {"id": "9", "text": "x"}], []])
def test_another_input_is_refused(path: Path, other: list[Any]) -> None:
    store = set_up(LinearStore())
    ingest(store, path)
    with pytest.raises(InputError, match="belongs to another input: give the same documents in the same order"):
        ingest(store, path, other)


@pytest.mark.parametrize(
    "option",
    [
        {"max_distance": 7},
        {"on_duplicate": "skip"},
        {"id_field": "_id"},
        {"text_field": ["text", "title"]},
        {"filter": {"match_all": {}}},
        {"max_text": 1_000},
    ],
    ids=lambda option: next(iter(option)),
)
def test_another_option_is_refused(path: Path, option: dict[str, Any]) -> None:
    store = set_up(LinearStore())
    ingest(store, path)
    if option.keys() & {"max_distance", "text_field"}:
        Documents(store).setup(rule="fingerprint", **keywords_of(option))
    with pytest.raises(InputError, match=f"was created with {next(iter(option))} .*: run again with the same options"):
        ingest(store, path, **keywords_of(option))


def test_another_window_is_refused(path: Path) -> None:
    store = set_up(LinearStore())
    dated = [{**document, "date": "2024"} for document in INPUT]
    window: dict[str, Any] = {"within": timedelta(days=7), "time_field": "date"}
    ingest(store, path, dated, **window)
    for other in ({"within": timedelta(days=8)}, {"time_field": "day"}):
        Documents(store).setup(rule="fingerprint", **{**window, **other})
        with pytest.raises(InputError, match=f"was created with {next(iter(other))} '(7 days, 0:00:00|date)', not"):
            ingest(store, path, dated, **{**window, **other})
    Documents(store).setup(rule="fingerprint")
    with pytest.raises(InputError, match=r"was created with (within|time_field) .* not None"):
        ingest(store, path, dated)


def test_another_store_is_refused(path: Path, tmp_path: Path) -> None:
    ingest(f"sqlite:///{tmp_path}/a.db", path)
    with pytest.raises(InputError, match=r"was created with store .*a\.db', not .*b\.db'"):
        ingest(f"sqlite:///{tmp_path}/b.db", path)


def test_a_run_that_fails_at_a_duplicate_has_no_state(path: Path) -> None:
    with pytest.raises(InputError, match="use 'index' or 'skip'"):
        ingest(LinearStore(), path, on_duplicate="fail")
    assert not path.exists()


# --- the file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"hello", b"SQLite format 3\0" + bytes(4_000), bytes(9_000)])
def test_a_file_that_is_something_else_is_refused_and_left_alone(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be used"):
        Checkpoint(str(path))
    assert path.read_bytes() == data


def test_another_program_s_database_is_refused_and_left_alone(path: Path) -> None:
    with Documents(f"sqlite:///{path}") as documents:
        documents.setup(keys=False)
    before = path.read_bytes()
    with pytest.raises(InputError, match="is not the checkpoint of an ingest: name another file"):
        Checkpoint(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("kept", [4_096, 5_000])
def test_a_damaged_state_is_refused(path: Path, kept: int) -> None:
    ingest(set_up(LinearStore()), path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"cannot be used \(database disk image is malformed\)"):
        ingest(set_up(LinearStore()), path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE about SET value = CAST(X'0aff0a' AS TEXT)", r"cannot be used \(Could not decode to UTF-8"),
        ("UPDATE about SET value = json_set(value, '$.counts.new', '2') WHERE key = 'done'", "is damaged"),
        ("""UPDATE batches SET claims = '[["\\ud800", "x"]]'""", r"is damaged \('utf-8' codec can't encode"),
    ],
)
def test_a_damaged_value_is_refused_in_one_line(path: Path, change: str, problem: str) -> None:
    ingest(set_up(LinearStore()), path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with pytest.raises(InputError, match=problem) as error:
        ingest(set_up(LinearStore()), path)
    assert "\n" not in str(error.value)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no folder for the checkpoint .*: create it first"):
        Checkpoint(str(tmp_path / "missing" / "x.state"))
    with pytest.raises(InputError, match="cannot be used"):
        Checkpoint(str(tmp_path))


def test_a_state_in_use_is_refused(path: Path) -> None:
    with Checkpoint(str(path)), pytest.raises(InputError, match="another ingest uses it"):
        Checkpoint(str(path))
    Checkpoint(str(path)).close()


def test_a_disk_that_fills_under_the_state_is_an_error_of_ours(path: Path) -> None:
    with Checkpoint(str(path)) as state:
        state._db.execute("PRAGMA max_page_count = 5")
        with pytest.raises(InputError, match=r"cannot be used \(database or disk is full\)"):
            state.decided(1, "m", [("x" * 9_000, "p")] * 9, {})


def test_an_empty_file_becomes_a_state(path: Path) -> None:
    path.touch()
    Checkpoint(str(path)).close()
    assert path.stat().st_size > 0


# --- the format, for ever ----------------------------------------------------------------------------------
#
# ingest-state-1.sql is a dump of the state that an ingest of INPUT, in batches of three, left when its store died
# after its third write: six documents done, three decided and pending. Never edited; a new format is a new file.


def made_of(sql: Path, path: Path) -> None:
    db = sqlite3.connect(path)
    db.executescript(sql.read_text(encoding="utf-8"))
    db.close()


def test_every_format_has_a_vector() -> None:
    assert {path.name for path in VECTORS.glob("ingest-state-*.sql")} == {
        f"ingest-state-{number}.sql" for number in range(1, FORMAT + 1)
    }


def test_a_state_of_format_1_is_gone_on_from(path: Path, whole: list[Any]) -> None:
    store = mortal(3)
    with pytest.raises(StoreError):
        ingest(store, path.with_name("other.state"))
    for entry_id in ("6", "7", "8"):  # as if nothing of the pending batch had been written
        store.remove((entry_id,))
    made_of(VECTORS / "ingest-state-1.sql", path)
    found = ingest(store, path)
    assert [outcome.outcome for outcome in found] == OUTCOMES[6:]
    assert contents(store) == whole


def test_this_release_writes_format_1_alike(path: Path, tmp_path: Path) -> None:
    store = mortal(3)
    with pytest.raises(StoreError):
        ingest(store, path)
    golden = tmp_path / "golden.state"
    made_of(VECTORS / "ingest-state-1.sql", golden)
    assert written(path) == written(golden)


def written(path: Path) -> Any:
    """All that is in a state, without the times."""
    copy = shutil.copy(path, path.with_name("copy"))
    db = sqlite3.connect(copy)
    application = db.execute("PRAGMA application_id").fetchone()
    about = {key: json.loads(value) for key, value in db.execute("SELECT key, value FROM about")}
    batches = db.execute("SELECT number, documents, mark, claims, decisions FROM batches ORDER BY number").fetchall()
    db.close()
    rows = [[*row[:3], json.loads(row[3]), row[4] and untimed(json.loads(row[4]))] for row in batches]
    return application, about, rows


def untimed(decisions: dict[str, Any]) -> dict[str, Any]:
    return {id: {**decision, "written": bool(decision["written"])} for id, decision in decisions.items()}


def test_a_later_format_is_refused_with_both_named(path: Path) -> None:
    Checkpoint(str(path)).close()
    db = sqlite3.connect(path)
    db.execute("UPDATE about SET value = '2' WHERE key = 'format'")
    db.commit()
    db.close()
    with pytest.raises(InputError, match="has format 2, this release reads 1"):
        Checkpoint(str(path))
