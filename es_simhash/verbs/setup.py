"""Set up a store, and check that its Scheme is the program's, before the first other request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import scheme_mismatch
from es_simhash.errors import NotSetUp, count_of, set_up_by

if TYPE_CHECKING:
    from es_simhash.contract import Location, Store
    from es_simhash.fingerprinting.scheme import Scheme


def set_up_existing(store: Store, scheme: Scheme, name: str, *, embedded: bool, keys: tuple[str, ...] = ()) -> None:
    """Add what is missing to a store that exists. No index and no file is made.

    :param embedded: the store is the program's own, so no other program puts documents there.
    :param keys: kinds of keys that the store gets if it was not set up before.
    :raises NotSetUp: if there is no such index or file.
    :raises SchemeMismatch: if the store was set up with another Scheme. Nothing is changed.
    """
    if embedded:
        check(store, scheme, name)
    else:
        location = store.locate()
        if not location.exists:
            raise does_not_exist(location, name)
        store.set_up(scheme, keys)


def check(
    store: Store,
    scheme: Scheme,
    name: str,
    *,
    set_up_if_missing: bool = False,
    keys: tuple[str, ...] = (),
) -> None:
    """Check that the store was set up with this Scheme.

    :param keys: kinds of keys that the store gets if it is set up now.
    :raises NotSetUp: if it was not set up, and ``set_up_if_missing`` does not allow to do it now.
    :raises SchemeMismatch: if it was set up with another Scheme.
    """
    stored = store.describe()
    if stored is not None and stored != scheme:
        raise scheme_mismatch(stored, scheme, name)
    if stored is not None:
        return
    if not set_up_if_missing:
        raise (explain_not_set_up(store, name))
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


def does_not_exist(location: Location, name: str, init: str = "init") -> NotSetUp:
    """Return the error for a store whose index or file does not exist: perhaps its name was mistyped.

    :param init: the command that makes it.
    """
    there_are = f" (there are: {', '.join(location.others)})" if location.others else ""
    return NotSetUp(
        f"{name} does not exist{there_are}: correct the name, or run `es-simhash {init} --store {name}` to make it, or "
        "call setup() in code"
    )
