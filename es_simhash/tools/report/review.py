"""What the page shows: groups with the words that differ, and pairs that only contradictions keep apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash import compare
from es_simhash.parts import in_parts
from es_simhash.similarity.text_fields import field_value, text_or_none
from es_simhash.tools.differences import cut, differences, shortened, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_simhash import Documents, DuplicateRule, Fingerprinter
    from es_simhash.tools.differences import Part
    from es_simhash.tools.report.groups import Group, Groups, Member

TITLE = 80
"""Characters of a title."""
CONTEXT = 40
"""Characters of the same text beside a difference."""
LONGEST = 1_200
"""About how many characters of a text are shown."""
MEMBERS = 6
"""Members of a group that are shown with their text."""
COMPARED = 30
"""Members of a group that are compared with the original. The least similar of them are shown."""
NAMED = 12
"""Exact duplicates of an original that are named."""
SAMPLED = 300
"""Random documents beside which other numbers are looked for."""
BESIDE = 5
"""Contradicting texts beside each of them that are looked at."""
PAIRS = 20
"""Pairs with other numbers that are shown."""
_BATCH = 50
"""Documents whose texts are fetched together."""


@dataclass(frozen=True)
class ShownText:
    """A text beside another one.

    :param original: the id of the original that it is a copy of, or is beside.
    :param similarity: None if texts do not decide.
    :param distance: Hamming distance of the fingerprints in bits; None if one has none, or if texts decide.
    :param parts: both texts; what differs is in parts of its own.
    :param more: how many more parts differ.
    :param pinned: a person has said what it is.
    """

    id: str
    title: str
    original: str
    similarity: float | None
    distance: int | None
    parts: list[Part]
    more: int
    pinned: bool = False

    @property
    def same_words(self) -> bool:
        """Only what stands between the words differs, or their form."""
        return not self.more and all(part.same for part in self.parts)


@dataclass(frozen=True)
class ShownGroup:
    """A group on the page.

    :param text: of the original; empty if it has none.
    :param near: some members that are no exact duplicates, the least similar to the original first.
    :param exact: some exact duplicates.
    """

    group: Group
    title: str
    text: str
    near: list[ShownText]
    exact: list[Member]

    @property
    def more_near(self) -> int:
        """How many members that are no exact duplicates are not shown."""
        return self.group.members - 1 - self.group.exact - len(self.near)

    @property
    def more_exact(self) -> int:
        """How many exact duplicates are not named."""
        return self.group.exact - len(self.exact)


@dataclass(frozen=True)
class Review:
    """Fetches and compares what the page shows, some groups at a time.

    :param fetch: returns some fields of documents by their ids, as ``Documents.fetch`` does.
    :param title_field: None for the beginning of the text.
    """

    rule: DuplicateRule
    fingerprinter: Fingerprinter
    groups: Groups
    fetch: Callable[..., dict[str, dict[str, Any]]]
    title_field: str | None = None

    def sources(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return documents by id, with their title and text. One that was removed is left out."""
        fields = self.rule.text_fields if self.title_field is None else (self.title_field, *self.rule.text_fields)
        return self.fetch(sorted(set(ids)), fields=fields)

    def text(self, source: Mapping[str, Any]) -> str:
        """Return the text of a document; empty if it has none."""
        return text_or_none(source, self.rule.text_fields) or ""

    def title(self, source: Mapping[str, Any]) -> str:
        """Return the title of a document, or the beginning of its text, on one line."""
        title = None if self.title_field is None else field_value(source, self.title_field)
        if not isinstance(title, str) or not title.strip():
            title = shown(self.text(source), self.fingerprinter.scheme)
        return cut(" ".join(title[: 4 * TITLE].split()), TITLE)

    def members(self, group: Group) -> Iterator[dict[str, Any]]:
        """Yield the original of a group, then all its other members, as programs and spreadsheets read them."""
        original = self.sources([group.original]).get(group.original, {})
        text = self.text(original)
        yield {"id": group.original, "exact": False, "similarity": None, "title": self.title(original)}
        for batch in in_parts(self.groups.members(group), _BATCH):
            sources = self.sources(member.id for member in batch)
            for member in batch:
                source = sources.get(member.id, {})
                similarity = 1.0 if member.exact else self._similarity(text, self.text(source))
                about = {"id": member.id, "exact": member.exact, "similarity": similarity}
                yield about | {"title": self.title(source)}

    def _similarity(self, a: str, b: str) -> float | None:
        """Return the similarity of two texts; None if one was removed, or if texts do not decide."""
        return compare(a, b, self.fingerprinter, rule=self.rule).similarity if a and b else None

    def shown_group(self, group: Group) -> ShownGroup:
        """Return a group with the texts of some members."""
        members = self.groups.members(group, COMPARED)
        near = [member for member in members if not member.exact]
        exact = [member for member in members if member.exact]
        sources = self.sources([group.original, *(member.id for member in near)])
        original = sources.get(group.original, {})
        text = self.text(original)
        # One that was removed meanwhile has no text.
        beside = [
            self.shown_text(text, each.id, sources[each.id], each.duplicate_of or group.original, each.pinned)
            for each in near
            if self.text(sources.get(each.id, {}))
        ]
        beside.sort(key=lambda member: (member.similarity or 0, -(member.distance or 0)))
        text = cut(shown(text, self.fingerprinter.scheme), LONGEST)
        return ShownGroup(group, self.title(original), text, beside[:MEMBERS], exact[:NAMED])

    def shown_text(
        self, beside: str, id: str, source: Mapping[str, Any], original: str, pinned: bool = False
    ) -> ShownText:
        """Return a document with its differences from another text."""
        text = self.text(source)
        comparison = compare(beside, text, self.fingerprinter, rule=self.rule)
        differing = differences(beside, text, self.fingerprinter.scheme, comparison.contradictions)
        parts, more = shortened(differing, CONTEXT, LONGEST)
        similarity = comparison.similarity if beside and text else None
        distance = comparison.distance if self.rule.rule == "fingerprint" else None
        return ShownText(id, self.title(source), original, similarity, distance, parts, more, pinned)


