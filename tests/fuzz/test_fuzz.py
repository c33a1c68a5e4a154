"""A short run of each fuzzer. ``scripts/fuzz`` is the long one."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fuzz.targets import FUZZERS

INPUTS, FIRST = int(os.environ.get("FUZZ_INPUTS", "1500")), int(os.environ.get("FUZZ_FIRST", "0"))
SECONDS = 10.0
"""Seconds of the processor that an input may take. One takes milliseconds; the first one loads the dictionary."""
WAIT = 50.0
"""Seconds that an input may take on a busy machine. A lock that is never released takes 60."""


@pytest.mark.parametrize("name", FUZZERS)
def test_hostile_input_gives_a_result_or_an_error_of_one_line(name: str, tmp_path: Path) -> None:
    try_one, share = FUZZERS[name]
    count = INPUTS * share // 1_000_000
    for number in range(FIRST, FIRST + max(1, count)):
        started, busy = time.monotonic(), time.process_time()
        try:
            with TemporaryDirectory(dir=tmp_path) as folder:
                try_one(random.Random(f"{name} {number}"), Path(folder))
        except Exception as error:
            raise AssertionError(f"input {number} of {name}") from error
        assert time.process_time() - busy < SECONDS, f"input {number} of {name}"
        assert time.monotonic() - started < WAIT, f"input {number} of {name}"
