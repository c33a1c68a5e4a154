"""What the tests of the way in share: any JSON value, a reader, and documents in batches."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from hypothesis import strategies as st

from es_simhash import Fingerprinter, Outcome
from es_simhash.deciding.outcome import Document
from es_simhash.ingest.batches import Source
from es_simhash.ingest.ids import FirstPlaces, claim
from es_simhash.ingest.reader import Reader

Item = Document | Outcome

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def reader(id_field: str = "id", *text_fields: str, max_text: int = 100, **limit: int) -> Reader:
    return Reader(Fingerprinter(), id_field, text_fields or ("text",), max_text, **limit)


def batches(documents: Any, size: int = 500, **limit: int) -> list[list[Item]]:
    source = Source(documents, size, **limit)
    with FirstPlaces() as ids:
        return [claim(reader().read_all(lines), ids) for lines in iter(source.take, [])]


def documents(count: int) -> list[dict[str, Any]]:
    return [{"id": number, "text": "x"} for number in range(count)]


def worker_pids(parent: int | None = None) -> list[int]:
    """Return the ids of the worker processes that run.

    :param parent: the process whose children they are; this one by default.
    """
    command = ["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    return [
        int(pid)
        for pid, ppid, state, arguments in (row for row in rows if len(row) == 4)
        if int(ppid) == (parent or os.getpid()) and "es_simhash.worker_process" in arguments and state[0] != "Z"
    ]
