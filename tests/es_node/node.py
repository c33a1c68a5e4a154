"""A real Elasticsearch node without Docker: the jars of the server from Maven Central, and a small launcher in Java.

    python -m tests.es_node start --port 9200      start a node; print its address when it answers
    python -m tests.es_node kill                   kill it with SIGKILL
    python -m tests.es_node restart                start it again, with the same data and port
    python -m tests.es_node stop                   stop it

It needs a JDK (21 or later), and Maven for the first start. The jars and classes are kept in the cache folder. In
Python, `running_node()` starts a node that ends with the process that started it, however that process ends.

The folder of a node holds all of its data, logs and its process id. Two nodes share only the jars, which are read-only.
The node's process inherits a lock on the pid file in its folder. The lock shows whether the node runs.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import hashlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSION = "9.5.3"
OLDEST_JDK = 21
HERE = Path(__file__).resolve().parent
SOURCES = [HERE / "Launch.java", HERE / "Network.java"]
PLUGIN_DESCRIPTOR = f"""\
name=network
description=HTTP through the JDK
version=1
classname=Network
java.version={OLDEST_JDK}
elasticsearch.version={VERSION}
"""


class NodeError(Exception):
    """A node could not be started, stopped or built."""


class NodeUnavailableError(NodeError):
    """This machine lacks something that a node needs. The message names it."""


class Node:
    """One node.

    :param folder: of this node: data, logs and process id.
    :param port: 0 for any free port. The node keeps its port after the first start.
    :param heap: size of the Java heap.
    :param owned: True if the node ends with the process that started it; False if it runs until somebody stops it.
    """

    def __init__(self, folder: Path, *, port: int = 0, heap: str = "1g", owned: bool = True) -> None:
        self.folder, self.port, self.heap, self.owned = folder, port, heap, owned
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port or self._published_port()}"

    @property
    def pid(self) -> int | None:
        """The process id of the node; None if it does not run."""
        try:
            with (self.folder / "pid").open() as pid_file:
                return None if _take(pid_file, shared=True) else int(pid_file.read())
        except (FileNotFoundError, ValueError):  # never started, or not yet
            return None

    def start(self, *, seconds: float = 120) -> None:
        """Start the node with the data of its folder. Return when it answers and its indices are available."""
        java, jars = find_jdk(), build()
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with (self.folder / "pid").open("a+") as pid_file, self._log.open("ab") as log:
            if not _take(pid_file):
                raise NodeError(f"a node already runs in {self.folder}")
            self._ports_file.unlink(missing_ok=True)
            self._process = subprocess.Popen(
                self._command(java, jars),
                # Nothing is written there. The pipe closes when this process ends, and then the node ends.
                stdin=subprocess.PIPE if self.owned else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[pid_file.fileno()],
                start_new_session=True,  # Ctrl-C goes to the tests only. They stop the node.
            )
            pid_file.truncate(0)
            pid_file.write(str(self._process.pid))
        try:
            self._wait_until_ready(time.monotonic() + seconds)
        except BaseException:
            self.kill()
            raise
        self.port = self._published_port()

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the node with SIGKILL. What it has not written yet is lost."""
        self._signal(signal.SIGKILL)

    def restart(self) -> None:
        """Stop the node if it runs, and start it again with the same data and port."""
        self.stop()
        self.port = self.port or self._published_port()
        self.start()

    @property
    def _ports_file(self) -> Path:
        return self.folder / "logs" / "http.ports"

    @property
    def _log(self) -> Path:
        return self.folder / "logs" / "node.log"

    def _published_port(self) -> int:
        try:
            return int(self._ports_file.read_text().strip().rpartition(":")[2])
        except FileNotFoundError:
            raise NodeError(f"no node was ever started in {self.folder}: start it first") from None

    def _command(self, java: Path, jars: Path) -> list[str | Path]:
        return [
            java / "bin" / "java",
            "-XX:+UseSerialGC",
            f"-Xmx{self.heap}",
            f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
            "--add-modules=jdk.incubator.vector",
            "--enable-native-access=ALL-UNNAMED",
            "-Dsun.net.httpserver.nodelay=true",  # without it each answer may wait 40 ms for an acknowledgement
            f"-Des-node.owned={str(self.owned).lower()}",
            "-cp",
            f"{jars / 'lib'}/*:{jars / 'classes'}",
            "Launch",
            jars / "modules",
            self.folder,
            str(self.port),
        ]

    def _wait_until_ready(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            if self.pid is None:
                raise NodeError(
                    f"Elasticsearch {VERSION} ended while it started; the last lines of its log:\n{self._log_tail()}"
                )
            if self._ports_file.exists() and _is_healthy(self._published_port()):
                return
            time.sleep(0.2)
        raise NodeError(
            f"Elasticsearch {VERSION} did not start in time; the last lines of its log:\n{self._log_tail()}"
        )

    def _log_tail(self, lines: int = 20) -> str:
        log = self._log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in log if not line.startswith("\t")][-lines:])  # without stack frames

    def _signal(self, which: signal.Signals, *, seconds: float = 15) -> None:
        if pid := self.pid:
            os.kill(pid, which)
        if self._process:  # our child process: collect its exit status
            self._process.wait(seconds)
            if self._process.stdin:
                self._process.stdin.close()
            self._process = None
        deadline = time.monotonic() + seconds
        while self.pid:
            if time.monotonic() > deadline:
                raise NodeError(f"process {pid} still runs {seconds:.0f} s after {which.name}")
            time.sleep(0.05)


