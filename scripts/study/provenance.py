"""Versions of one text, known by name or by place, and texts that are no copies, known the same way.

``revisions`` and ``others`` return pairs of texts by the name of their source. No pair is chosen by its similarity,
except news of other days, which are the hardest among those that are no copies: they are alike, and a month apart.
The documents of the revisions are split in two halves by their names. Limits are chosen on one half and proved on the
other one.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import unicodedata
import zlib
from collections import defaultdict
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from itertools import pairwise

import corpora
from es_simhash.text.normalisation import compared_characters, normalise
from truth import join, shingle_sets

HALVES = ("choice", "proof")
EDITIONS = ("quantangshi", "yudingquantangshi")
ALIKE = 0.5
APART = timedelta(days=30)
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DAY = re.compile(f"(?<![0-9])(?:[1-9]|[12][0-9])(?=日)|(?:{MONTHS}) (?:[1-9]|[12][0-9])(?![0-9])")
SENTENCE = re.compile("[^。！？]+[。！？]?[”’』」）]*")
NOTICES = (
    "{place}{month}月{day}日{hour}时至{later}时因管网检修停水，影响{count}户居民，请提前储水。",
    "市气象台{day}日{hour}时{minute}分发布{colour}预警信号：预计未来{count}小时，{place}将有大风，请注意防范。",
    "{place}今日成交均价每公斤{price}元，较昨日{move}{change}元，成交量{count}吨，预计明日价格平稳。",
    "各位业主：{month}月{day}日上午{hour}点在{place}召开业主大会，讨论{subject}，应到{count}人，请准时参加，不能到会的请书面"
    "委托他人。",
    "{month}月{day}日，{place}主场以{hour}比{minute}战胜对手，全场共有{count}名观众到场观看，目前球队积{price}分，"
    "排名第{place2}。",
)


def words_of(text):
    return compared_characters(normalise(text))


def revisions(folder, laws=None, half=None):
    """Pairs (one version, another one) by source, of one half of the documents or of all.

    :param laws: JSON lines; without them, laws are left out.
    """
    commands = by_name(corpora.pages(folder, corpora.COMMANDS, "command/"), half)
    found = {
        "SDK documentation, English": by_name(corpora.releases(folder, documentation), half),
        "manual of npm, English: pages": by_name(corpora.pages(folder, corpora.NPM, "docs/content/"), half),
        "Linux commands, Chinese: pages": commands,
        "Linux commands, Chinese: paragraphs": of_paragraphs(
            [page.split("\n\n") for page in pages] for pages in commands
        ),
        "poems in two editions": by_name((bodies(poems) for poems in editions(folder)), half),
        "titles of poems in two editions": by_name((titles(poems) for poems in editions(folder)), half),
        "sentences of learners, typing errors corrected": [
            (one, other) for one, other in corpora.typing_errors(folder) if in_half(one, half)
        ],
    }
    if laws:
        versions = versions_of_laws(laws, half)
        found["laws, Chinese: whole"] = [pair for some in versions for pair in pairwise(some)]
        found["laws, Chinese: paragraphs"] = of_paragraphs([articles_of(text) for text in some] for some in versions)
    return {name: list(dict.fromkeys(pair for pair in pairs if all(pair))) for name, pairs in found.items()}


def others(folder, seed):
    """Pairs of different texts by source."""
    drawn = random.Random(seed)
    dated = [text for text in dated_texts(folder) if DAY.search(text)]
    drawn.shuffle(dated)
    return {
        "another date alone": [(text, another_date(text, drawn)) for text in dated],
        "another date, and 2 % of the letters": [
            (text, with_errors(another_date(text, drawn), drawn)) for text in dated
        ],
        "notices of the next day, made up": notices(300, seed, next_day=True),
        "notices of other days, made up": notices(300, seed),
        "newswire, a month apart, Jaccard .5 and more": news_of_other_days(folder),
        "operations of one service: another verb": siblings(folder),
    }


def in_half(document, half):
    """Whether a document, by its name, is in a half: the same one in each run. None is the whole."""
    return half is None or HALVES[zlib.crc32(repr(document).encode()) % 2] == half


def by_name(versions, half=None):
    """Pairs of texts of one name in two tables. The document is the name, or its first part: a service, a poet."""
    one, other = versions
    names = (name for name in one if name in other)
    return [(one[name], other[name]) for name in names if in_half(name[0] if isinstance(name, tuple) else name, half)]


def of_paragraphs(versions):
    """Pairs of paragraphs, or of runs of them, that stand between equal paragraphs in two versions of one text."""
    for some in versions:
        for one, other in pairwise(some):
            for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
                if tag == "replace" and b - a == d - c:
                    yield from zip(one[a:b], other[c:d], strict=True)
                    yield "\n".join(one[max(a - 3, 0) : b + 3]), "\n".join(other[max(c - 3, 0) : d + 3])


def versions_of_laws(path, half=None):
    """The texts of each law, the oldest first."""
    versions = defaultdict(list)
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        for law in map(json.loads, lines):
            versions[law["group"]].append((law["date"] or "", law["text"]))
    return [[text for _, text in sorted(some)] for law, some in versions.items() if in_half(law, half)]


def articles_of(law):
    """The paragraphs, without the number of the article: an amendment counts the articles again."""
    parts = (re.sub("^第[^条]{1,9}条(之[一二三四五])?", "", part.strip()).strip() for part in law.split("\n"))
    return list(filter(None, parts))


def documentation(service_name, service):
    """The documentation of each operation, shape and member, by name."""
    for operation, value in service["operations"].items():
        yield (service_name, operation), corpora.plain(value)
    for shape, value in service["shapes"].items():
        yield (service_name, shape, ""), corpora.plain(value)
        for member, inner in value.get("members", {}).items():
            yield (service_name, shape, member), corpora.plain(inner)


def editions(folder):
    """The poems of the two editions."""
    poems_of = corpora.script("corpus.py")["poems_of"]
    for edition in EDITIONS:
        files = sorted((folder / corpora.POEMS[0] / "package" / "dist" / edition).glob("**/*.json"))
        yield [poem for path in files for poem in poems_of(path) if "song" not in path.name]


def bodies(poems):
    """The text of each poem by author and title, if there is only one."""
    return alone(((poem.get("author"), poem.get("title")), "\n".join(poem["paragraphs"])) for poem in poems)


def titles(poems):
    """The title of each poem by its words, of 20 characters or more, if there is only one poem of these words."""
    return alone(
        (body, poem.get("title") or "") for poem in poems if len(body := words_of("".join(poem["paragraphs"]))) >= 20
    )


def alone(named):
    found = defaultdict(list)
    for name, text in named:
        found[name].append(text)
    return {name: texts[0] for name, texts in found.items() if len(texts) == 1}


def dated_texts(folder):
    """Articles of the newspaper, their sentences, and stories of the newswire."""
    articles = [unicodedata.normalize("NFKC", text) for text in corpora.articles(folder)]
    yield from articles
    yield from (sentence for article in articles for sentence in SENTENCE.findall(article))
    yield from (text for _, text in corpora.dated_wire(folder))


def another_date(text, drawn):
    """The text with one of its days of a month moved by a day, at each place where it stands."""
    day = drawn.choice(DAY.findall(text))
    [number] = re.findall("[0-9]+", day)
    moved = day.replace(number, str(int(number) + 1))
    return DAY.sub(lambda found: moved if found[0] == day else found[0], text)


def with_errors(text, drawn):
    """The text with 2 % of its letters replaced by others of the text; at least one."""
    letters = [place for place, letter in enumerate(text) if letter.isalpha()]
    changed = list(text)
    for place in drawn.sample(letters, max(1, len(letters) // 50)):
        changed[place] = text[drawn.choice(letters)]
    return "".join(changed)


def notices(count, seed, *, next_day=False):
    """Two notices of one form with other facts, or with another day alone. Two facts that are equal by chance stay."""
    drawn = random.Random(seed)

    def facts():
        places = ["青山路社区", "东湖花园", "北门菜市场", "梧桐里小区", "滨江新城", "西苑体育场", "南岸工业园"]
        hour = drawn.randrange(6, 16)
        return {
            "place": drawn.choice(places),
            "place2": drawn.randrange(1, 17),
            "month": drawn.randrange(1, 13),
            "day": drawn.randrange(1, 29),
            "hour": hour,
            "later": hour + drawn.randrange(2, 7),
            "minute": drawn.randrange(60),
            "count": drawn.randrange(20, 5000),
            "colour": drawn.choice(["暴雨蓝色", "暴雨黄色", "雷电黄色", "大风橙色"]),
            "price": f"{drawn.randrange(20, 900) / 10}",
            "move": drawn.choice(["上涨", "下跌"]),
            "change": f"{drawn.randrange(1, 90) / 10}",
            "subject": drawn.choice(["物业费调整", "车位分配", "电梯更换", "外墙维修"]),
        }

    forms = [drawn.choice([form for form in NOTICES if "{day}" in form or not next_day]) for _ in range(count)]
    pairs = [(form, facts()) for form in forms]
    return [
        (form.format(**one), form.format(**(one | {"day": one["day"] + 1} if next_day else facts())))
        for form, one in pairs
    ]


def news_of_other_days(folder):
    stories = [(day_of(date), text) for date, text in corpora.dated_wire(folder)]
    stories = list({normalise(text): (date, text) for date, text in stories}.values())
    pairs, _ = join(shingle_sets(text for _, text in stories), ALIKE)
    return [(stories[a][1], stories[b][1]) for a, b in pairs.tolist() if abs(stories[a][0] - stories[b][0]) >= APART]


def day_of(date):
    return datetime.strptime(date.split()[0], "%d-%b-%Y")


def siblings(folder):
    """The documentation of two operations of one service whose names differ in the verb: one follows the other."""

    def operations(name, service):
        nouns = defaultdict(list)
        for operation, value in sorted(service["operations"].items()):
            nouns[re.sub("^[A-Z][a-z]+", "", operation)].append(corpora.plain(value))
        for noun, texts in nouns.items():
            yield (name, noun), texts

    release, *_ = corpora.releases(folder, operations)
    return [pair for texts in release.values() for pair in pairwise(texts) if all(map(words_of, pair))]
