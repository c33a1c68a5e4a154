"""Set up a store, and make sure before the first request that its Scheme is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import Count, Describe, Scan, SetUp, ask
from es_simhash.errors import NotSetUp, SchemeMismatch

if TYPE_CHECKING:
    from es_simhash.contract import Flow
    from es_simhash.fingerprinting.scheme import Scheme


def set_up(scheme: Scheme, name: str) -> Flow[str]:
    """Make what is missing: the index or the file, or the fields in an index that exists. Idempotent.

    :returns: ``created``, ``added`` or ``unchanged``.
    :raises SchemeMismatch: if it was set up with another Scheme; nothing is changed.
    """
    stored = yield from ask(Describe())
    if stored is not None:
        _same(stored, scheme, name)
    return (yield from _set_up(scheme, name))


def extend(scheme: Scheme, name: str, *, embedded: bool) -> Flow[None]:
    """Make what is missing where there are documents already; where there is nothing, nothing is made.

    :raises NotSetUp: if there is no such index or file.
    :raises SchemeMismatch: if it was set up with another Scheme; nothing is changed.
    """
    if embedded:  # nobody else puts documents there
        yield from check(scheme, name)
    else:
        yield from ask(Count(Scan(fields=())))
        yield from set_up(scheme, name)


def check(scheme: Scheme, name: str, *, set_up_if_missing: bool = False) -> Flow[None]:
    """Make sure that the store was set up, with this Scheme.

    :raises NotSetUp: if it was not, and ``set_up_if_missing`` doesn't allow to do it now.
    :raises SchemeMismatch: naming both versions.
    """
    stored = yield from ask(Describe())
    if stored is not None:
        _same(stored, scheme, name)
    elif set_up_if_missing:
        yield from _set_up(scheme, name)
    else:
        raise NotSetUp(
            f"{name} is not set up for fingerprints: run `es-simhash init --store {name}`, or setup() in code"
        )


def _set_up(scheme: Scheme, name: str) -> Flow[str]:
    made = yield from ask(SetUp(scheme))
    stored = yield from ask(Describe())
    if stored is not None:
        _same(stored, scheme, name)  # another program may have been faster
    return made


def _same(stored: Scheme, scheme: Scheme, name: str) -> None:
    if stored != scheme:
        raise SchemeMismatch(
            f"{name} holds fingerprints of Scheme {stored.version}, this program makes {scheme.version}: "
            f"open it with that Scheme, which is taken where none is given, or put these documents into another index"
        )
