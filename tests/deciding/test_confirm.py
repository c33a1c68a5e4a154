"""Near-duplicates that their texts confirm: in ingest, similar, group and remove, sync and async, in each store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, Scheme, fingerprint
from es_simhash.contract import Row
from es_simhash.deciding import memory
from es_simhash.errors import InputError
from tests.contract import LinearStore
from tests.contract.watched import WatchedStore
from tests.rules import keywords_of
from tests.similarity.reference import jaccard, similarity

if TYPE_CHECKING:
    from collections.abc import Iterator

STORM = (
    "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
    "预计未来六小时降雨量将达到五十毫米，局地伴有雷电和短时大风，请有关单位和人员做好防范准备。"
)
EDITED = STORM.replace("雷电", "冰雹")  # near, and alike
SHUFFLED = "，".join(reversed(STORM.replace("。", "，").strip("，").split("，")))  # the same words in another order
TEXTS = {"storm": STORM, "edited": EDITED, "shuffled": SHUFFLED, "copy": STORM.replace("，", ",")}


def test_the_texts_of_these_tests_are_what_they_are_said_to_be() -> None:
    for text, alike in ((EDITED, True), (SHUFFLED, False)):
        assert (fingerprint(STORM).distance(fingerprint(text)) or 0) <= 7
        assert (jaccard(STORM, text) >= 0.8) == alike
    assert jaccard(EDITED, SHUFFLED) < 0.8


@pytest.fixture(params=["lagging", "sqlite", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def address(request: pytest.FixtureRequest) -> Any:
    if request.param == "lagging":
        return LinearStore(lagging=True)
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('tmp_path')}/confirm.db"
    return f"{request.getfixturevalue('elasticsearch_url')}/{request.getfixturevalue('make_index')()}"


@pytest.fixture
def documents(address: Any) -> Iterator[Documents]:
    with Documents(address) as documents:
        documents.setup(keys=False)
        yield documents


def ingest(documents: Documents, texts: dict[str, str], **options: Any) -> list[tuple[Any, ...]]:
    items = [{"id": id, "text": text} for id, text in texts.items()]
    return [
        (o.outcome, o.duplicate_of, o.distance, o.similarity) for o in documents.ingest(items, **keywords_of(options))
    ]


def links(documents: Documents) -> dict[str, tuple[str, str | None]]:
    return {row.id: (row.group, row.duplicate_of) for row in documents.export()}


def distance(text: str) -> int | None:
    return fingerprint(STORM).distance(fingerprint(text))


@pytest.mark.parametrize("batch_size", [1, 100])
def test_ingest_takes_only_what_agrees_for_a_duplicate(documents: Documents, batch_size: int) -> None:
    outcomes = ingest(documents, TEXTS, rule=DuplicateRule(confirm=0.8), batch_size=batch_size)
    assert outcomes == [
        ("new", None, None, None),
        ("near_duplicate", "storm", distance(EDITED), similarity(STORM, EDITED)),
        ("new", None, None, None),
        ("exact_duplicate", "storm", 0, 1.0),
    ]
    assert ingest(documents, {"again": EDITED, "other": SHUFFLED + "完"}, rule=DuplicateRule(confirm=0.8)) == [
        ("exact_duplicate", "edited", 0, 1.0),
        ("near_duplicate", "shuffled", 0, similarity(SHUFFLED, SHUFFLED + "完")),
    ]


def test_without_confirm_there_is_no_similarity(documents: Documents) -> None:
    outcomes = ingest(documents, TEXTS, rule=DuplicateRule("fingerprint", max_distance=7))
    assert [outcome[0] for outcome in outcomes] == ["new", "near_duplicate", "near_duplicate", "exact_duplicate"]
    assert {outcome[3] for outcome in outcomes} == {None}


def test_similar_gives_distance_and_similarity_of_what_agrees(documents: Documents) -> None:
    ingest(documents, TEXTS, rule=DuplicateRule(confirm=0.8))
    matches = documents.similar(STORM, rule=DuplicateRule(confirm=0.8))
    assert [(m.id, m.distance, m.exact, m.similarity) for m in matches] == [
        ("copy", 0, True, 1.0),
        ("storm", 0, True, 1.0),
        ("edited", distance(EDITED), False, similarity(STORM, EDITED)),
    ]
    assert {m.id for m in documents.similar(STORM, rule=DuplicateRule("fingerprint", max_distance=7))} == set(TEXTS)
    assert {m.id for m in documents.similar(STORM, rule=DuplicateRule(confirm=0.01))} == set(TEXTS)
    assert {m.id for m in documents.similar(STORM, rule=DuplicateRule(confirm=1.0))} == {"copy", "storm"}
    assert [m.id for m in documents.similar_to("edited", rule=DuplicateRule(confirm=0.8))] == ["copy", "storm"]
    assert documents.similar_to("shuffled", rule=DuplicateRule(confirm=0.8)) == []
    assert [
        len(some) for some in documents.similar_many([STORM, SHUFFLED, "", "别的"], rule=DuplicateRule(confirm=0.8))
    ] == [3, 1, 0, 0]


def test_cosine_is_blind_to_order(documents: Documents) -> None:
    ingest(documents, TEXTS, rule=DuplicateRule(confirm=0.8, measure="cosine"))
    found = {m.id: m.similarity for m in documents.similar(STORM, rule=DuplicateRule(confirm=0.8, measure="cosine"))}
    assert found == {id: similarity(STORM, text, "cosine") for id, text in TEXTS.items()}


def test_group_keeps_apart_what_does_not_agree(documents: Documents) -> None:
    ingest(documents, TEXTS, rule=DuplicateRule("fingerprint", max_distance=7))
    assert {group for group, _ in links(documents).values()} == {"storm"}
    documents.setup(rule=DuplicateRule(confirm=0.8))
    report = documents.group(rule=DuplicateRule(confirm=0.8))
    assert (report.groups, report.members) == (1, 3)
    assert links(documents) == {
        "storm": ("storm", None),
        "edited": ("storm", "storm"),
        "shuffled": ("shuffled", None),
        "copy": ("storm", "storm"),
    }
    assert documents.group(rule=DuplicateRule(confirm=0.8)).changed == 0


def test_an_ingest_and_group_agree(documents: Documents) -> None:
    ingest(documents, TEXTS, rule=DuplicateRule(confirm=0.8))
    assert documents.group(rule=DuplicateRule(confirm=0.8)).changed == 0


def test_what_loses_its_original_finds_one_that_agrees(documents: Documents) -> None:
    ingest(documents, {"shuffled": SHUFFLED, "storm": STORM, "edited": EDITED}, rule=DuplicateRule(confirm=0.8))
    assert links(documents)["edited"] == ("storm", "storm")
    documents.remove(["storm"], rule=DuplicateRule(confirm=0.8))
    assert links(documents) == {"shuffled": ("shuffled", None), "edited": ("edited", None)}


def test_a_link_goes_where_an_edit_lets_the_texts_agree_no_more(documents: Documents) -> None:
    ingest(documents, {"storm": STORM, "edited": EDITED}, rule=DuplicateRule(confirm=0.8))
    assert ingest(documents, {"storm": SHUFFLED}, rule=DuplicateRule(confirm=0.8))[0][0] == "updated"
    assert links(documents) == {"storm": ("storm", None), "edited": ("edited", None)}


def test_texts_of_several_fields(documents: Documents) -> None:
    fields = {"text_field": ["title", "body.text"]}
    items = [
        {"id": "a", "title": "暴雨", "body": {"text": STORM}},
        {"id": "b", "title": "暴雨", "body": {"text": EDITED}},
        {"id": "c", "title": "暴雨", "body": {"text": SHUFFLED}},
    ]
    outcomes = list(documents.ingest(items, **keywords_of({"confirm": 0.8, **fields})))  # type: ignore[arg-type]
    assert [o.outcome for o in outcomes] == ["new", "near_duplicate", "new"]
    assert [m.id for m in documents.similar_to("a", **keywords_of({"confirm": 0.8, **fields}))] == ["b"]  # type: ignore[arg-type]
    assert documents.group(**keywords_of({"confirm": 0.8, **fields})).changed == 0  # type: ignore[arg-type]


# --- what can't be confirmed -------------------------------------------------------------------------------


def test_a_near_document_without_a_text_in_the_store_is_an_error_that_names_it(documents: Documents) -> None:
    list(documents.ingest([{"id": "a", "body": STORM}], rule=DuplicateRule("fingerprint", text_field="body")))
    expected = r"cannot compare with stored document 'a': no text in field 'text': name the field .*\(text_field\)"
    with pytest.raises(InputError, match=expected):
        documents.similar(EDITED, rule=DuplicateRule("copy", confirm=0.8, text_field="text"))
    documents.setup(rule=DuplicateRule(confirm=0.8, text_field="text"))
    with pytest.raises(InputError, match=expected):
        documents.similar_to("a", rule=DuplicateRule(confirm=0.8, text_field="text")) or documents.similar(
            SHUFFLED, rule=DuplicateRule(confirm=0.8)
        )
    (outcome,) = documents.ingest([{"id": "b", "text": EDITED}], rule=DuplicateRule(confirm=0.8))
    assert (outcome.outcome, outcome.stored) == ("failed", False)
    assert outcome.reason is not None
    assert "'a'" in outcome.reason
    assert outcome.document == {"id": "b", "text": EDITED}
    # Others are not held up, and a copy needs no text.
    assert [
        o[0]
        for o in ingest(documents, {"c": STORM, "d": "完全 不同 文章 关于 天气 预报"}, rule=DuplicateRule(confirm=0.8))
    ] == [
        "exact_duplicate",
        "new",
    ]
    documents.setup(rule=DuplicateRule("fingerprint", text_field="body"))
    list(documents.ingest([{"id": "e", "body": EDITED}], rule=DuplicateRule("fingerprint", text_field="body")))
    documents.setup(rule=DuplicateRule(confirm=0.8, text_field="text"))
    before = links(documents)
    with pytest.raises(InputError, match="cannot compare with stored document"):
        documents.group(rule=DuplicateRule(confirm=0.8))
    assert links(documents) == before


# --- distances by default, and exact mode ------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "widest"), [(64, 7), (128, 15)])
def test_with_confirm_everything_is_looked_at_that_the_scheme_allows(bits: int, widest: int) -> None:
    words = [f"{a}{b}" for a in "春夏秋冬东西南北山水" for b in "风雨云雪花草树木石路灯火"]
    scheme = Scheme(bits=bits)
    base = "，".join(words)
    edits = ["，".join(words[:n] + words[n + 12 :]) for n in range(0, 100, 3)]
    with Documents("sqlite:///:memory:", scheme=scheme) as documents:
        list(documents.ingest([{"id": n, "text": text} for n, text in enumerate(edits)], rule="fingerprint"))
        distances = [fingerprint(base, scheme).distance(fingerprint(text, scheme)) or 0 for text in edits]
        found = documents.similar(base, rule=DuplicateRule("copy", confirm=0.5))
        assert {m.id for m in found} == {str(n) for n, far in enumerate(distances) if far <= widest}
        assert {m.id for m in documents.similar(base, rule="fingerprint")} == {
            str(n) for n, far in enumerate(distances) if far <= 3
        }
        assert 3 < max(match.distance for match in found) <= widest


def test_exact_mode_by_name(documents: Documents) -> None:
    punctuated = STORM.replace("，", "；")  # the same words: equal fingerprints, another digest
    assert fingerprint(STORM).value == fingerprint(punctuated).value
    texts = {"storm": STORM, "copy": STORM, "punctuated": punctuated, "edited": EDITED}
    assert [o[:2] for o in ingest(documents, texts, rule="exact")] == [
        ("new", None),
        ("exact_duplicate", "storm"),
        ("new", None),
        ("new", None),
    ]
    assert {m.id for m in documents.similar(STORM, rule="exact")} == {"storm", "copy"}
    assert {m.id for m in documents.similar(STORM, rule=DuplicateRule("fingerprint", max_distance=0))} == {
        "storm",
        "copy",
        "punctuated",
    }
    assert {m.id for m in documents.similar_to("copy", rule="exact")} == {"storm"}
    assert documents.group(rule="exact").changed == 0
    documents.setup(rule=DuplicateRule("fingerprint", max_distance=0))
    assert documents.group(rule=DuplicateRule("fingerprint", max_distance=0)).changed == 1
    assert links(documents)["punctuated"] == ("storm", "storm")
    assert links(documents)["edited"] == ("edited", None)


# --- async, states -----------------------------------------------------------------------------------------


def test_a_state_of_another_confirm_is_refused(tmp_path: Any) -> None:
    state = str(tmp_path / "run.state")
    items = [{"id": id, "text": text} for id, text in TEXTS.items()]
    with Documents("sqlite:///:memory:") as documents:
        list(documents.ingest(items, rule=DuplicateRule(confirm=0.8), checkpoint=state))
        documents.setup(rule=DuplicateRule(confirm=0.9))
        with pytest.raises(InputError, match=r"was created with confirm 0.8, not 0.9"):
            list(documents.ingest(items, rule=DuplicateRule(confirm=0.9), checkpoint=state))
        documents.setup(rule=DuplicateRule("fingerprint", max_distance=7))
        with pytest.raises(InputError, match="rule 'copy', not 'fingerprint'"):
            list(documents.ingest(items, rule=DuplicateRule("fingerprint", max_distance=7), checkpoint=state))


def test_what_was_written_last_is_at_hand_as_long_as_there_is_room() -> None:
    recent = memory.RecentSources(10)

    def row(id: str, digest: str) -> Row:
        return Row(id, None, digest, id, None, 1)

    recent.keep("a", "one", "aaaa")
    recent.keep("b", "two", "bbbb")
    assert recent.get(row("a", "one")) == "aaaa"
    assert recent.get(row("a", "another text")) is None
    recent.keep("a", "new", "aaa")  # the oldest now is b
    recent.keep("c", "three", "cccc")
    assert [recent.get(row(*known)) for known in (("a", "new"), ("b", "two"), ("c", "three"))] == ["aaa", None, "cccc"]
    recent.keep("d", "four", "d" * 11)
    assert recent.get(row("d", "four")) is recent.get(row("c", "three")) is None


def test_a_run_brings_only_texts_that_it_did_not_write() -> None:
    store = WatchedStore(LinearStore())
    documents = Documents(store)
    assert [
        o[0]
        for o in ingest(documents, {"storm": STORM, "edited": EDITED}, rule=DuplicateRule(confirm=0.8), batch_size=1)
    ] == [
        "new",
        "near_duplicate",
    ]
    assert store.times_asked("fetch_fields") == 0
    assert ingest(documents, {"again": EDITED + "完"}, rule=DuplicateRule(confirm=0.8))[0][0] == "near_duplicate"
    assert [call.ids for call in store.asked if call.method == "fetch_fields"] == [("edited", "storm")]


def test_similar_many_reads_the_texts_of_a_hundred_documents_in_one_request() -> None:
    store = WatchedStore(LinearStore())
    documents = Documents(store)
    pages = [f"{STORM}第{number}号通告{chr(0x6C34 + number) * 5}" for number in range(30)]
    ingest(documents, {f"{page[-1]}{last}": page + last for page in pages for last in "甲乙丙丁"})
    alone = [documents.similar(page) for page in pages]
    assert all(len(some) == 4 for some in alone)
    store.asked.clear()
    assert documents.similar_many(pages) == alone
    fetched = [len(call.ids) for call in store.asked if call.method == "fetch_fields"]
    assert sum(fetched) == 120
    assert fetched[0] == 100


def test_long_texts_are_not_read_together_for_several_askers() -> None:
    store = WatchedStore(LinearStore())
    documents = Documents(store)
    pages = [
        "".join(chr(0x4E00 + (number * 7_919 + place * place) % 20_000) for place in range(400_000))
        for number in range(3)
    ]
    ingest(documents, {str(number): page + "完" for number, page in enumerate(pages)})
    store.asked.clear()
    assert [[match.id for match in some] for some in documents.similar_many(pages)] == [["0"], ["1"], ["2"]]
    assert [call.ids for call in store.asked if call.method == "fetch_fields"] == [("0", "1"), ("2",)]
