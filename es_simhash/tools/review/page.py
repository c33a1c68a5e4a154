"""The report as one HTML page, without scripts and without anything from the network.

Everything that comes from a document passes :func:`_escaped`. A Content-Security-Policy forbids scripts, forms and
requests too. Each text stands in an element of its own (``dir="auto"``), so a text from right to left does not change
the order of what stands beside it. The page is written piece by piece: only the texts of one group are held at once.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from es_simhash.tools.review.differences import differences, shortened
from es_simhash.tools.review.page_style import STYLE
from es_simhash.tools.review.page_words import said
from es_simhash.tools.review.titles import text_or_empty, title_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.tools.review.differences import Part
    from es_simhash.tools.review.findings import Review, ReviewedGroup
    from es_simhash.tools.review.group_table import GroupMember
    from es_simhash.tools.review.near_misses import NearMiss
    from es_simhash.tools.review.page_words import Language

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

_HTML_LANGUAGES = {"en": "en", "zh": "zh-CN"}
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
    language: Language = "en"

    def _say(self, english: str, **values: Any) -> str:
        return said(self.language, english, **values)

    def head(self) -> Iterator[str]:
        """Yield everything before the groups."""
        say, totals, review = self._say, self.review.totals, self.review
        title = say("Duplicates in {name}", name=_escaped(self.name))
        about = (say("Made {time}", time=_escaped(self.made)), say("Rule: {rule}", rule=_escaped(self.rule)))
        yield (
            f'<!DOCTYPE html>\n<html lang="{_HTML_LANGUAGES[self.language]}">\n<head>\n<meta charset="utf-8">\n'
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f'<a class="skip" href="#groups">{say("Skip to the groups")}</a>\n'
            f"<header><h1>{title}</h1>\n"
            f"<p>{''.join(say('{text}. ', text=text) for text in about).rstrip()}</p></header>\n<main>\n"
        )
        copies = totals.members - totals.groups
        missing = say("{count:,} more without a fingerprint", count=review.missing) if review.missing else ""
        share = f"{100 * copies / totals.documents:.1f} %" if totals.documents else "0 %"
        yield f'<section aria-labelledby="counts"><h2 id="counts">{say("Counts")}</h2>\n<dl class="cards">\n'
        yield _card(totals.documents, say("documents"), missing)
        yield _card(totals.groups, say("groups"), say("with {count:,} members", count=totals.members))
        yield _card(copies, say("members besides the heads"), say("{share} of the documents", share=share))
        yield _card(totals.exact, say("exact duplicates"), say("of the head of their group"))
        yield _card(copies - totals.exact, say("near-duplicates"), say("other members of groups"))
        yield _card(totals.too_short, say("too short"), say("for a fingerprint"))
        yield "</dl></section>\n"
        yield f'<section class="charts" aria-label="{say("Histograms")}">\n'
        yield self._chart(say("Group sizes"), say("members"), say("groups"), self._sizes())
        yield self._chart(say("Distances from the head"), say("bits"), say("near-duplicates"), self._distances())
        yield "</section>\n"
        shown = len(review.groups)
        largest = partial(say, "The largest of {groups:,} groups: {count:,}", groups=totals.groups, count=shown)
        yield (
            f'<section aria-labelledby="groups"><h2 id="groups">'
            f"{say('All groups') if shown == totals.groups else largest()}</h2>\n<p>"
            + " ".join(
                (
                    say("The head names the group. Below it stand other members, the farthest from the head first."),
                    self._legend("{old} are only in the head, {new} only in the member."),
                    say(
                        "{badge} marks a member that is no duplicate of the head. Other members connect the two. "
                        "{command} keeps it.",
                        badge=self._outside(),
                        command="<code>remove --duplicates</code>",
                    ),
                )
            )
            + "</p>\n"
        )
        if not shown:
            yield f"<p>{say('There are no groups.')}</p>\n"

    def _legend(self, english: str) -> str:
        """Return the sentence that explains the marked words."""
        old, new = self._say("These words"), self._say("these words")
        return self._say(english, old=f"<del>{old}</del>", new=f"<ins>{new}</ins>")

    def _outside(self) -> str:
        return f'<span class="badge out">{self._say("outside the rule")}</span>'

    def group(self, index: int, group: ReviewedGroup, sources: Sources) -> Iterator[str]:
        """Yield a group. Documents that are not in ``sources`` have no text.

        :param index: of the group, from 0.
        """
        summary = group.summary
        head = sources.get(summary.group, {})
        text = text_or_empty(head, self.text_fields)
        yield (
            f'<details class="group"{" open" if index < OPEN else ""}><summary>'
            f'<span class="size">{self._members(summary.members)}</span>'
            f'<span class="title" dir="auto" lang="">{self._title(summary.group, sources)}</span></summary>\n'
            f"<article><h3>{self._say('Head {id}', id=_id(summary.group))}</h3>\n"
            f'<p class="text" dir="auto" lang="">{self._text(text)}</p></article>\n'
        )
        others = [member for member in group.members if member.id != summary.group]
        for member in others:
            if not member.exact:
                yield from self._member(member, member.id in group.outside, text, sources)
        copies = [member for member in others if member.exact]
        if copies:
            names = ", ".join(_id(member.id) for member in copies)
            left = summary.exact - len(copies)
            more = self._say(" and {count:,} more", count=left) if left > 0 else ""
            badge = f'<span class="badge">{self._say("exact duplicates")}</span>'
            yield f'<p class="copies">{badge} {names}{more}</p>\n'
        near_left = summary.members - 1 - summary.exact - (len(others) - len(copies))
        if near_left > 0:
            more = self._say("{count:,} more that are no exact duplicates of the head", count=near_left)
            yield f'<p class="more">{more}</p>\n'
        yield "</details>\n"

    def near_misses(self, misses: Sequence[NearMiss], sources: Sources) -> Iterator[str]:
        """Yield the near misses. It comes after the last group."""
        say = self._say
        yield f'</section>\n<section aria-labelledby="misses"><h2 id="misses">{say("Near misses")}</h2>\n<p>'
        yield say(
            "These pairs are just outside the rule, and in different groups. If many of them are duplicates, the rule "
            "is too strict. They come from a random sample."
        )
        yield f" {self._legend('{old} are only in the first document, {new} only in the second.')}</p>\n"
        if not misses:
            yield f"<p>{say('The sample has no such pair.')}</p>\n"
        for miss in misses:
            texts = [text_or_empty(sources.get(id, {}), self.text_fields) for id in (miss.a_id, miss.b_id)]
            badges = [self._bits(miss.distance)]
            if miss.similarity is not None:
                badges.append(say("similarity {similarity:.2f}", similarity=miss.similarity))
            pair = say("{a} and {b}", a=_id(miss.a_id), b=_id(miss.b_id))
            yield (
                f'<article class="miss"><h3>{" ".join((pair, *(_badge(text) for text in badges)))}</h3>\n'
                f"{self._titles((miss.a_id, miss.b_id), sources, equal=True)}"
                f"{self._differing(*texts)}</article>\n"
            )

    def foot(self) -> str:
        """Return the end of the page."""
        return "</section>\n</main>\n</body>\n</html>\n"

    def _member(self, member: GroupMember, outside: bool, head_text: str, sources: Sources) -> Iterator[str]:
        badge = f" {self._outside()}" if outside else ""
        distance = self._say("no distance") if member.distance is None else self._bits(member.distance)
        yield (
            f"<article><h3>{_id(member.id)} {_badge(distance)}{badge}</h3>\n"
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
        return _escaped(title_of(sources.get(id, {}), self.title_field, self.text_fields)) or self._no_text()

    def _text(self, text: str) -> str:
        return _escaped(text if len(text) <= LONGEST else text[:LONGEST] + "…") or self._no_text()

    def _no_text(self) -> str:
        return f'<span class="none">{self._say("no text")}</span>'

    def _members(self, count: int) -> str:
        return self._say("{count:,}{unit} members{end}", count=count, unit='<span class="unit">', end="</span>")

    def _bits(self, distance: int) -> str:
        return self._say("1 bit") if distance == 1 else self._say("{count} bits", count=distance)

    def _differing(self, a: str, b: str) -> str:
        """Return two texts as one paragraph, the differing words marked."""
        if not a or not b:
            return f'<p class="text" dir="auto" lang="">{self._text(b)}</p>\n'
        parts = differences(a, b, self.scheme)
        if all(part.same for part in parts):
            note = self._say("The same words. White space, punctuation, or the form of characters may differ.")
            return f'<p class="note">{note}</p>\n<p class="text" dir="auto" lang="">{self._text(b)}</p>\n'
        shown, left = shortened(parts, CONTEXT, LONGEST)
        more = f'<p class="more">{self._say("{count:,} more differences", count=left)}</p>\n' if left else ""
        return f'<p class="text" dir="auto" lang="">{_marked(shown)}</p>\n{more}'

    def _sizes(self) -> list[tuple[str, int, bool]]:
        sizes = self.review.totals.sizes
        bars = []
        for least, most in SIZES:
            count = sum(groups for size, groups in sizes.items() if least <= size and (most is None or size <= most))
            bars.append((self._range(least, most), count, False))
        while len(bars) > FEWEST_BARS and not bars[-1][1]:
            bars.pop()
        return bars

    def _range(self, least: int, most: int | None) -> str:
        if least == most:
            return f"{least:,}"
        if most is None:
            return self._say("{least:,} or more", least=least)
        return self._say("{least:,} to {most:,}", least=least, most=most)

    def _distances(self) -> list[tuple[str, int, bool]]:
        """Return the bars of the distances: to the largest one, at least to that of the rule."""
        distances, largest = self.review.totals.distances, self.scheme.max_distance + 1
        most = self.review.max_distance
        if most is None:
            most = largest
        bars = [(str(bits), distances.get(bits, 0), bits > most) for bits in range(largest)]
        more = sum(count for bits, count in distances.items() if bits is not None and bits >= largest)
        bars.append((self._range(largest, None), more, largest > most))
        if None in distances:
            bars.append((self._say("no distance"), distances[None], most < largest))
        return bars

    def _chart(self, title: str, unit: str, counted: str, bars: Sequence[tuple[str, int, bool]]) -> str:
        """Return a histogram as a table with bars.

        :param bars: the name of each bar, its count, and whether it is outside the rule.
        """
        largest = max([1, *(count for _, count, _ in bars)])
        rows = "".join(
            f'<tr{" class=out" if outside else ""}><th scope="row">{name}</th><td class="count">{count:,}</td>'
            f'<td class="bar" aria-hidden="true"><span style="width:{100 * count / largest:.1f}%"></span></td></tr>\n'
            for name, count, outside in bars
        )
        striped = any(outside for *_, outside in bars)
        note = f'<p class="note">{self._say("Striped: beyond the distance of the rule.")}</p>' if striped else ""
        return (
            f'<figure><figcaption><h2>{title}</h2></figcaption><table class="chart"><thead><tr>'
            f'<th scope="col">{unit}</th><th scope="col">{counted}</th><td></td></tr></thead><tbody>\n'
            f"{rows}</tbody></table>{note}</figure>\n"
        )


def _card(count: int, name: str, note: str) -> str:
    small = f'<dd class="note">{note}</dd>' if note else ""
    return f'<div><dt>{name}</dt><dd class="count">{count:,}</dd>{small}</div>\n'


def _badge(text: str) -> str:
    return f'<span class="badge">{text}</span>'


def _id(id: str) -> str:
    return f'<bdi class="id">{_escaped(id)}</bdi>'


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
