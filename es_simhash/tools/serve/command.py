"""``es-simhash serve``: an HTTP server for programs in any language."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from es_simhash import Documents, InputError, NotSetUp, SeenItems
from es_simhash.console.help import RUN, Command, option
from es_simhash.console.options import client_options, store_options
from es_simhash.console.output import echo

if TYPE_CHECKING:
    from types import FrameType


TOKEN = "ES_SIMHASH_TOKEN"
_SHORTEST_TOKEN = 16


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65_535), help="Port to listen on.")
@click.option(
    "--token-file",
    metavar="FILE",
    help=f"File with the token that each request must bear.  [default: ${TOKEN}, else no token]",
)
@click.option("--seen-store", metavar="URL", help="The store of seen items, for the requests /seen/….  [default: none]")
@store_options
@option(
    "--workers",
    section=RUN,
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Processes that answer. Copies that reach two of them at the same moment may both be new.",
)
@option(
    "--at-once",
    section=RUN,
    metavar="N",
    default=64,
    show_default=True,
    type=click.IntRange(1),
    help="Requests that a worker answers at the same time. Further ones get the status 503.",
)
@option(
    "--seconds",
    section=RUN,
    metavar="S",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0.1, 3600),
    help="A request that takes longer gets the status 503.",
)
@option(
    "--max-body",
    section=RUN,
    metavar="MB",
    default=16,
    show_default=True,
    type=click.IntRange(1, 1024),
    help="Largest body of a request.",
)
def serve(
    host: str,
    port: int,
    token_file: str | None,
    seen_store: str | None,
    workers: int,
    at_once: int,
    seconds: float,
    max_body: int,
    store: str | None,
    connection: dict[str, Any],
) -> None:
    """Answer requests over HTTP, for programs in any language.

    Needs the extra serve. The requests are /add, /similar, /near_query, /fingerprint, /remove, /seen/add, /seen/unseen
    and /seen/forget. /openapi.json describes them, with examples.

    \b
    es-simhash serve --store http://es:9200/news --seen-store http://es:9200
    curl localhost:8000/similar --json '{"text": "市气象台发布暴雨橙色预警…"}'

    \f
    A request may name a rule, a filter and the other arguments of the Python method. The store has the rule of requests
    that name none (init --rule). /healthz, /readyz and /metrics say how the server does. The first two, and
    /openapi.json, need no token. Errors are application/problem+json.

    On Ctrl-C or SIGTERM the server takes no more connections, answers the requests that it has, and exits.
    """
    try:
        import uvicorn

        from es_simhash.tools.serve.app import SETTINGS, Settings
    except ImportError as error:
        raise InputError(f"the server is not installed ({error}): pip install 'es-simhash[serve]'") from error
    token = _token(token_file)
    if token is None and not _is_local(host):
        raise InputError(
            f"--host {host} can be reached from other machines: name a token (--token-file, or ${TOKEN}), or leave "
            "--host out"
        )
    connection["deadline"] = min(connection["deadline"] or seconds, seconds)
    address, options = client_options(store, connection)
    with Documents(address, **options) as documents:  # a wrong address ends the command here
        name = documents.name
        if documents.store.embedded:
            _set_up_if_missing(documents)
    if seen_store is not None:
        SeenItems(seen_store, **options).close()
    with ExitStack() as stack:
        folder = None
        if workers > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="es-simhash-metrics-"))
        settings = Settings(
            store=address,
            seen_store=seen_store,
            options=options,
            token=token,
            max_body=max_body << 20,
            seconds=seconds,
            at_once=at_once,
            folder=folder,
        )
        os.environ[SETTINGS] = json.dumps(asdict(settings))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)  # uvicorn calls it when the server has ended
        echo(f"{name}: http://{host}:{port}", err=True)
        uvicorn.run(
            "es_simhash.tools.serve.app:from_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            log_level="warning",
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=int(seconds) + 1,
        )


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _set_up_if_missing(documents: Documents) -> None:
    try:
        documents.keys()
    except NotSetUp:
        documents.setup()


def _token(file: str | None) -> str | None:
    """Return the token: of the file, else of the variable; None if there is none.

    :raises InputError: if the file cannot be read, or the token is too short.
    """
    token = os.environ.pop(TOKEN, None)
    where = f"${TOKEN}"
    if file is not None:
        where = f"the file {file!r}"
        try:
            token = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the token from {where}: {error}") from error
    if token is None:
        return None
    token = token.strip()
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or any(each.isspace() for each in token):
        raise InputError(
            f"the token in {where} is too short or has other characters: use {_SHORTEST_TOKEN} or more "
            "letters and digits"
        )
    return token


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
