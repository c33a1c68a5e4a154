"""One run of documents through the pipeline: an ingest of new documents, or a backfill of stored ones."""

from __future__ import annotations

import logging
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract import KeysState, Scan
from es_simhash.deciding.ingest import ON_DUPLICATE, Ingest
from es_simhash.deciding.limits import LIMITS, Limits
from es_simhash.errors import InputError, StoreError, unfinished
from es_simhash.files import is_same_file
from es_simhash.fingerprinting.normalisation import MAX_TEXT
from es_simhash.ingest.batches import BATCH, Source
from es_simhash.ingest.checkpoint import Checkpoint
from es_simhash.ingest.ids import FirstPlaces
from es_simhash.ingest.pipeline import Pipeline
from es_simhash.ingest.reader import Reader
from es_simhash.ingest.stored_documents import next_pass, stored_lines
from es_simhash.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.ingest import OnDuplicate
    from es_simhash.deciding.outcome import Outcome
    from es_simhash.deciding.rule import ResolvedRule

_log = logging.getLogger("es_simhash")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How documents are read, and what is done with them. The fields are keywords of ``Documents.ingest``.

    :raises InputError: for a value that is not allowed.
    """

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
    rule: ResolvedRule,
    id_field: str,
    options: RunOptions,
    *,
    deadline: float,
    check: Callable[[bool], object],
    limits: Limits = LIMITS,
    ahead: int | None = None,
) -> Iterator[Sequence[Outcome]]:
    """Ingest documents, and yield the outcomes of each batch.

    If the input ends in an error, everything before it is done. Then the error is raised.

    :param id_field: name of the field with the id.
    :param deadline: seconds for which single documents are sent again while the store is too busy for them.
    :param check: is called before each batch is looked up, before it is written, and before its outcomes are returned,
        with whether documents are written. It raises if the store is not what it was at the start.
    :param limits: of what is held in memory.
    :param ahead: how many batches are fingerprinted ahead; by default enough that no worker waits for its next batch.
    """
    operation = Ingest(store, rule, options.on_duplicate, options.filter, deadline, limits=limits)
    reader = Reader.of(rule, id_field, options.max_text, keep_fields=options.keep_fields)
    try:
        with _checkpoint(store.name, rule, id_field, options) as checkpoint:
            yield from _outcomes(operation, source, reader, store, options, check, checkpoint, ahead)
    except StoreError as error:
        how = "nothing more was read" if options.checkpoint is None else "the same call continues from its checkpoint"
        raise unfinished(error, how) from error


def backfill(
    store: Store,
    rule: ResolvedRule,
    options: RunOptions,
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
    reader = Reader.of(rule, "_id", options.max_text, keep_fields=True)
    time_fields = () if rule.time_field is None else (rule.time_field,)
    fields = (*rule.chosen.text_fields, *time_fields)
    scan: Scan | None = Scan(None, options.filter, fields, not again, slice, options.batch_size)

    try:
        while scan is not None:
            store.refresh()
            operation = Ingest(store, rule, "index", options.filter, deadline, stored=True)
            source = Source(stored_lines(store, scan, stop), options.batch_size, from_caller=False)
            yield from _outcomes(operation, source, reader, store, options, check)
            scan = None if stop() else next_pass(scan, options.filter, operation.conflicts)
        everything = again and slice is None and options.filter is None and not stop()
        if everything and rule.stored_keys is KeysState.INCOMPLETE:
            store.complete_keys()
    except StoreError as error:
        raise unfinished(error, "backfill again, for the documents that are left") from error


def _outcomes(
    operation: Ingest,
    source: Source,
    reader: Reader,
    store: Store,
    options: RunOptions,
    check: Callable[[bool], object],
    checkpoint: Checkpoint | None = None,
    ahead: int | None = None,
) -> Iterator[Sequence[Outcome]]:
    version = operation.rule.fingerprinter.scheme.version
    _log.info("%s: Scheme %s, batches of %s documents", store.name, version, options.batch_size)
    with FirstPlaces() as ids, closing(Workers(reader, options.workers)) as workers:
        ahead = read_ahead(options.workers) if ahead is None else ahead
        pipeline = Pipeline(operation, source, workers, ids, store, ahead, checkpoint, check)
        yield from pipeline.batches()
    if source.error is not None:
        raise source.error


@contextmanager
def _checkpoint(store: str, rule: ResolvedRule, id_field: str, options: RunOptions) -> Iterator[Checkpoint | None]:
    """Open the checkpoint, and check that it belongs to this run. That of the caller stays open."""
    checkpoint = options.checkpoint
    if isinstance(checkpoint, str) and is_same_file(checkpoint, store.removeprefix("sqlite:///")):
        raise InputError(f"the checkpoint {checkpoint!r} is the file of the store: name another file")
    with Checkpoint(checkpoint) if isinstance(checkpoint, str) else nullcontext(checkpoint) as opened:
        if opened is not None:
            opened.begin(_about(store, rule, id_field, options))
        yield opened


def _about(store: str, rule: ResolvedRule, id_field: str, options: RunOptions) -> dict[str, Any]:
    """Return what must be the same in a run that resumes."""
    chosen = rule.chosen
    about = {
        "store": store,
        "scheme": rule.fingerprinter.scheme.version,
        "id_field": id_field,
        "text_field": list(chosen.text_fields),
        "max_distance": rule.max_distance,
        "on_duplicate": options.on_duplicate,
        "filter": options.filter,
        "max_text": options.max_text,
        "rule": chosen.rule,
    }
    if chosen.confirm is not None:
        about |= {"confirm": chosen.confirm, "measure": chosen.measure, "numbers_agree": chosen.numbers_agree}
    if options.keep_fields:
        about |= {"keep_fields": True}
    if chosen.within is not None:
        about |= {"within": str(chosen.within), "time_field": chosen.time_field}
    return about
