"""Remove documents, and decide again what was linked to them."""

from __future__ import annotations

import json
import logging
import os
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.decide.decider import AT_ONCE
from es_simhash.errors import StoreError, count_of, saying_what_is_done
from es_simhash.machine import LinesFile, writing
from es_simhash.parts import in_parts
from es_simhash.rows import Scan
from es_simhash.similarity.confirm import similar_among
from es_simhash.similarity.text_fields import field_value
from es_simhash.text.encoding import hamming_distance

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from es_simhash.decide.decider import Decider
    from es_simhash.rows import Row, Stored
    from es_simhash.store.protocol import Filter

    Save = Callable[[Sequence[Stored]], None]
    """Takes whole documents before they are removed."""

_log = logging.getLogger("es_simhash")

T = TypeVar("T")


@dataclass(frozen=True)
class Duplicate:
    """A copy of the head of its group.

    :param head: id of the head. It stays.
    :param distance: Hamming distance from the head in bits; None if one of the two has no fingerprint.
    :param exact: the normalised texts are equal.
    :param similarity: of the texts, where they decide; else None.
    """

    id: str
    head: str
    distance: int | None
    exact: bool
    similarity: float | None = None


def remove(decider: Decider, ids: Sequence[str], save: Save | None = None, filter: Filter | None = None) -> set[str]:
    """Remove documents. What was linked to them gets another head, or becomes one.

    :param save: takes the documents before they are removed.
    :param filter: only documents that match it become heads.
    :returns: the ids that were removed.
    """

    def read(part: Sequence[str]) -> Mapping[str, Stored | None]:
        stored = decider.store.read(part, None if save is not None else ())
        return {id: stored.get(id) for id in part}

    return _remove_parts(decider, in_parts(ids, AT_ONCE), read, save, filter, "remove all of them again")


def remove_matching(
    decider: Decider, matching: Filter, save: Save | None = None, filter: Filter | None = None
) -> set[str]:
    """Remove all documents that match a filter, with or without a fingerprint.

    :returns: the ids that were removed.
    """

    def read(part: Sequence[Stored]) -> Mapping[str, Stored | None]:
        return {stored.row.id: stored for stored in part}

    scan = Scan(filter=matching, fields=None if save is not None else (), missing=None)
    parts = (part for page in decider.store.scan(scan) for part in in_parts(page, AT_ONCE))
    return _remove_parts(decider, parts, read, save, filter, "remove the others again")


def _remove_parts(
    decider: Decider,
    parts: Generator[Sequence[T], None, None],
    read: Callable[[Sequence[T]], Mapping[str, Stored | None]],
    save: Save | None,
    filter: Filter | None,
    advice: str,
) -> set[str]:
    """Remove documents part by part, and return the ids that were removed.

    :param parts: are closed at the end, so that no search stays open.
    :param read: returns the documents of a part that are removed as they are stored; None for one that is gone: a call
        that broke off may have left links to it.
    :param advice: what to do after an error.
    """
    removed: set[str] = set()
    with closing(parts), saying_what_is_done(lambda: f"{count_of(len(removed), 'document')} removed so far: {advice}"):
        for part in parts:
            with decider.turn():
                removed |= _remove(decider, read(part), save, filter)
    return removed


def _remove(
    decider: Decider, documents: Mapping[str, Stored | None], save: Save | None, filter: Filter | None
) -> set[str]:
    """Remove documents as they were read. One that another program changes meanwhile stays, with a warning.

    The caller has the turn.
    """
    ids, stored = list(documents), {id: document for id, document in documents.items() if document is not None}
    if save is not None:
        save(list(stored.values()))
    removed: set[str] = set()
    for id in ids:
        decider.pending.remove(id)
    try:
        # Links are changed first: after an interruption the documents still exist, and can be removed again.
        decider.again(ids, filter)
        written = decider.store.remove({id: document.row.version for id, document in stored.items()})
        removed = set(stored) - written.conflicts - written.refused.keys()
    finally:
        for id in removed:  # once more: a refresh may have come before the store removed it
            decider.pending.remove(id)
        decider.pending.removed -= set(ids) - removed
        decider.read_again(ids)
    decider.again(sorted(removed), filter)  # another program may have linked documents to them meanwhile
    for id, reason in written.refused.items():
        raise StoreError(f"{decider.store.name} did not remove {id}: {reason}")
    if written.conflicts:
        stay = count_of(len(written.conflicts), "document")
        _log.warning(
            "%s: %s not removed, because other programs changed them: remove them again", decider.store.name, stay
        )
    decider.forget()
    return removed


