"""The two stores of a copy: set up the new one, and give it the alias of the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import KeysState, StoredRule
from es_simhash.errors import InputError, SchemeMismatch, count_of

if TYPE_CHECKING:
    from es_simhash import Documents


def setup_for_copy(documents: Documents, source: Documents, *, keys: bool | None = None) -> str:
    """Set up the new store of a copy. A store that does not fit is not changed.

    :param source: the old store. The new one keeps the same field with the id; the ingest lets it keep the rule.
    :param keys: whether the new store gets keys; None: as the old one.
    :returns: ``created``, ``added`` or ``unchanged``.
    :raises SchemeMismatch: if it was set up with another Scheme.
    :raises InputError: if it has documents that lack keys.
    """
    keys = source.keys() if keys is None else keys
    name, store = documents.name, documents.store
    stored = store.describe()
    scheme = documents.fingerprinter().scheme
    if stored is not None and stored != scheme:
        raise SchemeMismatch(
            f"{name} has the Scheme {stored.version}, and the copy needs {scheme.version}: copy to a new index or "
            "file (--to), or choose the Scheme that it has"
        )
    location = store.locate()
    if keys and location.documents and store.describe_keys() is KeysState.NONE:
        raise InputError(
            f"{name} has {count_of(location.documents, 'document')} without keys: copy to a new index or "
            "file (--to), or copy without keys (--no-keys)"
        )
    made = documents.setup(keys=keys)
    if (id_field := source.store.describe_rule().id_field) is not None:
        store.keep_rule(StoredRule(id_field=id_field))
    return made


def switch_alias(documents: Documents, alias: str, to: str, *, check: bool = False) -> None:
    """Take an alias from the indices of a store and give it to another index, in one request.

    A search through the alias finds the old index or the new one, never both or none. If the other index alone has
    the alias already, nothing is done. Elasticsearch and OpenSearch only.

    :param documents: in the index that has the alias.
    :param to: name of the other index. It is on the same server.
    :param check: change nothing; the other index may not exist yet.
    :raises InputError: if the indices of this store do not have the alias, or if others have it too.
    """
    documents.store.switch_alias(alias, to, check)
