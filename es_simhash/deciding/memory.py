"""What a run has written and search may not find yet."""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from es_simhash.contract import Candidates, Found, Probe
from es_simhash.deciding.limits import LIMITS
from es_simhash.errors import StoreError
from es_simhash.search.key_table import KeyTable
from es_simhash.search.near_index import NearIndex
from es_simhash.similarity.confirm import TextFeatures

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from es_simhash.contract import Row, Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.deciding.texts import StoredText, Texts
    from es_simhash.search.keys import KeyQuery


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
        self._new: list[Row] = []
        # Very many documents may have one text. So fingerprints and keys are known by digest, and lead to each once.
        self._of_digest: dict[str, list[tuple[int, str]]] = {}
        """By digest, the write orders and ids of the documents that were written with it, in this order."""
        self._keys = KeyTable()
        self._indexes: dict[int, NearIndex] = {}
        self._digests: list[str] = []
        self._fingerprints: list[int | None] = []

    def __len__(self) -> int:
        """Return how many Rows are remembered. A Row that was relinked and then written may count twice."""
        return len(self.rows) + len(self.relinked)

    def get(self, id: str) -> Row | None:
        """Return the present state of a Row; None if search knows it, or there is no such Row."""
        return self.rows.get(id) or self.relinked.get(id)

    @property
    def known(self) -> dict[str, Row]:
        """All Rows whose present state search may not know."""
        return self.relinked | self.rows

    def keep(self, row: Row, replaces: Row | None = None) -> None:
        """Remember a Row that was written.

        :param replaces: the former state, which search may still find.
        """
        self.rows[row.id] = row
        self._new.append(row)
        if replaces is not None:
            self.hidden[row.id] = replaces

    def relink(self, row: Row) -> None:
        """Remember a Row whose links were changed."""
        (self.rows if row.id in self.rows else self.relinked)[row.id] = row

    def over(
        self,
        found: Mapping[str, Row],
        batch: Sequence[Row],
        rule: ResolvedRule,
        queries: Sequence[Sequence[KeyQuery]],
    ) -> dict[str, Row]:
        """Return the Rows that a search found, corrected and extended by what is known here.

        :param found: by id.
        :param batch: the Rows that the search was for. Of the Rows here that were not found, those that can be near
            one of them are returned, and perhaps others.
        :param queries: with keys: the conditions on the keys of what may be near each of the batch.
        """
        rows = {id: self.relinked.get(id, row) for id, row in found.items() if id not in self.rows}
        rows |= {id: self.rows[id] for id in self._like(batch, rule, queries)}
        return {id: row for id, row in rows.items() if id not in self.outside}

    def _like(self, batch: Sequence[Row], rule: ResolvedRule, queries: Sequence[Sequence[KeyQuery]]) -> Collection[str]:
        """Return the ids of the Rows that were written and may be duplicates of one of the batch.

        Of the Rows with one digest these are the first written that can be an original, unless times count.
        """
        if not self.rows:
            return ()
        self._index_new()
        digests = {row.digest for row in batch if row.digest in self._of_digest}
        if rule.keys:
            digests.update(self._digests[position] for position in self._keys.sharing_any(queries).tolist())
        else:
            if (index := self._indexes.get(rule.max_distance)) is None:  # ``add`` may change the rule
                index = self._indexes[rule.max_distance] = NearIndex(rule.bits, rule.max_distance)
            index.add(self._fingerprints[len(index) :])
            asked = [row.fingerprint for row in batch]
            # A new document duplicates the nearest, unless that one has changed or the filter excludes it.
            only_nearest = rule.nearest(new=True) == 1 and not self.hidden and not self.outside
            if only_nearest and self.rows.keys().isdisjoint(row.id for row in batch):
                near = index.nearest_any(asked)
            else:
                near = index.near_any(asked)
            digests.update(self._digests[position] for position in near.tolist())
        if rule.window is not None:
            return [id for digest in digests for _, id in self._of_digest[digest]]
        in_batch = {row.id for row in batch}
        return [id for digest in digests for id in self._first(digest, in_batch)]

    def _first(self, digest: str, in_batch: Collection[str]) -> Iterator[str]:
        """Yield the ids of the Rows with a digest, up to the first Row that the batch cannot change."""
        for _, id in self._of_digest[digest]:
            yield id
            if id not in in_batch and self.rows[id].digest == digest and id not in self.outside:
                return

    def _index_new(self) -> None:
        """Make the Rows that were written since the last time known to :meth:`_like`."""
        first: list[Row] = []
        for row in self._new:
            if row.digest not in self._of_digest:
                self._of_digest[row.digest] = []
                first.append(row)
            insort(self._of_digest[row.digest], (row.written, row.id))
        self._digests += [row.digest for row in first]
        self._fingerprints += [row.fingerprint for row in first]
        self._keys.add([row.keys for row in first], [row.length for row in first])
        self._new = []


