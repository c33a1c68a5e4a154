"""Which product a server is, from the body of the response to ``GET /``; and the errors for the wrong one."""

from __future__ import annotations

from typing import Any

from es_simhash.errors import WrongServer

OPENSEARCH = "opensearch+"
"""What stands before ``http`` in the address of an OpenSearch."""
INSTALL_OPENSEARCH = "pip install 'es-simhash[opensearch]'"


def is_opensearch(body: Any) -> bool:
    """Return whether the server is an OpenSearch.

    With ``compatibility.override_main_response_version`` its version is that of an Elasticsearch, but not its tagline.
    """
    return "opensearch" in str(_get(body, "tagline")).lower() or _version(body, "distribution") == "opensearch"


def is_elasticsearch(body: Any) -> bool:
    """Return whether the server is an Elasticsearch."""
    return _get(body, "tagline") == "You Know, for Search" and not is_opensearch(body)


def version_of(body: Any) -> tuple[int, ...]:
    """Return the first two numbers of the server's version; nothing if it has none."""
    numbers = str(_version(body, "number")).split(".")[:2]
    return tuple(map(int, numbers)) if all(map(str.isdecimal, numbers)) else ()


def wrong_server(body: Any, name: str, product: str, why: str = "") -> WrongServer:
    """Return the error for a server that is another product, with the address that would be right.

    :param body: of the response to ``GET /``, or something else.
    :param name: the store's name.
    :param product: what the server should be, with its article.
    :param why: follows the product, in parentheses.
    """
    if is_opensearch(body):
        return WrongServer(
            f"the server at {name} is an OpenSearch: use the address {OPENSEARCH}{name}; it needs {INSTALL_OPENSEARCH}"
        )
    if is_elasticsearch(body):
        return WrongServer(
            f"the server at {name} is an Elasticsearch: use the address {name.removeprefix(OPENSEARCH)}; it needs no "
            "extra"
        )
    return WrongServer(f"the server at {name} is not {product}{why}: check the address")


def _get(body: Any, key: str) -> Any:
    return body.get(key) if isinstance(body, dict) else None


def _version(body: Any, key: str) -> Any:
    return _get(_get(body, "version"), key)
