"""On a real OpenSearch: what is not in the contract suite. The reference is an SQLite file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from opensearchpy import AsyncOpenSearch, OpenSearch

from es_simhash import AsyncDocuments, Documents, DuplicateRule
from es_simhash.contract import Scan, pages
from es_simhash.errors import InputError, WrongServer
from es_simhash.stores.address import open_store
from es_simhash.tools.doctor import doctor
from es_simhash.tools.report.groups import Groups
from tests.faults import BATCH, MAX_DISTANCE, later, news
from tests.limited import limit_reading
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.opensearch, pytest.mark.slow]

RULE: dict[str, Any] = {"max_distance": MAX_DISTANCE, "confirm": 0.6, "batch_size": BATCH}


@pytest.fixture
def client(opensearch_url: str) -> Iterator[OpenSearch]:
    with OpenSearch(opensearch_url, timeout=60) as client:
        yield client


def sharded(client: OpenSearch, index: str, shards: int = 3) -> str:
    client.indices.create(index=index, body={"settings": {"number_of_shards": shards, "number_of_replicas": 0}})
    return index


class Called:
    """An AsyncDocuments that is used by calls: each awaits on one event loop."""

    def __init__(self, documents: AsyncDocuments) -> None:
        self._documents, self._loop = documents, asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._documents, name)
        return lambda *args, **options: self._loop.run_until_complete(self._listed(method(*args, **options)))

    @staticmethod
    async def _listed(result: Any) -> Any:
        return [each async for each in result] if hasattr(result, "__aiter__") else await result

    def close(self) -> None:
        self._loop.run_until_complete(self._documents.close())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


def flow(documents: Any, *, tools: bool) -> list[Any]:
    """Return what the verbs of a program reply, one after another.

    :param tools: also what the tools reply, which are for Documents only.
    """
    first = news(60, seed=4)
    copy = [{"id": f"copy {document['id']}", "text": document["text"]} for document in first[:9]]
    replies: list[Any] = [documents.setup(keys=True)]
    replies += documents.ingest(first, **keywords_of(RULE))
    replies += documents.ingest(later(first, seed=5), **keywords_of(RULE))
    documents.setup(rule=DuplicateRule("fingerprint", max_distance=3))
    replies += [
        documents.add(copy[0], refresh=True, rule="fingerprint"),
        documents.add_many(copy, on_duplicate="skip", refresh="wait_for", rule="fingerprint"),
    ]
    replies += [
        documents.similar(first[0]["text"], rule=DuplicateRule("copy", confirm=0.5)),
        documents.similar_to("7", rule=DuplicateRule("fingerprint", max_distance=7)),
    ]
    replies += [
        documents.similar_many([each["text"] for each in copy], rule=DuplicateRule("fingerprint", max_distance=3)),
        documents.info().keys,
    ]
    replies += [
        documents.group(rule=DuplicateRule("fingerprint", max_distance=3)),
        contents(documents),
        documents.fetch(["7", "none"], fields="*"),
    ]
    replies.append(list(Groups(documents.export()).largest()))
    replies += [
        documents.remove(["3", "4", "none"], rule="fingerprint"),
        len(documents.remove(matching={"ids": {"values": ["5"]}}, rule="fingerprint")),
    ]
    replies += [
        documents.remove_duplicates(
            documents.duplicates(rule=DuplicateRule("fingerprint", max_distance=3)),
            rule=DuplicateRule("fingerprint", max_distance=3),
        )
    ]
    replies += [
        sorted(o.id for o in documents.backfill(again=True, rule=DuplicateRule("fingerprint", text_field="text"))),
    ]
    replies += [contents(documents)]
    return replies


def contents(documents: Any) -> list[Any]:
    return sorted((row.id, row.fingerprint, row.group, row.duplicate_of) for row in documents.export())


def test_every_verb_on_several_shards_replies_as_on_sqlite(
    client: OpenSearch,
    opensearch_url: str,
    make_opensearch_index: Callable[[], str],
) -> None:
    with Documents("sqlite:///:memory:") as reference:
        expected = flow(reference)
    index = sharded(client, make_opensearch_index())
    address = f"opensearch+{opensearch_url}/{index}"
    store = open_store(address)
    limit_reading(store, page=20, scan_page=7)
    documents: Any = Documents(store)
    found = flow(documents)
    with Documents(address) as one:
        assert doctor(one).ok
    documents.close()
    assert found[0] == "added"
    assert found[1:] == expected[1:]
    searched = client.indices.stats(index=index, metric="search")["_all"]["primaries"]["search"]
    assert searched["point_in_time_total"] > 0
    assert searched["point_in_time_current"] == 0


def ids_of_part(documents: Documents, part: int, parts: int) -> list[str]:
    ids: list[str] = []
    for page in pages(documents._store, Scan(slice=(part, parts))):
        ids += [row.id for row in page.rows]
    return ids


@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_an_alias_is_read_to_its_end_in_pages_of_any_size(
    client: OpenSearch, make_opensearch_index: Callable[[], str], size: int
) -> None:
    indices = [sharded(client, make_opensearch_index(), shards) for shards in (1, 3)]
    ids = set()
    for index in indices:
        with Documents(client, index=index) as documents:
            documents.setup(keys=False)
            ids |= {
                o.id
                for o in documents.ingest(
                    ({"id": f"{index}-{n}", "text": "暴雨"} for n in range(20)), rule="fingerprint"
                )
            }
    client.indices.put_alias(index=",".join(indices), name=f"{indices[0]}-both")
    with Documents(client, index=f"{indices[0]}-both") as documents:
        limit_reading(documents.store, scan_page=size)
        found = [row.id for row in documents.export()]
        assert len(found) == 40
        assert set(found) == ids
        parts = [ids_of_part(documents, part, 3) for part in range(3)]
    assert sorted(id for part in parts for id in part) == sorted(ids)
    assert all(parts)


@pytest.mark.parametrize("replicas", [0, 1])
def test_an_index_whose_replicas_lag_behind_is_refused(
    client: OpenSearch, make_opensearch_index: Callable[[], str], replicas: int
) -> None:
    index = make_opensearch_index()
    settings = {"index.replication.type": "SEGMENT", "number_of_replicas": replicas}
    client.indices.create(index=index, body={"settings": settings})
    documents = Documents(client, index=index)
    if replicas:
        with pytest.raises(InputError, match=f"the index {index} has segment replication"):
            documents.setup(keys=False)
    else:
        assert documents.setup(keys=False) == "added"


def test_a_program_passes_its_own_client_sync_or_async(
    client: OpenSearch, opensearch_url: str, make_opensearch_index: Callable[[], str]
) -> None:
    index = make_opensearch_index()
    with Documents(client, index=index) as documents:
        assert documents.name == f"opensearch+{opensearch_url}/{index}"
        documents.setup(keys=False)
        expected = list(documents.ingest(news(10), rule="fingerprint"))
    assert client.ping(), "it stays open"
    with pytest.raises(InputError, match="AsyncSeenItems need a client of the class AsyncOpenSearch"):
        AsyncDocuments(client, index=index)  # type: ignore[arg-type]

    async def main() -> list[Any]:
        async with AsyncOpenSearch(opensearch_url) as own, AsyncDocuments(own, index=make_opensearch_index()) as other:
            await other.setup(keys=False)
            return [outcome async for outcome in other.ingest(news(10), rule="fingerprint")]

    assert asyncio.run(main()) == expected


@pytest.mark.elasticsearch
def test_the_wrong_server_is_named_with_the_right_address(elasticsearch_url: str, opensearch_url: str) -> None:
    for address, right in (
        (
            f"{opensearch_url}/news",
            rf"is an OpenSearch: use the address opensearch\+{opensearch_url}/news; it needs pip",
        ),
        (f"opensearch+{elasticsearch_url}/news", f"is an Elasticsearch: use the address {elasticsearch_url}/news; "),
    ):
        with Documents(address) as documents, pytest.raises(WrongServer, match=right):
            documents.setup(keys=False)
