"""Group: look at all fingerprints together, and write to each document its group and what it duplicates.

What was written since it was read is left as it is: the next call finds it. Links to what was removed or changed since
then are mended in the end. So it is safe beside a running ingest, may be interrupted and repeated, and a second call
after a first changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from es_simhash.contract import Fetch, Link, Refresh, Relink, Scan, ask
from es_simhash.errors import InputError
from es_simhash.groups.links import HEADS, confirmed_links, links
from es_simhash.verbs.memory import Memory
from es_simhash.verbs.relink import relink

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from numpy.typing import NDArray

    from es_simhash.contract import Flow, Row
    from es_simhash.verbs.rule import ResolvedRule
    from es_simhash.verbs.texts import StoredText, Texts

    Links = tuple[NDArray[np.int64], NDArray[np.int64]]
    Asking = Generator[list[int], Callable[[int, int], bool], Links]
    Progress = Callable[[str, int], None]

BATCH = 1_000
LARGEST = 10
"""So many groups are reported, the largest ones."""
GIANT = 1_000
"""And each group of so many members or more."""

Head = Literal["earliest", "latest", "kept"]


def no_progress(stage: str, documents: int) -> None:
    """Progress that nobody wants to see."""


@dataclass(frozen=True)
class GroupReport:
    """What :func:`group` found and did.

    :param documents: how many it looked at.
    :param groups: groups of two or more.
    :param members: documents in those.
    :param changed: documents whose group, or what they duplicate, was written.
    :param conflicts: documents that were written or removed by others meanwhile, and left as they are.
    :param largest: the heads of the ten largest groups, and of all with a thousand members or more; and how many
        members they have, the largest first. A chain of many small differences, or a template, shows here.
    """

    documents: int
    groups: int
    members: int
    changed: int
    conflicts: int
    largest: tuple[tuple[str, int], ...]


def group(
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
    head: Head = "earliest",
    progress: Progress = no_progress,
) -> Flow[GroupReport]:
    """Recompute all groups.

    :param rule: the rule by which each member of a group is a duplicate of at least one other.
    :param filter: only documents that match it are looked at.
    :param head: the rule by which a group is named after one of its members; it is in ``groups.links``.
    :param progress: is told ``read``, ``compared`` or ``written``, and how many documents were.
    :raises InputError: naming a document without a text to confirm by; nothing is written then.
    """
    if head not in HEADS:
        raise InputError(f"head is {head!r}: use one of {', '.join(HEADS)}")
    yield from ask(Refresh())
    rows: list[Row] = []
    after = None
    while True:
        page = yield from ask(Scan(after, filter))
        rows += page.rows
        progress("read", len(page.rows))
        after = page.after
        if after is None:
            break
    rows.sort(key=lambda row: (row.written, row.id))
    blank = rule.blank_digest
    about = (
        [row.fingerprint for row in rows],
        rule.bits,
        [None if row.digest == blank else row.digest for row in rows],
        [row.id for row in rows],
        [row.group for row in rows],
        rule.max_distance,
        head,
    )
    if rule.texts is None:
        heads, originals = links(*about)
    else:
        heads, originals = yield from _confirmed(rows, confirmed_links(*about), rule.texts, progress)
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
    yield from _mend({row.id: row.digest for row in rows if row.id in named}, rule, filter)
    sizes = np.bincount(heads, minlength=len(rows))
    reported = np.argsort(-sizes, kind="stable")[: max(LARGEST, int((sizes >= GIANT).sum()))]
    return GroupReport(
        documents=len(rows),
        groups=int((sizes > 1).sum()),
        members=int(sizes[sizes > 1].sum()),
        changed=changed,
        conflicts=len(conflicts),
        largest=tuple((rows[place].id, int(sizes[place])) for place in reported.tolist() if sizes[place] > 1),
    )


def _confirmed(rows: list[Row], asking: Asking, texts: Texts, progress: Progress) -> Flow[Links]:
    """Answer with the texts."""
    try:
        places = next(asking)
        of: dict[int, StoredText] = {}
        while True:
            of = {place: of[place] for place in places if place in of}
            missing = [place for place in places if place not in of]
            stored = yield from texts.stored(rows[place].id for place in missing)
            of |= {place: stored.get(rows[place].id) for place in missing}
            progress("compared", len(missing))
            places = asking.send(partial(_agree, texts, of))
    except StopIteration as end:
        found: Links = end.value
        return found


def _agree(texts: Texts, of: Mapping[int, StoredText], one: int, other: int) -> bool:
    return texts.is_enough(texts.similarity(of[one], of[other]))


def _mend(named: Mapping[str, str], rule: ResolvedRule, filter: Mapping[str, Any] | None) -> Flow[None]:
    """Mend the links that were written to documents which others removed, or gave another text, meanwhile.

    :param named: the digests by which they were linked to, by id.
    """
    ids = iter(named)
    while batch := tuple(islice(ids, BATCH)):
        stored = yield from ask(Fetch(batch))
        gone = [id for id in batch if id not in stored]
        moved = [id for id in batch if id not in stored or stored[id].digest != named[id]]
        if moved and (yield from relink(moved, Memory(), rule, gone=gone, filter=filter)):
            yield from ask(Refresh())


def _changes(rows: list[Row], heads: list[int], originals: list[int]) -> Iterator[tuple[str, Link]]:
    """The documents that have other links than they should, with those."""
    for row, head, original in zip(rows, heads, originals, strict=True):
        group, duplicate_of = rows[head].id, rows[original].id if original >= 0 else None
        if (row.group, row.duplicate_of) != (group, duplicate_of):
            yield row.id, Link(group, duplicate_of, row.version)
