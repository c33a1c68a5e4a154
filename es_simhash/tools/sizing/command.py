"""``es-simhash size``: how large an index becomes, and how many servers it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash.console.help import Command
from es_simhash.console.options import json_option
from es_simhash.console.output import count_of, echo, number, print_json
from es_simhash.fingerprinting.encoding import segment_count
from es_simhash.search.keys import LONGEST_WITH_GRAMS
from es_simhash.similarity.rule import DEFAULT_MAX_DISTANCE
from es_simhash.tools.sizing.chances import TEXTS
from es_simhash.tools.sizing.cluster import CORES, DISK, FULL, MEMORY, size_of
from es_simhash.tools.sizing.model import Collection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.tools.sizing.cluster import Size
    from es_simhash.tools.sizing.model import Work

MOST_DOCUMENTS = 10**12
MOST_RATE = 10**9
_WIDTH = 38
_WAYS = {
    "plain": "an OR of the segments",
    "plan": "the query plan on the segments",
    "shingles": "keys of shingles",
}
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"))
_TIMES = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"))


def _count(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Return a number of documents, such as 50000000, 50,000,000 or 5e7."""
    if value is None:
        # Some versions of click call this before they look for required options that are missing.
        if parameter.required and not context.resilient_parsing:
            raise click.MissingParameter(ctx=context, param=parameter)
        return None
    least = 1 if parameter.required else 0
    try:
        count = float(value.replace(",", ""))
    except ValueError:
        count = float("nan")
    if not least <= count <= MOST_DOCUMENTS or count != int(count):
        raise click.BadParameter(
            f"{value!r} is not a number of documents: use a whole number from {least} to {MOST_DOCUMENTS:,}, such as "
            "50000000 or 5e7"
        )
    return int(count)


