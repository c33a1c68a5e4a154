"""What the server can be asked: each operation is a method of Documents or SeenItems, with a checked body."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from es_simhash import InputError
from es_simhash.console.options import duration, refined_rule
from es_simhash.tools.serve.fields import RULE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from es_simhash import AsyncDocuments, AsyncSeenItems, DuplicateRule, Fingerprint, Outcome

    Body = dict[str, Any]

_STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
_COPY = _STORM.replace("部分", "多处")


@dataclass(frozen=True)
class Stores:
    """What the operations work on.

    :param seen: None if the server has no store of seen items.
    """

    documents: AsyncDocuments
    seen: AsyncSeenItems | None = None

    def seen_items(self) -> AsyncSeenItems:
        """Return the seen items.

        :raises InputError: if the server has none.
        """
        if self.seen is None:
            raise InputError("this server has no store of seen items: start it with --seen-store")
        return self.seen


async def _rule(stores: Stores, body: Body) -> DuplicateRule | None:
    """Return the rule of a request: what it says, and what the store has; None if it says nothing."""
    given = {name: body[name] for name in RULE if name in body}
    if "within" in given:
        given["within"] = duration(given["within"])
    return refined_rule(await stores.documents.rule(), given) if given else None


@dataclass(frozen=True)
class Answer:
    """What an operation answers.

    :param outcomes: of documents that were added, for the metrics and the status.
    """

    body: dict[str, Any]
    status: int = 200
    outcomes: tuple[Outcome, ...] = ()


@dataclass(frozen=True)
class Operation:
    """An operation, which is called by POST.

    :param summary: for OpenAPI.
    :param one_of: of each of these groups a request has exactly one field.
    :param optional: further fields.
    :param example: a request, and its answer after those of the operations before.
    """

    path: str
    summary: str
    one_of: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...]
    call: Callable[[Stores, Body], Awaitable[Answer]]
    example: tuple[Body, Body]

    @property
    def name(self) -> str:
        """The name, for metrics and OpenAPI: ``seen_add``."""
        return self.path.strip("/").replace("/", "_")

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields."""
        return (*(name for names in self.one_of for name in names), *self.optional)


async def _add(stores: Stores, body: Body) -> Answer:
    options: dict[str, Any] = {
        name: body[name] for name in ("id_field", "on_duplicate", "filter", "refresh", "pipeline") if name in body
    }
    options["rule"] = await _rule(stores, body)
    if "document" in body:
        outcome = await stores.documents.add(body["document"], **options)
        status = {"rejected": 422, "failed": 503}.get(outcome.outcome, 200)
        return Answer(_outcome(outcome), status, (outcome,))
    outcomes = await stores.documents.add_many(body["documents"], **options)
    status = 207 if any(each.reason is not None for each in outcomes) else 200
    return Answer({"outcomes": [_outcome(each) for each in outcomes]}, status, tuple(outcomes))


def _outcome(outcome: Outcome) -> Body:
    return {name: value for name, value in outcome.to_dict().items() if name != "place"}


async def _similar(stores: Stores, body: Body) -> Answer:
    rule, filter, documents = await _rule(stores, body), body.get("filter"), stores.documents
    if "texts" in body:
        _only(body, "texts", "time")
        found = await documents.similar_many(body["texts"], times=body.get("times"), filter=filter, rule=rule)
        return Answer({"answers": [_matches(each) for each in found]})
    _only(body, "a text", "times")
    if "id" in body:
        return Answer(_matches(await documents.similar_to(body["id"], filter=filter, rule=rule)))
    if "fingerprint" in body:
        value = _fingerprint_value(body["fingerprint"])
        found_near = await documents.similar(fingerprint=value, time=body.get("time"), filter=filter, rule=rule)
        return Answer(_matches(found_near))
    return Answer(_matches(await documents.similar(body["text"], time=body.get("time"), filter=filter, rule=rule)))


def _only(body: Body, with_what: str, name: str) -> None:
    if name in body:
        raise InputError(f"{name} is given with {with_what}: use {'times' if name == 'time' else 'time'}")


def _fingerprint_value(digits: str) -> int:
    try:
        return int(digits, 16)
    except ValueError as error:
        raise InputError("fingerprint has other characters: send its hex digits") from error


def _matches(matches: Any) -> Body:
    return {"matches": [asdict(match) for match in matches], "left_out": matches.left_out}


async def _near_query(stores: Stores, body: Body) -> Answer:
    query = await stores.documents.near_query(body["text"], rule=await _rule(stores, body))
    return Answer({"clause": query.clause, "docvalue_fields": query.fields})


