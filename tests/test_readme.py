"""README.md, docs/ and the other pages are true, in both languages.

Examples print what the pages show, and mypy accepts them; commands parse, and each is documented; files and headings
exist.
"""

from __future__ import annotations

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
from tests import ROOT
from tests.cli import es_simhash as command_line
from tests.cli.test_help import commands, named

if TYPE_CHECKING:
    from collections.abc import Callable

CHINESE = {ROOT / "README.zh-CN.md": ROOT / "README.md"} | {
    page: next((ROOT / "docs").rglob(page.name)) for page in sorted((ROOT / "docs" / "zh").glob("*.md"))
}
"""The Chinese pages, each with the English one of the same name; ``next`` finds English pages first."""
ENGLISH = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page not in CHINESE),
    *sorted((ROOT / "scripts").rglob("*.md")),
]
PAGES = [*ENGLISH, *CHINESE]
SERVER = "http://localhost:9200"
"""The server of the examples. A Python or console block that names it needs Elasticsearch."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each code block of a page."""
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [(language, dedent(block)) for language, block in blocks]


def examples_of(page: Path) -> set[str]:
    """Return the Python and console blocks of a page, without comments."""
    return {
        re.sub(r"(^|[ ]+)#.*$", "", block, flags=re.MULTILINE)
        for language, block in blocks_of(page)
        if language in ("python", "console")
    }


RUN = [*ENGLISH, *(page for page, english in CHINESE.items() if not examples_of(page) <= examples_of(english))]
"""The pages whose examples run. Those of a Chinese page need not, if each of them stands in the English one too."""


def needs_elasticsearch(language: str, block: str) -> bool:
    return language in ("python", "console") and SERVER in block


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
            done = command_line("", *words[1:], cwd=Path.cwd())
            assert done.err == "", command
            printed = done.out
        result += f"$ {command}\n{printed}"
    return result


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


@pytest.mark.parametrize(
    "page", [page for page in RUN if any(not needs_elasticsearch(*block) for block in blocks_of(page))], ids=name_of
)
def test_the_examples_print_what_stands_below_them(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(page, capsys, lambda *block: None if needs_elasticsearch(*block) else block[1])


@pytest.mark.elasticsearch
@pytest.mark.parametrize(
    "page", [page for page in RUN if any(needs_elasticsearch(*block) for block in blocks_of(page))], ids=name_of
)
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


@pytest.mark.slow
def test_mypy_accepts_the_python_code_of_the_pages(tmp_path: Path) -> None:
    files = []
    for page in RUN:
        code = "".join(block for language, block in blocks_of(page) if language == "python")
        if code:
            files.append(tmp_path / f"page_{len(files)}.py")
            files[-1].write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_file_of_the_readme_is_among_the_examples() -> None:
    for readme in ("README.md", "README.zh-CN.md"):
        assert (ROOT / "examples" / "news.jsonl").read_text("utf-8") in (ROOT / readme).read_text("utf-8")


# --- commands --------------------------------------------------------------------------------------------------


def commands_shown(page: Path) -> list[list[str]]:
    """Return the arguments of each command in the code blocks of a page, without redirections."""
    lines = [line.removeprefix("$ ") for _, block in blocks_of(page) for line in block.splitlines()]
    shown = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("es-simhash ")]
    return [words[: words.index(">")] if ">" in words else words for words in shown]


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    command: click.Command = cli
    while isinstance(command, click.Group):
        command, words = named(command, words[0]), words[1:]
    return command, words


def test_every_command_shown_parses_and_every_command_is_shown() -> None:
    wrong, shown = [], set()
    for page in PAGES:
        for words in commands_shown(page):
            try:
                command, arguments = command_of([word for word in words if word != "-v"])
                command.make_context(command.name, arguments)
            except (AssertionError, click.UsageError) as error:
                wrong.append((name_of(page), " ".join(words), str(error)))
            else:
                shown.add(id(command))
    assert wrong == []
    assert {command.name for _, command in commands() if id(command) not in shown} == {"seen"}


# --- names -----------------------------------------------------------------------------------------------------


def test_every_file_named_exists() -> None:
    folders = "es_simhash|mappings|docker|scripts|tests|docs|examples"
    missing = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = re.findall(rf"`((?:{folders})/[\w./-]*)`", text) + re.findall(r"docker/[\w-]+\.yml", text)
        linked = [target for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in target]
        missing += [(name_of(page), path) for path in named if not (ROOT / path).exists()]
        missing += [(name_of(page), target) for target in linked if not (page.parent / target).exists()]
    assert missing == []


def test_every_link_to_a_heading_finds_it() -> None:
    missing = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            other = page.parent / target if target else page
            headings = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            names = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
            if unquote(anchor) not in names:
                missing.append((name_of(page), target, anchor))
    assert missing == []


def test_the_api_reference_has_every_public_name() -> None:
    listed = re.findall(r":: es_simhash\.(\w+)$", (ROOT / "docs" / "api.rst").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(set(listed) - {"contract"}) == sorted(es_simhash.__all__)