class RecentSources:
    """The documents that a run wrote last, as JSON. The oldest are dropped.

    Near-duplicates mostly come close together, so their texts are often here and need no request.

    :param most: characters that are kept.
    :param features: characters of texts of which the features are kept.
    """

    def __init__(self, most: int = LIMITS.recent, features: int = LIMITS.features) -> None:
        self._most = most
        self._most_features = features
        # The first one of a dict takes the longer to find, the more were dropped before it; that of these does not.
        self._features: OrderedDict[str, TextFeatures] = OrderedDict()
        """By digest. In a pool of near-equal texts the same ones are compared again and again."""
        self._characters_of_features = 0
        self._documents: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._characters = 0

    def keep(self, id: str, digest: str, source: str) -> None:
        """Remember a document that was written."""
        self._drop(id)
        self._documents[id] = digest, source
        self._characters += len(source)
        while self._characters > self._most:
            self._drop(next(iter(self._documents)))

    def get(self, row: Row) -> str | None:
        """Return the document of a Row; None if it is not here."""
        digest, source = self._documents.get(row.id, ("", None))
        return source if digest == row.digest else None

    def text(self, row: Row, texts: Texts) -> TextFeatures | None:
        """Return the features of a Row's text; None if they are not known here."""
        if (known := self._features.get(row.digest)) is not None:
            return known
        if (source := self.get(row)) is None:
            return None
        made = texts.of_source(source)
        self.keep_text(row, made)
        return made

    def keep_text(self, row: Row, text: StoredText) -> None:
        """Remember the features of a Row's text, unless another program has changed the text."""
        if not isinstance(text, TextFeatures) or not row.digest or text.digest != row.digest:
            return
        if row.digest not in self._features:
            self._features[row.digest] = text
            self._characters_of_features += len(text.normalised)
        while self._characters_of_features > self._most_features:
            self._characters_of_features -= len(self._features.popitem(last=False)[1].normalised)

    def _drop(self, id: str) -> None:
        _, source = self._documents.pop(id, ("", ""))
        self._characters -= len(source)


def candidates_without_stale(
    store: Store, request: Candidates, hidden: Mapping[str, Row], *, keep_stale: bool = False
) -> Found:
    """Return candidates, one for each digest, without documents that search may find in a former state.

    A query that excluded all of these would cost too much. Only those that were found are in the way: each may stand
    for others with its digest or its fingerprint. A second request asks for these others.

    :param hidden: by id, the former state.
    :param keep_stale: return the stale documents too.
    :raises StoreError: if search finds a document that the request excludes. Otherwise this would never end.
    """
    found = store.candidates(request)
    stale = [row for row in found.rows if row.id in hidden]
    if not stale:
        return found
    if ignored := {row.id for row in stale}.intersection(request.without):
        raise StoreError(
            f"{store.name}: search finds document {min(ignored)!r}, which the query excludes: use the address of the "
            "server itself, not that of a proxy that changes queries"
        )
    digests = {row.digest for row in stale}
    fingerprints = {row.fingerprint for row in stale} if request.per_fingerprint is not None else set()
    probes = [Probe(None, digest) for digest in sorted(digests)]
    probes += [Probe(fingerprint, None) for fingerprint in fingerprints if fingerprint is not None]
    of_same = replace(request, probes=tuple(probes), max_distance=0 if fingerprints else -1, nearest=None)
    without = {row.id for row in stale}
    others = {id for id, row in hidden.items() if row.digest in digests or row.fingerprint in fingerprints} - without
    kept = stale if keep_stale else []
    if keep_stale and others:
        # The next request leaves these out. They may match the filter too, so they are asked for now.
        ids = {"ids": {"values": sorted(others)}}
        clause = ids if request.filter is None else {"bool": {"filter": [request.filter, ids]}}
        every = replace(of_same, filter=clause, one_per_digest=False, per_fingerprint=None)
        kept = [*stale, *(store.candidates(every)).rows]
    without |= others
    excluded = (*request.without, *sorted(without))
    limited = request.nearest is not None and found.left_out
    if limited or any(probe.queries or probe.times for probe in request.probes):
        # The stale documents may have kept others out of the limited number, too, or stood for others in the times of
        # some Probes. So everything is asked again.
        again = candidates_without_stale(store, replace(request, without=excluded), hidden, keep_stale=keep_stale)
        return Found([*kept, *again.rows], again.left_out)
    again = candidates_without_stale(store, replace(of_same, without=excluded), hidden, keep_stale=keep_stale)
    rows = {row.id: row for row in (*found.rows, *again.rows) if row.id not in hidden}
    return Found([*kept, *rows.values()], found.left_out)
