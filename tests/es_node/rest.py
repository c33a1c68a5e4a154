"""Requests to nodes of any product, for tests that look after a cluster. They do not use a client of the product."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tests.es_node.node import Node

ATTEMPTS = 20


def ask(
    nodes: Sequence[Node],
    method: str,
    path: str,
    body: Any = None,
    *,
    ignore: Collection[int] = (),
    timeout: float = 150,
) -> Any:
    """Return the body of the response of the first node that answers.

    A request whose answer was lost is sent again: then an index may exist already, or not any more.

    :param body: a value for JSON.
    :param ignore: HTTP statuses that are no error.
    """
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(ATTEMPTS):
        node = nodes[attempt % len(nodes)]
        request = Request(f"{node.url}{path}", data, {"content-type": "application/json"}, method=method)
        try:
            with urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                if error.code in ignore:
                    return json.load(error)
                if error.code < 500 and error.code != 429:
                    raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()[:1000]}") from error
        except OSError:
            pass
        time.sleep(0.2 * attempt)
    raise AssertionError(f"{method} {path}: no node answers")
