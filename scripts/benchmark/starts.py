"""How long a program takes to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import by_turns, program, ratio
from texts import texts, write

if TYPE_CHECKING:
    from bench import Bench

FLOOR = "`python -c pass`"


def starts(bench: Bench) -> None:
    """Start Python alone, and the command."""
    file = bench.folder / "four.jsonl"
    write(file, ({"id": number, "text": text} for number, text in enumerate(texts(bench, 4, 90))))
    commands = {
        FLOOR: ("-c", "pass"),
        "`import es_simhash`": ("-c", "import es_simhash"),
        "`es-simhash --help`": ("-m", "es_simhash", "--help"),
        "`es-simhash dedupe` of four lines": ("-m", "es_simhash", "dedupe", str(file)),
    }
    tasks = {name: lambda _, command=command: program(*command) for name, command in commands.items()}
    runs = by_turns(tasks, bench.rounds)
    spent = {name: [1000 * run.seconds for run in own] for name, own in runs.items()}
    rows = {
        name: {
            "ms of the processor": spent[name],
            "× Python alone": ratio(spent[name], spent[FLOOR]),
            "MB at most": [run.peak for run in own],
        }
        for name, own in runs.items()
    }
    bench.page.table("From the start of the program to its end", rows)
