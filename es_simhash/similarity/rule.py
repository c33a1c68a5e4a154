"""The rule by which one document is a duplicate of another."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypedDict

from es_simhash.errors import InputError
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.search.times import LONGEST, Window, milliseconds
from es_simhash.similarity.confirm import check_similarity
from es_simhash.similarity.measures import check_measure
from es_simhash.similarity.text_fields import check_field_name, field_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from es_simhash.similarity.measures import Measure

DEFAULT_MAX_DISTANCE = 3
"""Bits, where texts do not confirm."""
DIGESTS_ALONE = -1
"""The max_distance at which fingerprints are not compared."""
EXACT: dict[str, int] = {"fingerprint": 0, "digest": DIGESTS_ALONE}
WIDEST = Scheme(bits=128).max_distance

MaxDistance: TypeAlias = "int | Literal['fingerprint', 'digest'] | None"


@dataclass(frozen=True, kw_only=True)
class DuplicateRule:
    """The rule by which one document is a duplicate of another.

    >>> rule = DuplicateRule(max_distance=7, confirm=0.8, text_field="body")
    >>> rule = DuplicateRule(within=timedelta(days=7), time_field="date")

    :param max_distance: how many bits of two fingerprints may differ: 0 to 7 of 64 bits, 0 to 15 of 128. Exact mode:
        ``"fingerprint"`` (equal fingerprints), or ``"digest"`` (equal normalised texts). None: 3 bits; with
        ``confirm`` as many as the Scheme allows.
    :param confirm: compare the texts too: near-duplicates have a similarity of this or more, above 0, up to 1,
        such as 0.8. Texts of stored documents come from the store.
    :param measure: with ``confirm``, the similarity: ``jaccard`` of character shingles; ``containment``, the share of
        the shorter text's shingles that the longer one has (for copies that were cut, or stand inside other text);
        ``cosine`` of weighted words; or ``levenshtein`` (for short texts).
    :param numbers_agree: with ``confirm``: texts with other numbers are no near-duplicates, such as the notices of two
        days. Full width, Chinese numerals and thousands separators make no difference.
    :param within: only documents whose times differ by at most this can be duplicates, exact duplicates too, such as
        ``timedelta(days=7)``. A document without a time is rejected.
    :param time_field: with ``within``: name of the field with the time of a document: ISO 8601 (without an offset it is
        UTC), or milliseconds since 1970. A dot leads into an object. Elasticsearch must map the field as a date.
    :param text_field: name of the field with the text, or several names: the fields are joined. A dot leads into an
        object.
    :raises InputError: for a value that is not allowed.
    """

    max_distance: MaxDistance = None
    confirm: float | None = None
    measure: Measure = "jaccard"
    numbers_agree: bool = False
    within: timedelta | None = None
    time_field: str | None = None
    text_field: str | Sequence[str] = "text"

    def __post_init__(self) -> None:
        exact = isinstance(self.max_distance, str) and self.max_distance in EXACT
        if self.max_distance is not None and not exact:
            check_max_distance(self.max_distance, WIDEST)
        if self.confirm is not None:
            check_similarity(self.confirm)
            if not self.confirm:
                raise InputError("confirm is 0, which every text reaches: use a similarity above 0, such as 0.8")
        check_measure(self.measure)
        if self.measure != "jaccard" and self.confirm is None:
            raise InputError(
                f"measure={self.measure!r} compares texts: set confirm too, such as confirm=0.8 (--confirm)"
            )
        if self.numbers_agree and self.confirm is None:
            raise InputError("numbers_agree compares texts: set confirm too, such as confirm=0.8")
        _check_window(self.within, self.time_field)
        object.__setattr__(self, "text_field", field_names(self.text_field))

    @property
    def text_fields(self) -> tuple[str, ...]:
        """The names of the fields with the text."""
        return field_names(self.text_field)

    @property
    def window(self) -> Window | None:
        """The window of ``within``; None if times do not count."""
        if self.within is None or self.time_field is None:
            return None
        return Window(self.time_field, milliseconds(self.within))

    def bits_allowed(self, scheme: Scheme) -> int:
        """Return the max_distance under a Scheme, in bits; ``DIGESTS_ALONE`` if fingerprints are not compared.

        :raises InputError: if the Scheme's fingerprints are too short for it.
        """
        if self.max_distance is None:
            return DEFAULT_MAX_DISTANCE if self.confirm is None else scheme.max_distance
        if isinstance(self.max_distance, str):
            return EXACT[self.max_distance]
        check_max_distance(self.max_distance, scheme.max_distance, scheme.bits)
        return self.max_distance


def _check_window(within: object, time_field: object) -> None:
    if within is None and time_field is None:
        return
    if within is None:
        raise InputError("time_field names the time of a document: set within too, such as timedelta(days=7) (7d)")
    if not isinstance(within, timedelta) or not timedelta(0) <= within <= LONGEST:
        raise InputError(f"within is {within!r}: use a timedelta from 0 to {LONGEST.days} days")
    if time_field is None:
        raise InputError("within compares times: set time_field too, the field that holds the time (--time-field)")
    if not isinstance(time_field, str) or not all(time_field.split(".")):
        raise InputError(f"time_field is {time_field!r}: name the field that holds the time")
    check_field_name(time_field)


def check_max_distance(max_distance: object, largest: int, bits: int = 128) -> None:
    """Check a max_distance in bits.

    :param bits: width of the fingerprints, for the message.
    :raises InputError: if it is no whole number from 0 to ``largest``.
    """
    if type(max_distance) is not int or not 0 <= max_distance <= largest:
        raise InputError(
            f"max_distance is {max_distance!r}: use 0 to {largest} at {bits} bits, or 'fingerprint' or 'digest'"
        )


class MatchOptions(TypedDict, total=False):
    """A DuplicateRule as keywords of a method: a whole ``rule``, or its fields without ``text_field``."""

    rule: DuplicateRule | None
    max_distance: MaxDistance
    confirm: float | None
    measure: Measure
    numbers_agree: bool
    within: timedelta | None
    time_field: str | None


class RuleOptions(MatchOptions, total=False):
    """A DuplicateRule as keywords of a method: a whole ``rule``, or its fields."""

    text_field: str | Sequence[str]


def rule_of(options: RuleOptions | MatchOptions) -> DuplicateRule:
    """Return the rule that keywords describe.

    :raises InputError: for a value that is not allowed; for a rule together with one of its fields.
    :raises TypeError: for an unknown keyword.
    """
    known = {field.name for field in fields(DuplicateRule)}
    given = {name: value for name, value in options.items() if name != "rule"}
    if unknown := given.keys() - known:
        raise TypeError(f"unknown keyword {', '.join(sorted(unknown))}: use rule, {', '.join(sorted(known))}")
    rule = options.get("rule")
    if rule is None:
        return DuplicateRule(**given)  # type: ignore[arg-type]
    if not isinstance(rule, DuplicateRule):
        raise InputError(f"rule is a {type(rule).__name__}: use a DuplicateRule")
    if given:
        raise InputError(f"rule and {', '.join(sorted(given))} are given: put them into the rule")
    return rule
