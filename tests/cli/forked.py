"""Start the command by forking a process that has imported it already: the same command, without the half second.

Run as a program it is that process. It reads lines of JSON, each a command to run: its arguments, its folder, its
environment, and the files that are its standard streams; and answers each with the exit code.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from typing import Any, TextIO

TIMEOUT = 60


def serve() -> None:
    import elasticsearch
    import opensearchpy

    from es_simhash import fingerprint
    from es_simhash.cli import cli

    fingerprint("市气象台发布暴雨橙色预警")  # loads the dictionary
    assert all([*cli.commands.values(), elasticsearch, opensearchpy])  # each command is imported when it is looked at
    gc.freeze()
    for line in sys.stdin:
        command = json.loads(line)
        child = os.fork()
        if not child:
            _become(command)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(command: dict[str, Any]) -> None:
    """Be the command, as the interpreter would have started it; never returns."""
    code = 1
    try:
        signal.alarm(TIMEOUT)
        os.chdir(command["cwd"])
        os.environ.clear()
        os.environ.update(command["env"])
        for number, (name, path) in enumerate(zip(("stdin", "stdout", "stderr"), command["streams"], strict=True)):
            opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY)
            os.dup2(opened, number)
            os.close(opened)
            setattr(sys, name, _stream(name, number))
        sys.argv = command["argv"]
        from es_simhash.cli import main

        main()
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _stream(name: str, number: int) -> TextIO:
    errors = "backslashreplace" if name == "stderr" else "strict"
    return open(number, "r" if name == "stdin" else "w", encoding="utf-8", errors=errors, closefd=False)


if __name__ == "__main__":
    serve()
