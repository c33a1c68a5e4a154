"""The Fingerprinter that goes with a store."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState, StoredRule, does_not_exist, scheme_mismatch
from es_simhash.deciding.rule import resolve
from es_simhash.errors import AccessDenied, InputError, NotSetUp, SchemeError, StoreError, count_of, set_up_by
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.similarity.rule import DuplicateRule, is_whole, refined, rule_of, rule_without_text
from es_simhash.similarity.text_fields import field_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.contract import Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.similarity.rule import MatchOptions, RuleOptions

_log = logging.getLogger("es_simhash")

ID_FIELD = "id"
"""The field with the id, if neither the caller nor the store names one."""

KNOWN = 10.0
"""Seconds for which it is known how a store was set up."""


def new_store_has_keys(rule: DuplicateRule) -> bool:
    """Return whether a store that is set up for a run by this rule gets keys, unless the user chooses."""
    return rule.confirm is not None


class Opening:
    """The Fingerprinter that the caller chose. If the caller chose none: the one for the Scheme of the store.

    :param scheme: the Scheme that was chosen.
    :param fingerprinter: the Fingerprinter that was chosen, or a function that makes one for the Scheme of the store
        (None if the store is not set up).
    :raises InputError: for a segmenter that is unknown or not installed; for a fingerprinter together with a Scheme or
        a segmenter.
    """

    def __init__(
        self,
        store: Store,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | Callable[[Scheme | None], Fingerprinter] | None = None,
    ) -> None:
        if fingerprinter is not None and (scheme is not None or segmenter is not None):
            raise InputError("a fingerprinter has its own scheme and segmenter: leave scheme and segmenter out")
        self._store = store
        self.name = store.name
        self._segmenter = segmenter
        self._make: Callable[[Scheme | None], Fingerprinter] = self._for_scheme
        self._chosen: Fingerprinter | None = None
        if callable(fingerprinter):
            self._make = fingerprinter
        elif fingerprinter is not None:
            self._chosen = fingerprinter
        else:
            default = Fingerprinter(scheme or DEFAULT, segmenter)  # raises for an unknown segmenter
            self._chosen = default if scheme is not None else None
        self._checked = False
        self._checked_until = 0.0
        self._keys: KeysState | None = None
        self._stored_rule: StoredRule | None = None
        self._rule_until = 0.0
        self._warned = False

    @property
    def known(self) -> Fingerprinter | None:
        """The Fingerprinter, if it is known without a request to the store."""
        return self._chosen

    def fingerprinter(self) -> Fingerprinter:
        """Return the Fingerprinter. The store is asked for its Scheme if none was chosen and it is not known yet.

        :returns: for a store that is not set up the default one. The store may be set up with another Scheme before it
            is first used, so pass it on to :meth:`check`.
        :raises SchemeError: if the store's Scheme names a table of the user's own.
        """
        if self._chosen is not None:
            return self._chosen
        stored = self._store.describe()
        made = self._make(stored)
        if stored is not None and made.scheme == stored:
            self._chosen, self._checked = made, True
            self._checked_until = time.monotonic() + KNOWN
        return made

    def check(
        self,
        fingerprinter: Fingerprinter | None = None,
        *,
        set_up_if_missing: bool = False,
        keys: bool = False,
    ) -> Fingerprinter:
        """Check that the store was set up with the Scheme of this Fingerprinter, and return it.

        The store is asked again after ``KNOWN`` seconds: meanwhile its alias may lead to another index.

        :param keys: the store gets keys if it is set up now.
        :raises NotSetUp: if it was not set up, and ``set_up_if_missing`` does not allow to do it now.
        :raises SchemeMismatch: if it was set up with another Scheme.
        """
        ours = fingerprinter or self.fingerprinter()
        self._forget_what_is_old()
        if not (self._checked and self._chosen is not None and ours.scheme == self._chosen.scheme):
            check_scheme(self._store, ours.scheme, self.name, set_up_if_missing=set_up_if_missing, keys=keys)
            self._chosen, self._checked = ours, True
            self._checked_until = time.monotonic() + KNOWN
        return ours

    def _forget_what_is_old(self) -> None:
        if self._checked and time.monotonic() > self._checked_until:
            self._checked, self._keys = False, None

    def stored_rule(self) -> StoredRule:
        """Return the rule and the names of fields that the store keeps. It is asked again after ``KNOWN`` seconds."""
        stored = self._stored_rule  # another thread may forget it
        if stored is None or time.monotonic() > self._rule_until:
            stored = self._stored_rule = self._store.describe_rule()
            self._rule_until = time.monotonic() + KNOWN
        return stored

    def checked(self, given: RuleOptions | MatchOptions, *, text: bool = True) -> DuplicateRule:
        """Return the rule of keywords alone. Invalid ones raise. The store is not asked.

        :param text: the call has a text. Without one the rule is ``fingerprint``, or one that compares no texts.
        """
        return self._allowed(rule_of(given) if text else rule_without_text(given))

    def rule(self, given: RuleOptions | MatchOptions, *, text: bool = True) -> DuplicateRule:
        """Return the rule that a call uses: that of the store, and what the call says in addition.

        :param text: as for :meth:`checked`.
        :raises InputError: for invalid keywords, before the store is asked.
        """
        if given:
            self.checked(given, text=text)
        stored = self.stored_rule()
        if not text:
            if stored.rule is not None and stored.rule.confirm is None:
                given = {"rule": refined(stored.rule, given)}
            return self._allowed(rule_without_text(given))
        options: Any = given
        if stored.text_field is not None and not is_whole(given) and given.get("text_field") is None:
            options = {**given, "text_field": stored.text_field}
        return self._allowed(refined(stored.rule, options))

    def rule_to_write(self, given: RuleOptions | MatchOptions) -> DuplicateRule:
        """Return the rule of a call that writes: it must be that of the store.

        :raises InputError: if the store keeps another one.
        """
        rule = self.rule(given)
        if given:
            self._check_same(_to_store(rule))
        return rule

    def _allowed(self, rule: DuplicateRule) -> DuplicateRule:
        if self._chosen is not None:
            rule.bits_allowed(self._chosen.scheme)
        return rule

    def id_field(self, given: str | None) -> str:
        """Return the name of the field with the id: that of the store, or ``id``.

        ``_id`` is always allowed: documents that were copied from an index have it beside their own fields.

        :raises InputError: if the store keeps another one.
        """
        if given is not None:
            self._check_same(StoredRule(id_field=_kept_id(given)))
        return given or self.stored_rule().id_field or ID_FIELD

    def _check_same(self, ours: StoredRule) -> None:
        stored = self.stored_rule()
        differing = ours.differing(stored)
        if differing != StoredRule():
            raise InputError(
                f"{self.name} has {stored.differing(ours)}, this call has {differing}: leave it out; or change it for "
                f"the whole store by `es-simhash init {_init_options(differing)} --store {self.name}`, and then "
                "compute the links again by `es-simhash group`"
            )

    def keep(self, rule: DuplicateRule, id_field: str | None = None) -> None:
        """Let the store keep the rule and the names of fields, if it keeps none yet.

        :raises AccessDenied: if this user may not change the mapping.
        :raises InputError: if another program was faster, with another rule.
        """
        ours = _to_store(rule, id_field)
        stored = self.stored_rule()
        if stored.everywhere and stored.includes(ours):
            return
        try:
            self._store.keep_rule(ours)
        except AccessDenied as error:
            if stored.includes(ours):
                return  # the store keeps it, but for a newer index of an alias
            raise AccessDenied(
                f"{self.name} keeps no rule yet, and this user may not add it: let an administrator run "
                f"`es-simhash init {_init_options(stored.updated(ours))} --store {self.name}` ({error})"
            ) from error
        self._stored_rule = None
        self._check_same(ours)

    def change_rule(self, new: StoredRule) -> bool:
        """Let the store keep another rule, or other names of fields, and return whether it did not have them."""
        if new == StoredRule():
            return False
        try:
            stored = self._store.describe_rule()
            if stored.everywhere and stored.includes(new):
                return False
        except (InputError, StoreError):
            pass  # indices that differ, or a rule that cannot be used: this replaces them
        self._store.keep_rule(new, replace=True)
        self._stored_rule = None
        return True

    def resolve(self, rule: DuplicateRule) -> ResolvedRule:
        """Return the rule under the store's Scheme, and check that the store is set up.

        :raises InputError: if the Scheme does not allow the rule. That is checked first.
        """
        fingerprinter = self.fingerprinter()
        resolve(rule, fingerprinter)
        self.check(fingerprinter)
        self.check_times(rule)
        if rule.confirm is None:
            return resolve(rule, fingerprinter)
        return resolve(rule, fingerprinter, self.keys_for(rule))

    def check_times(self, rule: DuplicateRule) -> None:
        """Check that the store can compare times, if the rule has a window.

        :raises InputError: if it cannot.
        """
        if rule.time_field is not None:
            self._store.check_time_field(rule.time_field)

    def keys(self) -> KeysState:
        """Return whether the store has keys. It is asked until they are complete."""
        keys = self._keys  # another thread may forget them
        if keys is not KeysState.COMPLETE:
            keys = self._keys = self._store.describe_keys()
        return keys

    def check_run(
        self,
        fingerprinter: Fingerprinter,
        rule: DuplicateRule,
        keys: KeysState,
        id_field: str | None,
        writes: bool,
    ) -> None:
        """Check that a store is as it was when a run began. It is asked again after ``KNOWN`` seconds.

        :param writes: documents are about to be written, so the store is to keep the rule. A run in which all lines are
            rejected leaves it open.
        :raises SchemeMismatch: if it has another Scheme.
        :raises InputError: if it keeps another rule.
        :raises NotSetUp: if it is not set up any more, or its keys are not what they were.
        """
        self.check(fingerprinter)
        self._check_same(_to_store(rule, id_field))
        if writes:
            self.keep(rule, id_field)
        now = self._keys = self._keys or self._store.describe_keys()
        if now is not keys and (keys, now) != (KeysState.INCOMPLETE, KeysState.COMPLETE):
            raise NotSetUp(f"the keys of {self.name} were changed while documents were written: start again")

    def forget_keys(self) -> None:
        """Ask the store for its keys again, because they were changed."""
        self._keys = None

    def keys_for(self, rule: DuplicateRule) -> KeysState:
        """Return whether the store has keys, for a run by this rule.

        :raises NotSetUp: if texts confirm and the store has incomplete keys of texts: candidates would be missing.
        """
        keys = self.keys()
        if rule.confirm is not None and keys is KeysState.INCOMPLETE:
            raise NotSetUp(
                f"the keys of {self.name} are incomplete, so duplicates would be missing: run "
                f"`es-simhash backfill --again --text-field FIELD --store {self.name}` to the end, or use the rule "
                "'fingerprint'"
            )
        if rule.confirm is not None and keys is KeysState.NONE and not self._warned:
            self._warned = True
            _log.warning(
                "%s has no keys, so the rule %r finds only texts whose fingerprints are near: run `es-simhash init "
                "--keys --store %s`, then `es-simhash backfill --again --text-field FIELD`; or use the rule "
                "'fingerprint'",
                self.name,
                rule.rule,
                self.name,
            )
        return keys

    def keys_if_set_up(self) -> KeysState:
        """Return whether the store has keys.

        :raises NotSetUp: if the store was not set up.
        """
        if self._store.describe() is None:
            raise explain_not_set_up(self._store, self.name)
        return self.keys()

    def open_for_ingest(self, rule: DuplicateRule) -> tuple[Fingerprinter, KeysState]:
        """Return the Fingerprinter and the keys for a run that writes documents. A missing file is made."""
        fingerprinter = self.fingerprinter()
        rule.bits_allowed(fingerprinter.scheme)  # an invalid rule raises before anything is set up
        self.check(fingerprinter, set_up_if_missing=self._store.embedded, keys=new_store_has_keys(rule))
        self.check_times(rule)
        return fingerprinter, self.keys_for(rule)

    def open_for_backfill(self, rule: DuplicateRule) -> tuple[Fingerprinter, KeysState]:
        """Return the Fingerprinter and the keys for a run on stored documents. Fields that are missing are made."""
        fingerprinter = self.fingerprinter()
        rule.bits_allowed(fingerprinter.scheme)
        self.check_times(rule)
        keys = new_store_has_keys(rule)
        set_up_existing(self._store, fingerprinter.scheme, self.name, embedded=self._store.embedded, keys=keys)
        return fingerprinter, self.keys()

    def _for_scheme(self, stored: Scheme | None) -> Fingerprinter:
        try:
            return Fingerprinter(stored or DEFAULT, self._segmenter)
        except SchemeError as error:
            raise SchemeError(f"{self.name}: {error}; open the store with that one (fingerprinter=…)") from error


def kept_rule(given: RuleOptions, id_field: str | None) -> StoredRule:
    """Return what a store is asked to keep. A rule is given as a whole; None for what is not given.

    :raises InputError: for a value that is not allowed.
    """
    text_field = given.get("text_field")
    options: Any = {name: value for name, value in given.items() if name != "text_field" and value is not None}
    if is_whole(given):
        return _to_store(rule_of(given), id_field)
    return StoredRule(
        rule_of(options) if options else None, None if text_field is None else field_names(text_field), id_field
    )


def _to_store(rule: DuplicateRule, id_field: str | None = None) -> StoredRule:
    return StoredRule(replace(rule, text_field="text"), rule.text_fields, _kept_id(id_field))


def _kept_id(id_field: str | None) -> str | None:
    return None if id_field == "_id" else id_field


def _init_options(stored: StoredRule) -> str:
    """Return the options of ``es-simhash init`` that let a store keep this."""
    options: dict[str, Any] = {"text-field": stored.text_field and ",".join(stored.text_field)}
    options["id-field"] = stored.id_field
    flags = []
    if (rule := stored.rule) is not None:
        own = DuplicateRule(rule=rule.rule)  # what the rule has by itself needs no option
        options |= {"rule": rule.rule, "time-field": rule.time_field}
        options["max-distance"] = None if rule.max_distance == own.max_distance else rule.max_distance
        options["confirm"] = None if rule.confirm == own.confirm else rule.confirm
        options["similarity"] = None if rule.measure == own.measure else rule.measure
        options["within"] = rule.within and f"{rule.within / timedelta(hours=1):g}h"
        flags = ["any-numbers"] if rule.numbers_agree is False else []
    given = [f"{option} {value}" for option, value in options.items() if value is not None]
    return " ".join(f"--{each}" for each in [*given, *flags])


def set_up_existing(store: Store, scheme: Scheme, name: str, *, embedded: bool, keys: bool = False) -> None:
    """Add what is missing to a store that exists. No index and no file is made.

    :param embedded: the store is the program's own, so no other program puts documents there.
    :param keys: the store gets keys if it was not set up before.
    :raises NotSetUp: if there is no such index or file.
    :raises SchemeMismatch: if the store was set up with another Scheme. Nothing is changed.
    """
    if embedded:
        check_scheme(store, scheme, name)
    else:
        location = store.locate()
        if not location.exists:
            raise does_not_exist(location, name)
        store.set_up(scheme, keys)


def check_scheme(
    store: Store,
    scheme: Scheme,
    name: str,
    *,
    set_up_if_missing: bool = False,
    keys: bool = False,
) -> None:
    """Check that the store was set up with this Scheme.

    :param keys: the store gets keys if it is set up now.
    :raises NotSetUp: if it was not set up, and ``set_up_if_missing`` does not allow to do it now.
    :raises SchemeMismatch: if it was set up with another Scheme.
    """
    stored = store.describe()
    if stored is not None and stored != scheme:
        raise scheme_mismatch(stored, scheme, name)
    if stored is not None:
        return
    if not set_up_if_missing:
        raise explain_not_set_up(store, name)
    store.set_up(scheme, keys)


def explain_not_set_up(store: Store, name: str) -> NotSetUp:
    """Return the error for a store that was not set up for fingerprints, with the next step that is right for it."""
    location = store.locate()
    if not location.exists:
        return does_not_exist(location, name)
    problem = f"{name} is not set up for fingerprints"
    if location.documents:
        return NotSetUp(
            f"{problem}, and has {count_of(location.documents, 'document')}: to give them fingerprints, run "
            f"`es-simhash backfill --text-field FIELD --store {name}`; for new documents alone, {set_up_by(name)}"
        )
    return NotSetUp(f"{problem}: {set_up_by(name)}")
