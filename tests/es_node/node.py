"""Real Elasticsearch and OpenSearch nodes without Docker: the jars from Maven Central, and a small launcher in Java.

    python -m tests.es_node start --port 9200      start a node; print its address when it answers
    python -m tests.es_node stop                   stop it
    python -m tests.es_node start --release 8      another release: 7, 8, 9, opensearch or opensearch-3
    python -m tests.es_node run scripts/test -n 3  run a command whose tests share one Elasticsearch and one OpenSearch

It needs Maven for the first start, and a JDK: 21 or later for the releases 8 and 9 and for OpenSearch 3, 11 to 21 for
release 7 and for OpenSearch 2. The jars and classes are kept in the cache folder. In Python, `running_node()` starts a
node, and `running_cluster()` starts several nodes of release 7 or of OpenSearch. They end with the process that started
them, however that process ends.

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
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Release:
    """A release of Elasticsearch or OpenSearch that can be started.

    :param jdks: versions of the JDK that it runs on.
    :param target: the version of Java for which the launcher is compiled.
    :param log4j: version of log4j that it was released with, or a later one.
    :param clustered: its network layer is published, so several nodes can form a cluster.
    :param product: the part of the names of the packages that differs.
    """

    version: str
    jdks: range
    target: int
    log4j: str
    clustered: bool = False
    product: str = "elasticsearch"

    def __str__(self) -> str:
        return f"{'Elasticsearch' if self.product == 'elasticsearch' else 'OpenSearch'} {self.version}"

    @property
    def scheme(self) -> str:
        """What stands before ``http`` in the address of a store."""
        return "" if self.product == "elasticsearch" else "opensearch+"

    @property
    def masters(self) -> str:
        """The setting with the names of the nodes that elect the first master."""
        return f"cluster.initial_{'master' if self.product == 'elasticsearch' else 'cluster_manager'}_nodes"

    @property
    def major(self) -> str:
        return self.version.partition(".")[0]

    @property
    def sources(self) -> list[Path]:
        names = ["Owner", "LaunchNetty"] if self.clustered else ["Owner", "Launch", "Network"]
        return [HERE / f"{name}.java" for name in names]

    def source(self, path: Path) -> str:
        """Return the text of a source without the lines for other releases."""
        lines = path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not ONLY.search(line) or line.endswith(f"// only in {self.major}\n")]
        return "".join(kept).replace("org.elasticsearch", f"org.{self.product}")


ONLY = re.compile(r"// only in \d+$")
RELEASES = {
    "7": Release("7.17.29", range(11, 22), 11, "2.17.1", clustered=True),
    "8": Release("8.19.3", range(21, 100), 21, "2.19.0"),
    "9": Release("9.5.3", range(21, 100), 21, "2.26.1"),
    "opensearch": Release("2.19.3", range(11, 22), 11, "2.21.0", clustered=True, product="opensearch"),
    "opensearch-3": Release("3.9.0", range(21, 100), 21, "2.25.3", clustered=True, product="opensearch"),
}
NEWEST = RELEASES["9"]
RELEASE_VARIABLE = "ES_SIMHASH_TEST_RELEASE"
FORK = 3.0
"""Seconds for which a process that another thread starts may hold the lock of a node that has ended: until its exec."""


def chosen_release() -> Release:
    """Return the release that the suite starts: the one that ES_SIMHASH_TEST_RELEASE names, else the newest."""
    return RELEASES[os.environ.get(RELEASE_VARIABLE) or "9"]


class NodeError(Exception):
    """A node could not be started, stopped or built."""


class NodeUnavailableError(NodeError):
    """This machine lacks something that a node needs. The message names it."""


MODULES = [
    "--add-modules=jdk.incubator.vector",
    "--enable-native-access=ALL-UNNAMED",
    "-Dsun.net.httpserver.nodelay=true",  # without it each answer may wait 40 ms for an acknowledgement
]
"""Flags of Java for the releases whose nodes form no cluster."""


class Node:
    """One node.

    :param folder: of this node: data, logs and process id.
    :param port: 0 for any free port. The node keeps its port after the first start.
    :param heap: size of the Java heap.
    :param owned: True if the node ends with the process that started it; False if it runs until somebody stops it.
    :param settings: of Elasticsearch, beside those that every node has.
    """

    def __init__(
        self,
        folder: Path,
        release: Release = NEWEST,
        *,
        port: int = 0,
        heap: str = "1g",
        owned: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder, self.release, self.port, self.heap, self.owned = folder, release, port, heap, owned
        self._settings = {} if settings is None else settings
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
        self.launch()
        self.wait(seconds=seconds)

    def launch(self) -> None:
        """Start the process of the node."""
        java, jars = find_jdk(self.release), build(self.release)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with (self.folder / "pid").open("a+") as pid_file, self._log.open("ab") as log:
            if not _take(pid_file, seconds=FORK):
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

    def wait(self, *, seconds: float = 120) -> None:
        """Wait until a started node answers, and its indices are available. If it does not, kill it."""
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

    def restart(self, *, seconds: float = 120) -> None:
        """Stop the node if it runs, and start it again with the same data and port."""
        self.stop()
        self.port = self.port or self._published_port()
        self.start(seconds=seconds)

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
            *(() if self.release.clustered else MODULES),
            # Tests start nodes often and give them little work: to compile it well takes longer than the work.
            *(["-XX:TieredStopAtLevel=1"] if self.owned else ()),
            f"-Des-node.owned={str(self.owned).lower()}",
            "-cp",
            f"{jars / 'lib'}/*:{jars / 'classes'}",
            "LaunchNetty" if self.release.clustered else "Launch",
            jars / "modules",
            self.folder,
            *(f"{key}={value}" for key, value in self._all_settings().items()),
        ]

    def _all_settings(self) -> dict[str, Any]:
        network = "netty4" if self.release.clustered else None
        return {
            "cluster.name": "es-node",
            "node.name": "node-0",
            "node.portsfile": "true",
            "network.host": "127.0.0.1",
            "http.port": self.port,
            "http.type": network or "jdk",
            "transport.type": network or "none",
            **({} if "discovery.seed_hosts" in self._settings else {"discovery.type": "single-node"}),
            "cluster.routing.allocation.disk.threshold_enabled": "false",
            **self._settings,
        }

    def _wait_until_ready(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            if self.pid is None:
                raise NodeError(
                    f"{self.release} ended while it started; the last lines of its log:\n{self._log_tail()}"
                )
            if self._ports_file.exists() and _is_healthy(self._published_port()):
                return
            time.sleep(0.2)
        raise NodeError(f"{self.release} did not start in time; the last lines of its log:\n{self._log_tail()}")

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
def running_node(release: Release = NEWEST, *, heap: str = "1g") -> Iterator[Node]:
    """Start a node without data. It runs until the end of the block, and never longer than this process."""
    with _own_folder() as folder:
        node = Node(folder, release, heap=heap)
        try:
            node.start()
            yield node
        finally:
            node.kill()


@contextmanager
def running_cluster(
    count: int = 3, release: Release = RELEASES["7"], *, heap: str = "512m", **settings: Any
) -> Iterator[list[Node]]:
    """Start a cluster without data. Its nodes run until the end of the block, as that of `running_node`.

    :param release: one whose nodes form a cluster.
    :param settings: of each node, with ``__`` for a dot.
    """
    ports = _free_ports(count)
    shared = {
        "discovery.seed_hosts": ",".join(f"127.0.0.1:{port}" for port in ports),
        release.masters: ",".join(f"node-{number}" for number in range(count)),
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    with _own_folder() as folder:
        nodes = [
            Node(
                folder / f"node-{number}",
                release,
                heap=heap,
                settings={"node.name": f"node-{number}", "transport.port": port, **shared},
            )
            for number, port in enumerate(ports)
        ]
        try:
            for node in nodes:
                node.launch()
            for node in nodes:
                node.wait(seconds=300)  # several nodes start at once
            yield nodes
        finally:
            for node in nodes:
                node.kill()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Make a folder that exists until the end of the block. If this process is killed, the next start removes it."""
    runs = _runs_folder()
    runs.mkdir(parents=True, exist_ok=True)
    with _locked(runs.with_name("runs.lock")):
        _remove_abandoned(runs)
        folder = Path(tempfile.mkdtemp(prefix=time.strftime("%m%d-%H%M%S-"), dir=runs))
        owner = (folder / "owner").open("w")
        _take(owner)
    with owner:
        try:
            yield folder
        finally:
            with _locked(runs.with_name("runs.lock")):
                shutil.rmtree(folder, ignore_errors=True)


