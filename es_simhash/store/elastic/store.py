"""The store on an index of Elasticsearch or OpenSearch."""

from __future__ import annotations

from operator import itemgetter
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from es_simhash.errors import SimhashError, TooLarge
from es_simhash.parts import in_parts
from es_simhash.retries import Waits, end_after
from es_simhash.rows import Stored, UserState, Written
from es_simhash.store.description import check_alike, moved
from es_simhash.store.elastic import mapping
from es_simhash.store.elastic.errors import error_of, index_fault, passes, reason_of
from es_simhash.store.elastic.pages import pages
from es_simhash.store.elastic.rows import HIT_OPTIONS, operation, source_of, version_of, writing
from es_simhash.store.elastic.search import members, search
from es_simhash.text.keys import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_simhash.rows import Description, Entry, Hits, Row, Scan, SeenTime, StoreQuery
    from es_simhash.store.elastic.connection import Connection, Index
    from es_simhash.store.protocol import Filter


T = TypeVar("T")

LOOKED_UP = 1_000
"""Ids in one search."""
MOST_PLACES = 10_000
"""Hits of such a search: more than one for an id that is in several indices."""


class ElasticStore:
    """Documents and seen items in an index: :class:`~es_simhash.store.protocol.Store`."""

    lags = True
    in_memory = False

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.name = connection.name
        self._described: Description | None = None
        connection.describe_again = self.describe

    # --- the store itself -------------------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return how the index was set up. Answers of another index raise from now on.

        :raises StoreChanged: if it is another index than before, and was set up in another way; if the write index of
            an alias, which may just have taken new documents, is not behind it any more.
        """
        indices = mapping.read_indices(self.connection)
        described = mapping.describe(self.connection, indices)
        check_alike(self._described, described, self.name)
        former = self.connection.write_index
        self.connection.know(indices)
        self._described = described
        if former not in (None, self.connection.write_index):
            if former not in indices:
                raise moved(self.name)
            self.refresh()  # from now on a search finds what was written there by its id
        return described

    def set_up(self, wanted: Description, *, change: bool = False) -> str:
        """Make what is missing."""
        self._described = None
        made = mapping.set_up(self.connection, wanted, change=change)
        self.describe()
        return made

    def indices(self) -> dict[str, Index]:
        """Return the index, or each index behind an alias, by its own name, as it is now."""
        return mapping.read_indices(self.connection)

    def read_only(self, indices: Mapping[str, Index]) -> str | None:
        """Return why nothing can be written by the name of the store; None if it can be."""
        return mapping.read_only(self.connection, indices)

    def component_template(self, name: str | None = None) -> dict[str, Any]:
        """Return what the next index behind an alias must have: a component template.

        :param name: under which the server keeps it; None to keep it nowhere.
        """
        template = mapping.component_template(self.connection)
        if name is not None:
            self.connection.send("PUT", f"_component_template/{quote(name, safe='')}", template, index=False)
        return template

    def close(self) -> None:
        """Close the client, if it is the store's own."""
        self.connection.close()

    # --- read documents ---------------------------------------------------------------------------------------------

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id."""
        names = None if fields is None else ["simhash", *fields]
        return self._get(ids, names, lambda one: Stored(self.connection.row_of(one), (), source_of(one, fields)))

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        """Return what each StoreQuery finds."""
        return search(self.connection, queries, filter, originals=originals)

    def members(self, groups: Sequence[str]) -> list[Row]:
        """Return the documents of the groups with these names."""
        return members(self.connection, groups)

    def scan(self, scan: Scan) -> Iterator[list[Stored]]:
        """Yield documents in pages, from one point in time."""
        query = _query(scan)
        options: dict[str, Any] = {**HIT_OPTIONS, "_source": self._sources(scan.fields)}
        if scan.keys:
            options["docvalue_fields"] = [*HIT_OPTIONS["docvalue_fields"], "simhash.keys"]
        field = "simhash.order" if scan.by_order else scan.by_field
        kind = "long" if scan.by_order else "date"
        sort = [] if field is None else [{field: {"order": "asc", "missing": "_last", "unmapped_type": kind}}]

        def stored(hit: Any) -> Stored:
            keys = decoded(hit.get("fields", {}).get("simhash.keys", ()))
            return Stored(self.connection.row_of(hit), keys, source_of(hit, scan.fields))

        for page in pages(self.connection, {"query": query, "sort": sort, **options}, stored):
            yield [one for one in self._newest(page) if one.row.digest or scan.missing is not False]

    def count(self, scan: Scan) -> int:
        """Return how many documents a Scan reads."""
        query = _query(scan)
        return self.connection.send("POST", "_count", {"query": query}, read=lambda answer: int(answer["count"]))

    def refresh(self) -> None:
        """Make everything that was written visible to searches."""
        self.connection.send("POST", "_refresh")

    # --- write documents --------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        rows = {entry.row.id: entry.row for entry in entries}
        write_index = self.connection.write_index

        def is_done(document: Any) -> bool:
            """Return whether a document that conflicts is as its Row says, with its time of writing."""
            row, stored = rows[document["_id"]], self.connection.row_of(document)
            return stored == row._replace(content=row.content or stored.content, version=stored.version)

        return self._bulk({entry.row.id: writing(entry, write_index) for entry in entries}, is_done)

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        write_index = self.connection.write_index
        any_version = [id for id, version in versions.items() if version is None] if write_index is not None else []
        versions = {**versions, **self._get(any_version, ["simhash"], version_of)}
        return self._bulk({id: operation("delete", id, version, write_index) for id, version in versions.items()})

    # --- requests ---------------------------------------------------------------------------------------------------

    def _get(
        self, ids: Sequence[str], fields: Sequence[str] | None, read: Callable[[Any], T], *, everywhere: bool = False
    ) -> dict[str, T]:
        """Return what is read of documents as last written, by id. Ids that do not exist are left out.

        :param fields: to return; None for all.
        :param everywhere: of an alias, an id that search does not find is asked for in all indices; else in those down
            to the one before the write index: it may just have been written, before a rollover.
        """
        source, asked = self._sources(fields), list(ids)
        body: dict[str, Any] = {"ids": asked}
        if len(self.connection.indices) > 1 or self.connection.write_index is not None:
            # The server reads no documents by the name of several indices, and an alias may just have got another one.
            places, others = self._places(ids), list(self.connection.indices)
            if not everywhere and self.connection.write_index is not None:
                others = others[: others.index(self.connection.write_index) + 2]
            docs = [{"_id": id, "_index": index} for id in ids for index in ([places[id]] if id in places else others)]
            asked, body = [one["_id"] for one in docs], {"docs": docs}
        if not asked:
            return {}
        parameters = {} if fields is None else {"_source_includes": ",".join(fields)}
        if isinstance(source, dict):
            parameters = {"_source_exclude_vectors": "false"}

        def read_all(answer: Any) -> dict[str, T]:
            documents = answer["docs"]
            if [one["_id"] for one in documents] != asked:
                raise ValueError(f"other documents than the {len(asked)} that were asked for")
            # Of an id that is in several indices the newest one counts, which is asked first.
            return {one["_id"]: read(one) for one in reversed(documents) if not _is_gone(one) and one["found"]}

        return self.connection.send("POST", "_mget", body, parameters, index="ids" in body, read=read_all)

    def _newest(self, page: list[Stored]) -> list[Stored]:
        """Return the documents of a page. Of several with one id only the one in the newest index is returned."""
        if len(self.connection.indices) < 2:
            return page
        places = self._places([one.row.id for one in page])
        return [one for one in page if places.get(one.row.id) == one.row.version[2]]

    def _places(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the index of each document that search finds.

        If several documents have one id, the one in the newest index counts. A warning says so.
        """
        places: dict[str, str] = {}
        names: dict[str, set[str]] = {}
        for part in in_parts(ids if len(self.connection.indices) > 1 else (), LOOKED_UP):
            search = {"query": {"ids": {"values": part}}, "_source": False, "size": MOST_PLACES}
            hits = self.connection.send("POST", "_search", search, read=lambda answer: answer["hits"]["hits"])
            for hit in hits:
                names.setdefault(hit["_id"], set()).add(hit["_index"])
        for id, own in names.items():
            places[id], *others = [name for name in self.connection.indices if name in own]
            if others:
                self.connection.warn_once(
                    f"document {id!r} is in several indices, {places[id]} and {', '.join(others)}: that of "
                    f"{places[id]} counts; delete the others"
                )
        return places

    def _sources(self, fields: Sequence[str] | None) -> bool | list[str] | dict[str, bool]:
        """Return which fields of documents a search returns.

        A vector that is named is returned. Without names, a server that may leave vectors out is asked for them:
        Elasticsearch since 9.2.
        """
        if fields is not None:
            return list(fields) or False
        indices = self.connection.indices or mapping.read_indices(self.connection)
        may_leave_out = any("index.mapping.exclude_source_vectors" in index.settings for index in indices.values())
        return {"exclude_vectors": False} if may_leave_out else True

    def _bulk(
        self, operations: Mapping[str, Sequence[Any]], is_done: Callable[[Any], bool] = lambda document: False
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
        left = operations
        while left:
            busy: dict[str, SimhashError] = {}
            has_fault = False
            for id, result in self._results(left).items():
                status = result["status"]
                if result.get("result") == "noop" and "update" not in operations[id][0]:
                    refused[id] = "an ingest pipeline of the server dropped it"
                elif "error" not in result:  # also the removal of what is not there
                    versions[id] = version_of(result)
                elif status == 409:
                    conflicts.add(id)
                elif passes(result, status):
                    busy[id] = error_of(result, status, self.name)
                elif (fault := index_fault(result, status, self.name)) is not None:
                    index, write_index = result.get("_index"), self.connection.write_index
                    if write_index in (None, index):
                        raise fault
                    has_fault = True
                    refused[id] = str(index_fault(result, status, f"{self.name.rpartition('/')[0]}/{index}"))
                elif status == 404:
                    conflicts.add(id)
                else:
                    refused[id] = f"the server refused it: {reason_of(result)}"
            if has_fault:
                self.connection.describe_again()  # an index behind an alias may just have got a write block
            if busy and not waits.wait():
                raise next(iter(busy.values()))
            left = {id: operations[id] for id in busy}
        stored = self._get(
            sorted(conflicts), ["simhash", "seen"], lambda document: version_of(document) if is_done(document) else None
        )
        versions |= {id: version for id, version in stored.items() if version is not None}
        removed = {id for id in conflicts - stored.keys() if "delete" in operations[id][0]}
        return Written(refused, frozenset(conflicts - versions.keys() - removed), versions)

    def _results(self, operations: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Send operations, in several requests if one is too large for the server. Return the result of each."""
        ids, lines = list(operations), [line for lines in operations.values() for line in lines]

        def read(answer: Any) -> dict[str, Any]:
            results = [result for item in answer["items"] for result in item.values() if "status" in result]
            return dict(zip(ids, results, strict=True))

        try:
            return self.connection.send("POST", "_bulk", lines, read=read)
        except TooLarge as error:
            if len(ids) == 1:
                return {ids[0]: {"status": 413, "error": str(error)}}
            halves = ids[: len(ids) // 2], ids[len(ids) // 2 :]
            first, second = (self._results({id: operations[id] for id in half}) for half in halves)
            return first | second

    # --- the items that users have seen -----------------------------------------------------------------------------

    def read_users(self, users: Sequence[str]) -> dict[str, UserState]:
        """Return the states of users, also of those in an index that an alias just got."""

        def read() -> dict[str, UserState]:
            return self._get(
                users, ["seen"], lambda one: UserState(one["_source"].get("seen"), version_of(one)), everywhere=True
            )

        states, known = read(), self.connection.indices.keys()
        if self.connection.write_index is not None and len(states) < len(users):
            self.describe()
            states = states if self.connection.indices.keys() == known else read()
        return states

    def write_users(self, states: Mapping[str, UserState]) -> Written:
        """Write the state of each user, on its version, by a partial update: other fields of the document stay.

        The mark is that of this write alone: another program may write an equal state.
        """
        mark = token_hex(8)
        removed = [user for user, state in states.items() if state.seen is None]
        others = self._get(removed, None, lambda document: document["_source"].keys() - {"seen"}, everywhere=True)
        operations: dict[str, Any] = {}
        write_index = self.connection.write_index
        for user, state in states.items():
            fields = {"seen": state.seen and {**state.seen, "mark": mark}}
            if state.version is None:
                operations[user] = operation("create", user, None, write_index, fields)
            elif state.seen is None and not others.get(user):
                operations[user] = operation("delete", user, state.version, write_index)
            else:
                operations[user] = operation("update", user, state.version, write_index, {"doc": fields})

        def is_done(document: Any) -> bool:
            seen = document["_source"].get("seen")
            if states[document["_id"]].seen is None:
                return seen is None
            return isinstance(seen, dict) and seen.get("mark") == mark

        return self._bulk(operations, is_done)

    def list_users(self, time: SeenTime, before: int) -> Iterator[list[str]]:
        """Yield the users of whom one of the two times is before another one."""
        query = {"range": {f"seen.{time}": {"gt": 0, "lt": before}}}
        search = {"query": query, "_source": False, "track_total_hits": False}
        yield from pages(self.connection, search, itemgetter("_id"))


def _is_gone(document: Any) -> bool:
    """Return whether a document was asked for in an index that was deleted meanwhile."""
    return bool(document.get("error", {}).get("type") == "index_not_found_exception")


def _query(scan: Scan) -> dict[str, Any]:
    """Return the query for the documents of a Scan."""
    filters: list[Any] = [] if scan.filter is None else [scan.filter]
    if scan.missing is not None:
        has_digest = {"exists": {"field": "simhash.digest"}}
        filters.append({"bool": {"must_not": has_digest}} if scan.missing else has_digest)
    if scan.pinned:
        filters.append({"term": {"simhash.pinned": True}})
    if scan.since is not None:
        filters.append({"range": {"simhash.written": {"gte": scan.since}}})
    return {"bool": {"filter": filters}}
