"""The tests. The folders are those of the package."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The repository."""
