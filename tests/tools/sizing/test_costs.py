"""The times of the model, compared with those that its constants are fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash.tools.sizing.costs import MEASURED, TOO_LOW, look_up_us

if TYPE_CHECKING:
    from es_simhash.tools.sizing.model import Work


@pytest.mark.parametrize("measured", MEASURED, ids=[each[0] for each in MEASURED])
def test_a_look_up_takes_what_was_measured_within_one_and_a_half_times_except_those_of_too_low(
    measured: tuple[str, Work, int, int, float],
) -> None:
    what, look_up, batch, lucene, micro = measured
    most = 1.75 if what in TOO_LOW else 1.5
    assert micro / most <= look_up_us(look_up, lucene, batch=batch) <= micro * 1.5, what
