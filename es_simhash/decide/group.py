"""The verb group: decide all documents again, in their order, as if each came after all that are earlier.

It may be interrupted and repeated. A document that another program writes meanwhile stays as it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.decide.decider import AT_ONCE, Decider
from es_simhash.errors import count_of, saying_what_is_done
from es_simhash.machine import free_memory
from es_simhash.parts import in_parts
from es_simhash.rows import Scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.store.protocol import Filter, Store

    Progress = Callable[[int, int], None]
    """Takes the documents that were decided so far, and all of them."""

LARGEST = 10
"""The number of largest groups that are reported."""


@dataclass(frozen=True)
class GroupReport:
    """The result of ``group``.

    :param documents: the number of documents that were decided.
    :param groups: the number of groups with two or more members, of these documents.
    :param members: the number of documents in these groups.
    :param changed: the number of documents whose link was written.
    :param conflicts: the number of documents that other programs wrote meanwhile; they stay as they are.
    :param largest: pairs (id of the head, number of members): the ten largest groups, the largest first.
    :param left_out: at least so many pairs of documents that may be near were not compared.
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
    filter: Filter | None = None,
    since: int | None = None,
    progress: Progress | None = None,
) -> GroupReport:
    """Decide documents again, and write the links that differ.

    What is near is looked up in memory, if the documents fit into a quarter of the free memory; else by search.

    :param filter: only documents that match it are decided, and become heads.
    :param since: only documents whose text was written at this time or later, in microseconds since 1970, and what is
        linked to them.
    """
    total = store.count(Scan(filter=filter))
    decider = Decider(store, rule)
    decider.pending.is_whole = since is None and 4 * total * rule.bytes_of_row < (free_memory() or 0)
    fields = rule.text_fields if rule.min_similarity is not None else ()
    sizes: Counter[str] = Counter()
    documents = changed = conflicts = left_out = 0

    def report() -> str:
        return f"the links of {count_of(changed, 'document')} were written, those of others were not: group again"

    with saying_what_is_done(report):
        scan = Scan(filter=filter, fields=fields, missing=False, since=since, by_order=True)
        for batch in (part for page in store.scan(scan) for part in in_parts(page, AT_ONCE)):
            decided = decider.decide_stored(batch, filter)
            documents += len(batch)
            changed += len(decided.changed)
            conflicts += len(decided.conflicts)
            left_out += sum(choice.left_out for choice in decided.choices)
            sizes.update(choice.row.group for choice in decided.choices)
            if not decider.pending.is_whole:  # search finds heads that are copies by now
                heads = decided.former_heads if since is None else {choice.row.id for choice in decided.choices}
                changed += len(decider.again(sorted(heads), filter))
            if progress is not None:
                progress(documents, max(documents, total))
        store.refresh()
    groups = {head: size for head, size in sizes.items() if size > 1}
    largest = tuple(sorted(groups.items(), key=lambda group: (-group[1], group[0]))[:LARGEST])
    return GroupReport(documents, len(groups), sum(groups.values()), changed, conflicts, largest, left_out)
