"""Texts to measure with: those of a file, or made from the news of the demonstration."""

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
        found = [text[:length] for text in read(file) if text]
        return random.Random(seed).sample(found, min(count, len(found)))
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


def corpus(count: int, words: int) -> subprocess.Popen[bytes]:
    """Return a process that writes short texts as JSON lines; one in ten is nearly a copy of another one."""
    command = [sys.executable, str(SCRIPTS / "corpus"), "synthetic", "--count", str(count), "--words", str(words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)
