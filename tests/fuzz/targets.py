"""The fuzzers, one for each reader of bytes from outside. A fuzzer tries one random input, by public names.

The law of all of them: the reader returns, or it raises a SimhashError whose message is one line. Nothing else is
raised, and nothing takes long.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from es_simhash import BloomFilter, Documents, DuplicateRule, Scheme, SeenItems, SimhashError, near_query, read_file
from tests.client import METRO as OTHER
from tests.client import STORM as TEXT
from tests.fuzz.mutations import STRINGS, as_json, changed, damaged

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

SCHEME = Scheme(weights="equal")
DOCUMENT = {"id": "a", "text": TEXT, "lang": "zh", "n": 5, "who": {"name": "x", "at": "2024-01-01", "tags": ["a"]}}


@contextmanager
def only_our_errors() -> Iterator[None]:
    """Let pass a SimhashError whose message is one line."""
    try:
        yield
    except SimhashError as error:
        message = str(error)
        assert message, "an error without a message"
        assert "\n" not in message.replace(repr(message), ""), message


# --- lines -----------------------------------------------------------------------------------------------------------

_NAMES = ["id", "text", "at", "simhash", "simhash.fp", "lang", "n", "who"]


@cache
def _stored() -> Documents:
    documents = Documents("memory://", scheme=SCHEME)
    more = [{"id": "b", "text": OTHER, "n": 10**310, "x": "a\0b", 'x"y': [1, None]}, {"id": "c", "text": "short"}]
    assert all(outcome.stored for outcome in documents.ingest([DOCUMENT, *more]))
    return documents


def _ingest(rng: random.Random, folder: Path, data: bytes) -> None:
    """Ingest a file, half of them damaged. Each line has an outcome, whose reason is one line."""
    path = folder / "lines.jsonl"
    path.write_bytes(damaged(rng, data) if rng.random() < 0.5 else data)
    with only_our_errors():
        for outcome in _stored().ingest(read_file(path)):
            assert outcome.stored or outcome.reason or outcome.outcome == "unchanged", outcome
            assert "\n" not in (outcome.reason or ""), outcome


def _lines(rng: random.Random, folder: Path) -> None:
    document: Any = DOCUMENT
    for _ in range(rng.randrange(4)):
        document = changed(rng, document, _NAMES)
    _ingest(rng, folder, as_json(rng, document) + b"\n")


# --- filters ---------------------------------------------------------------------------------------------------------

_FIELDS = ["lang", "n", "who", "who.name", "who.tags", "id", "x", 'x"y', "a.b.c", "lang.keyword"]
_WORDS = ["term", "terms", "range", "exists", "ids", "bool", "match_all", "must", "should", "must_not", "filter", "gt"]


def _filter(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    kind = rng.choice(["term", "terms", "range", "exists", "ids", "match_all", *["bool"] * bool(depth)])
    field, value = rng.choice(_FIELDS), rng.choice(["zh", 5, 0.5, "x", "\0", True])
    bodies: dict[str, Any] = {
        "term": {field: value},
        "terms": {field: [value, "a"]},
        "range": {field: {rng.choice(["gt", "gte", "lt", "lte"]): value}},
        "exists": {"field": field},
        "ids": {"values": ["a", "b"]},
        "match_all": {},
    }
    if kind == "bool":
        occurrences = rng.sample(["must", "should", "must_not", "filter"], 2)
        return {"bool": {each: [_filter(rng, depth - 1) for _ in range(rng.randrange(3))] for each in occurrences}}
    return {kind: bodies[kind]}


def _filters(rng: random.Random, folder: Path) -> None:
    filter: Any = _filter(rng)
    for _ in range(rng.randrange(3)):
        filter = changed(rng, filter, _FIELDS + _WORDS)
    with only_our_errors():
        list(_stored().export(filter=filter))
    with only_our_errors():
        _stored().similar(TEXT, filter=filter)


# --- Bloom filters ---------------------------------------------------------------------------------------------------


@cache
def _bloom_bytes(number: int) -> bytes:
    bloom = BloomFilter(8, 0.01, generation=5)
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
            assert 0 <= bloom.false_positive_rate <= 1


# --- hits of Elasticsearch -------------------------------------------------------------------------------------------

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


def _hits(rng: random.Random, folder: Path) -> None:
    simhash: Any = _SIMHASH
    for _ in range(rng.randrange(5)):
        simhash = changed(rng, simhash, sorted(_SIMHASH))
    if not isinstance(simhash, dict):
        return
    fields = {f"simhash.{name}": each if isinstance(each, list) and each else [each] for name, each in simhash.items()}
    query = near_query(5, rule=DuplicateRule(rule="fingerprint"))
    with only_our_errors():
        query.matches([{"_id": "a", "fields": fields}])


# --- SQLite ----------------------------------------------------------------------------------------------------------


@cache
def _whole() -> bytes:
    """Return an SQLite file with documents and seen items."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "whole.db"
        address = f"sqlite:///{path}"
        with Documents(address, scheme=SCHEME) as documents, SeenItems(address, capacity=20) as seen:
            documents.setup()
            texts = [TEXT, TEXT + "今日。", OTHER, "short", TEXT]
            given = [{"id": f"d{n}", "text": text, "lang": "zh", "n": n} for n, text in enumerate(texts)]
            assert all(outcome.stored for outcome in documents.ingest(given))
            seen.setup()
            seen.add_many({"ann": ["a", "b"], "bob": ["c"]})
            seen.forget("ann", ["a"])
        with closing(sqlite3.connect(path)) as connection:  # moves what is in the write-ahead log into the file itself
            assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
        return path.read_bytes()


