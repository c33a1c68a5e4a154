"""Remove documents, and decide again what was linked to them."""

from __future__ import annotations

import json
import logging
import os
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.decide.eligible import Eligible
from es_simhash.decide.judge import Side, judge
from es_simhash.decide.relink import AT_ONCE, decide_stored, relink
from es_simhash.decide.texts import Texts
from es_simhash.errors import StoreError, count_of, saying_what_is_done
from es_simhash.machine import LinesFile, writing
from es_simhash.parts import in_parts
from es_simhash.rows import Scan
from es_simhash.similarity.text_fields import field_value

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.decide.turn import Turn
    from es_simhash.rows import Stored
    from es_simhash.store.protocol import Filter, Store

    Save = Callable[[Sequence[Stored]], None]
    """Takes whole documents before they are removed."""

_log = logging.getLogger("es_simhash")

T = TypeVar("T")


@dataclass(frozen=True)
class Duplicate:
    """A copy of the original of its group.

    :param original: id of the original. It stays.
    :param distance: Hamming distance from the original in bits; None if one of the two has no fingerprint.
    :param exact: the normalised texts are equal.
    :param similarity: of the texts, where they decide; else None.
    """

    id: str
    original: str
    distance: int | None
    exact: bool
    similarity: float | None = None


def remove(turn: Turn, ids: Sequence[str], save: Save | None = None, filter: Filter | None = None) -> set[str]:
    """Remove documents. What was linked to them gets another original, or becomes one.

    :param save: takes the documents before they are removed.
    :param filter: only documents that match it become originals.
    :returns: the ids that were removed.
    """

    def read(part: Sequence[str]) -> Mapping[str, Stored | None]:
        stored = turn.store.read(part, None if save is not None else ())
        return {id: stored.get(id) for id in part}

    return _remove_parts(turn, in_parts(ids, AT_ONCE), read, save, filter, "remove all of them again")


def remove_matching(turn: Turn, matching: Filter, save: Save | None = None, filter: Filter | None = None) -> set[str]:
    """Remove all documents that match a filter, with or without a fingerprint.

    :returns: the ids that were removed.
    """

    def read(part: Sequence[Stored]) -> Mapping[str, Stored | None]:
        return {stored.row.id: stored for stored in part}

    scan = Scan(filter=matching, fields=None if save is not None else (), missing=None)
    parts = (part for page in turn.store.scan(scan) for part in in_parts(page, AT_ONCE))
    return _remove_parts(turn, parts, read, save, filter, "remove the others again")


