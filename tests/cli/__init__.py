"""The command, run in an empty folder with a clean environment: its exit code, and what it prints."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from array import array
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from es_simhash import Documents
from es_simhash.cli import main
from tests import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COMMAND = [sys.executable, "-m", "es_simhash"]

STORM = (
    "市气象台今晨六时发布暴雨橙色预警，预计未来三小时城区及东部山区降雨量将超过五十毫米，局部地区伴有雷电和短时大风。"
    "应急管理局提醒居民尽量避免外出，远离低洼路段、河道和山洪沟口，地下车库和下穿隧道的管理单位要备好沙袋和水泵。"
    "全市中小学和幼儿园今天停课，轨道交通正常运营，部分公交线路临时绕行，具体调整可在客户端查询。"
)
STORM_NEAR = STORM.replace("幼儿园", "托儿所")  # within 3 bits
STORM_FARTHER = STORM.replace("橙色", "重大")  # within 7
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
    alone: bool = False,
) -> Done:
    """Run the command to its end; it never shows a traceback, whatever it is given.

    It runs in this process, or in one of its own: if it is to be ``alone``, or its output goes to a device.

    :param command: its first words, with spaces between them, such as ``ingest --json``; empty for none.
    :param out: standard output goes to this device, and not into the result.
    :param err: the same for standard error.
    """
    words = [*command.split(), *(os.fspath(argument) for argument in arguments)]
    alone = alone or out is not None or err is not None
    if alone or threading.current_thread() is not threading.main_thread():
        result = _started(words, cwd, stdin, env or {}, out, err)
    else:
        result = _called(words, cwd, stdin, env or {})
    assert "Traceback" not in result.err, result.err
    return result


def _called(words: list[str], cwd: Path, stdin: bytes, env: Mapping[str, str]) -> Done:
    outputs = io.BytesIO(), io.BytesIO()
    buffers: list[Any] = [io.BufferedReader(io.BytesIO(stdin)), *outputs]
    streams = [io.TextIOWrapper(buffer, encoding="utf-8") for buffer in buffers]
    handlers = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        for name in [name for name in os.environ if name.startswith("ELASTIC")]:
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["es-simhash", *words])
        patch.setattr(logging.root, "handlers", [])  # pytest's: so warnings are printed
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        try:
            with pytest.raises(SystemExit) as exit:
                main()
        finally:
            for number, handler in handlers:
                signal.signal(number, handler)
    for stream in streams[1:]:
        stream.flush()
    out, err = (output.getvalue().decode() for output in outputs)
    return Done(int(exit.value.code or 0), out, err)


def _started(
    words: list[str], cwd: Path, stdin: bytes, env: Mapping[str, str], out: str | None, err: str | None
) -> Done:
    with ExitStack() as stack:
        devices: list[Any] = [
            subprocess.PIPE if name is None else stack.enter_context(open(name, "wb")) for name in (out, err)
        ]
        done = subprocess.run(
            [*COMMAND, *words],
            input=stdin,
            stdout=devices[0],
            stderr=devices[1],
            cwd=cwd,
            env=environment(**env),
            timeout=60,
        )
    return Done(done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode())


def wait_until_read(process: subprocess.Popen[Any]) -> None:
    """Wait until a command has read what was written to its input, and waits for more."""
    import termios
    from fcntl import ioctl

    assert process.stdin is not None
    process.stdin.flush()
    left = array("i", [1])
    while left[0] or psutil.Process(process.pid).status() != psutil.STATUS_SLEEPING:
        time.sleep(0.02)
        ioctl(process.stdin, termios.FIONREAD, left)


def complaint(done: Done, code: int = 1) -> str:
    """The one line in which a command says why it did nothing."""
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("es-simhash: ")
    assert done.err.count("\n") == 1, done.err
    return done.err.strip()


def links(address: str) -> dict[str, str | None]:
    """What each document of a store is a copy of."""
    with Documents(address) as documents:
        return {row.id: row.duplicate_of for row in documents.export()}


def line(id: Any, text: Any = STORM, **more: Any) -> bytes:
    """A document as a line of JSON."""
    return json.dumps({"id": id, "text": text, **more}, ensure_ascii=False).encode() + b"\n"
