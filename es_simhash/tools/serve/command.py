"""``es-simhash serve``: an HTTP server for programs in any language."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from es_simhash import AsyncDocuments, AsyncSeenItems, InputError, fingerprint
from es_simhash.cli.options import address_options, client_options, filter_option, open_documents
from es_simhash.cli.output import echo
from es_simhash.errors import shown
from es_simhash.filters import parse_filter
from es_simhash.tools.serve.log import show_log

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions
    from es_simhash.tools.serve.operations import Service

TOKEN = "ES_SIMHASH_TOKEN"
GRACE = 8
"""Seconds in which the server answers what it has, after SIGTERM. Ten seconds after it, many systems kill a program."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65_535), help="Port to listen on.")
@click.option("--seen-store", metavar="URL", help="The store of seen items, for the requests /seen/….  [default: none]")
@filter_option("Clients add, find and remove only documents that match this filter.")
@click.option("--no-client-filter", is_flag=True, help="A request with a filter of its own is refused.")
@click.option(
    "--at-once",
    metavar="N",
    default=64,
    show_default=True,
    type=click.IntRange(1),
    help="Requests that are worked on at the same time. Further ones get the status 503.",
)
@click.option("--base-path", metavar="PATH", default="", help="The path of the server behind a proxy, such as /dedupe.")
@click.option("--log-json", is_flag=True, help="Log JSON lines.")
@address_options
@click.option(
    "--deadline",
    metavar="SECONDS",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0, 86_400, min_open=True),
    help="A request that takes longer is answered with the status 503.",
)
def serve(
    host: str,
    port: int,
    seen_store: str | None,
    filter: dict[str, Any] | None,
    no_client_filter: bool,
    at_once: int,
    base_path: str,
    log_json: bool,
    **options: Unpack[StoreOptions],
) -> None:
    """Answer requests over HTTP, for programs in any language.

    Needs the extra serve. The requests are /add, /similar, /near_query, /group_search, /groups/…, /remove,
    /seen/add, /seen/unseen and /seen/forget. /openapi.json describes them. /healthz, /readyz and /metrics say how the
    server does.

    With the variable ES_SIMHASH_TOKEN each request must bear that token (Authorization: Bearer …). On SIGTERM the
    server takes no more connections, answers for 8 s what it has, and exits.

    \b
    es-simhash serve --store http://es:9200/news --seen-store http://es:9200
    curl localhost:8000/similar --json '{"text": "市气象台发布暴雨橙色预警…"}'
    """
    try:
        import uvicorn

        from es_simhash.tools.serve.gate import Limits, is_local
        from es_simhash.tools.serve.operations import Scope, Service
    except ImportError as error:
        raise InputError(f"the server is not installed ({error}): pip install 'es-simhash[serve]'") from error
    token = _token()
    if token is None and not is_local(host):
        raise InputError(
            f"--host {host} can be reached from other machines: put a token into the variable {TOKEN}, or leave --host "
            "out"
        )
    if filter is not None:
        parse_filter(filter)
    if not re.fullmatch(r"(/[\w.~-]+)*", base_path, re.ASCII):
        raise InputError(f"--base-path is {shown(base_path)}: begin it with /, and end it without, as in /dedupe")
    with open_documents(**options) as documents:
        if not documents.store.lags:
            documents.setup()
    threads = 2 * at_once  # a call may go on for a while after its request has ended
    seen = None
    if seen_store is not None:
        seen = AsyncSeenItems(seen_store, threads=threads, **client_options({**options, "store": seen_store}))
    stored = AsyncDocuments(options["store"], threads=threads, **client_options(options))
    service = Service(stored, seen, Scope(filter, not no_client_filter))
    fingerprint("市气象台发布暴雨预警")  # loads the dictionary before the first request
    listener = _listen(host, port)
    show_log(as_json=log_json)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))  # uvicorn calls it when the server has ended
    config = uvicorn.Config(
        service.application(Limits(token, options["deadline"] or 0, at_once), base_path),
        log_config=None,
        log_level="error",  # warnings are about clients that ask for HTTP/2
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
    )
    name = f"[{host}]" if ":" in host else host
    echo(f"{documents.name}: http://{name}:{listener.getsockname()[1]}", err=True)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        _close(service)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    :raises InputError: if it cannot, as on a port that another program has.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]
        raise InputError(f"cannot listen on {host}, port {port} ({reason}): choose another --port or --host") from error


def _close(service: Service) -> None:
    """Close the stores, but wait for no call that a store holds up: it would keep the program from ending."""
    closing = threading.Thread(target=asyncio.run, args=(service.close(),), daemon=True)
    closing.start()
    closing.join(timeout=1)
    if closing.is_alive():
        os._exit(0)


def _token() -> str | None:
    """Return the token of the variable; None if there is none.

    :raises InputError: if it is too short.
    """
    token = os.environ.pop(TOKEN, None)
    if token is None:
        return None
    if not re.fullmatch("[!-~]{16,}", token := token.strip()):
        raise InputError(
            f"the token in ${TOKEN} is too short or has other characters: use 16 or more letters and digits"
        )
    return token
