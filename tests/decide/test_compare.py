"""Laws of the comparison of two texts: the measures equal their definitions, and the verdict is that of a store."""

from __future__ import annotations

from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from es_simhash import Documents, DuplicateRule, Fingerprinter, IdfTable, Scheme, StopWords
from es_simhash.decide.compare import compare
from es_simhash.similarity.measures import cosine
from es_simhash.text.normalisation import normalise
from es_simhash.text.tokens import segmenter, tokenize
from tests.text.test_tokens import SENTENCES, mixed_texts

texts = mixed_texts | st.sampled_from(SENTENCES)

LONG = "市气象台今晨六时发布暴雨橙色预警，预计未来三小时城区及东部山区降雨量将超过五十毫米。"
LIKE = LONG.replace("橙色", "红色").replace("及", "和")
NOTICE = LONG + "三月五日停水，共涉及12个小区，请居民提前储水，水压恢复后先放水再使用，谢谢配合。"
CHANGED = NOTICE.replace("三月五日", "3月6日")
RULES = [
    DuplicateRule(),
    DuplicateRule("copy", contradictions="allow"),
    DuplicateRule("contained"),
    DuplicateRule("fingerprint"),
    DuplicateRule("exact"),
]


def similarity(a: str, b: str) -> float | None:
    return compare(a, b).similarity


def test_the_similarity_is_that_of_word_characters() -> None:
    assert similarity("abcdefg", "bcdefgh") == 1 - 2 / 7
    assert similarity("a, b-c d!e (f)😀", "bcdef") == 5 / 6
    assert similarity("abc", "a-b-c") == 1
    assert similarity("……!", "……") == similarity("", "abc") == 0


TELEVISION, FILMS = "我喜欢看电视，不喜欢看电影。", "我不喜欢看电视，也不喜欢看电影。"


def test_the_cosine_is_that_of_the_word_counts() -> None:
    a = ["我", "喜欢", "看", "电视", "不", "喜欢", "看", "电影"]
    b = ["我", "不", "喜欢", "看", "电视", "也", "不", "喜欢", "看", "电影"]
    assert round(cosine(a, b), 3) == 0.938, "of the words as a person cuts them"
    assert compare(TELEVISION, FILMS).cosine == pytest.approx(10 / (9 * 13) ** 0.5), "看电视 is one word of jieba"


@given(a=texts, b=texts)
def test_the_cosine_is_1_for_equal_words_and_0_for_none_in_common(a: str, b: str) -> None:
    made = compare(a, b).cosine
    assert made == compare(b, a).cosine
    assert 0 <= made <= 1
    assert compare(a, a).cosine == (1 if tokenize(normalise(a), segmenter()) else 0)
    assert compare(a, "").cosine == 0


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(text=texts)
def test_texts_that_are_equal_after_normalisation_are_exact_duplicates(rule: DuplicateRule, text: str) -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text).replace(" ", "\u3000\u200b")
    assume(normalise(wide) == normalise(text))
    made = compare(text, wide, rule=rule)
    assert made.relation == ("exact" if normalise(text) else "different")
    assert made.similarity in (1, None)
    assert made.distance in (0, None)
    assert (made.contradictions, made.others) == ((), ())


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=5)
@given(a=texts | st.sampled_from([NOTICE, LONG]), b=texts | st.sampled_from([CHANGED, LIKE, NOTICE[:70]]))
def test_the_verdict_is_that_of_a_store(rule: DuplicateRule, a: str, b: str) -> None:
    with TemporaryDirectory() as folder, Documents(f"sqlite:///{folder}/news.db") as documents:
        documents.setup(rule)
        list(documents.ingest([{"id": 1, "text": a}]))
        [outcome] = documents.ingest([{"id": 2, "text": b}])
    made = compare(a, b, rule=rule)
    assert (outcome.outcome == "new") != made.is_duplicate


def test_contradictions_are_named_and_keep_the_texts_apart() -> None:
    made = compare("今天有12个小区停水，请居民储水", "今天有15个小区停水，请居民储水")
    assert (made.relation, made.contradictions, made.contradict) == ("contradicts", (("12", "15"),), True)
    assert made.similarity is not None
    assert made.similarity > 0.9
    assert made.is_found


def test_texts_that_are_not_compared_have_no_similarity() -> None:
    made = compare(LONG, LIKE, rule="fingerprint")
    assert (made.relation, made.similarity, made.contradict, made.is_found) == ("different", None, None, None)
    assert made.distance == 6
    assert compare(LONG, LIKE, rule=DuplicateRule("fingerprint", max_distance=6)).relation == "copy"
    assert compare("暴雨", "大雨").distance is None


def test_a_fingerprinter_compares_by_its_own_tables() -> None:
    table, stop_words = IdfTable.of({"橙色": 90, "红色": 0.5}), StopWords.of(["预警"])
    fingerprinter = Fingerprinter(Scheme(weights="tf_idf"), idf=table, stop_words=stop_words)
    made = compare(LONG, LIKE, fingerprinter)
    assert [made.a, made.b] == list(fingerprinter.fingerprints([LONG, LIKE]))
    assert made.distance == made.a.distance(made.b)
