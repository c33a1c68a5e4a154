"""The verb that writes groups and originals which another program computed, such as the Spark job.

A link is written if its document still has the version that the other program read. A document that was changed since
stays as it is. At the end links to documents that were removed or changed are repaired, as by ``group``. The verb may
be interrupted and repeated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Link
from es_simhash.deciding.relink import repair
from es_simhash.errors import InputError, SchemeMismatch, StoreError, count_of, saying_what_is_done
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from es_simhash.contract import Row, Store
    from es_simhash.deciding.group import Progress
    from es_simhash.deciding.rule import ResolvedRule

ORDER = "written"
"""The write order of a store. Only links by this order hold there."""
COLUMNS = (
    "id",
    "group",
    "duplicate_of",
    "version",
    "digest",
    "group_digest",
    "original_digest",
    "scheme",
    "order",
)
"""The fields of a link, as the Spark job writes them."""
_OF_ORIGINAL = ("duplicate_of", "original_digest")
"""They are null if the document has no original."""


@value
class NewLink:
    """The group and the original of a document.

    :param group: the id of the head of its group.
    :param duplicate_of: the id of its original, or None.
    :param version: of the document, for which this was computed.
    :param digest: the digest that the document had.
    :param linked_to: the ids of the head and of the original, with the digests that they had.
    """

    id: str
    group: str
    duplicate_of: str | None
    version: Any
    digest: str
    linked_to: dict[str, str]


@dataclass(frozen=True)
class LinksReport:
    """The result of ``write_links``.

    :param documents: the number of links that were read.
    :param changed: the number of documents whose group or original was written.
    :param conflicts: the number of documents that other programs wrote or removed since; they stay as they are.
    """

    documents: int
    changed: int
    conflicts: int


def new_link(document: Any, place: str, scheme: str) -> NewLink:
    """Return the link that a line of input holds.

    :param document: the value of the line.
    :param place: where the line is, for messages.
    :param scheme: ``version`` of the Scheme of the store.
    :raises InputError: if a field is missing or is not of its type, or if the write order is not that of a store.
    :raises SchemeMismatch: if the link was computed under another Scheme.
    """
    if not isinstance(document, dict):
        raise InputError(f"{place}: not an object with the fields {', '.join(COLUMNS)}")
    optional = _OF_ORIGINAL if document.get("duplicate_of") is None else ()
    missing = [name for name in COLUMNS if document.get(name) is None and name not in optional]
    if missing:
        raise InputError(
            f"{place}: no {', '.join(missing)}: a link has the fields {', '.join(COLUMNS)}; export them for the Spark "
            "job with `es-simhash export --fields written,version,scheme`"
        )
    values: list[Any] = [document.get(name) for name in COLUMNS]
    if not all(isinstance(each, str) for each in values if each is not None):
        raise InputError(f"{place}: the fields {', '.join(COLUMNS)} are strings")
    id, group, duplicate_of, version, digest, group_digest, original_digest, made_under, order = values
    if made_under != scheme:
        raise SchemeMismatch(
            f"{place}: the link is of Scheme {made_under}, the store has {scheme}: export and group again"
        )
    if order != ORDER:
        raise InputError(
            f"{place}: the link was computed by the order {order!r}, and a store needs the order {ORDER!r}: group "
            f"again by that order (order={ORDER!r})"
        )
    linked_to = {group: group_digest} | ({} if duplicate_of is None else {duplicate_of: original_digest})
    return NewLink(id, group, duplicate_of, _version(version, place), digest, linked_to)


def _version(text: str, place: str) -> Any:
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise InputError(f"{place}: the version {text!r} is not one of `es-simhash export`") from error
    return tuple(parsed) if isinstance(parsed, list) else parsed


def write_links(
    store: Store,
    take: Callable[[], Sequence[NewLink]],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None,
    progress: Progress,
) -> LinksReport:
    """Write links.

    :param take: returns the next links, none at the end. Its errors stop the verb after what it returned before.
    :param rule: the rule by which the links were computed, for the repair.
    :param filter: only documents that match it become originals in the repair.
    """
    count = changed = conflicts = 0
    # The heads and the originals of the links that were written, and every document that was changed since: a call that
    # was interrupted may have linked others to it.
    linked_to: dict[str, str] = {}

    def report() -> str:
        return f"of {count_of(count, 'link')} before, {changed:,} were written: repeat it" if count else ""

    with saying_what_is_done(report, (StoreError, InputError, SchemeMismatch)):
        while batch := take():
            stored = store.fetch(tuple(link.id for link in batch))
            wanted = {link.id: Link(link.group, link.duplicate_of, link.version) for link in batch}
            right = {link.id for link in batch if _is_right(link, stored.get(link.id))}
            same = {link.id for link in batch if _has_version(link, stored.get(link.id))}
            relinked = {id: link for id, link in wanted.items() if id in same - right}
            lost = (store.relink(relinked)) if relinked else set()
            count += len(batch)
            changed += len(relinked) - len(lost)
            conflicts += len(wanted) - len(right | same) + len(lost)
            for link in batch:
                row = stored.get(link.id)
                if link.id in relinked:
                    linked_to |= link.linked_to
                elif row is None or row.digest != link.digest:
                    linked_to[link.id] = link.digest
            progress("written", len(batch))
        store.refresh()
        repair(store, linked_to.items(), eq, rule, filter)
    return LinksReport(count, changed, conflicts)


def _is_right(link: NewLink, row: Row | None) -> bool:
    return row is not None and (row.digest, row.group, row.duplicate_of) == (link.digest, link.group, link.duplicate_of)


def _has_version(link: NewLink, row: Row | None) -> bool:
    return row is not None and (row.digest, row.version) == (link.digest, link.version)
