"""Real Elasticsearch and OpenSearch nodes without Docker: the jars from Maven Central, and a small launcher in Java.

    python -m tests.es_node run scripts/test -n 3  run a command whose tests share one Elasticsearch and one OpenSearch
    python -m tests.es_node run bash               a shell for tests that share them

It needs Maven for the first start, and a JDK: 21 or later for the releases 8 and 9 and for OpenSearch 3, 11 to 21 for
release 7 and for OpenSearch 2. The jars and classes are kept in the cache folder. In Python, `running_node()` starts a
node, and `running_cluster()` starts several nodes of release 7 or of OpenSearch. They end with the process that started
them, however that process ends.

The folder of a node holds all of its data and logs. Two nodes share only the jars, which are read-only.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import psutil

from tests.es_node import secured

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
    :param secured: with users, privileges and TLS (`tests.es_node.secured`).
    """

    version: str
    jdks: range
    target: int
    log4j: str
    clustered: bool = False
    product: str = "elasticsearch"
    secured: bool = False

    def __str__(self) -> str:
        name = f"{'Elasticsearch' if self.product == 'elasticsearch' else 'OpenSearch'} {self.version}"
        return f"{name} with security" if self.secured else name

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
SECURED = {name: replace(RELEASES[key], secured=True) for name, key in [("elasticsearch", "9"), ("opensearch",) * 2]}
LONGEST_START = 300.0
"""Seconds; the machine may be busy, and several nodes may start at once."""


def chosen_release(product: str = "elasticsearch") -> Release:
    """Return the release that the suite starts: the one that ES_SIMHASH_TEST_RELEASE names, or 9 and OpenSearch 2."""
    chosen = RELEASES[os.environ.get("ES_SIMHASH_TEST_RELEASE") or "9"]
    return chosen if chosen.product == product else RELEASES["9" if product == "elasticsearch" else product]


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
    """One node. It keeps its port when it is started again, and ends with this process.

    :param folder: of this node: data and logs.
    :param heap: size of the Java heap.
    :param settings: of the server, beside those that every node has.
    """

    def __init__(
        self, folder: Path, release: Release = NEWEST, *, heap: str = "1g", settings: Mapping[str, Any]
    ) -> None:
        self.folder, self.release, self.heap, self.port = folder, release, heap, _free_port()
        self._settings = dict(settings)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.release.secured else 'http'}://127.0.0.1:{self.port}"

    @property
    def certificate(self) -> Path:
        """The certificate of a secured node, which is its own authority."""
        return self.folder / "config" / secured.CERTIFICATE

    @property
    def pid(self) -> int | None:
        """The process id of the node; None if it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start the node with the data of its folder. Return when it answers and its indices are available."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the process of the node."""
        java, jars = find_jdk(self.release), build(self.release)
        if self.release.secured:
            self._settings |= secured.configure(self.folder / "config", self.release.product, java, jars, _run)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(java, jars),
                stdin=subprocess.PIPE,  # nothing is written there; it closes when this process ends, then the node ends
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C goes to the tests only. They stop the node.
            )

    def wait(self) -> None:
        """Wait until a started node answers, and its indices are available. If it does not, kill it."""
        deadline = time.monotonic() + LONGEST_START
        try:
            while not self._is_ready():
                if self.pid is None or time.monotonic() > deadline:
                    what = "ended while it started" if self.pid is None else "did not start in time"
                    raise NodeError(f"{self.release} {what}; the last lines of its log:\n{self._log_tail()}")
                time.sleep(0.2)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the node with SIGKILL. What it has not written yet is lost."""
        if self._process:
            with self._process as process:
                process.kill()

    def restart(self) -> None:
        """Kill the node if it runs, and start it again with the same data and port."""
        self.kill()
        self.start()

    @property
    def _log(self) -> Path:
        return self.folder / "logs" / "node.log"

    def _command(self, java: Path, jars: Path) -> list[str | Path]:
        return [
            java / "bin" / "java",
            "-XX:+UseSerialGC",
            f"-Xmx{self.heap}",
            f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
            *(() if self.release.clustered else MODULES),
            *(secured.FLAGS if self.release.secured else ()),
            # Tests start nodes often and give them little work: to compile it well takes longer than the work.
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{jars / 'lib'}/*:{jars / 'classes'}",
            "LaunchNetty" if self.release.clustered else "Launch",
            jars / "modules",
            self.folder,
            *(f"{key}={value}" for key, value in self._all_settings().items()),
        ]

    def _all_settings(self) -> dict[str, Any]:
        network = "netty4" if self.release.clustered else None
        types = {"http.type": network or "jdk", "transport.type": network or "none"}
        return {
            "cluster.name": "es-node",
            "node.name": "node-0",
            "network.host": "127.0.0.1",
            "http.port": self.port,
            **({} if self.release.secured else types),
            **({} if "discovery.seed_hosts" in self._settings else {"discovery.type": "single-node"}),
            "cluster.routing.allocation.disk.threshold_enabled": "false",
            **self._settings,
        }

    def _is_ready(self) -> bool:
        with suppress(OSError, HTTPException):
            health = Request(f"{self.url}/_cluster/health?wait_for_status=yellow&timeout=1s")
            context = None
            if self.release.secured:
                health.add_header("authorization", secured.header())
                context = ssl.create_default_context(cafile=self.certificate)
            urlopen(health, timeout=5, context=context).close()
            return True
        return False

    def _log_tail(self, lines: int = 20) -> str:
        log = self._log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in log if not line.startswith("\t")][-lines:])  # without stack frames


@contextmanager
def running_node(release: Release) -> Iterator[Node]:
    """Start a node without data. It runs until the end of the block, and never longer than this process."""
    with _running(release, "1g", [{}]) as [node]:
        yield node


@contextmanager
def running_cluster(release: Release) -> Iterator[list[Node]]:
    """Start three nodes without data, of a release whose nodes form a cluster. They run as that of `running_node`."""
    ports = [_free_port() for _ in range(3)]
    shared = {
        "discovery.seed_hosts": ",".join(f"127.0.0.1:{port}" for port in ports),
        release.masters: "node-0,node-1,node-2",
        # Fewer waits than in production: a lost shard is copied at once, and a lost master is noticed soon.
        "cluster.follower_lag.timeout": "10s",
    }
    settings = [{"node.name": f"node-{n}", "transport.port": port, **shared} for n, port in enumerate(ports)]
    with _running(release, "512m", settings) as nodes:
        yield nodes


@contextmanager
def _running(release: Release, heap: str, settings: Sequence[Mapping[str, Any]]) -> Iterator[list[Node]]:
    with _own_folder() as folder, ExitStack() as stack:
        nodes = [Node(folder / f"{n}", release, heap=heap, settings=each) for n, each in enumerate(settings)]
        for node in nodes:
            stack.callback(node.kill)
            node.launch()
        for node in nodes:
            node.wait()
        yield nodes


def _free_port() -> int:
    """Return a free port. Connections get ports from 32768 on, so none takes it while its server starts again."""
    while True:
        port = 10_000 + randbelow(20_000)
        with suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return port


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Make a folder that exists until the end of the block. If this process is killed, the next start removes it."""
    memory = Path("/dev/shm")  # a sync takes no time there
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    owners = (memory / f"es-simhash-{os.getuid()}" if roomy else cache_folder()) / "owners"
    owners.mkdir(parents=True, exist_ok=True)
    for folder in owners.iterdir():
        if not psutil.pid_exists(int(folder.name.partition("-")[0])):
            shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{os.getpid()}-", dir=owners, ignore_cleanup_errors=True) as name:
        yield Path(name)


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
    import fcntl

    target = _build_folder(release)
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return target
        draft = target.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        _build_into(draft, release)
        draft.rename(target)
    return target


