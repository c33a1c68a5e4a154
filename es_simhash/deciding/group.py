"""The verb group: it compares all fingerprints, and writes to each document its group and its original.

It is safe beside a running ingest. A document that another program writes after the verb has read it stays as it is;
the next call finds it. At the end the verb repairs links to documents that were removed or changed meanwhile. The verb
may be interrupted and repeated. A second call after a first one changes nothing.
"""

from __future__ import annotations

import logging
from array import array
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.contract import Candidates, Scan, pages
from es_simhash.deciding.pool import NO_TIME, PoolReader
from es_simhash.deciding.relink import repair
from es_simhash.deciding.rule import check_time
from es_simhash.errors import InputError, count_of, saying_what_is_done
from es_simhash.groups.links import ConfirmedLinks, GroupInput, links
from es_simhash.groups.time_window import Times
from es_simhash.search.key_table import KeyTable, most_texts_held
from es_simhash.search.keys import LONGEST_WITH_GRAMS, KeyIndex, TextKeys, keys_of_texts
from es_simhash.search.minhash import is_band
from es_simhash.similarity.confirm import MOST_TEXTS
from es_simhash.similarity.rule import DIGESTS_ALONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_simhash.contract import Link, Probe, Row, Store
    from es_simhash.deciding.pool import Pool
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.deciding.texts import StoredText, Texts
    from es_simhash.groups.links import Head

    Progress = Callable[[str, int], None]

_log = logging.getLogger("es_simhash")

BYTES = 300
"""Memory for a document, at most, without the pairs that texts confirm. An id may be 50 bytes long.

The mean of ten million documents with ids of 13 characters is 206 bytes (docs/measurements.md)."""
BATCH = 1_000
"""Documents whose links are written together, and whose Rows are fetched together."""
LOOK_UPS = 100
"""Documents that are looked up by their keys together."""
FEW = MOST_TEXTS
"""The most documents that are fetched because they may share keys with one. If there are more, a look-up is as fast."""
LARGEST = 10
"""The number of largest groups that are always reported."""
GIANT = 1_000
"""A group with this many members or more is reported too."""


