"""The tables of permissions in docs/, on servers with users: a row suffices, and an error names what is missing."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from fnmatch import fnmatch
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import pytest

from es_simhash import Documents, SeenItems
from tests import ROOT
from tests.cli import STORM, STORM_NEAR, Done, complaint, es_simhash, line
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, require_own_node
from tests.es_node.node import SECURED, Node, running_node
from tests.es_node.secured import PASSWORD, Users

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NEWS = "第三条新闻说的是别的事情"
COMMANDS = {
    "`init`, `seen init` of a new index": ["init", "seen init"],
    "`init`, `seen init` of an index without the fields; `init` with another rule": [
        "plain: init --text-field body",
        "plain: seen init",
        "news: init --rule fingerprint",
    ],
    "`backfill --text-field` of an index without the fields": ["plain: backfill --text-field body --workers 0"],
    "`similar`, `seen unseen`, `seen show`, `serve` without changes": [
        f"news: similar {NEWS}",
        "users: seen unseen --user ann news-1",
        "users: seen show --user ann",
    ],
    "`report`, `evaluate --sample`, the other store of `ingest`": ["news: report", "news: evaluate --sample 3"],
    "`ingest`, `backfill`, `group`": [
        "news: ingest news.jsonl --workers 0",
        "texts: backfill --text-field body --workers 0",
        "news: group",
    ],
    "`remove`": ["news: remove a"],
    "`seen add`, `seen forget`": ["users: seen add --user ann news-2", "users: seen forget --user ann news-1"],
    "`seen remove --user`": ["users: seen remove --user ann", "users: seen remove --user bob"],
    "`seen rotate`": ["users: seen rotate"],
    "`seen remove --inactive`": ["old users: seen remove --inactive 1h"],
}
"""The commands of each row of the tables, and what is in the index before."""


class Row(NamedTuple):
    """A row of a table.

    :param commands: the first cell.
    :param cluster: the privileges on the cluster.
    :param indices: the privileges on the index.
    """

    commands: str
    cluster: list[str]
    indices: list[str]

    def without(self, privilege: str) -> Row:
        return Row(self.commands, *([each for each in part if each != privilege] for part in self[1:]))


def table(page: str) -> list[Row]:
    """The rows of the table of permissions of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    [rows] = re.findall(r"^(?:\|---)+\|\n((?:\| (?:`init|新建).*\n)(?:\| .*\n)+)", text, re.MULTILINE)
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()]
    return [Row(row[0], *(re.findall("`(.*?)`", cell) for cell in ["", *row[1:]][-2:])) for row in cells]


PAGES = {"elasticsearch": "operation.md", "opensearch": "opensearch.md"}


@pytest.mark.parametrize("page", PAGES.values())
def test_the_pages_of_both_languages_name_the_same_permissions(page: str) -> None:
    rows = table(page)
    assert [row[1:] for row in table(f"zh/{page}")] == [row[1:] for row in rows]
    assert [row.commands for row in rows] == list(COMMANDS)


def cases(product: str) -> Iterator[object]:
    marks = [getattr(pytest.mark, product), pytest.mark.nightly]
    for row in table(PAGES[product]):
        for without in ("", *row.cluster, *row.indices):
            yield pytest.param(
                product, row, without, marks=marks, id=f"{product} {row.commands} without {without or 'none'}"
            )


@pytest.fixture(scope="module")
def secured_nodes() -> Iterator[Callable[[str], Node]]:
    """Returns the node of a product. It is started when it is first asked for."""
    with ExitStack() as stack:

        @cache
        def node(product: str) -> Node:
            require_own_node(SECURED[product])
            return stack.enter_context(running_node(SECURED[product]))

        yield node


@pytest.fixture
def world(secured_nodes: Callable[[str], Node], tmp_path: Path) -> Callable[[str], World]:
    (tmp_path / "news.jsonl").write_bytes(line("a") + line("d", STORM_NEAR) + line("e", NEWS))
    return lambda product: World(secured_nodes(product), tmp_path)


