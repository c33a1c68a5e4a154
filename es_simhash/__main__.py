"""``python -m es_simhash`` and the command ``es-simhash``."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


def main() -> None:
    """Run the command. Ctrl-C ends it with one line, also while its modules load and while it exits.

    SIGTERM needs nothing here: by default the system ends the process. Only process 1 of a container must end itself.
    """
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, _stop)
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)
    _open_closed_streams()
    from es_simhash import cli  # after the lines above: the modules of a command take half a second

    cli.import_command()
    _collect_garbage_rarely()

    signal.signal(signal.SIGINT, before)
    try:
        cli.main()
    finally:
        if before != signal.SIG_IGN:
            signal.signal(signal.SIGINT, _stop)


def _collect_garbage_rarely() -> None:
    """Collect garbage after many more objects than by default, and do not look at the modules again.

    A batch makes some ten thousand objects, which live until the next ones. They have no circles, so a collection finds
    nothing: it took an eighth of the time of an ingest.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _open_closed_streams() -> None:
    """Open the standard streams that the caller closed. Otherwise the next file, such as a store, would become one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  open until the end


def _stop(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"es-simhash: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
