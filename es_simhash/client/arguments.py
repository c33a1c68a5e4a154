"""What callers give to the doors, checked: an error names the argument and what to use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from es_simhash.errors import InputError
from es_simhash.ingest.reader import Reader, field_names
from es_simhash.similarity.confirm import Confirm
from es_simhash.similarity.measures import check_measure
from es_simhash.verbs.neighbours import Near
from es_simhash.verbs.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.similarity.measures import Measure

DEFAULT_MAX_DISTANCE = 3
"""Without a look at the texts."""

Exact = Literal["fingerprint", "digest"]
MaxDistance: TypeAlias = "int | Exact | None"
"""How near a near-duplicate is, in bits; or by name what is exact: equal fingerprints (0 bits), or equal digests alone
(only copies; fingerprints are not looked at). None: 3 bits, or where texts confirm as many as the Scheme allows."""
EXACT: dict[str, int] = {"fingerprint": 0, "digest": -1}


def checked_slice(slice: tuple[int, int] | None) -> tuple[int, int] | None:
    """A part of an index: the i-th of n, from 0; None for everything."""
    if slice is not None and not 0 <= slice[0] < slice[1]:
        raise InputError(f"the slice {slice!r}: use (i, n), the i-th of n parts, from 0")
    return slice if slice is None or slice[1] > 1 else None


def checked_ids(ids: Iterable[Any]) -> list[str]:
    """Ids as strings."""
    if isinstance(ids, str | bytes):
        raise InputError(f"the ids are one string, {ids!r}: put it in a list")
    checked = list(ids)
    for id in checked:
        if isinstance(id, bool) or not isinstance(id, str | int) or id == "":
            raise InputError(f"the id {id!r} can't be one: use a string or a whole number")
    return list(map(str, checked))


def checked_fields(text_field: str | Sequence[str]) -> tuple[str, ...]:
    """Names of fields, none of them empty."""
    fields = field_names(text_field)
    if not fields or not all(fields):
        raise InputError(f"text_field is {text_field!r}: name the field that holds the text")
    return fields


def checked_texts(texts: Iterable[str]) -> Iterable[str]:
    """Texts, not one text by mistake."""
    if isinstance(texts, str):
        raise InputError("the texts are one string: put it in a list, or use similar()")
    return texts


def checked_distance(max_distance: MaxDistance, scheme: Scheme, confirm: float | None = None) -> int:
    """A distance that the Scheme's fingerprints can be asked for; -1 for digests alone."""
    if max_distance is None:
        return DEFAULT_MAX_DISTANCE if confirm is None else scheme.max_distance
    if isinstance(max_distance, str) and max_distance in EXACT:
        return EXACT[max_distance]
    if type(max_distance) is not int or not 0 <= max_distance <= scheme.max_distance:
        raise InputError(
            f"max_distance is {max_distance!r}: use 0 to {scheme.max_distance} at {scheme.bits} bits, "
            "or 'fingerprint' or 'digest'"
        )
    return max_distance


def near(
    fingerprinter: Fingerprinter,
    max_distance: MaxDistance = None,
    confirm: float | None = None,
    measure: Measure = "jaccard",
    text_field: str | Sequence[str] = "text",
) -> Near:
    """The rule by which documents are near-duplicates, of what a caller says of it."""
    scheme = fingerprinter.scheme
    check_measure(measure)
    texts = None
    if confirm is not None:
        fields = checked_fields(text_field)
        texts = Texts(Confirm(confirm, measure, fingerprinter), fields, Reader(fingerprinter, "_id", fields).text)
    return Near(checked_distance(max_distance, scheme, confirm), scheme.blank_digest, texts)
