"""What the commands print: lines, JSON lines, names of files, a progress bar, and the outcomes of documents.

Ids, texts and the reasons of a server may hold control characters, which a terminal obeys. So everything that a command
prints goes through :func:`echo` or :func:`print_json`, which escape them.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

import click
from tqdm import tqdm

from es_simhash.decide.outcome import OUTCOMES
from es_simhash.decide.result import MOVED
from es_simhash.errors import InputError, SimhashError
from es_simhash.errors import count_of as count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from es_simhash import Outcome

    T = TypeVar("T")

# Control characters (C0, DEL, C1), line and paragraph separators, the characters that change the direction of the text
# around them (Unicode, UAX #9; "Trojan Source", CVE-2021-42574), and lone surrogates, which UTF-8 does not have.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text for one line of a terminal: control characters are escaped, such as ``\\x1b`` or ``\\u202e``."""
    return _CONTROLS.sub(_escaped, text)


def _escaped(control: re.Match[str]) -> str:
    code = ord(control[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def echo(text: str, *, err: bool = False) -> None:
    """Print one line. Control characters are escaped.

    :param err: print on standard error.
    """
    with tqdm.external_write_mode(nolock=True):  # the bar of a command gives way to the line
        click.echo(printable(text), err=err)


def print_json(value: Any) -> None:
    """Print one line of JSON on standard output, always in UTF-8. Control characters have their JSON escapes."""
    with tqdm.external_write_mode(nolock=True):
        click.echo(json_line(value).encode())


def json_line(value: Any) -> str:
    """Return a value as JSON in one line. Control characters have their JSON escapes."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)  # it escapes C0; the others occur in strings only
    return _CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", line)


def not_compared(pairs: int) -> str:
    """Return the line about pairs of documents that a grouping left out."""
    verb = "was" if pairs == 1 else "were"
    return f"about {count_of(pairs, 'pair')} {verb} not compared: very many documents share keys or are near"


def without_text(documents: int) -> str:
    """Return the line about documents whose text is empty."""
    return f"{documents:,} without a text, such as pages of scripts alone: never taken for copies"


def decimals(similarity: float) -> str:
    """Return a similarity with three decimals, rounded down: only 1 is printed as ``1.000``.

    >>> decimals(0.96385), decimals(0.9999), decimals(0.29)
    ('0.963', '0.999', '0.290')
    """
    return f"{int(1000 * similarity + 1e-6) / 1000:.3f}"


def nearness(similarity: float | None, distance: int | None) -> str:
    """Return how near two documents are: the similarity where texts decide, else the distance in bits."""
    if similarity is not None:
        return f", similarity {decimals(similarity)}"
    return "" if distance is None else f", {count_of(distance, 'bit')}"


def display(path: str) -> str:
    """Return the name of a file for messages: ``stdin`` for ``-``."""
    return "stdin" if path == "-" else click.format_filename(path)


def progress_bar(
    items: Iterable[Any] | None = None, *, total: int | None = None, unit: str = " documents"
) -> tqdm[Any]:
    """Return a progress bar on standard error. It shows nothing if that is no terminal.

    :param items: iterate over the bar, and it counts them. Without items, its ``update`` moves it.
    :param total: in units; None if it is not known.
    """
    return tqdm(items, total=total, unit=unit, unit_scale=True, leave=False, disable=None)


FIRST = 100
"""An input is refused if none of so many first documents is usable."""

# --- outcomes of documents -------------------------------------------------------------------------------

_COUNT_LABELS = {
    "kept": "kept as stored",
    "exact_duplicate": "exact duplicates",
    "near_duplicate": "near-duplicates",
}
"""Of an outcome that is counted by another name."""
_OUTCOME_LABELS = {
    "exact_duplicate": "exact duplicate of",
    "near_duplicate": "near-duplicate of",
    "updated": "updated, now a duplicate of",
}


class OutcomePrinter:
    """Prints outcomes, and counts them.

    As JSON, every outcome is a line. As text, only duplicates are printed, and on standard error the documents that
    were rejected or failed.

    :param store: the address that is named with the counts.
    :param quiet: print only the documents that were rejected or failed, and the counts.
    :param contradictions: print what contradicts a document, too.
    """

    def __init__(self, store: str, *, as_json: bool, quiet: bool, contradictions: bool = False) -> None:
        self.counts = Counter(dict.fromkeys(OUTCOMES, 0))
        self._without_fingerprint = 0
        self._store = store
        self._as_json = as_json
        self._quiet, self._contradictions = quiet, contradictions
        self._contradicting = self._blank = 0
        self._started = time.monotonic()

    @property
    def not_taken(self) -> int:
        """How many documents were rejected or have failed."""
        return self.counts["rejected"] + self.counts["failed"]

    def show_all(
        self, outcomes: Generator[Outcome, None, None], note: Callable[[Outcome], object] | None, *, check: bool
    ) -> None:
        """Print the outcomes of a run, then the counts. They are also printed before an error is raised.

        :param outcomes: is closed at the end.
        :param note: is called with each outcome, before it is printed.
        :param check: the run begins at the start of its input, which may be a wrong file.
        """
        with closing(outcomes):
            try:
                for outcome in checked_start(outcomes, _unusable) if check else outcomes:
                    if note is not None:
                        note(outcome)
                    self._show(outcome)
            except (SimhashError, KeyboardInterrupt):
                if self.counts.total():  # without any counts the error message is enough
                    self._show_counts()
                raise
            self._show_counts()

    def _show(self, outcome: Outcome) -> None:
        """Count one outcome, and print it."""
        self.counts[outcome.outcome] += 1
        self._without_fingerprint += outcome.stored and not outcome.fingerprinted
        self._contradicting += bool(outcome.contradicts)
        self._blank += outcome.blank
        if self._as_json and not self._quiet:
            print_json(outcome.to_dict())
        elif outcome.reason is not None:
            echo(f"{outcome.outcome}: {outcome.reason}", err=True)
        elif not self._quiet and outcome.duplicate_of is not None and outcome.outcome not in ("unchanged", "kept"):
            exact = outcome.outcome == "exact_duplicate"
            near = "" if exact else nearness(outcome.similarity, outcome.distance)
            of = f"a copy of {outcome.duplicate_of}" if exact and outcome.distance is None else outcome.duplicate_of
            skipped = "" if outcome.stored else "  (not stored)"
            echo(f"{outcome.id}  {_OUTCOME_LABELS[outcome.outcome]} {of}{near}{skipped}")
        if self._contradictions and not self._as_json:
            for each in outcome.contradicts:
                found = "; ".join(one.between(each.id, str(outcome.id)) for one in each.differences)
                echo(f"{outcome.id}  contradicts {each.id}{nearness(each.similarity, None)}; {found}")
        if outcome.pin_lifted and not self._as_json:
            echo(f"{outcome.id}  has another text: its pin does not hold any more", err=True)

    def _show_counts(self) -> None:
        """Print how many documents had each outcome."""
        total, without_fingerprint = self.counts.total(), self._without_fingerprint
        if self._as_json:
            others = {"contradicting": self._contradicting, "blank": self._blank}
            print_json({"total": total, **self.counts, "without_fingerprint": without_fingerprint, **others})
            return
        labelled = [(_COUNT_LABELS.get(name, name), count) for name, count in self.counts.items()]
        echo_counts(labelled, total, time.monotonic() - self._started, store=self._store)
        if self._contradicting:
            echo(f"{self._contradicting:,} similar to others that they contradict, as by another number")
        if self._blank:
            echo(without_text(self._blank))
        if without_fingerprint:
            echo(
                f"{without_fingerprint:,} stored without a fingerprint (text too short): the rule "
                "fingerprint finds only exact duplicates of them"
            )


def _unusable(outcome: Outcome) -> str | None:
    """Return why a document cannot be used. One that a backfill beside this one has done is no bad document."""
    return None if outcome.reason == MOVED else outcome.reason


def checked_start(items: Iterable[T], problem: Callable[[T], str | None]) -> Iterator[T]:
    """Yield items, unless the first ones are all bad: then it is a wrong file or field, and one error says so.

    :param problem: returns why an item is bad; None if it is not.
    :raises InputError: if all of the first 100 are bad.
    """
    items = iter(items)
    held: list[T] = []
    for item in items:
        held.append(item)
        if problem(item) is None:
            break
        if len(held) == FIRST:
            raise InputError(f"stopped, because none of the first {FIRST} documents can be used. {problem(held[0])}")
    yield from held
    yield from items


def echo_counts(
    labelled: Iterable[tuple[str, int]], done: int, seconds: float, *, store: str = "", err: bool = False
) -> None:
    """Print how many documents were done, how fast, and the counts that are not 0.

    :param labelled: pairs (label, count).
    :param store: the address of the store that was written.
    :param err: print on standard error.
    """
    rate = f", {done / seconds:,.0f} a second" if seconds > 1 else ""
    where = f"{store}: " if store else ""
    echo(f"{where}{count_of(done, 'document')} in {seconds:.1f} s{rate}", err=err)
    for label, count in labelled:
        if count:
            echo(f"  {label:<17}{count:>12,}", err=err)


# --- log lines ---------------------------------------------------------------------------------------------


class LineFormatter(logging.Formatter):
    """Escapes control characters. The traceback of an error has lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # its name in logging
        return printable(super().formatMessage(record))


def show_log_lines() -> None:
    """Escape control characters in the warnings that Python prints on standard error."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(LineFormatter())


def show_details() -> None:
    """Also print what the library and the clients of the servers log for information."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
