"""The duplicates that may go: members of a group that are duplicates of the head of their group.

Groups are transitive. In a chain of small differences, the end of the chain may be far from the head. Such a member is
no duplicate of the head, so it stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from es_simhash.deciding.remove import remove_some
from es_simhash.errors import saying_what_is_done
from es_simhash.search.hamming import hamming_distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_simhash.contract import Row, Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.deciding.saved import Saved

BATCH = 500
"""Documents that are looked at, saved and removed together."""


@dataclass(frozen=True)
class Duplicate:
    """A member of a group that is a duplicate of the head of its group.

    :param head: id of the head. It stays.
    :param distance: Hamming distance from the head in bits; None if one of the two has no fingerprint.
    :param exact: the normalised texts have one digest.
    """

    id: str
    head: str
    distance: int | None
    exact: bool


def duplicates_of_heads(store: Store, rows: Sequence[Row], rule: ResolvedRule) -> list[Duplicate]:
    """Return which of these members are duplicates of the head of their group, as last written.

    :param rows: as a Scan returned them. A document that has another text or another group now is left out.
    """
    named = {row.id: row for row in rows if row.group != row.id}
    found = _with_heads(store, [(row.id, row.group) for row in named.values()], rule)
    pairs = [
        (head, row) for head, row in found if row.digest == named[row.id].digest and row.group == head.id == head.group
    ]
    return [_duplicate(head, row) for head, row in (rule.duplicates(store, pairs))]


def remove_duplicates(
    store: Store,
    duplicates: Iterable[Duplicate],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
    saved: Saved | None = None,
    *,
    batch: int = BATCH,
) -> int:
    """Remove duplicates of heads, and the links to them.

    Each is looked at again: it stays if it is no duplicate of its head any more, because the text of one of the two
    changed, or the head was removed. A head of the group stays in the store, so no text is lost.

    :param duplicates: as :func:`duplicates_of_heads` returned them, all before the first removal.
    :param rule: the rule by which they are duplicates, and by which others get another original.
    :param filter: only documents that match it become originals.
    :param saved: takes what is removed and changed, before that happens.
    :param batch: documents that are looked at, saved and removed together.
    :returns: how many documents were removed.
    """
    rest = iter(duplicates)
    removed: set[str] = set()
    count = 0

    def report() -> str:
        return f"{count + len(removed):,} documents were removed: remove the other duplicates again"

    while some := list(islice(rest, batch)):
        with saying_what_is_done(report):
            found = _with_heads(store, [(each.id, each.head) for each in some], rule)
            # The group is not compared: a removal before may have given a member another one.
            versions = {row.id: row.version for _, row in (rule.duplicates(store, found))}
            if versions:
                if saved is not None:
                    saved.put(versions)
                remove_some(store, frozenset(versions), rule, versions, filter, removed)
        count += len(removed)
        removed.clear()
    return count


def _with_heads(store: Store, members: Sequence[tuple[str, str]], rule: ResolvedRule) -> list[tuple[Row, Row]]:
    """Return the pairs (head, member) of documents that exist and can be used, as last written.

    :param members: pairs of ids: of a member, and of its head.
    """
    ids = dict.fromkeys(id for pair in members for id in pair)
    rows = store.fetch(tuple(ids), rule.time_field)
    usable = {id: row for id, row in rows.items() if row.digest and not row.damaged}
    return [(usable[head], usable[id]) for id, head in members if id in usable and head in usable and id != head]


def _duplicate(head: Row, row: Row) -> Duplicate:
    distance = hamming_distance(head.fingerprint, row.fingerprint)
    return Duplicate(row.id, head.id, distance, head.digest == row.digest)
