"""The times of the model, compared with those that its constants are fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash.sizing.costs import MEASURED, look_up_us

if TYPE_CHECKING:
    from es_simhash.sizing.model import Work


@pytest.mark.parametrize("measured", MEASURED, ids=[each[0] for each in MEASURED])
def test_a_look_up_takes_what_was_measured_within_one_and_a_half_times(
    measured: tuple[str, Work, int, int, float],
) -> None:
    what, look_up, batch, lucene, micro = measured
    assert micro / 1.5 <= look_up_us(look_up, lucene, batch=batch) <= micro * 1.5, what
