"""Which Fingerprinter goes with a store: what the sync and the async door find out alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.client.arguments import near
from es_simhash.contract import Describe, ask
from es_simhash.errors import InputError, SchemeError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.verbs import setup as opening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.client.arguments import MaxDistance
    from es_simhash.contract import Flow
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.similarity.measures import Measure
    from es_simhash.verbs.neighbours import Near


class Opening:
    """The Fingerprinter that was chosen; or where nothing was, one by the Scheme that the store has.

    :param name: of the store, for messages.
    :raises InputError: for a segmenter that is not known or not installed; if a Fingerprinter comes with a Scheme or a
        segmenter.
    """

    def __init__(
        self, name: str, scheme: Scheme | None, segmenter: str | None, fingerprinter: Fingerprinter | None
    ) -> None:
        if fingerprinter is not None and (scheme is not None or segmenter is not None):
            raise InputError("a fingerprinter is given beside a scheme or a segmenter: it has its own, leave them out")
        self._name = name
        self._segmenter = segmenter
        self._follows = scheme is None and fingerprinter is None
        self._ours = fingerprinter or Fingerprinter(scheme or DEFAULT, segmenter)
        self._checked = False

    def fingerprinter(self) -> Flow[Fingerprinter]:
        """The one that goes with the store as it is now: it is asked only where nothing was chosen, until it knows.

        :returns: for a store that was not set up the default one. It may be set up otherwise before it is first used,
            so what is made by this one is passed on to :meth:`check`.
        :raises SchemeError: if the store's Scheme names a table of somebody's own.
        """
        if self._follows and not self._checked:
            stored = yield from ask(Describe())
            if stored is not None:
                self._ours, self._checked = self._by(stored), True
        return self._ours

    def check(
        self, fingerprinter: Fingerprinter | None = None, *, set_up_if_missing: bool = False
    ) -> Flow[Fingerprinter]:
        """Make sure, once, that the store was set up with the Scheme of this Fingerprinter, which is returned.

        :raises NotSetUp: if it was not, and ``set_up_if_missing`` doesn't allow to do it now.
        :raises SchemeMismatch: naming both versions.
        """
        ours = fingerprinter or (yield from self.fingerprinter())
        if not (self._checked and ours.scheme == self._ours.scheme):
            yield from opening.check(ours.scheme, self._name, set_up_if_missing=set_up_if_missing)
            self._ours, self._checked = ours, True
        return ours

    def near(
        self, max_distance: MaxDistance, confirm: float | None, measure: Measure, text_field: str | Sequence[str]
    ) -> Flow[Near]:
        """The rule by which documents are near-duplicates, and then :meth:`check`: an argument is refused before."""
        fingerprinter = yield from self.fingerprinter()
        rule = near(fingerprinter, max_distance, confirm, measure, text_field)
        yield from self.check(fingerprinter)
        return rule

    def _by(self, stored: Scheme) -> Fingerprinter:
        try:
            return Fingerprinter(stored, self._segmenter)
        except SchemeError as error:
            raise SchemeError(f"{self._name}: {error}; then open the store with that one, fingerprinter=…") from error