def duplicates(decider: Decider, filter: Filter | None) -> Iterator[Duplicate]:
    """Yield the copies in the store that are copies of their head as both are stored now."""
    for page in decider.store.scan(Scan(filter=filter)):
        for part in in_parts([stored.row for stored in page if stored.row.duplicate_of is not None], AT_ONCE):
            for _, duplicate in _checked_duplicates(decider, part):
                yield duplicate


def _checked_duplicates(decider: Decider, rows: Sequence[Row]) -> list[tuple[Stored, Duplicate]]:
    """Return which documents are copies of their head as both are stored now. Exact copies have equal texts.

    A document that changed, or whose text is no copy of its head's any more, is left out.
    """
    rule, store, window = decider.rule, decider.store, decider.rule.window
    heads = {row.id: row.duplicate_of for row in rows if row.duplicate_of is not None}
    stored = store.read(sorted({*heads, *heads.values()}), None)
    checked = []
    for id, head in heads.items():
        if id not in stored or head not in stored or stored[id].row.duplicate_of != head:
            continue
        document, head_document = stored[id], stored[head]
        row, head_row = document.row, head_document.row
        if window is not None and not window.holds(row.time, head_row.time):
            continue
        exact = row.digest == head_row.digest
        similarity = None
        if exact or rule.min_similarity is not None:
            own, other = decider.texts.of_stored(document), decider.texts.of_stored(head_document)
            if own is None or other is None or (exact and own.normalised != other.normalised):
                continue
            if rule.min_similarity is not None:
                similarity = next((value for _, value in similar_among(own, [other], rule.chosen)), None)
                if similarity is None:
                    continue
        if not exact and not rule.allows(row, head_row):
            continue
        distance = hamming_distance(row.fingerprint, head_row.fingerprint)
        checked.append((document, Duplicate(row.id, head_row.id, distance, exact, similarity)))
    return checked


def remove_duplicates(
    decider: Decider, duplicates: Iterable[Duplicate], save: Save | None = None, filter: Filter | None = None
) -> int:
    """Remove copies of heads. Each is looked at again: it stays if it is no copy of its head any more.

    :returns: how many documents were removed.
    """
    ids = list(dict.fromkeys(duplicate.id for duplicate in duplicates))

    def read(part: Sequence[str]) -> Mapping[str, Stored | None]:
        rows = [stored.row for stored in decider.store.read(part).values()]
        return {document.row.id: document for document, _ in _checked_duplicates(decider, rows)}

    return len(_remove_parts(decider, in_parts(ids, AT_ONCE), read, save, filter, "remove the other duplicates again"))


# --- what is removed, in a file that an ingest takes back -------------------------------------------------------


@contextmanager
def saving(path: str | None, id_field: str) -> Iterator[Save | None]:
    """Yield what saves documents in a new file before they are removed; None without a path."""
    if path is None:
        yield None
    else:
        with closing(_Saved(path, id_field)) as saved:
            yield saved.put


class _Saved(LinesFile):
    """Writes documents to a new file before they are removed, as they were written.

    :param path: of the file.
    :param id_field: name of the field with the id. A document that does not hold its id there gets it as ``_id``.
    :raises InputError: if the file exists, or cannot be made.
    """

    def __init__(self, path: str, id_field: str) -> None:
        super().__init__(path, "xb")
        self._id_field = id_field

    def put(self, documents: Sequence[Stored]) -> None:
        """Write documents that are removed next, and wait until the disk has them.

        :raises StoreError: if they cannot be written. They must not be removed then.
        """
        lines = [json.dumps(self._with_id(stored), ensure_ascii=False) + "\n" for stored in documents]
        self.write("".join(lines).encode(errors="backslashreplace"))
        with writing(self.path, StoreError):
            os.fsync(self.file.fileno())

    def _with_id(self, stored: Stored) -> dict[str, Any]:
        document, id, field = stored.source or {}, stored.row.id, self._id_field
        value = field_value(document, field)
        return document if value is not None and str(value) == id else {"_id": id, **document}
