"""The log of the server, on standard error: each record has its time, and control characters are escaped."""

from __future__ import annotations

import logging

from es_simhash.cli.output import LineFormatter, json_line


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        about = {"time": self.formatTime(record, self.datefmt), "level": record.levelname, "logger": record.name}
        trace = {"traceback": self.formatException(record.exc_info)} if record.exc_info else {}
        return json_line({**about, "message": record.getMessage(), **trace})


def show_log(*, as_json: bool) -> None:
    """Print what is logged: warnings and errors; with ``-v`` also what is logged for information.

    :param as_json: each record is a line of JSON; else it is text, and the traceback of an error has lines of its own.
    """
    handler = logging.StreamHandler()
    kind = _Json if as_json else LineFormatter
    handler.setFormatter(kind("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    level = logging.root.level  # what -v has set
    logging.basicConfig(level=level, handlers=[handler], force=True)
