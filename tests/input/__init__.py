from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from es_simhash.input import lines_of
from es_simhash.lines import parsed

if TYPE_CHECKING:
    from es_simhash.lines import Line


def stream(data: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(data))


def read(data: bytes, name: str, **more: Any) -> list[Line]:
    return list(map(parsed, lines_of(stream(data), name, **more)))


def documents_of(lines: list[Line]) -> list[Any]:
    assert [line.problem for line in lines if line.problem] == []
    return [line.document for line in lines]
