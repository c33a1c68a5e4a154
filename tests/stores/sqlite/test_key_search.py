"""Short texts in a file: only the rarest q-grams are read, and all similar texts are found all the same."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from es_simhash.contract import Candidates, Probe
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.search.keys import KeyIndex, key_queries, text_keys
from es_simhash.stores.sqlite import SqliteStore
from es_simhash.stores.sqlite.keys import PAGE
from tests.contract.documents import entry, write

if TYPE_CHECKING:
    from collections.abc import Iterator

LETTERS = "天地玄黄宇宙洪荒日月盈昃" * 5 + "辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳"


@pytest.fixture(params=[PAGE, 7], ids=["large pages", "small pages"])
def store(request: pytest.FixtureRequest) -> Iterator[SqliteStore]:
    store = SqliteStore(":memory:", key_page=request.param)
    store.set_up(DEFAULT)
    yield store
    store.close()


@pytest.mark.parametrize("seed", range(4))
def test_a_search_by_the_rarest_keys_finds_what_all_keys_find(store: SqliteStore, seed: int) -> None:
    rng = random.Random(seed)
    texts = ["".join(rng.choice(LETTERS) for _ in range(rng.randrange(4, 80))) for _ in range(60)]
    for _ in range(140):  # most are near others
        old = list(rng.choice(texts))
        for _ in range(rng.randrange(1 + len(old) // 4)):
            old[rng.randrange(len(old))] = rng.choice(LETTERS)
        texts.append("".join(old))
    texts = [text + rng.choice(["", "3日", "4日"]) for text in texts]
    keys = [text_keys(text) for text in texts]
    queries = [key_queries(each, 0.8, numbers=seed % 2 == 1) for each in keys]
    index = KeyIndex([each.values for each in keys], [each.length for each in keys], queries)
    expected = [set(index.sharing(some)[0].tolist()) for some in queries]
    for start, end in pairwise([0, 1, 50, len(texts)]):  # some keys are counted before most documents are written
        some = range(start, end)
        write(store, *(entry(str(n), None, keys=keys[n].values, length=keys[n].length) for n in some))
        for asked in rng.sample(range(len(texts)), 20):
            probe = Probe(None, None, queries[asked], None, 500)
            found = store.candidates(Candidates((probe,), -1, 64))
            assert {int(row.id) for row in found.rows} == {number for number in expected[asked] if number < end}
            assert not found.left_out


def test_very_many_documents_with_the_same_keys_are_left_out_and_counted(store: SqliteStore) -> None:
    keys = text_keys("天地玄黄宇宙洪荒日月盈昃")
    write(store, *(entry(str(n), None, keys=keys.values, length=keys.length) for n in range(30)))
    found = store.candidates(Candidates((Probe(None, None, key_queries(keys, 0.8), None, 10),), -1, 64))
    assert [len(found.rows), found.left_out] == [10, {0: 20}]
