"""The server that records requests, for the tests of this folder."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.stores.elasticsearch.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    with recorder.server as server:
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield recorder
        server.shutdown()
