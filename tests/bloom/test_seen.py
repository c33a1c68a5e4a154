"""Laws of the seen items of a user: every answer equals that of the reference, which is made of plain sets."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_simhash.bloom.seen import Seen, SeenConfig, user_id
from es_simhash.bloom.sizing import Config
from es_simhash.errors import InputError

UNIVERSE = [*range(24), *"一二三四五六", "a b", b"bytes"]
PERIOD = 10

items = st.lists(st.sampled_from(UNIVERSE), max_size=8)
moves = st.lists(
    st.tuples(st.sampled_from(["add", "add", "add", "forget", "forget", "rotate"]), items, st.integers(0, 25)),
    max_size=25,
)
configs = st.builds(
    SeenConfig,
    capacity=st.integers(1, 10),
    error_rate=st.just(1e-8),  # so that no answer differs from the reference by chance
    generations=st.integers(2, 4),
    period=st.sampled_from([0, PERIOD]),
)


class Reference:
    """The reference of Seen: a list of sets, each with the time when it was started."""

    def __init__(self, config: SeenConfig) -> None:
        self.config = config
        self.generations: list[tuple[int, set[Any]]] = []
        self.forgotten: dict[Any, int] = {}

    def expire(self, now: int) -> None:
        """Drop what a period ends, as whoever reads it from a store does."""
        if self.config.period:
            long_ago = now - self.config.generations * self.config.period
            self.generations = [each for each in self.generations if each[0] > long_ago]
            oldest = self.generations[0][0] if self.generations else now + 1
            self.forgotten = {item: at for item, at in self.forgotten.items() if at >= oldest}

    def seen(self, item: Any) -> bool:
        return item not in self.forgotten and any(item in held for _, held in self.generations)

    def add(self, items: list[Any], now: int) -> int:
        if not items:
            return 0
        if not self.generations or (self.config.period and now - self.generations[-1][0] >= self.config.period):
            self.rotate([], now)
        new = sum(not self.seen(item) for item in set(items))
        self.generations[-1][1].update(items)
        self.forgotten = {item: started for item, started in self.forgotten.items() if item not in items}
        return new

    def forget(self, items: list[Any], now: int) -> int:
        found = {item for item in items if self.seen(item)}
        if found:
            self.forgotten |= dict.fromkeys(found, self.generations[-1][0])
        return len(found)

    def rotate(self, items: list[Any], now: int) -> None:
        started = max(now, self.generations[-1][0] + 1) if self.generations else max(now, 1)
        self.generations = [*self.generations, (started, set())][-self.config.generations :]
        self.forgotten = {item: at for item, at in self.forgotten.items() if at >= self.generations[0][0]}


def play(seen: Seen, verb: str, items: list[Any], now: int) -> int | None:
    arguments: dict[str, tuple[Any, ...]] = {"add": (items, now), "forget": (items,), "rotate": (now,)}
    return getattr(seen, verb)(*arguments[verb])


def stored(seen: Seen) -> tuple[Any, ...]:
    """Return what a store holds of it."""
    return [each.to_bytes() for each in seen.filters], dict(seen.forgotten), seen.newest


def read_again(seen: Seen, now: int) -> Seen:
    return Seen.from_json(seen.config, json.loads(json.dumps(seen.to_json())), "u", now)


def has(seen: Seen, *items: Any) -> list[bool]:
    answer: list[bool] = seen.might_contain(items).tolist()
    return answer


# --- the reference -----------------------------------------------------------------------------------------


@given(config=configs, moves=moves, is_stored=st.booleans())
@example(  # the generation that starts with an add drops the oldest one before the add counts what is new
    config=SeenConfig(capacity=1, error_rate=1e-8, generations=2, period=PERIOD),
    moves=[("add", [1], 0), ("add", [0], 11), ("add", [1], 10)],
    is_stored=False,
)
@example(
    config=SeenConfig(error_rate=1e-8),
    moves=[("add", ["a"], 1), ("forget", ["a"], 0), ("add", ["a"], 0), ("forget", ["b"], 0)],
    is_stored=True,
)
@settings(max_examples=150, derandomize=True)
def test_every_answer_equals_the_reference_and_changed_says_if_there_is_something_to_store(
    config: SeenConfig, moves: list[tuple[str, list[Any], int]], is_stored: bool
) -> None:
    seen, reference, now = Seen(config), Reference(config), 0
    for verb, items, seconds in moves:
        now += seconds
        if is_stored:
            seen = read_again(seen, now)
            reference.expire(now)
        before = stored(seen)
        assert play(seen, verb, items, now) == getattr(reference, verb)(items, now)
        assert seen.changed == (stored(seen) != before) or not is_stored
        assert has(seen, *UNIVERSE) == [reference.seen(item) for item in UNIVERSE]
        assert [each.started for each in seen.generations()] == [started for started, _ in reference.generations]
        assert sorted(seen.forgotten.values()) == sorted(reference.forgotten.values())


@given(moves=moves, rate=st.sampled_from([0.01, 0.5, 0.99]), generations=st.integers(2, 4))
@settings(max_examples=150)
def test_not_seen_is_never_wrong_at_any_error_rate(
    moves: list[tuple[str, list[Any], int]], rate: float, generations: int
) -> None:
    config = SeenConfig(capacity=1, error_rate=rate, generations=generations, period=PERIOD)
    seen, reference, now = Seen(config), Reference(config), 0
    for verb, items, seconds in moves:
        now += seconds
        play(seen, verb, items, now)
        getattr(reference, verb)(items, now)
        for item, found in zip(UNIVERSE, has(seen, *UNIVERSE), strict=True):
            assert found or not reference.seen(item)
            assert not (found and item in reference.forgotten)


@pytest.mark.parametrize("generations", [1, 2, 5])
@pytest.mark.parametrize("times", [1, 3])
def test_all_generations_together_keep_to_the_error_rate(generations: int, times: int) -> None:
    seen = Seen(SeenConfig(capacity=300, error_rate=0.02, generations=generations))
    for generation in range(generations):
        seen.rotate(generation + 1)
        seen.add([f"added {generation}-{n}" for n in range(300 * times)], generation + 1)
    wrong = seen.might_contain([f"never added {n}" for n in range(20_000)]).mean()
    assert 0.002 < wrong < 0.026


# --- time --------------------------------------------------------------------------------------------------


@given(
    generations=st.integers(2, 5), adds=st.lists(st.tuples(st.integers(0, 3 * PERIOD), items), min_size=1, max_size=30)
)
@example(generations=2, adds=[(1, ["a"]), (PERIOD - 1, [1]), (PERIOD, [2])])
def test_an_item_is_remembered_for_n_minus_1_periods_after_it_was_last_added(
    generations: int, adds: list[tuple[int, list[Any]]]
) -> None:
    seen = Seen(SeenConfig(capacity=10, error_rate=1e-8, generations=generations, period=PERIOD))
    last: dict[Any, int] = {}
    for now, (_, items) in zip(accumulate(seconds for seconds, _ in adds), adds, strict=True):
        seen.add(items, now)
        last |= dict.fromkeys(items, now)
        young = [item for item, added in last.items() if now - added <= (generations - 1) * PERIOD]
        assert all(has(seen, *young))


@pytest.mark.parametrize("clock", [7, 5, -1])
def test_generations_keep_their_order_if_the_clock_goes_back(clock: int) -> None:
    seen = Seen(SeenConfig(generations=3))
    for now in (7, clock, clock):
        seen.rotate(now)
    assert [each.started for each in seen.generations()] == [7, 8, 9]


# --- configuration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"capacity": 0}, "capacity.* from 1 to"),
        ({"error_rate": 1.5, "generations": 4}, "error_rate .* to below 1"),
        ({"error_rate": 3e-9, "generations": 4}, "error_rate must be a number from 1e-09 to below 1, and is 7.5"),
        ({"capacity": 400_000_000, "generations": 100}, "capacity.* from 1 to"),
        ({"generations": 0}, "generations must be a whole number from 1 to 100, and is 0"),
        ({"generations": 2.0}, "generations .*is 2.0"),
        ({"period": -1, "generations": 2}, "period must be a whole number from 0 .*is -1"),
        ({"period": 60}, "use 2 generations or more"),
    ],
)
def test_a_number_out_of_its_range_is_refused_with_the_range(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        SeenConfig(**wrong)


def test_the_limits_of_the_ranges_are_in_them() -> None:
    for right in ({"capacity": 1}, {"error_rate": 4e-9, "generations": 4}, {"generations": 100, "period": 1}):
        seen = Seen(SeenConfig(**right))
        seen.add(["a"], 1)
        assert has(seen, "a") == [True]


def test_a_configuration_becomes_the_same_again_from_json_also_with_numpys_numbers() -> None:
    numbers: dict[str, Any] = {"capacity": np.int64(5), "error_rate": np.float32(0.25)}
    config = SeenConfig(**numbers, generations=3, period=60)
    assert SeenConfig(**json.loads(json.dumps(vars(config)))) == config


OTHERS = [SeenConfig(capacity=999), SeenConfig(error_rate=0.02), SeenConfig(generations=2)]


@pytest.mark.parametrize("other", OTHERS)
def test_a_filter_of_another_configuration_keeps_it(other: SeenConfig) -> None:
    theirs = Seen(other)
    theirs.add(["a"], 1)
    seen = Seen(SeenConfig(), theirs.filters)
    assert (has(seen, "a", "b"), seen.add(["b"], 2), has(seen, "a", "b")) == ([True, False], 1, [True, True])
    assert [filter.config for filter in seen.filters] == [Config(other.capacity, other.error_rate / other.generations)]


def test_a_rotation_moves_a_user_to_another_configuration() -> None:
    theirs = Seen(OTHERS[0])
    theirs.add(["a"], 1)
    seen = Seen(SeenConfig(generations=2), theirs.filters)
    seen.rotate(2)
    assert (seen.add(["b"], 3), has(seen, "a", "b")) == (1, [True, True])


# --- users -------------------------------------------------------------------------------------------------


def test_a_user_is_a_string_or_the_digits_of_an_integer() -> None:
    for user in ("安 ann/1", 7, "7", -1, 1 << 80, "号" * 170 + "ab"):
        assert user_id(user) == str(user)
