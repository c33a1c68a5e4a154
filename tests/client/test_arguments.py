"""Each verb of Documents checks its arguments when it is called."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule
from es_simhash.errors import InputError
from es_simhash.store.memory_store import MemoryStore

if TYPE_CHECKING:
    from es_simhash.rows import Description


class Unused(MemoryStore):
    """A store that must not be asked: each verb begins with a look at its description."""

    def describe(self) -> Description:
        raise AssertionError("the store was asked")


VERBS = sorted(
    name
    for name, method in inspect.getmembers(Documents, inspect.isfunction)
    if not name.startswith("_") and name != "close"
)

# Arguments with which each verb can be called.
VALID: dict[str, tuple[Any, ...]] = {
    "setup": (),
    "info": (),
    "add": ({"id": 1, "text": "a text"},),
    "add_many": ([{"id": 1, "text": "a text"}],),
    "ingest": ([],),
    "backfill": (),
    "group": (),
    "remove": (["a"],),
    "duplicates": (),
    "remove_duplicates": ([],),
    "similar": ("a text",),
    "similar_many": (["a text"],),
    "similar_to": ("a",),
    "near_query": ("a text",),
    "fetch": (["a"],),
    "export": (),
    "pin": ("a",),
    "unpin": ("a",),
    "pin_many": ([],),
    "pins": (),
}
WITH_RULE = ["setup", "similar", "similar_many", "similar_to", "near_query"]
PINS = ("pin", "unpin", "pin_many", "pins")
WITH_FILTER = [verb for verb in VALID if verb not in ("setup", "info", "fetch", "near_query", *PINS)]

WRONG_RULES: list[tuple[dict[str, Any], str]] = [
    ({"rule": 3}, "the rule is 3: use one of copy"),
    ({"rule": "near"}, "the rule is 'near': use one of copy, contained, fingerprint, exact"),
]
Call = tuple[str, tuple[Any, ...], dict[str, Any], str]
WRONG: list[Call] = [
    *((verb, VALID[verb], wrong, message) for verb in WITH_RULE for wrong, message in WRONG_RULES),
    *((verb, VALID[verb], {"filter": "lang:zh"}, "filter is 'lang:zh': use a filter") for verb in WITH_FILTER),
    *(
        (verb, (documents,), {}, message)
        for verb in ("ingest", "add_many")
        for documents, message in (
            ({"id": "a"}, r"the documents are one dict: pass a list of dicts, such as \[document\]"),
            ("news.jsonl", r"the documents are one string: pass an iterable of dicts, .*read_file\(path\)"),
            (5, "the documents are of type int: use an iterable of dicts"),
        )
    ),
    ("ingest", ([],), {"on_duplicate": "drop"}, "on_duplicate is 'drop': use one of index, skip"),
    ("ingest", ([],), {"filter": {"match": {"text": "x"}}}, "filter"),
    ("ingest", ([],), {"filter": {"term": {}}}, "filter"),
    *(
        (verb, VALID[verb], wrong, "use a whole number from")
        for verb in ("ingest", "backfill")
        for wrong in ({"workers": -1}, {"workers": 1.0})
    ),
    ("remove", ("12",), {}, "put it in a list"),
    *((verb, ([id],), {}, "cannot be an id") for verb in ("remove", "fetch") for id in ("", None, True)),
    *((verb, (id,), {}, "cannot be an id") for verb in ("pin", "unpin") for id in ("", None, True)),
    ("similar_to", ("",), {}, "cannot be an id"),
    *((verb, (["a\ud800"],), {}, "lone surrogate") for verb in ("remove", "fetch")),
    *((verb, ([10**5_000],), {}, "too many digits") for verb in ("remove", "fetch")),
    *((verb, (["a\0b"],), {}, "has a zero byte") for verb in ("remove", "fetch")),
    ("similar_to", ("\ud800",), {}, "lone surrogate"),
    ("remove", (), {}, "give either ids or matching"),
    ("remove", (["a"],), {"matching": {"term": {"a": 1}}}, "give either ids or matching"),
    ("remove", (), {"matching": "lang:zh"}, "matching is 'lang:zh': use a filter"),
    ("fetch", (["a"],), {"fields": "title"}, "the fields are one string, 'title': put it in a list"),
    ("fetch", (["a"],), {"fields": [5]}, "use a list of strings"),
    ("similar", (1,), {"rule": DuplicateRule(min_similarity=0.8)}, "the rule 'copy' compares texts"),
    ("near_query", (1,), {"rule": "copy"}, "the rule 'copy' compares texts: give the text in place of its"),
    ("similar", ("\ud83d",), {}, "the text has a lone surrogate"),
    ("similar_many", ("a text",), {}, "the texts are one string: put it in a list"),
    ("similar_many", (["a text", None],), {}, "the text is of type NoneType: give a string"),
]


@pytest.mark.parametrize(("verb", "arguments", "keywords", "message"), WRONG)
def test_invalid_arguments_raise_when_a_verb_is_called(
    verb: str, arguments: tuple[Any, ...], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        getattr(Documents(Unused()), verb)(*arguments, **keywords)


@pytest.mark.parametrize("verb", ["ingest", "backfill", "export", "duplicates"])
def test_nothing_is_sent_before_the_first_result_of_an_iteration_is_taken(verb: str) -> None:
    getattr(Documents(Unused()), verb)(*VALID[verb])


def test_each_verb_is_tested() -> None:
    assert VALID.keys() == set(VERBS)
