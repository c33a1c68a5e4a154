"""The image of docker/Dockerfile, built by scripts/image-test. In it the command is process 1 and has no rights."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from es_simhash import Documents
from tests.cli import STORM

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.image, pytest.mark.slow, pytest.mark.nightly]
NEWS = Path(__file__).resolve().parents[1] / "examples" / "news.jsonl"
OUTCOMES = {"a": "new", "b": "exact_duplicate", "c": "near_duplicate", "d": "new"}


class Image:
    """Runs the image's command with a folder as /data, as `docker run` does."""

    def __init__(self, container: str, entrypoint: list[str], folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[str]] = []
        self._container = container
        self._entrypoint = entrypoint

    def start(self, *arguments: str, user: str = "", read_only: bool = False) -> subprocess.Popen[str]:
        os.chown(self.folder, int(user.partition(":")[0] or 1000), 0)
        volume = f"{self.folder}:/data{':ro' * read_only}"
        options = ["--net", "host", "-v", volume, *(["--user", user] if user else [])]
        command = ["buildah", "run", *options, self._container, "--", *self._entrypoint, *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, stdin=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def run(self, *arguments: str, **options: Any) -> tuple[int, str, str]:
        """Return the exit code and what the command printed."""
        return finish(self.start(*arguments, **options))


def stop(process: subprocess.Popen[str]) -> None:
    """Send SIGTERM, as `docker stop` does."""
    os.kill(process_1(process.pid), signal.SIGTERM)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end of a command."""
    out, errors = process.communicate(timeout=30)
    assert "Traceback" not in errors
    return process.returncode, out, errors


def process_1(pid: int) -> int:
    """Return the descendant that is process 1 in its container."""
    for each in psutil.Process(pid).children(recursive=True):
        with suppress(FileNotFoundError):  # the runtime starts short processes
            lines = Path(f"/proc/{each.pid}/status").read_text(encoding="utf-8").splitlines()
            if any(line.startswith("NSpid:") and line.split()[-1] == "1" for line in lines):
                return each.pid
    raise LookupError("no process 1 in a container")


@pytest.fixture(scope="module")
def container() -> Iterator[tuple[str, list[str]]]:
    """A container of the image, and its entry point."""
    image = os.environ.get("ES_SIMHASH_TEST_IMAGE")
    if image is None:
        pytest.skip("needs the image: run scripts/image-test")
    name = buildah("from", "--pull-never", image).strip()
    config = json.loads(buildah("inspect", name))["OCIv1"]["config"]
    assert config["Cmd"] == ["--help"]
    yield name, config["Entrypoint"]
    buildah("rm", name)


def buildah(*arguments: str) -> str:
    return subprocess.run(["buildah", *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def image(container: tuple[str, list[str]], tmp_path: Path) -> Iterator[Image]:
    """The image with a folder that has examples/news.jsonl."""
    shutil.copy(NEWS, tmp_path)
    image = Image(*container, tmp_path)
    yield image
    for process in image.processes:
        if process.poll() is None:
            os.kill(process_1(process.pid), signal.SIGKILL)
            process.communicate()


def outcomes(lines: str) -> dict[str, str]:
    return {each["id"]: each["outcome"] for each in map(json.loads, lines.splitlines()) if "id" in each}  # no counts


@pytest.mark.parametrize(("user", "owner"), [("", 1000), ("4321:4321", 4321)])
def test_it_ingests_into_a_file_as_a_user_without_rights(image: Image, user: str, owner: int) -> None:
    code, out, errors = image.run("ingest", "news.jsonl", "--json", user=user)
    assert (code, outcomes(out)) == (0, OUTCOMES), errors
    file = image.folder / "es-simhash.db"
    assert file.stat().st_uid == owner
    with Documents(f"sqlite:///{file}") as documents:
        assert {row.id for row in documents.export()} == set(OUTCOMES)


def test_in_a_read_only_folder_it_says_what_cannot_be_written(image: Image) -> None:
    code, out, errors = image.run("ingest", "news.jsonl", read_only=True)
    assert (code, out) == (1, "")
    assert "es-simhash.db can't be read or written (unable to open database file): check the path" in errors


def test_serve_answers_and_ends_after_sigterm(image: Image) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = image.start("serve", "--port", str(port))
    end = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
            break
        except OSError:
            assert server.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
    for line in NEWS.read_text(encoding="utf-8").splitlines():
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/add",
            json.dumps({"document": json.loads(line)}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            answer = json.load(reply)
        assert answer["outcome"] == OUTCOMES[answer["id"]]
    stop(server)
    assert finish(server)[0] == 0
    with Documents(f"sqlite:///{image.folder / 'es-simhash.db'}") as documents:
        assert {row.id for row in documents.export()} == set(OUTCOMES)


def test_an_ingest_finishes_what_it_has_read_after_sigterm(image: Image) -> None:
    lines = (json.dumps({"id": n, "text": f"{n} {STORM}"}) for n in range(5_000))
    (image.folder / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    process = image.start("ingest", "many.jsonl", "--json")
    assert process.stdout is not None
    first = process.stdout.readline()
    stop(process)
    rest = process.stdout.read()
    code, _, errors = finish(process)
    assert code == 143, errors
    with Documents(f"sqlite:///{image.folder / 'es-simhash.db'}") as documents:
        assert {row.id for row in documents.export()} == set(outcomes(first + rest)) != set()
