"""README.md, ARCHITECTURE.md, docs/ and the pages in scripts/ are true.

Examples print what the pages show, commands parse, files and names exist, and every command is documented.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import click
import pytest

import es_simhash
from es_simhash.cli import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "README.zh-CN.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "scripts").rglob("*.md")),
]
SERVER = "http://localhost:9200"
"""The server of the examples. A Python or console block that names it needs Elasticsearch."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))


each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each code block of a page."""
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [(language, dedent(block)) for language, block in found]


def needs_elasticsearch(language: str, block: str) -> bool:
    return language in ("python", "console") and SERVER in block


ON_ELASTICSEARCH = [page for page in PAGES if any(needs_elasticsearch(*block) for block in blocks_of(page))]


# --- examples --------------------------------------------------------------------------------------------------


def run_console(block: str) -> str:
    """Run the commands of a console block, and return the block with what they print.

    A line ``$ command`` is a command. The lines below it are its output. ``$ cat FILE`` shows a file, which is written.
    """
    result = ""
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        words = shlex.split(command)
        if words[0] == "cat":
            Path(words[1]).write_text(shown, encoding="utf-8")
            printed = shown
        else:
            assert words[0] == "es-simhash", command
            done = subprocess.run(
                [sys.executable, "-m", "es_simhash", *words[1:]],
                capture_output=True,
                encoding="utf-8",
                env={**os.environ, "ELASTICSEARCH_URL": "", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
                timeout=60,
            )
            assert done.stderr == "", command
            printed = done.stdout
        result += f"$ {command}\n{printed}"
    return result


def test_the_file_of_the_readme_is_among_the_examples() -> None:
    for readme in ("README.md", "README.zh-CN.md"):
        assert (ROOT / "examples" / "news.jsonl").read_text("utf-8") in (ROOT / readme).read_text("utf-8")


def without_times(text: str) -> str:
    return re.sub(r" in [\d.]+ s(, [\d,]+ a second)?$", " in … s", text, flags=re.MULTILINE)


def is_shown(printed: str, block: str) -> bool:
    """Return whether a block shows what was printed. A line … stands for any lines; times may differ."""
    shown = re.escape(without_times(block)).replace("\n…\\\n", "\n(?:.*\n)*")
    return re.fullmatch(shown, without_times(printed)) is not None


def run_examples(page: Path, capsys: pytest.CaptureFixture[str], prepare: Callable[[str, str], str | None]) -> None:
    """Run the Python and console blocks of a page in order, and compare what they print with what the page shows.

    :param prepare: takes the language and the text of a block. Returns the text to run; None to leave it out.
    """
    names: dict[str, Any] = {"__name__": "example"}
    try:
        for (language, block), (next_language, output) in pairwise([*blocks_of(page), ("", "")]):
            if language not in ("python", "console") or (code := prepare(language, block)) is None:
                continue
            if language == "console":
                printed = run_console(code)
                assert is_shown(printed, code), printed
                continue
            exec(compile(code, page.name, "exec", dont_inherit=True), names)
            printed = capsys.readouterr().out
            assert printed == (output if printed else ""), block
            assert bool(printed) == bool(re.search(r"\bprint\(", block)), block
            assert next_language == "" or not printed
    finally:
        for value in list(names.values()):
            if hasattr(value, "close") and not isinstance(value, type):
                value.close()


@each_page
def test_the_examples_print_what_stands_below_them(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(page, capsys, lambda *block: None if needs_elasticsearch(*block) else block[1])


@pytest.mark.elasticsearch
@pytest.mark.parametrize("page", ON_ELASTICSEARCH, ids=name_of)
def test_the_examples_on_elasticsearch_print_what_stands_below_them(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    elasticsearch_url: str,
    index_name: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    def on_this_server(language: str, block: str) -> str:
        block = block.replace(f"{SERVER}/news", f"{elasticsearch_url}/{index_name}").replace(SERVER, elasticsearch_url)
        return re.sub(r'(index="|"_index": ")news"', rf'\1{index_name}"', block)

    run_examples(page, capsys, on_this_server)


# --- commands --------------------------------------------------------------------------------------------------


def commands_in(text: str) -> list[list[str]]:
    lines = [line.removeprefix("$ ") for line in text.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("es-simhash ")]


def commands_shown(page: Path) -> list[list[str]]:
    """Return the arguments of each command in the code blocks of a page, without redirections."""
    shown = [words for _, block in blocks_of(page) for words in commands_in(block)]
    return [words[: words.index(">")] if ">" in words else words for words in shown]


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    command: click.Command = cli
    while isinstance(command, click.Group):
        command, words = command.commands[words[0]], words[1:]
    return command, words


def all_commands(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from all_commands(command)
        else:
            yield command


@each_page
def test_every_command_shown_parses(page: Path) -> None:
    for words in commands_shown(page):
        command, arguments = command_of(words)
        command.make_context(command.name, arguments)  # raises for an unknown option or a wrong value


def test_every_command_is_documented() -> None:
    shown = {id(command_of(words)[0]) for page in PAGES for words in commands_shown(page)}
    assert {command.name for command in all_commands(cli) if id(command) not in shown} == set()


def test_every_option_has_a_help_text() -> None:
    for command in all_commands(cli):
        for parameter in command.params:
            assert isinstance(parameter, click.Argument) or parameter.help, (command.name, parameter.name)  # type: ignore[attr-defined]


# --- names -----------------------------------------------------------------------------------------------------


@each_page
def test_every_file_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    folders = "es_simhash|mappings|docker|scripts|tests|docs|examples"
    for path in re.findall(rf"`((?:{folders})/[\w./-]*)`", text) + re.findall(r"docker/[\w-]+\.yml", text):
        assert (ROOT / path).exists(), path
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert "://" in target or (page.parent / target).exists(), target


@each_page
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        other = page.parent / target if target else page
        headings = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.MULTILINE)
        assert unquote(anchor) in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}, anchor


def test_the_api_reference_has_every_public_name() -> None:
    listed = re.findall(r":: es_simhash\.(\w+)$", (ROOT / "docs" / "api.rst").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(set(listed) - {"contract"}) == sorted(es_simhash.__all__)


def test_every_module_and_name_in_the_architecture_exists() -> None:
    text = PAGES[1].read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)(?:: (\w+)(?:\.(\w+))?)?`", text)
    assert named
    for path, name, method in named:
        module = ROOT / path if path.startswith(("tests/", "es_simhash/")) else ROOT / "es_simhash" / path
        for defined in filter(None, [name, method]):
            definition = rf"^\s*((def|class) {defined}\b|{defined} = )"
            assert re.search(definition, module.read_text(encoding="utf-8"), re.MULTILINE), defined
        assert module.exists(), path


def test_the_architecture_has_the_question_of_each_folder_and_the_layers() -> None:
    text = PAGES[1].read_text(encoding="utf-8")
    questions = dict(re.findall(r"^\| `es_simhash/(\w+)/` \| (.*) \|$", text, re.MULTILINE))
    folders = [path.parent for path in (ROOT / "es_simhash").glob("*/__init__.py")]
    assert questions.keys() == {folder.name for folder in folders}
    for folder in folders:
        assert (folder / "__init__.py").read_text(encoding="utf-8").startswith(f'"""{questions[folder.name]}'), folder
    layers = re.search(r"^layers = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    assert layers is not None
    assert "\n".join(re.findall(r'"(.*)"', layers[1])) + "\n" in [block for _, block in blocks_of(PAGES[1])]
