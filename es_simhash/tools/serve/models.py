"""What a request holds, and what is answered: for the check of each request, and for OpenAPI.

Generators of clients read this, too. So no field of a request may be null, and an id is described as a string.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, WithJsonSchema, model_validator
from typing_extensions import Self

from es_simhash.similarity.rule import Rule  # noqa: TC001  # pydantic reads it

MOST = 1_000
"""Documents, texts, ids or items in one request."""

MOST_GROUPS = 100
"""Groups on one page of a search."""

Id = Annotated[StrictStr | StrictInt, WithJsonSchema({"type": "string", "description": "Or a whole number."})]
Ids = Annotated[list[Id], Field(max_length=MOST)]
Clause = dict[str, Any]


def _optional(description: str, **options: Any) -> Any:
    """Return a field that may be left out."""

    def without_null(schema: dict[str, Any]) -> None:
        del schema["default"]  # which is null
        if "anyOf" in schema:
            first, *others = [each for each in schema.pop("anyOf") if each != {"type": "null"}]
            schema |= {"anyOf": [first, *others]} if others else {**first, "description": description}

    return Field(None, description=description, json_schema_extra=without_null, **options)


def _closed(schema: dict[str, Any]) -> None:
    """Leave additionalProperties out of the description: with it, a generated class in Java sends no fields."""
    schema.pop("additionalProperties")


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_closed)


class ByRule(_Request):
    rule: Rule | None = _optional("What counts beside exact duplicates. The default is the store's rule.")
    min_similarity: float | None = _optional("The least similarity of the texts, above 0, up to 1.")


class Add(_Request):
    on_duplicate: Literal["index", "skip"] = Field("index", description="What to do with a new duplicate.")
    on_update: Literal["write", "keep"] = Field(
        "write", description="What to do with another text for a stored id; keep the stored one if it is a copy of it."
    )
    filter: Clause | None = _optional('Originals fulfil it: {"term": {"lang": "zh"}}.')
    refresh: bool = Field(False, description="Refresh the index: then search finds what was added.")


class AddOne(Add):
    """A document to store."""

    document: dict[str, Any] = Field(description="With an id and a text.")


class AddMany(Add):
    """Documents to store."""

    documents: list[dict[str, Any]] = Field(max_length=MOST, description="Each with an id and a text.")


class Find(ByRule):
    filter: Clause | None = _optional('Matches fulfil it: {"term": {"lang": "zh"}}.')
    contradicting: bool = Field(False, description="Also texts that are similar enough and contradict.")


class Similar(Find):
    """A text, or the id of a stored document."""

    text: StrictStr | None = _optional("A text.")
    id: Id | None = _optional("Of a stored document, in place of a text.")
    time: Annotated[str | int | None, WithJsonSchema({"type": "string"})] = _optional(
        "Of the text, if the rule counts times; also a number, as in a document."
    )

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.text is None) is (self.id is None):
            raise ValueError("send exactly one of text, id")
        return self


class SimilarMany(Find):
    """Several texts."""

    texts: list[StrictStr] = Field(max_length=MOST)


class Near(ByRule):
    """A text."""

    text: StrictStr


class GroupSearch(_Request):
    """A search that shows one document of each group."""

    query: Clause = Field(
        description='As for the server: {"match": {"text": "暴雨"}}; bool, match, term, range and others.'
    )
    sort: list[dict[str, Any]] = Field(
        [], description='By fields: [{"date": "desc"}]. Empty: by score; a server with a filter needs fields.'
    )
    start: int = Field(
        0,
        alias="from",
        ge=0,
        description="Groups before the page. A page costs as much as all pages before it together.",
    )
    size: int = Field(10, ge=1, le=MOST_GROUPS, description="Groups of the page.")
    after: list[Annotated[int, Field(ge=0)]] = Field(
        [],
        max_length=2,
        description="In place of from: the after of the answer with the page before. "
        "Each page costs as much as the first.",
    )
    fields: list[str] = Field([], description="Fields of the documents to return. Empty: the whole documents.")


class Remove(_Request):
    """Documents to remove."""

    ids: Ids


class Seen(_Request):
    """Items of a user."""

    user: Id
    items: Ids


class Difference(BaseModel):
    """What stands at one place: ``a`` in the stored document, ``b`` in the text."""

    a: str
    b: str


class Contradiction(BaseModel):
    """A stored original that is similar enough and says something else."""

    id: str
    similarity: float
    differences: list[Difference]


class Outcome(BaseModel):
    """What became of a document."""

    id: str | None
    outcome: str
    duplicate_of: str | None = Field(description="The id of the original of which it is a copy.")
    distance: int | None = Field(description="From the original, in bits.")
    stored: bool
    fingerprinted: bool
    reason: str | None = _optional("Why it was rejected, or failed.")
    similarity: float | None = _optional("To the original, where texts decide.")
    left_out: int | None = _optional("At least so many documents were not compared with it.")
    contradicts: list[Contradiction] | None = _optional("Originals that are similar enough and contradict it.")
    blank: bool | None = _optional("It has no text: it is a copy of nothing.")
    group_size: int | None = _optional(
        "Of a new document or a copy: the documents of its group, as the last refresh showed them and as this request "
        "added them. It is left out if the store could not count."
    )
    pin_lifted: bool | None = _optional("A pin was lifted, as the text is another one.")


class Outcomes(BaseModel):
    """What became of several documents."""

    outcomes: list[Outcome]


class Match(BaseModel):
    """A stored document that is near a text."""

    id: str
    relation: str = Field(description="exact, copy, or contradicts if it was asked for.")
    similarity: float | None = Field(description="Of the texts, where they decide.")
    distance: int | None = Field(description="By the rule fingerprint, in bits.")
    differences: list[Difference] | None = _optional("What contradicts.")


class Matches(BaseModel):
    """The stored duplicates of a text; at least ``left_out`` more were not compared."""

    matches: list[Match]
    left_out: int


class MatchesOfTexts(BaseModel):
    """The stored duplicates of several texts."""

    answers: list[Matches]


class NearQuery(BaseModel):
    """The clause for a search of your own."""

    clause: Clause
    docvalue_fields: list[dict[str, Any]]


class GroupHit(BaseModel):
    """A group that a search found, by the first of its documents in the order of the search."""

    id: str
    document: dict[str, Any]
    group: str | None = _optional("The name of the group. It stays the same.")
    group_size: int = Field(description="Documents of the group that the search finds, this one among them.")
    others: list[str] = Field(description="The ids of the others, the earliest first, up to 99.")


class GroupHits(BaseModel):
    """A page of groups."""

    hits: list[GroupHit]
    total: int = Field(description="Groups on all pages. Above 40,000 it may be wrong by one percent.")
    after: list[int] = Field(description="Where the next page starts.")


class Group(BaseModel):
    """The group of a document."""

    group: str | None = _optional("Its name. It stays the same.")
    size: int = Field(description="Documents of the group.")
    members: list[str] = Field(description="Their ids, the earliest first, up to 1,000.")


class Removed(BaseModel):
    """The ids of the documents that were removed."""

    removed: list[str]


class Added(BaseModel):
    """How many items were not seen before."""

    added: int


class Unseen(BaseModel):
    """The items that the user has certainly not seen."""

    unseen: list[Id]


class Forgotten(BaseModel):
    """How many items are unseen again."""

    forgotten: int


class State(BaseModel):
    """How the server does."""

    status: str


class Problem(BaseModel):
    """Why a request was not answered (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = Field(description="What is wrong, and what to do.")
