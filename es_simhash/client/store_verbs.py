"""The verbs on a store of documents itself: set it up, and which keys it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import Describe, SetUp, SetUpKeys, ask
from es_simhash.search.keys import checked_kinds
from es_simhash.similarity.rule import rule_of
from es_simhash.verbs.setup import explain_not_set_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.client.opening import Opening
    from es_simhash.contract import Flow
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.similarity.rule import DuplicateRule, MatchOptions, RuleOptions


class StoreVerbs:
    """The verbs on the store itself, and what all verbs need.

    Each verb checks its arguments when it is called, and returns a flow or a stream.

    :param embedded: the store belongs to this program alone.
    """

    def __init__(self, opening: Opening, *, embedded: bool) -> None:
        self._opening = opening
        self._embedded = embedded

    @property
    def described(self) -> str:
        """The Scheme, for the repr: it is that of the store until something asks the store for it."""
        return "" if self._opening.known is None else f", scheme={self._opening.known.scheme.version!r}"

    def setup(self, *, keys: Sequence[str] = (), template: bool = False) -> Flow[str]:
        """Make what is missing: the index or the file, or the fields in an index that exists.

        A second call does nothing.

        :param keys: kinds of keyword keys that each document gets. With ``shingles``, ``confirm`` finds duplicates of
            its similarity, whatever the distance of their fingerprints; docs/keys.md says how many it finds. With
            ``blocks``, a large index in Elasticsearch is searched faster, for a ``max_distance`` of up to 3. Keys can
            be added to a store that has documents: then a ``backfill`` of all documents with ``again`` must add the
            keys to them.
        :param template: for an index that rolls over: the name becomes an alias, its first index ends in ``-000001``,
            and an index template sets up those that follow. Not for SQLite.
        :returns: ``created``, ``added`` or ``unchanged``.
        :raises SchemeMismatch: if the store was set up with another Scheme.
        """
        return self._setup(checked_kinds(keys), template)

    def _setup(self, kinds: tuple[str, ...], template: bool) -> Flow[str]:
        fingerprinter = yield from self._opening.fingerprinter()
        made = yield from ask(SetUp(fingerprinter.scheme, kinds, template))
        if not kinds:
            return made
        added = yield from ask(SetUpKeys(kinds))
        self._opening.forget_keys()
        if template and added == "added":
            yield from ask(SetUp(fingerprinter.scheme, kinds, template=True))  # the template gets the keys, too
        return added if made == "unchanged" else made

    def fingerprinter(self) -> Flow[Fingerprinter]:
        """Return the object that makes the fingerprints.

        It is the one that the constructor was given, or one for the Scheme of the store, which is asked once.

        :raises SchemeError: if that Scheme names a table of your own. Give the constructor a ``fingerprinter`` then.
        """
        return self._opening.fingerprinter()

    def _is_set_up(self) -> Flow[None]:
        if (yield from ask(Describe())) is None:
            raise (yield from explain_not_set_up(self._opening.name))

    def keys(self) -> Flow[tuple[str, ...]]:
        """Return which kinds of keys the store has; see :meth:`setup`.

        :raises NotSetUp: if the store was not set up.
        """
        return self._kinds()

    def _kinds(self) -> Flow[tuple[str, ...]]:
        yield from self._is_set_up()
        return (yield from self._opening.keys()).kinds

    def keys_complete(self) -> Flow[bool]:
        """Return whether every fingerprinted document has the keys of the store; see :meth:`setup`.

        :raises NotSetUp: if the store was not set up.
        """
        return self._keys_complete()

    def _keys_complete(self) -> Flow[bool]:
        yield from self._is_set_up()
        return (yield from self._opening.keys()).complete

    def _rule(self, options: RuleOptions | MatchOptions) -> DuplicateRule:
        """Return the rule that keywords describe. If the Scheme is known already, it is checked against it."""
        rule = rule_of(options)
        if self._opening.known is not None:
            rule.bits_allowed(self._opening.known.scheme)
        return rule
