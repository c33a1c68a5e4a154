"""``es-simhash evaluate`` prints the library's evaluation, and draws pairs to label."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, Fingerprinter, Scheme
from es_simhash.fingerprinting.normalisation import word_characters
from es_simhash.fingerprinting.tables import IdfTable
from es_simhash.tools.evaluation.precision import Point, evaluate, labelled
from es_simhash.tools.evaluation.sample import sample_pairs
from tests.cli import (
    HARVEST,
    STORM,
    STORM_FARTHER,
    STORM_FARTHEST,
    STORM_NEAR,
    Done,
    complaint,
    es_simhash,
)
from tests.rules import keywords_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PAIRS = [
    (STORM, STORM.replace("，", ","), True),
    (STORM, STORM_NEAR, True),
    (STORM, STORM_FARTHER, True),
    (STORM, STORM_FARTHEST, False),
    (STORM, HARVEST, False),
    (STORM, "你好", True),
    ("你好", "你好", True),
]


def lines(*pairs: tuple[str, str, Any]) -> bytes:
    some = [{"a": a, "b": b, "duplicate": duplicate} for a, b, duplicate in pairs]
    return b"".join(json.dumps(pair, ensure_ascii=False).encode() + b"\n" for pair in some)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pairs.jsonl").write_bytes(lines(*PAIRS))
    return tmp_path


@pytest.mark.parametrize(
    ("options", "scheme", "rule"),
    [
        ([], Scheme(), DuplicateRule()),
        (["--deadline", "5"], Scheme(), DuplicateRule()),  # of a store that is not named
        (["--rule", "fingerprint", "--max-distance", "5"], Scheme(), DuplicateRule(rule="fingerprint", max_distance=5)),
        (["--confirm", "0.9"], Scheme(), DuplicateRule(confirm=0.9)),
        (
            ["--confirm", "0.97", "--similarity", "cosine", "--numbers-agree", "--bits", "128", "--weights", "tf"],
            Scheme(bits=128, weights="tf"),
            DuplicateRule(confirm=0.97, measure="cosine", numbers_agree=True),
        ),
    ],
)
def test_the_json_form_is_the_library_s_evaluation(
    folder: Path, options: list[str], scheme: Scheme, rule: DuplicateRule
) -> None:
    [shown] = es_simhash("evaluate", "pairs.jsonl", *options, "--json", cwd=folder).json
    ours = Fingerprinter(scheme)
    some = [labelled(*pair, ours, rule=rule) for pair in PAIRS]
    made = evaluate(some, scheme)

    def point(point: Point) -> dict[str, Any]:
        precision, recall = list(point.precision_interval), list(point.recall_interval)
        intervals = {"precision_interval": precision, "recall_interval": recall}
        return asdict(point) | {"precision": point.precision, "recall": point.recall, "f1": point.f1} | intervals

    places = [f"pairs.jsonl:{line}" for line, pair in enumerate(some, 1) if any(pair is each for each in made.missed)]
    assert [missed.pop("place") for missed in shown["missed"]] == places
    assert [missed.pop("distance") for missed in shown["missed"]] == [pair.distance for pair in made.missed]
    decisions = [asdict(pair.texts) | {"candidate": pair.texts.candidate} for pair in made.missed if pair.texts]
    assert shown.pop("missed") == json.loads(json.dumps(decisions))
    assert shown == {
        "pairs": 7,
        "duplicates": 5,
        "rejected": 0,
        "without_fingerprint": {"pairs": 2, "duplicates": 2, "copies": 1},
        "without_texts": 0,
        "rule": rule.rule,
        "confirm": rule.confirm,
        "similarity": rule.confirm and rule.measure,
        "numbers_agree": rule.numbers_agree,
        "rules": {name: point(each) for name, each in made.rules.items()},
        "best": made.best,
        "undecided": [asdict(other) for other in made.undecided],
        "points": [point(each) for each in made.points],
        "choose": made.chosen.max_distance,
        "distances": {"duplicates": list(made.duplicates), "different": list(made.different)},
        "scheme": scheme.version,
    }


SHORT_NOTE = (
    "2 pairs (2 labelled as duplicates) without fingerprints (text too short): 1 pair of exact duplicates found at "
    "every k, the others at no k"
)


def shown_as(name: str, point: Point, chosen: bool) -> list[str]:
    """Return the words of the row of a point."""
    counts = (point.true_positives, point.false_positives, point.false_negatives, point.true_negatives)
    shares = [
        word
        for share, (low, high) in ((point.precision, point.precision_interval), (point.recall, point.recall_interval))
        for word in ([f"{share:.4f}", f"({low:.3f}-{high:.3f})"] if share is not None else ["-"])
    ]
    return [*name.split(), *shares, f"{point.f1:.4f}", *map(str, counts), *["<"] * chosen]


@pytest.mark.parametrize(
    ("options", "rule", "name"),
    [([], {}, "copy"), (["--confirm", "0.5"], {"confirm": 0.5}, "copy, confirm 0.5")],
)
def test_the_text_form_has_a_row_for_each_rule_and_each_k_and_says_what_to_choose(
    folder: Path, options: list[str], rule: Any, name: str
) -> None:
    done = es_simhash("evaluate", "pairs.jsonl", *options, cwd=folder)
    assert (done.code, done.err) == (0, "")
    made = evaluate(labelled(*pair, Fingerprinter(), **keywords_of(rule)) for pair in PAIRS)
    head, *rows = done.out.splitlines()
    assert head.split()[:4] == ["rule", "precision", "recall", "F1"]
    rules = [shown_as(rule, point, rule == made.best) for rule, point in made.rules.items()]
    points = [shown_as(f"fingerprint, k = {p.max_distance}", p, p == made.chosen) for p in made.points]
    assert [row.split() for row in rows[: len(rules) + 8]] == [*rules, *points]
    assert list(made.rules)[-1] == name
    assert rows[len(rules) + 8] == "in brackets: the interval of Wilson, 95%"
    said = rows[len(rules) + 9 :]
    assert said[0] == f"too few answers to choose: {made.best} has the highest F1, but may be no better than"
    differ = {f"{other.rule}: they differ in {other.differ} pair" for other in made.undecided if other.differ}
    assert differ == {
        row.strip().partition("s, and")[0].partition(", and")[0] for row in said[1:] if "differ in" in row
    }
    missed = [row for row in said if row.startswith("1 duplicate not found by ")]
    assert f"with --rule fingerprint choose k = {made.chosen.max_distance}: the smallest k with the highest F1" in said
    assert SHORT_NOTE in said
    assert missed == [f"1 duplicate not found by {name}:"]
    assert said[-1].startswith("  pairs.jsonl:6  0 of 3 q-grams in common, ")
    assert f" needed, and {len(word_characters(STORM))} word characters, " in said[-1]
    assert said[-1].endswith("numbers only in A: 3, 50, 6")


def test_enough_answers_choose_a_rule(tmp_path: Path) -> None:
    some = [(STORM, STORM_FARTHER + "雨" * n, True) for n in range(20)] + [(STORM, HARVEST, False)]
    done = es_simhash("evaluate", cwd=tmp_path, stdin=lines(*some))
    made = evaluate(labelled(*pair, Fingerprinter()) for pair in some)
    assert ("too few answers" in done.out) == bool(made.undecided)
    assert all(other.rule != "exact" for other in made.undecided)


def test_pairs_without_texts_leave_out_the_rules_that_need_them_and_say_so(store: str, tmp_path: Path) -> None:
    done = es_simhash("evaluate", "--store", store, cwd=tmp_path, stdin=by_ids(*NEWS))
    assert "4 pairs of 4 without texts: the rules copy and contained are not compared; add the texts" in done.out
    assert {row.split()[0] for row in done.out.splitlines()[1:3]} == {"exact", "fingerprint"}


def test_undefined_precision_is_a_dash_in_text_and_null_in_json(tmp_path: Path) -> None:
    some = lines((STORM, STORM_FARTHER, True), (STORM, HARVEST, False))
    row = es_simhash("evaluate", cwd=tmp_path, stdin=some).out.splitlines()[1].split()
    assert row[:4] == ["exact", "-", "0.0000", "(0.000-0.793)"]
    [shown] = es_simhash("evaluate", "-", "--json", cwd=tmp_path, stdin=some).json
    assert (shown["points"][0]["precision"], shown["points"][0]["f1"]) == (None, 0)


def test_a_bad_line_is_reported_with_its_place_and_skipped(folder: Path) -> None:
    clean = es_simhash("evaluate", "pairs.jsonl", cwd=folder)
    with (folder / "pairs.jsonl").open("ab") as file:
        file.write(b"{\n" + lines((STORM, STORM, "maybe")))
    done = es_simhash("evaluate", "pairs.jsonl", cwd=folder)
    assert (done.code, done.out) == (3, clean.out)
    assert [message.split(": ")[:2] for message in done.err.splitlines()] == [
        ["rejected", "pairs.jsonl:8"],
        ["rejected", "pairs.jsonl:9"],
    ]


@pytest.mark.parametrize(
    ("data", "options", "problem"),
    [
        (b"", [], 'no usable pairs in stdin: give lines such as {"a": "…", "b": "…", "duplicate": true}'),
        (lines(*PAIRS[:3]), [], "all of the 3 pairs are labelled as duplicates: label some pairs that are none too"),
        (lines(PAIRS[4]), [], "none of the 1 pairs is labelled as duplicate: label some duplicates too"),
        (
            b'{"a_id": 1, "b_id": 2, "duplicate": true}',
            [],
            "stdin:1: a pair has ids and no texts: name the store of the documents: --store URL",
        ),
        (
            b'{"a": "x", "b": "y", "similarity": 0.9}',
            [],
            "stdin:1: a pair has a similarity and no label: set the similarity from which a pair is a duplicate: "
            "--truth 0.8",
        ),
        (lines(*PAIRS), ["--confirm", "nan"], "confirm is nan: use a similarity from 0 to 1, such as 0.8"),
    ],
)
def test_input_that_cannot_be_evaluated_is_an_error_of_one_line_with_the_fix(
    tmp_path: Path, data: bytes, options: list[str], problem: str
) -> None:
    assert complaint(es_simhash("evaluate", *options, cwd=tmp_path, stdin=data)) == f"es-simhash: {problem}"
    assert list(tmp_path.iterdir()) == []


# --- stores ------------------------------------------------------------------------------------------------

TEXTS = {"storm": STORM, "copy": STORM, "near": STORM_NEAR, "farther": STORM_FARTHER, "other": HARVEST, "short": "你好"}


@pytest.fixture
def fingerprinter() -> Fingerprinter:
    """The Fingerprinter of the store."""
    return Fingerprinter()


@pytest.fixture(params=["sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def store(request: pytest.FixtureRequest, fingerprinter: Fingerprinter, tmp_path: Path) -> str:
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path / 'news.db'}"
    else:
        address = f"{request.getfixturevalue('elasticsearch_url')}/{request.getfixturevalue('index_name')}"
    with Documents(address, fingerprinter=fingerprinter) as documents:
        documents.setup(keys=False)
        assert all(
            outcome.stored
            for outcome in documents.ingest(({"id": id, "text": t} for id, t in TEXTS.items()), rule="fingerprint")
        )
    return address


def by_ids(*pairs: tuple[str, str, bool]) -> bytes:
    return b"".join(json.dumps({"a_id": a, "b_id": b, "duplicate": d}).encode() + b"\n" for a, b, d in pairs)


def test_ids_are_looked_up_in_the_store(store: str, tmp_path: Path) -> None:
    some = [("storm", "copy", True), ("near", "storm", True), ("other", "storm", False), ("short", "near", False)]
    [shown] = es_simhash("evaluate", "--store", store, "--json", cwd=tmp_path, stdin=by_ids(*some)).json
    texts = lines(*((TEXTS[a], TEXTS[b], duplicate) for a, b, duplicate in some))
    [by_texts] = es_simhash("evaluate", "--json", cwd=tmp_path, stdin=texts).json
    assert (shown["without_texts"], by_texts["without_texts"]) == (len(some), 0)
    for same in ("pairs", "duplicates", "points", "choose", "distances"):
        assert shown[same] == by_texts[same]
    assert shown["rules"] == {name: by_texts["rules"][name] for name in ("exact", "fingerprint")}
    gone = es_simhash("evaluate", "--store", store, cwd=tmp_path, stdin=by_ids(*some, ("storm", "gone", True)))
    assert gone.code == 3
    assert "rejected: stdin:5: the store has no document 'gone': ingest it first, or add the texts" in gone.err
    said = complaint(es_simhash("evaluate", "--store", store, "--weights", "tf", cwd=tmp_path, stdin=by_ids(*some)))
    assert "holds fingerprints of Scheme" in said


def test_the_rule_that_the_store_keeps_is_compared_with_the_four(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        documents.setup(rule=DuplicateRule("copy", confirm=0.9))
    address = f"sqlite:///{tmp_path / 'news.db'}"
    [shown] = es_simhash("evaluate", "--store", address, "--json", cwd=tmp_path, stdin=lines(*PAIRS)).json
    assert list(shown["rules"])[-1] == "copy, confirm 0.9"
    some = ["evaluate", "--store", address, "--confirm", "0.7", "--json"]
    [shown] = es_simhash(*some, cwd=tmp_path, stdin=lines(*PAIRS)).json
    assert list(shown["rules"])[-1] == "copy, confirm 0.7"


NEWS = [("storm", "copy", True), ("near", "storm", True), ("farther", "storm", True), ("other", "storm", False)]
IDF = {"暴雨": 4.5, "预警": 5.25, "气象台": 6}
TABLE = IdfTable.of(IDF)


@pytest.mark.parametrize(
    "fingerprinter",
    [Fingerprinter(Scheme(bits=128)), Fingerprinter.using(Scheme(bits=128, weights="tf_idf"), idf=TABLE)],
    ids=["128 bits", "a table"],
)
def test_the_scheme_is_that_of_the_store(store: str, fingerprinter: Fingerprinter, tmp_path: Path) -> None:
    (tmp_path / "idf.txt").write_text("".join(f"{word} {idf}\n" for word, idf in IDF.items()), encoding="utf-8")
    own = ["--idf", "idf.txt"] if fingerprinter.scheme.weights == "tf_idf" else []
    [shown] = es_simhash("evaluate", "--store", store, *own, "--json", cwd=tmp_path, stdin=by_ids(*NEWS)).json
    made = evaluate((labelled(TEXTS[a], TEXTS[b], d, fingerprinter) for a, b, d in NEWS), fingerprinter.scheme)
    assert shown["scheme"] == fingerprinter.scheme.version
    assert [point["true_positives"] for point in shown["points"]] == [point.true_positives for point in made.points]
    assert len(shown["points"]) == 16
    # With a confirm the texts are weighed by it, too.
    texts = lines(*((TEXTS[a], TEXTS[b], duplicate) for a, b, duplicate in NEWS))
    confirm = ["--confirm", "0.9", "--similarity", "cosine", "--json"]
    every = ["--bits", "128", "--weights", fingerprinter.scheme.weights, *own]
    there = es_simhash("evaluate", "--store", store, *own, *confirm, cwd=tmp_path, stdin=texts).json
    assert there == es_simhash("evaluate", *every, *confirm, cwd=tmp_path, stdin=texts).json
    drawn = es_simhash("evaluate", "--sample", "9", "--store", store, *own, cwd=tmp_path).json
    assert max(pair["distance"] for pair in drawn) > 7
    if own:
        said = complaint(es_simhash("evaluate", "--sample", "9", "--store", store, cwd=tmp_path))
        assert "which is not loaded: pass it to the Fingerprinter (idf=…, or --idf FILE)" in said


@pytest.mark.parametrize("fingerprinter", [Fingerprinter(), Fingerprinter(Scheme(bits=128))], ids=["64", "128"])
@pytest.mark.slow
def test_sampled_pairs_can_be_labelled_and_evaluated(store: str, tmp_path: Path) -> None:
    def drawn(*options: str) -> Done:
        return es_simhash("evaluate", "--sample", "3", "--store", store, *options, cwd=tmp_path)

    done = drawn("--seed", "4")
    assert done.code == 0
    assert done.out == drawn("--seed", "4").out
    assert len({drawn("--seed", str(seed)).out for seed in range(3)}) > 1
    with Documents(store) as documents:
        assert done.json == [asdict(pair) for pair in sample_pairs(documents, 3, seed=4)]
    assert list(done.json[0]) == ["a_id", "b_id", "distance", "a", "b", "found"]
    assert done.err.startswith("3 pairs: 1 at 0 bits, ")
    some = b"".join(json.dumps({**pair, "duplicate": not pair["distance"]}).encode() + b"\n" for pair in done.json)
    for options in ([], ["--store", store], ["--store", store, "--confirm", "0.1"]):
        [shown] = es_simhash("evaluate", *options, "--json", cwd=tmp_path, stdin=some).json
        assert (shown["pairs"], shown["choose"], shown["points"][0]["f1"]) == (3, 0, 1)


def test_a_sample_of_a_store_without_near_documents_is_an_error(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        assert all(outcome.stored for outcome in documents.ingest([{"id": 1, "text": STORM}], rule="fingerprint"))
    said = complaint(es_simhash("evaluate", "--sample", "5", "--store", "sqlite:///news.db", cwd=tmp_path))
    what, fix = "no two documents in sqlite:///news.db are within 7 bits of each other", "ingest more documents"
    assert said == f"es-simhash: {what}: {fix}"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--sample", "5"], "--sample draws pairs from a store: name the store (--store URL)"),
        (["--sample", "5", "--store", "sqlite:///news.db", "pairs.jsonl"], "--sample only draws pairs"),
        (["--sample", "5", "--store", "sqlite:///news.db", "--confirm", "1"], "--sample only draws pairs"),
        (["--confirm", "1.5", "pairs.jsonl"], "1.5 is not in the range 0<x<=1"),
    ],
)
def test_options_that_exclude_each_other_are_a_usage_error(tmp_path: Path, arguments: list[str], problem: str) -> None:
    done = es_simhash("evaluate", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert problem in " ".join(done.err.split())
