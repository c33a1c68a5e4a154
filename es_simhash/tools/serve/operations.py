"""What the server does: each operation is a method of Documents or SeenItems, and a path."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import prometheus_client as prometheus
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.security import HTTPBearer

from es_simhash import (
    Documents,
    DuplicateRule,
    InputError,
    SeenItems,
    SimhashError,
    StoreUnavailable,
    __version__,
)
from es_simhash.cli.options import chosen_rule
from es_simhash.filters import parse_filter
from es_simhash.parts import in_parts
from es_simhash.similarity.text_fields import field_value, id_field_of
from es_simhash.tools.serve import models
from es_simhash.tools.serve.app import HANDLERS, Gate, Work, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

STEP = 50
"""Documents or texts that are worked on together. Between two steps, work that nobody waits for stops."""
READ_AT_ONCE = 200
"""Documents that are read together, to see whether they match the filter of the server."""
_PROBLEM = {"content": {"application/problem+json": {"schema": models.Problem.model_json_schema()}}}
_PROBLEMS: dict[int | str, Any] = {
    "4XX": {"description": "The request is wrong: detail says what to do", **_PROBLEM},
    "5XX": {"description": "Send a request that got 503 again, after Retry-After", **_PROBLEM},
}
_BEARER = HTTPBearer(auto_error=False)  # for OpenAPI
_SOME_FAILED: dict[int | str, Any] = {
    207: {"model": models.OutcomesAnswer, "description": "Some documents were rejected or failed"}
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
        """Return the filter of a request: both of them.

        :raises InputError: if the filter is none that the library itself evaluates. A server knows others that read
            values of other documents and indices.
        """
        if given is None:
            return self.filter
        if not self.clients:
            raise InputError("this server takes no filter (--no-client-filter): leave it out")
        parse_filter(given)
        return given if self.filter is None else {"bool": {"filter": [self.filter, given]}}

    def holds(self, documents: Documents, ids: Iterable[str | int]) -> dict[str, bool]:
        """Return for stored documents whether clients reach them, by id. Ids that do not exist are left out.

        A search by Elasticsearch compares the words of a text field, so what it finds is checked by this, too.
        """
        if self.filter is None:
            return dict.fromkeys(map(str, ids), True)
        matches = parse_filter(self.filter)
        read = (documents.fetch(part, fields="*") for part in in_parts(list(ids), READ_AT_ONCE))
        return {id: matches(document, id) for stored in read for id, document in stored.items()}

    def check_new(self, documents: Documents, new: Sequence[Mapping[str, Any]]) -> None:
        """Check documents to add, and those that they would replace.

        :raises InputError: naming a document outside of the filter.
        """
        if self.filter is None:
            return
        matches, field = parse_filter(self.filter), documents.info().id_field
        ids_of_new = ((field_value(document, id_field_of(document, field)), document) for document in new)
        named = [(str(id), matches(document, str(id))) for id, document in ids_of_new if id is not None]
        for id, held in [*self.holds(documents, [id for id, _ in named]).items(), *named]:
            if not held:
                raise InputError(f"document {id!r} is outside of the filter of this server (--filter): use another id")


class Service:
    """Answers requests.

    :param seen: None if the server has no store of seen items.
    :param token: that each request must bear; None for none.
    :param seconds: in which a request is answered.
    :param at_once: work that is done at the same time.
    """

    def __init__(
        self,
        documents: Documents,
        seen: SeenItems | None,
        scope: Scope,
        token: str | None = None,
        *,
        seconds: float,
        at_once: int,
    ) -> None:
        self._documents = documents
        self._seen = seen
        self._scope = scope
        self._token = token
        self._registry = registry = prometheus.CollectorRegistry()
        self.work = Work(seconds, at_once, registry)
        self._added = prometheus.Counter(
            "es_simhash_documents", "Documents that were added.", ("outcome",), registry=registry
        )

    def application(self) -> FastAPI:
        """Return the application."""
        app = FastAPI(
            title="es_simhash", version=__version__, docs_url=None, redoc_url=None, exception_handlers=HANDLERS
        )
        token = [] if self._token is None else [Depends(_BEARER), Depends(self._check_token)]
        options: dict[str, Any] = {"responses": _PROBLEMS, "response_model_exclude_unset": True, "dependencies": token}
        app.post("/add", **{**options, "responses": {**_PROBLEMS, **_SOME_FAILED}})(self.add)
        app.post("/similar", **options)(self.similar)
        app.post("/near_query", **options)(self.near_query)
        app.post("/remove", **options)(self.remove)
        app.post("/seen/add", **options, name="seen_add")(self.seen_add)
        app.post("/seen/unseen", **options, name="seen_unseen")(self.seen_unseen)
        app.post("/seen/forget", **options, name="seen_forget")(self.seen_forget)
        app.get("/healthz")(self.healthz)
        app.get("/readyz", responses={503: _PROBLEMS["5XX"]})(self.readyz)
        app.get("/metrics", response_class=Response, dependencies=token)(self.metrics)
        app.add_middleware(Gate, registry=self._registry)
        return app

    def _check_token(self, request: Request) -> None:
        sent = request.headers.get("authorization", "")
        if not hmac.compare_digest(sent.encode(), f"Bearer {self._token}".encode()):
            raise HTTPException(401, "the token is missing or wrong: send the header Authorization: Bearer …")

    def _rule(self, body: models.OfRule) -> DuplicateRule | str | None:
        return chosen_rule(self._documents.info().rule, body.rule, min_similarity=body.min_similarity)

    # --- operations ------------------------------------------------------------------------------------------------

    async def add(
        self, request: Request, body: models.Add, response: Response
    ) -> models.OutcomeAnswer | models.OutcomesAnswer:
        """Store a document, or several, and say what each duplicates."""
        outcomes = await self.work.run(request, lambda step: self._add(body, step))
        for each in outcomes:
            self._added.labels(each["outcome"]).inc()
        if body.documents is not None:
            response.status_code = 207 if any("reason" in each for each in outcomes) else 200
            return {"outcomes": outcomes}  # type: ignore[return-value]  # FastAPI checks it
        status = {"rejected": 422, "failed": 503}.get(outcomes[0]["outcome"])
        return outcomes[0] if status is None else problem(status, outcomes[0]["reason"])  # type: ignore[return-value]

    def _add(self, body: models.Add, step: Callable[[], None]) -> list[dict[str, Any]]:
        new = (body.documents or []) if body.document is None else [body.document]
        filter, outcomes = self._scope.of_request(body.filter), []
        for batch in in_parts(new, STEP):
            step()
            self._scope.check_new(self._documents, batch)
            added = self._documents.add_many(
                batch, on_duplicate=body.on_duplicate, on_update=body.on_update, filter=filter, refresh=body.refresh
            )
            originals = {each.duplicate_of for each in added if each.duplicate_of is not None}
            held = self._scope.holds(self._documents, originals)
            # Another program may have linked a document to one that its tenant does not reach.
            outcomes += [
                each if held.get(each.duplicate_of or "") else replace(each, duplicate_of=None) for each in added
            ]
        return [{name: value for name, value in each.to_dict().items() if name != "place"} for each in outcomes]

    async def similar(self, request: Request, body: models.Similar) -> models.MatchesAnswer | models.AnswersAnswer:
        """Return the stored duplicates of a text, of several texts or of a stored document."""
        answers = await self.work.run(request, lambda step: self._similar(body, step))
        return answers[0] if body.texts is None else {"answers": answers}  # type: ignore[return-value]

    def _similar(self, body: models.Similar, step: Callable[[], None]) -> list[Any]:
        rule, filter = self._rule(body), self._scope.of_request(body.filter)
        if body.id is not None:
            if not self._scope.holds(self._documents, [body.id]).get(str(body.id)):
                raise InputError(f"there is no document with id {str(body.id)!r}: add it first, or send its text")
            return self._held(
                [self._documents.similar_to(body.id, filter=filter, rule=rule, contradicting=body.contradicting)]
            )
        if body.text is not None:
            return self._held(
                [
                    self._documents.similar(
                        body.text, time=body.time, filter=filter, rule=rule, contradicting=body.contradicting
                    )
                ]
            )
        answers: list[Any] = []
        for texts in in_parts(body.texts or [], STEP):
            step()
            answers += self._held(
                self._documents.similar_many(texts, filter=filter, rule=rule, contradicting=body.contradicting)
            )
        return answers

    def _held(self, answers: Sequence[Any]) -> list[Any]:
        """Return answers with the matches that clients reach."""
        held = self._scope.holds(self._documents, {match.id for matches in answers for match in matches})
        return [
            {"matches": [each.to_dict() for each in matches if held.get(each.id)], "left_out": matches.left_out}
            for matches in answers
        ]

    async def near_query(self, request: Request, body: models.Near) -> models.ClauseAnswer:
        """Return the clause that finds the duplicates of a text in a search of your own."""
        query = await self.work.run(request, lambda _: self._documents.near_query(body.text, rule=self._rule(body)))
        return models.ClauseAnswer(clause=query.clause, docvalue_fields=query.fields)

    async def remove(self, request: Request, body: models.Remove) -> dict[str, list[str]]:
        """Remove documents and the links to them."""

        def remove(step: Callable[[], None]) -> list[str]:
            held = self._scope.holds(self._documents, body.ids)
            reached = [id for id in body.ids if held.get(str(id), True)]
            return sorted(self._documents.remove(reached, filter=self._scope.filter))

        return {"removed": await self.work.run(request, remove)}

    def _seen_items(self) -> SeenItems:
        if self._seen is None:
            raise InputError("this server has no store of seen items: start it with --seen-store")
        return self._seen

    async def seen_add(self, request: Request, body: models.Seen) -> dict[str, int]:
        """Note that a user has seen items."""
        return {"added": await self.work.run(request, lambda _: self._seen_items().add(body.user, body.items))}

    async def seen_unseen(self, request: Request, body: models.Seen) -> dict[str, list[models.Id]]:
        """Return the items that a user has certainly not seen."""
        return {"unseen": await self.work.run(request, lambda _: self._seen_items().unseen(body.user, body.items))}

    async def seen_forget(self, request: Request, body: models.Seen) -> dict[str, int]:
        """Make items unseen again."""
        return {"forgotten": await self.work.run(request, lambda _: self._seen_items().forget(body.user, body.items))}

    # --- the server itself -----------------------------------------------------------------------------------------

    async def healthz(self) -> dict[str, str]:
        """The server runs."""
        return {"status": "alive"}

    async def readyz(self, request: Request) -> dict[str, str]:
        """The store can be searched."""
        try:
            await self.work.run(request, lambda _: self._documents.fetch(["-"]))
        except SimhashError as error:
            raise StoreUnavailable(str(error)) from error
        return {"status": "ready"}

    async def metrics(self) -> Response:
        """Metrics for Prometheus."""
        return Response(prometheus.generate_latest(self._registry), media_type=prometheus.CONTENT_TYPE_LATEST)
