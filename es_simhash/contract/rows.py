"""What a store knows of a document, and what it is asked to look for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash.values import value

if TYPE_CHECKING:
    from es_simhash.search.keys import KeyQuery


@value
class Row:
    """What a store knows of a document's text.

    :param fingerprint: unsigned, as wide as the store's Scheme says; None if the text is too short for one.
    :param digest: of the normalised text; empty if the document was never fingerprinted.
    :param group: id of the group's head; the document's own id if it stands alone.
    :param duplicate_of: id of the original that this document duplicates.
    :param written: the write order, a sort key: larger is later. It is the time when this text was written, in
        microseconds since 1970, or one more than that of a document that must come before it.
        A small change of the text (a near-duplicate of the former text) keeps it. A change of the links keeps it.
    :param version: version of the stored document, in a form of the store's own; None if it is not stored. Every write
        changes it.
    :param keys: keys of the document (:mod:`es_simhash.search.keys`), all different, in any order. A Row that
        is written replaces the former keys of its document; if it has none, it removes them.
    :param length: word characters of the text; None if the Row comes without keys of the text.
    :param damaged: None; or why the stored document cannot be used, where another program wrote our values: what is
        wrong with which document, and what to do. Only Fetch, and Scan with fields, return such a Row.
    :param time: of the document, in milliseconds since 1970. None if the request names no field with the time, and if
        the document has no time or several (:func:`~es_simhash.search.times.time_or_none`). It is not written.
    :param content: of the document as it was given (``es_simhash/deciding/content.py``); None if it is not known, as
        after a backfill. Only Fetch returns it. ``annotate`` leaves it as it is.
    """

    id: str
    fingerprint: int | None
    digest: str
    group: str
    duplicate_of: str | None
    written: int
    version: Any = field(default=None, compare=False)
    keys: tuple[int, ...] = field(default=(), compare=False)
    length: int | None = field(default=None, compare=False)
    damaged: str | None = field(default=None, compare=False)
    time: int | None = field(default=None, compare=False)
    content: int | None = field(default=None, compare=False)


@value
class Entry:
    """A document to write.

    :param row: what the store will know of its text, with the version of the document that it replaces.
    :param source: the document itself as a JSON object.
    """

    row: Row
    source: str


@value
class Probe:
    """What to look for: documents near a fingerprint, or with a digest, or with common keys. None looks for nothing.

    :param queries: a document that fulfils any of them is found.
    :param times: only documents with a time from the first to the last are found; None for all documents.
    :param most: of the documents that fulfil the queries, the most that are found; None for the number of the request.
    """

    fingerprint: int | None
    digest: str | None
    queries: tuple[KeyQuery, ...] = ()
    times: tuple[int, int] | None = None
    most: int | None = None


@dataclass(frozen=True)
class Link:
    """A document's group and original, and the version of the document that this was decided for."""

    group: str
    duplicate_of: str | None
    version: Any
