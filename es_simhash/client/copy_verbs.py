"""The verbs of a copy: read whole documents from a store, set up the new store, and switch an alias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.client.arguments import checked_kinds
from es_simhash.client.review_verbs import ReviewVerbs
from es_simhash.errors import InputError, SchemeMismatch, count_of
from es_simhash.ingest.write_order import whole_documents
from es_simhash.verbs.setup import explain_not_set_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.client.drivers import Stream
    from es_simhash.ingest.performer import Performer
    from es_simhash.ingest.write_order import Position, WholeDocument


class CopyVerbs(ReviewVerbs):
    """All verbs of :class:`~es_simhash.Documents` and :class:`~es_simhash.AsyncDocuments`."""

    def whole_documents(self, *, after: Position | None = None) -> Stream[WholeDocument]:
        """Return all documents, as they were written, the one that was written first at first.

        They are input for the ``ingest`` of another store, with ``id_field="_id"``: so documents go to a store with
        another Scheme or with other keys. The Scheme of this object is not compared with the store's.

        All ids are read before the first document is returned. They are held in a temporary file, so memory does not
        grow with their number. What is written after the call may be missed.

        :param after: only documents behind the ``position`` of this one.
        :returns: Lines with a ``document``, whose id is in its field ``_id``, and a ``position``.
        :raises NotSetUp: if the store was not set up.
        """

        def documents(performer: Performer) -> Iterator[Sequence[WholeDocument]]:
            self._is_set_up()
            yield from whole_documents(performer, after)

        return documents

    def _is_set_up(self) -> None:
        if (self._store.describe()) is None:
            raise (explain_not_set_up(self._store, self._opening.name))

    def keys(self) -> tuple[str, ...]:
        """Return which kinds of keys the store has; see :meth:`setup`.

        :raises NotSetUp: if the store was not set up.
        """
        return self._kinds()

    def _kinds(self) -> tuple[str, ...]:
        self._is_set_up()
        return (self._opening.keys()).kinds

    def keys_complete(self) -> bool:
        """Return whether every fingerprinted document has the keys of the store; see :meth:`setup`.

        :raises NotSetUp: if the store was not set up.
        """
        return self._keys_complete()

    def _keys_complete(self) -> bool:
        self._is_set_up()
        return (self._opening.keys()).complete

    def setup_for_copy(self, *, keys: Sequence[str] = ()) -> str:
        """:meth:`setup` for the new store of a copy. A store that does not fit is not changed.

        :param keys: the kinds of keys that it has, or gets.
        :raises SchemeMismatch: if it was set up with another Scheme.
        :raises InputError: if it has documents that lack these keys.
        """
        return self._setup_for_copy(checked_kinds(keys))

    def _setup_for_copy(self, kinds: tuple[str, ...]) -> str:
        name = self._opening.name
        stored = self._store.describe()
        scheme = (self._opening.fingerprinter()).scheme
        if stored is not None and stored != scheme:
            raise SchemeMismatch(
                f"{name} has the Scheme {stored.version}, and the copy needs {scheme.version}: copy to a new index or "
                "file (--to), or choose the Scheme that it has"
            )
        location = self._store.locate()
        if location.documents and (missing := sorted(set(kinds) - set((self._opening.keys()).kinds))):
            raise InputError(
                f"{name} has {count_of(location.documents, 'document')} without the keys {', '.join(missing)}: copy to "
                "a new index or file (--to), or choose the keys that it has (--keys)"
            )
        return self._setup(kinds, False)

    def switch_alias(self, alias: str, to: str, *, check: bool = False) -> None:
        """Take an alias from the indices of this store and give it to another index, in one request.

        A search through the alias finds the old index or the new one, never both or none. If the other index alone has
        the alias already, nothing is done. Elasticsearch and OpenSearch only.

        :param to: name of the other index. It is on the same server.
        :param check: change nothing; the other index may not exist yet.
        :raises InputError: if the indices of this store do not have the alias, or if others have it too.
        """
        return self._store.switch_alias(alias, to, check)
