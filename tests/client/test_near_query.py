"""A search of one's own finds what ``similar`` finds: the clause loses nothing, and the hits are read rightly."""

from __future__ import annotations

import asyncio
import random
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from es_simhash import AsyncDocuments, Documents, DuplicateRule, Fingerprinter, Scheme, fingerprint, near_query
from es_simhash.errors import InputError
from es_simhash.text.encoding import to_signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash import Match

WORDS = re.findall("..", "北京上海经济增长市场投资企业发展政府改革教育医院学校火车飞机天气暴雨足球比赛电影")


def text(*numbers: int) -> str:
    """A text of words that the segmenter keeps whole: texts that share most of them are near."""
    return "，".join(WORDS[number % len(WORDS)] * (1 + number // len(WORDS)) for number in numbers)


LONG = range(16)
texts = st.one_of(
    st.sampled_from([text(*LONG), text(*LONG[:-1]), text(*LONG, 17), text(*LONG, 17, 18), text(*LONG[1:])]),
    st.lists(st.integers(0, 39), min_size=0, max_size=8).map(lambda numbers: text(*numbers)),
    st.sampled_from(["", "  ", "图集", "！！！", "图集 "]),
)


def hit_of(row: Any, source: dict[str, Any], *, as_source: bool) -> dict[str, Any]:
    """Return the hit that Elasticsearch returns for a document."""
    ours: dict[str, Any] = {"digest": row.digest, "order": row.order, "written": row.written}
    if row.fingerprint is not None:
        ours |= {"fp": to_signed(row.fingerprint)}
    if as_source:
        return {"_id": row.id, "_source": source | {"simhash": ours}}
    return {"_id": row.id, "_source": source, "fields": {f"simhash.{name}": [value] for name, value in ours.items()}}


@given(
    stored=st.lists(texts, min_size=1, max_size=8),
    asked=texts,
    rule=st.sampled_from(
        [
            DuplicateRule("fingerprint"),
            DuplicateRule("fingerprint", max_distance=7),
            DuplicateRule("exact"),
            DuplicateRule(min_similarity=0.6),
        ]
    ),
    as_source=st.booleans(),
    by_fingerprint=st.booleans(),
)
@settings(max_examples=60)
def test_the_matches_of_all_hits_are_those_of_similar(
    stored: list[str], asked: str, rule: DuplicateRule, as_source: bool, by_fingerprint: bool
) -> None:
    fingerprinter = Fingerprinter()
    with Documents("memory://", fingerprinter=fingerprinter) as documents:
        documents.setup()
        documents.add_many([{"id": str(n), "text": each} for n, each in enumerate(stored)])
        rows = [(row, {"text": stored[int(row.id)]}) for row in documents.export()]
        right = list(documents.similar(asked, rule=rule))
        near: Any = asked
        if by_fingerprint and rule.min_similarity is None:
            near = fingerprinter.fingerprint(asked)
            assert list(documents.similar(near, rule=rule)) == right
            if near.value is not None:
                by_value = documents.similar(near.value, rule=rule)
                distances = {row.id: near.value ^ row.fingerprint for row, _ in rows if row.fingerprint is not None}
                limit = -1 if rule.max_distance is None else rule.max_distance
                assert {m.id: m.distance for m in by_value} == {
                    id: differing.bit_count() for id, differing in distances.items() if differing.bit_count() <= limit
                }
    random.Random(1).shuffle(rows)
    query = near_query(near, fingerprinter=fingerprinter, rule=rule)
    assume(query.clause != {"match_none": {}})
    assert query.matches(hit_of(row, source, as_source=as_source) for row, source in rows) == right


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
    chance = random.Random(5)
    stored = [text(*(n for n in LONG if chance.random() < 0.95), chance.randrange(40)) for _ in range(80)] + [
        "图集"
    ] * 2
    address = f"{elasticsearch_url}/{index_name}"

    def found(query: Any) -> Sequence[Match]:
        clause = {"bool": {"filter": [query.clause]}}
        answer = client.search(index=index_name, query=clause, size=200, docvalue_fields=query.fields)
        found: Sequence[Match] = query.matches(answer["hits"]["hits"])
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
                DuplicateRule(min_similarity=0.9),
                DuplicateRule(),
            ):
                right = documents.similar(asked, rule=rule)
                query = documents.near_query(asked, rule=rule)
                assert ("simhash.keys" in str(query.clause)) == (rule.rule != "fingerprint")
                if right.complete:
                    assert found(query) == list(right)
                else:
                    assert {match.id for match in right} <= {match.id for match in found(query)}
        assert found(asyncio.run(of_async("图集"))) == list(documents.similar("图集", rule="fingerprint"))
