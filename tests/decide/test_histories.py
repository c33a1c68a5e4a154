"""Random histories: a batch at a time, what is decided and stored is what the slow reference decides."""

from __future__ import annotations

import random
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.decide.group import group
from es_simhash.decide.relink import own_name
from es_simhash.decide.remove import remove
from es_simhash.decide.run import Options, Run
from es_simhash.decide.turn import Turn
from es_simhash.rows import Description, Scan
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.store.memory_store import MemoryStore
from tests.decide.lagging import LaggingStore
from tests.decide.reference import FINGERPRINTER, Plain, documents, resolved

if TYPE_CHECKING:
    from es_simhash.similarity.rule import Rule

WORDS = re.findall(
    r"\S+",
    "今日 要闻 市气象台 发布 暴雨 橙色 预警 城区 部分 路段 积水 交警 提醒 市民 规划 路线 "
    "出行 安全 地铁 三号线 开通 运营 列车 车站 全程 时间 记者 获悉 项目 建设",
)
TEMPLATE = "本市将于近期对部分小区停水检修，请居民提前储水，恢复供水时间以通知为准，编号为"


def text(chance: random.Random, texts: list[str]) -> str:
    """Return a text: new, a copy, a near copy, one with more behind it, a short one, or one of a template."""
    kind = chance.random()
    if texts and kind < 0.15:
        return chance.choice(texts[-15:])
    if texts and kind < 0.45:
        edited = list(chance.choice(texts[-15:]))
        for _ in range(max(1, len(edited) // 25)):
            edited[chance.randrange(len(edited))] = chance.choice("天地玄黄宇宙洪荒")
        return "".join(edited)
    if texts and kind < 0.5:
        return chance.choice(texts[-15:])[:80] + "".join(chance.choices(WORDS, k=20))
    if kind < 0.6:
        return "".join(chance.choices(WORDS, k=chance.randrange(2, 6)))
    if kind < 0.7:
        return TEMPLATE + "".join(chance.choices("甲乙丙丁戊己庚辛", k=6))
    return "，".join("".join(chance.choices(WORDS, k=5)) for _ in range(chance.randrange(3, 12)))


RULES: dict[str, Rule | DuplicateRule] = {
    "copy": "copy",
    "contained": "contained",
    "fingerprint": "fingerprint",
    "exact": "exact",
    "within": DuplicateRule("copy", within=timedelta(days=1), time_field="date"),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("store_type", [MemoryStore, LaggingStore])
@pytest.mark.parametrize("size", [1, 7, 500])
@pytest.mark.parametrize("seed", range(6))
def test_a_history_has_the_outcomes_and_links_of_the_reference(
    rule: str, store_type: type[MemoryStore], size: int, seed: int
) -> None:
    chance = random.Random(f"{rule} {size} {seed}")
    checked, store = resolved(RULES[rule]), store_type()
    store.set_up(Description(scheme=FINGERPRINTER.scheme, keys=True))
    turn, plain, texts = Turn(store, checked), Plain(checked), list[str]()
    every = [str(id) for id in range(25 if seed % 2 else 150)]  # of few documents many are updated
    for _ in range(30):
        if texts and chance.random() < 0.2:
            ids = [chance.choice(every) for _ in range(chance.randrange(1, 6))]
            ids += [id for id in (links(store).get(id) for id in ids) if id is not None]  # a copy and its original
            remove(turn, ids)
            plain.remove(ids)
        elif chance.random() < 0.1:
            store.refresh()
        else:
            sources: dict[str, dict[str, Any]] = {}
            for _ in range(chance.randrange(1, 12)):
                id = chance.choice(every)
                sources[id] = {"id": id, "text": text(chance, texts), "other": chance.randrange(2)}
                if rule == "within":
                    sources[id]["date"] = f"2024-05-0{chance.randrange(1, 5)}"
                texts.append(sources[id]["text"])
            batch = documents(list(sources.values()), checked)
            run = Run(turn, Options())
            for start in range(0, len(batch), size):
                part = batch[start : start + size]
                outcomes = [(o.outcome, o.duplicate_of) for o in run.take(part)]
                assert outcomes == [plain.ingest(document) for document in part]
            assert links(store) == plain.links()
            assert groups(store) == plain.groups()
            if rule != "within":  # documents with equal texts are exact duplicates by each rule
                assert len({*texts_and_groups(store)}) == len({text for text, _ in texts_and_groups(store)})
            names = [one.row.group for page in store.scan(Scan()) for one in page if one.row.duplicate_of is None]
            assert len(names) == len(set(names))  # also of ids that were removed, and came back
    report = group(turn)
    plain.group()
    assert links(store) == plain.links()
    assert groups(store) == plain.groups()
    assert report.documents == len(plain.known)


def test_a_copy_that_leaves_a_group_leaves_its_name_behind() -> None:
    rule, store = resolved("copy"), MemoryStore()
    store.set_up(Description(scheme=FINGERPRINTER.scheme, keys=True))
    run = Run(Turn(store, rule), Options())
    storm, metro, *others = ("".join(WORDS[start : start + 5]) for start in range(0, 25, 5))

    def take(**sources: str) -> None:
        run.take(documents([{"id": id, "text": text} for id, text in sources.items()], rule))

    take(a=storm, b=storm, p=metro, q=metro)
    take(a=metro)  # b leads the group of a now
    take(c=storm)
    assert groups(store) == {"a": "p", "b": "a", "c": "a", "p": "p", "q": "p"}
    take(c=others[0], p=others[1], a=others[2])
    anew = {id: own_name(store.read([id])[id].row, {id}) for id in "ap"}
    assert groups(store) == {**anew, "b": "a", "c": "c", "q": "p"}


def links(store: MemoryStore) -> dict[str, str | None]:
    """Return what each stored document is a copy of."""
    return {stored.row.id: stored.row.duplicate_of for page in store.scan(Scan()) for stored in page}


def texts_and_groups(store: MemoryStore) -> list[tuple[str, str]]:
    """Return the digest of the text, and the group, of each document."""
    return [(stored.row.digest, stored.row.group) for page in store.scan(Scan()) for stored in page]


def groups(store: MemoryStore) -> dict[str, str]:
    """Return the name of the group of each document."""
    return {stored.row.id: stored.row.group for page in store.scan(Scan()) for stored in page}
