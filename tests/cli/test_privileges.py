"""A user with few privileges, on a real node: a proxy refuses each request whose privilege in SECURITY.md is not given.

The nodes of the tests have no security module. So this does not test which privilege a request needs; it tests that the
commands send no other requests than the table says, and what they do if one is refused.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from es_simhash import Documents
from tests import ROOT
from tests.cli import STORM, STORM_NEAR, complaint, es_simhash, line
from tests.es_node.proxy import Answer, Proxy, operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.es_node.proxy import Request

pytestmark = pytest.mark.elasticsearch

INGEST_KEY = {"read", "index", "view_index_metadata", "maintenance"}
"""The privileges of the API key in SECURITY.md."""
DENIED = Answer(403)


@cache
def privileges() -> dict[str, str]:
    """The privilege of each request, as ``GET _mapping``, and of each operation of a bulk request."""
    table = Path(ROOT / "SECURITY.md").read_text(encoding="utf-8").split("\n## Privileges\n")[1]
    found = {}
    for row in re.findall(r"^\| (`.*?) \| (.*?) \|", table, re.MULTILINE):
        privilege = re.sub("`", "", row[1])
        for name in re.findall(r"`([\w./*, ]+)`", row[0]):
            found[name] = privilege
    return found


def needed(request: Request) -> set[str]:
    """The privileges that a request needs."""
    if request.verb == "_bulk":
        return {privileges()[kind] for kind, _, _ in operations(request.body)}
    words = [word for word in urlsplit(request.path).path.split("/") if word]
    own = next((number for number, word in enumerate(words) if word.startswith("_")), None)
    if own is None:
        return {privileges()[request.method]} if words else {"monitor of the cluster"}
    asked = "/".join(words[own:])
    [name] = [
        name
        for name in privileges()
        if f"{request.method} {asked}/".startswith(f"{name.replace('/*', '')}/") and name.startswith(request.method)
    ]
    return {privileges()[name]}


class User:
    """A rule of a proxy: the requests of a user with these privileges.

    :param refused: the requests that were refused.
    """

    def __init__(self, granted: set[str]) -> None:
        self.granted = granted
        self.refused: list[str] = []

    def __call__(self, request: Request) -> Answer | None:
        if {"none"} >= needed(request) - self.granted:
            return None
        self.refused.append(f"{request.method} {request.verb}")
        return DENIED


@pytest.fixture
def user() -> User:
    return User(INGEST_KEY)


@pytest.fixture
def store(elasticsearch_url: str, index_name: str, user: User) -> Iterator[str]:
    """An index that an administrator has set up, as the user reaches it."""
    with Documents(f"{elasticsearch_url}/{index_name}") as documents:
        documents.setup()
    with Proxy(elasticsearch_url, user) as proxy:
        yield f"{proxy.url}/{index_name}"


def command(store: str, folder: Path, *arguments: str) -> Any:
    (folder / "news.jsonl").write_bytes(line("a") + line("b", STORM_NEAR) + line("c", "第三条新闻说的是别的事情"))
    return es_simhash(*arguments, "--store", store, cwd=folder)


def test_the_key_of_the_policy_is_enough_for_an_ingest_and_what_reads(store: str, user: User, tmp_path: Path) -> None:
    done = command(store, tmp_path, "ingest", "news.jsonl", "--workers", "0")
    assert (done.code, user.refused) == (0, [])
    assert "b  near-duplicate of a" in done.out
    user.refused.clear()
    for arguments in (["similar", STORM], ["report"], ["report", "--json"], ["group"]):
        done = command(store, tmp_path, *arguments)
        assert (done.code, done.err, user.refused) == (0, "", []), arguments
    done = command(store, tmp_path, "backfill", "--again", "--workers", "0")
    assert (done.code, user.refused) == (0, []), done.err


@pytest.mark.parametrize(
    "arguments", [["remove", "c"], ["remove", "--yes", "--matching", '{"ids": {"values": ["c"]}}']]
)
def test_a_missing_privilege_is_one_line_and_nothing_is_removed(
    store: str, user: User, tmp_path: Path, arguments: list[str]
) -> None:
    command(store, tmp_path, "ingest", "news.jsonl", "--workers", "0")
    said = complaint(command(store, tmp_path, *arguments))
    assert "add the privilege" in said
    assert re.search("0 .*removed so far", said)
    assert command(store, tmp_path, "similar", "第三条新闻说的是别的事情").out == "c  exact duplicate\n"


def test_doctor_says_what_it_may_not_see(store: str, user: User, tmp_path: Path) -> None:
    done = command(store, tmp_path, "doctor")
    assert user.refused
    assert "not tried" in done.out
    assert "Traceback" not in done.err
