"""One run of documents through the pipeline: an ingest of new documents, or a backfill of stored ones."""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.contract import KeysState, Scan
from es_simhash.deciding.ingest import ON_DUPLICATE, Ingest
from es_simhash.deciding.limits import LIMITS, Limits
from es_simhash.deciding.rule import resolve
from es_simhash.errors import InputError, StoreError, unfinished
from es_simhash.files import is_same_file
from es_simhash.fingerprinting.normalisation import MAX_TEXT
from es_simhash.ingest.batches import BATCH, Source
from es_simhash.ingest.checkpoint import Checkpoint
from es_simhash.ingest.ids import FirstPlaces
from es_simhash.ingest.pipeline import Pipeline
from es_simhash.ingest.reader import Reader, StoredReader
from es_simhash.ingest.stored_documents import next_pass, stored_lines
from es_simhash.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.ingest import OnDuplicate
    from es_simhash.deciding.outcome import Outcome
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.similarity.rule import DuplicateRule

_log = logging.getLogger("es_simhash")

R = TypeVar("R", bound=Reader)
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How documents are read, and what is done with them. The fields are the keywords of ``Documents.ingest``.

    :raises InputError: for a value that is not allowed.
    """

    rule: DuplicateRule
    id_field: str = "_id"
    on_duplicate: OnDuplicate = "index"
    filter: Mapping[str, Any] | None = None
    batch_size: int = BATCH
    max_text: int = MAX_TEXT
    keep_fields: bool = False
    workers: int = 0
    checkpoint: str | Checkpoint | None = None

    def __post_init__(self) -> None:
        if self.on_duplicate not in ON_DUPLICATE:
            raise InputError(f"on_duplicate is {self.on_duplicate!r}: use one of {', '.join(ON_DUPLICATE)}")
        if type(self.workers) is not int or self.workers < 0:
            raise InputError(f"workers is {self.workers!r}: use a whole number from 0")
        if type(self.batch_size) is not int or self.batch_size < 1:
            raise InputError(f"a batch size of {self.batch_size}: use a whole number from 1")
        if self.checkpoint is not None and self.on_duplicate == "fail":
            raise InputError("on_duplicate='fail' cannot resume from a checkpoint: use 'index' or 'skip'")


def read_ahead(workers: int) -> int:
    """Return how many batches are fingerprinted ahead: enough that no worker waits for its next batch."""
    return workers + 1 if workers else 0


def ingest(
    store: Store,
    source: Source,
    fingerprinter: Fingerprinter,
    options: RunOptions,
    keys: KeysState,
    *,
    deadline: float,
    check: Callable[[bool], object],
    limits: Limits = LIMITS,
    ahead: int | None = None,
) -> Iterator[Sequence[Outcome]]:
    """Ingest documents, and yield the outcomes of each batch.

    If the input ends in an error, everything before it is done. Then the error is raised.

    :param keys: those of the store.
    :param deadline: seconds for which single documents are sent again while the store is too busy for them.
    :param check: is called before each batch is looked up, and before it is written, with whether documents are about
        to be written. It raises if the store is not what it was at the start.
    :param limits: of what is held in memory.
    :param ahead: how many batches are fingerprinted ahead; by default enough that no worker waits for its next batch.
    """
    rule = resolve(options.rule, fingerprinter, keys)
    operation = Ingest(store, rule, options.on_duplicate, options.filter, deadline, limits=limits)
    reader = _reader(Reader, fingerprinter, options, keys)
    try:
        yield from _outcomes(operation, source, reader, store, options, fingerprinter.scheme, check, ahead)
    except StoreError as error:
        how = "nothing more was read" if options.checkpoint is None else "the same call continues from its checkpoint"
        raise unfinished(error, how) from error


def backfill(
    store: Store,
    fingerprinter: Fingerprinter,
    options: RunOptions,
    keys: KeysState,
    *,
    deadline: float,
    check: Callable[[bool], object],
    again: bool,
    slice: tuple[int, int] | None,
    stop: Callable[[], bool],
) -> Iterator[Sequence[Outcome]]:
    """Backfill stored documents, and yield the outcomes of each batch.

    It passes over the documents again while other writers change some of them.

    :param deadline: this and ``check`` as for :func:`ingest`.
    :param again: include documents that have a fingerprint.
    :param slice: ``(i, n)``: only the i-th of n parts.
    :param stop: is asked before each page: once it is true, no more is read.
    """
    rule = resolve(options.rule, fingerprinter, keys)
    reader = _reader(StoredReader, fingerprinter, options, keys)
    time_fields = () if rule.time_field is None else (rule.time_field,)
    fields = (*options.rule.text_fields, *time_fields)
    scan: Scan | None = Scan(None, options.filter, fields, not again, slice, options.batch_size)

    try:
        while scan is not None:
            store.refresh()
            operation = Ingest(store, rule, "index", options.filter, deadline, stored=True)
            source = Source(stored_lines(store, scan, stop), options.batch_size, from_caller=False)
            yield from _outcomes(operation, source, reader, store, options, fingerprinter.scheme, check)
            scan = None if stop() else next_pass(scan, options.filter, operation.conflicts)
        everything = again and slice is None and options.filter is None and not stop()
        if everything and keys is KeysState.INCOMPLETE:
            store.complete_keys()
    except StoreError as error:
        raise unfinished(error, "backfill again, for the documents that are left") from error


def _reader(kind: type[R], fingerprinter: Fingerprinter, options: RunOptions, keys: KeysState) -> R:
    rule = options.rule
    return kind(
        fingerprinter,
        options.id_field,
        rule.text_fields,
        options.max_text,
        keys=keys is not KeysState.NONE,
        time_field=rule.time_field,
        keep_fields=options.keep_fields,
    )


def _outcomes(
    operation: Ingest,
    source: Source,
    reader: Reader,
    store: Store,
    options: RunOptions,
    scheme: Scheme,
    check: Callable[[bool], object],
    ahead: int | None = None,
) -> Iterator[Sequence[Outcome]]:
    _log.info("%s: Scheme %s, batches of %s documents", store.name, scheme.version, options.batch_size)
    with ExitStack() as stack:
        ids = stack.enter_context(FirstPlaces())
        checkpoint = _checkpoint(stack, options, store.name, scheme)
        workers = stack.enter_context(closing(Workers(reader, options.workers)))
        ahead = read_ahead(options.workers) if ahead is None else ahead
        pipeline = Pipeline(operation, source, workers, ids, store, ahead, checkpoint, check)
        yield from pipeline.batches()
    if source.error is not None:
        raise source.error


def _checkpoint(stack: ExitStack, options: RunOptions, store: str, scheme: Scheme) -> Checkpoint | None:
    """Open the checkpoint, and check that it belongs to this run."""
    checkpoint = options.checkpoint
    if isinstance(checkpoint, str):
        if is_same_file(checkpoint, store.removeprefix("sqlite:///")):
            raise InputError(f"the checkpoint {checkpoint!r} is the file of the store: name another file")
        checkpoint = stack.enter_context(closing(Checkpoint(checkpoint)))
    if checkpoint is not None:
        rule = options.rule
        decisions: dict[str, Any] = {"rule": rule.rule}
        if rule.confirm is not None:
            decisions |= {"confirm": rule.confirm, "measure": rule.measure, "numbers_agree": rule.numbers_agree}
        if options.keep_fields:
            decisions |= {"keep_fields": True}
        if rule.within is not None:
            decisions |= {"within": str(rule.within), "time_field": rule.time_field}
        checkpoint.begin(
            {
                "store": store,
                "scheme": scheme.version,
                "id_field": options.id_field,
                "text_field": list(rule.text_fields),
                "max_distance": rule.bits_allowed(scheme),
                "on_duplicate": options.on_duplicate,
                "filter": options.filter,
                "max_text": options.max_text,
                **decisions,
            }
        )
    return checkpoint
