"""The checkpoint of a copy: where in the write order of the old store the copy is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash import Checkpoint
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from es_simhash.tools.copy.write_order import Position


class CopyCheckpoint(Checkpoint):
    """The checkpoint of one copy.

    Its ``note`` is a dict: ``from``, the name of the old store, and the ``position`` of the last document that is done.

    The old store may change between two runs. So the next run reads on from this position, and nothing is counted.
    """

    skips_done = False

    def position(self, source: str) -> Position | None:
        """Return the position of the last document that is done; None at the beginning.

        :param source: name of the old store.
        :raises InputError: if the note is damaged, or if the checkpoint is one of another store.
        """
        if self.note is None:
            return None
        match self.note:
            case {"from": str(began), "position": [int(written), str(id)]}:
                if began != source:
                    raise InputError(
                        f"the checkpoint {self.path!r} was created with --from {began}, not {source}: run again with "
                        "the same options, or name another file (--resume)"
                    )
                return written, id
        raise InputError(f"the checkpoint {self.path!r} is damaged, or not of a copy: name another file (--resume)")

    def remove(self) -> None:
        """Close and remove the file, because everything is done. A symbolic link to it stays."""
        self.close()
        with suppress(OSError):
            Path(self.path).resolve().unlink()
