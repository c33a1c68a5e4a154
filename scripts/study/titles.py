"""Short texts of a corpus (titles, posts, first sentences), and copies as an aggregator makes them."""

from __future__ import annotations

import random
import re

from truth import distinct

LENGTHS = (10, 60)


def short_texts(documents, seed):
    """Return the normalised texts of 10 to 60 characters, with a copy of every third (:func:`retitled`), each once."""
    texts = distinct(retitled(filter(None, map(title_or_post, documents)), seed))
    return [text for text in texts if LENGTHS[0] <= len(text) <= LENGTHS[1]]


def title_or_post(document):
    text = (document.get("title") or document["text"]).strip()
    return text if len(text) <= LENGTHS[1] else re.split(r"(?<=[。！？!?\n])", text, maxsplit=1)[0]


def retitled(texts, seed):
    """Return the texts, and a copy of every third with one or two changes as an aggregator makes them."""
    rng = random.Random(seed)
    texts = list(dict.fromkeys(texts))
    characters = re.findall(r"[\u4e00-\u9fff]", "".join(texts)) or ["新"]
    copies = []
    for text in rng.sample(texts, len(texts) // 3):
        for change in rng.sample(range(4), rng.choice([1, 1, 2])):
            if change == 0:
                for _ in range(rng.randint(1, 3)):
                    position = rng.randrange(len(text) + 1)
                    put, over = rng.choice([(True, 1), (True, 0), (False, 1)])  # replace, insert or delete a character
                    text = text[:position] + rng.choice(characters) * put + text[position + over :]
            elif change == 1:
                text = rng.choice(["快讯：", "【图】", "独家|", "[转]", "视频：", "最新消息 "]) + text
            elif change == 2:
                text += rng.choice(["（组图）", "_新浪", "-新华网", "（图）", "！！", "……"])
            else:
                text = re.sub(r"[，、：；。！？ ]", lambda _: rng.choice(["", " ", "，", "！", "。"]), text)
        copies.append(text)
    return texts + copies
