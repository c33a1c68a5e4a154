"""The command's exit codes. Click itself ends with 2 where a command is not understood."""

from __future__ import annotations

import sys

STOPPED_BY_ERROR = 1
"""Nothing could be done; or what was done until then is in the counts."""
SOME_NOT_DONE = 3
"""Done, but some of what was given was rejected or failed."""
STOPPED_AT_DUPLICATE = 4
INTERRUPTED = 130
"""128 and the number of the signal, as shells have it."""


def exit_unless_all_done(not_done: int, total: int) -> None:
    """End here if some of what was given was not done; if none of it was, that is an error."""
    if not_done:
        sys.exit(SOME_NOT_DONE if not_done < total else STOPPED_BY_ERROR)
