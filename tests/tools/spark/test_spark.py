"""The groups that Spark computes are those of ``group``."""

from __future__ import annotations

import json
import random
import re
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, Fingerprinter, InputError
from es_simhash.tools.spark import Grouping, group_frame, write_links
from es_simhash.tools.spark import grouping as module
from es_simhash.tools.spark.__main__ import group
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Links = dict[str, "str | None"]
WORDS = re.findall("..", "暴雨预警气象发布积水路段出行停课地铁绕行雷电山洪水库粮库收割")


def texts_with_copies(count: int, words: int, seed: int) -> list[str]:
    """Texts of random words: a third is an edited copy of an earlier text, or of an edited copy; some are equal."""
    rng = random.Random(seed)
    texts: list[str] = ["", "短"]
    while len(texts) < count:
        kind, base = rng.random(), rng.choice(texts).split("，")
        if kind < 0.7 or len(base) < words:
            texts.append("，".join(f"{word}{rng.randrange(40)}号" for word in rng.choices(WORDS, k=words)))
        elif kind < 0.75:
            texts.append("，".join(base))
        else:
            base[rng.randrange(words)] = rng.choice(WORDS)
            texts.append("，".join(base))
    return texts


def by_group(texts: list[str], rule: DuplicateRule) -> Links:
    with Documents("memory://") as documents:
        documents.setup(rule=rule)
        documents.add_many({"id": f"{number:05}", "text": text} for number, text in enumerate(texts))
        documents.group()
        return {row.id: row.duplicate_of for row in documents.export()}


def by_spark(session: Any, texts: list[str], rule: DuplicateRule) -> Links:
    rows = [(f"{number:05}", text) for number, text in enumerate(texts)]
    random.Random(1).shuffle(rows)
    found = group_frame(session.createDataFrame(rows, "id string, text string"), Grouping(rule, Fingerprinter()))
    links = found.collect()
    assert len(links) == len(texts)
    assert all(each.group == (each.duplicate_of or each.id) for each in links)
    return {each.id: each.duplicate_of for each in links}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (DuplicateRule(), 6),
        (DuplicateRule(), 40),
        (DuplicateRule("contained", min_similarity=0.85), 20),
        (DuplicateRule("fingerprint"), 20),
        (DuplicateRule("fingerprint", max_distance=0), 20),
        (DuplicateRule("exact"), 6),
    ],
    ids=str,
)
def test_the_groups_are_those_of_group(spark: Any, rule: DuplicateRule, words: int) -> None:
    texts = texts_with_copies(400, words, seed=words)
    expected = by_group(texts, rule)
    assert sum(each is not None for each in expected.values()) > 15
    assert by_spark(spark, texts, rule) == expected


def test_the_order_of_a_column_says_who_is_the_original(spark: Any) -> None:
    rows = [("a", STORM, 3), ("b", STORM_NEAR, 1), ("c", STORM, 2), ("d", HARVEST, 0)]
    frame = spark.createDataFrame(rows, "id string, body string, published int")
    grouping = Grouping(DuplicateRule(text_field="body"), Fingerprinter())
    found = {each.id: each.duplicate_of for each in group_frame(frame, grouping, "published").collect()}
    assert found == {"a": "b", "b": None, "c": "b", "d": None}


def test_keys_that_very_many_documents_share_are_left_out_with_a_warning(
    spark: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "ENTRIES_OF_QUERY", 2)
    by_spark(spark, [STORM, STORM_NEAR, STORM_FARTHER], DuplicateRule())
    assert "keys that more than 2 documents have are left out" in caplog.text


def test_a_copy_that_shares_a_rarer_key_is_found_beside_those_that_are_left_out(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ENTRIES_OF_QUERY", 5)
    names = ["甲仓圆凳", "乙井方桌", "丙塘长椅", "丁坡短柜", "戊湾矮床", "己岭高架"]
    texts = [
        f"本馆定于下周闭馆整理，请各位读者提前归还所借物品，逾期未还者将暂停借阅：{name}"
        for name in [*names, "丙塘长凳"]
    ]
    found = by_spark(spark, texts, DuplicateRule())
    assert {id: original for id, original in found.items() if original is not None} == {"00006": "00002"}


def test_a_revision_of_one_of_many_notices_of_one_form_is_found_with_few_comparisons(
    spark: Any, caplog: pytest.LogCaptureFixture
) -> None:
    notices = [
        f"关于{month}月{day}日召开第{number}次会议的通知：各科室、各直属单位，经研究决定召开{first}{second}工作会议，"
        "地点为办公楼三楼会议室，请各单位主要负责同志准时参加，不得代会，特此通知"
        for number, (month, day, first, second) in enumerate(product((3, 11), (5, 28), WORDS[:5], WORDS[5:10]))
    ]
    revised = notices[80].replace("准时参加", "按时参加")
    expected = by_group([*notices, revised], DuplicateRule())
    assert by_spark(spark, [*notices, revised], DuplicateRule()) == expected
    assert expected["00100"] == "00080"
    assert "documents share keys with very many: only the likeliest were compared" in caplog.text


def test_what_cannot_be_grouped_is_named(spark: Any) -> None:
    def refusal(rows: list[Any], **options: Any) -> str:
        frame = spark.createDataFrame(rows, "id string, text string")
        with pytest.raises(InputError) as caught:
            group_frame(frame, Grouping(DuplicateRule(**options), Fingerprinter()))
        return str(caught.value)

    assert "no column body: it has id, text" in refusal([("a", "b")], text_field="body")
    assert "'id': 'b'" in refusal([("a", "b"), ("b", None)])
    assert "2 documents have the id 'a'" in refusal([("a", "b"), ("a", "c")])


@pytest.mark.elasticsearch
def test_the_command_writes_a_file_and_write_links_writes_it_into_an_index(
    spark: Any, tmp_path: Path, elasticsearch_url: str, index_name: str
) -> None:
    news = [{"id": "a", "text": STORM}, {"id": "b", "text": STORM_NEAR}, {"id": "c", "text": HARVEST}]
    (tmp_path / "news.jsonl").write_text("".join(json.dumps(each) + "\n" for each in news))
    group.callback(  # type: ignore[misc]
        f"{tmp_path}/news.jsonl", f"{tmp_path}/links.parquet", None, None, None, None, None, False
    )
    links = [row.asDict() for row in spark.read.parquet(f"{tmp_path}/links.parquet").collect()]
    with Documents(f"{elasticsearch_url}/{index_name}") as documents:
        documents.setup(rule="exact")
        documents.add_many(news, refresh=True)
        client: Any = documents.store.connection.client  # type: ignore[attr-defined]
        gone = {"id": "gone", "group": "gone", "duplicate_of": None}
        assert write_links(client, index_name, [*links, gone]) == 3
        client.indices.refresh(index=index_name)
        assert {row.id: row.group for row in documents.export()} == {"a": "a", "b": "a", "c": "c"}
