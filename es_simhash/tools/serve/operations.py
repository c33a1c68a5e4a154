"""What the server does: each operation is a method of Documents or SeenItems, and a path."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import prometheus_client as prometheus
from fastapi import FastAPI, HTTPException, Response, Security
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPBearer

from es_simhash import (
    AsyncDocuments,
    AsyncSeenItems,
    DuplicateRule,
    InputError,
    SimhashError,
    StoreUnavailable,
    __version__,
    group_search,
)
from es_simhash.cli.options import chosen_rule
from es_simhash.filters import parse_filter
from es_simhash.parts import in_parts
from es_simhash.similarity.text_fields import field_value, id_field_of
from es_simhash.tools.serve import models
from es_simhash.tools.serve.gate import Gate, Limits
from es_simhash.tools.serve.problems import HANDLERS
from es_simhash.tools.serve.query import check_hidden, fields_of, inexact, sort_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence, Set

    from fastapi.routing import APIRoute

_log = logging.getLogger("es_simhash")

STEP = 50
"""Documents or texts that are worked on together. Between two steps, work that nobody waits for stops."""
READ_AT_ONCE = 200
"""Documents that are read together, to see whether they match the filter of the server."""
SHOWN = 100
"""Documents of a group whose ids a search shows: more are refused by the server itself."""
READY = 2.0
"""Seconds in which the stores must answer."""
_PROBLEM = {"content": {"application/problem+json": {"schema": models.Problem.model_json_schema()}}}
_PROBLEMS: dict[int | str, Any] = {
    "4XX": {"description": "The request is wrong, or a document is not taken: detail says what to do", **_PROBLEM},
    "5XX": {"description": "Send a request that got 503 again, after Retry-After", **_PROBLEM},
}
_SOME_FAILED: dict[int | str, Any] = {
    207: {"model": models.Outcomes, "description": "Some documents were rejected or failed"}
}


@dataclass(frozen=True)
class Scope:
    """Which documents clients reach.

    :param filter: that every document fulfils which is added, found or removed; None for all documents.
    :param clients: a request may have a filter too.
    """

    filter: Mapping[str, Any] | None = None
    clients: bool = True

    def of_request(self, given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return the filter of a request: both of them. Generated clients send an empty one in place of none.

        :raises InputError: if the filter is none that the library itself evaluates. A server knows others that read
            values of other documents and indices.
        """
        if not given:
            return self.filter
        if not self.clients:
            raise InputError("this server takes no filter (--no-client-filter): leave it out")
        parse_filter(given)
        if self.filter is None:
            return given
        check_hidden(fields_of(given), "the filter")
        return {"bool": {"filter": [self.filter, given]}}

    def of_search(self, body: models.GroupSearch) -> dict[str, Any]:
        """Return the query of a search, so that it finds only documents that clients reach, in no order of others.

        :raises InputError: if the search is one that this server does not do.
        """
        if not self.clients:
            raise InputError("this server takes no filter (--no-client-filter), and a query is one: start it without")
        fields, sort = fields_of(body.query), sort_fields(body.sort)
        whole = {"must": [body.query], "must_not": [{"exists": {"field": "seen.newest"}}]}  # what users have seen
        if self.filter is None:
            return {"bool": whole}
        if not sort or "_score" in sort:
            raise InputError(
                "a score counts the words of all documents, also outside of the filter of this server: give sort with "
                'fields, such as [{"simhash.order": "desc"}]'
            )
        check_hidden(fields | sort, "the search")
        return {"bool": {**whole, "filter": [self.filter]}}

    async def holds(self, documents: AsyncDocuments, ids: Iterable[str | int]) -> dict[str, bool]:
        """Return for stored documents whether clients reach them, by id. Ids that do not exist are left out.

        A search by Elasticsearch compares the words of a text field, so what it finds is checked by this, too.
        """
        if self.filter is None:
            return dict.fromkeys(map(str, ids), True)
        matches = parse_filter(self.filter)
        held: dict[str, bool] = {}
        for part in in_parts(list(ids), READ_AT_ONCE):
            stored = await documents.fetch(part, fields="*")
            held |= {id: matches(document, id) for id, document in stored.items()}
        return held

    async def check_new(self, documents: AsyncDocuments, new: Sequence[Mapping[str, Any]]) -> None:
        """Check documents to add, and those that they would replace.

        :raises InputError: naming a document outside of the filter.
        """
        if self.filter is None:
            return
        matches, field = parse_filter(self.filter), (await documents.info()).id_field
        ids_of_new = ((field_value(document, id_field_of(document, field)), document) for document in new)
        named = [(str(id), matches(document, str(id))) for id, document in ids_of_new if id is not None]
        for id, held in [*(await self.holds(documents, [id for id, _ in named])).items(), *named]:
            if not held:
                raise InputError(f"document {id!r} is outside of the filter of this server (--filter): use another id")


