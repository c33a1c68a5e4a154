"""A node with users, privileges and TLS: the security module of Elasticsearch, the security plugin of OpenSearch.

The node is its own authority: :data:`CERTIFICATE` in its folder ``config``. :data:`ADMIN` may do everything.
"""

from __future__ import annotations

import base64
import json
import shutil
import ssl
import time
import zipfile
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.es_node.node import Node

ADMIN = "admin"
PASSWORD = "admin"
CERTIFICATE = "node.crt"
_HASH = "$2a$12$VcCDgh2NDk07JGN0rjGbM.Ad41qVR/YFJcgHp0UGns5JDymv..TOG"
"""Of :data:`PASSWORD`, by bcrypt. The plugin of OpenSearch has the same user."""
_SECRET = "changeit"

MODULES = {
    "transport-netty4": ("org.elasticsearch.transport.netty4.Netty4Plugin", ""),
    "x-pack-core": ("org.elasticsearch.xpack.core.XPackPlugin", ""),
    "x-pack-security": ("org.elasticsearch.xpack.security.Security", "x-pack-core"),
}
"""The class of each module of Elasticsearch, and the module that it extends."""
FLAGS = ["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]
"""Of Java: OpenSAML is not on Maven Central, and without a check of the bytes of classes nothing looks for it."""


def build(folder: Path, product: str, version: str, pom: Sequence[str], run: Callable[..., None]) -> None:
    """Add what a secured node needs to a folder with the jars of the server.

    :param pom: the command of Maven with its options.
    :param run: runs a command.
    """
    if product == "opensearch":
        artifact = f"org.opensearch.plugin:opensearch-security:{version}.0:zip"
        run(*pom, "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}")
        [plugin] = folder.glob("*.zip")
        with zipfile.ZipFile(plugin) as archive:
            archive.extractall(folder / "plugin")
        for jar in (folder / "plugin").glob("*.jar"):
            shutil.move(jar, folder / "lib" / jar.name)
        return
    taken = {jar.name for jar in (folder / "lib").iterdir()}
    for name, (plugin_class, extended) in MODULES.items():
        module = folder / "modules" / name
        run(*pom, "-P", "module", f"-Dmodule={name}", "dependency:copy-dependencies", f"-DoutputDirectory={module}")
        for jar in list(module.iterdir()):
            if jar.name in taken or jar.name.startswith("slf4j-api-1"):
                jar.unlink()
        if name == "x-pack-core":
            taken |= {jar.name for jar in module.iterdir()}
        (module / "plugin-descriptor.properties").write_text(
            f"name={name}\ndescription={name}\nversion={version}\nclassname={plugin_class}\n"
            f"java.version=21\nelasticsearch.version={version}\nextended.plugins={extended}\n"
        )


def configure(config: Path, product: str, jdk: Path, built: Path, run: Callable[..., None]) -> dict[str, Any]:
    """Make the certificate and the users of a node, once. Return its settings."""
    if not (config / CERTIFICATE).exists():
        config.mkdir(parents=True)
        keytool = [jdk / "bin" / "keytool", "-noprompt", "-storetype", "PKCS12", "-storepass", _SECRET]
        pair = ["-keyalg", "EC", "-dname", "CN=node", "-ext", "SAN=ip:127.0.0.1,dns:localhost", "-ext", "bc:c"]
        own, trusted = ["-keystore", config / "node.p12"], ["-keystore", config / "trusted.p12"]
        run(*keytool, "-genkeypair", "-alias", "node", *pair, "-validity", "2", *own)
        run(*keytool, "-exportcert", "-rfc", "-alias", "node", "-file", config / CERTIFICATE, *own)
        run(*keytool, "-importcert", "-alias", "node", "-file", config / CERTIFICATE, *trusted)
        if product == "opensearch":
            shutil.copytree(built / "plugin" / "config", config / "opensearch-security")
            mapping = {"_meta": {"type": "rolesmapping", "config_version": 2}, "all_access": {"backend_roles": [ADMIN]}}
            (config / "opensearch-security" / "roles_mapping.yml").write_text(
                json.dumps(mapping)
            )  # nothing for all users
        else:
            (config / "users").write_text(f"{ADMIN}:{_HASH}\n")
            (config / "users_roles").write_text(f"superuser:{ADMIN}\n")
    if product == "elasticsearch":
        return {
            "xpack.security.enabled": "true",
            "resource.reload.interval.high": "100ms",  # of roles.yml and the files of users
            "xpack.security.http.ssl.enabled": "true",
            "xpack.security.http.ssl.keystore.path": "node.p12",
            "xpack.security.http.ssl.keystore.password": _SECRET,
        }
    stores = {"keystore": "node.p12", "truststore": "trusted.p12"}
    ssl = {
        f"plugins.security.ssl.{layer}.{store}_{key}": value
        for layer in ("transport", "http")
        for store, file in stores.items()
        for key, value in (("filepath", file), ("password", _SECRET))
    }
    return {
        **ssl,
        "plugins.security.ssl.http.enabled": "true",
        "plugins.security.ssl.transport.enforce_hostname_verification": "false",
        "plugins.security.nodes_dn": "CN=node",
        "plugins.security.allow_default_init_securityindex": "true",
        "plugins.security.restapi.roles_enabled": "all_access",
    }


def header(user: str = ADMIN) -> str:
    """Return the header of a request of a user."""
    return f"Basic {base64.b64encode(f'{user}:{PASSWORD}'.encode()).decode()}"


class Users:
    """The users of a secured node, as its administrator changes them."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def add(self, cluster: Sequence[str], indices: Sequence[str], names: Sequence[str]) -> str:
        """Return the address of the node for a new user.

        :param cluster: privileges on the cluster.
        :param indices: privileges on the indices.
        :param names: of these indices.
        """
        user = f"user-{uuid4().hex[:12]}"
        (self._add_elasticsearch if self._node.release.product == "elasticsearch" else self._add_opensearch)(
            user, {"cluster": [*cluster], "names": [*names], "indices": [*indices]}
        )
        return f"{self._node.release.scheme}https://{user}:{PASSWORD}@127.0.0.1:{self._node.port}"

    @property
    def admin(self) -> str:
        """The address of the node for its administrator."""
        return f"{self._node.release.scheme}https://{ADMIN}:{PASSWORD}@127.0.0.1:{self._node.port}"

    def _add_elasticsearch(self, user: str, role: dict[str, list[str]]) -> None:
        indices = [{"names": role["names"], "privileges": role["indices"]}] if role["indices"] else []
        config = self._node.folder / "config"
        for file, line in {
            "roles.yml": json.dumps({user: {"cluster": role["cluster"], "indices": indices}})[1:-1],
            "users": f"{user}:{_HASH}",
            "users_roles": f"{user}:{user}",
        }.items():
            path = config / file
            text = f"{path.read_text() if path.exists() else ''}{line}\n"
            draft = path.with_suffix(".part")
            draft.write_text(text)
            draft.replace(path)
        end = time.monotonic() + 30
        while self.ask("GET", "/_security/user/_privileges", user=user).get("indices", []) == [] and indices:
            assert time.monotonic() < end, "the node does not read its files again"
            time.sleep(0.1)

    def _add_opensearch(self, user: str, role: dict[str, list[str]]) -> None:
        security = "/_plugins/_security/api"
        patterns = [{"index_patterns": role["names"], "allowed_actions": role["indices"]}] if role["indices"] else []
        self.ask(
            "PUT", f"{security}/roles/{user}", {"cluster_permissions": role["cluster"], "index_permissions": patterns}
        )
        self.ask("PUT", f"{security}/internalusers/{user}", {"hash": _HASH, "opendistro_security_roles": [user]})

    def ask(self, method: str, path: str, body: Any = None, user: str = ADMIN) -> Any:
        """Send a request as a user, and return the body of the response."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "authorization": header(user)}
        context = ssl.create_default_context(cafile=self._node.certificate)
        try:
            with urlopen(Request(f"{self._node.url}{path}", data, headers, method=method), context=context) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                if error.code == 401:  # the node has not read its files yet
                    return {}
                raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()[:500]}") from error
