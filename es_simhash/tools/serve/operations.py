"""What the server does: each operation is a method of Documents or SeenItems, and a path."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import prometheus_client as prometheus
from fastapi import Depends, FastAPI, Request, Response
from fastapi.security import HTTPBearer

from es_simhash import Fingerprint, InputError, SimhashError, StoreUnavailable
from es_simhash.cli.options import chosen_rule
from es_simhash.search.filters import matches, parse_filter
from es_simhash.tools.serve import models
from es_simhash.tools.serve.app import Gate, Work, new_application, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from es_simhash import Documents, DuplicateRule, Outcome, SeenItems

STEP = 50
"""Documents or texts that are worked on together. Between two steps, work that nobody waits for stops."""
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": about,
        "content": {"application/problem+json": {"schema": models.Problem.model_json_schema()}},
    }
    for status, about in (
        (400, "No JSON"),
        (401, "The token"),
        (408, "The body came too slowly"),
        (413, "The body is too large"),
        (422, "A wrong value, or a document that can't be used"),
        (500, "An error of the server"),
        (502, "The store refused"),
        (503, "The store is away or busy, or the server is: send it again after Retry-After"),
    )
}


@dataclass(frozen=True)
class Scope:
    """Which documents clients reach.

    :param filter: that every document fulfils which is added, found or removed; None for all documents.
    :param clients: a request may have a filter too.
    """

    filter: Mapping[str, Any] | None
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

    def check(self, documents: Documents, new: Iterable[Mapping[str, Any]] = (), ids: Iterable[str | int] = ()) -> None:
        """Check documents to add, and documents that are stored under some ids.

        :raises InputError: naming a document outside of the filter.
        """
        if self.filter is None:
            return
        new, names = list(new), [str(id) for id in ids]
        path = documents.id_field().split(".")
        names += [str(id) for document in new if (id := _value(document, path)) is not None]
        stored = documents.sources(names, fields=None)
        for id, document in [*stored.items(), *((str(_value(each, path)), each) for each in new)]:
            if not matches(document, id, self.filter):
                raise InputError(f"document {id!r} is outside of the filter of this server (--filter): use another id")


def _value(document: Any, path: list[str]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


@dataclass(frozen=True)
class Service:
    """What the operations work on.

    :param seen: None if the server has no store of seen items.
    """

    documents: Documents
    seen: SeenItems | None
    scope: Scope

    def rule(self, body: models.OfRule) -> DuplicateRule | str | None:
        """Return the rule of a request; None for that of the store."""
        return chosen_rule(self.documents.rule(), body.rule, body.confirm)

    def add(self, body: models.Add, step: Callable[[], None]) -> list[Outcome]:
        """Store the documents of a request."""
        new = body.documents if body.document is None else [body.document]
        assert new is not None
        filter = self.scope.of_request(body.filter)
        outcomes: list[Outcome] = []
        for start in range(0, len(new), STEP):
            step()
            batch = new[start : start + STEP]
            self.scope.check(self.documents, batch)
            options: dict[str, Any] = {"on_duplicate": body.on_duplicate, "filter": filter, "refresh": body.refresh}
            outcomes += self.documents.add_many(batch, rule=self.rule(body), **options)
        return outcomes

    def similar(self, body: models.Similar, step: Callable[[], None]) -> dict[str, Any]:
        """Return the stored duplicates of what a request holds."""
        filter, rule = self.scope.of_request(body.filter), self.rule(body)
        if body.texts is None:
            if body.times is not None:
                raise InputError("times is given with one text: use time")
            return _matches(self._similar(body, filter, rule))
        if body.time is not None or (body.times is not None and len(body.times) != len(body.texts)):
            raise InputError("texts have a time each: use times, as many as texts")
        answers: list[Any] = []
        for start in range(0, len(body.texts), STEP):
            step()
            times = None if body.times is None else body.times[start : start + STEP]
            answers += self.documents.similar_many(
                body.texts[start : start + STEP], times=times, filter=filter, rule=rule
            )
        return {"answers": [_matches(each) for each in answers]}

    def _similar(self, body: models.Similar, filter: Any, rule: Any) -> Any:
        if body.id is not None:
            self.scope.check(self.documents, ids=[body.id])
            return self.documents.similar_to(body.id, filter=filter, rule=rule)
        if body.fingerprint is not None:
            value = int(body.fingerprint, 16)
            return self.documents.similar(fingerprint=value, time=body.time, filter=filter, rule=rule)
        return self.documents.similar(body.text, time=body.time, filter=filter, rule=rule)

    def near_query(self, body: models.Near, step: Callable[[], None]) -> dict[str, Any]:
        """Return the clause of a text."""
        query = self.documents.near_query(body.text, rule=self.rule(body))
        return {"clause": query.clause, "docvalue_fields": query.fields}

    def fingerprint(self, body: models.Texted, step: Callable[[], None]) -> dict[str, Any]:
        """Return the fingerprints of texts."""
        fingerprinter = self.documents.fingerprinter()
        scheme = fingerprinter.scheme.version
        if body.text is not None:
            return {"scheme": scheme, **_fingerprint(fingerprinter.fingerprint(body.text))}
        made = []
        for text in body.texts or ():
            step()
            made.append(_fingerprint(fingerprinter.fingerprint(text)))
        return {"scheme": scheme, "fingerprints": made}

    def remove(self, body: models.Remove, step: Callable[[], None]) -> dict[str, Any]:
        """Remove documents."""
        self.scope.check(self.documents, ids=body.ids)
        return {"removed": sorted(self.documents.remove(body.ids))}

    def seen_items(self) -> SeenItems:
        """Return the seen items.

        :raises InputError: if the server has none.
        """
        if self.seen is None:
            raise InputError("this server has no store of seen items: start it with --seen-store")
        return self.seen


def _fingerprint(fingerprint: Fingerprint) -> dict[str, Any]:
    return {"fingerprint": fingerprint.hex, "digest": fingerprint.digest, "features": fingerprint.features}


def _matches(matches: Any) -> dict[str, Any]:
    return {"matches": [asdict(match) for match in matches], "left_out": matches.left_out}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {name: value for name, value in outcome.to_dict().items() if name != "place"}


def application(service: Service, token: str | None, at_once: int) -> tuple[FastAPI, Work]:
    """Return the application of the server, and its work.

    :param token: that each request must bear; None for none.
    :param at_once: work that is done at the same time.
    """
    registry = prometheus.CollectorRegistry()
    work, app = Work(at_once, registry), new_application()
    counted = prometheus.Counter("es_simhash_documents", "Documents that were added.", ("outcome",), registry=registry)
    described: dict[str, Any] = {
        "responses": _PROBLEMS,
        "response_model_exclude_unset": True,
        "dependencies": [] if token is None else [Depends(HTTPBearer(auto_error=False))],
    }

    some_failed: dict[int | str, Any] = {
        207: {"model": models.OutcomesAnswer, "description": "Some documents were rejected or failed"}
    }

    @app.post(
        "/add",
        **{**described, "responses": {**_PROBLEMS, **some_failed}},
        response_model=models.OutcomeAnswer | models.OutcomesAnswer,
    )
    async def add(request: Request, body: models.Add, response: Response) -> Any:
        """Store a document, or several, and say what each duplicates."""
        outcomes = await work.run(request, lambda step: service.add(body, step))
        for each in outcomes:
            counted.labels(each.outcome).inc()
        if body.documents is not None:
            response.status_code = 207 if any(each.reason is not None for each in outcomes) else 200
            return {"outcomes": [_outcome(each) for each in outcomes]}
        if (status := {"rejected": 422, "failed": 503}.get(outcomes[0].outcome)) is not None:
            return problem(status, outcomes[0].reason or "")
        return _outcome(outcomes[0])

    @app.post("/similar", **described, response_model=models.MatchesAnswer | models.AnswersAnswer)
    async def similar(request: Request, body: models.Similar) -> Any:
        """Return the stored duplicates of a text, of several texts, of a stored document or of a fingerprint."""
        return await work.run(request, lambda step: service.similar(body, step))

    @app.post("/near_query", **described, response_model=models.ClauseAnswer)
    async def near_query(request: Request, body: models.Near) -> Any:
        """Return the clause that finds the duplicates of a text in a search of your own."""
        return await work.run(request, lambda step: service.near_query(body, step))

    @app.post("/fingerprint", **described, response_model=models.OneFingerprintAnswer | models.FingerprintsAnswer)
    async def fingerprint(request: Request, body: models.Texted) -> Any:
        """Return the fingerprint of a text, or of several."""
        return await work.run(request, lambda step: service.fingerprint(body, step))

    @app.post("/remove", **described, response_model=models.RemovedAnswer)
    async def remove(request: Request, body: models.Remove) -> Any:
        """Remove documents and the links to them."""
        return await work.run(request, lambda step: service.remove(body, step))

    @app.post("/seen/add", **described, response_model=models.AddedAnswer)
    async def seen_add(request: Request, body: models.Seen) -> Any:
        """Note that a user has seen items."""
        return {"added": await work.run(request, lambda _: service.seen_items().add(body.user, body.items))}

    @app.post("/seen/unseen", **described, response_model=models.UnseenAnswer)
    async def seen_unseen(request: Request, body: models.Seen) -> Any:
        """Return the items that a user has certainly not seen."""
        return {"unseen": await work.run(request, lambda _: service.seen_items().unseen(body.user, body.items))}

    @app.post("/seen/forget", **described, response_model=models.ForgottenAnswer)
    async def seen_forget(request: Request, body: models.Seen) -> Any:
        """Make items unseen again."""
        return {"forgotten": await work.run(request, lambda _: service.seen_items().forget(body.user, body.items))}

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The server runs."""
        return {"status": "alive"}

    @app.get("/readyz", responses={503: _PROBLEMS[503]})
    async def readyz(request: Request) -> Any:
        """The store can be searched."""
        try:
            await work.run(request, lambda _: service.documents.keys())
        except SimhashError as error:
            raise StoreUnavailable(str(error)) from error
        return {"status": "ready"}

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(prometheus.generate_latest(registry), media_type=prometheus.CONTENT_TYPE_LATEST)

    app.add_middleware(Gate, work=work, token=token, registry=registry)
    return app, work
