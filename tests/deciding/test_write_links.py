"""Links that another program computed are written as ``group`` writes its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, SchemeMismatch
from es_simhash.contract import Link
from es_simhash.errors import InputError
from es_simhash.fingerprinting.scheme import DEFAULT
from tests.contract import LinearStore
from tests.contract.documents import entry, scan, write

if TYPE_CHECKING:
    from es_simhash.contract import Row, Store


def link(row: Row, group: Row, original: Row | None) -> dict[str, Any]:
    """Return the link of a document as the Spark job writes it."""
    return {
        "id": row.id,
        "group": group.id,
        "duplicate_of": None if original is None else original.id,
        "version": json.dumps(row.version),
        "digest": row.digest,
        "group_digest": group.digest,
        "original_digest": None if original is None else original.digest,
        "scheme": DEFAULT.version,
        "order": "written",
    }


def chain(store: Store) -> list[dict[str, Any]]:
    """Write four documents in a chain, and return the links that ``group`` would write."""
    write(store, *(entry(id, value) for id, value in {"a": 0, "b": 0b11, "c": 0b1111, "far": 1 << 63 | 0xFF00}.items()))
    rows = {row.id: row for row in Documents(store).export()}
    right = {"a": ("a", None), "b": ("a", "a"), "c": ("a", "b"), "far": ("far", None)}
    return [link(rows[id], rows[group], rows.get(original or "")) for id, (group, original) in right.items()]


def stored_links(store: Store) -> dict[str, tuple[str, str | None]]:
    return {row.id: (row.group, row.duplicate_of) for row in scan(store)}


def test_the_links_are_written_and_a_second_call_changes_nothing(store: Store) -> None:
    links = chain(store)
    report = Documents(store).write_links(links, rule=DuplicateRule("fingerprint", max_distance=2))
    assert (report.documents, report.changed, report.conflicts) == (4, 2, 0)
    assert stored_links(store) == {"a": ("a", None), "b": ("a", "a"), "c": ("a", "b"), "far": ("far", None)}
    again = Documents(store).write_links(links, rule=DuplicateRule("fingerprint", max_distance=2))
    assert (again.changed, again.conflicts) == (0, 0)
    assert Documents(store).group(rule=DuplicateRule("fingerprint", max_distance=2)).changed == 0


def test_a_document_that_was_changed_since_stays_and_links_to_it_are_repaired(store: Store) -> None:
    links = chain(store)
    write(store, entry("b", 1 << 40 | 0xFF0000, digest="another text"))
    report = Documents(store).write_links(links, rule=DuplicateRule("fingerprint", max_distance=2))
    assert (report.documents, report.changed, report.conflicts) == (4, 1, 1)
    assert stored_links(store)["b"] == ("b", None)
    assert stored_links(store)["c"] == ("c", None)


def test_a_document_that_was_removed_since_is_a_conflict(store: Store) -> None:
    links = chain(store)
    store.remove(("a",))
    report = Documents(store).write_links(links, rule=DuplicateRule("fingerprint", max_distance=2))
    assert (report.changed, report.conflicts) == (2, 1)
    assert stored_links(store) == {"b": ("b", None), "c": ("b", "b"), "far": ("far", None)}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"version": None}, InputError, "document 1: no version: a link has the fields id, group, duplicate_of"),
        (
            {"group": 7},
            InputError,
            "document 1: the fields id, group, duplicate_of, version, digest, group_digest, original_digest, scheme, "
            "order are strings",
        ),
        ({"version": "[1"}, InputError, r"document 1: the version '\[1' is not one of `es-simhash export`"),
        ({"duplicate_of": "b"}, InputError, "document 1: no original_digest: a link has the fields id, group"),
        (
            {"order": "day"},
            InputError,
            r"document 1: the link was computed by the order 'day', and a store needs the order 'written': group again "
            r"by that order \(order='written'\)",
        ),
        ({"scheme": "1:128"}, SchemeMismatch, "document 1: the link is of Scheme 1:128, the store has 1:64:sqrt_tf"),
    ],
)
def test_a_link_that_cannot_be_used_is_named_before_anything_is_written(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    store = LinearStore()
    store.set_up(DEFAULT)
    links = chain(store)
    before = stored_links(store)
    with pytest.raises(error, match=message):
        Documents(store).write_links([links[0] | change, *links[1:]], rule=DuplicateRule("fingerprint", max_distance=2))
    assert stored_links(store) == before
    with pytest.raises(InputError, match="document 1: not an object"):
        Documents(store).write_links([["a"]], rule="fingerprint")


def test_a_document_that_another_program_changes_while_links_are_written_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = chain(store)
    relink = store.relink
    changed = [entry("c", 1 << 40 | 0xFF0000, digest="another text")]

    def other_program_first(links: Any) -> set[str]:
        if changed:
            write(store, changed.pop())
        return relink(links)

    monkeypatch.setattr(store, "relink", other_program_first)
    report = Documents(store).write_links(links, rule=DuplicateRule("fingerprint", max_distance=2))
    assert (report.changed, report.conflicts) == (1, 1)
    assert stored_links(store) == {"a": ("a", None), "b": ("a", "a"), "c": ("c", None), "far": ("far", None)}


def test_a_call_that_was_interrupted_before_the_repair_is_repeated(store: Store) -> None:
    links = chain(store)
    write(store, entry("b", 1 << 40 | 0xFF0000, digest="another text"))
    relinked = {"c": Link("a", "b", next(row.version for row in scan(store) if row.id == "c"))}
    assert not store.relink(relinked)
    report = Documents(store).write_links(links, rule=DuplicateRule("fingerprint", max_distance=2))
    assert (report.changed, report.conflicts) == (0, 1)
    assert stored_links(store)["c"] == ("c", None)
