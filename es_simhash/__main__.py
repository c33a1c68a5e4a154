"""``python -m es_simhash`` and the command ``es-simhash``."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


def main() -> None:
    """Run the command. A signal ends it with one line, also while its modules load and while it exits."""
    before = {number: signal.signal(number, _stop) for number in (signal.SIGINT, signal.SIGTERM)}
    from es_simhash import cli  # after the line above: it takes half a second

    try:
        for number, handler in before.items():
            signal.signal(number, handler)
        cli.main()
    finally:
        for number in before:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"es-simhash: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