def no_progress(stage: str, documents: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class GroupReport:
    """The result of ``group``.

    :param documents: the number of documents that were compared.
    :param groups: the number of groups with two or more members.
    :param members: the number of documents in these groups.
    :param changed: the number of documents whose group or original was written.
    :param conflicts: the number of documents that other programs wrote or removed meanwhile; they stay as they are.
    :param largest: pairs (id of the head, number of members), the largest group first: the ten largest groups, and
        every group with a thousand members or more. A template, or a chain of many small differences, shows here.
    :param left_out: about how many pairs of documents were not compared, because very many share keys or are near each
        other.
    """

    documents: int
    groups: int
    members: int
    changed: int
    conflicts: int
    largest: tuple[tuple[str, int], ...]
    left_out: int = 0


def group(
    store: Store,
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
    head: Head = "earliest",
    progress: Progress = no_progress,
    free_memory: int | None = None,
    *,
    batch: int = BATCH,
    giant: int = GIANT,
) -> GroupReport:
    """Recompute all groups.

    :param rule: the rule by which each member of a group is a duplicate of at least one other member.
    :param filter: only documents that match it are compared.
    :param head: the rule that names a group after one of its members; :mod:`es_simhash.groups.links` has the rules.
    :param progress: is called with ``read``, ``compared`` or ``written``, and a number of documents.
    :param free_memory: in bytes; None if it is not known. If it is too little, a warning says so before the reading.
        Keys are held in a part of it.
    :param batch: documents whose links are written together.
    :param giant: a group with this many members or more is reported too.
    :raises InputError: if texts confirm and a document has no text; if times count and a document has no time. The
        message names it. Nothing is written then.
    """
    with saying_what_is_done(lambda: "no links were written: group again"):
        _check_memory(store, filter, free_memory)
        pool = _read(store, rule, filter, progress)
    if rule.window is not None:
        without = np.flatnonzero(pool.times == NO_TIME)
        check_time(store, pool.id(int(without[0])) if len(without) else None, rule.window.field)
    with saying_what_is_done(lambda: "no links were written: group again"):
        heads, originals, left_out = _links(store, pool, rule, filter, head, progress, free_memory)
    positions = pool.changed(heads, originals)
    changed, conflicts = _write(store, pool.links(positions, heads, originals), len(positions), batch, progress)
    named = np.zeros(len(pool), dtype=np.bool_)
    named[heads[positions]] = True
    named[originals[positions[originals[positions] >= 0]]] = True
    written = f"the links of {count_of(changed, 'document')} were written, but not checked afterwards: group again"
    with saying_what_is_done(lambda: written):
        store.refresh()
        linked_to = ((pool.id(position), position) for position in np.flatnonzero(named).tolist())
        repair(store, linked_to, pool.has_digest, rule, filter)
    sizes = np.bincount(heads, minlength=len(pool))
    groups = np.flatnonzero(sizes > 1)
    reported = groups[np.argsort(-sizes[groups], kind="stable")]
    return GroupReport(
        documents=len(pool),
        groups=len(groups),
        members=int(sizes[groups].sum()),
        changed=changed,
        conflicts=conflicts,
        largest=tuple(
            (pool.id(i), int(sizes[i])) for i in reported[: max(LARGEST, int((sizes >= giant).sum()))].tolist()
        ),
        left_out=left_out,
    )


def _check_memory(store: Store, filter: Mapping[str, Any] | None, free: int | None) -> None:
    """Warn if the documents are too many for the free memory, in bytes."""
    if free is None:
        return
    count = store.count(Scan(fields=()))
    if filter is not None and count * BYTES > free:  # only then it is worth a pass over the documents
        count = store.count(Scan(filter=filter))
    if count * BYTES > free:
        _log.warning(
            "group needs up to %.1f GB of memory for %s, and %.1f GB are free: leave documents out (filter), or use "
            "Spark (docs/spark.md)",
            count * BYTES / 1e9,
            count_of(count, "document"),
            free / 1e9,
        )


def _read(store: Store, rule: ResolvedRule, filter: Mapping[str, Any] | None, progress: Progress) -> Pool:
    """Return all documents."""
    store.refresh()
    reader = PoolReader(rule.bits, timed=rule.window is not None)
    for page in pages(store, Scan(filter=filter, time_field=rule.time_field)):
        reader.add(page.rows)
        progress("read", len(page.rows))
    return reader.pool()


def _write(
    store: Store, changes: Iterator[tuple[str, Link]], count: int, most: int, progress: Progress
) -> tuple[int, int]:
    """Write the links of documents; return how many were written, and how many other programs wrote meanwhile.

    :param count: of the documents.
    :param most: documents whose links are written together.
    """
    changed = conflicts = 0

    def report() -> str:
        done, left = count_of(changed, "document"), count - changed - conflicts
        return f"the links of {done} were written, and those of {left:,} were not: group again"

    with saying_what_is_done(report):
        while batch := dict(islice(changes, most)):
            lost = store.relink(batch)
            conflicts += len(lost)
            changed += len(batch) - len(lost)
            progress("written", len(batch))
    return changed, conflicts


def _links(
    store: Store,
    pool: Pool,
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None,
    head: Head,
    progress: Progress,
    free_memory: int | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return for each document the position of the head of its group, and of its original or -1: two arrays (n,).

    The third value is how many pairs of documents that share keys were not compared.
    """
    documents = GroupInput(
        fingerprints=pool.fingerprints,
        fingerprinted=pool.fingerprinted,
        texts=pool.texts(rule.blank_digest),
        names=pool.names,
        groups=pool.groups,
        times=None if rule.window is None else Times(pool.times, rule.window.length),
    )
    if rule.texts is None:
        found, left_out = links(documents, rule.max_distance, head)
        return *found, left_out
    if rule.keys:
        texts = None if rule.window is not None else documents.texts
        firsts = np.arange(len(pool)) if texts is None else np.flatnonzero(texts == np.arange(len(pool)))
        table = _key_table(store, pool, firsts) if len(firsts) <= most_texts_held(free_memory) else None
        *near, left_out = _pairs_by_keys(store, pool, rule, filter, progress, firsts, texts, table)
        confirmed = ConfirmedLinks(documents, rule.max_distance, (near[0], near[1]))
    else:
        confirmed = ConfirmedLinks(documents, rule.max_distance, most=MOST_TEXTS)
        left_out = confirmed.left_out
    _confirm(store, pool, confirmed, rule.texts, progress)
    return *confirmed.result(head), left_out


def _confirm(store: Store, pool: Pool, confirmed: ConfirmedLinks, texts: Texts, progress: Progress) -> None:
    """Fetch the texts that the links need, until every link is decided."""
    features: dict[int, StoredText] = {}
    while (positions := confirmed.needed()) is not None:
        # Only the texts of one round are held. Texts of the round before that are needed again are not fetched again.
        features = {position: features[position] for position in positions if position in features}
        missing = [position for position in positions if position not in features]
        stored = texts.stored(store, map(pool.id, missing))
        features |= {position: stored.get(pool.id(position)) for position in missing}
        progress("compared", len(missing))
        confirmed.decide(partial(_agree, texts, features))


def _agree(texts: Texts, features: Mapping[int, StoredText], one: int, other: int) -> bool:
    return texts.is_enough(texts.similarity(features[one], features[other]))


def _key_table(store: Store, pool: Pool, firsts: NDArray[np.int64]) -> KeyTable:
    """Return the keys of documents.

    :param firsts: their positions, shape (m,).
    """
    table = KeyTable()
    for start in range(0, len(firsts), BATCH):
        ids = [pool.id(position) for position in firsts[start : start + BATCH].tolist()]
        stored = store.fetch(tuple(ids))
        rows = [None if id not in stored or stored[id].damaged else stored[id] for id in ids]
        table.add([row.keys if row else () for row in rows], [row.length if row else None for row in rows])
    return table


def _pairs_by_keys(
    store: Store,
    pool: Pool,
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None,
    progress: Progress,
    firsts: NDArray[np.int64],
    texts: NDArray[np.int64] | None,
    table: KeyTable | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the pairs of documents that share keys, their distances, and how many pairs were left out.

    The keys in memory say which documents may share keys with a document. If these are many, the store searches for the
    keys of the document: it ranks what it finds.

    What is near a document is near its exact copies, and these are in its group. So only the first document of each
    text is looked up. Where times count, each is. An empty text is nobody's duplicate.

    :param firsts: the positions of the documents that are looked up, ascending, shape (m,).
    :param texts: the position of the first document with the same text as each, shape (n,); None where times count.
    :param table: the keys of ``firsts``; None if they would take too much memory. Then the store is asked for each.
    :returns: positions, shape (n, 2), the lower one first; distances in bits, shape (n,).
    """
    assert rule.texts is not None
    found_pairs = array("q")  # one position, the other one, and the distance
    left_out = 0
    progress("compared", len(pool) - len(firsts))
    for start in range(0, len(firsts), BATCH):
        some = firsts[start : start + BATCH].tolist()
        keys = _stored_keys(store, [pool.id(position) for position in some], rule.texts)
        found_by = {
            position: rule.probe(None, None, keys[id], pool.time(position))
            for position in some
            if (id := pool.id(position)) in keys
        }
        asking = list(found_by.items())
        if table is not None:
            queries = [found_by[position].queries if position in found_by else () for position in some]
            sharing = dict(zip(some, table.sharing(queries, FEW, start), strict=True))
            near = [(position, probe) for position, probe in asking if sharing[position]]
            asking = [(position, probe) for position, probe in asking if sharing[position] is None]
            others = sorted({other for position, _ in near for other in sharing[position] or ()})
            ids = tuple(map(pool.id, firsts[others].tolist()))
            rows = store.fetch(ids, rule.time_field).values()
            found_pairs.extend(_pairs_of(pool, rule, texts, near, [row for row in rows if not row.damaged]))
        for first in range(0, len(asking), LOOK_UPS):
            look_ups = asking[first : first + LOOK_UPS]
            # Each finds itself, too.
            probes = tuple(replace(probe, most=(probe.most or 0) + 1) for _, probe in look_ups)
            request = Candidates(
                probes,
                DIGESTS_ALONE,
                rule.bits,
                filter,
                one_per_digest=texts is not None,
                time_field=rule.time_field,
            )
            found = store.candidates(request)
            found_pairs.extend(_pairs_of(pool, rule, texts, look_ups, found.rows))
            left_out += sum(found.left_out.values())
        progress("compared", len(some))
    every = np.frombuffer(found_pairs, dtype=np.int64).reshape(-1, 3)
    pairs, last = np.unique(every[::-1, :2], axis=0, return_index=True)
    return pairs, every[::-1][last, 2], left_out


def _pairs_of(
    pool: Pool,
    rule: ResolvedRule,
    texts: NDArray[np.int64] | None,
    look_ups: Sequence[tuple[int, Probe]],
    rows: Sequence[Row],
) -> Iterator[int]:
    """Yield of each pair that some documents form with Rows: the lower position, the higher one, the distance in bits.

    :param texts: the position of the first document with the same text as each, shape (n,): it stands for its exact
        copies. The store may have found one of these. None where times count.
    :param look_ups: the documents, by position, and their Probes.
    """
    queries = [probe.queries for _, probe in look_ups]
    index_of_keys = KeyIndex([row.keys for row in rows], [row.length for row in rows], queries)
    for (position, _), some_queries in zip(look_ups, queries, strict=True):
        others = index_of_keys.fulfilling(some_queries)
        for index, distance in rule.allowed(pool.fingerprint(position), rows, others):
            row = rows[index]
            if rule.window is not None and (
                pool.has_digest(position, row.digest) or not rule.in_window(pool.time(position), row.time)
            ):
                continue
            other = pool.position(row.id)
            if other is not None and texts is not None and pool.has_digest(other, row.digest) and texts[other] >= 0:
                other = int(texts[other])
            if other is not None and other != position:
                yield from (min(position, other), max(position, other), rule.bits + 1 if distance is None else distance)


def _stored_keys(store: Store, ids: Sequence[str], texts: Texts) -> dict[str, TextKeys]:
    """Return the keys of stored documents. Documents that do not exist (any more) are left out.

    The store has the keys. Only the count filter of a short text needs the text itself. The keys of numbers are left
    out: which of them a copy must have, only the text tells.

    :raises InputError: if a text is needed and the document has none; the message names the document.
    """
    rows = store.fetch(tuple(ids))
    keys = {
        id: TextKeys(tuple(sorted(filter(is_band, row.keys))), row.length)
        for id, row in rows.items()
        if row.length is not None and row.length > LONGEST_WITH_GRAMS
    }
    short: dict[str, str] = {}
    for id, text in texts.stored(store, (id for id in rows if id not in keys)).items():
        if isinstance(text, InputError):
            raise text
        short[id] = text.normalised
    return keys | dict(zip(short, keys_of_texts(list(short.values())), strict=True))
