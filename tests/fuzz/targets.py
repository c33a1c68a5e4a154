"""The fuzzers, one for each reader. A fuzzer tries one random input.

The law of all of them: the reader returns, or it raises a SimhashError whose message is one line. Nothing else is
raised, and nothing takes long.
"""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import struct
import zlib
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from es_simhash import BloomFilter, Documents, DuplicateRule, Fingerprinter, Outcome, Scheme, SeenItems
from es_simhash.bloom.seen import Seen, SeenConfig
from es_simhash.client.arguments import check_ingest_filter
from es_simhash.contract import KeysState, Row, Scan
from es_simhash.errors import InputError, SimhashError
from es_simhash.ingest.dead_letters import dead_letter
from es_simhash.ingest.reader import SIMHASH_FIELDS, Reader
from es_simhash.lines import json_lines, raw_lines
from es_simhash.search.filters import matches
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS, SEEN
from es_simhash.stores.elasticsearch.rows import to_row
from es_simhash.stores.elasticsearch.users import _state
from es_simhash.tools.evaluation.sample import sample_pairs
from tests.contract import LinearStore
from tests.fuzz.mutations import STRINGS, as_json, changed, damaged

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCHEME = Scheme(tokens="han_characters")
TEXT = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
OTHER = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"
DOCUMENT = {"id": "a", "text": TEXT, "lang": "zh", "n": 5, "who": {"name": "x", "at": "2024-01-01", "tags": ["a"]}}


@dataclass(frozen=True)
class Fuzzer:
    """A fuzzer.

    :param try_one: tries one input that a random generator makes, in a temporary folder that it may fill.
    :param share: of a million inputs.
    """

    try_one: Callable[[random.Random, Path], None]
    share: int


@contextmanager
def only_our_errors() -> Iterator[None]:
    """Let pass a SimhashError whose message is one line."""
    try:
        yield
    except SimhashError as error:
        message = str(error)
        assert message, "an error without a message"
        assert "\n" not in message.replace(repr(message), ""), message


def check_one_line(outcome: Outcome) -> None:
    assert outcome.outcome in ("rejected", "failed"), outcome
    assert outcome.reason


# --- lines -----------------------------------------------------------------------------------------------------------

_NAMES = ["id", "text", "at", "simhash", "simhash.fp", "lang", "n", "who", *sorted(SIMHASH_FIELDS)]
_LETTER = ["dead_letter", "outcome", "reason", "place", "id", "document", "line"]


@cache
def _reader() -> Reader:
    return Reader(Fingerprinter(SCHEME), "id", ("text", "who.name"), 1_000, keys=True)


@cache
def _dated_reader() -> Reader:
    return Reader(Fingerprinter(SCHEME), "id", ("text",), 1_000, time_field="who.at")


def _read(data: bytes) -> list[Any]:
    """Read lines as an ingest does: parsed in this process, or later by a worker."""
    _dated_reader().read_all(list(raw_lines(io.BytesIO(data), "f")))
    items = _reader().read_all(list(raw_lines(io.BytesIO(data), "f")))
    assert items == _reader().read_all(list(json_lines(io.BytesIO(data), "f")))
    return items


def _lines(rng: random.Random, folder: Path) -> None:
    document: Any = DOCUMENT
    for _ in range(rng.randrange(4)):
        document = changed(rng, document, _NAMES)
    data = as_json(rng, document) + b"\n"
    if rng.random() < 0.5:
        data = damaged(rng, data)
    for item in _read(data):
        if isinstance(item, Outcome):
            check_one_line(item)
            [again] = _read(dead_letter(item))
            assert isinstance(again, Outcome), "a dead letter of a rejected line is rejected again"


def _dead_letters(rng: random.Random, folder: Path) -> None:
    letter: Any = {"dead_letter": 1, "outcome": "rejected", "reason": "r", "place": "f:1", "id": "1"}
    letter |= rng.choice([{"document": DOCUMENT}, {"line": '{"id": 1, "text": "x"}\n'}])
    for _ in range(rng.randrange(4)):
        letter = changed(rng, letter, _LETTER + _NAMES)
    data = as_json(rng, letter).replace(b"\n", b" ") + b"\n"
    if rng.random() < 0.5:
        data = damaged(rng, data)
    for item in _read(data):
        if isinstance(item, Outcome):
            check_one_line(item)


