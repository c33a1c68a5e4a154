"""The times of documents in Elasticsearch: the check of the mapping, the range of a query, and the doc values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.stores.elasticsearch.set_up import read_mappings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Candidates, Probe
    from es_simhash.stores.elasticsearch.index import Index

    Times = tuple[int, int]
    """The first and the last time. Both are inside."""

_DATES = ("date", "date_nanos")
_FORMATS = frozenset(
    {
        "strict_date_optional_time",
        "strict_date_optional_time_nanos",
        "strict_date_time",
        "strict_date_time_no_millis",
        "strict_date",
        "yyyy-MM-dd",
        "uuuu-MM-dd",
        "epoch_millis",
    }
)
"""The formats in which Elasticsearch reads every value as :mod:`es_simhash.search.times` does, or refuses it."""
_SHARE = 8
"""The part of a window in which the windows of Probes must begin that are searched together: one in so many."""
_LAST_NANOS = 9_223_372_036_854
"""The last time that a field of type date_nanos can hold. The first one is 0."""


def check_time_field(index: Index, field: str) -> None:
    mappings = read_mappings(index) or {}
    types = sorted({str((_mapped(mapping, field) or {}).get("type")) for mapping in mappings.values()})
    if set(types) == set(_DATES):
        raise InputError(
            f"{index.name} is an alias of indices that map the field {field!r} as {' and as '.join(types)}: "
            "map it with one type, or name another field (time_field)"
        )
    for name, mapping in mappings.items():
        problem = _problem(_mapped(mapping, field))
        if problem is not None:
            raise InputError(
                f"the index {name} cannot compare times in the field {field!r}: {problem}; map the field "
                f'as {{"type": "date"}} (PUT {name}/_mapping), or name another field (time_field)'
            )


def _problem(field: Mapping[str, Any] | None) -> str | None:
    """Return why times in a field cannot be compared; None if they can."""
    if field is None:
        return "it has no mapping"
    if field["type"] not in _DATES:
        return f"its type is {field['type']}"
    if not field.get("doc_values", True):
        return "it has no doc values"
    formats = field.get("format", "epoch_millis").split("||")
    if other := [each for each in formats if each not in _FORMATS]:
        return f"its format is {other[0]}, and only ISO 8601 and milliseconds since 1970 (the default) are read"
    return None


def _mapped(mapping: Mapping[str, Any], field: str) -> Mapping[str, Any] | None:
    """Return the mapping of a field; None if it has none, or if it is inside a nested object."""
    found = mapping
    for name in field.split("."):
        if found.get("type", "object") != "object" or name not in found.get("properties", {}):
            return None
        found = found["properties"][name]
    return {"type": "object", **found}


def by_times(probes: Sequence[Probe]) -> list[list[Probe]]:
    """Return the Probes in lists. The Probes of a list have about the same times, or none.

    The times of a list begin within an eighth of the length of the first. So few documents are outside the times that
    all of them have in common.
    """
    lists: list[list[Probe]] = [[probe for probe in probes if probe.times is None]]
    end = 0
    for probe, (first, last) in sorted(((p, p.times) for p in probes if p.times is not None), key=lambda each: each[1]):
        if not lists[-1] or lists[-1][0].times is None or first > end:
            lists.append([])
            end = first + (last - first) // _SHARE
        lists[-1].append(probe)
    return [each for each in lists if each]


@dataclass(frozen=True)
class Ranges:
    """Makes clauses for the documents in some times.

    :param field: with the time of a document.
    :param nanos: the type of the field is date_nanos. The server refuses a limit that this type cannot hold.
    """

    field: str
    nanos: bool

    def outer(self, every: Sequence[Times]) -> dict[str, Any]:
        """Return the clause for the documents from the first of the times to the last. They overlap."""
        return self._between(min(first for first, _ in every), max(last for _, last in every))

    def split(self, every: Sequence[Times]) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """Return the clause for the times in common, and the clauses for the other times.

        :returns: None in place of the first if the times have nothing in common.
        """
        first, last = min(each[0] for each in every), max(each[1] for each in every)
        begin, end = max(each[0] for each in every), min(each[1] for each in every)
        if begin > end:
            return None, [self._between(first, last)]
        others = [(first, begin - 1), (end + 1, last)]
        return self._between(begin, end), [self._between(*each) for each in others if each[0] <= each[1]]

    def _between(self, first: int, last: int) -> dict[str, Any]:
        limits: dict[str, Any] = {"format": "epoch_millis"}
        if self.nanos and (last < 0 or first > _LAST_NANOS):
            return {"match_none": {}}
        if not self.nanos or first >= 0:
            limits["gte"] = first
        if not self.nanos or last < _LAST_NANOS:
            limits["lt"] = last + 1  # a time may have a fraction of a millisecond
        return {"range": {self.field: limits}}


def ranges_of(request: Candidates, index: Index) -> Ranges | None:
    """Return what makes the clauses for the times of a request; None if times do not count.

    The server is asked for the type of the field only if a time is one that date_nanos cannot hold, which is rare.
    """
    if request.time_field is None:
        return None
    every = [probe.times for probe in request.probes if probe.times is not None]
    if all(first >= 0 and last < _LAST_NANOS for first, last in every):
        return Ranges(request.time_field, nanos=False)
    mappings = read_mappings(index) or {}
    types = {(_mapped(mapping, request.time_field) or {}).get("type") for mapping in mappings.values()}
    return Ranges(request.time_field, nanos="date_nanos" in types)


def time_from_doc_values(values: list[str]) -> int | None:
    """Return the time of a document; None if it has none or several."""
    return int(values[0].split(".")[0]) if len(values) == 1 else None
