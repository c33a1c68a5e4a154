"""The form of ``--help``: options in sections, and commands in the order in which a user learns them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

Option: TypeAlias = "Callable[[Any], Any]"

OWN = "Options"
"""The first section: options that only one command has, or that a user needs most."""
DUPLICATES = "Duplicates"
STORE = "Store"
RUN = "Speed and limits"

_NAMES_WIDTH = 20
"""A longer name of an option stands on its own line."""


class _SectionOption(click.Option):
    def __init__(self, *args: Any, section: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


def option(*names: str, section: str, **attributes: Any) -> Option:
    """Return a :func:`click.option` that ``--help`` shows in a section."""
    return click.option(*names, cls=_SectionOption, section=section, **attributes)


class Command(click.Command):
    """A command whose ``--help`` shows each section of options under its title."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: first those without a section, then the sections in the order of their first option."""
        sections: dict[str, list[tuple[str, str]]] = {OWN: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", OWN), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                for names, help in records:
                    _write(formatter, names, help)


def _write(formatter: click.HelpFormatter, names: str, help: str) -> None:
    """Write one option. Unlike click, do not break a line after a hyphen: a user copies names with hyphens."""
    indent = " " * formatter.current_indent
    start = f"{indent}{names:<{_NAMES_WIDTH}}  "
    margin = " " * (len(indent) + _NAMES_WIDTH + 2)
    if len(start) > len(margin):
        formatter.write(f"{start.rstrip()}\n")
        start = margin
    lines = textwrap.wrap(help, formatter.width, initial_indent=start, subsequent_indent=margin, break_on_hyphens=False)
    formatter.write("".join(f"{line}\n" for line in lines))


class Group(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)
