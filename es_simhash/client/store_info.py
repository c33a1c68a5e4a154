"""How a store was set up: its Scheme, its keys and its rule, and the Fingerprinter that goes with them."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState, StoredRule, does_not_exist, scheme_mismatch
from es_simhash.deciding.rule import resolve
from es_simhash.errors import AccessDenied, InputError, NotSetUp, SimhashError, count_of, set_up_by
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.similarity.rule import DuplicateRule, rule_of, rule_without_text

if TYPE_CHECKING:
    from es_simhash.contract import Place, Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.fingerprinting.scheme import Scheme

_log = logging.getLogger("es_simhash")

ID_FIELD = "id"
"""The field with the id, if neither the caller nor the store names one."""
KNOWN = 10.0
"""Seconds after which a store is asked again how it was set up: an alias may lead to another index then."""


@dataclass(frozen=True)
class StoreInfo:
    """How a store was set up. For a store that was not, the values that it would get.

    :param scheme: None if the store was not set up.
    :param fingerprinter: makes fingerprints of that Scheme.
    :param rule: the rule that the store keeps, or ``copy``, with the field of the text.
    :param id_field: name of the field with the id.
    :param keys: documents get keys.
    """

    scheme: Scheme | None
    fingerprinter: Fingerprinter
    rule: DuplicateRule
    id_field: str
    keys: bool


@dataclass(frozen=True)
class _Reading:
    """What a store said about itself.

    :param place: what is at its address.
    :param scheme: None if it was not set up.
    :param kept: its rule and the names of its fields.
    """

    place: Place
    scheme: Scheme | None
    keys: KeysState
    kept: StoredRule


def new_store_has_keys(rule: DuplicateRule) -> bool:
    """Return whether a store that is set up for a run by this rule gets keys, unless the user chooses."""
    return rule.confirm is not None


class StoreReader:
    """Reads how a store was set up, and checks that a call fits it.

    :param scheme: for a store that is set up now; a store that has another one raises SchemeMismatch.
    :param segmenter: of the Fingerprinter.
    :param fingerprinter: in place of both.
    :param known_for: seconds after which the store is asked again.
    :raises InputError: for a segmenter that is unknown or not installed; for a fingerprinter together with a Scheme or
        a segmenter.
    """

    def __init__(
        self,
        store: Store,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | None = None,
        known_for: float = KNOWN,
    ) -> None:
        if fingerprinter is not None and (scheme is not None or segmenter is not None):
            raise InputError("a fingerprinter has its own scheme and segmenter: leave scheme and segmenter out")
        self._store = store
        self._segmenter = segmenter
        self._fingerprinter = fingerprinter or Fingerprinter(scheme or DEFAULT, segmenter)
        self._is_given = fingerprinter is not None or scheme is not None
        self._known_for = known_for
        self._reading: _Reading | None = None
        self._until = 0.0
        self._resolved: dict[tuple[DuplicateRule, KeysState], ResolvedRule] = {}
        self._lock = threading.RLock()
        self._warned = False

    def given_scheme(self) -> Scheme | None:
        """Return the Scheme that the caller chose."""
        return self._fingerprinter.scheme if self._is_given else None

    def read(self) -> _Reading:
        """Return what the store says: that of the last seconds, if it was set up."""
        with self._lock:
            if self._reading is None or self._reading.scheme is None or time.monotonic() >= self._until:
                store = self._store
                place, scheme = store.identify(), store.describe()
                self._reading = _Reading(place, scheme, store.describe_keys(), store.describe_rule())
                self._until = time.monotonic() + self._known_for
            return self._reading

    def forget(self) -> None:
        """Ask the store again at the next call, because it was changed."""
        self._until = 0.0

    def info(self) -> StoreInfo:
        """Return how the store was set up.

        :raises SchemeMismatch: if it was set up with another Scheme than the one that was chosen.
        :raises InputError: if its Scheme names a table of the user's own.
        """
        reading = self.read()
        rule, id_field = reading.kept.whole, reading.kept.id_field or ID_FIELD
        keys = new_store_has_keys(rule) if reading.scheme is None else reading.keys is not KeysState.NONE
        return StoreInfo(reading.scheme, self.fingerprinter(reading.scheme), rule, id_field, keys)

    def fingerprinter(self, stored: Scheme | None) -> Fingerprinter:
        """Return the Fingerprinter that was chosen, or the one for the Scheme of the store.

        :param stored: None if the store was not set up.
        """
        with self._lock:
            if stored is not None and stored != self._fingerprinter.scheme:
                if self._is_given:
                    raise scheme_mismatch(stored, self._fingerprinter.scheme, self._store.name)
                try:
                    self._fingerprinter = Fingerprinter(stored, self._segmenter)
                except InputError as error:
                    raise InputError(
                        f"{self._store.name}: {error}; open the store with that one (fingerprinter=…)"
                    ) from error
            return self._fingerprinter

    def check(self) -> None:
        """Check that the store was set up, with the Scheme that was chosen.

        :raises NotSetUp: if it was not set up.
        :raises SchemeMismatch: if it was set up with another Scheme.
        """
        reading = self.read()
        if reading.scheme is None:
            raise self._not_set_up()
        self.fingerprinter(reading.scheme)

    # --- the rule and the names of fields --------------------------------------------------------------------

    def checked(self, rule: str | DuplicateRule | None, *, text: bool = True) -> DuplicateRule:
        """Return the rule that a caller gives. An invalid one raises. The store is not asked.

        :param text: the call has a text. Without one the rule is ``fingerprint``, or one that compares no texts.
        """
        chosen = rule_of(rule) if text else rule_without_text(rule)
        if self._is_given:
            chosen.bits_allowed(self._fingerprinter.scheme)
        return chosen

    def rule(self, rule: str | DuplicateRule | None, *, text: bool = True) -> DuplicateRule:
        """Return the rule that a call uses: the one it gives, with the store's text field; else that of the store.

        :param text: as for :meth:`checked`.
        :raises InputError: for an invalid rule, before the store is asked.
        """
        if rule is None:
            stored = self.read().kept.whole
            return stored if text or stored.confirm is None else self.checked("fingerprint", text=False)
        chosen = self.checked(rule, text=text)
        if chosen.text_field is None:
            return replace(chosen, text_field=self.read().kept.text_field or "text")
        return chosen

    def rule_to_write(self, rule: str | DuplicateRule | None) -> DuplicateRule:
        """Return the rule of a call that writes: it must be that of the store.

        :raises InputError: if the store keeps another one.
        """
        chosen = self.rule(rule)
        if rule is not None:
            self._check_same(_to_store(chosen))
        return chosen

    def id_field(self, given: str | None) -> str:
        """Return the name of the field with the id: that of the store, or ``id``.

        ``_id`` is always allowed: documents that were copied from an index have it beside their own fields.

        :raises InputError: if the store keeps another one.
        """
        if given is not None:
            self._check_same(StoredRule(id_field=_kept_id(given)))
        return given or self.read().kept.id_field or ID_FIELD

    def keep(self, rule: DuplicateRule, id_field: str | None) -> None:
        """Let the store keep the rule and the names of fields, if it keeps none yet.

        :raises AccessDenied: if this user may not change the mapping.
        :raises InputError: if it keeps another one, perhaps because another program was faster.
        """
        ours, stored = _to_store(rule, id_field), self.read().kept
        self._check_same(ours)
        if stored.everywhere and stored.includes(ours):
            return
        try:
            self._store.keep_rule(ours)
        except AccessDenied as error:
            raise AccessDenied(
                f"{self._store.name} keeps no rule yet, and this user may not add it: let an administrator run "
                f"`es-simhash init {_init_options(stored.updated(ours))} --store {self._store.name}` ({error})"
            ) from error
        self.forget()
        self._check_same(ours)

    def change(self, rule: str | DuplicateRule | None, id_field: str | None) -> bool:
        """Let the store keep another rule, or other names of fields, and return whether it did not have them."""
        chosen = None if rule is None else rule_of(rule)
        new = StoredRule(id_field=id_field)
        if chosen is not None:
            fields = None if chosen.text_field is None else chosen.text_fields
            new = StoredRule(replace(chosen, text_field=None), fields, id_field)
        if new == StoredRule() or self._keeps(new):
            return False
        self._store.keep_rule(new, replace=True)
        self.forget()
        return True

    def _keeps(self, new: StoredRule) -> bool:
        try:
            stored = self._store.describe_rule()
        except SimhashError:
            return False  # a rule that cannot be used: the new one replaces it
        return stored.everywhere and stored.includes(new)

    def _check_same(self, ours: StoredRule) -> None:
        stored, name = self.read().kept, self._store.name
        differing = ours.differing(stored)
        if differing != StoredRule():
            raise InputError(
                f"{name} has {stored.differing(ours)}, this call has {differing}: leave it out; or change it for the "
                f"whole store by `es-simhash init {_init_options(differing)} --store {name}`, and then compute the "
                "links again by `es-simhash group`"
            )

    # --- the rule under the Scheme and the keys --------------------------------------------------------------

    def resolve(self, rule: DuplicateRule, *, makes_file: bool = False) -> ResolvedRule:
        """Return the rule under the Scheme and the keys of the store. It is checked that the store is set up.

        :param makes_file: a file of the program's own is set up if it is missing.
        :raises InputError: if the Scheme does not allow the rule, before anything is set up; if the rule has a window,
            and the store cannot compare times.
        :raises NotSetUp: if the store was not set up.
        """
        reading = self.read()
        fingerprinter = self.fingerprinter(reading.scheme)
        rule.bits_allowed(fingerprinter.scheme)
        if reading.scheme is None:
            if not (makes_file and self._store.embedded):
                raise self._not_set_up()
            self._store.set_up(fingerprinter.scheme, new_store_has_keys(rule))
            reading = self.read()
        return self._resolved_rule(rule, fingerprinter, self._keys_for(rule, reading))

    def resolve_for_backfill(self, rule: DuplicateRule) -> ResolvedRule:
        """:meth:`resolve` for a run on stored documents, with keys that may be incomplete. Missing fields are made."""
        reading = self.read()
        fingerprinter = self.fingerprinter(reading.scheme)
        rule.bits_allowed(fingerprinter.scheme)
        if self._store.embedded:  # no other program puts documents there
            self.check()
        elif not (location := self._store.locate()).exists:
            raise does_not_exist(location, self._store.name)
        else:
            self._store.set_up(fingerprinter.scheme, new_store_has_keys(rule))
            self.forget()
        return self._resolved_rule(rule, fingerprinter, self.read().keys)

    def _resolved_rule(self, rule: DuplicateRule, fingerprinter: Fingerprinter, keys: KeysState) -> ResolvedRule:
        known = self._resolved.get((rule, keys))
        if known is not None and known.fingerprinter is fingerprinter:
            return known
        if rule.time_field is not None:
            self._store.check_time_field(rule.time_field)
        made = resolve(rule, fingerprinter, keys)
        self._resolved[rule, keys] = made  # calls at the same time get one object: their documents go together
        return made

    def _keys_for(self, rule: DuplicateRule, reading: _Reading) -> KeysState:
        """Return which keys the store has, for a run by this rule.

        :raises NotSetUp: if texts confirm and the store has incomplete keys of texts: candidates would be missing.
        """
        if rule.confirm is None:
            return reading.keys
        if reading.keys is KeysState.INCOMPLETE:
            self.forget()  # a backfill may have completed them
            reading = self.read()
        name = self._store.name
        if reading.keys is KeysState.INCOMPLETE:
            raise NotSetUp(
                f"the keys of {name} are incomplete, so duplicates would be missing: run `es-simhash backfill --again "
                f"--text-field FIELD --store {name}` to the end, or use the rule 'fingerprint'"
            )
        if reading.keys is KeysState.NONE and not self._warned:
            self._warned = True
            _log.warning(
                "%s has no keys, so the rule %r finds only texts whose fingerprints are near: ingest it into a new "
                "store, or use the rule 'fingerprint'",
                name,
                rule.rule,
            )
        return reading.keys

    def _not_set_up(self) -> NotSetUp:
        """Return the error for a store that was not set up, with the next step that is right for it."""
        location, name = self._store.locate(), self._store.name
        if not location.exists:
            return does_not_exist(location, name)
        problem = f"{name} is not set up for fingerprints"
        if location.documents:
            return NotSetUp(
                f"{problem}, and has {count_of(location.documents, 'document')}: to give them fingerprints, run "
                f"`es-simhash backfill --text-field FIELD --store {name}`; for new documents alone, {set_up_by(name)}"
            )
        return NotSetUp(f"{problem}: {set_up_by(name)}")


def _to_store(rule: DuplicateRule, id_field: str | None = None) -> StoredRule:
    return StoredRule(replace(rule, text_field=None), rule.text_fields, _kept_id(id_field))


def _kept_id(id_field: str | None) -> str | None:
    return None if id_field == "_id" else id_field


def _init_options(stored: StoredRule) -> str:
    """Return the options of ``es-simhash init`` that let a store keep this."""
    options: dict[str, Any] = {"text-field": stored.text_field and ",".join(stored.text_field)}
    options["id-field"] = stored.id_field
    flags = []
    if (rule := stored.rule) is not None:
        own = DuplicateRule(rule.rule)  # what the rule has by itself needs no option
        options |= {"rule": rule.rule, "time-field": rule.time_field}
        options["max-distance"] = None if rule.max_distance == own.max_distance else rule.max_distance
        options["confirm"] = None if rule.confirm == own.confirm else rule.confirm
        options["similarity"] = None if rule.measure == own.measure else rule.measure
        options["within"] = rule.within and f"{rule.within / timedelta(hours=1):g}h"
        flags = ["any-numbers"] if rule.numbers_agree is False else []
    given = [f"{option} {value}" for option, value in options.items() if value is not None]
    return " ".join(f"--{each}" for each in [*given, *flags])
