"""The form of ``--help``: options in sections, and commands in the order in which a user learns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

AddOption: TypeAlias = "Callable[[Any], Any]"
"""What :func:`option` returns: a decorator that adds an option to a command."""

OWN = "Options"
"""The first section: the options of this command only, and those that users need most."""
INPUT = "Input"
DUPLICATES = "Duplicates"
STORE = "Store"
RUN = "Speed and limits"

_NAMES_WIDTH = 20
"""Width of the first column. A longer name stands on its own line."""
_NO_BREAK = "\N{NON-BREAKING HYPHEN}"


class _Option(click.Option):
    def __init__(self, *args: Any, section: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


def option(*names: str, section: str, **attributes: Any) -> AddOption:
    """Return a :func:`click.option` that ``--help`` shows in a section."""
    return click.option(*names, cls=_Option, section=section, **attributes)


class _Formatter(click.HelpFormatter):
    """Does not break a line after a hyphen: ``--max-distance`` stays whole."""

    def write(self, string: str) -> None:
        super().write(string.replace(_NO_BREAK, "-"))

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _NO_BREAK))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = _NAMES_WIDTH, col_spacing: int = 2) -> None:
        super().write_dl([(name, text.replace("-", _NO_BREAK)) for name, text in rows], col_max, col_spacing)


class _Context(click.Context):
    formatter_class = _Formatter


class Command(click.Command):
    """A command whose ``--help`` shows each section of options under its title."""

    context_class = _Context

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: first those without a section, then the sections in the order of their first option."""
        sections: dict[str, list[tuple[str, str]]] = {OWN: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):  # an argument is explained in the text
                names, text = record
                row = (f"{names:<{_NAMES_WIDTH}}", text)  # the columns of all sections are in line
                sections.setdefault(getattr(parameter, "section", OWN), []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class Group(click.Group):
    """A group that lists its commands in the order in which they were added."""

    context_class = _Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)
