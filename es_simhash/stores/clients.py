"""The clients of the products that have Elasticsearch's protocol: which there are, and how one is made."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

from es_simhash.errors import InputError
from es_simhash.stores.elasticsearch.products import INSTALL_OPENSEARCH
from es_simhash.stores.elasticsearch.products import OPENSEARCH as OPENSEARCH_PREFIX


@dataclass(frozen=True)
class Product:
    """A server product, and its official client.

    The client is imported when it is first needed: that takes as long as all other imports, and a file needs none.

    :param prefix: of the scheme of an address.
    :param package: has the client.
    :param distribution: of the package, for pip.
    :param versions: its first version that can be used, and the first one after it that cannot.
    :param class_name: of the client.
    :param module: has ``DIALECT``, and the functions ``client_options``, ``check_host`` and ``client_hosts``.
    :param install: the command that installs the client.
    """

    prefix: str
    package: str
    distribution: str
    versions: tuple[tuple[int, int], tuple[int, int]]
    class_name: str
    module: str
    install: str

    def load(self) -> Any:
        """Return the module with the Dialect.

        :raises InputError: if the client is not installed, or too old or too new.
        """
        try:
            installed = version(self.distribution)
            first, after = self.versions
            if not first <= tuple(map(int, installed.split(".")[:2])) < after:
                raise InputError(f"{self.distribution} {installed} is installed, which can't be used: {self.install}")
            import_module(self.package)
        except ImportError as error:
            raise InputError(f"the store needs the client {self.distribution}: {self.install}") from error
        return import_module(self.module)

    def client_class(self) -> Any:
        """Return the class of the client."""
        return getattr(import_module(self.package), self.class_name)


ELASTICSEARCH = Product(
    "",
    "elasticsearch",
    "elasticsearch",
    ((8, 0), (10, 0)),
    "Elasticsearch",
    "es_simhash.stores.elasticsearch.client",
    "pip install 'elasticsearch>=8.19,<10'",
)
OPENSEARCH = Product(
    OPENSEARCH_PREFIX,
    "opensearchpy",
    "opensearch-py",
    ((2, 8), (4, 0)),
    "OpenSearch",
    "es_simhash.stores.elasticsearch.opensearch",
    INSTALL_OPENSEARCH,
)
PRODUCTS = (ELASTICSEARCH, OPENSEARCH)


def product_of(client: Any) -> Product | None:
    """Return the product of a caller's client; None for any other object."""
    for product in PRODUCTS:
        package = sys.modules.get(product.package)  # a client exists only if its package was imported
        if isinstance(found := getattr(package, product.class_name, None), type) and isinstance(client, found):
            return product
    return None
