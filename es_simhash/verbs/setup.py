"""Set up a store, and check that its Scheme is the program's, before the first other request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import Count, Describe, Scan, SetUp, ask, scheme_mismatch
from es_simhash.errors import NotSetUp

if TYPE_CHECKING:
    from es_simhash.contract import Flow
    from es_simhash.fingerprinting.scheme import Scheme


def set_up(scheme: Scheme) -> Flow[str]:
    """Make what is missing: the index or the file, or the fields in an index that exists. A second call does nothing.

    :returns: ``created``, ``added`` or ``unchanged``.
    :raises SchemeMismatch: if the store was set up with another Scheme. Nothing is changed.
    """
    return (yield from ask(SetUp(scheme)))


def set_up_existing(scheme: Scheme, name: str, *, embedded: bool) -> Flow[None]:
    """Add what is missing to a store that exists. No index and no file is made.

    :param embedded: the store is the program's own, so no other program puts documents there.
    :raises NotSetUp: if there is no such index or file.
    :raises SchemeMismatch: if the store was set up with another Scheme. Nothing is changed.
    """
    if embedded:
        yield from check(scheme, name)
    else:
        yield from ask(Count(Scan(fields=())))  # raises if there is no such index
        yield from set_up(scheme)


def check(scheme: Scheme, name: str, *, set_up_if_missing: bool = False) -> Flow[bool]:
    """Check that the store was set up with this Scheme, and return whether it was set up just now.

    :raises NotSetUp: if it was not set up, and ``set_up_if_missing`` does not allow to do it now.
    :raises SchemeMismatch: if it was set up with another Scheme.
    """
    stored = yield from ask(Describe())
    if stored is not None and stored != scheme:
        raise scheme_mismatch(stored, scheme, name)
    if stored is not None:
        return False
    if not set_up_if_missing:
        raise NotSetUp(
            f"{name} is not set up for fingerprints: run `es-simhash init --store {name}`, or call setup() in code"
        )
    return (yield from ask(SetUp(scheme))) != "unchanged"
