"""KeyChains find every text that shares enough keys, whatever its arrays are kept in."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from es_simhash import StoreError
from es_simhash.tools.dedupe.key_chains import KeyChains


def table_of(texts: list[list[int]], batch: int, **limits: int) -> KeyChains:
    table = KeyChains(**limits)
    for start in range(0, len(texts), batch):
        table.add([np.array(keys, dtype=np.uint64) for keys in texts[start : start + batch]])
    return table


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
@pytest.mark.parametrize("keys", [40, 5_000])
def test_every_text_that_shares_enough_keys_is_found(in_memory: int, keys: int) -> None:
    rng = random.Random(keys)
    texts = [rng.sample(range(keys), rng.randint(0, 12)) for _ in range(300)]
    table = table_of(texts, 37, room=4, in_memory=in_memory)
    assert len(table) == 300
    asked = [(rng.sample(range(keys), 10), rng.randint(1, 5)) for _ in range(20)]
    every = np.array([key for some, _ in asked for key in some], dtype=np.uint64)
    found = table.sharing(every, np.repeat(np.arange(20), 10), np.array([minimum for _, minimum in asked]))
    assert not found.incomplete
    assert sorted(found.keys.tolist()) == found.keys.tolist()
    pairs = set(zip(found.keys.tolist(), found.texts.tolist(), strict=True))
    assert all(int(every[key]) in texts[text] for key, text in pairs)
    for number, (some, minimum) in enumerate(asked):
        shared = {text: len(set(some) & set(theirs)) for text, theirs in enumerate(texts)}
        enough = {text for text, count in shared.items() if count >= minimum}
        here = Counter(text for key, text in pairs if key // 10 == number)
        assert enough <= here.keys()
        if minimum == 1:
            assert here == {text: shared[text] for text in enough}
        candidates = np.array(sorted(here), dtype=np.int64)
        in_common = table.in_common(candidates, np.array(some, dtype=np.uint64)).tolist()
        assert in_common == [shared[text] for text in sorted(here)]


def test_a_chain_that_is_too_long_is_said() -> None:
    table = table_of([[7]] * 9 + [[8]], 3, longest=5)
    found = table.sharing(np.array([7, 8], dtype=np.uint64), np.array([0, 1]), np.array([1, 1]))
    assert found.incomplete == {0}
    assert found.texts.tolist() == [8, 7, 6, 5, 4, 9]


def test_a_file_of_keys_has_no_name_so_the_system_removes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    chains = table_of([[1, 2], [2, 3]], 1, in_memory=0)
    mapped = Path("/proc/self/maps")
    assert not mapped.exists() or str(tmp_path) in mapped.read_text()
    assert list(tmp_path.iterdir()) == []
    assert len(chains) == 2


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system does not reserve room for files")
def test_a_full_disk_is_an_error_that_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StoreError, match=rf"keys in {tmp_path} .*No space left.*TMPDIR"):
        KeyChains(in_memory=0)