def _remove_parts(
    turn: Turn,
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
            with turn.take():
                removed |= _remove(turn, read(part), save, filter)
    return removed


def _remove(turn: Turn, documents: Mapping[str, Stored | None], save: Save | None, filter: Filter | None) -> set[str]:
    """Remove documents as they were read. One that another program changes meanwhile stays, with a warning.

    Links are changed first: after an interruption the documents still exist, and can be removed again.
    """
    blocked = {id for id, document in documents.items() if document is not None and document.row.blocked}
    if blocked:
        _log.warning(
            "%s: %s not removed, because the index has a write block: remove the block, which `es-simhash doctor` "
            "names, then remove again",
            turn.store.name,
            count_of(len(blocked), "document"),
        )
    documents = {id: document for id, document in documents.items() if id not in blocked}
    stored = {id: document for id, document in documents.items() if document is not None}
    if save is not None:
        save(list(stored.values()))
    eligible = Eligible(turn.rule, filter, frozenset(documents))
    left = {id: id if document is None else document.row.group for id, document in documents.items()}
    relink(turn, left, eligible)
    written = turn.store.remove({id: document.row.version for id, document in stored.items()})
    removed = stored.keys() - written.conflicts - written.refused.keys()
    # Another program may have linked documents to them meanwhile.
    relink(turn, {id: group for id, group in left.items() if id in removed}, eligible)
    for id, reason in written.refused.items():
        raise StoreError(f"{turn.store.name} did not remove {id}: {reason}")
    if written.conflicts:
        stay = count_of(len(written.conflicts), "document")
        _log.warning(
            "%s: %s not removed, because other programs changed them: remove them again", turn.store.name, stay
        )
    return removed


def duplicates(store: Store, rule: ResolvedRule, filter: Filter | None) -> Iterator[Duplicate]:
    """Yield the copies in the store that are copies of their original as both are stored now."""
    texts = Texts(store, rule)
    for page in store.scan(Scan(filter=filter)):
        for part in in_parts([stored.row.id for stored in page if stored.row.duplicate_of is not None], AT_ONCE):
            for _, duplicate in _checked(store, texts, rule, part):
                yield duplicate


def remove_duplicates(
    turn: Turn, duplicates: Iterable[Duplicate], save: Save | None = None, filter: Filter | None = None
) -> int:
    """Remove copies. Each is looked at again: it stays if it is no copy of its original any more.

    One whose original is itself a copy is decided again first, so nothing is removed that leaves no copy.

    :returns: how many documents were removed.
    """
    ids = list(dict.fromkeys(duplicate.id for duplicate in duplicates))
    fields = None if save is not None else turn.rule.text_fields
    eligible = Eligible(turn.rule, filter)

    def read(part: Sequence[str]) -> Mapping[str, Stored | None]:
        stored = turn.store.read(part)
        links = {id: one.row.duplicate_of for id, one in stored.items() if one.row.duplicate_of is not None}
        originals = turn.store.read(sorted(set(links.values())))
        wrong = {
            original for original in links.values() if original in originals and originals[original].row.duplicate_of
        }
        again = [id for id, original in links.items() if original in wrong]
        if again:
            whole = turn.store.read(again, eligible.fields).values()
            decide_stored(turn, sorted(whole, key=lambda one: one.row.order), eligible)
        return {one.row.id: one for one, _ in _checked(turn.store, turn.texts, turn.rule, part, fields)}

    return len(_remove_parts(turn, in_parts(ids, AT_ONCE), read, save, filter, "remove the other duplicates again"))


def _checked(
    store: Store, texts: Texts, rule: ResolvedRule, ids: Sequence[str], fields: Sequence[str] | None = ()
) -> list[tuple[Stored, Duplicate]]:
    """Return which documents are copies of their original as both are stored now. Texts are compared, also equal ones.

    A document that changed, whose text is no copy of its original's any more, or whose original is a copy is left out.

    :param fields: of the documents to return, besides those with their texts.
    """
    read = None if fields is None else tuple({*fields, *rule.text_fields})
    stored = store.read(ids, read)
    originals = store.read(
        sorted({one.row.duplicate_of for one in stored.values() if one.row.duplicate_of}), rule.text_fields
    )
    checked = []
    for one in stored.values():
        original = originals.get(one.row.duplicate_of or "")
        if original is None or original.row.duplicate_of is not None:
            continue
        reads = rule.compares_texts or one.row.digest == original.row.digest
        own, other = (Side(each.row, texts.of_stored(each) if reads else None) for each in (one, original))
        if reads and (own.text is None or other.text is None):
            continue
        [judged] = judge(own, [other], rule)
        if judged.relation in ("exact", "copy") or one.row.pinned:
            exact, distance = judged.relation == "exact", judged.distance
            checked.append((one, Duplicate(one.row.id, original.row.id, distance, exact, judged.similarity)))
    return checked


# --- what is removed, in a file that an ingest takes back -------------------------------------------------------


@contextmanager
def saving(path: str | None, id_field: str) -> Iterator[Save | None]:
    """Yield what saves documents in a new file before they are removed; None without a path."""
    if path is None:
        yield None
    else:
        with closing(LinesFile(path, "xb")) as file:

            def save(documents: Sequence[Stored]) -> None:
                lines = [json.dumps(_with_id(stored, id_field), ensure_ascii=False) + "\n" for stored in documents]
                file.write("".join(lines).encode(errors="backslashreplace"))
                with writing(file.path, StoreError):
                    os.fsync(file.file.fileno())

            yield save


def _with_id(stored: Stored, field: str) -> dict[str, Any]:
    """Return a document as it was written. One that does not hold its id in a field gets it as ``_id``."""
    document, id = stored.source or {}, stored.row.id
    value = field_value(document, field)
    return document if value is not None and str(value) == id else {"_id": id, **document}
