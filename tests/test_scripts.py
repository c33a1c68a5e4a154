"""The scripts that people run by hand start, and say what they are for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
NAMES = ["corpus", "kill-nodes", "study", *(path.name for path in sorted(SCRIPTS.glob("bench-*")))]


@pytest.mark.parametrize("name", NAMES)
def test_a_script_says_what_it_is_for(name: str) -> None:
    done = subprocess.run([sys.executable, SCRIPTS / name, "--help"], capture_output=True, text=True, timeout=60)
    if done.returncode:  # its peers are wanted to begin with
        assert done.stderr.endswith(" is not installed: pip install --group bench\n"), done.stderr
        return
    assert done.stderr == ""
    assert done.stdout.startswith("usage: ")
    assert len(done.stdout.splitlines()) > 8
