"""The columns of a fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.stores.stored_row import LONGS

if TYPE_CHECKING:
    from collections.abc import Sequence


def long_columns(bits: int) -> tuple[str, ...]:
    """Return the columns that hold a fingerprint as signed longs of 64 bits, highest first."""
    return LONGS[: bits // 64]


def are_integers(columns: Sequence[str]) -> str:
    """Return the condition that columns hold integers. Another program may have written anything."""
    return " AND ".join(f"typeof({column}) = 'integer'" for column in columns)
