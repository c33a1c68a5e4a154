"""mypy --strict accepts the Python code of README.md and docs/, so a reader with types can start from it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.test_readme import PAGES, ROOT, blocks_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_mypy_accepts_the_code_of_the_pages(tmp_path: Path) -> None:
    files = []
    for page in PAGES:
        code = "".join(block for language, block in blocks_of(page) if language == "python")
        if code:
            files.append(tmp_path / f"page_{len(files)}_{page.stem.replace('-', '_').lower()}.py")
            files[-1].write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
