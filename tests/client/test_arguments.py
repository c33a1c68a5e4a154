"""Each verb of Documents checks its arguments when it is called. No public name takes a value that it cannot use."""

from __future__ import annotations

import inspect
import uuid
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import es_simhash
from es_simhash import (
    BloomFilter,
    DocumentFrequencies,
    Documents,
    DuplicateRule,
    FilterFormatError,
    Fingerprinter,
    IdfTable,
    Line,
    Outcome,
    Pin,
    Scheme,
    SeenItems,
    StopWords,
    compare,
    distinct,
    fingerprint,
    group_search,
    near_query,
    pairs,
    read_file,
)
from es_simhash.errors import InputError
from es_simhash.store.memory_store import MemoryStore
from tests.cli import HARVEST, STORM

if TYPE_CHECKING:
    from collections.abc import Callable

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
    "msearch": ([{}, {"query": {"match_all": {}}}],),
    "members": ("a",),
    "fetch": (["a"],),
    "export": (),
    "pin": ("a",),
    "unpin": ("a",),
    "pin_many": ([],),
    "pins": (),
}
WITH_RULE = ["setup", "similar", "similar_many", "similar_to", "near_query"]
PINS = ("pin", "unpin", "pin_many", "pins")
WITH_FILTER = [
    verb for verb in VALID if verb not in ("setup", "info", "fetch", "near_query", "msearch", "members", *PINS)
]

WRONG_RULES: list[tuple[dict[str, Any], str]] = [
    ({"rule": 3}, "the rule is 3: use one of copy"),
    ({"rule": "near"}, "the rule is 'near': use one of copy, contained, fingerprint, exact"),
    ({"rule": np.array([1, 2])}, r"the rule is array\(\[1, 2\]\): use one of copy"),
    ({"rule": []}, r"the rule is \[\]: use one of copy"),
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
    *(
        (verb, VALID[verb], {"id_field": field}, "id_field is .*: name the field that holds the id|lone surrogate")
        for verb in ("setup", "ingest")
        for field in (5, b"x", True, ["id"], "", np.array([1, 2]), "\ud800")
    ),
    ("ingest", ([],), {"on_duplicate": "drop"}, "on_duplicate is 'drop': use one of index, skip"),
    ("ingest", ([],), {"on_duplicate": np.array([1, 2])}, "on_duplicate is array"),
    ("ingest", ([],), {"on_update": np.array([1, 2])}, "on_update is array"),
    ("group", (), {"since": timedelta(days=-1)}, "since is .*: use a datetime, or a timedelta such as"),
    ("ingest", ([],), {"filter": {"match": {"text": "x"}}}, "filter"),
    ("ingest", ([],), {"filter": {"term": {}}}, "filter"),
    *(
        (verb, VALID[verb], wrong, "a whole number from")
        for verb in ("ingest", "backfill")
        for wrong in ({"workers": -1}, {"workers": 1.0})
    ),
    ("remove", ("12",), {}, "put it in a list"),
    *((verb, ([id],), {}, "use ") for verb in ("remove", "fetch") for id in ("", None, True)),
    *((verb, (id,), {}, "use ") for verb in ("pin", "unpin") for id in ("", None, True)),
    ("similar_to", ("",), {}, "the id '' has 0 bytes: use from 1 to 512"),
    *((verb, (["a\ud800"],), {}, "lone surrogate") for verb in ("remove", "fetch")),
    *((verb, ([10**5_000],), {}, "too many digits") for verb in ("remove", "fetch")),
    *((verb, (["a\0b"],), {}, "has a zero byte") for verb in ("remove", "fetch")),
    ("similar_to", ("\ud800",), {}, "lone surrogate"),
    ("remove", (), {}, "give either ids or matching"),
    ("remove", (["a"],), {"matching": {"term": {"a": 1}}}, "give either ids or matching"),
    ("remove", (), {"matching": "lang:zh"}, "matching is 'lang:zh': use a filter"),
    ("fetch", (["a"],), {"fields": "title"}, "the fields are one string, 'title': put it in a list"),
    ("fetch", (["a"],), {"fields": np.array([1, 2])}, r"one of the fields is .*1\)?: use a str for each"),
    ("fetch", (["a"],), {"fields": [5]}, "one of the fields is 5: use a str for each"),
    ("members", ("",), {}, "the id '' has 0 bytes: use from 1 to 512"),
    ("msearch", ({"query": {}},), {}, "one of the searches is 'query': use a dict for each"),
    ("msearch", ([{}, {"size": float("nan")}],), {}, "cannot be written as JSON"),
    ("similar", (1,), {"rule": DuplicateRule(min_similarity=0.8)}, "the rule 'copy' compares texts"),
    ("near_query", (1,), {"rule": "copy"}, "the rule 'copy' compares texts: give the text in place of its"),
    ("similar", ("\ud83d",), {}, "the text has a lone surrogate"),
    ("similar_many", ("a text",), {}, "the texts are one string, 'a text': put it in a list"),
    ("similar_many", (["a text", None],), {}, "the text is of type NoneType: give a string"),
]


