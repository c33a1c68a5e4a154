"""A short run of each fuzzer. ``scripts/fuzz`` is the long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fuzz.__main__ import fuzz
from tests.fuzz.targets import FUZZERS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", FUZZERS)
def test_hostile_input_gives_a_result_or_an_error_of_one_line(name: str, tmp_path: Path) -> None:
    share = FUZZERS[name].share
    assert fuzz(name, range(max(50, share // 1_000)), tmp_path, seed=0) == []
