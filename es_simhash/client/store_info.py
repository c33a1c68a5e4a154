"""Whether a call fits how its store was set up, and by which rule it decides."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from es_simhash.client.set_up import SetUp
from es_simhash.decide.rule import ResolvedRule
from es_simhash.errors import InputError, NotSetUp, StoreError
from es_simhash.rows import Description, Scan
from es_simhash.similarity.rule import DuplicateRule, rule_of, rule_without_text
from es_simhash.similarity.text_fields import check_id_field, field_value
from es_simhash.store.description import moved, other_scheme
from es_simhash.text.fingerprinter import Fingerprinter, fingerprinter_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.store.protocol import Store
    from es_simhash.text.scheme import Scheme


class StoreReader:
    """Reads how a store was set up, and checks that a call fits it.

    :param scheme: for a store that is set up now; a store that has another one raises SchemeMismatch.
    :param fingerprinter: in place of a Scheme.
    :raises InputError: for a fingerprinter together with a Scheme; for a Scheme of 128 bits.
    """

    def __init__(
        self,
        store: Store,
        scheme: Scheme | None = None,
        fingerprinter: Fingerprinter | None = None,
    ) -> None:
        if fingerprinter is not None and scheme is not None:
            raise InputError("a fingerprinter has its own scheme: leave scheme out")
        self._store = store
        self._fingerprinter = fingerprinter_of(scheme if fingerprinter is None else fingerprinter)
        if self._fingerprinter.scheme.bits != 64:
            raise InputError(
                "a store holds fingerprints of 64 bits: use a Scheme of 64 bits; fingerprint() takes others"
            )
        self._is_given = fingerprinter is not None or scheme is not None
        self.stored = SetUp(store)

    def read(self) -> Description:
        """Return how the store was set up.

        :raises NotSetUp: if it was not set up for documents.
        :raises SchemeMismatch: if it was set up with another Scheme than the one that was chosen.
        :raises StoreChanged: if it is another store than before, and was set up in another way.
        :raises StoreUnavailable: if other calls ask the store until the deadline of this one.
        """
        described = self.stored.read()
        if described.scheme is None:
            self.stored.forget()  # after `init` the next call succeeds
            raise NotSetUp(f"{self._store.name} holds only seen items: use another store for documents")
        self._use(described.scheme)
        return described

    def info(self) -> Description:
        """Return how the store was set up; if it was not, how it would be."""
        try:
            return self.read()
        except NotSetUp:
            return Description(keys=True)

    def _use(self, stored: Scheme) -> None:
        """Make fingerprints of the Scheme of the store, from now on."""
        if stored == self._fingerprinter.scheme:
            return
        if self._is_given:
            raise other_scheme(self._store.name, stored, self._fingerprinter.scheme)
        self._fingerprinter = Fingerprinter(stored)

    # --- the rule of a call -------------------------------------------------------------------------------------------

    def rule(self, rule: str | DuplicateRule | None, *, text: bool = True) -> ResolvedRule:
        """Return the rule of a call that reads: the one it gives, with the store's text field; else that of the store.

        :param text: the call has a text. Without one the rule is ``fingerprint``, or one that compares no texts.
        :raises InputError: for an invalid rule, before the store is asked; for a rule that needs keys without them.
        :raises NotSetUp: if the store was not set up; if its documents were written with other fields.
        """
        chosen = None if rule is None else rule_of(rule) if text else rule_without_text(rule)
        described = self.read()
        self._check_not_stale(described)
        kept = described.rule
        if chosen is None:
            chosen = rule_of("fingerprint") if not text and kept.min_similarity is not None else kept
        if chosen.time_field not in (None, kept.time_field):
            raise InputError(
                f"{self._store.name} keeps no times of the field {chosen.time_field!r}: let its rule name the field by "
                "setup(rule=…) or `es-simhash init`, then run `es-simhash backfill --again`"
            )
        return self._under(_whole(chosen, kept), described)

    def _check_not_stale(self, described: Description) -> None:
        if described.stale:
            raise NotSetUp(
                f"documents of {self._store.name} were written before its rule, text or time fields changed: "
                f"run `es-simhash backfill --again --store {self._store.name}`"
            )

    def _under(self, rule: DuplicateRule, described: Description) -> ResolvedRule:
        """Return a whole rule under the Scheme and the keys of the store.

        :raises InputError: if it needs keys, and the store has none.
        """
        if rule.min_similarity is not None and not described.keys:
            raise InputError(
                f"{self._store.name} has no keys, which the rule {rule.rule!r} needs: use the rule 'fingerprint'; or "
                f"run `es-simhash init --rule {rule.rule} --store {self._store.name}`, then `backfill --again`"
            )
        return ResolvedRule(rule, self._fingerprinter, described.keys)

    # --- a call that writes -------------------------------------------------------------------------------------------

    def for_writing(self, *, new: bool = False, stale: bool = False) -> tuple[ResolvedRule, str]:
        """Return the rule of a call that writes, which is that of the store, and the ``instance`` of the store.

        :param new: an embedded store that was never set up is set up now.
        :param stale: documents that were written with other fields are no error.
        :raises InputError: if the store is read only.
        """
        try:
            described = self.read()
        except NotSetUp:
            former = self.stored.known
            if self._store.lags or not new or (former is not None and former.scheme is not None):
                raise
            self._store.set_up(Description(scheme=self._fingerprinter.scheme, keys=True))
            described = self.read()
        if described.read_only is not None:
            raise InputError(described.read_only)
        if not stale:
            self._check_not_stale(described)
        return self._under(described.rule, described), described.instance

    def run_check(self, rule: ResolvedRule, instance: str) -> Callable[[], None]:
        """Return a function that is called before a batch is written. It checks that the store is still the same.

        It raises a StoreChanged if the index or the file is another one now, and a StoreError if the rule of the store
        needs other fingerprints, keys or times now.
        """
        former = Description(keys=rule.keys, rule=rule.chosen)

        def check() -> None:
            described = self.stored.read()
            if described.instance != instance:
                raise moved(self._store.name)
            if _needs_more(described, former):
                raise StoreError(
                    f"the rule of {self._store.name} was changed, and needs other text fields, times or keys than this "
                    f"run writes: run `es-simhash backfill --again --store {self._store.name}`; repeat an ingest then"
                )

        return check

    def set_up(self, rule: str | DuplicateRule | None, id_field: str | None) -> str:
        """Make what is missing in the store, or let it keep another rule, or another id field.

        Documents that have fingerprints are stale from now on if the text fields or the time field change, or if the
        rule needs keys, and they have none.

        :returns: ``created``, ``added``, ``changed`` or ``unchanged``.
        """
        chosen, default = rule_of(rule), Description()
        check_id_field(id_field)
        self.info()  # from now on the Scheme is that of the store, if it has one
        wanted = Description(
            scheme=self._fingerprinter.scheme,
            keys=chosen.min_similarity is not None,
            rule=_whole(chosen, default.rule),
            id_field=id_field or default.id_field,
        )
        self._fingerprinter.scheme.normalise("")  # raises if the parser of HTML is not installed
        made = self._store.set_up(wanted)
        self.stored.forget()
        former = self.read()
        kept = former.rule if rule is None else _whole(chosen, former.rule)
        changed = replace(
            former,
            rule=kept,
            keys=former.keys or kept.min_similarity is not None,
            id_field=id_field or former.id_field,
        )
        if changed == former:
            return made
        if _needs_more(changed, former):
            self._store.refresh()  # a document that was written just now counts too
            self._check_text_fields(kept.text_fields)
            changed = replace(changed, stale=former.stale or self._store.count(Scan()) > 0)
        self._store.set_up(changed, change=True)
        self.stored.forget()
        return "changed"

    def _check_text_fields(self, fields: tuple[str, ...]) -> None:
        """Check that a stored document has one of the text fields. A wrong name would stop all who write."""
        with closing(self._store.scan(Scan(fields=fields))) as pages:  # type: ignore[type-var]  # a generator
            documents = next(pages, [])
        if documents and all(field_value(one.source or {}, field) is None for one in documents for field in fields):
            raise InputError(
                f"none of the first {len(documents):,} documents of {self._store.name} has {' or '.join(fields)}: name "
                "the field with the text"
            )

    def end_stale(self) -> None:
        """Say that all documents have the fingerprints of their text fields."""
        described = self.read()
        if described.stale:
            self._store.set_up(replace(described, stale=False), change=True)
            self.stored.forget()


def _needs_more(described: Description, former: Description) -> bool:
    """Return whether a store needs other fingerprints, keys or times than its documents got by a former description."""
    old, new = former.rule, described.rule
    has_times = new.time_field in (None, old.time_field)
    return not has_times or (described.keys, new.text_fields) != (former.keys, old.text_fields)


def _whole(rule: DuplicateRule, kept: DuplicateRule) -> DuplicateRule:
    """Return a rule with the names of the text fields: by default those of the rule that a store keeps."""
    return rule if rule.text_field is not None else replace(rule, text_field=kept.text_field)