# --- filters ---------------------------------------------------------------------------------------------------------

_FIELDS = ["lang", "n", "who", "who.name", "who.tags", "id", "x", 'x"y', "a.b.c", "lang.keyword"]
_WORDS = ["term", "terms", "range", "exists", "ids", "bool", "match_all", "must", "should", "must_not", "filter", "gt"]


def _filter(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    kind = rng.choice(["term", "terms", "range", "exists", "ids", "match_all", *["bool"] * bool(depth)])
    field, some = rng.choice(_FIELDS), rng.choice(["zh", 5, 0.5, "x", "\0", True])
    bodies: dict[str, Any] = {
        "term": {field: some},
        "terms": {field: [some, "a"]},
        "range": {field: {rng.choice(["gt", "gte", "lt", "lte"]): some}},
        "exists": {"field": field},
        "ids": {"values": ["a", "b"]},
        "match_all": {},
    }
    if kind == "bool":
        occurrences = rng.sample(["must", "should", "must_not", "filter"], 2)
        return {"bool": {each: [_filter(rng, depth - 1) for _ in range(rng.randrange(3))] for each in occurrences}}
    return {kind: bodies[kind]}


@cache
def _filtered() -> Documents:
    documents = Documents("sqlite:///:memory:", scheme=SCHEME)
    more = [{"id": "b", "text": OTHER, "n": 10**310, "x": "a\0b", 'x"y': [1, None]}, {"id": "c", "text": "short"}]
    assert all(outcome.stored for outcome in documents.ingest([DOCUMENT, *more]))
    return documents


@cache
def _sources() -> dict[str, dict[str, Any]]:
    page = _filtered()._store.scan(Scan(fields=("id", "lang", "n", "who", "x", 'x"y', "text")))
    return {row.id: source for row, source in zip(page.rows, page.sources, strict=True)}


def _filters(rng: random.Random, folder: Path) -> None:
    filter: Any = _filter(rng)
    for _ in range(rng.randrange(3)):
        filter = changed(rng, filter, _FIELDS + _WORDS)
    found: set[str] | None = None
    with only_our_errors():
        found = {row.id for row in _filtered().export(filter=filter)}
    try:
        check_ingest_filter(filter)
    except InputError:
        assert found is None or filter is None, filter
        return
    if found is not None and filter is not None:
        assert found == {id for id, source in _sources().items() if matches(source, id, filter)}, filter


# --- Bloom filters ---------------------------------------------------------------------------------------------------


@cache
def _bloom_bytes(number: int) -> bytes:
    bloom = BloomFilter(8, 0.01, seed=number, generation=5)
    bloom.update([f"item {n}" for n in range(number * 7)])
    return bloom.to_bytes()


def _bloom(rng: random.Random, folder: Path) -> None:
    data = _bloom_bytes(rng.randrange(6))
    if rng.random() < 0.1:
        data = rng.randbytes(rng.randrange(200))
    data = damaged(rng, data)
    if rng.random() < 0.6 and len(data) > 4:  # a program that damages a filter on purpose knows the checksum
        data = data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))
    with only_our_errors():
        bloom = BloomFilter.from_bytes(data)
        assert bloom.to_bytes() == data, "bytes that are accepted are the bytes of the filter"
        if len(bloom.layers) < 100 and len(data) < 10_000:
            bloom.add("a")
            assert "a" in bloom
            assert bloom.estimated_count >= 0
            assert 0 <= bloom.false_positive_rate <= 1


# --- stored documents ------------------------------------------------------------------------------------------------

_SIMHASH = {
    **{f"s{n}": "00ff" for n in range(4)},
    "fp": -5,
    "digest": "d",
    "group": "a",
    "duplicate_of": None,
    "written": 7,
    "keys": ["2W1s0f"],
    "length": 9,
}


