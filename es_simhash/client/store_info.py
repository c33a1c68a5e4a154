"""How a store was set up, read whole and known for ten seconds; and whether a call fits it."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from es_simhash.decide.rule import ResolvedRule
from es_simhash.errors import AccessDenied, InputError, NotSetUp, SchemeMismatch, StoreError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.ingest.reader import IdField
from es_simhash.similarity.rule import DuplicateRule, rule_of, rule_without_text
from es_simhash.store.types import Description

if TYPE_CHECKING:
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.store.protocol import Store

_log = logging.getLogger("es_simhash")

KNOWN = 10.0
"""Seconds for which what the store said is known."""
ID_FIELD = "id"


@dataclass(frozen=True)
class StoreInfo:
    """How a store was set up.

    :param scheme: of its fingerprints; None if it was not set up.
    :param fingerprinter: makes fingerprints of its Scheme.
    :param rule: the rule that it keeps, with the names of the text fields; ``copy`` if it keeps none.
    :param id_field: the name of the field with the id.
    :param keys: documents get keyword keys.
    :param stale: its documents were written with another text or time field: ``backfill --again`` makes them anew.
    """

    scheme: Scheme | None
    fingerprinter: Fingerprinter
    rule: DuplicateRule
    id_field: str
    keys: bool
    stale: bool


def has_keys(rule: DuplicateRule) -> bool:
    """Return whether a store that is set up for this rule gets keys, unless the user chooses."""
    return rule.confirm is not None


class StoreReader:
    """Reads how a store was set up, and checks that a call fits it.

    :param scheme: for a store that is set up now; a store that has another one raises SchemeMismatch.
    :param segmenter: of the Fingerprinter.
    :param fingerprinter: in place of both.
    :raises InputError: for a segmenter that is unknown or not installed; for a fingerprinter together with a Scheme or
        a segmenter; for a Scheme of 128 bits.
    """

    def __init__(
        self,
        store: Store,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | None = None,
    ) -> None:
        if fingerprinter is not None and (scheme is not None or segmenter is not None):
            raise InputError("a fingerprinter has its own scheme and segmenter: leave scheme and segmenter out")
        self._store = store
        self._segmenter = segmenter
        self._fingerprinter = fingerprinter or Fingerprinter(scheme or DEFAULT, segmenter)
        if self._fingerprinter.scheme.bits != 64:
            raise InputError(
                "a store holds fingerprints of 64 bits: use a Scheme of 64 bits; fingerprint() takes others"
            )
        self._is_given = fingerprinter is not None or scheme is not None
        self._known: Description | None = None
        self._until = 0.0
        self._resolved: dict[tuple[DuplicateRule, bool], ResolvedRule] = {}
        self._lock = threading.RLock()
        self._warned = False

    def given_scheme(self) -> Scheme | None:
        """Return the Scheme that the caller chose."""
        return self._fingerprinter.scheme if self._is_given else None

    def read(self) -> Description:
        """Return what the store says: that of the last seconds.

        :raises NotSetUp: if it was not set up for documents.
        :raises SchemeMismatch: if it was set up with another Scheme than the one that was chosen.
        """
        with self._lock:
            if self._known is None or time.monotonic() >= self._until:
                self._known = None
                described = self._store.describe()
                if described.scheme is None:
                    raise NotSetUp(f"{self._store.name} holds only seen items: use another store for documents")
                self._known, self._until = described, time.monotonic() + KNOWN
                self.fingerprinter(described.scheme)
            return self._known

    def forget(self) -> None:
        """Ask the store again at the next call, because it was changed."""
        self._until = 0.0

    def info(self) -> StoreInfo:
        """Return how the store was set up; if it was not, how it would be."""
        try:
            described = self.read()
        except NotSetUp:
            rule = DuplicateRule(text_field="text")
            return StoreInfo(None, self._fingerprinter, rule, ID_FIELD, has_keys(rule), stale=False)
        return StoreInfo(
            described.scheme,
            self._fingerprinter,
            self._whole(described.rule or DuplicateRule(), described),
            described.id_field or ID_FIELD,
            described.keys,
            described.stale,
        )

    def fingerprinter(self, stored: Scheme | None) -> Fingerprinter:
        """Return the Fingerprinter that was chosen, or the one for the Scheme of the store.

        :param stored: None if the store was not set up.
        """
        with self._lock:
            if stored is not None and stored != self._fingerprinter.scheme:
                if self._is_given:
                    raise SchemeMismatch(
                        f"{self._store.name} holds fingerprints of Scheme {stored.version}, this program makes "
                        f"fingerprints of {self._fingerprinter.scheme.version}: open the store without a Scheme to use "
                        "its own, or put these documents into another store"
                    )
                try:
                    self._fingerprinter = Fingerprinter(stored, self._segmenter)
                except InputError as error:
                    raise InputError(
                        f"{self._store.name} was set up with tables of your own, which no command has: open it in "
                        f"Python with Documents(…, fingerprinter=Fingerprinter(…)) ({error})"
                    ) from error
            return self._fingerprinter

    # --- the rule of a call -------------------------------------------------------------------------------------------

    def checked(self, rule: str | DuplicateRule | None, *, text: bool = True) -> DuplicateRule:
        """Return the rule that a caller gives. An invalid one raises. The store is not asked.

        :param text: the call has a text. Without one the rule is ``fingerprint``, or one that compares no texts.
        """
        return rule_of(rule) if text else rule_without_text(rule)

    def rule(self, rule: str | DuplicateRule | None, *, text: bool = True) -> DuplicateRule:
        """Return the rule of a call that reads: the one it gives, with the store's text field; else that of the store.

        :param text: as for :meth:`checked`.
        :raises InputError: for an invalid rule, before the store is asked.
        """
        chosen = None if rule is None else self.checked(rule, text=text)
        described = self.read()
        kept = described.rule or DuplicateRule()
        if chosen is not None and chosen.time_field not in (None, kept.time_field):
            raise InputError(
                f"{self._store.name} keeps no times of the field {chosen.time_field!r}: let its rule name the field by "
                "setup(rule=…) or `es-simhash init`, then run `es-simhash backfill --again`"
            )
        if chosen is None:
            chosen = kept
            if not text and chosen.confirm is not None:
                chosen = self.checked("fingerprint", text=False)
        return self._whole(chosen, described)

    def resolve(self, rule: DuplicateRule) -> ResolvedRule:
        """Return a whole rule under the Scheme and the keys of the store.

        :raises NotSetUp: if the store was not set up; if its documents were written with other fields.
        """
        described = self.read()
        if described.stale:
            raise NotSetUp(
                f"documents of {self._store.name} were written before its text or time fields changed: "
                f"run `es-simhash backfill --again --store {self._store.name}`"
            )
        return self._under(rule, described)

    def _under(self, rule: DuplicateRule, described: Description) -> ResolvedRule:
        with self._lock:
            known = self._resolved.get((rule, described.keys))
            if known is None or known.fingerprinter is not self._fingerprinter:
                known = self._resolved[rule, described.keys] = ResolvedRule(rule, self._fingerprinter, described.keys)
        if has_keys(rule) and not described.keys and not self._warned:
            self._warned = True
            _log.warning(
                "%s has no keys, so the rule %r finds only texts whose fingerprints are near: ingest it into a new "
                "store, or use the rule 'fingerprint'",
                self._store.name,
                rule.rule,
            )
        return known

    @staticmethod
    def _whole(rule: DuplicateRule, described: Description) -> DuplicateRule:
        """Return a rule with the names of the text fields."""
        if rule.text_field is not None:
            return rule
        kept = described.rule
        return replace(rule, text_field="text" if kept is None else kept.text_fields)

    # --- a call that writes -------------------------------------------------------------------------------------------

    def for_writing(
        self, rule: str | DuplicateRule | None, id_field: str | None, *, backfill: bool = False
    ) -> tuple[ResolvedRule, IdField]:
        """Return the rule and the id field of a call that writes: those of the store.

        An embedded store that was not set up is set up now. A store that keeps no rule yet keeps this one.

        :param backfill: the documents are stored. In an index that exists the fields are made that are missing, and an
            embedded store is not set up. Stale documents are no error.
        :raises InputError: if the store keeps others; if it is read only.
        """
        chosen = None if rule is None else self.checked(rule)
        described = None
        try:
            described = self.read()
        except NotSetUp:
            if self._store.lags != backfill:
                raise
        if backfill and (described is None or described.rule is None) and (chosen is None or chosen.text_field is None):
            raise InputError(
                f"{self._store.name} does not know the field with the text: name it (rule=DuplicateRule(text_field=…); "
                "on the command line --text-field)"
            )
        if described is None:
            if backfill:
                self._store.count(None)  # an index that does not exist is not made here
            keys = has_keys(chosen or DuplicateRule())
            self._store.set_up(Description(scheme=self._fingerprinter.scheme, keys=keys))
            described = self.read()
        wanted = self._whole(chosen or described.rule or DuplicateRule(), described)
        self._check_same(wanted, id_field, described)
        name = id_field or described.id_field or ID_FIELD
        taken = described.fields is None or name.partition(".")[0] in described.fields
        resolved = self._under(wanted, described) if backfill else self.resolve(wanted)
        return resolved, IdField(name, is_stored=taken and name != "_id")

    def keep(self, rule: DuplicateRule, id_field: str | None) -> None:
        """Let the store keep a whole rule and the id field, if it keeps none yet.

        :raises AccessDenied: if this user may not change the mapping.
        """
        id_field = None if id_field == "_id" else id_field
        described = self.read()
        if described.rule is not None and (id_field is None or described.id_field is not None):
            return
        self.forget()
        described = self.read()  # another program may have set it up just now
        kept = replace(described, rule=described.rule or rule, id_field=described.id_field or id_field)
        try:
            self._store.change(kept)
        except AccessDenied as error:
            raise AccessDenied(
                f"{self._store.name} keeps no rule yet, and this user may not add it: let an administrator run "
                f"`es-simhash init --rule {rule.rule} --text-field {','.join(rule.text_fields)} "
                f"--store {self._store.name}` ({error})"
            ) from error
        self.forget()

    def change(self, rule: str | DuplicateRule | None, id_field: str | None) -> bool:
        """Let the store keep another rule, or another id field, and return whether it did not have them.

        If the text fields or the time field change and documents have fingerprints, these are stale from now on.
        """
        described = self.read()
        wanted = described.rule
        if rule is not None:
            wanted = self._whole(self.checked(rule), described)
        kept = replace(described, rule=wanted, id_field=id_field or described.id_field)
        former = described.rule or DuplicateRule(text_field="text")
        fields = (former.text_fields, former.time_field)
        if (
            wanted is not None
            and (wanted.text_fields, wanted.time_field or former.time_field) != fields
            and self._store.count(None, missing=False)
        ):
            kept = replace(kept, stale=True)
        if kept == described:
            return False
        self._store.change(kept)
        self.forget()
        return True

    def end_stale(self) -> None:
        """Say that all documents have the fingerprints of their text fields."""
        described = self.read()
        if described.stale:
            self._store.change(replace(described, stale=False))
            self.forget()

    def _check_same(self, rule: DuplicateRule, id_field: str | None, described: Description) -> None:
        """Check that the store can be written, and keeps no other rule or id field.

        ``_id`` is always allowed: documents that were copied from an index have it beside their own fields.
        """
        name, stored = self._store.name, described.rule
        if described.read_only is not None:
            raise InputError(described.read_only)
        if stored is not None and stored.text_fields != rule.text_fields:
            fields = ",".join(rule.text_fields)
            raise InputError(
                f"{name} keeps the text field {','.join(stored.text_fields)}, this call has {fields}: leave it out; or "
                f"change it for the whole store by `es-simhash init --text-field {fields} --store {name}`, and then "
                "run `es-simhash backfill --again`"
            )
        if stored is not None and stored != rule:
            raise InputError(
                f"{name} keeps the rule {stored}; this call has the rule {rule}: leave it out; or change it for the "
                f"whole store by `es-simhash init … --store {name}`, and then run `es-simhash group`"
            )
        if described.id_field is not None and id_field not in (None, "_id", described.id_field):
            raise InputError(
                f"{name} keeps the id field {described.id_field!r}, this call has {id_field!r}: leave it out; or "
                f"change it for the whole store by `es-simhash init --id-field {id_field} --store {name}`"
            )


class RunCheck:
    """Checks, before each batch is written, that a store is the one that the run began with."""

    def __init__(self, reader: StoreReader, name: str) -> None:
        self._reader, self._name = reader, name
        self._instance = reader.read().instance

    def __call__(self) -> None:
        """Check it. The store is asked again if it was not asked for 10 seconds.

        :raises StoreError: if an index or a file was deleted, made again or replaced.
        """
        if self._reader.read().instance != self._instance:
            raise StoreError(
                f"{self._name} is another store now: the index or the file was deleted and made again, replaced or "
                "restored. What this run wrote before is not there, so start again"
            )