def pairs_with_other_numbers(review: Review, documents: Documents) -> list[ShownText]:
    """Return originals of a random sample, each beside an earlier one that is similar enough, but contradicts it."""
    if review.rule.contradictions != "refuse":
        return []
    pairs: dict[tuple[str, str], ShownText] = {}
    for ids in in_parts(review.groups.sample(SAMPLED), _BATCH):
        for pair in _other_numbers(review, documents, ids):
            pairs.setdefault((pair.original, pair.id), pair)
        if len(pairs) >= PAIRS:
            break
    return sorted(pairs.values(), key=lambda pair: -(pair.similarity or 0))[:PAIRS]


def _other_numbers(review: Review, documents: Documents, ids: Sequence[str]) -> Iterator[ShownText]:
    """Yield for each document the first other one that only contradictions keep apart, and no word of a person."""
    sources = review.sources(ids)
    rule = replace(review.rule, within=None, time_field=None)
    found = documents.similar_many(map(review.text, sources.values()), rule=rule, contradicting=True)
    others = {
        id: [match.id for match in matches if match.relation == "contradicts"][:BESIDE]
        for id, matches in zip(sources, found, strict=True)
    }
    sources |= review.sources(other for some in others.values() for other in some)
    rows = documents.fetch(sources)
    for id, some in others.items():
        for other in some:
            both = sorted((rows[each] for each in (id, other) if each in rows), key=lambda row: row.order)
            if [row.duplicate_of for row in both] == [None, None] and not both[1].pinned:
                earlier, later = (row.id for row in both)
                yield review.shown_text(review.text(sources[earlier]), later, sources[later], earlier)
                break
