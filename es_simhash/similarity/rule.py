"""The rule by which one document is a duplicate of another: the four rules, and their refinements.

| rule | a near-duplicate is |
|---|---|
| ``copy`` | a text that is as similar as a copy with some edits |
| ``contained`` | also a copy that was cut, or that stands in other text |
| ``fingerprint`` | a text whose fingerprint is near; no text is read |
| ``exact`` | none: only texts that are equal after normalisation are duplicates |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

from es_simhash.errors import InputError, check_choice, shown
from es_simhash.similarity.text_fields import check_field_name, field_names
from es_simhash.similarity.times import LONGEST, length_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.text.fingerprinter import Fingerprinter

Rule = Literal["copy", "contained", "fingerprint", "exact"]
RULES: tuple[Rule, ...] = get_args(Rule)
Contradictions = Literal["refuse", "allow"]
CONTRADICTIONS: tuple[Contradictions, ...] = get_args(Contradictions)


DEFAULT_MAX_DISTANCE = 3
"""Bits, by the rule ``fingerprint``."""


_REFINEMENTS = ("max_distance", "min_similarity", "contradictions")
_OWN: dict[str, dict[str, Any]] = {
    "copy": {"min_similarity": 0.8, "contradictions": "refuse"},
    "contained": {"min_similarity": 0.9, "contradictions": "refuse"},
    "fingerprint": {"max_distance": DEFAULT_MAX_DISTANCE},
    "exact": {},
}
"""The refinements that each rule uses, with its own values. Without ``min_similarity`` no text is compared."""
_STORED = ("rule", *_REFINEMENTS, "within", "time_field")

MOST_BITS = 7
"""The largest distance for which a store finds every match: just under two bits a segment."""


@dataclass(frozen=True)
class DuplicateRule:
    """The rule by which one document is a duplicate of another.

    Documents with equal normalised texts are exact duplicates by every rule. With ``copy`` and ``contained`` the texts
    decide which others are near-duplicates; texts of stored documents come from the store.

    >>> DuplicateRule().min_similarity, DuplicateRule("contained").min_similarity
    (0.8, 0.9)
    >>> rule = DuplicateRule("fingerprint", within=timedelta(days=7), time_field="date")

    :param rule: ``copy``, ``contained``, ``fingerprint`` or ``exact``. The other parameters refine it. None stands for
        the rule's own value.
    :param max_distance: for ``fingerprint``: how many bits of two fingerprints may differ, 0 to 7, by default 3.
    :param min_similarity: for ``copy`` and ``contained``: the least similarity of the texts, above 0, up to 1. By
        default 0.8 and 0.9.
    :param contradictions: for ``copy`` and ``contained``: ``refuse``, the default, or ``allow`` texts that contradict
        each other, such as by another number (``es_simhash.similarity.differences``).
    :param within: only documents whose times differ by at most this can be duplicates, exact duplicates too, such as
        ``timedelta(days=7)``. A document without a time is rejected.
    :param time_field: with ``within``: name of the field with the time of a document: ISO 8601 (without an offset it is
        UTC), or milliseconds since 1970. A dot leads into an object. Elasticsearch must map the field as a date.
    :param text_field: name of the field with the text, or several names: the fields are joined. A dot leads into an
        object. None for the field that the store keeps; ``text`` if it keeps none, or there is no store.
    :raises InputError: for a value that is not allowed; for a refinement that the rule does not use.
    """

    rule: Rule = "copy"
    _: KW_ONLY
    max_distance: int | None = None
    min_similarity: float | None = None
    contradictions: Contradictions | None = None
    within: timedelta | None = None
    time_field: str | None = None
    text_field: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_choice("the rule", self.rule, RULES)
        own = _OWN[self.rule]
        for name in _REFINEMENTS:
            value = getattr(self, name)
            if value is None:
                object.__setattr__(self, name, own.get(name))
            elif name not in own:
                others = " or ".join(repr(other) for other in RULES if name in _OWN[other])
                raise InputError(
                    f"the rule {shown(self.rule)} does not use {name}: leave it out, or use the rule {others}"
                )
        if self.max_distance is not None and (
            type(self.max_distance) is not int or not 0 <= self.max_distance <= MOST_BITS
        ):
            raise InputError(
                f"max_distance is {shown(self.max_distance)}: use 0 to {MOST_BITS}; for exact duplicates alone use the "
                "rule 'exact'"
            )
        if self.contradictions is not None:
            check_choice("contradictions", self.contradictions, CONTRADICTIONS)
        if self.min_similarity is not None:
            _check_similarity(self.min_similarity)
        _check_window(self.within, self.time_field)
        if self.text_field is not None:
            object.__setattr__(self, "text_field", field_names(self.text_field))

    def __str__(self) -> str:
        """Return the rule in words, without the values that it has by itself."""
        own = {name: _OWN[self.rule].get(name) for name in _REFINEMENTS}
        words = [self.rule, *(f"{name} {getattr(self, name)}" for name in own if getattr(self, name) != own[name])]
        if self.within is not None:
            words.append(f"within {length_of(self.within)} by {self.time_field}")
        return ", ".join(words)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a JSON object, without the text field. ``within`` is in seconds."""
        values = {name: getattr(self, name) for name in _STORED if getattr(self, name) is not None}
        return values | ({} if self.within is None else {"within": self.within.total_seconds()})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DuplicateRule:
        """Return the rule of :meth:`to_dict`. What is left out has the rule's own value.

        :raises InputError: if the values are no rule that this version knows.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"the rule is {shown(values)}: use what to_dict() returned")
        if unknown := values.keys() - set(_STORED):
            raise InputError(f"it has {', '.join(map(shown, unknown))}, which this version does not know")
        given = dict(values)
        if isinstance(seconds := given.get("within"), int | float) and 0 <= seconds <= LONGEST.total_seconds():
            given["within"] = timedelta(seconds=seconds)
        return cls(**given)

    @property
    def text_fields(self) -> tuple[str, ...]:
        """The names of the fields with the text."""
        return ("text",) if self.text_field is None else tuple(self.text_field)

    def needs_of(self, fingerprinter: Fingerprinter) -> Fingerprinter:
        """Return what makes fingerprints only if the rule asks for them: for a store that is used by no other rule."""
        return fingerprinter if self.rule == "fingerprint" else fingerprinter.digests_alone()


def _check_similarity(least: object) -> None:
    number = isinstance(least, Real) and not isinstance(least, bool)
    if not number or not 0 < least <= 1:  # type: ignore[operator]  # nan is neither
        raise InputError(f"min_similarity is {shown(least)}: use a similarity above 0, up to 1, such as 0.8")


def _check_window(within: object, time_field: object) -> None:
    if within is None and time_field is None:
        return
    if within is None:
        raise InputError("time_field names the time of a document: set within too, such as seven days")
    if not isinstance(within, timedelta) or not timedelta(0) <= within <= LONGEST:
        raise InputError(f"within is {shown(within)}: use a timedelta from 0 to {LONGEST.days} days")
    if time_field is None:
        raise InputError("within compares times: set time_field too, the field that holds the time (time_field)")
    if not isinstance(time_field, str) or not all(time_field.split(".")):
        raise InputError(f"time_field is {shown(time_field)}: name the field that holds the time")
    check_field_name(time_field)


def rule_of(rule: str | DuplicateRule | None) -> DuplicateRule:
    """Return the rule that a caller gives: by its name, as a DuplicateRule, or None for ``copy``.

    :raises InputError: for a name that is no rule.
    """
    if isinstance(rule, DuplicateRule):
        return rule
    return DuplicateRule() if rule is None else DuplicateRule(rule)  # type: ignore[arg-type]


def rule_without_text(rule: str | DuplicateRule | None) -> DuplicateRule:
    """:func:`rule_of` for what has no text, such as a fingerprint: None is the rule ``fingerprint``.

    :raises InputError: if the rule compares texts.
    """
    chosen = rule_of("fingerprint" if rule is None else rule)
    if chosen.min_similarity is not None:
        raise InputError(
            f"the rule {chosen.rule!r} compares texts: give the text in place of its fingerprint, or use the rule "
            "'fingerprint'"
        )
    return chosen
