"""How a store was set up, and the Fingerprinter and the rule that go with it."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState, StoredRule, does_not_exist, scheme_mismatch
from es_simhash.deciding.rule import resolve
from es_simhash.errors import AccessDenied, InputError, NotSetUp, SchemeError, StoreError, count_of, set_up_by
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.similarity.rule import DuplicateRule, rule_of, rule_without_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.contract import Place, Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.fingerprinting.scheme import Scheme

_log = logging.getLogger("es_simhash")

ID_FIELD = "id"
"""The field with the id, if neither the caller nor the store names one."""

KNOWN = 10.0
"""Seconds for which it is known how a store was set up. Its alias may lead to another index then."""
NOTICED = 1.0
"""Seconds after which ``add`` checks again that the same index or file is at the address."""


def new_store_has_keys(rule: DuplicateRule) -> bool:
    """Return whether a store that is set up for a run by this rule gets keys, unless the user chooses."""
    return rule.confirm is not None


class _Said:
    """What a store said about itself since it was asked first.

    :param until: it is asked again from this time of the monotonic clock on.
    :param place: what was at the address; None if nobody has looked.
    """

    def __init__(self, until: float, place: Place | None) -> None:
        self.until = until
        self.place = place
        self.scheme: Scheme | None = None
        self.rule: StoredRule | None = None
        self.keys: KeysState | None = None
        self.resolved: dict[DuplicateRule, ResolvedRule] = {}
        """The rules that were resolved under that Scheme and these keys."""
        self.keeps: set[tuple[DuplicateRule, str | None]] = set()
        """Rules with a name of the field with the id that the store keeps."""


class Opening:
    """The Fingerprinter that the caller chose. If the caller chose none: the one for the Scheme of the store.

    :param scheme: the Scheme that was chosen.
    :param fingerprinter: the Fingerprinter that was chosen, or a function that makes one for the Scheme of the store
        (None if the store is not set up).
    :param known_for: seconds for which it is known what the store said.
    :raises InputError: for a segmenter that is unknown or not installed; for a fingerprinter together with a Scheme or
        a segmenter.
    """

    def __init__(
        self,
        store: Store,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | Callable[[Scheme | None], Fingerprinter] | None = None,
        known_for: float = KNOWN,
    ) -> None:
        if fingerprinter is not None and (scheme is not None or segmenter is not None):
            raise InputError("a fingerprinter has its own scheme and segmenter: leave scheme and segmenter out")
        self._store = store
        self.name = store.name
        self._segmenter = segmenter
        self._make: Callable[[Scheme | None], Fingerprinter] = self._for_scheme
        self.known: Fingerprinter | None = None
        """The Fingerprinter, if it is known without a request to the store."""
        if callable(fingerprinter):
            self._make = fingerprinter
        elif fingerprinter is not None:
            self.known = fingerprinter
        else:
            default = Fingerprinter(scheme or DEFAULT, segmenter)  # raises for an unknown segmenter
            self.known = default if scheme is not None else None
        self._known_for = known_for
        self._said = _Said(0.0, None)
        self._noticed = -math.inf
        self._lock = threading.Lock()
        self._warned = False

    def fingerprinter(self) -> Fingerprinter:
        """Return the Fingerprinter. The store is asked for its Scheme if none was chosen and it is not known yet.

        :returns: for a store that is not set up the default one. The store may be set up with another Scheme before it
            is first used, so pass it on to :meth:`check`.
        :raises SchemeError: if the store's Scheme names a table of the user's own.
        """
        if self.known is not None:
            return self.known
        stored = self._store.describe()
        made = self._make(stored)
        if stored is not None and made.scheme == stored:
            self.known, self._what_it_said().scheme = made, stored
        return made

    def check(
        self, fingerprinter: Fingerprinter | None = None, *, makes_file: bool = False, keys: bool = False
    ) -> Fingerprinter:
        """Check that the store was set up with the Scheme of this Fingerprinter, and return it.

        :param makes_file: a file of the program's own is set up if it is missing.
        :param keys: it gets keys then.
        :raises NotSetUp: if the store was not set up.
        :raises SchemeMismatch: if it was set up with another Scheme.
        """
        ours = fingerprinter or self.fingerprinter()
        said = self._what_it_said()
        if said.scheme != ours.scheme:
            stored = self._store.describe()
            if stored is not None and stored != ours.scheme:
                raise scheme_mismatch(stored, ours.scheme, self.name)
            if stored is None and not (makes_file and self._store.embedded):
                raise self._not_set_up()
            if stored is None:
                self._store.set_up(ours.scheme, keys)
            self.known, said.scheme = ours, ours.scheme
        return ours

    def _what_it_said(self) -> _Said:
        """Return what the store has said in the last ``known_for`` seconds."""
        with self._lock:
            if time.monotonic() >= self._said.until:
                self._said = _Said(time.monotonic() + self._known_for, self._said.place)
            return self._said

    def notice(self) -> Place:
        """Return what is at the address. If that has changed, forget what the store said before."""
        place = self._store.identify()
        with self._lock:
            self._noticed = time.monotonic()
            if place != self._said.place or not place:  # a file that was not there may have been made, and deleted
                self._said = _Said(time.monotonic() + self._known_for, place)
        return place

    def notice_if_due(self) -> None:
        """Call :meth:`notice` if the last call was more than ``NOTICED`` seconds ago."""
        if time.monotonic() - self._noticed > NOTICED:
            self.notice()

    def forget(self) -> None:
        """Ask the store again, because it was set up in another way."""
        with self._lock:
            self._said = _Said(0.0, self._said.place)

    def stored_rule(self) -> StoredRule:
        """Return the rule and the names of fields that the store keeps."""
        said = self._what_it_said()
        stored = said.rule  # another thread may forget it
        if stored is None:
            stored = said.rule = self._store.describe_rule()
        return stored

    def checked(self, rule: str | DuplicateRule | None, *, text: bool = True) -> DuplicateRule:
        """Return the rule that a caller gives. An invalid one raises. The store is not asked.

        :param text: the call has a text. Without one the rule is ``fingerprint``, or one that compares no texts.
        """
        chosen = rule_of(rule) if text else rule_without_text(rule)
        if self.known is not None:
            chosen.bits_allowed(self.known.scheme)
        return chosen

    def rule(self, rule: str | DuplicateRule | None, *, text: bool = True) -> DuplicateRule:
        """Return the rule that a call uses: the one it gives, with the store's text field; else that of the store.

        :param text: as for :meth:`checked`.
        :raises InputError: for an invalid rule, before the store is asked.
        """
        if rule is None:
            stored = self.stored_rule()
            return stored.whole if text or stored.whole.confirm is None else self.checked("fingerprint", text=False)
        chosen = self.checked(rule, text=text)
        if chosen.text_field is None:
            return replace(chosen, text_field=self.stored_rule().text_field or "text")
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
        :raises InputError: if it keeps another one, perhaps because another program was faster.
        """
        said = self._what_it_said()
        if (rule, id_field) in said.keeps:
            return
        ours = _to_store(rule, id_field)
        self._check_same(ours)
        stored = self.stored_rule()
        if stored.everywhere and stored.includes(ours):
            said.keeps.add((rule, id_field))
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
        self._what_it_said().rule = None
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
        self.forget()
        return True

    def resolve(self, rule: DuplicateRule, *, makes_file: bool = False) -> ResolvedRule:
        """Return the rule under the Scheme and the keys of the store. It is checked that the store is set up.

        :param makes_file: a file of the program's own is set up if it is missing.
        :raises InputError: if the Scheme does not allow the rule, before anything is set up; if the rule has a window,
            and the store cannot compare times.
        :raises NotSetUp: if the store was not set up.
        """
        resolved = self._what_it_said().resolved
        if (known := resolved.get(rule)) is not None:
            return known
        fingerprinter = self.fingerprinter()
        rule.bits_allowed(fingerprinter.scheme)
        self.check(fingerprinter, makes_file=makes_file, keys=new_store_has_keys(rule))
        if rule.time_field is not None:
            self._store.check_time_field(rule.time_field)
        # Calls at the same time get one object, so that their documents are added together.
        return resolved.setdefault(rule, resolve(rule, fingerprinter, self._keys_for(rule)))

    def keys(self) -> KeysState:
        """Return which keys the store has."""
        said = self._what_it_said()
        keys = said.keys
        if keys is None:
            keys = said.keys = self._store.describe_keys()
        return keys

    def _keys_for(self, rule: DuplicateRule) -> KeysState:
        """Return which keys the store has, for a run by this rule.

        :raises NotSetUp: if texts confirm and the store has incomplete keys of texts: candidates would be missing.
        """
        keys = self.keys()
        if rule.confirm is not None and keys is KeysState.INCOMPLETE:
            self._what_it_said().keys = None  # a backfill may have completed them
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
        """Return which keys the store has now.

        :raises NotSetUp: if the store was not set up.
        """
        if self._store.describe() is None:
            raise self._not_set_up()
        return self._store.describe_keys()

    def resolve_for_backfill(self, rule: DuplicateRule) -> ResolvedRule:
        """:meth:`resolve` for a run on stored documents, with keys that may be incomplete. Missing fields are made."""
        fingerprinter = self.fingerprinter()
        rule.bits_allowed(fingerprinter.scheme)
        if rule.time_field is not None:
            self._store.check_time_field(rule.time_field)
        if self._store.embedded:  # no other program puts documents there
            self.check(fingerprinter)
        elif not (location := self._store.locate()).exists:
            raise does_not_exist(location, self.name)
        else:
            self._store.set_up(fingerprinter.scheme, new_store_has_keys(rule))
            self.forget()
        return resolve(rule, fingerprinter, self.keys())

    def _not_set_up(self) -> NotSetUp:
        """Return the error for a store that was not set up, with the next step that is right for it."""
        location = self._store.locate()
        if not location.exists:
            return does_not_exist(location, self.name)
        problem = f"{self.name} is not set up for fingerprints"
        if location.documents:
            return NotSetUp(
                f"{problem}, and has {count_of(location.documents, 'document')}: to give them fingerprints, run "
                f"`es-simhash backfill --text-field FIELD --store {self.name}`; for new documents alone, "
                f"{set_up_by(self.name)}"
            )
        return NotSetUp(f"{problem}: {set_up_by(self.name)}")

    def _for_scheme(self, stored: Scheme | None) -> Fingerprinter:
        try:
            return Fingerprinter(stored or DEFAULT, self._segmenter)
        except SchemeError as error:
            raise SchemeError(f"{self.name}: {error}; open the store with that one (fingerprinter=…)") from error


def kept_rule(rule: str | DuplicateRule | None, id_field: str | None) -> StoredRule:
    """Return what a store is asked to keep: None for what is not given.

    :raises InputError: for a value that is not allowed.
    """
    if rule is None:
        return StoredRule(id_field=id_field)
    chosen = rule_of(rule)
    return StoredRule(
        replace(chosen, text_field=None), None if chosen.text_field is None else chosen.text_fields, id_field
    )


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
