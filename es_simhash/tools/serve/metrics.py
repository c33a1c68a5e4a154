"""Metrics in the text format of Prometheus. Several workers are counted together.

Each worker writes its counts to a file of its own, once a second. Whichever worker is asked adds them up. So the counts
of other workers are up to a second old.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SECONDS = 1.0
_ABOUT = {
    "es_simhash_requests_total": ("counter", "Requests by operation and status."),
    "es_simhash_request_seconds": ("histogram", "Seconds from the first byte of a request to its answer."),
    "es_simhash_requests_in_progress": ("gauge", "Requests that are being answered."),
    "es_simhash_documents_total": ("counter", "Documents that were added, by outcome."),
}


class Metrics:
    """The counts of one worker.

    :param folder: where all workers write theirs; None for a single worker.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._samples: Counter[str] = Counter()

    def begin(self) -> None:
        """Count a request that is being answered."""
        self._samples["es_simhash_requests_in_progress"] += 1

    def end(self, operation: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._samples["es_simhash_requests_in_progress"] -= 1
        self._samples[f'es_simhash_requests_total{{operation="{operation}",status="{status}"}}'] += 1
        name = "es_simhash_request_seconds"
        for bucket in BUCKETS:
            self._samples[f'{name}_bucket{{operation="{operation}",le="{bucket:g}"}}'] += int(seconds <= bucket)
        self._samples[f'{name}_bucket{{operation="{operation}",le="+Inf"}}'] += 1
        self._samples[f'{name}_sum{{operation="{operation}"}}'] += seconds  # type: ignore[assignment]  # a float
        self._samples[f'{name}_count{{operation="{operation}"}}'] += 1

    def outcome(self, name: str) -> None:
        """Count a document that was added."""
        self._samples[f'es_simhash_documents_total{{outcome="{name}"}}'] += 1

    def text(self) -> str:
        """Return the metrics of all workers."""
        samples = Counter(self._samples)
        for file in () if self._folder is None else self._folder.glob("*.json"):
            if file != self._own_file():
                with suppress(OSError, ValueError):
                    samples.update(json.loads(file.read_text()))
        lines = []
        for name, (kind, about) in _ABOUT.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            lines += [f"{key} {value:g}" for key, value in samples.items() if key.startswith(name)]
        return "\n".join(lines) + "\n"

    async def write_for_ever(self) -> None:
        """Write the counts for the other workers once a second."""
        while self._folder is not None:
            self.write()
            await asyncio.sleep(_SECONDS)

    def write(self) -> None:
        """Write the counts for the other workers now."""
        if self._folder is not None:
            new = self._own_file().with_suffix(".new")
            new.write_text(json.dumps(self._samples))
            new.replace(self._own_file())

    def _own_file(self) -> Path:
        assert self._folder is not None
        return self._folder / f"{os.getpid()}.json"
