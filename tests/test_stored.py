"""What is stored, as docs/stored.md describes it: the file that programs in other languages check themselves against.

Plain code that follows the page computes the same values, and the stores hold them. A line of the file never changes.
`python -m tests.test_stored` adds the lines of new texts and filters.
"""

from __future__ import annotations

import json
import re
import sqlite3
from base64 import b64decode, b64encode
from contextlib import closing
from hashlib import blake2b, md5
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import BloomFilter, Documents, Fingerprinter, Scheme
from es_simhash.text.features import weigh
from es_simhash.text.keys import HASH_BITS, LONGER, PAIRS, encoded, keys_of_texts
from es_simhash.text.normalisation import compared_characters
from es_simhash.text.tables import STOP_WORDS, jieba_idf
from es_simhash.text.tokens import segmenter, tokenize
from tests import ROOT
from tests.bloom.reference import ReferenceFilter
from tests.text.test_fingerprinter import plain_aggregate
from tests.text.test_minhash import ALL, plain_bands, plain_mixed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE = ROOT / "tests/vectors/stored-1.jsonl"
LINES: list[dict[str, Any]] = (
    [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []
)
TEXTS = [line for line in LINES if "text" in line]
FILTERS = [line for line in LINES if "filter" in line]

NEWS = "市气象台今晨发布暴雨橙色预警：城区部分路段已经出现积水，交警提醒市民提前规划路线、注意出行安全。"
SOURCES: list[tuple[str, Scheme]] = [
    ("暴雨橙色预警", Scheme()),
    (f"  {NEWS}\n见 https://example.cn/a1.html", Scheme()),
    (f"{NEWS}市教育局通知：今日中小学、幼儿园停课一天。", Scheme()),
    (
        f"{NEWS}市教育局通知：今日中小学、幼儿园停课一天。" + "The rain ends on Friday, and 120 buses run again. " * 3,
        Scheme(),
    ),
    ("氣象臺：Ｆ－３５ 戰機訓練 暫停", Scheme()),
    (NEWS, Scheme(bits=128, weights="equal")),
    ("全市 1 998年以来第三场招聘会", Scheme()),
]
ITEMS: list[str | int] = ["news-1", 2, "新闻-3", *range(100, 140)]


def line_of(text: str, scheme: Scheme) -> dict[str, Any]:
    """Return the line of a text, computed by the library."""
    fingerprint = Fingerprinter(scheme).fingerprint(text)
    normalised = scheme.normalise(text)
    keys = keys_of_texts([normalised])[0]
    words = tokenize(normalised, segmenter("jieba"))
    return {
        "text": text,
        "scheme": scheme.version,
        "normalised": normalised,
        "word_characters": compared_characters(normalised),
        "features": dict(sorted(weigh(words, scheme.weights, STOP_WORDS, jieba_idf()).items())),
        "fingerprint": fingerprint.hex,
        "digest": fingerprint.digest,
        "length": keys.length,
        "keys": encoded(keys.values),
    }


def line_of_filter(capacity: int, error_rate: float) -> dict[str, Any]:
    """Return the line of a Bloom filter with ITEMS."""
    made = BloomFilter(capacity, error_rate, generation=1_700_000_000)
    made.update(ITEMS)
    return {
        "filter": b64encode(made.to_bytes()).decode(),
        "layers": [[each.size.capacity, each.size.m, each.size.k, each.count] for each in made.layers],
        "generation": made.generation,
        "contains": ITEMS,
        "contains_not": [item for item in range(40) if item not in made and item != 2],
    }


def expected_lines() -> list[dict[str, Any]]:
    return [*(line_of(*each) for each in SOURCES), line_of_filter(100, 0.01), line_of_filter(10, 0.05)]


@pytest.mark.slow
def test_the_file_has_what_the_library_computes() -> None:
    assert expected_lines() == LINES


# --- plain code, from the page alone -----------------------------------------------------------------------------


def plain_grams(words: str) -> list[int]:
    padded = "^" + words + "$$"
    grams: list[str] = []
    keys: list[int] = []
    for start in range(len(words) + 1):
        first = words[max(start - 1, 0)]
        width = 2 if re.match("[\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]", first) else 3
        grams.append(padded[start : start + width])
        factors = (0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B)
        number = sum(ord(letter) * factor for letter, factor in zip(grams[-1], factors, strict=False))
        number += (grams.count(grams[-1]) - 1) * 0xA54FF53A5F1D36F1
        keys.append(plain_mixed(number & ALL) >> 64 - HASH_BITS & ~127)
    return keys


def plain_text_keys(words: str) -> list[str]:
    keys = [
        *(plain_grams(words) if 1 <= len(words) <= 75 else []),
        *(plain_bands(words, PAIRS) if 60 < len(words) <= 225 else []),
        *(plain_bands(words, LONGER) if len(words) > 150 else []),
    ]
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
    return ["".join(digits[key >> shift & 63] for shift in range(30, -1, -6)) for key in keys]


def plain_object(line: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a fingerprint and a digest, as a store has them."""
    found: dict[str, Any] = {"digest": line["digest"]}
    if (digits := line["fingerprint"]) is not None:
        for name, start in (("fp", 0), ("fp1", 16)):
            if part := digits[start : start + 16]:
                found[name] = int(part, 16) - (2**64 if int(part, 16) >= 2**63 else 0)
        found |= {f"s{start // 4}": digits[start : start + 4] for start in range(0, len(digits), 4)}
    return found


@pytest.mark.parametrize("line", TEXTS, ids=lambda line: line["text"].strip()[:8])
def test_plain_code_that_follows_the_page_computes_the_same(line: dict[str, Any]) -> None:
    bits = int(line["scheme"].split(":")[1])
    assert md5(line["normalised"].encode()).hexdigest() == line["digest"]
    assert f"{plain_aggregate(line['features'], bits):0{bits // 4}x}" == (line["fingerprint"] or "0" * (bits // 4))
    assert len(line["word_characters"]) == line["length"]
    assert plain_text_keys(line["word_characters"]) == line["keys"]


@pytest.mark.parametrize("line", FILTERS, ids=lambda line: f"{len(line['layers'])} layers")
def test_a_filter_is_that_of_the_reference(line: dict[str, Any]) -> None:
    data = b64decode(line["filter"])
    seen = BloomFilter.from_bytes(data)
    plain = ReferenceFilter(seen.config.capacity, seen.config.error_rate)
    for item in line["contains"]:
        plain.add(item)
    assert plain.to_bytes(line["generation"]) == data
    assert not any(item in plain for item in line["contains_not"])
    assert (seen.to_bytes(), seen.generation) == (data, line["generation"])
    assert [[each.size.capacity, each.size.m, each.size.k, each.count] for each in seen.layers] == line["layers"]
    assert seen.contains_many(line["contains"]).all()
    assert not seen.contains_many(line["contains_not"]).any()


# --- what the stores hold ----------------------------------------------------------------------------------------


IN_A_STORE = [line for line in TEXTS if line["scheme"].split(":")[1] == "64"]


def scheme_of(line: dict[str, Any]) -> Scheme:
    return next(scheme for _, scheme in SOURCES if scheme.version == line["scheme"])


@pytest.mark.parametrize("line", IN_A_STORE, ids=lambda line: line["text"].strip()[:8])
def test_an_sqlite_file_holds_these_values(line: dict[str, Any], tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path}/d.db", scheme=scheme_of(line)) as documents:
        documents.setup()
        [outcome] = documents.ingest([{"id": "a", "text": line["text"]}])
        assert outcome.outcome == "new"
    with closing(sqlite3.connect(tmp_path / "d.db")) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM documents").fetchone())
        values = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    expected = plain_object(line)
    assert (row["fingerprint"], row["digest"]) == (expected.get("fp"), expected["digest"])
    stored = [int.from_bytes(row["keys"][at : at + 8], "little") for at in range(0, len(row["keys"]), 8)]
    assert (row["length"], sorted(encoded(stored))) == (line["length"], sorted(line["keys"]))
    assert row["content"] == content(line["text"])
    assert row["duplicate_of"] is None
    assert json.loads(values["description"])["scheme"] == scheme_of(line).to_dict()


@pytest.mark.elasticsearch
@pytest.mark.parametrize("line", IN_A_STORE, ids=lambda line: line["text"].strip()[:8])
def test_an_index_holds_these_values(
    line: dict[str, Any], make_index: Callable[[], str], elasticsearch_url: str
) -> None:
    name = make_index()
    with Documents(f"{elasticsearch_url}/{name}", scheme=scheme_of(line)) as documents:
        documents.setup()
        [_] = documents.ingest([{"id": "a", "text": line["text"]}])
    with Elasticsearch(elasticsearch_url) as client:
        simhash = client.get(index=name, id="a")["_source"]["simhash"]
        meta = client.indices.get_mapping(index=name)[name]["mappings"]["_meta"]["es_simhash"]
    assert plain_object(line).items() <= simhash.items()
    assert (simhash["length"], sorted(simhash["keys"])) == (line["length"], sorted(line["keys"]))
    assert (simhash["group"], "duplicate_of" in simhash) == ("a", False)
    assert simhash["content"] == content(line["text"])
    assert meta["scheme"] == scheme_of(line).to_dict()
    assert meta["keys"] is True


def content(text: str) -> int:
    """Return the field ``content`` of the document with this text."""
    source = json.dumps({"id": "a", "text": text}, ensure_ascii=False)
    return int.from_bytes(blake2b(source.encode(), digest_size=8).digest(), "big", signed=True)


if __name__ == "__main__":
    every = expected_lines()
    assert every[: len(LINES)] == LINES
    FILE.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in every), encoding="utf-8")
