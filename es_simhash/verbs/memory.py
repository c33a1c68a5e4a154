"""What a run has written and search may not find yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_simhash.contract import Candidates, Found, Probe, ask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.contract import Flow, Row

RECENT = 32_000_000
"""Characters of documents that RecentSources keeps: at most 64 MB of Chinese text."""


class Memory:
    """What a run has written or linked since the last refresh.

    :param rows: the Rows that were written, in their present state.
    :param hidden: by id, the former state that search may still find.
    :param outside: ids of ``rows`` that do not match the filter of the run.
    :param relinked: the Rows whose links alone were changed, in their present state. Search finds them, but with the
        former links. Only search knows whether they match the filter.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.hidden: dict[str, Row] = {}
        self.outside: set[str] = set()
        self.relinked: dict[str, Row] = {}

    @property
    def known(self) -> dict[str, Row]:
        """All Rows whose present state search may not know."""
        return self.relinked | self.rows

    def keep(self, row: Row, replaces: Row | None = None) -> None:
        """Remember a Row that was written.

        :param replaces: the former state, which search may still find.
        """
        self.rows[row.id] = row
        if replaces is not None:
            self.hidden[row.id] = replaces

    def relink(self, row: Row) -> None:
        """Remember a Row whose links were changed."""
        (self.rows if row.id in self.rows else self.relinked)[row.id] = row

    def over(self, found: Mapping[str, Row]) -> dict[str, Row]:
        """Return the Rows that a search found, corrected and extended by what is known here."""
        rows = dict(found) | {id: row for id, row in self.relinked.items() if id in found} | self.rows
        return {id: row for id, row in rows.items() if id not in self.outside}


class RecentSources:
    """The documents that a run wrote last, as JSON. Beyond ``RECENT`` characters the oldest are dropped.

    Near-duplicates mostly come close together, so their texts are often here and need no request.
    """

    def __init__(self) -> None:
        self._documents: dict[str, tuple[str, str]] = {}
        self._characters = 0

    def keep(self, id: str, digest: str, source: str) -> None:
        """Remember a document that was written."""
        self._drop(id)
        self._documents[id] = digest, source
        self._characters += len(source)
        while self._characters > RECENT:
            self._drop(next(iter(self._documents)))

    def get(self, row: Row) -> str | None:
        """Return the document of a Row; None if it is not here."""
        digest, source = self._documents.get(row.id, ("", None))
        return source if digest == row.digest else None

    def _drop(self, id: str) -> None:
        _, source = self._documents.pop(id, ("", ""))
        self._characters -= len(source)


def candidates_without_stale(
    request: Candidates, hidden: Mapping[str, Row], *, keep_stale: bool = False
) -> Flow[Found]:
    """Return candidates, one for each digest, without documents that search may find in a former state.

    A query that excluded all of these would cost too much. Only those that were found are in the way: each may stand
    for others with its digest or its fingerprint. A second request asks for these others.

    :param hidden: by id, the former state.
    :param keep_stale: return the stale documents too.
    """
    found = yield from ask(request)
    stale = [row for row in found.rows if row.id in hidden]
    if not stale:
        return found
    kept = stale if keep_stale else []
    digests = {row.digest for row in stale}
    fingerprints = {row.fingerprint for row in stale} if request.per_fingerprint is not None else set()
    without = {row.id for row in stale}
    without |= {id for id, row in hidden.items() if row.digest in digests or row.fingerprint in fingerprints}
    excluded = (*request.without, *sorted(without))
    if any(probe.queries or probe.times for probe in request.probes):
        # The stale documents may have kept others out of the limited number, too, or stood for others in the times of
        # some Probes. So everything is asked again.
        again = yield from candidates_without_stale(replace(request, without=excluded), hidden, keep_stale=keep_stale)
        return Found([*kept, *again.rows], again.left_out)
    probes = [Probe(None, digest) for digest in sorted(digests)]
    probes += [Probe(fingerprint, None) for fingerprint in fingerprints if fingerprint is not None]
    request = replace(request, probes=tuple(probes), max_distance=0 if fingerprints else -1, without=excluded)
    again = yield from candidates_without_stale(request, hidden, keep_stale=keep_stale)
    rows = {row.id: row for row in (*found.rows, *again.rows) if row.id not in hidden}
    return Found([*kept, *rows.values()], found.left_out)
