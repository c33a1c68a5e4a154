"""How does an error of the library read on the command line? Where it names an argument, the option stands there.

An error names an argument at the place where the caller should change it: ``(id_field)`` or ``(encoding='utf-16')``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_simhash.deciding.outcome import Outcome

_OPTIONS = {
    "alias": "--switch-alias",
    "api_key": "--api-key",
    "bits": "--bits",
    "ca_certs": "--ca-certs",
    "confirm": "--confirm",
    "encoding": "--encoding",
    "everything": "--everything",
    "filter": "--filter",
    "id_field": "--id-field",
    "max_text": "--max-text",
    "order": "--order",
    "request_timeout": "--timeout",
    "save": "--save",
    "text_field": "--text-field",
    "time": "--time",
    "time_field": "--time-field",
}
_ARGUMENT = re.compile(rf"\(({'|'.join(_OPTIONS)})(?:=(?:True|'([^'()]*)'|([0-9.]+)))?\)")


def with_options(message: str) -> str:
    """Return a message with options in place of arguments.

    >>> with_options("no field 'id': name the field that holds the id (id_field)")
    "no field 'id': name the field that holds the id (--id-field)"
    >>> with_options("name the encoding (encoding='utf-16')")
    'name the encoding (--encoding utf-16)'
    """
    return _ARGUMENT.sub(_option, message)


def _option(found: re.Match[str]) -> str:
    name, text, number = found.groups()
    return f"({' '.join(filter(None, (_OPTIONS[name], text, number)))})"


def outcome_with_options(outcome: Outcome) -> Outcome:
    """Return an Outcome whose reason names options."""
    return outcome if outcome.reason is None else replace(outcome, reason=with_options(outcome.reason))
