"""The verb group: it compares all fingerprints, and writes to each document its group and its original.

It is safe beside a running ingest. A document that another program writes after the verb has read it stays as it is;
the next call finds it. At the end the verb repairs links to documents that were removed or changed meanwhile. The verb
may be interrupted and repeated. A second call after a first one changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from es_simhash.contract import Candidates, Fetch, Link, Refresh, Relink, Scan, ask
from es_simhash.errors import InputError, StoreError, count_of, unfinished
from es_simhash.groups.links import HEADS, ConfirmedLinks, GroupInput, links
from es_simhash.groups.time_window import Times
from es_simhash.search.keys import LONGEST_WITH_GRAMS, KeyIndex, TextKeys
from es_simhash.similarity.rule import DIGESTS_ALONE
from es_simhash.verbs.memory import Memory
from es_simhash.verbs.relink import relink
from es_simhash.verbs.rule import MOST_TEXTS
from es_simhash.verbs.times import check_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_simhash.contract import Flow, Row
    from es_simhash.verbs.rule import ResolvedRule
    from es_simhash.verbs.texts import StoredText, Texts

    Progress = Callable[[str, int], None]

BATCH = 1_000
"""Documents whose links are written at once."""
LOOK_UPS = 100
"""Documents whose keys are looked up together."""
LARGEST = 10
"""The number of largest groups that are always reported."""
GIANT = 1_000
"""A group with this many members or more is reported too."""

Head = Literal["earliest", "latest", "kept"]


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


def check_head(head: object) -> None:
    """Check a rule for the head of a group.

    :raises InputError: if it is unknown.
    """
    if not isinstance(head, str) or head not in HEADS:
        raise InputError(f"head is {head!r}: use one of {', '.join(HEADS)}")


def group(
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
    head: Head = "earliest",
    progress: Progress = no_progress,
) -> Flow[GroupReport]:
    """Recompute all groups.

    :param rule: the rule by which each member of a group is a duplicate of at least one other member.
    :param filter: only documents that match it are compared.
    :param head: the rule that names a group after one of its members; :mod:`es_simhash.groups.links` has the rules.
    :param progress: is called with ``read``, ``compared`` or ``written``, and a number of documents.
    :raises InputError: if texts confirm and a document has no text; if times count and a document has no time. The
        message names it. Nothing is written then.
    """
    rows = yield from _read(filter, progress, rule.time_field)
    if rule.window is not None:
        yield from check_times(rows, rule.window.field)
    heads, originals, left_out = yield from _links(rows, rule, filter, head, progress)
    changed = 0
    conflicts: set[str] = set()
    named: set[str] = set()
    changes = _changes(rows, heads.tolist(), originals.tolist())
    while batch := dict(islice(changes, BATCH)):
        try:
            lost = yield from ask(Relink(batch))
        except StoreError as error:
            left = len(batch) + sum(1 for _ in changes)
            done = count_of(changed, "document")
            report = f"the links of {done} were written, and those of {left:,} were not: group again"
            raise unfinished(error, report) from error
        conflicts |= lost
        changed += len(batch) - len(lost)
        named.update(id for link in batch.values() for id in (link.group, link.duplicate_of) if id is not None)
        progress("written", len(batch))
    try:
        yield from ask(Refresh())
        yield from repair({row.id: row.digest for row in rows if row.id in named}, rule, filter)
    except StoreError as error:
        report = f"the links of {count_of(changed, 'document')} were written, but not checked afterwards: group again"
        raise unfinished(error, report) from error
    sizes = np.bincount(heads, minlength=len(rows))
    reported = np.argsort(-sizes, kind="stable")[: max(LARGEST, int((sizes >= GIANT).sum()))]
    return GroupReport(
        documents=len(rows),
        groups=int((sizes > 1).sum()),
        members=int(sizes[sizes > 1].sum()),
        changed=changed,
        conflicts=len(conflicts),
        largest=tuple((rows[i].id, int(sizes[i])) for i in reported.tolist() if sizes[i] > 1),
        left_out=left_out,
    )


def _read(filter: Mapping[str, Any] | None, progress: Progress, time_field: str | None) -> Flow[list[Row]]:
    """Return all Rows in their write order."""
    yield from ask(Refresh())
    rows: list[Row] = []
    scan: Scan | None = Scan(filter=filter, time_field=time_field)
    while scan is not None:
        page = yield from ask(scan)
        rows += page.rows
        progress("read", len(page.rows))
        scan = scan.following(page)
    return sorted(rows, key=lambda row: (row.written, row.id))


def _links(
    rows: list[Row], rule: ResolvedRule, filter: Mapping[str, Any] | None, head: Head, progress: Progress
) -> Flow[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
    """Return for each Row the index of the head of its group, and the index of its original or -1: two arrays (n,).

    The third value is how many pairs of documents that share keys were not compared.
    """
    documents = GroupInput(
        fingerprints=[row.fingerprint for row in rows],
        bits=rule.bits,
        digests=[None if row.digest == rule.blank_digest else row.digest for row in rows],
        ids=[row.id for row in rows],
        groups=[row.group for row in rows],
        times=None if rule.window is None else Times([row.time or 0 for row in rows], rule.window.length),
    )
    if rule.texts is None:
        found, left_out = links(documents, rule.max_distance, head)
        return *found, left_out
    if rule.keys:
        *near, left_out = yield from _pairs_by_keys(rows, rule, filter, progress)
        confirmed = ConfirmedLinks(documents, rule.max_distance, (near[0], near[1]))
    else:
        confirmed = ConfirmedLinks(documents, rule.max_distance, most=MOST_TEXTS)
        left_out = confirmed.left_out
    yield from _confirm(rows, confirmed, rule.texts, progress)
    return *confirmed.result(head), left_out


def _confirm(rows: list[Row], confirmed: ConfirmedLinks, texts: Texts, progress: Progress) -> Flow[None]:
    """Fetch the texts that the links need, until every link is decided."""
    features: dict[int, StoredText] = {}
    while (positions := confirmed.needed()) is not None:
        # Only the texts of one round are held. Texts of the round before that are needed again are not fetched again.
        features = {position: features[position] for position in positions if position in features}
        missing = [position for position in positions if position not in features]
        stored = yield from texts.stored(rows[position].id for position in missing)
        features |= {position: stored.get(rows[position].id) for position in missing}
        progress("compared", len(missing))
        confirmed.decide(partial(_agree, texts, features))


def _agree(texts: Texts, features: Mapping[int, StoredText], one: int, other: int) -> bool:
    return texts.is_enough(texts.similarity(features[one], features[other]))


def _pairs_by_keys(
    rows: list[Row], rule: ResolvedRule, filter: Mapping[str, Any] | None, progress: Progress
) -> Flow[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
    """Return the pairs of documents that share keys, their distances, and how many pairs were left out.

    The store is asked for each document, as a search for its text would ask.

    :returns: positions, shape (n, 2), the lower one first; distances in bits, shape (n,).
    """
    assert rule.texts is not None
    position = {row.id: index for index, row in enumerate(rows)}
    distances: dict[tuple[int, int], int] = {}
    left_out = 0
    for start in range(0, len(rows), LOOK_UPS):
        some = rows[start : start + LOOK_UPS]
        keys = yield from _stored_keys([row.id for row in some], rule.texts)
        asking = [row for row in some if row.id in keys]
        queries = [rule.queries(keys[row.id]) for row in asking]
        probes = tuple(rule.probe(None, None, each, row.time) for row, each in zip(asking, queries, strict=True))
        request = Candidates(probes, DIGESTS_ALONE, rule.bits, filter, most=MOST_TEXTS + 1, time_field=rule.time_field)
        found = yield from ask(request)
        index_of_keys = KeyIndex([row.keys for row in found.rows], [row.length for row in found.rows], queries)
        for row, some_queries in zip(asking, queries, strict=True):
            others = index_of_keys.sharing(some_queries)[0].tolist()
            for index, distance in rule.allowed(row.fingerprint, found.rows, others):
                other = found.rows[index]
                if rule.window is not None and (other.digest == row.digest or not rule.in_window(row.time, other.time)):
                    continue
                if other.id in position and other.id != row.id:
                    one, two = sorted((position[row.id], position[other.id]))
                    distances[one, two] = rule.bits + 1 if distance is None else distance
        left_out += sum(found.left_out.values())
        progress("compared", len(some))
    pairs = np.array(list(distances), dtype=np.int64).reshape(-1, 2)
    return pairs, np.array(list(distances.values()), dtype=np.int64), left_out


def _stored_keys(ids: Sequence[str], texts: Texts) -> Flow[dict[str, TextKeys]]:
    """Return the keys of stored documents. Documents that do not exist (any more) are left out.

    The store has the keys. Only the count filter of a short text needs the text itself.

    :raises InputError: if a text is needed and the document has none; the message names the document.
    """
    rows = yield from ask(Fetch(tuple(ids)))
    keys = {
        id: TextKeys(tuple(sorted(row.keys)), row.length)
        for id, row in rows.items()
        if row.length is not None and row.length > LONGEST_WITH_GRAMS
    }
    stored = yield from texts.stored(id for id in rows if id not in keys)
    for id, text in stored.items():
        if isinstance(text, InputError):
            raise text
        keys[id] = text.keys
    return keys


def repair(named: Mapping[str, str], rule: ResolvedRule, filter: Mapping[str, Any] | None) -> Flow[None]:
    """Repair links to documents that other programs removed, or gave another text, after they were read.

    :param named: the documents that were linked to: by id, the digest that they had.
    """
    ids = iter(named)
    while batch := tuple(islice(ids, BATCH)):
        stored = yield from ask(Fetch(batch))
        gone = [id for id in batch if id not in stored]
        changed = [id for id in batch if id not in stored or stored[id].digest != named[id]]
        if changed and (yield from relink(changed, Memory(), rule, gone=gone, filter=filter)):
            yield from ask(Refresh())


def _changes(rows: list[Row], heads: list[int], originals: list[int]) -> Iterator[tuple[str, Link]]:
    """Yield the id and the right links of each document whose stored links differ from them."""
    for row, head, original in zip(rows, heads, originals, strict=True):
        group, duplicate_of = rows[head].id, rows[original].id if original >= 0 else None
        if (row.group, row.duplicate_of) != (group, duplicate_of):
            yield row.id, Link(group, duplicate_of, row.version)