def _build_folder(release: Release) -> Path:
    paths = [*release.sources, HERE / "pom.xml", *([HERE / "secured.py"] if release.secured else [])]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]
    name = f"{release.product}-{release.version}{'-secured' if release.secured else ''}"
    return cache_folder() / "builds" / f"{name}-{digest}"


def _build_into(folder: Path, release: Release) -> None:
    lib, classes, sources = folder / "lib", folder / "classes", folder / "sources"
    for each in (lib, classes, sources):
        each.mkdir(parents=True)
    for path in release.sources:
        (sources / path.name).write_text(release.source(path))
    maven, jdk = find_maven(), find_jdk(release)
    versions = {"server": release.product, "server.version": release.version, "log4j.version": release.log4j}
    pom = [
        str(maven),
        "-q",
        "-B",
        "-f",
        str(HERE / "pom.xml"),
        *(f"-D{name}={each}" for name, each in versions.items()),
    ]
    profile = ["-P", "transport"] if release.clustered else []
    _run(*pom, *profile, "dependency:copy-dependencies", f"-DoutputDirectory={lib}")
    quiet = ["-nowarn", "-Xlint:none", "--release", str(release.target)]
    _run(jdk / "bin" / "javac", *quiet, "-cp", f"{lib}/*", "-d", classes, *sorted(sources.glob("*.java")))
    if not release.clustered:
        _pack_network(folder, jdk, release)
    if release.secured:
        secured.build(folder, release.product, release.version, pom, _run)


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


def run_with_nodes(command: Sequence[str]) -> int:
    """Run a command with the addresses of two new nodes in its environment, for the tests. Return its exit code."""
    with running_node(chosen_release()) as node, running_node(chosen_release("opensearch")) as opensearch:
        addresses = {"ELASTICSEARCH_TEST_URL": node.url, "OPENSEARCH_TEST_URL": opensearch.url}
        print(*(f"{name}={url}" for name, url in addresses.items()), file=sys.stderr)
        return subprocess.run(command, env={**os.environ, **addresses}).returncode


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] != "run":
        sys.exit(__doc__)
    try:
        sys.exit(run_with_nodes(sys.argv[2:]))
    except NodeError as error:
        sys.exit(f"es-node: {error}")


if __name__ == "__main__":
    main()
