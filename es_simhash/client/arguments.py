"""What callers give to the doors, checked: an error names the argument and what to use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_simhash.core.scheme import Scheme


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
    """One name of a field, or several."""
    return (text_field,) if isinstance(text_field, str) else tuple(text_field)


def checked_texts(texts: Iterable[str]) -> Iterable[str]:
    """Texts, not one text by mistake."""
    if isinstance(texts, str):
        raise InputError("the texts are one string: put it in a list, or use similar()")
    return texts


def checked_distance(max_distance: int, scheme: Scheme) -> int:
    """A distance that the Scheme's fingerprints can be asked for."""
    if type(max_distance) is not int or not 0 <= max_distance <= scheme.max_distance:
        raise InputError(f"max_distance is {max_distance!r}: use 0 to {scheme.max_distance} at {scheme.bits} bits")
    return max_distance
