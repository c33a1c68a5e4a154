"""Texts to measure with: those of a file, or made from the news of the demonstration or from random words."""

from __future__ import annotations

import json
import lzma
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPTS = Path(__file__).resolve().parents[1]


def texts(file: Path | None, count: int, length: int, seed: int) -> list[str]:
    """Return texts of about ``length`` characters at most.

    :param file: JSON lines with `text`, may end in .xz; None for sentences of the demonstration's news in random order.
    """
    if file is not None:
        given = [text[:length] for text in read(file) if text]
        return random.Random(seed).sample(given, min(count, len(given)))
    rng = random.Random(seed)
    sentences = [part for text in read(SCRIPTS / "demo_news.jsonl") for part in text.split("。") if part]
    made = []
    for _ in range(count):
        text = ""
        while len(text) < length:
            text += rng.choice(sentences) + "。"
        made.append(text[:length])
    return made


def read(file: Path) -> Iterator[str]:
    with (lzma.open if file.suffix == ".xz" else open)(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def of_words(count: int, vocabulary: int, length: int, rng: random.Random) -> list[str]:
    """Return texts of ``length`` words that are drawn from so many different ones. One word in ten is a number."""
    words = [
        str(rng.randrange(10_000)) if number % 10 == 9 else "".join(chr(rng.randrange(97, 123)) for _ in range(6))
        for number in range(vocabulary)
    ]
    return [" ".join(rng.choices(words, k=length)) for _ in range(count)]


def write_corpus(file: Path, count: int, words: int) -> None:
    """Write short texts as JSON lines; one in ten is nearly a copy of another one."""
    command = [sys.executable, str(SCRIPTS / "corpus.py"), "synthetic", "--count", str(count), "--words", str(words)]
    with file.open("wb") as output:
        subprocess.run(command, stdout=output, check=True)
