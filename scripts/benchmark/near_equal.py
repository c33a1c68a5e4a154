"""Very many documents that are near each other: the time and the memory of an ingest, and other libraries beside it."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench import in_own_process, peak_megabytes
from copies import near_equal_lines
from report import Facts, draw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench import Bench

WARNING = "暴雨预警城区道路积水居民转移学校停课交通部门提醒市民注意安全气象降雨预计"
PAGE = "".join(random.Random(1).choices(WARNING, k=300))
FEW = WARNING + "河道水库山体地铁机场航班"
WORDS = [FEW[start : start + 2] for start in range(0, len(FEW), 2)]
PHRASES = ["".join(random.Random(number).choices(WARNING + FEW, k=12)) for number in range(14_000)]
HAN = [chr(code) for code in range(0x4E00, 0x9000)]
RUNS: list[tuple[str, float | None]] = [
    ("calm", None),
    ("one", None),
    ("copies", None),
    ("calm", 0.8),
    ("template", 0.8),
    ("number", 0.8),
    ("phrases", 0.8),
    ("words", None),
    ("words", 0.8),
]
WHAT = {
    "calm": "unrelated documents",
    "one": "one fingerprint, all texts different",
    "copies": "one text",
    "template": "pages of one template",
    "number": "one notice with another number each",
    "phrases": "five of 14,000 phrases, 5 % copies",
    "words": f"50 words out of {len(WORDS)}",
}
PARTS, SMALLEST = 10, 1_000
"""Parts of the documents whose times are compared, and the documents of the smallest one."""


def near_equal(bench: Bench) -> None:
    """Remove the copies of a file of near-equal lines, by ``es-simhash dedupe`` and by other libraries.

    Then ingest each kind of documents into a store of its own. A part that takes longer than the first is a rise.
    """
    near_equal_lines(bench)
    headings = ["documents", "s", "s of the processor", "last part by the first", "most by the first", "peak MB"]
    rows: list[list[Any]] = [["", *headings, "left out", "outcomes"]]
    curves = []
    for kind, confirm in RUNS:
        if bench.store:
            bench.room(bench.count, 3_000)
            with bench.index("near-equal") as index:
                found = in_own_process(measure, f"{bench.store}/{index}", kind, bench.count, confirm)
        else:
            address = f"sqlite:///{bench.folder}/{kind}-{confirm}.db"
            found = in_own_process(measure, address, kind, bench.count, confirm)
        name = WHAT[kind] + (f", confirm {confirm}" if confirm else "")
        busy = found["busy"]
        ratios = [each / busy[0] for each in busy]
        left_out = found["counts"].pop("left out")
        outcomes = ", ".join(f"{outcome} {n:,}" for outcome, n in sorted(found["counts"].items()))
        figures = [found["seconds"], sum(busy), ratios[-1], max(ratios), found["peak"]]
        rows.append([name, bench.count, *figures, left_out, outcomes])
        curves.append([name, *busy])
        if kind != "calm":
            bench.report.aim(f"ingest of {name}: last part by the first", ratios[-1], at_most=2)
    bench.report.add(Facts(f"Ingest into {bench.where}, without workers", rows))
    size = part_of(bench.count)
    parts = ["s of the processor", *(f"{(number + 1) * size:,}" for number in range(len(curves[0]) - 1))]
    bench.report.add(Facts("Parts of the documents", [parts, *curves]))
    if bench.plot:
        draw(bench.plot, {name: [size / part for part in busy] for name, *busy in curves}, size)


def measure(store: str, kind: str, count: int, confirm: float | None) -> dict[str, Any]:
    """Return the seconds of an ingest, the processor time of each part, the peak of memory and the outcomes."""
    from es_simhash import Documents

    counts: Counter[str] = Counter({"left out": 0})
    busy: list[float] = []
    size = part_of(count)
    rule: Any = {"rule": "fingerprint"} if confirm is None else {"confirm": confirm}
    with Documents(store) as opened:
        opened.setup(keys=confirm is not None)
        list(opened.ingest([{"id": "warm", "text": "第一个文档加载词典"}], **rule))
        began, start = time.perf_counter(), time.process_time()
        for number, outcome in enumerate(opened.ingest(documents(kind, count), **rule), 1):
            counts[outcome.outcome] += 1
            counts["left out"] += outcome.left_out
            if number % size == 0:
                busy.append(time.process_time() - start)
                start = time.process_time()
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "busy": busy, "peak": peak_megabytes(), "counts": counts}


def part_of(count: int) -> int:
    return min(count, max(SMALLEST, count // PARTS))


def documents(kind: str, count: int) -> Iterator[dict[str, object]]:
    for number in range(count):
        rng = random.Random(number)
        if kind == "one":
            text = "暴雨" * 200 + "".join(rng.choices("甲乙丙丁戊己庚辛壬癸子丑", k=12))
        elif kind == "copies":
            text = "暴雨" * 200
        elif kind == "template":
            text = PAGE + "".join(rng.choices(HAN, k=60))
        elif kind == "number":
            text = f"第{number}号通告：今天上午九号线因设备检修暂停运营，请换乘其他线路出行，给您带来不便敬请谅解"
        elif kind == "phrases":
            of = number if number < 20 or rng.random() > 0.05 else rng.randrange(number)
            text = "".join(random.Random(of).choices(PHRASES, k=5)) + ("" if of == number else "终")
        elif kind == "words":
            text = "，".join(rng.choices(WORDS, k=50))
        else:
            text = "".join(rng.choices(HAN, k=120))
        yield {"id": number, "text": text}
