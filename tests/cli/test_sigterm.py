"""SIGTERM while a command waits for the server: it ends with what it has done, and the same command completes it."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, DuplicateRule
from tests.cli import COMMAND, environment, es_simhash
from tests.es_node.proxy import Drop, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.es_node.proxy import Request

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

NOBODY = {"ids": {"values": ["nobody"]}}
"""A filter that no document matches."""


class Stall:
    """A rule of a proxy: from one request on the server answers nothing until it is released.

    :param part: a part of the body, or of the path, of the requests that count.
    :param after: so many of them are answered.
    """

    def __init__(self, part: bytes, after: int) -> None:
        self.reached, self.released = threading.Event(), threading.Event()
        self._part, self._left = part, after

    def __call__(self, request: Request) -> Drop | None:
        if self.released.is_set() or not (self._part in request.body or self._part in request.path.encode()):
            return None
        self._left -= 1
        if self._left >= 0:
            return None
        self.reached.set()
        self.released.wait(60)
        return Drop(done=False)


@dataclass(frozen=True)
class Case:
    """A command, and where it stalls.

    :param pairs: of documents with one text that are stored before.
    :param linked: they are linked to each other.
    :param part: as for Stall.
    :param command: STORE stands for the address of the store, if it is not that of --store.
    :param says: the end of the last line on standard error.
    :param prepare: what is done before, with the folder of the command.
    :param counts: a pattern of what is printed, too.
    :param again: the exit code of the next run.
    """

    command: tuple[str, ...]
    pairs: int
    part: bytes
    after: int
    says: str = ""
    linked: bool = True
    prepare: Callable[[Documents, Path], object] = lambda documents, folder: None
    counts: str = ""
    again: int = 0


def replaced(documents: Documents, folder: Path) -> None:
    """Another program writes the documents again, without our fields."""
    lines = [line for n in range(500) for line in ({"index": {"_id": str(n)}}, {"text": f"第{n}条"})]
    url, _, index = documents.name.rpartition("/")
    with Elasticsearch(url) as client:
        client.bulk(index=index, operations=lines, refresh=True)


def removed(documents: Documents, folder: Path) -> None:
    documents.remove_duplicates(documents.duplicates(), save=str(folder / "saved.jsonl"))


IDS = tuple(str(number) for number in range(1_100))
CASES = {
    "group": Case(
        ("group",),
        1_100,
        b'"doc":{"simhash":{"group"',
        1,
        "the links of 1,000 documents were written, and those of 100 were not: group again",
        linked=False,
    ),
    "group, while it reads": Case(("group",), 10, b"keep_alive", 0, "no links were written: group again"),
    "remove": Case(
        ("remove", *IDS),
        600,
        b'{"delete"',
        1,
        "1,000 of 1,100 documents removed so far: remove all of them again",
        again=3,
    ),
    "remove --matching": Case(
        ("remove", "--matching", '{"exists": {"field": "text"}}', "--everything"),
        600,
        b'{"delete"',
        1,
        "1,000 documents removed so far: remove the others again",
    ),
    "remove --duplicates": Case(
        ("remove", "--duplicates", "--yes"),
        600,
        b'{"delete"',
        1,
        "500 documents were removed: remove the other duplicates again",
    ),
    "restore": Case(
        ("restore", "saved.jsonl"),
        250,
        b'{"create"',
        2,
        "200 documents are stored again: restore the same file again",
        prepare=removed,
    ),
    "report": Case(
        ("report", "--title-field", "headline"),
        10,
        b"headline",
        0,
        "report.html has a part of the report: run the command again",
    ),
    "export": Case(("export",), 10, b"keep_alive", 0, "0 documents exported, others are missing: export again"),
    "similar": Case(("similar", "市气象台今晨发布暴雨橙色预警"), 10, b"_msearch", 0),
    "backfill": Case(
        ("backfill", "--batch-size", "100", "--workers", "0"),
        250,
        b"_bulk",
        2,
        prepare=replaced,
        counts=r"200 documents in .*\n  new +200\n",
    ),
    "dedupe": Case(
        ("dedupe", "log.jsonl", "--text-field", "user", "--against", "STORE", "--workers", "0"),
        10,
        b"_msearch",
        8,
        counts=r"[0-9]+ documents in ",
    ),
    "seen add": Case(
        ("seen", "add", "log.jsonl"), 0, b"_bulk", 10, counts="5,100 lines, 5,000 items, 5,000 not seen before"
    ),
}
READ_AHEAD = ("backfill", "dedupe")
"""They say that they finish what they have read."""


@pytest.mark.parametrize("name", CASES)
def test_sigterm_ends_a_command_with_what_it_has_done(
    name: str, elasticsearch_url: str, index_name: str, tmp_path: Path
) -> None:
    case = CASES[name]
    (tmp_path / "log.jsonl").write_text("".join(f'{{"user": "{n}", "items": [1]}}\n' for n in range(5_100)))
    if case.pairs:
        texts = [f"第{n * 7919}号列车{n * 104729}次晚点{n * 1299709}分" for n in range(case.pairs)]
        given = [{"id": str(n), "text": texts[n // 2]} for n in range(2 * case.pairs)]
        with Documents(f"{elasticsearch_url}/{index_name}") as documents:
            documents.setup(rule=DuplicateRule("exact", text_field="text"), id_field="id")
            filter = None if case.linked else NOBODY
            assert sum(each.stored for each in documents.ingest(given, filter=filter)) == len(given)
            case.prepare(documents, tmp_path)
    else:
        assert es_simhash("seen", "init", "--store", f"{elasticsearch_url}/{index_name}", cwd=tmp_path).code == 0
    stall = Stall(case.part, case.after)
    with Proxy(elasticsearch_url, stall) as proxy:
        store = f"{proxy.url}/{index_name}"
        command = [each.replace("STORE", store) for each in case.command]
        command += [] if "STORE" in case.command else ["--store", store]
        try:
            code, out, err, seconds = terminated(command, tmp_path, stall)
        finally:
            stall.released.set()
        assert (code, seconds < 15) == (143, True)
        assert err.splitlines()[-1] == f"es-simhash: interrupted{case.says and '; '}{case.says}"
        assert ("finishing the documents" in err) == (name in READ_AHEAD)
        assert re.search(case.counts, out + err)
        assert es_simhash(*command, cwd=tmp_path).code == case.again


def terminated(command: list[str], folder: Path, stall: Stall) -> tuple[int, str, str, float]:
    """Send SIGTERM to a command when it stalls. Return its exit code, its output, and how long it took to end."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with subprocess.Popen([*COMMAND, *command], cwd=folder, env=environment(), text=True, **pipes) as process:
        try:
            assert stall.reached.wait(40), "it ends before"
            started = time.monotonic()
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=40)
        finally:
            process.kill()
    return process.returncode, out, err, time.monotonic() - started
