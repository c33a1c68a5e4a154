"""An alias of monthly indices, one of which takes the new documents."""

from __future__ import annotations

import json
import logging
import time
from contextlib import closing
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, SeenItems
from es_simhash.errors import InputError, NotSetUp, StoreChanged, StoreError
from es_simhash.store.address import open_store
from es_simhash.text.scheme import Scheme
from es_simhash.tools.doctor import doctor
from tests.cli import es_simhash
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

TEXT = "北京市今天发布暴雨橙色预警，城区部分路段已经出现积水，请市民注意安全，减少外出。"
COPY = TEXT.replace("减少外出", "尽量减少外出")
OTHER = "省教育厅公布了明年高考的时间安排，考生可以在网上查询考场和座位。"


class Months:
    """An alias, and the indices behind it. The last one is the write index.

    :param new_address: returns addresses at which nothing is yet.
    """

    def __init__(self, new_address: Callable[[], str]) -> None:
        self._new_address = new_address
        first = self.new()
        self.name = f"{first}-all"
        self.names: list[str] = []
        self._connection: Any = open_store(self.name).connection  # type: ignore[attr-defined]
        self.roll(first)

    def new(self, name: str | None = None, body: Mapping[str, Any] | None = None) -> str:
        """Make an index, and return its address."""
        address = self._new_address() if name is None else f"{self.name.rpartition('/')[0]}/{name}"
        with closing(open_store(address)) as store:
            store.connection.send("PUT", "", body or {})  # type: ignore[attr-defined]
        return address

    def roll(self, address: str) -> None:
        """Let an index be the write index."""
        former, self.names = self.names[-1:], [*self.names, address.rpartition("/")[2]]
        self.alias("add", *former, is_write_index=False)
        self.alias("add", self.names[-1], is_write_index=True)

    def alias(self, what: str, *names: str, **options: bool) -> None:
        """Change the alias of indices."""
        for name in names:
            action = {what: {"index": name, "alias": self.name.rpartition("/")[2], **options}}
            self.send("POST", "_aliases", {"actions": [action]})

    def block(self, number: int, *, blocked: bool = True) -> None:
        """Let an index take no writes, or take them again."""
        self.send("PUT", f"{self.names[number]}/_settings", {"index.blocks.write": blocked or None})

    def roll_by_template(self) -> None:
        """Make an index of the component template that init gives, and let it be the write index."""
        with closing(open_store(self.name)) as store:
            self.roll(self.new(body=store.component_template()["template"]))  # type: ignore[attr-defined]

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the server."""
        return self._connection.send(method, path, body, index=False)

    def index_of(self, id: str) -> list[str]:
        """Return the indices with a document."""
        self.send("POST", f"{','.join(self.names)}/_refresh")
        found = self.send("POST", f"{','.join(self.names)}/_search", {"query": {"ids": {"values": [id]}}})
        return sorted(hit["_index"] for hit in found["hits"]["hits"])


@pytest.fixture(params=[ELASTICSEARCH, OPENSEARCH])
def new_address(request: pytest.FixtureRequest) -> Callable[[], str]:
    return new_addresses(request, request.param)


@pytest.fixture
def months(new_address: Callable[[], str]) -> Months:
    """Three months, set up by their alias: `a` is in the first one, its copy `b` in the second one."""
    months = Months(new_address)
    with Documents(months.name) as documents:
        documents.setup()
        for id, text in (("a", TEXT), ("b", COPY)):
            assert documents.add({"id": id, "text": text}).stored
            months.roll_by_template()
            documents.store.describe()
    return months


@pytest.fixture
def documents(months: Months) -> Iterator[Documents]:
    with Documents(months.name) as documents:
        yield documents


def link_of(documents: Documents, id: str) -> str | None:
    """Return the original of a document."""
    return documents.fetch([id])[id].duplicate_of


def test_new_documents_go_to_the_write_index_and_known_ones_stay_where_they_are(
    months: Months, documents: Documents
) -> None:
    first, second, third = months.names
    given = [{"id": "a", "text": TEXT, "n": 1}, {"id": "b", "text": COPY}, {"id": "c", "text": f"{TEXT}完"}]
    assert [one.outcome for one in documents.ingest(given)] == ["updated", "unchanged", "near_duplicate"]
    assert [months.index_of(id) for id in "abc"] == [[first], [second], [third]]
    assert {id: link_of(documents, id) for id in "abc"} == {"a": None, "b": "a", "c": "a"}
    assert documents.add({"id": "b", "text": OTHER}).stored
    assert (months.index_of("b"), link_of(documents, "b")) == ([second], None)
    assert documents.remove(["a"]) == {"a"}
    assert (months.index_of("a"), link_of(documents, "c")) == ([], None)
    documents.pin("c", duplicate_of="b")
    assert documents.group().documents == 2
    assert link_of(documents, "c") == "b"
    assert months.index_of("c") == [third]


def test_what_was_just_written_is_known_by_its_id_also_after_a_rollover(months: Months, documents: Documents) -> None:
    texts = [f"{OTHER}第{number}条" for number in range(8)]
    for name in months.names:
        months.send("PUT", f"{name}/_settings", {"index.refresh_interval": "-1"})
    given = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    assert all(one.stored for one in documents.ingest(given))
    months.roll_by_template()
    documents.store.describe()
    assert {one.outcome for one in documents.ingest(given)} == {"unchanged"}
    changed = [{**one, "text": f"{one['text']}，{TEXT}"} for one in given]
    assert not [one for one in documents.ingest(changed) if one.reason is not None]
    assert {id: months.index_of(id) for id in map(str, range(8))} == dict.fromkeys(
        map(str, range(8)), months.names[2:3]
    )
    months.send("PUT", f"{months.names[-1]}/_settings", {"index.refresh_interval": "-1"})
    assert documents.add({"id": "late", "text": OTHER}).stored
    months.roll_by_template()
    former, write_index = months.names[-2:]
    months.roll_by_template()
    months.alias("add", months.names[-1], is_write_index=False)  # a month that is made in advance
    months.alias("add", write_index, is_write_index=True)
    with Documents(months.name) as another:
        assert another.add({"id": "late", "text": OTHER}).outcome == "unchanged"
        assert another.add({"id": "later", "text": OTHER}).stored
    with Documents(months.name) as one_more:
        assert one_more.add({"id": "later", "text": OTHER}).outcome == "unchanged"
    assert (months.index_of("late"), months.index_of("later")) == ([former], [write_index])


def test_what_a_user_has_seen_is_known_after_rollovers(new_address: Callable[[], str]) -> None:
    months = Months(new_address)

    def roll() -> None:
        body = months.send("GET", months.names[-1])[months.names[-1]]
        months.roll(months.new(body={"mappings": body["mappings"], "settings": {"refresh_interval": "-1"}}))

    with SeenItems(months.name) as first, SeenItems(months.name) as other:
        first.setup()
        for number in range(3):
            roll()
            with SeenItems(months.name) as another:
                assert another.add(f"u{number}", ["x"]) == 1
            for seen in (first, other):  # they know the indices of before
                assert seen.unseen(f"u{number}", ["x", "y"]) == ["y"]
        assert first.add("u0", ["y"]) == 1
        assert other.unseen("u0", ["x", "y", "z"]) == ["z"]
        assert months.index_of("u0") == [months.names[1]]


def test_an_ingest_goes_on_in_the_next_write_index(months: Months, documents: Documents) -> None:
    random = Random(1)

    def lines() -> Iterator[dict[str, str]]:
        for number in range(1_500):
            if number == 1_100:
                months.roll_by_template()
                time.sleep(1.2)  # what the store said is known for a second
            letters = (chr(0x4E00 + random.randrange(5_000)) for _ in range(40))
            yield {"id": str(number), "text": "".join(letters)}

    outcomes = list(documents.ingest(lines()))
    assert not [one for one in outcomes if one.reason is not None]
    assert documents.add({"id": "z", "text": TEXT}).duplicate_of == "a"
    months.send("POST", f"{','.join(months.names)}/_refresh")
    counts = [months.send("GET", f"{name}/_count")["count"] for name in months.names]
    assert sum(counts) == 1_503
    assert counts[3] > 0


def test_an_old_index_may_be_deleted_while_a_program_runs(months: Months, documents: Documents) -> None:
    assert documents.add({"id": "c", "text": TEXT}).duplicate_of == "a"
    months.send("DELETE", months.names[0])
    del months.names[0]
    assert documents.add({"id": "d", "text": TEXT}, refresh=True).stored
    documents.group()
    assert not documents.fetch(["a"])
    assert [link_of(documents, id) for id in "bcd"] == [None, "b", "b"]


def test_a_closed_index_is_named(months: Months, documents: Documents) -> None:
    months.send("POST", f"{months.names[0]}/_close")
    for call in (lambda: documents.add({"id": "c", "text": TEXT}), lambda: documents.similar(TEXT), documents.group):
        with pytest.raises(StoreError, match=f"the index {months.names[0]} is closed .*: open it"):
            call()


def test_an_index_with_a_write_block_keeps_its_documents_and_its_originals_get_copies(
    months: Months, documents: Documents, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    months.block(0)
    copy, changed = documents.ingest([{"id": "c", "text": TEXT}, {"id": "a", "text": OTHER}])
    assert (copy.outcome, copy.duplicate_of) == ("exact_duplicate", "a")
    assert changed.outcome == "failed"
    assert f"{months.names[0]} is blocked" in (changed.reason or "")
    assert documents.fetch(["a"], fields="*")["a"]["text"] == TEXT
    (found,) = [check for check in doctor(documents).checks if check.name == "blocks"]
    assert (found.status, f"{months.names[0]} has a write block" in found.text) == ("advice", True)
    report = documents.group()
    assert (report.documents, report.changed, report.largest) == (3, 0, (("a", 3),))
    documents.group()
    assert caplog.text.count("have a write block stay as they are: remove the block") == 1
    assert documents.remove(["a", "c"]) == {"c"}
    assert "1 document not removed, because the index has a write block: remove the block" in caplog.text
    assert documents.remove(matching={"term": {"_id": "a"}}) == set()
    assert (set(documents.fetch(["a"])), link_of(documents, "b")) == ({"a"}, "a")
    done = es_simhash("remove", "a", "x", "--store", documents.name, cwd=tmp_path)
    assert (done.code, done.err.splitlines()[-1]) == (1, "not found: x")


@pytest.mark.parametrize("since", [None, timedelta(days=1)])
def test_a_copy_in_an_index_with_a_write_block_is_no_original_if_its_own_one_is_gone(
    months: Months, documents: Documents, since: timedelta | None
) -> None:
    assert documents.add({"id": "c", "text": f"{TEXT}完"}, refresh=True).duplicate_of == "a"
    months.block(1)
    assert documents.remove(["a"]) == {"a"}
    for _ in range(2):
        assert {id: link_of(documents, id) for id in "bc"} == {"b": "a", "c": None}
        assert documents.group(since=since).changed == 0
    assert documents.add({"id": "d", "text": f"{TEXT}完"}, refresh=True).duplicate_of == "c"
    assert documents.remove_duplicates(documents.duplicates()) == 1
    months.block(1, blocked=False)
    with Documents(months.name) as again:
        again.group()
        assert {id: link_of(again, id) for id in "bc"} == {"b": None, "c": "b"}


@pytest.mark.parametrize("since", [None, timedelta(days=1)])
def test_an_original_in_an_index_with_a_write_block_stays_one_also_if_it_would_be_a_copy(
    months: Months, documents: Documents, since: timedelta | None
) -> None:
    documents.setup("exact")
    assert documents.group().changed == 1
    assert documents.add({"id": "c", "text": COPY}, refresh=True).duplicate_of == "b"
    months.block(1)
    documents.setup("copy")
    for _ in range(2):
        documents.group(since=since)
        rows = documents.fetch(["a", "b", "c"])
        assert (rows["b"].duplicate_of, rows["b"].group) == (None, "b")
        original = rows["c"].duplicate_of
        assert original in ("a", "b")
        assert rows["c"].group == original
    months.block(1, blocked=False)
    with Documents(months.name) as again:
        again.group()
        assert {id: link_of(again, id) for id in "abc"} == {"a": None, "b": "a", "c": "a"}


def test_of_an_id_in_two_indices_the_newest_counts(
    months: Months, documents: Documents, caplog: pytest.LogCaptureFixture
) -> None:
    first, _, third = months.names
    months.send("PUT", f"{third}/_doc/a?refresh=true", {"id": "a", "text": OTHER})
    with caplog.at_level(logging.WARNING):
        assert documents.fetch(["a"], fields="*")["a"]["text"] == OTHER
    assert f"'a' is in several indices, {third} and {first}: that of {third} counts" in caplog.text
    assert [one.outcome for one in documents.backfill()] == ["new"]
    documents.group()
    assert {id: link_of(documents, id) for id in "ab"} == {"a": None, "b": None}
    assert documents.remove(["a"]) == {"a"}
    assert months.index_of("a") == [first]


def test_init_extends_all_indices_and_the_template_gives_the_next_one_the_same(
    months: Months, documents: Documents, new_address: Callable[[], str]
) -> None:
    months.roll(months.new())
    new = months.names[-1]
    with Documents(months.name) as again:
        with pytest.raises(NotSetUp, match=f"the index {new} has no fields of es_simhash"):
            again.add({"id": "c", "text": TEXT})
        assert again.setup() == "added"
        assert again.setup() == "unchanged"
        assert again.setup("contained") == "changed"
        assert again.add({"id": "c", "text": TEXT}).duplicate_of == "a"
        assert months.index_of("c") == [new]
    months.roll_by_template()
    with Documents(months.name) as again:
        assert again.info().rule.rule == "contained"
        assert again.setup() == "unchanged"


def test_the_command_init_prints_the_template_or_writes_it(months: Months, tmp_path: Path) -> None:
    name = months.names[0]
    made = es_simhash("init", "--store", months.name, cwd=tmp_path)
    assert "the next index needs this component template" in made.out
    printed = json.loads(made.out.splitlines()[-1])
    assert printed["template"]["mappings"]["properties"].keys() == {"simhash", "id"}
    assert (
        f"component template {name} written"
        in es_simhash(f"init --store {months.name} --template {name}", cwd=tmp_path).out
    )
    try:
        index_template = {"index_patterns": [f"{name}-*"], "composed_of": [name], "priority": 501}
        months.send("PUT", f"_index_template/{name}", index_template)
        months.roll(months.new(f"{name}-next"))
        with Documents(months.name) as documents:
            assert documents.setup() == "unchanged"
            assert documents.add({"id": "c", "text": TEXT}).duplicate_of == "a"
        assert months.index_of("c") == [f"{name}-next"]
    finally:
        months.send("DELETE", f"_index_template/{name}")
        months.send("DELETE", f"_component_template/{name}")
        months.send("DELETE", f"{name}-next")


def test_seen_items_stand_in_an_alias(months: Months) -> None:
    with SeenItems(months.name) as seen:
        seen.setup()
        seen.add("ann", ["x"])
        months.roll(months.new())
        seen.setup()
        seen.add("ann", ["y"])
        seen.add("bob", ["x"])
        assert seen.unseen("ann", ["x", "y", "z"]) == ["z"]
    assert months.index_of("bob") == months.names[-1:]


# --- what is refused -------------------------------------------------------------------------------------------------


def test_indices_that_were_set_up_in_different_ways_are_named(months: Months, new_address: Callable[[], str]) -> None:
    others = {"Scheme": Documents(new_address(), scheme=Scheme(weights="tf")), "rule": Documents(new_address())}
    with Documents(months.name) as documents:
        for what, other in others.items():
            with other:
                other.setup(DuplicateRule(text_field="body") if what == "rule" else None)
            months.roll(other.name)
            with (
                Documents(months.name) as again,
                pytest.raises(StoreError, match=f"has another .* than {months.names[-1]}"),
            ):
                again.setup() if what == "rule" else again.similar(TEXT)
            with pytest.raises(StoreError, match=f"has another .* than {months.names[-1]}"):
                documents.store.describe()
            months.send("DELETE", months.names.pop())
            months.alias("add", months.names[-1], is_write_index=True)


def test_a_write_index_that_is_not_behind_the_alias_any_more_is_told_once(months: Months, documents: Documents) -> None:
    documents.info()
    months.roll_by_template()
    months.alias("remove", months.names[2])
    with pytest.raises(StoreChanged):
        documents.store.describe()
    documents.store.describe()


@pytest.mark.parametrize("new_address", [OPENSEARCH], indirect=True)  # our Elasticsearch has no module for them
def test_a_data_stream_is_told_which_way_there_is(new_address: Callable[[], str]) -> None:
    address = new_address()
    name = address.rpartition("/")[2]
    with closing(open_store(address)) as store:
        connection: Any = store.connection  # type: ignore[attr-defined]
        template = {"index_patterns": [name], "data_stream": {}, "priority": 500}
        connection.send("PUT", f"_index_template/{name}", template, index=False)
        connection.send("PUT", f"_data_stream/{name}", index=False)
        try:
            with (
                Documents(address) as documents,
                pytest.raises(InputError, match=r"is a data stream.*alias with a write index"),
            ):
                documents.setup()
        finally:
            connection.send("DELETE", f"_data_stream/{name}", index=False)
            connection.send("DELETE", f"_index_template/{name}", index=False)
