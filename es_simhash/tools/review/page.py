"""The report as one HTML page, without scripts and without anything from the network.

Everything that comes from a document passes :func:`_escaped`. A Content-Security-Policy forbids scripts, forms and
requests too. Each text stands in an element of its own (``dir="auto"``), so a text from right to left does not change
the order of what stands beside it. The page is written piece by piece: only the texts of one group are held at once.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.tools.review.differences import differences, shortened
from es_simhash.tools.review.page_style import STYLE
from es_simhash.tools.review.titles import text_or_empty, title_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.tools.review.differences import Part
    from es_simhash.tools.review.findings import Review, ReviewedGroup
    from es_simhash.tools.review.group_table import GroupMember
    from es_simhash.tools.review.near_misses import NearMiss

    Sources = Mapping[str, Mapping[str, Any]]
    """Documents by id, at least their title and text fields."""

CONTEXT = 40
"""Characters of the same text beside a difference."""
LONGEST_TITLE = 300
"""Characters of a title whose words are compared."""
LONGEST = 1_200
"""About how many characters of a text are shown."""
OPEN = 3
"""Groups that are open at first."""
SIZES = ((2, 2), (3, 3), (4, 4), (5, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, 1_000), (1_001, None))
"""The bars of the histogram of sizes: the smallest and the largest number of members."""
FEWEST_BARS = 4
"""Bars that are shown even if they are empty. Other empty bars at the end are left out."""

# Controls that HTML forbids, or that browsers show as nothing. Line breaks and tabs stay.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Page:
    """Makes the pieces of the page.

    :param name: of the store, for the title.
    :param made: when the report was made, for the reader.
    :param rule: the rule in words.
    """

    review: Review
    scheme: Scheme
    name: str
    made: str
    rule: str
    title_field: str | None
    text_fields: tuple[str, ...]

    def head(self) -> Iterator[str]:
        """Yield everything before the groups."""
        totals, review = self.review.totals, self.review
        title = f"Duplicates in {_escaped(self.name)}"
        yield (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            '<a class="skip" href="#groups">Skip to the groups</a>\n'
            f"<header><h1>{title}</h1>\n"
            f"<p>{_escaped(self.made)}. Rule: {_escaped(self.rule)}.</p></header>\n<main>\n"
        )
        copies = totals.members - totals.groups
        yield '<section aria-labelledby="counts"><h2 id="counts">Counts</h2>\n<dl class="cards">\n'
        yield _card(
            totals.documents, "documents", f"{review.missing:,} more without a fingerprint" * bool(review.missing)
        )
        yield _card(totals.groups, "groups", f"with {totals.members:,} members")
        yield _card(copies, "members besides the heads", f"{_share(copies, totals.documents)} of the documents")
        yield _card(totals.exact, "exact duplicates", "of the head of their group")
        yield _card(copies - totals.exact, "near-duplicates", "other members of groups")
        yield _card(totals.too_short, "too short", "for a fingerprint")
        yield "</dl></section>\n"
        yield '<section class="charts" aria-label="Histograms">\n'
        yield _chart("Group sizes", "members", "groups", self._sizes())
        yield _chart("Distances from the head", "bits", "near-duplicates", self._distances())
        yield "</section>\n"
        shown = len(review.groups)
        every = "All groups" if shown == totals.groups else f"The largest of {totals.groups:,} groups: {shown:,}"
        yield (
            f'<section aria-labelledby="groups"><h2 id="groups">{every}</h2>\n'
            "<p>The head names the group. Below it stand other members, the farthest from the head first. "
            "<del>These words</del> are only in the head, <ins>these words</ins> only in the member. "
            '<span class="badge out">outside the rule</span> marks a member that is no duplicate of the head. Other '
            "members connect the two. <code>remove --duplicates</code> keeps it.</p>\n"
        )
        if not shown:
            yield "<p>There are no groups.</p>\n"

    def group(self, index: int, group: ReviewedGroup, sources: Sources) -> Iterator[str]:
        """Yield a group. Documents that are not in ``sources`` have no text.

        :param index: of the group, from 0.
        """
        summary = group.summary
        head = sources.get(summary.group, {})
        text = text_or_empty(head, self.text_fields)
        yield (
            f'<details class="group"{" open" if index < OPEN else ""}><summary>'
            f'<span class="size">{summary.members:,}<span class="unit"> members</span></span>'
            f'<span class="title" dir="auto" lang="">{self._title(summary.group, sources)}</span></summary>\n'
            f'<article><h3>Head {_id(summary.group)}</h3>\n<p class="text" dir="auto" lang="">'
            f"{_text(text) or _NO_TEXT}</p></article>\n"
        )
        others = [member for member in group.members if member.id != summary.group]
        for member in others:
            if not member.exact:
                yield from self._member(member, member.id in group.outside, text, sources)
        copies = [member for member in others if member.exact]
        if copies:
            names = ", ".join(_id(member.id) for member in copies)
            more = f" and {summary.exact - len(copies):,} more" * (summary.exact > len(copies))
            yield f'<p class="copies"><span class="badge">exact duplicates</span> {names}{more}</p>\n'
        near_left = summary.members - 1 - summary.exact - (len(others) - len(copies))
        if near_left > 0:
            yield f'<p class="more">{near_left:,} more that are no exact duplicates of the head</p>\n'
        yield "</details>\n"

    def near_misses(self, misses: Sequence[NearMiss], sources: Sources) -> Iterator[str]:
        """Yield the near misses. It comes after the last group."""
        yield (
            '</section>\n<section aria-labelledby="misses"><h2 id="misses">Near misses</h2>\n'
            "<p>These pairs are just outside the rule, and in different groups. If many of them are duplicates, the "
            "rule is too strict. They come from a random sample. "
            "<del>These words</del> are only in the first document, <ins>these words</ins> only in the second.</p>\n"
        )
        if not misses:
            yield "<p>The sample has no such pair.</p>\n"
        for miss in misses:
            texts = [text_or_empty(sources.get(id, {}), self.text_fields) for id in (miss.a_id, miss.b_id)]
            similarity = (
                "" if miss.similarity is None else f' <span class="badge">similarity {miss.similarity:.2f}</span>'
            )
            yield (
                f'<article class="miss"><h3>{_id(miss.a_id)} and {_id(miss.b_id)} '
                f'<span class="badge">{_bits(miss.distance)}</span>{similarity}</h3>\n'
                f"{self._titles((miss.a_id, miss.b_id), sources, equal=True)}"
                f"{self._differing(*texts)}</article>\n"
            )

    def foot(self) -> str:
        """Return the end of the page."""
        return "</section>\n</main>\n</body>\n</html>\n"

    def _member(self, member: GroupMember, outside: bool, head_text: str, sources: Sources) -> Iterator[str]:
        badge = ' <span class="badge out">outside the rule</span>' if outside else ""
        distance = "no distance" if member.distance is None else _bits(member.distance)
        yield (
            f'<article><h3>{_id(member.id)} <span class="badge">{distance}</span>{badge}</h3>\n'
            f"{self._titles((member.group, member.id), sources, equal=False)}"
            f"{self._differing(head_text, text_or_empty(sources.get(member.id, {}), self.text_fields))}</article>\n"
        )

    def _titles(self, ids: tuple[str, str], sources: Sources, *, equal: bool) -> str:
        """Return the titles of two documents with the differing words marked, if there is a field for the title.

        :param equal: return it if the titles are equal too.
        """
        if self.title_field is None:
            return ""
        a, b = (title_of(sources.get(id, {}), self.title_field, (), LONGEST_TITLE) for id in ids)
        if (a == b and not equal) or not (a or b):
            return ""
        return f'<p class="member-title" dir="auto" lang="">{_marked(differences(a, b, self.scheme))}</p>\n'

    def _title(self, id: str, sources: Sources) -> str:
        return _escaped(title_of(sources.get(id, {}), self.title_field, self.text_fields)) or _NO_TEXT

    def _differing(self, a: str, b: str) -> str:
        """Return two texts as one paragraph, the differing words marked."""
        if not a or not b:
            return f'<p class="text" dir="auto" lang="">{_text(b) or _NO_TEXT}</p>\n'
        parts = differences(a, b, self.scheme)
        if all(part.same for part in parts):
            note = "The same words. White space, punctuation, or the form of characters may differ."
            return f'<p class="note">{note}</p>\n<p class="text" dir="auto" lang="">{_text(b)}</p>\n'
        shown, left = shortened(parts, CONTEXT, LONGEST)
        more = f'<p class="more">{left:,} more differences</p>\n' if left else ""
        return f'<p class="text" dir="auto" lang="">{_marked(shown)}</p>\n{more}'

    def _sizes(self) -> list[tuple[str, int, bool]]:
        sizes = self.review.totals.sizes
        bars = []
        for least, most in SIZES:
            count = sum(groups for size, groups in sizes.items() if least <= size and (most is None or size <= most))
            name = f"{least:,}" if least == most else f"{least:,} or more" if most is None else f"{least:,} to {most:,}"
            bars.append((name, count, False))
        while len(bars) > FEWEST_BARS and not bars[-1][1]:
            bars.pop()
        return bars

    def _distances(self) -> list[tuple[str, int, bool]]:
        """Return the bars of the distances: to the largest one, at least to that of the rule."""
        distances, most = self.review.totals.distances, self.review.max_distance
        largest = self.scheme.max_distance + 1
        bars = [(str(bits), distances.get(bits, 0), bits > most) for bits in range(largest)]
        more = sum(count for bits, count in distances.items() if bits is not None and bits >= largest)
        bars.append((f"{largest} or more", more, largest > most))
        if None in distances:
            bars.append(("no distance", distances[None], True))
        return bars


_NO_TEXT = '<span class="none">no text</span>'


def _chart(title: str, unit: str, counted: str, bars: Sequence[tuple[str, int, bool]]) -> str:
    """Return a histogram as a table with bars.

    :param bars: the name of each bar, its count, and whether it is outside the rule.
    """
    largest = max([1, *(count for _, count, _ in bars)])
    rows = "".join(
        f'<tr{" class=out" if outside else ""}><th scope="row">{name}</th><td class="count">{count:,}</td>'
        f'<td class="bar" aria-hidden="true"><span style="width:{100 * count / largest:.1f}%"></span></td></tr>\n'
        for name, count, outside in bars
    )
    note = '<p class="note">Striped: beyond the rule\'s distance.</p>' if any(out for *_, out in bars) else ""
    return (
        f'<figure><figcaption><h2>{title}</h2></figcaption><table class="chart"><thead><tr><th scope="col">{unit}</th>'
        f'<th scope="col">{counted}</th><td></td></tr></thead><tbody>\n{rows}</tbody></table>{note}</figure>\n'
    )


def _card(count: int, name: str, note: str) -> str:
    small = f'<dd class="note">{note}</dd>' if note else ""
    return f'<div><dt>{name}</dt><dd class="count">{count:,}</dd>{small}</div>\n'


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _bits(distance: int) -> str:
    return f"{distance} bit{'' if distance == 1 else 's'}"


def _id(id: str) -> str:
    return f'<bdi class="id">{_escaped(id)}</bdi>'


def _text(text: str) -> str:
    return _escaped(text if len(text) <= LONGEST else text[:LONGEST] + "…")


def _marked(parts: Iterable[Part]) -> str:
    return "".join(map(_marked_part, parts))


def _marked_part(part: Part) -> str:
    if part.same:
        return _escaped(part.b or part.a)
    deleted = f"<del>{_escaped(part.a)}</del>" if part.a else ""
    if not part.b:
        return deleted
    return f"{deleted}<ins{' class=to' if deleted else ''}>{_escaped(part.b)}</ins>"


def _escaped(text: str) -> str:
    """Return a text for HTML. Control characters become the replacement character."""
    return html.escape(_CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text))
