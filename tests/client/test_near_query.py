"""A search of one's own finds what ``similar`` finds: the clause loses nothing, and the hits are read rightly."""

from __future__ import annotations

import asyncio
import random
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import AsyncDocuments, Documents, DuplicateRule, Scheme, fingerprint, near_query
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash import Match

WORDS = re.findall("..", "北京上海经济增长市场投资企业发展政府改革教育医院学校火车飞机天气暴雨足球比赛电影")


def text(*numbers: int) -> str:
    """A text of words that the segmenter keeps whole: texts that share most of them are near."""
    return "，".join(WORDS[number % len(WORDS)] * (1 + number // len(WORDS)) for number in numbers)


LONG = range(16)


def stored_texts() -> list[str]:
    """Texts that share most of their words, and two that are too short for a fingerprint."""
    chance = random.Random(5)
    near = [text(*(n for n in LONG if chance.random() < 0.95), chance.randrange(40)) for _ in range(80)]
    return [*near, "图集", "图集"]


@pytest.mark.parametrize("distance", range(8))
def test_a_fingerprint_finds_what_its_text_finds_and_a_number_what_is_within_the_distance(distance: int) -> None:
    rule = DuplicateRule("fingerprint", max_distance=distance)
    with Documents("memory://") as documents:
        documents.setup()
        documents.add_many([{"id": str(n), "text": each} for n, each in enumerate(stored_texts())])
        values = {row.id: row.fingerprint for row in documents.export() if row.fingerprint is not None}
        for asked in (stored_texts()[0], text(*range(20, 36)), "图集"):
            near = fingerprint(asked)
            assert list(documents.similar(near, rule=rule)) == list(documents.similar(asked, rule=rule))
            if near.value is not None:
                found = {match.id: match.distance for match in documents.similar(near.value, rule=rule)}
                distances = {id: (near.value ^ value).bit_count() for id, value in values.items()}
                assert found == {id: bits for id, bits in distances.items() if bits <= distance}


def test_a_short_text_finds_its_copies_and_an_empty_one_nothing() -> None:
    assert near_query("短", rule="fingerprint").clause["bool"]["should"] == [
        {"term": {"simhash.digest": fingerprint("短").digest}}
    ]
    assert near_query("  ").clause == {"match_none": {}}
    assert near_query("  ").matches([]) == []


@pytest.mark.parametrize(
    ("near", "rule", "message"),
    [
        (1 << 64, None, "a Fingerprint, or an unsigned integer of 64 bits"),
        (-1, None, r"a signed long of the index is value % 2\*\*64"),
        (True, None, "True is no text and no fingerprint"),
        (fingerprint(text(*LONG), Scheme(bits=128)), None, "the fingerprint has 128 bits, the store's have 64"),
        (1, "copy", "the rule 'copy' compares texts"),
    ],
)
def test_what_is_no_fingerprint_of_the_store_is_an_error(near: Any, rule: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        near_query(near, rule=rule)
    with Documents("memory://") as documents:
        documents.setup("fingerprint")
        with pytest.raises(InputError, match=message):
            documents.similar(near, rule=rule)


def test_a_search_of_ones_own_takes_no_window_and_no_lone_surrogate() -> None:
    with pytest.raises(InputError, match="within has no clause: put a range on"):
        near_query("a", rule=DuplicateRule(within=timedelta(days=1), time_field="t"))
    with pytest.raises(InputError, match="the text has a lone surrogate"):
        near_query("\ud83d")


def test_what_has_no_fingerprint_has_an_error_of_its_own() -> None:
    with pytest.raises(InputError, match=r"none of the hits has a fingerprint: put query\.clause into the query, and"):
        near_query("a text of some words").matches([{"_id": "a", "_source": {"text": "b"}}])


@pytest.mark.elasticsearch
def test_a_search_of_ones_own_finds_what_similar_finds(elasticsearch_url: str, index_name: str) -> None:
    stored = stored_texts()
    address = f"{elasticsearch_url}/{index_name}"

    def found(query: Any) -> Sequence[Match]:
        clause = {"bool": {"filter": [query.clause]}}
        answer = client.search(index=index_name, query=clause, size=200, docvalue_fields=query.fields)
        found: Sequence[Match] = query.matches(answer["hits"]["hits"])
        assert query.matches({**hit, "fields": {}} for hit in answer["hits"]["hits"]) == found, "from _source"
        return found

    async def of_async(asked: str) -> Any:
        async with AsyncDocuments(address) as documents:
            return await documents.near_query(asked, rule="fingerprint")

    with Documents(address) as documents, Elasticsearch(elasticsearch_url) as client:
        documents.setup()
        documents.add_many([{"id": str(n), "text": each} for n, each in enumerate(stored)], refresh=True)
        for asked in (stored[0], stored[1], "图集", text(*range(20, 36))):
            for rule in (
                DuplicateRule("fingerprint"),
                DuplicateRule("fingerprint", max_distance=7),
                DuplicateRule("exact"),
                DuplicateRule(min_similarity=0.9),
                DuplicateRule(),
            ):
                right = documents.similar(asked, rule=rule)
                query = documents.near_query(asked, rule=rule)
                assert ("simhash.keys" in str(query.clause)) == (rule.rule == "copy")
                if right.complete:
                    assert found(query) == list(right)
                else:
                    assert {match.id for match in right} <= {match.id for match in found(query)}
        assert found(asyncio.run(of_async("图集"))) == list(documents.similar("图集", rule="fingerprint"))