class Service:
    """Answers requests.

    :param seen: None if the server has no store of seen items.
    """

    def __init__(self, documents: AsyncDocuments, seen: AsyncSeenItems | None, scope: Scope) -> None:
        self._documents = documents
        self._seen = seen
        self._scope = scope
        self._asking: asyncio.Future[Any] | None = None
        self._registry = registry = prometheus.CollectorRegistry()
        self._added = prometheus.Counter(
            "es_simhash_documents", "Documents that were added.", ("outcome",), registry=registry
        )
        self._contradicting = prometheus.Counter(
            "es_simhash_contradicting", "Documents that were added and contradict stored ones.", registry=registry
        )
        self._group_size = prometheus.Histogram(
            "es_simhash_group_size",
            "Documents of the group of a document that was added.",
            buckets=(1, 2, 5, 10, 20, 50, 100, 1_000, 10_000),
            registry=registry,
        )

    def application(self, limits: Limits, base_path: str = "") -> Gate:
        """Return the application. The name of each operation is that of its method.

        :param base_path: under which clients reach it behind a proxy, such as ``/dedupe``.
        """
        app = FastAPI(
            title="es_simhash",
            version=__version__,
            servers=[{"url": base_path or "/"}],
            docs_url=None,
            redoc_url=None,
            exception_handlers=HANDLERS,
            generate_unique_id_function=_operation_id,
        )
        # The gate checks the token. This is for OpenAPI.
        token = [] if limits.token is None else [Security(HTTPBearer(auto_error=False))]
        options: dict[str, Any] = {"responses": _PROBLEMS, "response_model_exclude_unset": True, "dependencies": token}
        documents, seen = options | {"tags": ["documents"]}, options | {"tags": ["seen"]}
        app.post("/add", **documents)(self.add_document)
        app.post("/add_many", **documents | {"responses": {**_PROBLEMS, **_SOME_FAILED}})(self.add_documents)
        app.post("/similar", **documents)(self.find_similar)
        app.post("/similar_many", **documents)(self.find_similar_many)
        app.post("/near_query", **documents)(self.make_near_query)
        app.post("/group_search", **documents)(self.search_groups)
        app.get("/groups/{id:path}", **documents)(self.read_group)
        app.post("/remove", **documents)(self.remove_documents)
        app.post("/seen/add", **seen)(self.add_seen)
        app.post("/seen/unseen", **seen)(self.find_unseen)
        app.post("/seen/forget", **seen)(self.forget_seen)
        app.get("/healthz", tags=["server"])(self.check_alive)
        app.get("/readyz", tags=["server"], responses={503: _PROBLEMS["5XX"]})(self.check_ready)
        app.get("/metrics", tags=["server"], response_class=PlainTextResponse, dependencies=token)(self.read_metrics)
        return Gate(app, limits, self._registry, base_path)

    async def close(self) -> None:
        """Wait for the calls that run, and close the stores."""
        await self._documents.close()
        if self._seen is not None:
            await self._seen.close()

    # --- documents -------------------------------------------------------------------------------------------------

    async def add_document(self, body: models.AddOne) -> models.Outcome:
        """Store a document, and say what it duplicates."""
        [outcome] = await self._with_sizes(await self._add([body.document], body))
        if outcome.reason is not None:
            raise HTTPException(422 if outcome.outcome == "rejected" else 409, outcome.reason)
        return outcome

    async def add_documents(self, body: models.AddMany, response: Response) -> models.Outcomes:
        """Store several documents, and say what each duplicates."""
        outcomes: list[models.Outcome] = []
        for batch in in_parts(body.documents, STEP):
            outcomes += await self._add(batch, body)
        response.status_code = 207 if any(each.reason is not None for each in outcomes) else 200
        return models.Outcomes(outcomes=await self._with_sizes(outcomes))

    async def _add(self, batch: Sequence[dict[str, Any]], body: models.Add) -> list[models.Outcome]:
        filter = self._scope.of_request(body.filter)
        await self._scope.check_new(self._documents, batch)
        outcomes = await self._documents.add_many(
            batch, on_duplicate=body.on_duplicate, on_update=body.on_update, filter=filter, refresh=body.refresh
        )
        originals = {each.duplicate_of for each in outcomes if each.duplicate_of is not None}
        originals |= {one.id for each in outcomes for one in each.contradicts}
        held = await self._scope.holds(self._documents, originals)
        for each in outcomes:
            self._added.labels(each.outcome).inc()
        # Another program may have linked a document to one that its tenant does not reach.
        shown = [
            replace(
                each,
                duplicate_of=each.duplicate_of if held.get(each.duplicate_of or "") else None,
                contradicts=tuple(one for one in each.contradicts if held.get(one.id)),
            )
            for each in outcomes
        ]
        self._contradicting.inc(sum(bool(each.contradicts) for each in shown))
        return [models.Outcome(**each.to_dict()) for each in shown]

    async def _with_sizes(self, outcomes: Sequence[models.Outcome]) -> list[models.Outcome]:
        """Return the outcomes of a request with the sizes of groups that it began, or to which it added a copy."""
        originals = {
            number: each.id if each.outcome == "new" else each.duplicate_of
            for number, each in enumerate(outcomes)
            if each.outcome in ("new", "exact_duplicate", "near_duplicate", "updated")
        }
        own = {each.id: each.duplicate_of for each in outcomes if each.id and each.stored and each.duplicate_of}
        counts = {each.id: 0 for each in outcomes if each.outcome == "new"}
        try:
            counts |= await self._count_copies({id for id in originals.values() if id} - counts.keys(), own.keys())
        except SimhashError as error:  # the documents are stored, so the request has not failed
            _log.warning("the sizes of groups are not known: %s", error)
        added, shown = Counter(own.values()), list(outcomes)
        for number, id in originals.items():
            if id is not None and id in counts:
                size = 1 + counts[id] + added[id]
                self._group_size.observe(size)
                shown[number] = shown[number].model_copy(update={"group_size": size})
        return shown

    async def _count_copies(self, originals: Set[str], but: Set[str]) -> dict[str | None, int]:
        """Return how many stored documents that clients reach are copies of originals, by one request to the store.

        :param but: ids of documents that are not counted.
        """
        if not originals or await self._inexact():
            return {}
        if not self._documents.store.lags:
            return {id: len({*(await self._members(id))[0]} - {id} - but) for id in originals}
        query: dict[str, Any] = {
            "bool": {"filter": self._scope.filter or [], "must_not": {"ids": {"values": sorted(but)}}}
        }
        buckets = await self._buckets("simhash.duplicate_of", originals, query)
        return dict.fromkeys(originals, 0) | {bucket["key"]: bucket["doc_count"] for bucket in buckets}

    async def _buckets(self, field: str, values: Collection[str], query: Any, **aggs: Any) -> list[Any]:
        """Return a bucket of the documents that a query finds for each of these values of a field."""
        search = {
            "size": 0,
            "query": {"bool": {"filter": [query, {"terms": {field: sorted(values)}}]}},
            "aggs": {"found": {"terms": {"field": field, "size": len(values)}, "aggs": aggs}},
        }
        [answer] = (await self._documents.msearch([{}, search]))["responses"]
        buckets: list[Any] = answer["aggregations"]["found"]["buckets"]
        return buckets

    async def read_group(self, id: str) -> models.Group:
        """Return the group of a stored document."""
        ids, name = await self._members(id)
        return models.Group(size=len(ids), members=ids[: models.MOST], **({"group": name} if name else {}))

    async def _members(self, id: str) -> tuple[list[str], str | None]:
        """Return the ids of the documents of a group that clients reach, the earliest first, and the name of the group.

        The name is None if it may be the id of another document.
        """
        if not (await self._scope.holds(self._documents, [id])).get(id):
            raise InputError(f"there is no document with id {id!r}: add it first")
        rows = await self._documents.members(id)
        name = rows[0].group
        held = await self._scope.holds(self._documents, [name, *(row.id for row in rows)])
        return [row.id for row in rows if held.get(row.id)], name if held.get(name) else None

    async def find_similar(self, body: models.Similar) -> models.Matches:
        """Return the stored duplicates of a text or of a stored document."""
        rule, filter = await self._rule(body), self._scope.of_request(body.filter)
        if body.id is None:
            matches = await self._documents.similar(
                body.text or "", time=body.time, filter=filter, rule=rule, contradicting=body.contradicting
            )
        elif (await self._scope.holds(self._documents, [body.id])).get(str(body.id)):
            matches = await self._documents.similar_to(
                body.id, filter=filter, rule=rule, contradicting=body.contradicting
            )
        else:
            raise InputError(f"there is no document with id {str(body.id)!r}: add it first, or send its text")
        [answer] = await self._held([matches])
        return answer

    async def find_similar_many(self, body: models.SimilarMany) -> models.MatchesOfTexts:
        """Return the stored duplicates of several texts."""
        rule, filter = await self._rule(body), self._scope.of_request(body.filter)
        answers: list[models.Matches] = []
        for texts in in_parts(body.texts, STEP):
            answers += await self._held(
                await self._documents.similar_many(texts, filter=filter, rule=rule, contradicting=body.contradicting)
            )
        return models.MatchesOfTexts(answers=answers)

    async def _held(self, answers: Sequence[Any]) -> list[models.Matches]:
        """Return the matches that clients reach."""
        held = await self._scope.holds(self._documents, {match.id for matches in answers for match in matches})
        return [
            models.Matches(
                matches=[models.Match(**each.to_dict()) for each in matches if held.get(each.id)],
                left_out=matches.left_out,
            )
            for matches in answers
        ]

    async def make_near_query(self, body: models.Near) -> models.NearQuery:
        """Return the clause that finds the duplicates of a text in a search of your own."""
        query = await self._documents.near_query(body.text, rule=await self._rule(body))
        return models.NearQuery(clause=query.clause, docvalue_fields=query.fields)

    async def _rule(self, body: models.ByRule) -> DuplicateRule | str | None:
        if body.min_similarity is None:
            return body.rule
        return chosen_rule((await self._documents.info()).rule, body.rule, min_similarity=body.min_similarity)

    async def search_groups(self, body: models.GroupSearch) -> models.GroupHits:
        """Search, and show one document of each group, with the number and the ids of the others."""
        query = self._scope.of_search(body)
        if fields := await self._inexact():
            raise InputError(
                f"the filter of this server (--filter) names {', '.join(fields)}, of which the server compares words, "
                "so it would count documents of others: name a keyword field there, such as tenant.keyword"
            )
        seldom = {name: value for name, value in (("sort", body.sort), ("from", body.start)) if value}
        parts = {"query": query, "size": body.size, "_source": False, "docvalue_fields": ["simhash.group"], **seldom}
        search = group_search(parts, after=body.after or None)
        try:
            answer = await self._documents.msearch(search.searches)
        except InputError as error:
            if "max_result_window" not in str(error):
                raise
            last = "hit 10,000 is the last (index.max_result_window)"
            raise InputError(f"{last}: send after in place of from, or narrow the query") from error
        hits = search.hits(answer)
        groups = {hit["_id"]: hit["fields"]["simhash.group"][0] for hit in hits if "fields" in hit}
        ids = [hit["_id"] for hit in hits]
        held = await self._scope.holds(self._documents, {*ids, *groups.values()})
        sizes = await self._groups_in(query, groups.values())
        stored = await self._documents.fetch(ids, fields=body.fields or "*")
        shown = []
        for id in ids:
            if held.get(id) and id in stored:
                size, members = sizes.get(groups.get(id, ""), (1, [id]))
                others = [other for other in members if other != id][: SHOWN - 1]
                group = {"group": groups[id]} if held.get(groups.get(id, "")) else {}
                shown.append(models.GroupHit(id=id, document=stored[id], group_size=size, others=others, **group))
        return models.GroupHits(hits=shown, total=search.total(answer), after=list(search.after(answer)))

    async def _groups_in(self, query: Any, groups: Collection[str]) -> dict[str, tuple[int, list[str]]]:
        """Return how many documents of groups a query finds, and the ids of the earliest."""
        if not groups:
            return {}
        first = {"top_hits": {"size": SHOWN, "_source": False, "sort": [{"simhash.order": "asc"}]}}
        return {
            bucket["key"]: (bucket["doc_count"], [hit["_id"] for hit in bucket["first"]["hits"]["hits"]])
            for bucket in await self._buckets("simhash.group", groups, query, first=first)
        }

    async def _inexact(self) -> list[str]:
        """Return the fields for which the store itself may find other documents than those that clients reach.

        What it counts cannot be checked afterwards.
        """
        store: Any = self._documents.store
        if self._scope.filter is None or not store.lags:
            return []
        await self._documents.info()
        mappings = [index.mapping for index in store.connection.indices.values()]
        return inexact(fields_of(self._scope.filter), mappings)

    async def remove_documents(self, body: models.Remove) -> models.Removed:
        """Remove documents and the links to them."""
        held = await self._scope.holds(self._documents, body.ids)
        reached = [id for id in body.ids if held.get(str(id), True)]
        return models.Removed(removed=sorted(await self._documents.remove(reached, filter=self._scope.filter)))

    # --- seen items ------------------------------------------------------------------------------------------------

    def _seen_items(self) -> AsyncSeenItems:
        if self._seen is None:
            raise InputError("this server has no store of seen items: start it with --seen-store")
        return self._seen

    async def add_seen(self, body: models.Seen) -> models.Added:
        """Note that a user has seen items."""
        return models.Added(added=await self._seen_items().add(body.user, body.items))

    async def find_unseen(self, body: models.Seen) -> models.Unseen:
        """Return the items that a user has certainly not seen."""
        return models.Unseen(unseen=await self._seen_items().unseen(body.user, body.items))

    async def forget_seen(self, body: models.Seen) -> models.Forgotten:
        """Make items unseen again."""
        return models.Forgotten(forgotten=await self._seen_items().forget(body.user, body.items))

    # --- the server itself -----------------------------------------------------------------------------------------

    async def check_alive(self) -> models.State:
        """The server runs."""
        return models.State(status="alive")

    async def check_ready(self) -> models.State:
        """The stores answer. Requests that come at once are answered by one question to the stores."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(asyncio.wait_for(self._ask(), READY))
        try:
            await asyncio.shield(self._asking)
        except asyncio.TimeoutError:
            raise StoreUnavailable(f"a store did not answer within {READY:g} s") from None
        except SimhashError as error:
            raise StoreUnavailable(str(error)) from error
        return models.State(status="ready")

    async def _ask(self) -> None:
        await self._documents.fetch(["-"])
        if self._seen is not None:
            await self._seen.unseen("-", ["-"])

    async def read_metrics(self) -> Response:
        """Metrics for Prometheus."""
        return Response(prometheus.generate_latest(self._registry), media_type=prometheus.CONTENT_TYPE_LATEST)


def _operation_id(route: APIRoute) -> str:
    """Return the name of an operation for generators of clients, such as ``addDocument``."""
    first, *words = route.name.split("_")
    return first + "".join(map(str.title, words))
