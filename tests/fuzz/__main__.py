"""Try random and damaged input on every reader of bytes from outside; see scripts/fuzz."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.targets import FUZZERS

if TYPE_CHECKING:
    from collections.abc import Iterable

STEPS = 10
"""How often the progress of a fuzzer is printed."""
SECONDS = 10.0
"""Seconds of the processor that an input may take. One takes milliseconds; the first one loads the dictionary."""
WAIT = 50.0
"""Seconds that an input may take on a busy machine. A lock that is never released takes 60."""


def fuzz(name: str, numbers: Iterable[int], folder: Path, seed: int) -> list[str]:
    """Try the inputs with these numbers on a fuzzer.

    :returns: for each input that broke the law, its number and the traceback.
    """
    found: list[str] = []
    for number in numbers:
        rng = random.Random(f"{name} {seed} {number}")
        started, busy = time.monotonic(), time.process_time()
        try:
            FUZZERS[name].try_one(rng, folder)
            seconds, computed = time.monotonic() - started, time.process_time() - busy
            assert computed < SECONDS, f"it took {computed:.1f} s of the processor"
            assert seconds < WAIT, f"it took {seconds:.1f} s"
        except Exception:
            found.append(f"{name}, seed {seed}, input {number}:\n{traceback.format_exc()}")
    return found


def main() -> None:
    """Run the fuzzers that the command line names."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("fuzzers", nargs="*", metavar="FUZZER", help=f"all by default: {', '.join(FUZZERS)}")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="inputs of all fuzzers together (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other inputs (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each fuzzer (%(default)s)")
    arguments = parser.parse_args()
    names = arguments.fuzzers or list(FUZZERS)
    if unknown := set(names) - set(FUZZERS):
        parser.error(f"unknown fuzzers {', '.join(sorted(unknown))}: use {', '.join(FUZZERS)}")
    warnings.simplefilter("ignore")
    shares = sum(FUZZERS[name].share for name in names)
    broken = 0
    for name in names:
        count = max(1, arguments.inputs * FUZZERS[name].share // shares)
        last = arguments.first + count
        step = max(1, count // STEPS)
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            for first in range(arguments.first, last, step):
                end = min(first + step, last)
                found = fuzz(name, range(first, end), Path(folder), arguments.seed)
                broken += len(found)
                print("\n".join(found[:5]), end="")
                done, seconds = end - arguments.first, time.monotonic() - started
                print(f"{name}: {done:,} inputs in {seconds:,.0f} s; in all {broken} broke the law", flush=True)
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
