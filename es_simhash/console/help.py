"""The form of ``--help``: options in sections, and commands in the order in which a user learns them.

``--help`` fits on a screen. It has the first sentence of each option, and of rare options the names. ``--help-all`` has
everything, and what stands after a form feed in the docstring of the command.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import click

from es_simhash.console.output import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

AddOption: TypeAlias = "Callable[[Any], Any]"
"""What :func:`option` returns: a decorator that adds an option to a command."""

OWN = "Options"
"""The first section: the options of this command only, and those that users need most."""
INPUT = "Input"
DUPLICATES = "Duplicates"
RULE = "Refined rule"
CONNECTION = "Connection"
RUN = "Speed and limits"
SCHEME = "Scheme (defaults: the store's choices, else those in brackets)"
PLAIN_SCHEME = "Scheme"
_RARE = (RULE, INPUT, RUN, CONNECTION, SCHEME, PLAIN_SCHEME)
"""``--help`` has the names of these options only."""
_ALL = "es_simhash.help_all"
_END_OF_SENTENCE = re.compile(r"(?<=[\w)'\"])\. ")

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

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help="Show everything about all options, and exit.",
            )
        )

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the docstring; with ``--help`` up to its form feed."""
        first, _, rest = inspect.cleandoc(self.help or "").partition("\f")
        text = f"{first.rstrip()}\n\n{rest.lstrip()}" if _shows_all(ctx) else first
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text.rstrip())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: first those without a section, then the sections in the order of their first option."""
        everything = _shows_all(ctx)
        rare: dict[str, list[str]] = {}
        sections: dict[str, list[tuple[str, str]]] = {OWN: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):  # an argument is explained in the text
                names, text = record
                section = getattr(parameter, "section", OWN)
                if section in _RARE and not everything:
                    rare.setdefault(section, []).append(parameter.opts[0])
                    continue
                # The columns of all sections are in line.
                row = (f"{names:<{_NAMES_WIDTH}}", text if everything else _first_sentence(text))
                sections.setdefault(section, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
        if rare:
            with formatter.section("More options, which --help-all explains"):
                formatter.write_dl([(title.partition(" (")[0], ", ".join(names)) for title, names in rare.items()])


def _shows_all(ctx: click.Context) -> bool:
    return bool(ctx.meta.get(_ALL))


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        for row in ctx.get_help().splitlines():
            echo(row)
        ctx.exit()


def _first_sentence(text: str) -> str:
    """Return the first sentence of a help, and its default."""
    sentences, bracket, brackets = text.partition("  [")
    first = _END_OF_SENTENCE.split(sentences, maxsplit=1)[0]
    return first + "." * (not first.endswith(".")) + bracket + brackets


class Group(click.Group):
    """A group that lists its commands in the order in which they were added."""

    context_class = _Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)
