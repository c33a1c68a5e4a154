"""The log of the server, on standard error: each record has its time, and control characters are escaped."""

from __future__ import annotations

import logging

from es_simhash.cli.output import json_line, printable


class _Text(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z")

    def formatMessage(self, record: logging.LogRecord) -> str:  # its name in logging
        return printable(super().formatMessage(record))


class _Json(_Text):
    def format(self, record: logging.LogRecord) -> str:
        about = {"time": self.formatTime(record, self.datefmt), "level": record.levelname, "logger": record.name}
        trace = {"traceback": self.formatException(record.exc_info)} if record.exc_info else {}
        return json_line({**about, "message": record.getMessage(), **trace})


def show_log(*, as_json: bool) -> None:
    """Print what is logged: warnings and errors; with ``-v`` also what is logged for information.

    :param as_json: each record is a line of JSON; else it is text, and the traceback of an error has lines of its own.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if as_json else _Text())
    level = logging.root.level  # what -v has set
    logging.basicConfig(level=level, handlers=[handler], force=True)