@pytest.mark.parametrize(("verb", "arguments", "keywords", "message"), WRONG)
def test_invalid_arguments_raise_when_a_verb_is_called(
    verb: str, arguments: tuple[Any, ...], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        getattr(Documents(Unused()), verb)(*arguments, **keywords)


NO_SCHEME: list[Any] = [0, "", [], False, "copy", np.array([1, 2])]


@pytest.mark.parametrize("value", NO_SCHEME, ids=repr)
def test_what_is_no_scheme_is_refused_also_if_it_is_empty(value: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: Documents(Unused(), scheme=value),
        lambda: Documents(Unused(), fingerprinter=value),
        lambda: distinct([], scheme=value),
        lambda: near_query(STORM, fingerprinter=value),
        lambda: compare(STORM, STORM, value),
        lambda: fingerprint(STORM, value),
        lambda: DocumentFrequencies(value),
    ]
    for call in calls:
        with pytest.raises(InputError, match=r"the scheme is .*: use a Scheme"):
            call()


@pytest.mark.parametrize("verb", ["ingest", "backfill", "export", "duplicates"])
def test_nothing_is_sent_before_the_first_result_of_an_iteration_is_taken(verb: str) -> None:
    getattr(Documents(Unused()), verb)(*VALID[verb])


def test_each_verb_is_tested() -> None:
    assert VALID.keys() == set(VERBS)


# --- any value in the place of any argument ---------------------------------------------------------------------------


DEEP_LIST, DEEP_DICT, ROUND, ITERATOR = "<a deep list>", "<a deep dict>", "<a list that holds itself>", "<an iterator>"
"""Hypothesis itself cannot show the values that these stand for."""


def made(value: Any) -> Any:
    """Return a value with what its marks stand for."""
    if isinstance(value, str) and value == ITERATOR:
        return iter([1])
    if isinstance(value, str) and value == ROUND:
        itself: list[Any] = []
        itself.append(itself)
        return itself
    if isinstance(value, str) and value in (DEEP_LIST, DEEP_DICT):
        inner: Any = "x"
        for _ in range(3_000):
            inner = [inner] if value == DEEP_LIST else {"a": inner}
        return inner
    if type(value) is dict:
        return {key: made(each) for key, each in value.items()}
    return type(value)(map(made, value)) if type(value) in (list, tuple) else value


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.builds(lambda: 10**5_000),
    st.sampled_from([-(10**400), 2**63, 2**64 - 1, np.int64(7), np.float64(0.5), np.longdouble(1), 1j]),
    st.builds(lambda: np.array([1, 2])),
    st.floats(),
    st.text(st.characters(), max_size=8),
    st.sampled_from(["", "id", "text", "copy", "a.b", "\0", "\ud800", "x" * 600, "term", STORM]),
    st.binary(max_size=4),
    st.decimals(),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.times(),
    st.sampled_from([uuid.UUID(int=5), Decimal("sNaN"), object(), object, range(3), memoryview(b"x"), Ellipsis, len]),
    st.sampled_from([DEEP_LIST, DEEP_DICT, ROUND, ITERATOR]),
)
NAMES = st.sampled_from(["id", "text", "at", "a", "simhash", "term", "bool", "ids", "values", "range"])
KEYS = st.one_of(NAMES, NAMES, st.none(), st.integers(), st.floats(), st.text(max_size=4), st.dates(), st.just(()))
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.fixed_dictionaries({"id": inner, "text": inner}),
        st.fixed_dictionaries({"id": st.just("c"), "text": st.just(HARVEST), "at": inner, "x": inner}),
    ),
    max_leaves=6,
)
STORED = [{"id": "a", "text": STORM, "at": "2024-05-01"}, {"id": "b", "text": STORM + "。", "at": "2024-05-02"}]
WINDOW = DuplicateRule(within=timedelta(days=3), time_field="at")
SEARCH = {"query": {"match_all": {}}, "from": 0, "size": 5, "sort": ["at"], "collapse": {"field": "simhash.group"}}
PATHS = ("save", "checkpoint", "path")
"""Arguments that name a file: any value but a string."""
FLAGS = ("refresh", "again", "contradicting", "anew")
"""Any value but an array of numpy, which is neither true nor false."""
OF_USERS: dict[str, tuple[Any, ...]] = {
    "setup": (),
    "add": ("ann", ["x"]),
    "add_many": ({"ann": ["x"]},),
    "unseen": ("ann", ["x"]),
    "unseen_many": ({"ann": ["x"]},),
    "forget": ("ann", ["x"]),
    "rotate": (),
    "remove_inactive": (timedelta(days=1),),
    "stats": ("ann",),
    "to_bytes": ("ann",),
    "remove": ("ann",),
    "page": ("ann", lambda offset, size: [{"_id": "x", "_source": {}}][offset:], 5),
}
FUNCTIONS: dict[Any, tuple[Any, ...]] = {
    BloomFilter: (10, 0.01),
    BloomFilter.from_bytes: (b"x",),
    Documents: ("memory://",),
    DuplicateRule: (),
    DuplicateRule.from_dict: (DuplicateRule().to_dict(),),
    Fingerprinter: (),
    IdfTable.of: ({"a": 1},),
    Line: ("place",),
    Pin: ("a",),
    Scheme: (),
    Scheme.from_dict: (Scheme().to_dict(),),
    SeenItems: ("memory://",),
    StopWords.of: (["a"],),
    compare: (STORM, HARVEST),
    distinct: ([STORM],),
    fingerprint: (STORM,),
    group_search: (SEARCH,),
    near_query: (STORM,),
    pairs: ([STORM],),
    read_file: (__file__,),
    es_simhash.plain_clause: (5,),
}


