"""What a request holds, and what is answered: for the check of each request, and for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator
from typing_extensions import Self

from es_simhash.similarity.rule import Rule  # noqa: TC001

MOST = 1_000
"""Documents, texts, ids or items in one request."""

Id = StrictStr | StrictInt
Ids = Annotated[list[Id], Field(max_length=MOST)]
Texts = Annotated[list[StrictStr], Field(max_length=MOST)]
Filter = dict[str, Any]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    one_of: ClassVar[tuple[str, ...]] = ()
    """Of these fields a request has exactly one."""

    @model_validator(mode="after")
    def _check_one_of(self) -> Self:
        given = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(given) != 1:
            raise ValueError(f"{' and '.join(given) or 'none'} given: send exactly one of {', '.join(self.one_of)}")
        return self


class OfRule(_Request):
    rule: Rule | None = Field(None, description="What counts beside exact duplicates. The default is the store's rule.")
    min_similarity: float | None = Field(None, description="The least similarity of the texts, above 0, up to 1.")


class Add(_Request):
    """Documents to store."""

    one_of = ("document", "documents")
    document: dict[str, Any] | None = Field(None, description="One document, with an id and a text.")
    documents: list[dict[str, Any]] | None = Field(None, max_length=MOST, description="Several, in place of document.")
    on_duplicate: Literal["index", "skip"] = Field("index", description="What to do with a new duplicate.")
    on_update: Literal["write", "keep"] = Field(
        "write", description="What to do with another text for a stored id; keep the stored one if it is a copy of it."
    )
    filter: Filter | None = Field(None, description='Originals fulfil it: {"term": {"lang": "zh"}}.')
    refresh: bool = Field(False, description="Refresh the index: then search finds the document.")


class Similar(OfRule):
    """A text, several texts, or the id of a stored document."""

    one_of = ("text", "texts", "id")
    text: StrictStr | None = None
    texts: Texts | None = None
    id: Id | None = Field(None, description="Of a stored document.")
    time: str | int | None = Field(None, description="Of the text, if the rule counts times.")
    filter: Filter | None = Field(None, description='Matches fulfil it: {"term": {"lang": "zh"}}.')
    contradicting: bool = Field(False, description="Also texts that are similar enough and contradict.")


class Near(OfRule):
    """A text."""

    text: StrictStr


class Remove(_Request):
    """Documents to remove."""

    ids: Ids


class Seen(_Request):
    """Items of a user."""

    user: Id
    items: Ids


class DifferenceAnswer(BaseModel):
    """What stands at one place: ``a`` in the stored document, ``b`` in the text."""

    a: str
    b: str


class ContradictionAnswer(BaseModel):
    """A stored original that is similar enough and says something else."""

    id: str
    similarity: float
    differences: list[DifferenceAnswer]


class OutcomeAnswer(BaseModel):
    """What became of a document."""

    id: str | None
    outcome: str
    duplicate_of: str | None
    distance: int | None
    stored: bool
    fingerprinted: bool
    reason: str | None = None
    similarity: float | None = None
    left_out: int | None = None
    contradicts: list[ContradictionAnswer] | None = None
    pin_lifted: bool | None = None


class OutcomesAnswer(BaseModel):
    """What became of several documents."""

    outcomes: list[OutcomeAnswer]


class MatchAnswer(BaseModel):
    """A stored document that is near a text: ``exact``, ``copy``, or ``contradicts`` if it was asked for."""

    id: str
    relation: str
    similarity: float | None
    distance: int | None
    differences: list[DifferenceAnswer] | None = None


class MatchesAnswer(BaseModel):
    """The stored duplicates of a text; at least ``left_out`` more were not compared."""

    matches: list[MatchAnswer]
    left_out: int


class AnswersAnswer(BaseModel):
    """The stored duplicates of several texts."""

    answers: list[MatchesAnswer]


class ClauseAnswer(BaseModel):
    """The clause for a search of your own."""

    clause: dict[str, Any]
    docvalue_fields: list[Any]


class Problem(BaseModel):
    """Why a request was not answered (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = Field(description="What is wrong, and what to do.")
