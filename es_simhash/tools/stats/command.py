"""``es-simhash stats``: figures of what a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.console.help import Command
from es_simhash.console.options import json_option, store_options
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.console.progress import show_stages
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.tools.stats.figures import HOT
from es_simhash.tools.stats.figures import stats as stats_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.contract import Space
    from es_simhash.tools.stats.figures import DocumentFigures, Frequent
    from es_simhash.tools.stats.seen_figures import SeenFigures

_WIDTH = 28
_FIELDS = 12
"""Fields whose bytes are printed."""


@click.command(cls=Command)
@json_option
@store_options
@scheme_options
def stats(as_json: bool, **store: Any) -> None:
    """Show what a store holds.

    Counts documents with and without a fingerprint, copies, groups by size, and the distances of near copies from the
    heads of their groups. Names the largest groups, and the fingerprints, segments and keys that most documents share.
    Shows the bytes of each field if the server says them, and how full the filters of seen items are.

    It reads all fingerprints, and for the bytes the whole index. Writes nothing.

    \b
    es-simhash stats --store http://localhost:9200/news
    es-simhash stats --store sqlite:///news.db --json
    """
    with open_documents(**store) as documents, tqdm(unit=" documents", disable=None, leave=False) as bar:
        found = stats_of(documents, progress=show_stages(bar))
    if as_json:
        print_json(found.to_dict())
        return
    echo(found.store)
    if found.documents is not None:
        _show_documents(found.documents)
    if found.seen is not None:
        _show_seen(found.seen)
    _show_space(found.space)


def _row(title: str, value: int | str, indent: int = 2) -> None:
    text = f"{value:,}" if isinstance(value, int) else value
    echo(f"{' ' * indent}{title:<{_WIDTH - indent}}{text:>12}".rstrip())


def _rows(title: str, rows: Iterable[tuple[str, int]]) -> None:
    rows = list(rows)
    if rows:
        echo(f"  {title}")
        for name, value in rows:
            _row(name, value, indent=4)


def _show_documents(found: DocumentFigures) -> None:
    if found.rule:
        echo(found.rule)
    _row("documents", found.documents, 0)
    _row("with a fingerprint", found.fingerprinted)
    _row("text too short for one", found.too_short)
    _row("never fingerprinted", found.without)
    if found.damaged:
        _row("damaged", found.damaged)
    _row("exact copies", found.exact_copies)
    _row("near copies", found.near_copies)
    if found.lost_originals:
        _row("linked to a lost original", found.lost_originals)
    _rows("distance of near copies", ((count_of(bits, "bit"), number) for bits, number in found.distances.items()))
    _row("groups", sum(found.groups.values()), 0)
    _rows("groups by size", _classes(found.groups))
    _rows("largest groups", found.largest)
    _show_frequent("fingerprint", found.fingerprints)
    if found.segments.hot:  # else their frequencies are those of chance
        _show_frequent("segment", found.segments)
    if found.keys is not None:
        _show_frequent("key", found.keys)


def _classes(groups: Mapping[int, int]) -> list[tuple[str, int]]:
    """Return the number of groups in classes: 2, 3 to 4, 5 to 8, 9 to 16 members, …"""
    classes: dict[int, int] = {}
    for size, number in groups.items():
        highest = 1 << (size - 1).bit_length()
        classes[highest] = classes.get(highest, 0) + number
    return [
        ("2 members" if high == 2 else f"{high // 2 + 1:,} to {high:,} members", number)
        for high, number in sorted(classes.items())
    ]


def _show_frequent(noun: str, found: Frequent) -> None:
    hot = f", {count_of(found.hot, noun)} hot (more than {HOT} documents)" if found.hot else ""
    _rows(f"most frequent {noun}s{hot}", found.values)


def _show_seen(found: SeenFigures) -> None:
    _row("users with seen items", found.users, 0)
    if not found.complete:
        echo("  the store has more users; these stand for them")
    _row("filters", found.filters)
    _row("items", found.items)
    _row("bytes", found.bytes)
    if found.damaged:
        _row("damaged users", found.damaged)
    _rows(f"filters by fill (of {found.capacity:,} items)", found.fill.items())
    _row("error rate, at most", f"{found.error_rate:.4%}")
    _row("error rate, mean", f"{found.mean_error:.4%}")
    _row("error rate, largest", f"{found.largest_error:.4%}")


def _show_space(found: Space) -> None:
    _row("bytes", "not known" if found.total is None else found.total, 0)
    if found.reason:
        echo(f"  by field: not known ({found.reason})")
    largest = sorted(found.fields.items(), key=lambda pair: -pair[1])
    _rows("by field", largest[:_FIELDS])
    if len(largest) > _FIELDS:
        _row(f"{len(largest) - _FIELDS} others", sum(number for _, number in largest[_FIELDS:]), 4)
