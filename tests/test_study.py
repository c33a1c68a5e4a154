"""The studies: their truth is complete, and their pairs are what they say."""

from __future__ import annotations

import json
import random
import sys
from importlib import import_module
from itertools import combinations
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash import DuplicateRule, Fingerprinter, compare
from es_simhash.similarity.confirm import TextFeatures, similarities
from es_simhash.similarity.differences import contradict
from tests.similarity.reference import jaccard

sys.path.append(str(Path(__file__).parents[1] / "scripts" / "study"))  # its modules import each other by name
truth, cases, provenance, revisions, judged = map(
    import_module, ("truth", "cases", "provenance", "revisions", "judged")
)

STORM = "气象今晨发布暴雨橙色预警城区部分路段已经出现积水交警提醒市民提前规划路线注意出行安全"


@given(
    texts=st.lists(st.text("abc", min_size=1, max_size=14), min_size=1, max_size=12, unique=True),
    threshold=st.sampled_from([0.2, 0.5, 0.55, 0.8, 0.9, 1.0]),
)
@example(texts=["abcde", "abcdefghijklm", "abcdefghijklmn"], threshold=0.9)
def test_the_join_finds_what_comparing_each_with_each_does(texts: list[str], threshold: float) -> None:
    pairs, similarities = truth.join(truth.shingle_sets(texts), threshold)
    joined = [(a, b, similarity) for (a, b), similarity in zip(pairs.tolist(), similarities.tolist(), strict=True)]
    every = [(a, b, jaccard(texts[a], texts[b])) for a, b in combinations(range(len(texts)), 2)]
    assert joined == [pair for pair in every if pair[2] >= threshold]


def test_the_truth_of_the_rule_copy_is_what_comparing_each_with_each_says() -> None:
    rng = random.Random(1)
    texts = ["共3人", "共三人", "共４人", *(f"{STORM}，影响{count}户居民" for count in (120, 120.0, 350))]
    for _ in range(15):
        text = "，".join(rng.sample(STORM, rng.randint(8, 40)))
        texts += [text, text[:-3] + "囗" + text[-2:]]
    texts = list(dict.fromkeys(texts))
    fingerprinter = Fingerprinter()
    features = [TextFeatures(text, fingerprinter) for text in texts]
    copies = {
        one * len(texts) + other
        for one, other in combinations(range(len(texts)), 2)
        if similarities(features[one], [features[other]], DuplicateRule())[0] >= 0.8
        and not contradict(features[one], features[other])
    }
    assert copies
    assert set(truth.copies(texts)[0].tolist()) == copies


def test_revisions_are_pairs_of_one_name_or_of_one_place() -> None:
    assert provenance.by_name([{"a": "1", "b": "2"}, {"b": "3", "c": "4"}]) == [("2", "3")]
    one, other = ["head", "same", "old", "foot"], ["head", "same", "new", "foot"]
    assert list(provenance.of_paragraphs([[one, other]])) == [
        ("old", "new"),
        ("head\nsame\nold\nfoot", "head\nsame\nnew\nfoot"),
    ]
    assert provenance.articles_of("第三条之一 不得停车。\n\n 第四条 不得鸣笛。") == ["不得停车。", "不得鸣笛。"]


def test_a_revision_is_in_the_cell_of_its_length_and_share_of_edits() -> None:
    text = STORM * 2
    edited, numbers = text[:40] + "囗" * 4 + text[44:], "本办法第三条" + text
    pairs = [(text, edited), (numbers, numbers.replace("三", "五")), (text, f"{text}。"), (text, STORM[::-1] * 9)]
    found = revisions.cells(pairs, 10, random.Random(1))
    assert found == {("61-150", "< 5 %"): [pairs[0]], ("", "other numbers"): [pairs[1]]}


def test_a_kind_of_copies_differs_from_its_original() -> None:
    text = "据新华社报道，3月15日有1200人参加了“植树节”活动。市民说，今年的树苗长得很好！GDP增长5.2%。" * 5
    copies = {name: copied(text) for name, (copied, _) in cases.Copies([text, text[::-1]], 1).kinds().items()}
    assert all(copy != text for copy in copies.values())
    assert copies["first 70 %"] == text[: int(len(text) * 0.7)]
    assert sorted(copies["sentences shuffled"]) == sorted(text)


def test_of_the_judged_pairs_hardly_more_are_wrong_than_the_pages_say() -> None:
    pairs = [json.loads(line) for line in judged.PAIRS.read_text(encoding="utf-8").splitlines()]
    copies = [compare(pair["a"], pair["b"]).is_duplicate for pair in pairs]
    rows = judged.wrong(pairs, copies)
    assert sum(count for count, _, _ in rows.values()) == len(pairs)
    assert sum(missed for _, missed, _ in rows.values()) <= 28
    assert sum(false for _, _, false in rows.values()) <= 7


def test_a_document_is_in_the_same_half_in_each_run() -> None:
    halves = [provenance.in_half(f"law-{number}", "proof") for number in range(100)]
    assert halves == [not provenance.in_half(f"law-{number}", "choice") for number in range(100)]
    assert halves[:5] == [False, True, False, True, False]
    assert provenance.by_name([{("a", 1): "1"}, {("a", 1): "2"}], "choice") == provenance.by_name(
        [{"a": "1"}, {"a": "2"}], "choice"
    )


def test_another_date_moves_one_day_at_each_of_its_places() -> None:
    text = "5月17日8时起停水，17日20时恢复。On March 17, 170日."
    moved = {provenance.another_date(text, random.Random(seed)) for seed in range(9)}
    assert moved == {text.replace("17日", "18日"), text.replace("March 17", "March 18")}