class World(NamedTuple):
    """A secured node, and a folder in which commands run."""

    node: Node
    folder: Path

    def prepare(self, kind: str) -> str:
        """Make an index as an administrator does. Return its name."""
        users, name = Users(self.node), f"test-{uuid4().hex[:12]}"
        address, tls = f"{users.admin}/{name}", str(self.node.certificate)
        if kind in ("plain", "texts"):
            users.ask("PUT", f"/{name}/_doc/a?refresh=true", {"body": STORM})
        if kind == "texts":
            assert es_simhash("init --text-field body --store", address, "--ca-certs", tls, cwd=self.folder).code == 0
        if kind == "news":
            with Documents(address, ca_certs=tls) as documents:
                documents.setup()
                documents.add_many(
                    [{"id": "a", "text": STORM}, {"id": "b", "text": STORM_NEAR}, {"id": "c", "text": NEWS}]
                )
        if kind.endswith("users"):
            users.ask("PUT", f"/{name}/_doc/bob?refresh=true", {"name": "Bob"})
            past = int(time.time()) - (7200 if kind == "old users" else 0)
            with SeenItems(address, generations=2, ca_certs=tls) as seen, pytest.MonkeyPatch.context() as patch:
                patch.setattr("es_simhash.client.seen._now", lambda: past)
                seen.setup()
                seen.add_many({"ann": ["news-1"], "bob": ["news-1"]})
        return name

    def run(self, store: str, command: str) -> Done:
        return es_simhash(command, "--store", store, "--ca-certs", str(self.node.certificate), cwd=self.folder)


@pytest.mark.parametrize(("product", "row", "without"), [*cases("elasticsearch"), *cases("opensearch")])
def test_a_row_alone_suffices_and_each_of_its_privileges_is_needed(
    product: str, row: Row, without: str, world: Callable[[str], World]
) -> None:
    here, left = world(product), row.without(without)
    commands = [command.rpartition(": ") for command in COMMANDS[row.commands]]
    indices = [here.prepare(kind) for kind, _, _ in commands]
    user = Users(here.node).add(left.cluster, left.indices, indices)
    done = [here.run(f"{user}/{index}", words) for index, (_, _, words) in zip(indices, commands, strict=True)]
    said = [each.err for each in done if each.code]
    assert bool(said) == bool(without), said
    for err in said:
        assert names(err, without), err


def names(err: str, privilege: str) -> bool:
    """Whether an error names a privilege that is missing."""
    if granted_by := re.search(r"granted by the (?:index|cluster) privileges \[(.*?)\]", err):  # Elasticsearch
        return privilege in granted_by[1].split(",")
    [action] = re.findall(r"no permissions for \[(\S*?)\]", err)  # OpenSearch
    return any(fnmatch(action, pattern) for pattern in GROUPS.get(privilege, [privilege]))


GROUPS = {
    "read": ["indices:data/read*"],
    "crud": ["indices:data/*"],
    "cluster_composite_ops": ["indices:data/*"],
    "cluster_composite_ops_ro": ["indices:data/read/*"],
}
"""What each action group of OpenSearch permits, as far as it matters here."""


@pytest.mark.nightly
@pytest.mark.parametrize("product", [ELASTICSEARCH, OPENSEARCH])
def test_tls_and_credentials_are_checked(product: str, world: Callable[[str], World]) -> None:
    here = world(product)
    users, name = Users(here.node), here.prepare("news")
    refused = complaint(es_simhash("similar", NEWS, "--store", f"{users.admin}/{name}", cwd=here.folder))
    assert re.search("the TLS connection failed .*name the file of the authority's certificate", refused)
    plain = f"{users.admin}/{name}".replace("https:", "http:")
    assert "https" in complaint(es_simhash("similar", NEWS, "--store", plain, cwd=here.folder))
    stranger = users.admin.replace(f":{PASSWORD}@", ":another@")
    assert "does not take these credentials" in complaint(here.run(f"{stranger}/{name}", f"similar {NEWS}"))
