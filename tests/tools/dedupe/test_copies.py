"""``distinct`` and ``pairs``: what is left out is a copy of what is kept, whatever the items are."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas
import pytest

from es_simhash import Documents, DuplicateRule, InputError, Scheme, distinct, pairs
from tests.cli import HARVEST, STORM, STORM_FARTHEST, STORM_NEAR

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [STORM, HARVEST, STORM_NEAR, STORM + "。", HARVEST[:30], STORM_FARTHEST, "你好", "你好", "", ""]


def test_an_item_is_left_out_if_and_only_if_an_ingest_that_skips_copies_says_so(tmp_path: Path) -> None:
    texts = [text.replace("今", str(n)) if n % 3 else text for n, text in enumerate(TEXTS * 40)]
    with Documents(f"sqlite:///{tmp_path / 'slow.db'}") as documents:
        outcomes = list(documents.ingest(({"id": n, "text": t} for n, t in enumerate(texts)), on_duplicate="skip"))
    expected = [(int(o.id or 0), int(o.duplicate_of)) for o in outcomes if o.duplicate_of is not None]
    assert 100 < len(expected) < len(texts)
    assert [(pair.position, pair.original) for pair in pairs(texts)] == expected
    left_out = {position for position, _ in expected}
    assert list(distinct(texts)) == [text for n, text in enumerate(texts) if n not in left_out]


def test_a_pair_says_how_similar_the_two_are() -> None:
    near, exact = pairs([STORM, STORM_NEAR, STORM])
    assert (near.position, near.original, near.exact) == (1, 0, False)
    assert 0.8 < (near.similarity or 0) < 1
    assert near.distance is None
    [near] = pairs([STORM, STORM_NEAR], rule="fingerprint")
    assert (near.similarity, 0 < (near.distance or 0) <= 3) == (None, True)
    assert (exact.position, exact.exact, exact.similarity, exact.distance) == (2, True, 1.0, 0)


def test_items_are_strings_or_mappings_or_whatever_a_function_reads() -> None:
    assert list(distinct(iter([STORM, STORM_NEAR]))) == [STORM]
    rows = [{"title": "x", "body": STORM}, {"title": "x", "body": STORM_NEAR}]
    assert list(distinct(rows, text="body")) == rows[:1]
    assert list(distinct(rows, text=["title", "body"])) == rows[:1]
    objects = [SimpleNamespace(page=STORM), SimpleNamespace(page=STORM_NEAR)]
    assert list(distinct(objects, text=lambda each: each.page)) == objects[:1]


def test_the_same_object_is_yielded_not_one_like_it() -> None:
    item: dict[str, Any] = {"text": STORM, "of": object()}
    assert next(distinct([item])) is item


def test_rows_of_a_data_frame_are_dicts_and_pairs_name_their_positions() -> None:
    frame: Any = pandas.DataFrame({"text": [STORM, STORM_NEAR, HARVEST]}, index=[7, 8, 9])
    assert [row["text"] for row in distinct(frame)] == [STORM, HARVEST]
    copied = [pair.position for pair in pairs(frame["text"])]
    assert frame.drop(frame.index[copied]).index.tolist() == [7, 9]


def test_the_rule_and_the_scheme_are_those_of_the_call() -> None:
    texts = [STORM, STORM_NEAR, STORM]
    assert len(list(distinct(texts, rule="exact"))) == 2
    assert len(list(distinct(texts, rule="fingerprint"))) == 1
    assert len(list(distinct(texts, rule=DuplicateRule(min_similarity=1.0)))) == 2
    html = [f"<p>{STORM}</p>", f"<div>{STORM}</div>"]
    assert len(list(distinct(html, rule="exact", scheme=Scheme(markup="html")))) == 1


def test_the_time_may_stand_in_any_field() -> None:
    rule = DuplicateRule(within=timedelta(days=1), time_field="id")
    items = [{"id": 1704067200000 + at, "text": text} for at, text in [(0, STORM), (0, HARVEST), (1, STORM)]]
    assert [(pair.original, pair.position) for pair in pairs(items, rule=rule)] == [(0, 2)]


@pytest.mark.parametrize(
    ("items", "more", "problem"),
    [
        ([STORM, {"title": "x"}], {}, "item 1: no text in field 'text'"),
        ([STORM, 7], {}, "item 1: it is of type int: pass text="),
        ([STORM, 7], {"text": lambda item: item}, "item 1: its text is a number: use a string"),
        (
            [STORM],
            {"rule": DuplicateRule(within=timedelta(1), time_field="at")},
            "item 0: within compares times: pass a mapping",
        ),
        ([STORM, "\ud800"], {}, "item 1: .*surrogate"),
    ],
)
def test_an_item_without_a_text_is_an_error_that_names_it(items: list[Any], more: dict[str, Any], problem: str) -> None:
    kept = distinct(items, **more)
    with pytest.raises(InputError, match=problem):
        list(kept)


def test_the_items_before_a_bad_one_are_yielded_first() -> None:
    kept = distinct([STORM, HARVEST, None])
    assert [next(kept), next(kept)] == [STORM, HARVEST]
    with pytest.raises(InputError, match="item 2"):
        next(kept)


def test_invalid_arguments_raise_at_once() -> None:
    with pytest.raises(InputError, match="the rule is 'near'"):
        distinct([], rule="near")
    with pytest.raises(InputError, match="one string"):
        distinct(STORM)