@contextmanager
def running_node(*, heap: str = "1g") -> Iterator[Node]:
    """Start a node without data. It runs until the end of the block, and never longer than this process."""
    runs = cache_folder() / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    with _locked(runs.with_name("runs.lock")):
        _remove_abandoned(runs)
        folder = Path(tempfile.mkdtemp(prefix=time.strftime("%m%d-%H%M%S-"), dir=runs))
        owner = (folder / "owner").open("w")
        _take(owner)
    node = Node(folder, heap=heap)
    with owner:
        try:
            node.start()
            yield node
        finally:
            node.kill()
            with _locked(runs.with_name("runs.lock")):
                shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(runs: Path) -> None:
    """Remove the folders of nodes whose owner has ended. A killed owner does not remove its own."""
    for folder in runs.iterdir():
        with (folder / "owner").open("w") as owner:
            abandoned = _take(owner, shared=True)
        if abandoned:
            shutil.rmtree(folder, ignore_errors=True)


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "es-simhash" / "es-node"


@functools.cache
def find_jdk() -> Path:
    """Return the home of the first JDK that is new enough: of JAVA_HOME, then /usr/lib/jvm, then the javac on PATH."""
    homes = [Path(os.environ.get("JAVA_HOME") or "/nowhere"), *sorted(Path("/usr/lib/jvm").glob("*"))]
    if on_path := shutil.which("javac"):
        homes.append(Path(on_path).resolve().parent.parent)
    for home in homes:
        release = home / "release"
        if (home / "bin" / "javac").exists() and release.exists():
            version = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(), re.MULTILINE)
            if version and int(version[1]) >= OLDEST_JDK:
                return home
    raise NodeUnavailableError(
        f"Elasticsearch {VERSION} needs a JDK of version {OLDEST_JDK} or later: install one, or set JAVA_HOME"
    )


def find_maven() -> Path:
    if maven := shutil.which("mvn"):
        return Path(maven)
    raise NodeUnavailableError(
        "the first start downloads the jars of Elasticsearch with Maven, but there is no mvn on PATH: install Maven"
    )


def check_available() -> None:
    """Check quickly whether this machine can start a node.

    :raises NodeUnavailableError: if it cannot.
    """
    find_jdk()
    if not _build_folder().exists():
        find_maven()


def build() -> Path:
    """Download the jars and compile the launcher, if that is not done yet. Return their folder.

    The name of the folder contains a digest of the sources. It is complete when it appears. So a build does not disturb
    nodes that run.
    """
    target = _build_folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.parent / "build.lock"):
        if target.exists():
            return target
        draft = target.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        _build_into(draft)
        draft.rename(target)
    return target


def _build_folder() -> Path:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in [*SOURCES, HERE / "pom.xml"])).hexdigest()
    return cache_folder() / "builds" / f"{VERSION}-{digest[:12]}"


def _build_into(folder: Path) -> None:
    lib, classes, network = folder / "lib", folder / "classes", folder / "modules" / "network"
    for each in (lib, classes, network):
        each.mkdir(parents=True)
    maven, jdk = find_maven(), find_jdk()
    fetch = ["dependency:copy-dependencies", f"-DoutputDirectory={lib}", f"-Delasticsearch.version={VERSION}"]
    _run(maven, "-q", "-B", "-f", HERE / "pom.xml", *fetch)
    quiet = ["-nowarn", "-Xlint:none"]
    _run(jdk / "bin" / "javac", *quiet, "--release", str(OLDEST_JDK), "-cp", f"{lib}/*", "-d", classes, *SOURCES)
    plugin = sorted(classes.glob("Network*.class"))  # another class loader loads these
    members = [word for each in plugin for word in ("-C", classes, each.name)]
    _run(jdk / "bin" / "jar", "cf", network / "network.jar", *members)
    for class_file in plugin:
        class_file.unlink()
    (network / "plugin-descriptor.properties").write_text(PLUGIN_DESCRIPTOR)


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise NodeError(f"{Path(command[0]).name} failed while the node was built; its last lines of output:\n{tail}")


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=1s")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _take(file: IO[str], *, shared: bool = False) -> bool:
    """Take the lock of an open file, and return whether it was free.

    The lock is released when the last copy of the descriptor is closed.

    :param shared: take a shared lock, only to ask. Two programs may ask at the same time.
    """
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.es_node", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["start", "stop", "kill", "restart"])
    parser.add_argument("--name", default="main", help="name of the node, if there are several")
    parser.add_argument("--port", type=int, default=0, help="port for start; the default is any free port")
    parser.add_argument("--heap", default="1g")
    args = parser.parse_args(arguments)
    node = Node(cache_folder() / "nodes" / args.name, port=args.port, heap=args.heap, owned=False)
    try:
        if args.command == "start":
            if node.pid:
                raise NodeError(f"node {args.name} already runs at {node.url}")
            shutil.rmtree(node.folder, ignore_errors=True)
            node.start()
            print(node.url)
        elif args.command == "restart":
            node.restart()
            print(node.url)
        elif args.command == "stop":
            node.stop()
        else:
            node.kill()
    except NodeError as error:
        sys.exit(f"es-node: {error}")


if __name__ == "__main__":
    main()