def _elasticsearch_rows(rng: random.Random, folder: Path) -> None:
    simhash: Any = _SIMHASH
    for _ in range(rng.randrange(5)):
        simhash = changed(rng, simhash, sorted(SIMHASH_FIELDS))
    document: dict[str, Any] = {"_id": "a", "_seq_no": 1, "_primary_term": 1}
    if rng.random() < 0.5:
        document["_source"] = {"simhash": simhash}
    elif isinstance(simhash, dict):
        document["fields"] = {
            f"simhash.{name}": each if isinstance(each, list) and each else [each] for name, each in simhash.items()
        }
    row = to_row(document)
    _check_row(row)
    user: Any = {"filters": ["RVNCRg=="], "newest": 5, "forgotten": [{"item": "a", "generation": 5}]}
    for _ in range(rng.randrange(4)):
        user = changed(rng, user, ["filters", "newest", "forgotten", "item", "generation"])
    state = _state({**document, "_source": {"seen": user}})
    if not state.damaged:
        with only_our_errors():
            Seen(SeenConfig(), state.filters, state.forgotten)


def _check_row(row: Row) -> None:
    assert row.fingerprint is None or 0 <= row.fingerprint < 1 << 128
    assert {type(row.id), type(row.digest), type(row.group)} == {str}
    assert row.duplicate_of is None or type(row.duplicate_of) is str
    assert type(row.written) is int
    assert all(type(key) is int for key in row.keys)
    if row.damaged:
        assert (row.fingerprint, row.digest) == (None, "")


def _configurations(rng: random.Random, folder: Path) -> None:
    part: Any
    config: Any
    part, config = rng.choice([(DOCUMENTS, SCHEME), (DOCUMENTS, Scheme(bits=128)), (SEEN, SeenConfig())])
    names = [*config.to_dict(), "_meta", "es_simhash", "scheme", "seen", "keys", "properties", "simhash", "type"]
    mapping = part.mapping(config)
    mapping["_meta"] = changed(rng, mapping["_meta"], names)  # Elasticsearch takes any object
    if not isinstance(mapping["_meta"], dict):
        mapping["_meta"] = {"es_simhash": mapping["_meta"]}
    for _ in range(rng.randrange(2)):
        mapping["_meta"] = {"es_simhash": changed(rng, mapping["_meta"].get("es_simhash"), names)}
    with only_our_errors():
        part.stored({"news": mapping}, "store")
    with only_our_errors():
        part.check({"news": mapping}, config, "store")
    with only_our_errors():
        KeysState.of_value(changed(rng, "complete", ["complete", "incomplete"]))


# --- SQLite ----------------------------------------------------------------------------------------------------------


@cache
def _whole(folder: Path) -> Path:
    """Return the path of an SQLite file with documents and seen items."""
    path = folder / "whole.db"
    address = f"sqlite:///{path}"
    with Documents(address, scheme=SCHEME) as documents, SeenItems(address, capacity=20) as seen:
        documents.setup(keys=True)
        texts = [TEXT, TEXT + "今日。", OTHER, "short", TEXT]
        given = [{"id": f"d{n}", "text": text, "lang": "zh", "n": n} for n, text in enumerate(texts)]
        assert all(outcome.stored for outcome in documents.ingest(given))
        seen.add_many({"ann": ["a", "b"], "bob": ["c"]})
        seen.forget("ann", ["a"])
    _into_one_file(path)
    return path


