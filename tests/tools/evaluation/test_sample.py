"""Pairs drawn for labelling, from every store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, Scheme, fingerprint
from es_simhash.errors import InputError, NotSetUp
from es_simhash.tools.evaluation.sample import sample_pairs
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_FARTHEST, STORM_NEAR
from tests.contract import LinearStore
from tests.contract.watched import Meanwhile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.tools.evaluation.sample import SampledPair

TEXTS = {
    "storm": STORM,
    "copy": STORM,
    "near": STORM_NEAR,
    "farther": STORM_FARTHER,
    "farthest": STORM_FARTHEST,
    "other": HARVEST,
    "short": "你好",
    "short copy": "你好",
}
DOCUMENTS = [{"id": id, "text": text, "lang": "zh" if "near" in id else "en"} for id, text in TEXTS.items()]


@pytest.fixture
def scheme() -> Scheme:
    """That of the store."""
    return Scheme()


@pytest.fixture(params=["linear", "sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def address(request: pytest.FixtureRequest, scheme: Scheme, tmp_path: Any) -> Iterator[Any]:
    """A store, or the address of one, with these documents."""
    if request.param == "linear":
        store: Any = LinearStore()
    elif request.param == "sqlite":
        store = f"sqlite:///{tmp_path / 'news.db'}"
    else:
        store = f"{request.getfixturevalue('elasticsearch_url')}/{request.getfixturevalue('make_index')()}"
    documents = Documents(store, scheme=scheme)
    documents.setup(keys=False)
    assert all(outcome.stored for outcome in documents.ingest(DOCUMENTS, rule="fingerprint"))
    yield store
    documents.close()


@pytest.mark.parametrize(("scheme", "within"), [(Scheme(), 7), (Scheme(bits=128), 15)], ids=["64 bits", "128 bits"])
def test_all_pairs_within_reach_are_there_with_their_texts_if_there_is_room(
    address: Any, scheme: Scheme, within: int
) -> None:
    pairs = list(sample_pairs(Documents(address, scheme=scheme), 100))
    assert [pair.distance for pair in pairs] == sorted(pair.distance for pair in pairs)
    assert pairs[-1].distance >= within - 1
    for pair in pairs:
        assert (pair.a, pair.b) == (TEXTS[pair.a_id], TEXTS[pair.b_id])
        assert pair.distance == fingerprint(pair.a, scheme).distance(fingerprint(pair.b, scheme))
    kinds = {frozenset((pair.a, pair.b)) for pair in pairs}
    assert len(kinds) == len(pairs)
    several = [STORM, STORM_NEAR, STORM_FARTHER, STORM_FARTHEST]
    values = [fingerprint(text, scheme) for text in several]
    assert kinds == {
        frozenset((a, b))
        for n, (a, ours) in enumerate(zip(several, values, strict=True))
        for b, theirs in list(zip(several, values, strict=True))[n:]
        if (a != b or a == STORM) and (ours.distance(theirs) or 0) <= within
    }


def test_the_same_seed_gives_the_same_pairs_and_another_others(address: Any) -> None:
    def drawn(seed: int) -> list[SampledPair]:
        return list(sample_pairs(Documents(address), 3, seed=seed))

    assert drawn(5) == drawn(5)
    assert len({tuple(drawn(seed)) for seed in range(10)}) > 1
    assert all(len(drawn(seed)) == 3 for seed in range(3))


def test_a_filter_and_a_number_of_documents_say_which_take_part(address: Any) -> None:
    documents = Documents(address)
    assert list(sample_pairs(documents, 9, filter={"term": {"lang": "zh"}})) == []
    few = {id for pair in sample_pairs(documents, 99, most_documents=2) for id in (pair.a_id, pair.b_id)}
    assert len(few) <= 2


def test_texts_are_brought_in_batches(address: Any) -> None:
    every = list(sample_pairs(Documents(address), 100))
    assert list(sample_pairs(Documents(address), 100, batch=2)) == every


def test_a_field_without_text_is_named(address: Any) -> None:
    with pytest.raises(InputError, match=r"document '\w+': no text in field 'body': name the field"):
        list(sample_pairs(Documents(address), 5, text_field="body"))


def test_several_fields_are_joined(address: Any) -> None:
    pair = next(iter(sample_pairs(Documents(address), 1, text_field=["text", "lang"])))
    assert (pair.a, pair.b) == (f"{TEXTS[pair.a_id]}\nen", f"{TEXTS[pair.b_id]}\nen")


@pytest.mark.parametrize("wrong", [{"size": 0}, {"size": True}, {"size": 5, "most_documents": -1}], ids=json.dumps)
def test_a_number_that_can_not_be_used_is_refused(wrong: Any) -> None:
    store = LinearStore()
    Documents(store).setup(keys=False)
    with pytest.raises(InputError, match="use a whole number from 1"):
        list(sample_pairs(Documents(store), **wrong))


def test_a_store_that_was_not_set_up_is_an_error() -> None:
    with pytest.raises(NotSetUp):
        list(sample_pairs(Documents(LinearStore()), 5))


def test_a_pair_of_which_a_document_goes_meanwhile_is_left_out() -> None:
    store = LinearStore()
    documents = Documents(Meanwhile(store, "fetch_fields", lambda: store.remove(("copy",))))
    documents.setup(keys=False)
    assert all(outcome.stored for outcome in documents.ingest(DOCUMENTS, rule="fingerprint"))
    pairs = list(sample_pairs(documents, 100))
    assert pairs
    assert not {"copy"} & {id for pair in pairs for id in (pair.a_id, pair.b_id)}


def test_a_store_with_keys_also_supplies_pairs_that_only_keys_find_and_pairs_just_outside(tmp_path: Any) -> None:
    clauses = [f"第{n}项工程{verb}" for n, verb in enumerate("开工竣工验收移交停工复工招标投标结算审计" * 3)]
    plain = "".join(clause.lstrip("第0123456789项") + "由项目经理负责安排并且如实记录" for clause in clauses)
    notice = "本市将于5月17日8时至20时停水检修，影响3个小区，请居民提前储水，恢复供水时间以通知为准。"
    texts = {
        "whole": plain,
        "edited": _edited(plain, 9),
        "notice": notice,
        "other day": notice.replace("5月17", "6月23"),
    }
    documents = Documents(f"sqlite:///{tmp_path / 'keys.db'}")
    list(documents.ingest({"id": id, "text": text} for id, text in texts.items()))
    distance = fingerprint(texts["whole"]).distance(fingerprint(texts["edited"]))
    assert distance is not None
    pairs = {pair.found: {pair.a_id, pair.b_id} for pair in sample_pairs(documents, 8)}
    assert pairs["outside"] == {"notice", "other day"}
    if distance > 7:
        assert pairs["keys"] == {"whole", "edited"}
    both = [frozenset((pair.a_id, pair.b_id)) for pair in sample_pairs(documents, 8)]
    assert len(set(both)) == len(both)
    assert list(sample_pairs(documents, 8, seed=3)) == list(sample_pairs(documents, 8, seed=3))
    assert sum(pair.found != "fingerprints" for pair in sample_pairs(documents, 1)) == 0


def _edited(text: str, every: int) -> str:
    """Replace one character in so many, by one that the text does not have."""
    return "".join("囗" if place % every == 0 else character for place, character in enumerate(text))
