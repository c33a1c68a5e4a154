"""What every part gets: its size, the server, the page, other libraries; and how it measures: by turns."""

from __future__ import annotations

import gc
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType

Values = dict[str, list[float]]
"""By the name of what is measured, its value in each round."""
NONE = float("nan")
T = TypeVar("T")


@dataclass
class Bench:
    """What a part gets.

    :param count: documents, items or texts.
    :param rounds: how often each contender has its turn.
    :param folder: an empty folder for files, which is removed at the end.
    :param server: a Server; None if there is none.
    :param texts: a file of JSON lines with texts; None for sentences of newspapers.
    """

    count: int
    rounds: int
    folder: Path
    page: Page
    server: Any = None
    texts: Path | None = None

    def peer(self, module: str, package: str | None = None) -> ModuleType | None:
        """Return another library, or None with a line on the page: it is not installed, or cannot be loaded."""
        package = package or module
        try:
            return import_module(module)
        except ModuleNotFoundError:
            self.page.left_out(package, "it is not installed: pip install --group bench")
        except Exception as error:
            self.page.left_out(package, f"it cannot be loaded: {error}")
        return None


# --- measure --------------------------------------------------------------------------------------------------------


def by_turns(tasks: Mapping[str, Callable[[int], T]], rounds: int) -> dict[str, list[T]]:
    """Call each task once in each round, with the number of the round. Every second round is in reverse order.

    What slows the machine for a while slows all tasks, so the ratios stay.
    """
    results: dict[str, list[T]] = {name: [] for name in tasks}
    for number in range(rounds):
        for name, task in list(tasks.items())[:: -1 if number % 2 else 1]:
            gc.collect()  # an index of another library may have millions of objects
            results[name].append(task(number))
    return results


def microseconds(call: Callable[[Any], object], given: Sequence[Any], count: int | None = None) -> float:
    """Return the processor time of a call for each of ``count`` items; without it, of a call with each item."""
    began = time.process_time()
    if count is None:
        for item in given:
            call(item)
    else:
        call(given)
    return 1e6 * (time.process_time() - began) / (count or len(given))


def processor_seconds(who: int = resource.RUSAGE_CHILDREN) -> float:
    """Return the processor time of the processes that have ended, or of this one."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def megabytes(what: str, process: int | str = "self") -> float:
    """Return the memory of a process: ``VmRSS`` now, or ``VmHWM`` at most. Only Linux has it in a file."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return NONE
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(what)), NONE)


class Program(NamedTuple):
    """What a program took: processor time and wall time in seconds, memory at most in MB; and what it printed."""

    seconds: float
    wall: float
    peak: float
    output: str


def program(*command: str) -> Program:
    """Run a program of Python to its end."""
    began, spent, peak = time.perf_counter(), processor_seconds(), NONE
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output, tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen([sys.executable, *command], stdout=output, stderr=errors) as process:
            while process.poll() is None:
                now = megabytes("VmHWM", process.pid)
                peak = now if now == now else peak  # it is nothing while the program ends
                time.sleep(0.01)
        wall = time.perf_counter() - began
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{errors.read()}")
        return Program(processor_seconds() - spent, wall, peak, output.read())


# --- print ----------------------------------------------------------------------------------------------------------


def ratio(values: list[float], base: list[float]) -> float:
    """Return the median of the ratios of each round. What slows a whole round has no effect on it."""
    return median(value / other for value, other in zip(values, base, strict=True) if other)


def median(values: Iterable[float]) -> float:
    """Return the median of what could be measured."""
    return statistics.median([value for value in values if value == value] or [NONE])


def shown(value: object) -> str:
    """Return a number with three digits, the median of several, or a text as it is."""
    if isinstance(value, list):
        value = median(value)
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return "" if value != value else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Page:
    """Prints Markdown as it comes, and the aims at the end."""

    def __init__(self, header: dict[str, str]) -> None:
        self._aims: list[list[str]] = []
        self._left_out: dict[str, str] = {}
        print("# Benchmark\n")
        for name, value in header.items():
            print(f"- {name}: {value}")

    def heading(self, title: str) -> None:
        print(f"\n## {title}", flush=True)

    def table(self, title: str, rows: Mapping[str, Mapping[str, object]]) -> None:
        """Print a row for each contender.

        :param rows: by contender, what is known of it by the heading of the column.
        """
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        lines = [["", *columns], ["---", *["---:"] * len(columns)]]
        lines += [[name, *(shown(row.get(column, "")) for column in columns)] for name, row in rows.items()]
        print(f"\n{title}\n" if title else "")
        print("\n".join(f"| {' | '.join(cells)} |" for cells in lines), flush=True)

    def beside(self, title: str, columns: Mapping[str, Values], floors: Mapping[str, str]) -> None:
        """Print a row for each step, in each column its value and, in brackets, how many times its floor it takes.

        :param floors: by step, the step that is its floor.
        """
        rows: dict[str, dict[str, str]] = {name: {} for values in columns.values() for name in values}
        for column, values in columns.items():
            for name, own in values.items():
                floor = values.get(floors.get(name, ""))
                rows[name][column] = shown(own) + (f" ({shown(ratio(own, floor))})" if floor else "")
        self.table(title, rows)

    def aim(self, what: str, figure: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
        """Keep an aim for the end. A figure that could not be measured is no aim."""
        is_met = figure <= at_most if at_most is not None else figure >= (at_least or 0)
        limit = f"at least {at_least}" if at_most is None else f"at most {at_most}"
        if figure == figure:
            self._aims.append([what, shown(figure), limit, "yes" if is_met else "**no**"])

    def left_out(self, what: str, why: str) -> None:
        self._left_out[what] = why

    def end(self) -> None:
        if self._aims:
            self.heading("Aims")
            heading = ["figure", "should be", "reached"]
            self.table("", {what: dict(zip(heading, cells, strict=True)) for what, *cells in self._aims})
        if self._left_out:
            self.heading("Left out")
            print()
            for what, why in self._left_out.items():
                print(f"- {what}: {why}")
