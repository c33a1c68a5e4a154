"""``es-simhash compare``: what two texts are to each other, and why; or the fingerprint of one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash import DuplicateRule, Fingerprinter, InputError, Scheme
from es_simhash import compare as compare_texts
from es_simhash.cli.input import read_text
from es_simhash.cli.options import (
    FILE,
    chosen_rule,
    json_option,
    open_documents,
    read_fingerprinter,
    rule_options,
    scheme_options,
    store_options,
)
from es_simhash.cli.output import count_of, decimals, echo, print_json
from es_simhash.text.features import MIN_FEATURES
from es_simhash.tools.differences import differences, shortened
from es_simhash.tools.texts import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Unpack

    from es_simhash import Comparison, Documents, Fingerprint
    from es_simhash.cli.options import StoreOptions
    from es_simhash.similarity.differences import Difference
    from es_simhash.similarity.rule import Rule
    from es_simhash.tools.differences import Part

_RELATIONS = {
    "exact": "exact duplicates: the normalised texts are equal",
    "copy": "near-duplicates by the rule {rule}",
    "contradicts": "they contradict each other: different by the rule {rule}",
    "different": "different by the rule {rule}",
}
_FIGURES = ("relation", "similarity", "contradict", "is_found", "distance", "cosine")
_CONTEXT = 30
"""Characters of the same text beside a difference."""
_LONGEST = 2_000
"""About how many characters of the differing texts are printed."""


@click.command()
@click.argument("texts", metavar="[TEXT]…", nargs=-1)
@click.option(
    "--file", "files", metavar="FILE", type=FILE, multiple=True, help="Read a text from this file; - is standard input."
)
@click.option("--id", "ids", metavar="ID", multiple=True, help="Take the text of this stored document.")
@rule_options
@scheme_options
@json_option
@store_options
def compare(
    texts: tuple[str, ...],
    files: tuple[str, ...],
    ids: tuple[str, ...],
    rule: Rule | None,
    min_similarity: float | None,
    scheme: str | None,
    html: bool,
    as_json: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Compare two texts by a rule, and show what differs.

    Give two texts, each as TEXT, --file or --id. In this order, the first is A, and the second is B. The words that
    only A has stand in [-…-], those that only B has in {+…+}, and ≠ between those that contradict each other. One text
    alone: its fingerprint and segments. With --store, the rule and the Scheme are that of the store.

    \b
    es-simhash compare "市气象台发布暴雨橙色预警" "市气象台发布暴雨红色预警"
    es-simhash compare --file old.txt --file new.txt --rule contained
    es-simhash compare --id news-17 --id news-18 --store sqlite:///news.db
    es-simhash compare "市气象台发布暴雨橙色预警，部分路段积水"
    """
    if not 1 <= len(texts) + len(files) + len(ids) <= 2 or files.count("-") > 1:
        raise click.UsageError("give one or two texts: TEXT, --file FILE or --id ID")
    fingerprinter, stored_rule = read_fingerprinter(scheme, html), DuplicateRule()
    given = [*texts, *map(read_text, files)]
    if store["store"] is not None or ids:
        with open_documents(fingerprinter, **store) as documents:
            info = documents.info()
            stored_rule, fingerprinter = info.rule, fingerprinter or Fingerprinter(info.scheme or Scheme())
            given += _stored_texts(documents, ids)
    fingerprinter = fingerprinter or Fingerprinter()
    if len(given) == 1:
        made = fingerprinter.fingerprint(given[0])
        if as_json:
            print_json(_json_fingerprint(made) | {"scheme": fingerprinter.scheme.version})
        else:
            _print_fingerprint(made)
        return
    a, b = given
    comparison = compare_texts(
        a, b, fingerprinter, rule=chosen_rule(stored_rule, rule, min_similarity=min_similarity) or stored_rule
    )
    if as_json:
        print_json(_json_comparison(comparison) | {"scheme": fingerprinter.scheme.version})
        return
    for line in _verdict_lines(comparison):
        echo(line)
    if comparison.relation != "exact":
        for line in _differing_lines(a, b, fingerprinter.scheme, comparison.contradictions):
            echo(line)


def _stored_texts(documents: Documents, ids: Sequence[str]) -> list[str]:
    texts = texts_of(documents, ids)
    if missing := [id for id in ids if id not in texts]:
        raise InputError(
            f"{documents.name} has no document {missing[0]!r} with a text: give the id of a stored document"
        )
    return [texts[id] for id in ids]


def _json_fingerprint(made: Fingerprint) -> dict[str, Any]:
    return {
        "fingerprint": made.hex,
        "segments": list(made.segments),
        "features": made.features,
        "digest": made.digest,
    }


def _print_fingerprint(made: Fingerprint) -> None:
    echo(f"fingerprint  {made.hex or f'none: fewer than {MIN_FEATURES} features (text too short)'}")
    echo(f"segments     {' '.join(made.segments)}".rstrip())
    echo(f"features     {made.features}")
    echo(f"digest       {made.digest}")


def _json_comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        **{name: getattr(comparison, name) for name in _FIGURES},
        "rule": comparison.rule.to_dict(),
        "contradictions": [difference._asdict() for difference in comparison.contradictions],
        "others": [difference._asdict() for difference in comparison.others],
        "a": _json_fingerprint(comparison.a),
        "b": _json_fingerprint(comparison.b),
    }


def _verdict_lines(comparison: Comparison) -> Iterator[str]:
    rule = comparison.rule
    yield _RELATIONS[comparison.relation].format(rule=rule.rule)
    if rule.max_distance is not None:
        bits = "unknown: a text is too short" if comparison.distance is None else count_of(comparison.distance, "bit")
        yield f"distance: {bits} of {comparison.a.bits}; at most {rule.max_distance} for duplicates"
    if comparison.similarity is not None and rule.min_similarity is not None:
        similarity = decimals(comparison.similarity)
        yield f"similarity: {similarity}; at least {rule.min_similarity:g} for duplicates"
        if comparison.similarity >= rule.min_similarity and not comparison.is_found:
            yield "not found: a store does not find one by the other (too few common keys, or distant fingerprints)"
    yield f"cosine of the word counts: {decimals(comparison.cosine)}"
    if comparison.contradictions:
        allowed = "too many for a duplicate" if comparison.contradict else "as many as a duplicate may have"
        counted = f"; {allowed}" if rule.contradictions == "refuse" else ""
        yield f"contradictions: {len(comparison.contradictions)}{counted}"
        yield from (f"  {difference}" for difference in comparison.contradictions)


def _differing_lines(a: str, b: str, scheme: Scheme, contradictions: Sequence[Difference]) -> Iterator[str]:
    parts, left = shortened(differences(a, b, scheme, contradictions), _CONTEXT, _LONGEST)
    marked = "".join(part.b if part.same else _marked(part) for part in parts)
    yield from (f"  {line}" for line in marked.splitlines())
    if left:
        yield f"  and {count_of(left, 'more difference')}"


def _marked(part: Part) -> str:
    only_in_a, only_in_b = part.a and f"[-{part.a}-]", part.b and f"{{+{part.b}+}}"
    return f"{only_in_a}{'≠' if part.contradicts else ''}{only_in_b}"
