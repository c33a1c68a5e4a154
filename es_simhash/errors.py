"""Every error that this library raises on purpose.

One root, so that a caller can catch the lot. Two questions stay apart: *what* went wrong is the class, *may I try
again* is ``retryable``. Each message is one line that names the place and the fix.
"""

from __future__ import annotations

from typing import ClassVar


class SimhashError(Exception):
    """Root of the errors of es_simhash."""

    retryable: ClassVar[bool] = False


# --- the caller's ------------------------------------------------------------------------------------------


class InputError(SimhashError, ValueError):
    """An argument or a document that can't be used; the message says which and how to mend it."""


class SchemeError(SimhashError, ValueError):
    """A Scheme that can't be read, or a choice in it that is not known."""


class SchemeMismatch(SimhashError):
    """The store was filled under another Scheme: its fingerprints don't compare with ours."""


class DuplicateFound(SimhashError):
    """A duplicate came in while the policy for duplicates is ``fail``."""


# --- the store's -------------------------------------------------------------------------------------------


class StoreError(SimhashError):
    """The store refused a request, or answered something that can't be used."""


class NotSetUp(StoreError):
    """The index, the file or the fields that the store needs are not there: run ``init``."""


class StoreUnavailable(StoreError):
    """Nobody answers, or the server is too busy: the same request may work later."""

    retryable = True


class AccessDenied(StoreError):
    """The server does not take these credentials, or they don't allow this request."""


class WrongServer(StoreError):
    """What answers is not an Elasticsearch that the installed client can talk to."""


class IncompleteAnswer(StoreError):
    """The answer may lack matches (time-out, failed shards, too many candidates): it is not given at all."""

    retryable = True


class TooManyCandidates(IncompleteAnswer):
    """A query met more documents than one answer may hold; the same query will again."""

    retryable = False


class Unsupported(StoreError):
    """The store does not support this request."""


class TooLarge(StoreError):
    """A request has more bytes than the server takes."""


# --- seen items --------------------------------------------------------------------------------------------


class FilterFormatError(SimhashError, ValueError):
    """Bytes that are not a whole, undamaged Bloom filter of a version that this library reads."""


class FilterMismatch(SimhashError, ValueError):
    """Two Bloom filters of different configurations, where equal ones are needed."""


class ConflictError(StoreError):
    """Other writers were faster until the deadline: the message says what was not stored."""

    retryable = True
