"""The store on an index of Elasticsearch or OpenSearch."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from es_simhash.errors import ConflictError, StoreError, StoreUnavailable, TooLarge
from es_simhash.retries import Waits, end_after
from es_simhash.search.encoding import decoded
from es_simhash.store.elastic import mapping
from es_simhash.store.elastic.errors import check_answer, index_fault, passes, reason_of
from es_simhash.store.elastic.pages import pages
from es_simhash.store.elastic.rows import HIT_OPTIONS, if_version, row_of, source_of, updating, version_of, writing
from es_simhash.store.elastic.search import members, search
from es_simhash.store.types import Stored, UserState, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_simhash.store.elastic.connection import Connection
    from es_simhash.store.protocol import Filter
    from es_simhash.store.types import Description, Entry, Hits, Probe, Row, Scan

RETRIES = 20
"""How often the server repeats the removal of seen items from a document that other programs write meanwhile."""


class ElasticStore:
    """Documents and seen items in an index: :class:`~es_simhash.store.protocol.Store`."""

    lags = True
    in_memory = False

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.name = connection.name

    # --- the store itself -------------------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return how the index was set up."""
        return mapping.describe(self.connection)

    def set_up(self, wanted: Description) -> str:
        """Make what is missing."""
        return mapping.set_up(self.connection, wanted)

    def change(self, description: Description) -> None:
        """Keep another rule, id field and ``stale``."""
        mapping.change(self.connection, description)

    def close(self) -> None:
        """Close the client, if it is the store's own."""
        self.connection.close()

    # --- read documents ---------------------------------------------------------------------------------------------

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id."""
        names = None if fields is None else ["simhash", *fields]
        return {
            document["_id"]: Stored(row_of(document, self.connection.warn_once), (), source_of(document, fields))
            for document in self._get(ids, names)
        }

    def search(self, probes: Sequence[Probe], filter: Filter | None, *, heads: bool) -> list[Hits]:
        """Return what may be near each Probe."""
        return search(self.connection, probes, filter, heads=heads)

    def members(self, heads: Sequence[str]) -> list[Row]:
        """Return the documents that are copies of one of these heads."""
        return members(self.connection, heads)

    def scan(self, scan: Scan) -> Iterator[list[Stored]]:
        """Yield documents in pages, from one point in time."""
        source = True if scan.fields is None else list(scan.fields) or False
        options: dict[str, Any] = {**HIT_OPTIONS, "_source": source}
        if scan.keys:
            options["docvalue_fields"] = [*HIT_OPTIONS["docvalue_fields"], "simhash.keys"]
        field = "simhash.order" if scan.by_order else scan.by_field
        kind = "long" if scan.by_order else "date"
        sort = [] if field is None else [{field: {"order": "asc", "missing": "_last", "unmapped_type": kind}}]
        for hits in pages(self.connection, query_of(scan.filter, scan.missing, scan.since), sort, options):
            rows = ((row_of(hit, self.connection.warn_once), hit) for hit in hits)
            yield [
                Stored(row, decoded(hit.get("fields", {}).get("simhash.keys", ())), source_of(hit, scan.fields))
                for row, hit in rows
                if row.digest or scan.missing is not False
            ]

    def count(self, filter: Filter | None, *, missing: bool | None = None) -> int:
        """Return how many documents match a filter."""
        return int(self.connection.send("POST", "_count", {"query": query_of(filter, missing)})["count"])

    def refresh(self) -> None:
        """Make everything that was written visible to searches."""
        self.connection.send("POST", "_refresh")

    # --- write documents --------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        rows = {entry.row.id: entry.row for entry in entries}
        return self._write(rows, {entry.row.id: writing(entry) for entry in entries})

    def _write(self, rows: Mapping[str, Row], operations: Mapping[str, Any]) -> Written:
        """Write documents. One that conflicts is written already if it is as its Row says, with its time of writing."""

        def is_done(document: Mapping[str, Any]) -> bool:
            row, stored = rows[document["_id"]], row_of(document, self.connection.warn_once)
            return stored == row._replace(content=row.content or stored.content, version=stored.version)

        return self._bulk(operations, is_done)

    def write_links(self, rows: Mapping[str, Row]) -> Written:
        """Change what documents are copies of, each on its version."""
        operations = {
            id: updating(id, row.version, {"simhash": {"group": row.group, "duplicate_of": row.duplicate_of}})
            for id, row in rows.items()
            if row.version is not None
        }
        written = self._write(rows, operations)
        return replace(written, conflicts=written.conflicts | (rows.keys() - operations.keys()))

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        operations = {id: ({"delete": {"_id": id, **if_version(version)}},) for id, version in versions.items()}
        written = self._bulk(operations)
        left = self._get(sorted(written.conflicts), ["simhash.digest"])
        return replace(written, conflicts=written.conflicts & {document["_id"] for document in left})

    # --- requests ---------------------------------------------------------------------------------------------------

    def _get(self, ids: Sequence[str], fields: Sequence[str] | None) -> list[dict[str, Any]]:
        """Return documents as last written. Ids that do not exist are left out.

        :param fields: to return; None for all.
        """
        if not ids:
            return []
        if self.connection.is_several:  # the server reads no documents by the name of several indices
            query = {"ids": {"values": list(ids)}}
            body = {"query": query, "_source": fields is None or list(fields), "seq_no_primary_term": True}
            hits: list[dict[str, Any]] = self.connection.search({**body, "size": len(ids)})["hits"]["hits"]
            return hits

        def check(answer: Any, name: str) -> None:
            for document in answer["docs"]:
                check_answer(document, name)

        selection = {} if fields is None else {"_source_includes": ",".join(fields)}
        answer = self.connection.send("POST", "_mget", {"ids": list(ids)}, selection, check=check)
        return [document for document in answer["docs"] if document["found"]]

    def _bulk(
        self,
        operations: Mapping[str, Sequence[Any]],
        is_done: Callable[[Mapping[str, Any]], bool] = lambda document: False,
    ) -> Written:
        """Send operations, and say what each did. Those that the server is too busy for are sent again.

        If a response is lost, the write is sent again, by this program or by one node of the server to another, and
        then conflicts with itself. So a document that conflicts is read: it is no conflict if it is as the write made
        it.

        :param operations: by id of the document, the lines of a bulk request.
        :param is_done: returns whether a stored document is as its operation made it.
        """
        refused: dict[str, str] = {}
        conflicts: set[str] = set()
        versions: dict[str, Any] = {}
        waits = Waits(end_after(self.connection.deadline))
        parts = [list(operations)] if operations else []
        while parts:
            part = parts.pop()
            lines = [line for id in part for line in operations[id]]
            try:
                items = self.connection.send("POST", "_bulk", lines).get("items", [])
            except TooLarge as error:
                if len(part) == 1:
                    refused[part[0]] = str(error)
                else:
                    parts += part[: len(part) // 2], part[len(part) // 2 :]
                continue
            if len(items) != len(part):
                raise self.connection.wrong(f"{len(items)} results of {len(part)} operations")
            busy: dict[str, Any] = {}
            for id, item in zip(part, items, strict=True):
                [(kind, result)] = item.items()
                status = result["status"]
                if result.get("result") == "noop" and kind in ("index", "create"):
                    refused[id] = "an ingest pipeline of the server dropped it"
                elif status < 300:
                    versions[id] = version_of(result)
                elif status == 409:
                    conflicts.add(id)
                elif passes(result, status):
                    busy[id] = result
                elif (fault := index_fault(result, status, self.name)) is not None:
                    raise fault
                elif status == 404 and kind == "delete":
                    versions[id] = version_of(result)
                elif status == 404:
                    conflicts.add(id)
                else:
                    refused[id] = f"the server refused it: {reason_of(result)}"
            if busy and not waits.wait():
                result = next(iter(busy.values()))
                raise index_fault(result, result["status"], self.name) or StoreUnavailable(
                    f"{self.name} was too busy for {len(busy):,} documents ({reason_of(result)}): try again later"
                )
            parts += [list(busy)] if busy else []
        stored = self._get(sorted(conflicts), ["simhash", "seen"])
        versions |= {document["_id"]: version_of(document) for document in stored if is_done(document)}
        return Written(refused, frozenset(conflicts - versions.keys()), versions)

    # --- the items that users have seen -----------------------------------------------------------------------------

    def read_users(self, names: Sequence[str]) -> dict[str, UserState]:
        """Return the states of users."""
        documents = self._get(names, ["seen"])
        return {one["_id"]: UserState(one["_source"].get("seen"), version_of(one)) for one in documents}

    def write_users(self, states: Mapping[str, UserState]) -> Written:
        """Write the state of each user, on its version, by a partial update: other fields of the document stay.

        The mark is that of this write alone: another program may write an equal state.
        """
        mark = token_hex(8)
        operations: dict[str, Any] = {}
        for user, state in states.items():
            fields, is_new = {"seen": {**state.seen, "mark": mark}}, state.version is None
            operations[user] = ({"create": {"_id": user}}, fields) if is_new else updating(user, state.version, fields)

        def is_done(document: Mapping[str, Any]) -> bool:
            seen = document["_source"].get("seen")
            return isinstance(seen, dict) and seen.get("mark") == mark

        return self._bulk(operations, is_done)

    def remove_users(self, names: Sequence[str]) -> frozenset[str]:
        """Remove the seen items of users, and return the users that had some."""
        documents = self._get(names, None)
        had_some = {one["_id"]: one for one in documents if one["_source"].get("seen")}
        deletions = {
            user: ({"delete": {"_id": user, **if_version(version_of(one))}},)
            for user, one in had_some.items()
            if one["_source"].keys() == {"seen"}
        }
        deleted = self._bulk(deletions).versions
        # The others stay: they have other fields, perhaps of another program that wrote them meanwhile.
        changes = {
            user: ({"update": {"_id": user, "retry_on_conflict": RETRIES}}, {"doc": {"seen": None}})
            for user in had_some.keys() - deleted.keys()
        }
        written = self._bulk(changes)
        for user, reason in written.refused.items():
            raise StoreError(f"{self.name} did not remove the seen items of {user}: {reason}")
        if left := [one["_id"] for one in self._get(sorted(written.conflicts), ["seen"]) if one["_source"].get("seen")]:
            raise ConflictError(
                f"{self.name}: other programs keep writing the documents of {', '.join(left)}, so their seen items are "
                "not removed: try again later"
            )
        return frozenset(had_some)

    def list_users(self, before: int) -> Iterator[list[str]]:
        """Yield the users whose newest generation started before a time."""
        query = {"bool": {"filter": [{"range": {"seen.newest": {"gt": 0, "lt": before}}}]}}
        for hits in pages(self.connection, query, [], {"_source": False, "track_total_hits": False}):
            yield [hit["_id"] for hit in hits]


def query_of(filter: Filter | None, missing: bool | None, since: int | None = None) -> dict[str, Any]:
    """Return the query for the documents of a scan."""
    fingerprinted = {"exists": {"field": "simhash.digest"}}
    filters: list[Mapping[str, Any]] = [] if filter is None else [filter]
    excluded: Sequence[Mapping[str, Any]] = [fingerprinted] if missing else []
    if missing is False:
        filters.append(fingerprinted)
    if since is not None:
        filters.append({"range": {"simhash.written": {"gte": since}}})
    return {"bool": {"filter": filters, "must_not": excluded}}
