"""Labelled pairs are read, or refused with their place; ids refer to stored documents."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, Fingerprinter, Scheme
from es_simhash.errors import InputError
from es_simhash.lines import raw_lines
from es_simhash.tools.evaluation.labelled_pairs import PairReader
from es_simhash.tools.evaluation.precision import LabelledPair, labelled
from tests.cli import HARVEST, STORM, STORM_NEAR
from tests.contract import LinearStore
from tests.contract.documents import entry, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.contract import Row

OURS = Fingerprinter()


def read(reader: PairReader, *pairs: Any) -> list[LabelledPair | str]:
    data = b"".join(pair if isinstance(pair, bytes) else json.dumps(pair).encode() + b"\n" for pair in pairs)
    return list(reader.read(raw_lines(io.BytesIO(data), "pairs.jsonl")))


@pytest.mark.parametrize(
    ("label", "duplicate"), [(True, True), (False, False), (1, True), (0, False), (1.0, True), (0.0, False)]
)
def test_a_label_is_true_or_false_or_1_or_0(label: Any, duplicate: bool) -> None:
    pair = {"a": STORM, "b": STORM_NEAR, "duplicate": label, "similarity": 0.5, "distance": 99, "other": None}
    assert read(PairReader(OURS, truth=0.5), pair) == [labelled(STORM, STORM_NEAR, duplicate, OURS)]


@pytest.mark.parametrize(("likeness", "duplicate"), [(0.8, True), (0.79, False), (1, True), (0, False)])
def test_a_pair_is_a_duplicate_if_its_similarity_is_at_least_the_truth(likeness: float, duplicate: bool) -> None:
    pair = {"a": STORM, "b": HARVEST, "similarity": likeness}
    assert read(PairReader(OURS, truth=0.8), pair) == [labelled(STORM, HARVEST, duplicate, OURS)]


@pytest.mark.parametrize("measure", ["jaccard", "cosine"])
def test_the_texts_of_a_pair_are_compared_by_the_rule(measure: Any) -> None:
    rule = DuplicateRule(confirm=0.8, measure=measure, numbers_agree=True)
    [pair] = read(PairReader(OURS, rule=rule), {"a": STORM, "b": STORM_NEAR, "duplicate": 1})
    assert pair == labelled(STORM, STORM_NEAR, True, OURS, rule=rule)
    assert isinstance(pair, LabelledPair)
    assert pair.place == "pairs.jsonl:1"


GOOD = {"a": STORM, "b": HARVEST, "duplicate": False}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (b"{\n", "not JSON: Expecting property name enclosed in double quotes at character 3"),
        (["a"], 'a pair must be a JSON object, such as {"a": "…", "b": "…", "duplicate": true}'),
        ({"a": "x", "b": "y"}, 'no label: write "duplicate": true or false, or "similarity": a number'),
        (
            {"a": "x", "b": "y", "duplicate": None},
            'no label: write "duplicate": true or false, or "similarity": a number',
        ),
        ({**GOOD, "duplicate": "yes"}, "the label in 'duplicate' is 'yes': use true or false, 1 or 0"),
        ({**GOOD, "duplicate": 2}, "the label in 'duplicate' is 2: use true or false, 1 or 0"),
        (
            {"a": "x", "b": "y", "similarity": "0.8"},
            "the 'similarity' is not a finite number: use a number such as 0.8",
        ),
        ({"a": "x", "b": "y", "similarity": True}, "the 'similarity' is not a finite number: use a number such as 0.8"),
        (
            b'{"a": "x", "b": "y", "similarity": 1e999}\n',
            "the 'similarity' is not a finite number: use a number such as 0.8",
        ),
        (
            b'{"a": "x", "b": "y", "similarity": 1' + b"0" * 400 + b"}\n",
            "the 'similarity' is not a finite number: use a number such as 0.8",
        ),
        ({"a": "x", "duplicate": 1}, "neither 'b' nor 'b_id': add a text, or the id of a stored document"),
        ({**GOOD, "a": 7}, "the text in 'a' is not a string: use a string"),
        ({"a_id": [], "b_id": 1, "duplicate": 1}, "the id in 'a_id' is not an id: use a string or a whole number"),
        ({"a_id": True, "b_id": 1, "duplicate": 1}, "the id in 'a_id' is not an id: use a string or a whole number"),
        (
            {"a_id": 1, "b_id": "1", "duplicate": 1},
            "'a_id' and 'b_id' are the same document, '1': pair it with another",
        ),
        (
            b'{"a": "\\ud83d", "b": "y", "duplicate": 1}\n',
            "the text in 'a' has a lone surrogate (\\ud83d) at character 1: it was cut inside a character; "
            "mend it where it was cut",
        ),
    ],
)
def test_an_unusable_line_is_reported_with_its_place_and_the_next_line_is_read(wrong: Any, problem: str) -> None:
    good = labelled(STORM, HARVEST, False, OURS)
    assert read(PairReader(OURS), GOOD, wrong, GOOD) == [good, f"pairs.jsonl:2: {problem}", good]


@pytest.mark.parametrize(
    ("options", "pair", "problem"),
    [
        (
            {},
            {"a": "x", "b": "y", "similarity": 1},
            "a pair has a similarity and no label: set the similarity from which a pair is a duplicate: --truth 0.8",
        ),
        (
            {},
            {"a_id": 1, "b": "y", "duplicate": 1},
            "a pair has ids and no texts: name the store of the documents: --store URL",
        ),
    ],
)
def test_a_missing_option_raises_at_the_first_line_that_needs_it(options: Any, pair: Any, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        read(PairReader(OURS, **options), GOOD | {"a_id": "x", "b_id": "y"}, pair)
    assert str(refused.value) in {f"pairs.jsonl:{n}: {problem}" for n in (1, 2)}


@pytest.mark.parametrize("truth", [float("nan"), float("inf")])
def test_a_truth_that_is_no_number_is_refused(truth: float) -> None:
    with pytest.raises(InputError, match="use the similarity from which a pair is a duplicate"):
        PairReader(OURS, truth=truth)


@pytest.fixture
def store() -> LinearStore:
    """Return a store whose fingerprints no text of these tests has, so that their distances can only come from it."""
    store = LinearStore()
    Documents(store).setup(keys=False)
    blank = OURS.fingerprint("")
    write(
        store,
        entry("1", 0b0111, digest="d"),
        entry("2", 0b1000, digest="e"),
        entry("copy", 0b0111, digest="d"),
        entry("short", None, digest="s"),
        entry("short copy", None, digest="s"),
        entry("empty", None, digest=blank.digest),
        entry("void", None, digest=blank.digest),
    )
    return store


@pytest.mark.parametrize(
    ("a", "b", "distance", "exact"),
    [
        (1, "2", 4, False),
        ("1", "copy", 0, True),
        ("short", "short copy", None, True),
        ("short", "1", None, False),
        ("empty", "void", None, False),
    ],
)
def test_ids_are_compared_by_their_stored_fingerprints(
    store: LinearStore, a: Any, b: Any, distance: int | None, exact: bool
) -> None:
    reader = PairReader(OURS, fetch=Documents(store).fetch)
    by_texts = labelled(STORM, STORM_NEAR, True, OURS)
    by_ids = {"exact": exact, "fingerprint": exact or distance == 0}
    pair = {"a_id": a, "b_id": b, "a": STORM, "b": STORM_NEAR, "duplicate": True}
    assert read(reader, pair) == [LabelledPair(True, distance, exact, {**by_texts.predicted, **by_ids}, by_texts.texts)]
    assert read(reader, {"a_id": a, "b_id": b, "duplicate": 0}) == [LabelledPair(False, distance, exact, by_ids)]


def test_without_a_store_or_ids_the_texts_are_compared(store: LinearStore) -> None:
    pair = {"a_id": 1, "b_id": 2, "a": STORM, "b": STORM_NEAR, "duplicate": True}
    assert read(PairReader(OURS), pair) == [labelled(STORM, STORM_NEAR, True, OURS)]
    texts = {"a": STORM, "b": STORM_NEAR, "duplicate": True}
    assert read(PairReader(OURS, fetch=Documents(store).fetch), texts) == [labelled(STORM, STORM_NEAR, True, OURS)]


def test_an_id_that_is_not_stored_or_has_no_fingerprint_is_reported(store: LinearStore) -> None:
    def fetch(ids: Iterable[str]) -> dict[str, Row]:
        rows = Documents(store).fetch(ids)
        return {**rows, "never": replace(rows["1"], id="never", fingerprint=None, digest="")}

    reader = PairReader(OURS, fetch=fetch)
    some = [{"a_id": 1, "b_id": id, "duplicate": True} for id in ("none", 2, "never")]
    assert read(reader, *some) == [
        "pairs.jsonl:1: the store has no document 'none': ingest it first, or add the texts",
        LabelledPair(True, 4, False, {"exact": False, "fingerprint": False}),
        "pairs.jsonl:3: the stored document 'never' has no fingerprint: run `es-simhash backfill --text-field FIELD`",
    ]


def test_documents_are_fetched_in_batches_and_the_order_stays(store: LinearStore) -> None:
    asked: list[int] = []

    def fetch(ids: Iterable[str]) -> Mapping[str, Row]:
        asked.append(len(list(ids)))
        return Documents(store).fetch(ids)

    pairs = [{"a_id": 1, "b_id": 2, "duplicate": bool(n % 3)} if n % 2 else GOOD for n in range(10)]
    made = read(PairReader(OURS, fetch=fetch, batch=4), *pairs)
    far, good = {"exact": False, "fingerprint": False}, labelled(STORM, HARVEST, False, OURS)
    expected = [LabelledPair(bool(n % 3), 4, False, far) if n % 2 else good for n in range(10)]
    assert made == expected
    assert asked == [2, 2, 2]


def test_fingerprints_of_128_bits_are_compared_too() -> None:
    wide = Fingerprinter(Scheme(bits=128))
    [pair] = read(PairReader(wide), GOOD)
    assert isinstance(pair, LabelledPair)
    assert pair.distance == wide.fingerprint(STORM).distance(wide.fingerprint(HARVEST))
