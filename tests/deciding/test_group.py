"""Group writes to each document the group it belongs to, and nothing else."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule
from es_simhash.deciding.group import BYTES, group
from es_simhash.fingerprinting.normalisation import digest
from es_simhash.fingerprinting.scheme import DEFAULT
from tests.contract import LinearStore
from tests.contract.documents import entry, put, scan, write
from tests.contract.watched import Meanwhile, WatchedStore
from tests.limited import resolved

if TYPE_CHECKING:
    from es_simhash.contract import Candidates, Found, Store

LETTERS = [chr(code) for code in range(0x4E00, 0x5200)]


def groups(store: Store) -> dict[str, str]:
    return {row.id: row.group for row in scan(store)}


def test_what_is_near_directly_or_by_a_chain_is_one_group_named_after_the_first_written(store: Store) -> None:
    write(store, *(entry(id, value) for id, value in {"far": 1 << 63 | 0xFF00, "b": 0b11, "a": 0, "c": 0b1111}.items()))
    report = Documents(store).group(rule=DuplicateRule("fingerprint", max_distance=2))
    assert groups(store) == {"far": "far", "b": "b", "a": "b", "c": "b"}
    assert (report.documents, report.groups, report.members, report.changed) == (4, 1, 3, 2)
    assert report.largest == (("b", 3),)


@pytest.mark.parametrize(("head", "named"), [("earliest", "b"), ("latest", "between"), ("kept", "a")])
def test_of_two_groups_that_meet_the_rule_for_heads_decides(store: Store, head: Any, named: str) -> None:
    write(store, entry("b", 0), entry("a", 0b1111), entry("a2", 0b1110, group="a"))
    write(store, entry("between", 0b11))
    Documents(store).group(rule=DuplicateRule("fingerprint", max_distance=2), head=head)
    assert groups(store) == dict.fromkeys(["b", "a", "a2", "between"], named)
    assert Documents(store).group(rule=DuplicateRule("fingerprint", max_distance=2), head=head).changed == 0


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


def test_what_others_wrote_meanwhile_is_left_as_it_is(store: Store) -> None:
    write(store, entry("a", 0), entry("b", 1), entry("c", 2))
    changed = entry("b", 1 << 50, digest="another")
    report = Documents(Meanwhile(store, "relink", lambda: put(store, changed))).group(rule="fingerprint")
    assert (report.changed, report.conflicts) == (1, 1)
    assert groups(store) == {"a": "a", "b": "b", "c": "a"}


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        (
            lambda store: put(store, entry("a", 0xFFFF << 40, digest="another")),
            {"a": ("a", None), "b": ("b", None), "c": ("b", "b")},
        ),
        (lambda store: store.remove(("a",)), {"b": ("b", None), "c": ("b", "b")}),
    ],
    ids=["changed", "removed"],
)
def test_nothing_is_linked_to_what_others_changed_or_removed_meanwhile(store: Store, meanwhile: Any, left: Any) -> None:
    write(store, entry("a", 0), entry("b", 1), entry("c", 3))
    Documents(Meanwhile(store, "relink", lambda: meanwhile(store))).group(rule="fingerprint")
    assert {row.id: (row.group, row.duplicate_of) for row in scan(store)} == left


@pytest.mark.parametrize(
    "rule",
    [{"rule": "copy"}, {"rule": "contained"}, {"rule": "copy", "within": timedelta(days=9), "time_field": "at"}],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_the_keys_in_memory_save_look_ups_and_change_nothing(seed: int, rule: dict[str, Any]) -> None:
    rng = random.Random(seed)
    texts = ["".join(rng.choices(LETTERS, k=rng.choice([12, 40, 120]))) for _ in range(150)]
    for _ in range(50):
        old = rng.choice(texts)
        at = rng.randrange(len(old))
        changed = old[:at] + "的" + old[at + 1 :]
        texts.append(rng.choice([old, changed, changed, old + "".join(rng.choices(LETTERS, k=60))]))
    store = WatchedStore(LinearStore())
    documents = Documents(store)
    documents.setup(keys=True)
    given = ({"id": n, "text": text, "at": f"2024-05-{rng.randint(1, 28):02}"} for n, text in enumerate(texts))
    list(documents.ingest(given, rule="fingerprint"))
    reports, links, look_ups = [], [], []
    for free in (0, None):
        store.asked.clear()
        reports.append(group(store, resolved(documents, **rule), free_memory=free))
        links.append([(row.id, row.group, row.duplicate_of) for row in scan(store)])
        look_ups.append(sum(len(call.probes) for call in store.asked if call.method == "candidates"))
    assert links[0] == links[1]
    assert reports[0].groups == reports[1].groups > 10
    assert reports[1].changed == 0
    assert look_ups[0] == (200 if "within" in rule else len(set(texts)))
    assert look_ups[1] < 20


class LastOfCopies(LinearStore):
    """A store that finds the last of exact copies, as SQLite may if the first was written again."""

    def candidates(self, query: Candidates) -> Found:
        found = super().candidates(replace(query, one_per_digest=False))
        last = {row.digest: row for row in sorted(found.rows, key=attrgetter("written"))}
        return replace(found, rows=list(last.values())) if query.one_per_digest else found


def test_the_first_of_exact_copies_is_the_original_although_search_finds_another() -> None:
    first = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
    near = first.replace("部分", "多处")
    documents = Documents(LastOfCopies())
    documents.setup(keys=True)
    texts = {"a": first, "x": near, "a-copy": first, "x-copy": near}
    list(documents.ingest(({"id": id, "text": text} for id, text in texts.items()), rule="exact"))
    group(documents.store, resolved(documents, rule="copy"), free_memory=0)
    found = {row.id: row.duplicate_of for row in scan(documents.store)}
    assert found == {"a": None, "x": "a", "a-copy": "a", "x-copy": "x"}


def test_texts_that_have_only_a_number_in_common_are_no_candidates() -> None:
    rng = random.Random(5)
    texts = ["".join(chr(rng.randint(0x4E00, 0x9FA5)) for _ in range(100)) + "第3号" for _ in range(80)]
    with Documents("sqlite:///:memory:") as documents:
        documents.setup(keys=True)
        list(documents.ingest([{"id": str(number), "text": text} for number, text in enumerate(texts)]))
        assert documents.group().left_out == 0