def _use(path: Path, rng: random.Random) -> None:
    """Use some verbs on a file."""
    address, lang = f"sqlite:///{path}", {"term": {"lang": "zh"}}
    new = [{"id": "d1", "text": OTHER}, {"id": "new", "text": TEXT}]
    week = DuplicateRule(within=timedelta(days=1), time_field="n")
    verbs: list[Callable[[Documents, SeenItems], Any]] = [
        lambda d, s: d.setup(DuplicateRule(min_similarity=0.5)),
        lambda d, s: list(d.ingest(new)),
        lambda d, s: list(d.ingest(new, filter=lang)),
        lambda d, s: d.similar(TEXT, filter=rng.choice([None, lang])),
        lambda d, s: d.similar(TEXT, rule=DuplicateRule(min_similarity=0.5)),
        lambda d, s: d.similar(TEXT, time=5, rule=week),
        lambda d, s: d.similar_to("d0"),
        lambda d, s: list(d.export()),
        lambda d, s: d.group(),
        lambda d, s: d.remove(["d0", "d2"]),
        lambda d, s: list(d.backfill(again=True)),
        lambda d, s: s.unseen("ann", ["a", "x"]),
        lambda d, s: s.add("ann", ["y"]),
        lambda d, s: s.stats("ann"),
        lambda d, s: s.rotate(),
        lambda d, s: s.remove("bob"),
    ]
    with Documents(address) as documents, SeenItems(address) as seen:
        for verb in rng.sample(verbs, 4):
            with only_our_errors():
                verb(documents, seen)


def _sqlite_files(rng: random.Random, folder: Path) -> None:
    path = folder / "damaged.db"
    path.write_bytes(damaged(rng, _whole(), most=8))
    _use(path, rng)


_CELLS: list[Any] = [None, b"", b"\xff\xfe", 1.5, -5, 2**62, "[", "{}", "[]", "[1]", '{"a": NaN}', "1", "d0", *STRINGS]


def _sqlite_rows(rng: random.Random, folder: Path) -> None:
    """Change some cells, in whatever tables and columns there are."""
    path = folder / "odd.db"
    path.write_bytes(_whole())
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for _ in range(rng.randint(1, 3)):
            table = rng.choice(tables)
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            cell, kind = rng.choice(_CELLS), "?"
            if isinstance(cell, str):
                cell, kind = cell.encode("utf-8", "surrogatepass"), "CAST(? AS TEXT)"
            with suppress(sqlite3.Error):
                connection.execute(f'UPDATE OR IGNORE "{table}" SET "{rng.choice(columns)}" = {kind}', [cell])
        connection.commit()
    _use(path, rng)


# --- checkpoints -----------------------------------------------------------------------------------------------------

_INPUT = [{"id": str(n), "text": text} for n, text in enumerate([TEXT, OTHER, TEXT, "short", None, OTHER + "今日。"])]


@cache
def _interrupted() -> bytes:
    """Return the bytes of the checkpoint of a run that was broken off."""
    with TemporaryDirectory() as folder:
        whole = f"{folder}/whole"
        outcomes = Documents("memory://", scheme=SCHEME).ingest(_INPUT * 200, checkpoint=whole)
        for _ in range(600):
            next(outcomes)
        outcomes.close()
        return Path(whole).read_bytes()


def _checkpoints(rng: random.Random, folder: Path) -> None:
    path = folder / "damaged.checkpoint"
    path.write_bytes(damaged(rng, _interrupted(), most=6))
    with only_our_errors():
        list(_stored().ingest(_INPUT, checkpoint=str(path)))


FUZZERS: dict[str, tuple[Callable[[random.Random, Path], None], int]] = {
    "lines": (_lines, 250_000),
    "filters": (_filters, 150_000),
    "bloom": (_bloom, 300_000),
    "hits": (_hits, 240_000),
    "sqlite_rows": (_sqlite_rows, 20_000),
    "sqlite_files": (_sqlite_files, 20_000),
    "checkpoints": (_checkpoints, 20_000),
}
"""Each tries one input that a random generator makes, in a folder of its own. Its number is its share of a million."""