def _into_one_file(path: Path) -> None:
    """Move what is in the write-ahead log of an SQLite file into the file itself."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)


def _use(path: Path, rng: random.Random) -> None:
    """Use some verbs on a file."""
    address, lang = f"sqlite:///{path}", {"term": {"lang": "zh"}}
    new = [{"id": "d1", "text": OTHER}, {"id": "new", "text": TEXT}]
    verbs: list[Callable[[Documents, SeenItems], Any]] = [
        lambda d, s: d.setup(),
        lambda d, s: list(d.ingest(new)),
        lambda d, s: list(d.ingest(new, rule=DuplicateRule(confirm=0.5), filter=lang)),
        lambda d, s: d.similar(TEXT, filter=rng.choice([None, lang])),
        lambda d, s: d.similar(TEXT, rule=DuplicateRule(confirm=0.5)),
        lambda d, s: d.similar(TEXT, time=5, rule=DuplicateRule(within=timedelta(days=1), time_field="n")),
        lambda d, s: d.group(rule=DuplicateRule(within=timedelta(days=1), time_field="n")),
        lambda d, s: d.similar_to("d0"),
        lambda d, s: list(d.export()),
        lambda d, s: d.group(),
        lambda d, s: d.remove(["d0", "d2"]),
        lambda d, s: d.remove_matching(lang),
        lambda d, s: list(d.backfill(rule=DuplicateRule(text_field="text"), again=True)),
        lambda d, s: list(sample_pairs(d, 3)),
        lambda d, s: s.unseen("ann", ["a", "x"]),
        lambda d, s: s.add("ann", ["y"]),
        lambda d, s: s.stats("ann"),
        lambda d, s: s.rotate(),
        lambda d, s: s.clear("bob"),
    ]
    with Documents(address) as documents, SeenItems(address) as seen:
        for verb in rng.sample(verbs, 4):
            with only_our_errors():
                verb(documents, seen)


def _sqlite_files(rng: random.Random, folder: Path) -> None:
    path = folder / "damaged.db"
    path.write_bytes(damaged(rng, _whole(folder).read_bytes(), most=8))
    try:
        _use(path, rng)
    finally:
        _remove(path)


_TABLES = {
    "documents": ["written", "id", "fp", "digest", '"group"', "duplicate_of", "length", "number", "keys", "source"],
    "meta": ["key", "value"],
    "key_levels": ["level", "last", "firsts", "pages"],
    "key_pages": ["page", "entries"],
    "users": ["user", "version", "newest", "forgotten"],
    "filters": ["user", "position", "value"],
}
_CELLS: list[Any] = [
    None,
    b"",
    b"\xff\xfe",
    1.5,
    -5,
    2**62,
    "[",
    "{}",
    "[]",
    "[1]",
    '{"a": NaN}',
    "1",
    "d0",
    "new",
    *STRINGS,
]


def _sqlite_rows(rng: random.Random, folder: Path) -> None:
    path = folder / "odd.db"
    shutil.copyfile(_whole(folder), path)
    try:
        with closing(sqlite3.connect(path)) as connection:
            for _ in range(rng.randint(1, 3)):
                table = rng.choice(["documents", *_TABLES])
                column = rng.choice(_TABLES[table])
                cell = rng.choice(_CELLS)
                if isinstance(cell, str):
                    cell = cell.encode("utf-8", "surrogatepass")
                    kind = "CAST(? AS TEXT)"
                else:
                    kind = "?"
                where = "" if rng.random() < 0.2 else f"WHERE rowid % 3 = {rng.randrange(3)}"
                if table in ("meta", "users"):
                    where = ""
                with suppress(sqlite3.Error):
                    connection.execute(f"UPDATE OR IGNORE {table} SET {column} = {kind} {where}", [cell])
            connection.commit()
        _use(path, rng)
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


# --- checkpoints -----------------------------------------------------------------------------------------------------

_INPUT = [{"id": str(n), "text": text} for n, text in enumerate([TEXT, OTHER, TEXT, "short", None, OTHER + "今日。"])]


def _checkpoints(rng: random.Random, folder: Path) -> None:
    path = folder / "damaged.checkpoint"
    try:
        list(Documents(LinearStore(), scheme=SCHEME).ingest(_INPUT, checkpoint=str(path)))
        if rng.random() < 0.4:
            path.write_bytes(damaged(rng, path.read_bytes(), most=6))
        else:
            path.write_bytes(as_json(rng, changed(rng, json.loads(path.read_text()), ["run", "lines", "counts"])))
        with only_our_errors():
            list(Documents(LinearStore(), scheme=SCHEME).ingest(_INPUT, checkpoint=str(path)))
    finally:
        path.unlink()


FUZZERS = {
    "lines": Fuzzer(_lines, 250_000),
    "dead_letters": Fuzzer(_dead_letters, 150_000),
    "filters": Fuzzer(_filters, 100_000),
    "bloom": Fuzzer(_bloom, 250_000),
    "elasticsearch_rows": Fuzzer(_elasticsearch_rows, 140_000),
    "configurations": Fuzzer(_configurations, 50_000),
    "sqlite_rows": Fuzzer(_sqlite_rows, 20_000),
    "sqlite_files": Fuzzer(_sqlite_files, 20_000),
    "checkpoints": Fuzzer(_checkpoints, 20_000),
}
