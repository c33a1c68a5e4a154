"""The values that go to a worker process and back."""

from __future__ import annotations

import io

from es_simhash.worker_process import _receive, _send


def test_a_value_that_was_cut_off_is_the_end_of_the_stream() -> None:
    stream = io.BytesIO()
    _send(stream, b"one")
    whole = stream.getvalue()
    assert _receive(io.BytesIO(whole)) == b"one"
    for length in range(len(whole)):
        assert _receive(io.BytesIO(whole[:length])) is None
