"""The values that a store takes and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from es_simhash.similarity.rule import DuplicateRule
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.text.keys import KeyQuery
    from es_simhash.text.scheme import Scheme

SeenTime: TypeAlias = Literal["newest", "added"]
"""The times of a user that a store can compare: the start of the newest generation, the last item that was added."""
MOST_HITS = 1_000
"""The most documents that a search returns for one StoreQuery."""
_DEFAULT_RULE = DuplicateRule(text_field="text")


class Row(NamedTuple):
    """What is known of a stored document, without its text: what decides.

    :param fingerprint: unsigned, 64 bits; None if the text is too short for one.
    :param digest: of the normalised text; empty if the document was never fingerprinted.
    :param length: word characters of the text; None in a store without keys.
    :param duplicate_of: id of the original whose copy this document is; None for an original.
    :param order: the earlier of two documents has the smaller one. It is ``written``; or the time of the document, if a
        backfill took it into a store with a time field; or one more than the order of its original. A small change of
        the text keeps it, unless the text is a copy of a later one now.
    :param written: when this text was written, in microseconds since 1970.
    :param time: of the document, in milliseconds since 1970; None if the store's rule names no field with the time, or
        if the field holds none. The store keeps it beside the fingerprint.
    :param content: of the document as it was given (``ingest/reader.py``); None if it is not known, as after a
        backfill.
    :param pinned: a person has said what it is: no copy, or a copy of ``duplicate_of``.
    :param named: the name of its group, if that is not the id of its original: the first original of a group is gone or
        has another text, and the group keeps its name.
    :param version: of the stored document, in a form of the store's own; None if it is not stored, or comes from an
        index in memory. Every write changes it.
    :param blocked: nothing can be written where it is stored: a month of an alias that is closed for writes.
    """

    id: str
    fingerprint: int | None
    digest: str
    length: int | None = None
    duplicate_of: str | None = None
    order: int = 0
    written: int = 0
    time: int | None = None
    content: int | None = None
    pinned: bool = False
    named: str | None = None
    version: Any = None
    blocked: bool = False

    @property
    def group(self) -> str:
        """The name of its group: the id of the first original that the group had."""
        return self.named or self.duplicate_of or self.id

    def in_group(self, name: str) -> Row:
        """Return the row in a group of this name."""
        named = None if name == (self.duplicate_of or self.id) else name
        return self if named == self.named else self._replace(named=named)


@value
class Stored:
    """A document as it was read.

    :param keys: of its text; empty if they were not asked for.
    :param source: the fields that were asked for, without our own; None if none were.
    """

    row: Row
    keys: tuple[int, ...] = ()
    source: dict[str, Any] | None = None


@value
class Entry:
    """A document to write.

    :param row: what the store will know of its text. Its ``version`` is that of the document that this one replaces;
        None: no document with this id may exist.
    :param keys: of its text; None keeps those of the stored document.
    :param source: the document as a JSON object; None writes only the Row and the keys into the stored document.
    """

    row: Row
    keys: tuple[int, ...] | None = ()
    source: str | None = None

    def may_replace(self, version: Any) -> bool:
        """Return whether the stored document with a version is the one to replace; None: there is none."""
        return bool(self.row.version == version) and (version is not None or self.source is not None)


@value
class StoreQuery:
    """What to look for: documents with a digest, and candidates: those near a fingerprint, or with common keys.

    :param fingerprint: documents within ``distance`` bits are found; None looks for none.
    :param digest: None looks for none.
    :param keys: a document that fulfils one of these conditions is found. There are none beside a fingerprint.
    :param distance: 0 to 7.
    :param times: only documents with a time from the first to the last, in milliseconds; None for all.
    :param most: so many candidates are wanted. The others are ``left_out``.
    :param most_equal: so many documents with the digest are wanted.
    """

    fingerprint: int | None = None
    digest: str | None = None
    keys: tuple[KeyQuery, ...] = ()
    distance: int = 3
    times: tuple[int, int] | None = None
    most: int = MOST_HITS
    most_equal: int = MOST_HITS


@value
class Hits:
    """What a search found for one StoreQuery.

    :param equal: documents with the digest, the smallest order first, copies too: at most ``StoreQuery.most_equal``.
    :param candidates: documents that may be near. By keys: those whose shared keys have the largest sum of rarities,
        then the smallest order. By the fingerprint: the smallest order first. At most ``StoreQuery.most``. Documents of
        ``equal`` may be among them.
    :param left_out: at least so many more candidates there may be.
    """

    equal: list[Row]
    candidates: list[Row]
    left_out: int = 0


@value
class Written:
    """What a write did. A document in neither of the first two was written.

    :param refused: the reason, by the id of each document that the store does not take.
    :param conflicts: ids whose document has another version, exists although it should not, or does not exist.
    :param versions: the new version, by the id of each document that was written.
    """

    refused: Mapping[str, str]
    conflicts: frozenset[str]
    versions: Mapping[str, Any]


@value
class Scan:
    """Which documents to read.

    :param filter: they match this filter.
    :param fields: fields of the documents to read; None for the whole documents; empty for none. A dot leads into an
        object.
    :param keys: read the keys of their texts.
    :param missing: True: only documents without a digest; False: only those with one; None: all.
    :param since: only documents with this ``written`` or a larger one.
    :param pinned: only documents that are pinned.
    :param by_order: in the order of ``order``.
    :param by_field: in the order of this field of the documents, those without it last.
    """

    filter: Mapping[str, Any] | None = None
    fields: tuple[str, ...] | None = ()
    keys: bool = False
    missing: bool | None = False
    since: int | None = None
    pinned: bool = False
    by_order: bool = False
    by_field: str | None = None


@value
class Description:
    """How a store was set up. Everybody who opens it follows it.

    :param scheme: of its fingerprints; None if it holds only seen items.
    :param keys: its documents have keys.
    :param rule: the rule for duplicates, with the names of the text fields.
    :param id_field: name of the field with the id. ``_id`` stands for no field.
    :param seen: configuration of the seen items; None if it holds none.
    :param instance: an id that no other store has. A store that was deleted and made again, or restored from a backup
        into other hands, has another one.
    :param stale: the fingerprints, keys and times are those of other fields than ``rule`` names. A backfill of all
        documents ends this.
    :param fields: names of the only fields that documents may have; None if they may have any. The store says this and
        ``read_only``; it does not keep them.
    :param read_only: why nothing can be written, as a message for the user; None if documents can be.
    """

    scheme: Scheme | None = None
    keys: bool = False
    rule: DuplicateRule = _DEFAULT_RULE
    id_field: str = "id"
    seen: SeenConfig | None = None
    instance: str = ""
    stale: bool = False
    fields: frozenset[str] | None = None
    read_only: str | None = None


@value
class UserState:
    """What a store holds of the items that one user has seen.

    :param seen: a JSON object with the items (``bloom/seen.py``); None if there are none. A store reads only two
        times in it: ``newest`` and ``added``.
    :param version: of the user's document, in a form of the store's own; None if there is no document.
    """

    seen: Any = None
    version: Any = None
