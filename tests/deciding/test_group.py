"""Group writes to each document the group it belongs to, and nothing else."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.deciding.group import BYTES, group
from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import digest
from es_simhash.fingerprinting.scheme import DEFAULT
from tests.contract import LinearStore
from tests.contract.documents import entry, flip, put, scan, write
from tests.contract.watched import StoreCall, WatchedStore
from tests.limited import resolved

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.contract import Entry, Store


def groups(store: Store) -> dict[str, str]:
    return {row.id: row.group for row in scan(store)}


def test_what_is_near_directly_or_by_a_chain_is_one_group_named_after_the_first_written(store: Store) -> None:
    write(store, *(entry(id, value) for id, value in {"far": 1 << 63 | 0xFF00, "b": 0b11, "a": 0, "c": 0b1111}.items()))
    report = Documents(store).group(rule="fingerprint", max_distance=2)
    assert groups(store) == {"far": "far", "b": "b", "a": "b", "c": "b"}
    assert (report.documents, report.groups, report.members, report.changed) == (4, 1, 3, 2)
    assert report.largest == (("b", 3),)


def test_a_second_call_changes_nothing(store: Store) -> None:
    rng = random.Random(1)
    values = [flip(rng.choice([0, 1 << 40]), rng.sample(range(64), rng.randint(0, 5))) for _ in range(60)]
    write(store, *(entry(f"id{n}", value) for n, value in enumerate(values)))
    assert Documents(store).group(rule="fingerprint").changed > 0
    before = groups(store)
    assert Documents(store).group(rule="fingerprint").changed == 0
    assert groups(store) == before


@pytest.mark.parametrize(("head", "named"), [("earliest", "b"), ("latest", "between"), ("kept", "a")])
def test_of_two_groups_that_meet_the_rule_for_heads_decides(store: Store, head: Any, named: str) -> None:
    write(store, entry("b", 0), entry("a", 0b1111), entry("a2", 0b1110, group="a"))
    write(store, entry("between", 0b11))
    Documents(store).group(rule="fingerprint", max_distance=2, head=head)
    assert groups(store) == dict.fromkeys(["b", "a", "a2", "between"], named)
    assert Documents(store).group(rule="fingerprint", max_distance=2, head=head).changed == 0


def test_a_rule_for_heads_that_is_not_known_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="head is 'largest': use one of earliest, latest, kept"):
        Documents(store).group(head="largest", rule="fingerprint")  # type: ignore[arg-type]


def test_a_document_duplicates_the_nearest_that_was_written_before_it(store: Store) -> None:
    write(
        store, entry("a", 0), entry("b", 0b111), entry("c", 0b11, duplicate_of="gone"), entry("far", 1 << 40 | 0xFF00)
    )
    write(store, entry("copy", 0b11, digest="digest of b"), entry("blank", None, digest=digest("", DEFAULT.digest)))
    Documents(store).group(rule="fingerprint")
    found = {row.id: row.duplicate_of for row in scan(store)}
    assert found == {"a": None, "b": "a", "c": "b", "far": None, "copy": "b", "blank": None}


def test_a_group_whose_head_is_gone_gets_another(store: Store) -> None:
    write(store, entry("b", 0, group="gone"), entry("a", 1, group="gone"))
    Documents(store).group(rule="fingerprint")
    assert groups(store) == {"b": "b", "a": "b"}


def test_members_that_are_no_longer_near_leave(store: Store) -> None:
    write(store, entry("a", 0), entry("b", 0xFFFF, group="a"))
    Documents(store).group(rule="fingerprint")
    assert groups(store) == {"a": "a", "b": "b"}


@pytest.mark.parametrize(("giant", "reported"), [(2, 13), (3, 12), (4, 10)])
def test_the_ten_largest_groups_are_reported_and_every_giant_one(giant: int, reported: int) -> None:
    store = LinearStore()
    store.set_up(DEFAULT)
    write(store, entry("alone", None))
    sizes = [2] + [3] * 11 + [4]
    write(store, *(entry(f"{n}-{m}", None, digest=f"d{n}") for n, size in enumerate(sizes) for m in range(size)))
    largest = group(store, resolved(Documents(store), rule="fingerprint"), giant=giant).largest
    every = [("12-0", 4), *((f"{n}-0", 3) for n in range(1, 12)), ("0-0", 2)]
    assert largest == tuple(every[:reported])


def test_copies_without_fingerprint_are_a_group_and_blank_texts_are_none(store: Store) -> None:
    blank = digest("", DEFAULT.digest)
    write(store, *(entry(f"{d}{n}", None, digest=d) for d in ("x", blank) for n in range(2)))
    Documents(store).group(rule="fingerprint")
    assert groups(store) == {"x0": "x0", "x1": "x0", f"{blank}0": f"{blank}0", f"{blank}1": f"{blank}1"}


def test_a_filter_limits_what_is_looked_at(store: Store) -> None:
    write(store, entry("a", 0, lang="zh"), entry("b", 0, lang="en"), entry("c", 0, lang="zh"))
    assert Documents(store).group(filter={"term": {"lang": "zh"}}, rule="fingerprint").documents == 2
    assert groups(store) == {"a": "a", "b": "b", "c": "a"}


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_too_little_memory_is_said_before_the_reading(
    store: Store, lang: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write(store, entry("a", 0, lang="zh"), entry("b", 1, lang="zh"), entry("c", 2, lang="en"))
    monkeypatch.setattr("es_simhash.client.documents.free_memory", lambda: BYTES)
    Documents(store).group(filter={"term": {"lang": lang}}, rule="fingerprint")
    said = [record.getMessage() for record in caplog.records if "memory" in record.getMessage()]
    assert [message.partition(" for ")[2] for message in said] == [
        "2 documents, and 0.0 GB are free: leave documents out (filter), or use Spark (docs/spark.md)"
    ] * (lang == "zh")


def changes(changed: Entry) -> Callable[[Store], Any]:
    """Return what writes a document."""
    return lambda store: put(store, changed)


def test_what_others_wrote_meanwhile_is_left_as_it_is(store: Store) -> None:
    write(store, entry("a", 0), entry("b", 1), entry("c", 2))
    report = Documents(Interrupting(store, changes(entry("b", 1 << 50, digest="another")))).group(rule="fingerprint")
    assert (report.changed, report.conflicts) == (1, 1)
    assert groups(store) == {"a": "a", "b": "b", "c": "a"}


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        (
            changes(entry("a", 0xFFFF << 40, digest="another")),
            {"a": ("a", None), "b": ("b", None), "c": ("b", "b")},
        ),
        (lambda store: store.remove(("a",)), {"b": ("b", None), "c": ("b", "b")}),
    ],
    ids=["changed", "removed"],
)
def test_nothing_is_linked_to_what_others_changed_or_removed_meanwhile(store: Store, meanwhile: Any, left: Any) -> None:
    write(store, entry("a", 0), entry("b", 1), entry("c", 3))
    Documents(Interrupting(store, meanwhile)).group(rule="fingerprint")
    assert {row.id: (row.group, row.duplicate_of) for row in scan(store)} == left


def test_ingest_and_group_agree_on_simple_groups(store: Store) -> None:
    documents = Documents(store)
    text = "市气象台今晨发布暴雨橙色预警，城区{}路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
    list(
        documents.ingest(
            [{"id": n, "text": text.format(word)} for n, word in enumerate(["部分", "多处", "部分"])],
            rule="fingerprint",
        )
    )
    before = groups(store)
    assert set(before.values()) == {"0"}
    assert documents.group(rule="fingerprint").changed == 0
    assert groups(store) == before


class Interrupting(WatchedStore):
    """Somebody else writes or removes a document just before the groups are written."""

    def __init__(self, store: Store, meanwhile: Callable[[Store], Any]) -> None:
        super().__init__(store)
        self._meanwhile: Callable[[Store], Any] | None = meanwhile

    def perform(self, op: StoreCall) -> Any:
        if op.method == "relink" and self._meanwhile is not None:
            self._meanwhile(self.watched)
            self._meanwhile = None
        return super().perform(op)