async def _fingerprint(stores: Stores, body: Body) -> Answer:
    fingerprinter = await stores.documents.fingerprinter()
    texts = body["texts"] if "texts" in body else [body["text"]]
    made = [_fingerprint_json(each) for each in await asyncio.to_thread(fingerprinter.fingerprints, texts)]
    scheme = fingerprinter.scheme.version
    return Answer({"scheme": scheme, **({"fingerprints": made} if "texts" in body else made[0])})


def _fingerprint_json(fingerprint: Fingerprint) -> Body:
    return {"fingerprint": fingerprint.hex, "digest": fingerprint.digest, "features": fingerprint.features}


async def _remove(stores: Stores, body: Body) -> Answer:
    removed = await stores.documents.remove(body["ids"], filter=body.get("filter"), rule=await _rule(stores, body))
    return Answer({"removed": sorted(removed)})


async def _seen_add(stores: Stores, body: Body) -> Answer:
    return Answer({"added": await stores.seen_items().add(body["user"], body["items"])})


async def _seen_unseen(stores: Stores, body: Body) -> Answer:
    return Answer({"unseen": await stores.seen_items().unseen(body["user"], body["items"])})


async def _seen_forget(stores: Stores, body: Body) -> Answer:
    return Answer({"forgotten": await stores.seen_items().forget(body["user"], body["items"])})


_ADD_OPTIONS = ("id_field", "on_duplicate", "filter", "refresh", "pipeline", *RULE)
_OF_TEXT = ("filter", *RULE)
_SEEN = (("user",), ("items",))

OPERATIONS = (
    Operation(
        "/add",
        "Store a document, or several, and say what each duplicates",
        (("document", "documents"),),
        _ADD_OPTIONS,
        _add,
        (
            {"document": {"id": "a", "text": _STORM}, "refresh": "wait_for"},
            {
                "id": "a",
                "outcome": "new",
                "duplicate_of": None,
                "distance": None,
                "stored": True,
                "fingerprinted": True,
            },
        ),
    ),
    Operation(
        "/similar",
        "Return the stored duplicates of a text, of several texts, of a stored document or of a fingerprint",
        (("text", "texts", "id", "fingerprint"),),
        ("time", "times", *_OF_TEXT),
        _similar,
        (
            {"text": _COPY},
            {"matches": [{"id": "a", "distance": 2, "exact": False, "similarity": 0.9545454545454546}], "left_out": 0},
        ),
    ),
    Operation(
        "/near_query",
        "Return the clause that finds the duplicates of a text in a search of your own",
        (("text",),),
        tuple(name for name in RULE if name not in ("within", "time_field")),
        _near_query,
        (
            {"text": "你好", "rule": "exact"},
            {
                "clause": {
                    "bool": {
                        "should": [{"term": {"simhash.digest": "7eca689f0d3389d9dea66ae112e5cfd7"}}],
                        "minimum_should_match": 1,
                    }
                },
                "docvalue_fields": [
                    {"field": f"simhash.{name}"} for name in ("fp", "fp1", "digest", "group", "duplicate_of", "written")
                ],
            },
        ),
    ),
    Operation(
        "/fingerprint",
        "Return the fingerprint of a text, or of several",
        (("text", "texts"),),
        (),
        _fingerprint,
        (
            {"text": _STORM},
            {
                "scheme": "1:64:sqrt_tf:murmur3:md5:jieba:1:words:simplified:none",
                "fingerprint": "8d6c954c28b6c415",
                "digest": "e23eb684729555b03d3dd2857f734aa1",
                "features": 19,
            },
        ),
    ),
    Operation(
        "/remove",
        "Remove documents and the links to them",
        (("ids",),),
        ("filter", *RULE),
        _remove,
        ({"ids": ["a", "b"]}, {"removed": ["a"]}),
    ),
    Operation(
        "/seen/add",
        "Note that a user has seen items",
        _SEEN,
        (),
        _seen_add,
        ({"user": "ann", "items": ["news-1", "news-2"]}, {"added": 2}),
    ),
    Operation(
        "/seen/unseen",
        "Return the items that a user has certainly not seen",
        _SEEN,
        (),
        _seen_unseen,
        ({"user": "ann", "items": ["news-2", "news-3"]}, {"unseen": ["news-3"]}),
    ),
    Operation(
        "/seen/forget",
        "Make items unseen again",
        _SEEN,
        (),
        _seen_forget,
        ({"user": "ann", "items": ["news-2"]}, {"forgotten": 1}),
    ),
)
