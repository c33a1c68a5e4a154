"""``python -m es_simhash`` and the command ``es-simhash``."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command. Ctrl-C ends it with one line, also while the modules of the command load."""
    _open_closed_streams()
    # If a worker process is killed while it starts, loky removes its lock at the end, and prints a warning.
    os.environ.setdefault("PYTHONWARNINGS", "ignore::UserWarning:loky.backend.resource_tracker")
    try:
        from es_simhash.cli import main as run  # the modules of a command take half a second
    except KeyboardInterrupt:
        print("es-simhash: interrupted", file=sys.stderr)
        sys.exit(130)
    # A batch makes some ten thousand objects, which live until the next ones. They have no circles, so a collection
    # finds nothing: it took an eighth of the time of an ingest.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    run()


def _open_closed_streams() -> None:
    """Open the standard streams that the caller closed. Otherwise the next file, such as a store, would become one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  open until the end


if __name__ == "__main__":
    main()
