"""Set up a store, and check that its Scheme is the program's, before the first other request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.contract import Count, Describe, Scan, SetUp, ask, scheme_mismatch
from es_simhash.errors import NotSetUp

if TYPE_CHECKING:
    from es_simhash.contract import Flow
    from es_simhash.fingerprinting.scheme import Scheme

MISTYPED = "check the name of the index; backfill reads one that exists"
"""What to do if a verb for an index that exists finds none."""


def set_up(scheme: Scheme, keys: tuple[str, ...] = (), *, template: bool = False) -> Flow[str]:
    """Make what is missing: the index or the file, or the fields in an index that exists. A second call does nothing.

    :param keys: kinds of keys that the store gets if it was not set up before.
    :param template: also make an alias that rolls over, and the template of its indices.
    :returns: ``created``, ``added`` or ``unchanged``.
    :raises SchemeMismatch: if the store was set up with another Scheme. Nothing is changed.
    """
    return (yield from ask(SetUp(scheme, keys, template)))


def set_up_existing(scheme: Scheme, name: str, *, embedded: bool, keys: tuple[str, ...] = ()) -> Flow[None]:
    """Add what is missing to a store that exists. No index and no file is made.

    :param embedded: the store is the program's own, so no other program puts documents there.
    :param keys: kinds of keys that the store gets if it was not set up before.
    :raises NotSetUp: if there is no such index or file.
    :raises SchemeMismatch: if the store was set up with another Scheme. Nothing is changed.
    """
    if embedded:
        yield from check(scheme, name)
    else:
        yield from count_existing(Count(Scan(fields=())), name, MISTYPED)
        yield from set_up(scheme, keys)


def count_existing(count: Count, name: str, next_step: str) -> Flow[int]:
    """Return the reply to Count, of an index that exists.

    :param next_step: what to do if there is no such index.
    :raises NotSetUp: if there is none.
    """
    try:
        return (yield from ask(count))
    except NotSetUp as error:
        raise NotSetUp(f"{name}: there is no such index: {next_step}") from error


def check(
    scheme: Scheme,
    name: str,
    *,
    set_up_if_missing: bool = False,
    keys: tuple[str, ...] = (),
    embedded: bool = True,
) -> Flow[None]:
    """Check that the store was set up with this Scheme.

    :param keys: kinds of keys that the store gets if it is set up now.
    :param embedded: the store is the program's own. Else it may have documents of another program.
    :raises NotSetUp: if it was not set up, and ``set_up_if_missing`` does not allow to do it now.
    :raises SchemeMismatch: if it was set up with another Scheme.
    """
    stored = yield from ask(Describe())
    if stored is not None and stored != scheme:
        raise scheme_mismatch(stored, scheme, name)
    if stored is not None:
        return
    if not set_up_if_missing:
        init = f"run `es-simhash init --store {name}`, or call setup() in code"
        problem = f"{name} is not set up for fingerprints"
        count = 0
        if not embedded:
            step = f"check the name; to make the index, {init}"
            count = yield from count_existing(Count(Scan(fields=())), name, step)
        if count:
            raise NotSetUp(
                f"{problem}, and has {count:,} documents: to give them fingerprints, run `es-simhash backfill "
                f"--text-field FIELD --store {name}`; for new documents alone, {init}"
            )
        raise NotSetUp(f"{problem}: {init}")
    yield from set_up(scheme, keys)
