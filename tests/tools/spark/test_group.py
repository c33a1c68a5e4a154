"""The groups of Spark equal those of ``group``, on an SQLite store with the same documents."""

from __future__ import annotations

import json
import random
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, read_file
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.stores.address import open_store
from tests.contract.documents import entry, flip, write
from tests.deciding.test_keys import SENTENCES
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.contract import Entry, Row, Store

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.spark

COLUMNS = "id string, written long, fingerprint string, digest string, group string, version string"


def frame_of(spark: Any, rows: list[Row], bits: int) -> Any:
    """Return the DataFrame that an export of these Rows is, in another order."""
    digits = bits // 4
    values = [
        (
            row.id,
            row.written,
            None if row.fingerprint is None else f"{row.fingerprint:0{digits}x}",
            row.digest,
            row.group,
            json.dumps(row.version),
        )
        for row in rows
    ]
    random.Random(1).shuffle(values)
    return spark.createDataFrame(values, COLUMNS)


def links_of(groups: Any) -> dict[str, tuple[str, str | None]]:
    rows = groups.links.select("id", "group", "duplicate_of").collect()
    assert len(rows) == groups.documents
    return {row.id: (row.group, row.duplicate_of) for row in rows}


def random_entries(seed: int, bits: int, count: int) -> list[Entry]:
    """Return documents near each other, alone and in chains, copies, short texts and empty texts."""
    rng = random.Random(seed)
    centres = [rng.getrandbits(bits) for _ in range(count // 20)]
    blank = Scheme(bits=bits).blank_digest
    made: list[tuple[int | None, str]] = []
    for n in range(count):
        kind = rng.random()
        if kind < 0.1 and made:
            made.append(rng.choice(made))  # an exact duplicate
        elif kind < 0.15:
            made.append((None, rng.choice([blank, "short a", "short b", f"short {n}"])))
        elif kind < 0.25 and made:
            made.append((rng.choice(made)[0], f"d{n}"))  # another text with the same fingerprint, or none
        else:
            base = rng.choice([*centres, *(value for value, _ in made[-5:] if value is not None)])
            made.append((flip(base, rng.sample(range(bits), rng.randint(0, 6))), f"d{n}"))
    ids = [f"id{n}" for n in range(count)]
    rng.shuffle(ids)  # the order of the ids is not the write order
    groups = [rng.choice(ids) if rng.random() < 0.5 else id for id in ids]
    return [
        entry(id, value, digest=digest, group=group)
        for id, (value, digest), group in zip(ids, made, groups, strict=True)
    ]


@pytest.fixture
def make_store() -> Iterator[Callable[[int], Store]]:
    """Return a function that makes an empty store with a fingerprint width."""
    with ExitStack() as stores:

        def make(bits: int) -> Store:
            store = stores.enter_context(closing(open_store("sqlite:///:memory:")))
            store.set_up(Scheme(bits=bits))
            return store

        yield make


@pytest.mark.parametrize(
    ("bits", "max_distance", "head", "chunk"),
    [(64, 3, "earliest", 2_000), (64, 0, "kept", 2_000), (64, None, "latest", 2_000), (128, 7, "kept", 5)],
)
def test_groups_equal_those_of_group(
    spark: Any, make_store: Any, bits: int, max_distance: Any, head: Any, chunk: int
) -> None:
    from es_simhash.tools.spark.group import group_frame
    from es_simhash.tools.spark.keys import Salting

    store = make_store(bits)
    write(store, *random_entries(bits, bits, 800), bits=bits)
    documents = Documents(store)
    rule: Any = {"rule": "exact"} if max_distance is None else {"rule": "fingerprint", "max_distance": max_distance}
    frame = frame_of(spark, list(documents.export()), bits)
    salting = Salting(chunk)
    found = group_frame(frame, fingerprinter=documents.fingerprinter(), head=head, salting=salting, **keywords_of(rule))
    report = documents.group(**keywords_of(rule), head=head)
    assert report.left_out == found.left_out == 0
    assert links_of(found) == {row.id: (row.group, row.duplicate_of) for row in documents.export()}
    assert (found.groups, found.members) == (report.groups, report.members)


def random_texts(seed: int, count: int, most: int) -> list[str]:
    """Return short and long texts, and copies of them with edits; empty texts too.

    :param most: so many texts, about, are made of one.
    """
    rng = random.Random(seed)
    made: list[str] = []
    for n in range(count):
        if n % most:
            text = made[-1]
            at = rng.randrange(len(text) + 1)
            made.append(text[:at] + rng.choice(["", "大", "，", "x1"]) + text[at + rng.randint(0, 4) :])
        else:
            length = rng.choice([5, 20, 58, 70, 100])
            words = "".join(chr(rng.randint(0x4E00, 0x9FA5)) for _ in range(length))
            made.append(words + "。".join(rng.sample(SENTENCES, rng.randint(0, 1) if length > 20 else 0)))
    made += ["", ""]
    rng.shuffle(made)
    return made


def text_frame(spark: Any, documents: Documents, bits: int) -> Any:
    pairs = list(documents.export_texts())
    texts = {row.id: text for row, text in pairs}
    frame = frame_of(spark, [row for row, _ in pairs], bits)
    return frame.join(spark.createDataFrame(list(texts.items()), "id string, text string"), "id")


@pytest.mark.parametrize(
    ("keys", "rule", "chunk"),
    [
        (False, {"confirm": 0.8}, 2_000),
        (True, {"confirm": 0.8}, 3),
        (True, {"confirm": 0.6, "max_distance": 7, "numbers_agree": True}, 2_000),
    ],
)
def test_confirmed_groups_equal_those_of_group(spark: Any, keys: Any, rule: Any, chunk: int) -> None:
    from es_simhash.tools.spark.group import group_frame
    from es_simhash.tools.spark.keys import Salting

    salting = Salting(chunk, text_reach=1_000)
    with Documents("sqlite:///:memory:") as documents:
        documents.setup(keys=keys)
        news = [line.document["text"] for line in read_file(ROOT / "scripts" / "demo_news.jsonl")]
        texts = [*news, *random_texts(1, 500, 8)]
        for _ in documents.ingest(
            [{"id": str(n * 7919 % 1009), "text": text} for n, text in enumerate(texts)], rule="fingerprint"
        ):
            pass
        documents.setup(rule="copy", **keywords_of(rule))
        frame = text_frame(spark, documents, 64)
        found = group_frame(frame, keys=keys, salting=salting, **keywords_of(rule))
        report = documents.group()
        assert report.groups > 50
        assert report.left_out == found.left_out == 0
        assert links_of(found) == {row.id: (row.group, row.duplicate_of) for row in documents.export()}


def test_as_many_short_texts_are_compared_as_by_group(spark: Any) -> None:
    from es_simhash.tools.spark.group import group_frame

    warning = "市气象台{}时发布暴雨橙色预警信号，请有关单位和人员做好防范准备"
    texts = [warning.format(hour) for hour in range(60)]
    texts += [text.replace("请有关", "请各有关") for text in texts]
    with Documents("sqlite:///:memory:") as documents:
        documents.setup()
        list(documents.ingest([{"id": f"id{n}", "text": text} for n, text in enumerate(texts)]))
        found = group_frame(text_frame(spark, documents, 64), keys=True)
        report = documents.group()
        assert (found.left_out, found.groups) == (report.left_out, report.groups) == (0, 60)
        assert links_of(found) == {row.id: (row.group, row.duplicate_of) for row in documents.export()}


def test_the_same_twenty_texts_are_compared_where_very_many_are_near(spark: Any, make_store: Any) -> None:
    from es_simhash.tools.spark.group import group_frame

    bits = 64
    store = make_store(bits)
    texts = random_texts(2, 300, 300)
    rng = random.Random(bits)
    values = [flip(rng.choice([0, 0xFF]), rng.sample(range(bits), rng.choice([0, 0, 1, 3]))) for _ in texts]
    entries = [entry(f"id{n}", value, text=text) for n, (value, text) in enumerate(zip(values, texts, strict=True))]
    write(store, *entries, bits=bits)
    documents = Documents(store)
    frame = text_frame(spark, documents, bits)
    found = group_frame(frame, fingerprinter=documents.fingerprinter(), rule=DuplicateRule(confirm=0.9, max_distance=7))
    report = documents.group(rule=DuplicateRule(confirm=0.9, max_distance=7))
    assert found.left_out == report.left_out > 1_000
    assert links_of(found) == {row.id: (row.group, row.duplicate_of) for row in documents.export()}