def cases() -> list[tuple[str, Any, str]]:
    """Return each argument of each public name: what owns it, its name, and that of the argument."""
    named = [("Documents", verb, getattr(Documents, verb)) for verb in VALID]
    named += [("SeenItems", verb, getattr(SeenItems, verb)) for verb in OF_USERS]
    named += [
        ("BloomFilter", verb, getattr(BloomFilter, verb)) for verb in ("add", "update", "contains_many", "__contains__")
    ]
    named += [("", function, function) for function in FUNCTIONS]
    return [
        (owner, name, argument)
        for owner, name, call in named
        for argument, parameter in inspect.signature(call).parameters.items()
        if argument not in ("self", "progress", "client_options") and parameter.kind is not parameter.VAR_POSITIONAL
    ]


def called(owner: str, name: Any, argument: str, value: Any) -> Any:
    """Call a public name with a value in the place of one argument."""
    if owner == "Documents":
        made: Any = Documents("memory://")
        made.setup(WINDOW)
        assert [outcome.outcome for outcome in made.add_many(STORED)] == ["new", "near_duplicate"]
        usual = VALID[name]
    elif owner == "SeenItems":
        made, usual = SeenItems("memory://"), OF_USERS[name]
        made.setup()
        made.add("ann", ["x"])
    elif owner == "BloomFilter":
        made, usual = BloomFilter(10, 0.01), ("x" if name in ("add", "__contains__") else ["x"],)
    else:
        made, usual = None, FUNCTIONS[name]
    call = name if made is None else getattr(made, name)
    parameters = inspect.signature(call).parameters
    arguments = dict(zip(parameters, usual, strict=False))
    if argument == "matching":
        arguments.pop("ids")
    if owner == "Documents" and "time" in parameters:
        arguments["time"] = "2024-05-01"
    if owner == "Documents" and "times" in parameters:
        arguments["times"] = ["2024-05-01"]
    given = {**arguments, argument: value}
    ordered = [given.pop(each) for each, one in parameters.items() if one.kind is one.POSITIONAL_ONLY and each in given]
    result = call(*ordered, **given)
    result = list(result) if hasattr(result, "__next__") else result
    if owner == "Documents" and name not in ("remove",):
        left = made.fetch(["a", "b"], fields="*")
        assert set(left) == {"a", "b"}, "a document is lost"
    if owner == "Documents" and name in ("ingest", "add_many", "add"):
        for one in [result] if isinstance(result, Outcome) else result:
            assert {one.stored, one.reason is not None, one.outcome in ("unchanged", "kept")} != {False}
    return result


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(ANYTHING)
def test_any_value_in_the_place_of_any_argument_gives_a_result_or_an_input_error(value: Any) -> None:
    for owner, name, argument in cases():
        if argument in PATHS and isinstance(value, str):
            continue
        if argument in FLAGS and isinstance(value, np.ndarray):
            continue
        if argument == "fetch" and value is object:  # what the caller's function raises is the caller's
            continue
        try:
            with suppress(InputError, FilterFormatError):
                called(owner, name, argument, made(value))
        except Exception as error:
            raise AssertionError(f"{argument} of {owner}.{getattr(name, '__qualname__', name)}") from error