def _runs_folder() -> Path:
    """Return the place of data that no test needs later: in memory if there is much, where a sync takes no time."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    return (memory / f"es-simhash-{os.getuid()}" if roomy else cache_folder()) / "runs"


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
def find_jdk(release: Release = NEWEST) -> Path:
    """Return the home of the first JDK that fits: of JAVA_HOME, then /usr/lib/jvm, then the javac on PATH."""
    homes = [Path(os.environ.get("JAVA_HOME") or "/nowhere"), *sorted(Path("/usr/lib/jvm").glob("*"))]
    if on_path := shutil.which("javac"):
        homes.append(Path(on_path).resolve().parent.parent)
    for home in homes:
        description = home / "release"
        if (home / "bin" / "javac").exists() and description.exists():
            version = re.search(r'^JAVA_VERSION="(\d+)', description.read_text(), re.MULTILINE)
            if version and int(version[1]) in release.jdks:
                return home
    oldest, newest = release.jdks[0], release.jdks[-1]
    versions = f"{oldest} or later" if newest > 90 else f"{oldest} to {newest}"
    raise NodeUnavailableError(f"{release} needs a JDK of version {versions}: install one, or set JAVA_HOME")


def find_maven() -> Path:
    if maven := shutil.which("mvn"):
        return Path(maven)
    raise NodeUnavailableError(
        "the first start downloads the jars of the server with Maven, but there is no mvn on PATH: install Maven"
    )


def check_available(release: Release = NEWEST) -> None:
    """Check quickly whether this machine can start a node.

    :raises NodeUnavailableError: if it cannot.
    """
    find_jdk(release)
    if not _build_folder(release).exists():
        find_maven()


def build(release: Release = NEWEST) -> Path:
    """Download the jars and compile the launcher, if that is not done yet. Return their folder.

    The name of the folder contains a digest of the sources. It is complete when it appears. So a build does not disturb
    nodes that run.
    """
    target = _build_folder(release)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.parent / "build.lock"):
        if target.exists():
            return target
        draft = target.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        _build_into(draft, release)
        draft.rename(target)
    return target


def _build_folder(release: Release) -> Path:
    sources = [path.read_bytes() for path in [*release.sources, HERE / "pom.xml"]]
    return (
        cache_folder()
        / "builds"
        / f"{release.product}-{release.version}-{hashlib.sha256(b''.join(sources)).hexdigest()[:12]}"
    )


def _build_into(folder: Path, release: Release) -> None:
    lib, classes, sources = folder / "lib", folder / "classes", folder / "sources"
    for each in (lib, classes, sources):
        each.mkdir(parents=True)
    for path in release.sources:
        (sources / path.name).write_text(release.source(path))
    maven, jdk = find_maven(), find_jdk(release)
    versions = [
        f"-Dserver={release.product}",
        f"-Dserver.version={release.version}",
        f"-Dlog4j.version={release.log4j}",
    ]
    profile = ["-P", "transport"] if release.clustered else []
    _run(
        *(maven, "-q", "-B", "-f", HERE / "pom.xml", *profile, *versions),
        *("dependency:copy-dependencies", f"-DoutputDirectory={lib}"),
    )
    quiet = ["-nowarn", "-Xlint:none", "--release", str(release.target)]
    _run(jdk / "bin" / "javac", *quiet, "-cp", f"{lib}/*", "-d", classes, *sorted(sources.glob("*.java")))
    if not release.clustered:
        _pack_network(folder, jdk, release)


def _pack_network(folder: Path, jdk: Path, release: Release) -> None:
    """Make a module of the network layer: another class loader loads it."""
    classes, network = folder / "classes", folder / "modules" / "network"
    network.mkdir(parents=True)
    plugin = sorted(classes.glob("Network*.class"))
    members = [word for each in plugin for word in ("-C", classes, each.name)]
    _run(jdk / "bin" / "jar", "cf", network / "network.jar", *members)
    for class_file in plugin:
        class_file.unlink()
    (network / "plugin-descriptor.properties").write_text(
        "name=network\ndescription=HTTP through the JDK\nversion=1\nclassname=Network\n"
        f"java.version={release.target}\nelasticsearch.version={release.version}\n"
    )


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


def _take(file: IO[str], *, shared: bool = False, seconds: float = 0) -> bool:
    """Take the lock of an open file, and return whether it was free.

    The lock is released when the last copy of the descriptor is closed.

    :param shared: take a shared lock, only to ask. Two programs may ask at the same time.
    :param seconds: wait so long until it is free.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        else:
            return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_with_nodes(command: Sequence[str]) -> int:
    """Run a command with the addresses of two new nodes in its environment, for the tests. Return its exit code."""
    with running_node(chosen_release()) as node, running_node(RELEASES["opensearch"]) as opensearch:
        addresses = {"ELASTICSEARCH_TEST_URL": node.url, "OPENSEARCH_TEST_URL": opensearch.url}
        return subprocess.run(command, env={**os.environ, **addresses}).returncode


def control(words: Sequence[str]) -> None:
    """Start or end a node that runs until somebody stops it."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.es_node", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["start", "stop"])
    parser.add_argument("--name", default="main", help="name of the node, if there are several")
    parser.add_argument("--port", type=int, default=0, help="port for start; the default is any free port")
    parser.add_argument("--release", choices=RELEASES, default="9", help="of the server; the default is 9")
    args = parser.parse_args(words)
    folder = cache_folder() / "nodes" / args.name
    node = Node(folder, RELEASES[args.release], port=args.port, owned=False)
    if args.command == "start":
        if node.pid:
            raise NodeError(f"node {args.name} already runs at {node.url}")
        shutil.rmtree(node.folder, ignore_errors=True)
        node.start()
        print(node.url)
    else:
        node.stop()


def main() -> None:
    words = sys.argv[1:]
    try:
        if words[:1] == ["run"]:
            sys.exit(run_with_nodes(words[1:]))
        control(words)
    except NodeError as error:
        sys.exit(f"es-node: {error}")


if __name__ == "__main__":
    main()
