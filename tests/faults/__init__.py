"""What becomes of the work while the server is busy, goes away or refuses: in the end, the same as if nothing were.

The reference for each run with faults is the same run without, in SQLite.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

from es_simhash import Documents, DuplicateRule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash import Outcome

WORDS = re.findall(
    "..",
    "北京上海广州成都经济增长市场投资企业发展政府改革教育医院学校火车飞机天气暴雨足球比赛电影音乐"
    "农民粮食水稻收割合同法院律师银行贷款股票基金地铁公交桥梁隧道工程电力煤炭石油钢铁汽车手机芯片"
    "网络软件卫星火箭海洋渔船港口货物海关出口旅游酒店餐馆蔬菜水果森林草原",
)
MAX_DISTANCE = 7
RULE = DuplicateRule(rule="fingerprint", max_distance=MAX_DISTANCE)
BATCH = 5
VERBS = ["_bulk", "_search", "_mget", "_refresh"]


def story(rng: random.Random) -> list[str]:
    return rng.choices(WORDS, k=40)


def news(count: int = 40, seed: int = 1) -> list[dict[str, Any]]:
    """Documents of which about half are exact or near copies of one before."""
    rng = random.Random(seed)
    stories: list[list[str]] = []
    for _ in range(count):
        kind = rng.random() if stories else 1
        words = story(rng) if kind > 0.5 else list(rng.choice(stories))
        if kind < 0.3:
            words[rng.randrange(len(words))] = rng.choice(WORDS)
        stories.append(words)
    return [{"id": str(n), "text": "，".join(words)} for n, words in enumerate(stories)]


def later(documents: Iterable[dict[str, Any]], seed: int = 2) -> list[dict[str, Any]]:
    """Some of them once more: with another text, a text that is changed a little, or the same; and new ones."""
    rng = random.Random(seed)
    more = []
    for document in documents:
        kind = rng.random()
        if kind < 0.3:
            more.append({**document, "text": "，".join(story(rng))})
        elif kind < 0.5:
            more.append({**document, "text": document["text"] + "，" + rng.choice(WORDS)})
        elif kind < 0.7:
            more.append(document)
        else:
            more.append({**document, "id": f"{document['id']} again"})
    return more


def ingest(address: str, documents: Iterable[dict[str, Any]], *, deadline: float = 60, **options: Any) -> list[Outcome]:
    """All outcomes of one run."""
    with Documents(address, deadline=deadline) as client:
        return list(client.ingest(documents, **options))


def contents(address: str) -> dict[str, tuple[Any, ...]]:
    """What the store holds of each document."""
    with Documents(address) as client:
        return contents_of(client)


def contents_of(client: Documents) -> dict[str, tuple[Any, ...]]:
    rows = list(client.export())
    assert len({row.id for row in rows}) == len(rows)
    return {row.id: (row.fingerprint, row.digest, row.group, row.duplicate_of) for row in rows}


def unharmed(*runs: list[dict[str, Any]], **options: Any) -> tuple[list[Outcome], dict[str, tuple[Any, ...]]]:
    """The outcomes of some runs, and the contents after them, where nothing goes wrong."""
    outcomes: list[Outcome] = []
    with Documents("memory://") as client:
        client.setup(RULE)
        for documents in runs:
            outcomes += client.ingest(documents, **options)
        return outcomes, contents_of(client)
