"""What the parts report: tables of measurements, aims, and what was left out."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

Values = dict[str, list[float]]
"""By the name of what is measured, its value in each round."""


def median(values: list[float]) -> float:
    return statistics.median(values) if values else float("nan")


def ratio(values: list[float], base: list[float]) -> float:
    """Return the median of the ratios of each round. What slows a whole round has no effect on it."""
    return median([value / other for value, other in zip(values, base, strict=True) if other])


def number(value: float) -> str:
    """Return a number with three or more digits."""
    if value != value:  # not a number
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_spread(values: list[float]) -> str:
    """Return the median, and the smallest and the largest value."""
    if len(values) < 2:
        return number(median(values))
    return f"{number(median(values))} ({number(min(values))} – {number(max(values))})"


@dataclass
class Table:
    """Several contenders at one task. Each has a value of each round, and perhaps other facts.

    :param unit: of the values.
    :param base: the contender whose ratio is 1.
    :param facts: by contender, what else is known of it; a column for each name.
    """

    title: str
    unit: str
    values: Values
    base: str
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def ratio(self, name: str, base: str | None = None) -> float:
        """Return the ratio of two contenders; not a number if one of them is missing."""
        base = base or self.base
        if not self.values.get(name) or not self.values.get(base):
            return float("nan")
        return ratio(self.values[name], self.values[base])

    def lines(self) -> list[list[str]]:
        names = list(dict.fromkeys(name for facts in self.facts.values() for name in facts))
        lines = [["", f"× {self.base}", f"{self.unit} (min – max)", *names]]
        for name, values in self.values.items():
            facts = self.facts.get(name, {})
            cells = [text(facts.get(fact, "")) for fact in names]
            lines.append([name, number(self.ratio(name)), with_spread(values), *cells])
        return lines


@dataclass
class Matrix:
    """The same contenders at several tasks: a row for each task.

    :param values: by task, the values of each contender. The first contender has the ratio 1.
    """

    title: str
    unit: str
    values: dict[str, Values]

    def lines(self) -> list[list[str]]:
        contenders = list(next(iter(self.values.values())))
        first = contenders[0]
        lines = [["", f"{first}, {self.unit}", *(f"{name}, × {first}" for name in contenders[1:])]]
        for task, values in self.values.items():
            others = [
                f"{number(ratio(values[name], values[first]))} ({with_spread(values[name])})" for name in contenders[1:]
            ]
            lines.append([task, with_spread(values[first]), *others])
        return lines


@dataclass
class Facts:
    """Figures that are not measured several times: rows of cells below a row of headings."""

    title: str
    rows: list[list[Any]]

    def lines(self) -> list[list[str]]:
        return [[text(cell) for cell in row] for row in self.rows]


@dataclass
class Aim:
    """A figure that a measurement should reach.

    :param limit: the smallest or, if ``at_most``, the largest figure that reaches it.
    """

    what: str
    figure: float
    limit: float
    at_most: bool

    @property
    def met(self) -> bool:
        return self.figure <= self.limit if self.at_most else self.figure >= self.limit

    def cells(self) -> list[str]:
        wanted = f"{'at most' if self.at_most else 'at least'} {number(self.limit)}"
        return [self.what, number(self.figure), wanted, "yes" if self.met else "**no**"]


class Report:
    """Prints Markdown as it comes, and keeps everything for the JSON file."""

    def __init__(self, header: dict[str, Any], file: Path | None) -> None:
        self._file = file
        self._content: dict[str, Any] = {"header": header, "tables": [], "aims": [], "left_out": []}
        self._aims: list[Aim] = []
        print("# Benchmark\n")
        for name, value in header.items():
            print(f"- {name}: {value}")
        self._save()

    def heading(self, part: str, what: str) -> None:
        print(f"\n## {part}: {what}", flush=True)
        self._part = part

    def add(self, table: Table | Matrix | Facts) -> None:
        print(f"\n{table.title}\n\n{markdown(table.lines())}", flush=True)
        self._content["tables"].append({"part": self._part, **asdict(table)})
        self._save()

    def aim(self, what: str, figure: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
        """Keep an aim for the end. A figure that could not be measured is no aim."""
        limit = at_most if at_least is None else at_least
        assert limit is not None
        if figure == figure:
            self._aims.append(Aim(what, figure, limit, at_least is None))
            self._content["aims"].append({"part": self._part, **asdict(self._aims[-1]), "met": self._aims[-1].met})
            self._save()

    def left_out(self, what: str, why: str) -> None:
        line = f"{what} is left out: {why}"
        if line not in self._content["left_out"]:
            self._content["left_out"].append(line)
            print(f"\n{line}", flush=True)

    def end(self) -> None:
        if self._aims:
            print("\n## Aims\n")
            print(markdown([["aim", "figure", "should be", "reached"], *(aim.cells() for aim in self._aims)]))
        if self._content["left_out"]:
            print("\n## Left out\n")
            for line in self._content["left_out"]:
                print(f"- {line}")
        self._save()

    def _save(self) -> None:
        if self._file:
            self._file.write_text(json.dumps(self._content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def text(value: Any) -> str:
    return number(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def markdown(lines: list[list[str]]) -> str:
    heading, *rows = lines
    rule = ["---", *["---:"] * (len(heading) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heading, rule, *rows))
