"""The searches for Probes with different times find each document that one of the Probes asks for."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from es_simhash.contract import Probe
from es_simhash.stores.elasticsearch.times import Ranges, by_times

times = st.tuples(st.integers(-5, 60), st.integers(0, 30)).map(lambda pair: (pair[0], sum(pair)))


def holds(clause: dict[str, Any] | None, time: int) -> bool:
    if clause is None or "match_none" in clause:
        return False
    limits = clause["range"]["date"]
    return bool(limits.get("gte", time) <= time < limits.get("lt", time + 1))


@given(every=st.lists(st.none() | times, max_size=12), nanos=st.booleans(), time=st.integers(-6, 100))
def test_what_is_not_in_the_times_of_all_probes_is_searched_apart(
    every: list[tuple[int, int] | None], nanos: bool, time: int
) -> None:
    probes = [Probe(number, None, (), each) for number, each in enumerate(every)]
    lists = by_times(probes)
    assert sorted(probe.fingerprint or 0 for some in lists for probe in some) == list(range(len(probes)))
    for some in lists:
        asked = [probe.times for probe in some if probe.times is not None]
        assert len(asked) in (0, len(some))
        if not asked or (nanos and time < 0):  # no document has such a time
            continue
        ranges = Ranges("date", nanos)
        common, others = ranges.split(asked)
        inside = [first <= time <= last for first, last in asked]
        assert holds(common, time) == all(inside)
        assert holds(ranges.outer(asked), time) == any(inside)
        assert any(holds(other, time) for other in others) == (any(inside) and not all(inside))
