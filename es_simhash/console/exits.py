"""The exit codes. Click itself exits with 2 if the command line is wrong."""

from __future__ import annotations

import sys

STOPPED_BY_ERROR = 1
"""An error stopped the command, or everything in the input was rejected or failed."""
SOME_NOT_DONE = 3
"""The command reached the end of its input, but some of the input was rejected or failed, or was not found."""
STOPPED_AT_DUPLICATE = 4
"""``--on-duplicate fail`` found a duplicate."""
INTERRUPTED = 130
"""128 plus the number of the signal, as in shells."""


def exit_unless_all_done(not_done: int, total: int) -> None:
    """Exit if some of the input was not done: with 1 if none of it was done, with 3 otherwise.

    :param not_done: how many documents or lines were rejected or failed.
    :param total: how many documents or lines there were.
    """
    if not_done:
        sys.exit(SOME_NOT_DONE if not_done < total else STOPPED_BY_ERROR)
