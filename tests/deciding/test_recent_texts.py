"""The texts that a run compares again and again are read and cut up once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from es_simhash import Documents
from es_simhash.contract import Row
from es_simhash.deciding.memory import RecentSources
from es_simhash.deciding.texts import Texts
from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.similarity.confirm import Confirm, TextFeatures

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TEXTS = Texts(Confirm(0.8, "either", Fingerprinter()), ("text",))


def row(id: str, text: str) -> Row:
    return Row(id, None, TEXTS.confirm.features(text).digest, id, None, 1)


def keep(recent: RecentSources, id: str, text: str) -> Row:
    made = row(id, text)
    recent.keep(id, made.digest, json.dumps({"text": text}))
    return made


def test_the_features_of_a_text_are_computed_once() -> None:
    recent = RecentSources()
    a, copy = keep(recent, "a", "天地玄黄"), keep(recent, "copy", "天地玄黄")
    text = recent.text(a, TEXTS)
    assert text is not None
    assert text.normalised == "天地玄黄"
    assert recent.text(a, TEXTS) is text
    assert recent.text(copy, TEXTS) is text
    assert recent.text(row("a", "宇宙洪荒"), TEXTS) is None, "another program has changed it"
    assert recent.text(row("b", "日月盈昃"), TEXTS) is None


def test_a_text_of_the_store_is_kept_unless_it_has_changed() -> None:
    recent = RecentSources()
    text = TEXTS.confirm.features("天地玄黄")
    recent.keep_text(row("a", "宇宙洪荒"), text)
    recent.keep_text(row("b", "日月盈昃"), InputError("no text"))
    recent.keep_text(row("c", "日月盈昃"), None)
    assert recent.text(row("a", "宇宙洪荒"), TEXTS) is None
    assert recent.text(row("b", "日月盈昃"), TEXTS) is None
    recent.keep_text(row("a", "天地玄黄"), text)
    assert recent.text(row("a", "天地玄黄"), TEXTS) is text


def test_the_oldest_texts_are_dropped() -> None:
    recent = RecentSources(features=10)
    every = [f"天地玄黄{number}" for number in range(9)]
    for text in every:
        recent.keep_text(row("a", text), TEXTS.confirm.features(text))
    assert [recent.text(row("a", text), TEXTS) is not None for text in every] == [False] * 7 + [True] * 2


def test_an_exact_duplicate_is_compared_with_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    similarity = Confirm.similarity

    def counting(self: Confirm, a: TextFeatures, b: TextFeatures) -> float:
        compared.append(a.normalised)
        return similarity(self, a, b)

    monkeypatch.setattr(Confirm, "similarity", counting)
    with Documents(f"sqlite:///{tmp_path}/copies.db") as documents:
        documents.setup()
        pages = [{"id": f"a{n}", "text": f"市气象台今晨发布暴雨橙色预警，城区{n}个路段积水"} for n in range(5)]
        list(documents.ingest(pages))
        compared.clear()
        copies = [{"id": f"b{n}", "text": pages[n % 5]["text"]} for n in range(20)]
        found = list(documents.ingest(copies))
    assert [outcome.duplicate_of for outcome in found] == [f"a{n % 5}" for n in range(20)]
    assert {outcome.left_out for outcome in found} == {0}
    assert compared == []
