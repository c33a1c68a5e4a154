"""Group: look at all fingerprints together, and write to each document the group it belongs to.

What was written since it was read is left as it is: the next call finds it. So it is safe beside a running ingest, may
be interrupted and repeated, and a second call after a first changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.core.groups import near_pairs, unite
from es_simhash.core.text import digest
from es_simhash.ops import Refresh, Regroup, Scan, ask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from es_simhash.core.groups import Pairs
    from es_simhash.core.scheme import Scheme
    from es_simhash.ops import Flow, Scanned

BATCH = 1_000
LARGEST = 10


@dataclass(frozen=True)
class GroupReport:
    """What :func:`group` found and did.

    :param documents: how many it looked at.
    :param groups: groups of two or more.
    :param members: documents in those.
    :param changed: documents whose group was written.
    :param conflicts: documents that were written or removed by others meanwhile, and left as they are.
    :param largest: the heads of the largest groups, ten at most, and how many members they have. A chain of many small
        differences, or a template, shows here.
    """

    documents: int
    groups: int
    members: int
    changed: int
    conflicts: int
    largest: tuple[tuple[str, int], ...]


def group(scheme: Scheme, max_distance: int, clause: Mapping[str, Any] | None = None) -> Flow[GroupReport]:
    """Recompute all groups.

    :param max_distance: how near the members of a group are to at least one other.
    :param clause: only documents that match it are looked at.
    """
    yield from ask(Refresh())
    everything = _Everything(digest("", scheme.digest))
    after = None
    while True:
        page = yield from ask(Scan(after, clause))
        everything.add(page.documents)
        after = page.after
        if after is None:
            break
    heads = everything.heads(max_distance)
    changes = everything.changes(heads)
    conflicts: set[str] = set()
    for start in range(0, len(changes), BATCH):
        conflicts |= yield from ask(Regroup(dict(changes[start : start + BATCH])))
    yield from ask(Refresh())
    sizes = Counter(heads.tolist())
    largest = [(everything.ids[head], size) for head, size in sizes.most_common(LARGEST) if size > 1]
    return GroupReport(
        documents=len(heads),
        groups=sum(size > 1 for size in sizes.values()),
        members=sum(size for size in sizes.values() if size > 1),
        changed=len(changes) - len(conflicts),
        conflicts=len(conflicts),
        largest=tuple(largest),
    )


@dataclass
class _Everything:
    """All documents, by place: some 700 bytes for each."""

    blank: str
    ids: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    versions: list[Any] = field(default_factory=list)
    digests: list[str | None] = field(default_factory=list)
    fingerprints: list[int | None] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    def add(self, documents: list[Scanned]) -> None:
        for document in documents:
            row = document.row
            self.ids.append(row.id)
            self.groups.append(row.group)
            self.versions.append(document.version)
            self.digests.append(None if row.digest == self.blank else row.digest)
            self.fingerprints.append(row.fingerprint)
            self.written.append(row.written)

    def heads(self, max_distance: int) -> NDArray[np.int64]:
        """For each document the place of its group's head; the rule is in ``core.groups``."""
        places = np.array([place for place, value in enumerate(self.fingerprints) if value is not None], dtype=np.int64)
        values = np.array([value for value in self.fingerprints if value is not None], dtype=np.uint64)
        near = (places[pairs] for pairs in near_pairs(values, max_distance))
        lowest = unite(len(self.ids), chain(near, self._copies()))
        named = Counter(zip(self.groups, lowest.tolist(), strict=True))
        votes = np.array([named[id, low] for id, low in zip(self.ids, lowest.tolist(), strict=True)], dtype=np.int64)
        # The best candidate of each group last: of several assignments to one place the last stays.
        order = np.lexsort((np.array(self.written, dtype=np.int64), -votes))[::-1]
        head_of = np.arange(len(self.ids))
        head_of[lowest[order]] = order
        heads: NDArray[np.int64] = head_of[lowest]
        return heads

    def _copies(self) -> Iterator[Pairs]:
        first: dict[str, int] = {}
        pairs = [
            (first.setdefault(digest, place), place) for place, digest in enumerate(self.digests) if digest is not None
        ]
        yield np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def changes(self, heads: NDArray[np.int64]) -> list[tuple[str, tuple[str, Any]]]:
        """The documents that are in another group than they say, with that group and their version."""
        return [
            (self.ids[place], (self.ids[head], self.versions[place]))
            for place, head in enumerate(heads.tolist())
            if self.groups[place] != self.ids[head]
        ]
