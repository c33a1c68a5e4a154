"""Stored documents that another program changed: the one document has failed and is named, and nothing else stops."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch
from es_simhash.stores import stored_row

from es_simhash import Documents, DuplicateRule, SeenItems
from es_simhash.errors import InputError, SimhashError, StoreError
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TEXT = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
OTHER = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"

# The field `simhash` of a stored document, or changes of its values, and what is said of it.
DAMAGES: dict[str, tuple[Any, str]] = {
    "an array of objects": ([{"digest": "d"}, {"digest": "e"}], "digest that is not a string"),
    "fp as a list": ({"fp": [1, 2]}, "fp that is not an integer"),
    "digest as a list": ({"digest": ["a", "b"]}, "digest that is not a string"),
    "group as a list": ({"group": ["a", "b"]}, "group that is not a string"),
    "duplicate_of as a list": ({"duplicate_of": ["a", "b"]}, "duplicate_of that is not a string"),
    "written as a list": ({"written": [1, 2]}, "written that is not an integer"),
    "no digest": ({"digest": None}, "a fingerprint without a digest"),
    "no group": ({"group": None}, "a digest without a group"),
    "a link to itself": ({"duplicate_of": "odd"}, "a link to itself"),
}
UNFINGERPRINTED: dict[str, Any] = {"null": None, "an empty array": [], "an empty object": {}}


@pytest.fixture(autouse=True)
def _forget_warnings() -> None:
    stored_row._warn.cache_clear()


@pytest.fixture
def client(elasticsearch_url: str) -> Iterator[Elasticsearch]:
    with closing(Elasticsearch(elasticsearch_url, request_timeout=60)) as client:
        yield client


def spoil(client: Elasticsearch, index: str, simhash: Any) -> None:
    """Replace the field ``simhash`` of the document odd; a dict replaces some values."""
    source = client.get(index=index, id="odd")["_source"]
    source["simhash"] = {**source["simhash"], **simhash} if isinstance(simhash, dict) and simhash else simhash
    client.index(index=index, id="odd", document=source, refresh=True)


def check_every_verb(documents: Documents, damaged: str, caplog: pytest.LogCaptureFixture) -> None:
    """Use each verb on a store with the documents odd, good and copy, of which odd is damaged."""
    with caplog.at_level(logging.WARNING, "es_simhash"):
        outcomes = {
            outcome.id: outcome
            for outcome in documents.ingest(
                [{"id": "odd", "text": OTHER}, {"id": "new", "text": TEXT}, {"id": "good", "text": TEXT + "今日。"}],
                rule="fingerprint",
            )
        }
        assert outcomes["odd"].outcome == "failed"
        assert outcomes["odd"].reason is not None
        assert "'odd' is stored with" in outcomes["odd"].reason
        assert damaged in outcomes["odd"].reason
        assert outcomes["new"].stored
        assert outcomes["good"].outcome == "updated"
        assert {match.id for match in documents.similar(TEXT, rule="fingerprint")} >= {"new", "copy"}
        with pytest.raises(InputError, match=rf"'odd' is stored with .*{damaged}|'odd' has no fingerprint"):
            documents.similar_to("odd", rule="fingerprint")
        assert {row.id for row in documents.export()} >= {"new", "good", "copy"}
        assert documents.group(rule="fingerprint").documents >= 3
        assert documents.fetch(["odd"])["odd"].damaged
        assert documents.remove(["copy"], rule="fingerprint") == {"copy"}
    again = {
        o.id: o.outcome for o in documents.backfill(again=True, rule=DuplicateRule("fingerprint", text_field="text"))
    }
    assert again.keys() == {"odd", "new", "good"}
    assert "failed" not in again.values()
    assert documents.fetch(["odd"])["odd"].damaged is None, "a backfill repairs it"
    assert documents.similar_to("odd", rule="fingerprint") is not None
    assert len(documents.remove(matching={"match_all": {}}, rule="fingerprint")) == 3


def stored_documents(documents: Documents) -> None:
    for id in ("odd", "good", "copy"):
        assert [o.stored for o in documents.ingest([{"id": id, "text": TEXT}], rule="fingerprint")] == [True]


@pytest.mark.slow
@pytest.mark.elasticsearch
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_document_in_elasticsearch_stops_nothing(
    damage: str, client: Elasticsearch, elasticsearch_url: str, index_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    simhash, said = DAMAGES[damage]
    with Documents(f"{elasticsearch_url}/{index_name}") as documents:
        documents.setup(keys=False)
        stored_documents(documents)
        spoil(client, index_name, simhash)
        check_every_verb(documents, said, caplog)


@pytest.mark.slow
@pytest.mark.elasticsearch
@pytest.mark.parametrize("name", UNFINGERPRINTED)
def test_a_document_whose_simhash_is_empty_is_like_one_without(
    name: str, client: Elasticsearch, elasticsearch_url: str, index_name: str
) -> None:
    with Documents(f"{elasticsearch_url}/{index_name}") as documents:
        documents.setup(keys=False)
        stored_documents(documents)
        spoil(client, index_name, UNFINGERPRINTED[name])
        assert {row.id for row in documents.export()} == {"good", "copy"}
        with pytest.raises(InputError, match="'odd' has no fingerprint"):
            documents.similar_to("odd", rule="fingerprint")
        assert [
            (o.id, o.outcome) for o in documents.backfill(rule=DuplicateRule("fingerprint", text_field="text"))
        ] == [("odd", "exact_duplicate")]
        spoil(client, index_name, UNFINGERPRINTED[name])
        assert [o.outcome for o in documents.ingest([{"id": "odd", "text": OTHER}], rule="fingerprint")] == ["updated"]
        assert documents.group(rule="fingerprint").documents == 3


SQLITE_DAMAGES: dict[str, tuple[str, str]] = {
    "fp as a string": ("fp = 'x'", "fp that is not an integer"),
    "fp as a fraction": ("fp = 1.5", "fp that is not an integer"),
    "digest as bytes": ("digest = x'ff'", "digest that is not a string"),
    "group as bytes": ("\"group\" = x'ff'", "group that is not a string"),
    "no group": ("\"group\" = ''", "a digest without a group"),
    "no digest": ("digest = ''", "a fingerprint without a digest"),
    "duplicate_of as bytes": ("duplicate_of = x'ff'", "duplicate_of that is not a string"),
    "a link to itself": ("duplicate_of = id", "a link to itself"),
    "length as a string": ("length = 'x'", "length that is not an integer"),
    "a negative length": ("length = -5", "a negative length"),
    "keys as a string": ("keys = 'x'", "keys that are not those of a text"),
    "keys of four bytes": ("keys = x'01020304'", "keys that are not those of a text"),
    "keys as a number": ("keys = 7", "keys that are not those of a text"),
}


@pytest.mark.parametrize("damage", SQLITE_DAMAGES)
def test_a_damaged_row_in_sqlite_stops_nothing(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    change, said = SQLITE_DAMAGES[damage]
    with Documents(f"sqlite:///{tmp_path / 'store.db'}") as documents:
        documents.setup(keys=True)
        stored_documents(documents)
        with documents._store._database.use() as connection:  # type: ignore[attr-defined]
            connection.execute(f"UPDATE documents SET {change} WHERE id = 'odd'")
        check_every_verb(documents, said, caplog)


@pytest.mark.parametrize("source", ["'{'", "'[]'", "'null'", "x'ff'", "''", "5"])
def test_a_source_in_sqlite_that_is_no_object_stops_nothing(source: str, tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'store.db'}") as documents:
        stored_documents(documents)
        with documents._store._database.use() as connection:  # type: ignore[attr-defined]
            connection.execute(f"UPDATE documents SET source = {source} WHERE id = 'odd'")
        lang = {"bool": {"must_not": {"term": {"lang": "en"}}}}
        assert len(documents.similar(TEXT, filter=lang, rule="fingerprint")) == 3
        documents.setup(rule=DuplicateRule(confirm=0.5))
        outcomes = list(
            documents.ingest([{"id": "new", "text": TEXT + "今日。"}], rule=DuplicateRule(confirm=0.5), filter=lang)
        )
        assert [outcome.outcome for outcome in outcomes] == ["failed"]
        assert "document 'odd': no text" in (outcomes[0].reason or "")
        documents.setup(rule="fingerprint")
        backfilled = {
            o.id: o.outcome
            for o in documents.backfill(again=True, rule=DuplicateRule("fingerprint", text_field="text"))
        }
        assert backfilled == {"odd": "rejected", "good": "unchanged", "copy": "unchanged"}
        assert [o.outcome for o in documents.ingest([{"id": "odd", "text": OTHER}], rule="fingerprint")] == ["updated"]
        documents.setup(rule=DuplicateRule(confirm=0.5))
        assert documents.group(rule=DuplicateRule(confirm=0.5)).documents == 3


def test_a_damaged_document_is_named_in_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Documents(f"sqlite:///{tmp_path / 'store.db'}") as documents:
        stored_documents(documents)
        with documents._store._database.use() as connection:  # type: ignore[attr-defined]
            connection.execute("UPDATE documents SET \"group\" = '' WHERE id = 'odd'")
        for _ in range(3):
            documents.group(rule="fingerprint")
            documents.similar(TEXT, rule="fingerprint")
    [said] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert said.startswith("left out: document 'odd' is stored with a digest without a group: ")


# --- an index that cannot be used ----------------------------------------------------------------------------------

MAPPINGS: dict[str, tuple[dict[str, Any], str]] = {
    "_source disabled": ({"_source": {"enabled": False}}, "has `_source` disabled"),
    "_source without our field": ({"_source": {"excludes": ["simhash*"]}}, "has excludes in its `_source`"),
    "_source with one field": ({"_source": {"includes": ["text"]}}, "has includes in its `_source`"),
    "required routing": ({"_routing": {"required": True}}, "requires routing"),
}


@pytest.mark.elasticsearch
@pytest.mark.parametrize("kind", MAPPINGS)
def test_an_index_that_cannot_be_used_is_refused_with_the_reason(
    kind: str, client: Elasticsearch, elasticsearch_url: str, index_name: str
) -> None:
    mapping, said = MAPPINGS[kind]
    client.indices.create(index=index_name, mappings=mapping)
    address = f"{elasticsearch_url}/{index_name}"
    with Documents(address) as documents, SeenItems(address) as seen:
        for verb in (
            documents.setup,
            lambda: list(documents.ingest([{"id": "a", "text": TEXT}], rule="fingerprint")),
            lambda: list(documents.backfill(rule=DuplicateRule("fingerprint", text_field="text"))),
            documents.group,
            lambda: documents.similar(TEXT, rule="fingerprint"),
            seen.setup,
            lambda: seen.add("ann", ["a"]),
        ):
            with pytest.raises(InputError, match=said):
                verb()


@pytest.mark.elasticsearch
def test_an_index_whose_settings_disable_source_is_refused_with_the_reason(
    client: Elasticsearch, elasticsearch_url: str, index_name: str
) -> None:
    try:
        client.indices.create(index=index_name, settings={"index.mapping.source.mode": "disabled"})
    except Exception as error:
        pytest.skip(f"this server has no such setting: {error}")
    with Documents(f"{elasticsearch_url}/{index_name}") as documents:
        for verb in (
            documents.setup,
            lambda: list(documents.backfill(rule=DuplicateRule("fingerprint", text_field="text"))),
        ):
            with pytest.raises(InputError, match="has `_source` disabled"):
                verb()


OUR_FIELDS: dict[str, dict[str, Any]] = {
    "fp": {"type": "keyword"},
    "digest": {"type": "text"},
    "group": {"type": "keyword", "doc_values": False},
    "s0": {"type": "keyword", "doc_values": False, "index": False},
}


@pytest.mark.elasticsearch
@pytest.mark.parametrize("field", OUR_FIELDS)
def test_an_index_whose_fields_have_other_types_is_refused_with_the_field(
    field: str, client: Elasticsearch, elasticsearch_url: str, make_index: Callable[[], str]
) -> None:
    good, index = make_index(), make_index()
    with Documents(f"{elasticsearch_url}/{good}") as documents:
        documents.setup(keys=False)
    mapping = client.indices.get_mapping(index=good)[good]["mappings"]
    mapping["properties"]["simhash"]["properties"][field] = OUR_FIELDS[field]
    client.indices.create(index=index, mappings=mapping)
    with Documents(f"{elasticsearch_url}/{index}") as documents:
        for verb in (documents.setup, documents.group):
            with pytest.raises(InputError, match=rf"maps `simhash.{field}` as .*, es_simhash needs"):
                verb()


METAS: dict[str, Any] = {
    "our part is a string": {"es_simhash": "x"},
    "our part is a list": {"es_simhash": [1]},
    "the Scheme is a string": {"es_simhash": {"scheme": "x"}},
    "the Scheme is a list": {"es_simhash": {"scheme": [1]}},
    "the Scheme is empty": {"es_simhash": {"scheme": {}}},
    "a choice is a list": {"es_simhash": {"scheme": {"bits": []}}},
    "our part is null": {"es_simhash": None},
    "there is none": {},
}


@pytest.mark.elasticsearch
@pytest.mark.parametrize("kind", METAS)
def test_a_damaged_meta_is_refused_with_the_reason(
    kind: str, client: Elasticsearch, elasticsearch_url: str, index_name: str
) -> None:
    address = f"{elasticsearch_url}/{index_name}"
    with Documents(address) as documents:
        documents.setup(keys=False)
        stored_documents(documents)
    meta = json.loads(json.dumps(METAS[kind]))
    if isinstance(scheme := (meta.get("es_simhash") or {}), dict) and isinstance(scheme.get("scheme"), dict):
        scheme["scheme"] = {**Documents(address).info().fingerprinter.scheme.to_dict(), **scheme["scheme"]}
        if kind == "the Scheme is empty":
            scheme["scheme"] = {}
    client.indices.put_mapping(index=index_name, meta=meta)
    with Documents(address) as documents:
        for verb in (documents.setup, documents.group, lambda: documents.similar(TEXT, rule="fingerprint")):
            with pytest.raises((StoreError, InputError), match=r"\w+") as raised:
                verb()
            assert "\n" not in str(raised.value)


@pytest.mark.elasticsearch
def test_a_damaged_state_of_the_keys_is_refused_with_the_reason(
    client: Elasticsearch, elasticsearch_url: str, index_name: str
) -> None:
    address = f"{elasticsearch_url}/{index_name}"
    with Documents(address) as documents:
        documents.setup(keys=True)
    for keys in ("x", [], {}, True, ["complete"], {"complete": True}):
        meta = client.indices.get_mapping(index=index_name)[index_name]["mappings"]["_meta"]
        meta["es_simhash"]["keys"] = keys
        client.indices.put_mapping(index=index_name, meta=meta)
        with (
            Documents(address) as documents,
            pytest.raises(StoreError, match="the state of the keys in the store is damaged"),
        ):
            list(documents.ingest([{"id": "a", "text": TEXT}], rule=DuplicateRule(confirm=0.8)))


@pytest.mark.parametrize(
    "value", ["", "{", "[]", "null", "5", '"x"', "{}", '{"rules": 1, "bits": []}', "NaN", "[" * 9_999]
)
@pytest.mark.parametrize("key", ["scheme", "documents", "keys"])
def test_a_damaged_table_meta_in_sqlite_is_refused_with_the_reason(key: str, value: str, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'store.db'}"
    with Documents(address) as documents:
        documents.setup(keys=True)
        stored_documents(documents)
        with documents._store._database.use() as connection:  # type: ignore[attr-defined]
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", [value, key])
    with Documents(address) as documents, pytest.raises(SimhashError, match=r"\w+") as raised:
        list(documents.ingest([{"id": "a", "text": TEXT}], rule=DuplicateRule(confirm=0.8)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("value", ["", "{", "[]", "null", "5", "{}", '{"capacity": "x"}', '{"capacity": null}'])
@pytest.mark.parametrize("key", ["seen", "users"])
def test_a_damaged_table_meta_of_seen_items_is_refused_with_the_reason(key: str, value: str, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'store.db'}"
    with SeenItems(address) as seen:
        seen.add("ann", ["a"])
        with seen._store._database.use() as connection:  # type: ignore[attr-defined]
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", [value, key])
    with SeenItems(address, capacity=77) as seen, pytest.raises(SimhashError, match=r"\w+") as raised:
        seen.add("ann", ["b"])
    assert "\n" not in str(raised.value)


# --- custom routing ------------------------------------------------------------------------------------------------


@pytest.mark.elasticsearch
def test_an_index_with_custom_routing_is_refused_at_once(
    client: Elasticsearch, elasticsearch_url: str, index_name: str
) -> None:
    address = f"{elasticsearch_url}/{index_name}"
    client.indices.create(index=index_name, settings={"number_of_shards": 5})
    client.index(index=index_name, id="odd", routing="r", document={"text": TEXT}, refresh=True)
    with Documents(address) as documents, SeenItems(address) as seen:
        for verb in (
            documents.setup,
            lambda: list(documents.backfill(rule=DuplicateRule("fingerprint", text_field="text"))),
            seen.setup,
        ):
            with pytest.raises(InputError, match=r"document 'odd' of .* has custom routing"):
                verb()


@pytest.mark.parametrize("damaged", [1, 30])
@pytest.mark.parametrize("rule", [{}, {"max_distance": 7}, {"confirm": 0.5}, {"rule": "exact"}], ids=str)
def test_a_damaged_document_does_not_hide_its_copies(tmp_path: Path, damaged: int, rule: dict[str, Any]) -> None:
    with Documents(f"sqlite:///{tmp_path / 'store.db'}") as documents:
        list(documents.ingest([{"id": f"odd{n}", "text": TEXT} for n in range(damaged)], rule="fingerprint"))
        list(documents.ingest([{"id": "good", "text": TEXT}], rule="fingerprint"))
        with documents._store._database.use() as connection:  # type: ignore[attr-defined]
            connection.execute("UPDATE documents SET \"group\" = '' WHERE id LIKE 'odd%'")
        documents.setup(**keywords_of({"rule": "copy", **rule}))
        [outcome] = documents.ingest([{"id": "new", "text": TEXT}], **keywords_of(rule))
        assert (outcome.outcome, outcome.duplicate_of) == ("exact_duplicate", "good")


@pytest.mark.slow
@pytest.mark.elasticsearch
@pytest.mark.parametrize("damage", ["group as a list", "digest as a list", "fp as a list"])
def test_a_damaged_document_in_elasticsearch_does_not_hide_its_copies(
    damage: str, client: Elasticsearch, elasticsearch_url: str, index_name: str
) -> None:
    with Documents(f"{elasticsearch_url}/{index_name}") as documents:
        documents.setup(keys=False)
        stored_documents(documents)
        spoil(client, index_name, DAMAGES[damage][0])
        [outcome] = documents.ingest([{"id": "new", "text": TEXT}], rule="fingerprint")
        assert (outcome.outcome, outcome.duplicate_of) == ("exact_duplicate", "good")