def _rate(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not 0 < value <= MOST_RATE:  # also false for nan
        raise click.BadParameter(
            f"{value:g} is not a number of documents a second: use a number above 0, up to {MOST_RATE:,}"
        )
    return value


@click.command(cls=Command)
@click.option(
    "--documents", required=True, callback=_count, metavar="N", help="Documents in the index, such as 50000000 or 5e7."
)
@click.option(
    "--rate",
    type=float,
    callback=_rate,
    default=100,
    show_default=True,
    metavar="N",
    help="Documents a second that are looked up and written.",
)
@click.option(
    "--max-distance",
    type=click.IntRange(0, 15),
    default=DEFAULT_MAX_DISTANCE,
    show_default=True,
    metavar="K",
    help="Near-duplicates have fingerprints that differ in at most K bits.",
)
@click.option(
    "--keys/--no-keys",
    default=True,
    show_default=True,
    help="With keys the texts decide, as --rule copy does; without, the fingerprints.",
)
@click.option("--bits", type=click.Choice(["64", "128"]), default="64", show_default=True, help="Fingerprint width.")
@click.option(
    "--source-bytes",
    type=click.IntRange(0, 10**8),
    default=1_000,
    show_default=True,
    metavar="N",
    help="Bytes of your own fields of a document in the index, with its text. `es-simhash stats` shows them.",
)
@click.option(
    "--replicas",
    type=click.IntRange(0, 10),
    default=1,
    show_default=True,
    help="Copies of each shard besides the first.",
)
@click.option(
    "--texts",
    type=click.Choice(list(TEXTS)),
    default="newswire",
    show_default=True,
    help="How similar unrelated documents are. Measured on reviews, on stories of a newswire, and on pages "
    "of few templates.",
)
@click.option(
    "--hot",
    callback=_count,
    default="0",
    show_default=True,
    metavar="N",
    help="How many documents share one hot segment of 16 bits, such as the pages of one template.",
)
@json_option
def size(
    documents: int,
    rate: float,
    max_distance: int,
    keys: bool,
    bits: str,
    source_bytes: int,
    replicas: int,
    texts: str,
    hot: int,
    as_json: bool,
) -> None:
    """Estimate the disk, the nodes and the times of an index.

    The index is one in Elasticsearch; the command opens no store. The figures come from a model that was compared with
    indices of random documents, and from times that were measured on one machine (docs/sizing.md). So they say which
    order of magnitude to expect, and which of several choices takes less. Measure the final one on your own servers.

    \b
    es-simhash size --documents 50000000 --rate 500
    es-simhash size --documents 8e9 --max-distance 3 --no-keys --json
    """
    width = int(bits)
    if max_distance >= 2 * segment_count(width):
        raise click.BadParameter(
            f"{max_distance} is too large for {width} bits: use 0 to {2 * segment_count(width) - 1}",
            param_hint="'--max-distance'",
        )
    if hot > documents:
        raise click.BadParameter(
            f"{hot:,} of {count_of(documents, 'document')} cannot share a segment: use at most {documents:,}",
            param_hint="'--hot'",
        )
    collection = Collection(documents, width, max_distance, TEXTS[texts], hot)
    found = size_of(collection, rate, keys=keys, source_bytes=source_bytes, replicas=replicas)
    arguments = {
        "documents": documents,
        "rate": rate,
        "max_distance": max_distance,
        "keys": keys,
        "bits": width,
        "source_bytes": source_bytes,
        "replicas": replicas,
        "texts": texts,
        "hot": hot,
    }
    caveats, assumed = _caveats(keys=keys), list(_assumed(arguments))
    if as_json:
        print_json({"arguments": arguments, "caveats": caveats, **found.to_dict(), "assumed": assumed})
        return
    echo("an estimate, right to a factor of 2 or 3")
    for line in caveats:
        echo(f"  {line}")
    _show(found, rate)
    echo("assumed")
    for line in assumed:
        echo(f"  {line}")


def _show(found: Size, rate: float) -> None:
    echo(f"look-up by {_WAYS[found.way]}")
    _show_work(found.look_up)
    if found.hot_look_up is not None:
        echo("  of a document with the hot segment")
        _show_work(found.hot_look_up, indent=4)
    _row("milliseconds of a server's core", number(found.core_ms))
    _row("one at a time, milliseconds", number(found.one_ms))
    echo("index")
    _row("bytes of a document", f"{found.document_bytes:,.0f}")
    for name, each in sorted(found.fields.items(), key=lambda pair: -pair[1]):
        if each >= 0.5:
            _row(name, f"{each:,.0f}", indent=4)
    _row("on disk, with replicas", _bytes(found.disk_bytes))
    _row("working set", _bytes(found.cache_bytes))
    _row("shards", f"{found.shards:,}")
    _row("Lucene segments of a shard", f"{found.lucene_segments:,.0f}")
    echo("cluster")
    _row("nodes", f"{found.nodes:,}")
    for name, count in found.nodes_for.items():
        _row(f"for the {name}" if name != "rate" else f"for {_documents(rate)} a second", f"{count:,}", indent=4)
    _row("look-ups a second, at most", f"{found.look_ups:,.0f}")
    echo("time, and memory of the command")
    _row("ingest by one process", f"{_time(found.load_seconds)}, {_bytes(found.ingest_bytes)}")
    _row("group", f"{_time(found.group_seconds)}, {_bytes(found.group_bytes)}")


def _show_work(work: Work, indent: int = 2) -> None:
    _row("terms", number(work.terms), indent)
    _row("postings", number(work.postings), indent)
    _row("false candidates", number(work.candidates), indent)


def _caveats(*, keys: bool) -> list[str]:
    """Return what takes several times as long as the figures say."""
    caveats = ["not counted: many near-equal documents, such as pages of one template (but see --texts and --hot)"]
    if keys:
        caveats.append(f"not counted: texts of at most {LONGEST_WITH_GRAMS} characters")
    return [*caveats, "measure the ingest of a part of your documents before you decide"]


def _assumed(arguments: dict[str, Any]) -> Iterator[str]:
    """Yield what the figures assume, a line each."""
    documents, keys, hot = arguments["documents"], arguments["keys"], arguments["hot"]
    yield f"{count_of(documents, 'document')} of {arguments['bits']} bits, texts as similar as: {arguments['texts']}"
    yield f"{_documents(arguments['rate'])} a second are looked up and written"
    if hot:
        yield f"{count_of(hot, 'document')} with the same hot segment, also that share of the look-ups"
    replicas = count_of(arguments["replicas"], "replica")
    yield f"max_distance {arguments['max_distance']}, {'with' if keys else 'without'} keys, {replicas}"
    if keys:
        yield "texts decide; the ingest compares articles"
    yield f"{arguments['source_bytes']:,} bytes of your own fields, and ids of few characters"
    confirm = "with the false candidates" if keys else "without texts"
    yield f"memory of group: as measured with ids of 13 characters and 64 bits, {confirm}"
    yield f"a node: {CORES} cores, half of them busy at the rate; {_bytes(MEMORY)} of memory, half of it for files"
    yield f"  and {_bytes(DISK)} of disk, {FULL:.0%} full at most"
    yield "what look-ups and writes read fits into the memory for files, and the index is written to all the time"
    yield "look-ups in batches of 100; times of a core of AMD EPYC, with Elasticsearch 9.5.3 (docs/sizing.md)"


def _row(title: str, value: str, indent: int = 2) -> None:
    echo(f"{' ' * indent}{title:<{_WIDTH - indent}}{value:>12}")


def _documents(count: float) -> str:
    return f"{number(count)} document{'s' * (count != 1)}"


def _bytes(value: float) -> str:
    for unit, name in _UNITS:
        if value >= unit:
            return f"{number(value / unit)} {name}"
    return f"{value:.0f} bytes"


def _time(seconds: float) -> str:
    for unit, name in _TIMES:
        if seconds >= 2 * unit:
            return f"{number(seconds / unit)} {name}"
    return f"{number(seconds)} seconds"
