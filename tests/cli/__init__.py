"""The real command, run as a user runs it: in a process of its own, in an empty folder, with a clean environment."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "es_simhash"]

STORM = (
    "市气象台今晨六时发布暴雨橙色预警，预计未来三小时城区及东部山区降雨量将超过五十毫米，局部地区伴有雷电和短时大风。"
    "应急管理局提醒居民尽量避免外出，远离低洼路段、河道和山洪沟口，地下车库和下穿隧道的管理单位要备好沙袋和水泵。"
    "全市中小学和幼儿园今天停课，轨道交通正常运营，部分公交线路临时绕行，具体调整可在客户端查询。"
)
STORM_NEAR = STORM.replace("幼儿园", "托儿所")  # within 3 bits
STORM_FARTHER = STORM.replace("橙色", "红色")  # within 7
STORM_FARTHEST = STORM.replace("局部地区", "个别地区")  # within 7, and farther
HARVEST = (
    "县农业农村局昨天公布秋收进度，全县十二万亩水稻已收割九成，烘干中心二十四小时运转，合作社请来跨区作业的收割机手，"
    "粮库敞开收购，农户凭身份证和银行卡现场结算，往年排队过夜的情形没有再出现。"
)


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> list[dict[str, Any]]:
        """The lines of standard output, which must all be JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(**more: str) -> dict[str, str]:
    """The caller's environment, without what would name a store."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("ELASTIC")}
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**ours, "PYTHONPATH": paths, **more}


def es_simhash(
    command: str,
    *arguments: str | os.PathLike[str],
    cwd: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    out: str | None = None,
    err: str | None = None,
) -> Done:
    """Run the command to its end; it never shows a traceback, whatever it is given.

    With an environment of its own it is started anew, else forked from a process that has imported it.

    :param command: its first words, with spaces between them, such as ``ingest --json``; empty for none.
    :param out: standard output goes to this device, and not into the result.
    :param err: the same for standard error.
    """
    words = [*command.split(), *map(os.fspath, arguments)]
    if env is not None:
        done = subprocess.run(
            [*COMMAND, *words], input=stdin, capture_output=True, cwd=cwd, env=environment(**env), timeout=60
        )
        result = Done(done.returncode, done.stdout.decode(), done.stderr.decode())
    else:
        result = _forked(words, cwd, stdin, (out, err))
    assert "Traceback" not in result.err, result.err
    return result


def _forked(
    arguments: list[str], cwd: Path, stdin: bytes, devices: tuple[str | None, str | None] = (None, None)
) -> Done:
    server = _server(threading.get_ident())
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        streams = [os.path.join(folder, name) for name in ("in", "out", "err")]
        for path, content in zip(streams, (stdin, b"", b""), strict=True):
            Path(path).write_bytes(content)
        used = [streams[0], *(device or path for device, path in zip(devices, streams[1:], strict=True))]
        command = {"argv": ["es-simhash", *arguments], "cwd": str(cwd), "env": environment(), "streams": used}
        server.stdin.write(json.dumps(command).encode() + b"\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, err = (Path(path).read_bytes().decode() for path in streams[1:])
    return Done(code, out, err)


@cache
def _server(thread: int) -> subprocess.Popen[bytes]:
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.forked"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
    )
    atexit.register(server.communicate)  # it ends with its input
    return server


def complaint(done: Done, code: int = 1) -> str:
    """The one line in which a command says why it did nothing."""
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("es-simhash: ")
    assert done.err.count("\n") == 1, done.err
    return done.err.strip()


def line(id: Any, text: Any = STORM, **more: Any) -> bytes:
    """A document as a line of JSON."""
    return json.dumps({"id": id, "text": text, **more}, ensure_ascii=False).encode() + b"\n"
