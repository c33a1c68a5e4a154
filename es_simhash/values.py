"""The decorator of values that are made for each document: cheap to make, and frozen for the type checker.

A frozen dataclass sets each of its fields by a call. Measured on Python 3.11: an Outcome took 2.3 µs, and takes 0.4 µs
as such a value. An ingest makes some ten values for each document.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def value(cls: type[T]) -> type[T]:
        """Make a class a dataclass with slots. The type checker refuses to change its fields."""

else:
    value = dataclass(slots=True, unsafe_hash=True)
