"""SECURITY.md says what the code does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from es_simhash.bloom.seen import MAX_FORGOTTEN, MAX_USER
from es_simhash.bloom.sizing import MAX_BITS
from es_simhash.deciding.write import REFUSED_ALIKE
from es_simhash.fingerprinting.normalisation import MARKS_IN_A_ROW, MAX_TEXT
from es_simhash.ingest.batches import BATCH
from es_simhash.ingest.reader import MAX_ID, MAX_SOURCE
from es_simhash.lines import MAX_LINE
from es_simhash.retries import DEADLINE
from es_simhash.stores.elasticsearch.index import Limits
from es_simhash.stores.elasticsearch.responses import MOST_BYTES

ROOT = Path(__file__).parents[1]
POLICY = (ROOT / "SECURITY.md").read_text()
BULK_OPERATIONS = {"index", "create", "update", "delete"}


def rows(title: str) -> list[list[str]]:
    """Return the rows of the table below a title."""
    part = POLICY.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"][2:]


def requests_of_the_code() -> set[str]:
    """Return the requests that the Elasticsearch store sends: the method, and the first word of the path."""
    found = set()
    for path in (ROOT / "es_simhash" / "stores" / "elasticsearch").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr == "search" and "index" in ast.unparse(node.func.value):
                found.add("POST _search")
            elif node.func.attr == "send" and isinstance(node.args[0], ast.Constant):
                method, action = node.args[:2]
                if isinstance(action, ast.Name):
                    continue  # in Index.search
                where = "_pit" if "points" in ast.unparse(action) else ast.unparse(action).strip("f\"'").split("/{")[0]
                where = where.partition("/index.")[0]
                found.add(f"{method.value} {where.removeprefix('/')}".strip())
    return found - {"GET"}  # of the server, not of an index


def test_the_policy_names_every_request_and_its_privilege() -> None:
    first = [row[0] for row in rows("Privileges")]
    named = {name for cell in first for name in re.findall(r"`([\w./*, ]+)`", cell)}
    assert named >= BULK_OPERATIONS
    assert named - BULK_OPERATIONS == requests_of_the_code()


def test_the_policy_names_the_limits_of_the_code() -> None:
    limits = [
        *(MAX_TEXT, MAX_SOURCE, MAX_LINE, MAX_ID, MAX_USER, MOST_BYTES, BATCH, Limits.most_hits, MARKS_IN_A_ROW),
        *(MAX_FORGOTTEN, MAX_BITS, REFUSED_ALIKE, int(DEADLINE)),
    ]
    assert [int(row[1].replace(",", "")) for row in rows("Limits")] == limits
