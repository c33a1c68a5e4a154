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

from es_simhash.contract import Fetch, Link, Refresh, Relink, Scan, ask
from es_simhash.errors import InputError
from es_simhash.groups.links import HEADS, ConfirmedLinks, GroupInput, links
from es_simhash.verbs.neighbours import Near
from es_simhash.verbs.relink import Memory, relink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from es_simhash.contract import Flow, Row
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.similarity.confirm import Features
    from es_simhash.verbs.texts import Texts

    Progress = Callable[[str, int], None]

BATCH = 1_000
"""Documents whose links are written at once."""
LARGEST = 10
"""The number of largest groups that are always reported."""
GIANT = 1_000
"""A group with this many members or more is reported too."""

Head = Literal["earliest", "latest", "kept"]


def no_progress(stage: str, documents: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class GroupReport:
    """The result of :func:`group`.

    :param documents: the number of documents that were compared.
    :param groups: the number of groups with two or more members.
    :param members: the number of documents in these groups.
    :param changed: the number of documents whose group or original was written.
    :param conflicts: the number of documents that other programs wrote or removed meanwhile; they stay as they are.
    :param largest: pairs (id of the head, number of members), the largest group first: the ten largest groups, and
        every group with a thousand members or more. A template, or a chain of many small differences, shows here.
    """

    documents: int
    groups: int
    members: int
    changed: int
    conflicts: int
    largest: tuple[tuple[str, int], ...]


def group(
    scheme: Scheme,
    max_distance: int,
    clause: Mapping[str, Any] | None = None,
    head: Head = "earliest",
    progress: Progress = no_progress,
    texts: Texts | None = None,
) -> Flow[GroupReport]:
    """Recompute all groups.

    :param max_distance: bits within which each member of a group is near at least one other member.
    :param clause: a filter; only documents that match it are compared.
    :param head: the rule that names a group after one of its members; :mod:`es_simhash.groups.links` has the rules.
    :param progress: is called with ``read``, ``compared`` or ``written``, and a number of documents.
    :param texts: the texts that confirm near-duplicates; None if texts don't confirm.
    :raises InputError: if a document has no text to confirm by; the message names it. Nothing is written then.
    """
    if head not in HEADS:
        raise InputError(f"head is {head!r}: use one of {', '.join(HEADS)}")
    yield from ask(Refresh())
    rows: list[Row] = []
    after = None
    while True:
        page = yield from ask(Scan(after, clause))
        rows += page.rows
        progress("read", len(page.rows))
        after = page.after
        if after is None:
            break
    rows.sort(key=lambda row: (row.written, row.id))
    blank = scheme.blank_digest
    documents = GroupInput(
        fingerprints=[row.fingerprint for row in rows],
        bits=max((row.bits for row in rows), default=64),
        digests=[None if row.digest == blank else row.digest for row in rows],
        ids=[row.id for row in rows],
        groups=[row.group for row in rows],
    )
    if texts is None:
        heads, originals = links(documents, max_distance, head)
    else:
        confirmed = ConfirmedLinks(documents, max_distance)
        yield from _confirm(rows, confirmed, texts, progress)
        heads, originals = confirmed.result(head)
    changed = 0
    conflicts: set[str] = set()
    named: set[str] = set()
    changes = _changes(rows, heads.tolist(), originals.tolist())
    while batch := dict(islice(changes, BATCH)):
        lost = yield from ask(Relink(batch))
        conflicts |= lost
        changed += len(batch) - len(lost)
        named.update(id for link in batch.values() for id in (link.group, link.duplicate_of) if id is not None)
        progress("written", len(batch))
    yield from ask(Refresh())
    yield from _repair_links(
        {row.id: row.digest for row in rows if row.id in named}, Near(max_distance, blank, texts), clause
    )
    sizes = np.bincount(heads, minlength=len(rows))
    reported = np.argsort(-sizes, kind="stable")[: max(LARGEST, int((sizes >= GIANT).sum()))]
    return GroupReport(
        documents=len(rows),
        groups=int((sizes > 1).sum()),
        members=int(sizes[sizes > 1].sum()),
        changed=changed,
        conflicts=len(conflicts),
        largest=tuple((rows[i].id, int(sizes[i])) for i in reported.tolist() if sizes[i] > 1),
    )


def _confirm(rows: list[Row], confirmed: ConfirmedLinks, texts: Texts, progress: Progress) -> Flow[None]:
    """Fetch the texts that the links need, until every link is decided."""
    features: dict[int, Features | InputError | None] = {}
    while (positions := confirmed.needed()) is not None:
        # Only the texts of one round are held. Texts of the round before that are needed again are not fetched again.
        features = {position: features[position] for position in positions if position in features}
        missing = [position for position in positions if position not in features]
        stored = yield from texts.stored(rows[position].id for position in missing)
        features |= {position: stored.get(rows[position].id) for position in missing}
        progress("compared", len(missing))
        confirmed.decide(partial(_agree, texts, features))


def _agree(texts: Texts, features: Mapping[int, Features | InputError | None], one: int, other: int) -> bool:
    return texts.agree(texts.similarity(features[one], features[other]))


def _repair_links(named: Mapping[str, str], near: Near, clause: Mapping[str, Any] | None) -> Flow[None]:
    """Repair links to documents that other programs removed, or gave another text, after they were read.

    :param named: the documents that were linked to: by id, the digest that they had.
    """
    ids = iter(named)
    while batch := tuple(islice(ids, BATCH)):
        stored = yield from ask(Fetch(batch))
        gone = [id for id in batch if id not in stored]
        moved = [id for id in batch if id not in stored or stored[id].digest != named[id]]
        if moved and (yield from relink(moved, Memory(), near, gone=gone, clause=clause)):
            yield from ask(Refresh())


def _changes(rows: list[Row], heads: list[int], originals: list[int]) -> Iterator[tuple[str, Link]]:
    """Yield the id and the right links of each document whose stored links differ from them."""
    for row, head, original in zip(rows, heads, originals, strict=True):
        group, duplicate_of = rows[head].id, rows[original].id if original >= 0 else None
        if (row.group, row.duplicate_of) != (group, duplicate_of):
            yield row.id, Link(group, duplicate_of, row.version)
