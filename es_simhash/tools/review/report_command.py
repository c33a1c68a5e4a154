"""``es-simhash report``: write a page on which a person can check the groups."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.console.help import Command
from es_simhash.console.options import filter_option, given_rule, rule_options, store_options, text_field_option
from es_simhash.console.output import count_of, echo
from es_simhash.console.progress import show_stages
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.errors import InputError, saying_what_is_done
from es_simhash.files import open_for_owner
from es_simhash.tools.review.findings import review as find
from es_simhash.tools.review.groups_command import title_field_option
from es_simhash.tools.review.page import Page
from es_simhash.tools.review.page_words import said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash import Documents
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.tools.review.findings import Review
    from es_simhash.tools.review.page_words import Language

_FETCHED = 100
"""Documents that are fetched at once, in whole groups."""


@click.command(cls=Command)
@click.option("--out", metavar="FILE", default="report.html", show_default=True, help="File of the page.")
@click.option(
    "--groups",
    metavar="N",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Show the N largest groups.",
)
@click.option(
    "--members",
    metavar="N",
    type=click.IntRange(2, 100),
    default=6,
    show_default=True,
    help="Members shown of each group.",
)
@click.option(
    "--lang",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
    help="Language of the page: zh is Chinese.",
)
@title_field_option
@rule_options(text_field_option("Field that holds the text of a stored document."))
@filter_option("Report only documents that match this query clause.")
@store_options
@scheme_options
def report(
    out: str,
    groups: int,
    members: int,
    lang: Language,
    title_field: str | None,
    given: dict[str, Any],
    filter: dict[str, Any] | None,
    **store: Any,
) -> None:
    """Write an HTML page for checking the groups of duplicates.

    The page has counts, histograms of the sizes of the groups and of the distances from their heads, the largest groups
    with the differing words marked, and pairs just outside the rule. It needs no network and runs no script.

    The page holds texts of your documents. Only you can read the file.

    \b
    es-simhash report --store http://localhost:9200/news --out report.html
    es-simhash report --groups 1000 --title-field title --lang zh
    """
    with open_documents(**store) as documents:
        with tqdm(unit=" documents", disable=None, leave=False) as bar:
            chosen = documents.rule(rule=given_rule(documents, given))
            review = find(
                documents, groups=groups, members=members, filter=filter, progress=show_stages(bar), rule=chosen
            )
        page = Page(
            review,
            documents.fingerprinter().scheme,
            documents.name,
            f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
            rule_in_words(chosen, review.max_distance, lang),
            title_field,
            chosen.text_fields,
            lang,
        )
        try:
            with (
                open(out, "w", encoding="utf-8", newline="\n", opener=open_for_owner) as file,
                saying_what_is_done(lambda: f"{out} has a part of the report: run the command again"),
            ):
                _write(page, review, documents, file)
        except OSError as error:
            raise InputError(f"cannot write the report to {out}: {error.strerror or error}") from error
    totals = review.totals
    echo(
        f"{count_of(totals.documents, 'document')}, {count_of(totals.groups, 'group')} with "
        f"{count_of(totals.members, 'member')}; {count_of(len(review.groups), 'group')} and "
        f"{count_of(len(review.near_misses), 'near pair')} outside the rule in {out}"
    )


def _write(page: Page, review: Review, documents: Documents, file: IO[str]) -> None:
    fields = page.text_fields if page.title_field is None else (page.title_field, *page.text_fields)

    def pieces() -> Iterator[str]:
        yield from page.head()
        at_once = _FETCHED // max([1, *(len(group.members) for group in review.groups)])
        for start in range(0, len(review.groups), at_once):
            some = review.groups[start : start + at_once]
            ids = {member.id for group in some for member in group.members} | {group.summary.group for group in some}
            sources = documents.sources(sorted(ids), fields=fields)
            for index, group in enumerate(some, start):
                yield from page.group(index, group, sources)
        misses = review.near_misses
        ids = {id for miss in misses for id in (miss.a_id, miss.b_id)}
        yield from page.near_misses(misses, documents.sources(sorted(ids), fields=fields))
        yield page.foot()

    file.writelines(pieces())


def rule_in_words(rule: DuplicateRule, max_distance: int | None, language: Language) -> str:
    """Return the rule in words, for the reader of the page.

    :param max_distance: as in the Review.
    """
    say = partial(said, language)
    parts = []
    if max_distance is not None:
        bits = "at most 1 bit differs" if max_distance == 1 else "at most {count} bits differ"
        parts.append(say("exact duplicates only") if max_distance < 0 else say(bits, count=max_distance))
    if rule.measure is not None:
        measure = say("Jaccard or Levenshtein") if rule.measure == "either" else rule.measure
        parts.append(
            say("the texts have a similarity of {least:g} or more ({measure})", least=rule.confirm, measure=measure)
        )
    if rule.numbers_agree:
        parts.append(say("the texts have nearly the same numbers"))
    if rule.within is not None:
        parts.append(say("their times differ by at most {within}", within=rule.within))
    return say(", and ").join(parts)
