"""The checks of scripts/release: `sources [--dry-run]` and `licences`. Run it from the top folder.

`licences` runs in an environment that has the wheel and what it needs, so it imports nothing else.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

PERMISSIVE = re.compile(
    r"Apache|MIT|BSD|ISC|PSF|Python Software Foundation|MPL-2.0|Mozilla Public License 2.0|Unlicense|0BSD"
)
"""Licences that let anybody use the package together with es_simhash."""
OTHER = re.compile(r"\bA?GPL|\bLGPL|General Public|Proprietary|Commercial", re.IGNORECASE)


def sources(dry_run: bool) -> str:
    """Return the version, if the files that name it agree.

    A release also needs a date in the changelog and the address of the repository.
    """
    version = _find(r'^__version__ = "(.+)"$', "es_simhash/__init__.py")
    heading = _find(rf"^## \[{re.escape(version)}\] - (.+)$", "CHANGELOG.md")
    cited = _find(r"^version: (.+)$", "CITATION.cff")
    if cited != version:
        sys.exit(f"CITATION.cff says version {cited}, es_simhash/__init__.py says {version}: make them the same.")
    if dry_run:
        return version
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", heading):
        sys.exit(f"CHANGELOG.md says [{version}] - {heading}: write the day of the release, as 2030-12-31.")
    repository = _find(r'^repository = "(.*)"$', "pyproject.toml")
    if not repository.startswith("https://"):
        sys.exit(
            "pyproject.toml has no address of the repository: set repository below [tool.hatch.metadata.hooks.custom]."
        )
    code = _find(r"^repository-code: (.+)$", "CITATION.cff")
    if code != repository:
        sys.exit(f"CITATION.cff says repository-code: {code}, pyproject.toml says {repository}: make them the same.")
    return version


def _find(pattern: str, file: str) -> str:
    match = re.search(pattern, Path(file).read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        sys.exit(f"{file} has no line like {pattern}: add it.")
    return match[1]


def licences() -> None:
    """Print a line for each installed package. Exit if a licence is unknown, or not one of :data:`PERMISSIVE`."""
    others = []
    for each in sorted(distributions(), key=lambda each: each.metadata["Name"].lower()):
        if each.metadata["Name"].lower() in {"pip", "setuptools", "wheel"}:  # of the environment
            continue
        licence = licence_of(each)
        print(f"{each.metadata['Name']} {each.version}: {licence}")
        if not is_permissive(licence):
            others.append(each.metadata["Name"])
    if others:
        sys.exit(f"Look at the licences of {', '.join(others)}: they are not known to allow every use.")


def is_permissive(licence: str) -> bool:
    return bool(PERMISSIVE.search(licence)) and not OTHER.search(licence)


def licence_of(package: Distribution) -> str:
    """Return the licence that a package states: an expression, classifiers, or the first line of the field License."""
    metadata = package.metadata
    classifiers = [
        line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if line.startswith("License")
    ]
    return (
        metadata.get_all("License-Expression", [""])[0]
        or ", ".join(classifiers)
        or next(iter(metadata.get_all("License", [""])[0].splitlines()), "")
        or "unknown"
    )


if __name__ == "__main__":
    if sys.argv[1] == "sources":
        print(sources(dry_run="--dry-run" in sys.argv))
    else:
        licences()
