"""Normalised text, and the digest that marks exact copies.

Normalisation takes away what a reader does not see, and what changes by accident on the way from one site to another:

- width and compatibility forms (NFKC: ＡＢＣ１ becomes abc1) and case;
- references to characters, which a page leaves in plain text (&nbsp;, &#65281;, also encoded twice);
- invisible characters, which crawled pages often have, and the kind of quotation marks;
- vowel signs of Arabic and points of Hebrew, which a text may have or not; lines that strike a character through;
- the amount of white space; and all white space beside Han characters (line breaks, spaces round Latin words);
- CJK radicals, which PDF files have in the place of the characters that look like them;
- the script: traditional and variant Han characters become simplified ones (``characters.py``), if the Scheme says so;
- combining marks beyond 30 in a row.

Some characters stay as they are written, because NFKC would make them something else: superscripts and subscripts
(10⁵ is not 105; but m² is m2), fractions and circled numbers, and emoji that would become Han characters (🈶). A digit
with a keycap (1️⃣) becomes a circled number.

Punctuation, symbols and emoji stay: a digest tells texts apart that differ in them. The tokens and the shingles of a
text have none of them.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.caches import cache_of_short
from es_simhash.errors import InputError
from es_simhash.text.characters import (
    CODE_POINTS,
    MARK,
    UNSPACED,
    UNSPACED_RANGES,
    WORD,
    codes_of,
    fold_script,
    kinds,
    text_of,
)
from es_simhash.text.numbers import LATIN, by_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DIGESTS = {"md5": hashlib.md5, "sha256": hashlib.sha256}

MAX_TEXT = 10_000_000
"""Characters of a text: some ten novels. A longer one is a collection, and a server would refuse it."""
LONGEST_FOLDED = 18
"""How many characters one character becomes at most by NFKC and case folding."""

MARKS_IN_A_ROW = 30
"""How many combining marks in a row are kept; the others are dropped.

Canonical ordering, a part of NFKC, takes a time that is quadratic in the marks that follow each other: 400,000 of them
take minutes. 30 is the bound of Unicode's Stream-Safe Text Format (UAX #15, D4), which says that it is well beyond
what any language or technical notation is known to need. Pointed Hebrew, vocalised Arabic, Vietnamese, Thai, the Indic
scripts and Tibetan have a handful.
"""

# Control characters that are no white space; soft hyphen, zero-width characters and joiners, direction marks, the
# byte-order mark; variation selectors; fillers of Hangul; lines through a character; tatweel, and the vowel signs of
# Arabic; the points of Hebrew.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0100-\U000e01ef"
    "\u115f\u1160\u3164\uffa0\u0334-\u0336\u0640\u064b-\u0652\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"
)
_AS_WRITTEN = re.compile(
    "([\u00b2\u00b3\u00b9\u00bc-\u00be\u2070\u2074-\u2079\u2080-\u2089\u2150-\u215f\u2189\u2460-\u2473\u24ea"
    "\u3251-\u325f\u3280-\u32bf\U0001f200-\U0001f2ff])"
)
_REFERENCE = re.compile(
    "&(?:(?:amp|#38);)*(?:(?:amp|#38);|(#[0-9]{2,7}|#[xX][0-9a-fA-F]{2,6}|[a-zA-Z][a-zA-Z0-9]{1,31});)"
)
_IN_REFERENCE = re.compile("[&#;a-z0-9]")
_INDEPENDENT = (
    *((0x20, 0x7E), (0xA0, 0xAC), (0xAE, 0xB1), (0xB4, 0xB8), (0xBA, 0xBB), (0xBF, 0x2AF), (0x384, 0x481)),
    *((0x2010, 0x2027), (0x2030, 0x205E), (0x2100, 0x214F), (0x2160, 0x23FF), (0x2460, 0x27BF), (0x3000, 0x3029)),
    *((0x3030, 0x303E), (0x3041, 0x3096), (0x309D, 0x30FF), (0x3105, 0x312E), (0x3400, 0x9FFF), (0xAC00, 0xD7A3)),
    *((0xF900, 0xFAFF), (0xFF01, 0xFF9D), (0x1F300, 0x1F9FF)),
)
"""Ranges of characters whose form does not depend on what stands beside them, if that is in these ranges too."""
_KEYCAP, _CIRCLED = re.compile("[0-9]\u20e3"), "\u24ea①②③④⑤⑥⑦⑧⑨"
_VARIANTS = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\uff9e\uff9f", "''\"\"--\u3099\u309a")
"""What editors and input methods write for one and the same quotation mark, apostrophe or hyphen. And
signs of half width, which become combining marks by NFKC: they are counted with the other marks."""
# An address ends where other writing begins; also at ASCII punctuation, if nothing but a number stands between it and
# that: normalised text has no full-width punctuation. A run of it is read once, so the time is linear.
_END_OF_HOST = "(?:cn|com|net|org|cc|me|io|co)/"
_LINK = re.compile(
    rf"(?:https?://|(?<![a-z0-9.-])www\.|(?<![a-z0-9@.-])(?:[a-z0-9-]+\.)+{_END_OF_HOST})"
    r"(?:[\"-'*+\--9<-Z\\^-{}~]+|[,;:!()|\[\]][0-9.,:/~-]*(?![0-9.,:/~-]|[^ -~]))*"
    r"|(?<![a-z0-9._%+-])[a-z0-9][a-z0-9._%+-]*@(?:[a-z0-9-]+\.)+[a-z]{2,}"
)
_HOST = re.compile(rf"\.{_END_OF_HOST}")
COUNTED = (
    "阅读|浏览|点击|评论|点赞|转发|分享|收藏|播放|访问|围观|下载|回复|人气|热度"
    "|views|reads|comments|likes|downloads|replies"
)
"""What is counted of a text while people read it."""
LONG_ENOUGH = 60
"""Characters of the shortest text in which counters and clocks do not count."""
DAY = "[0-9]{4}[-/.年][0-9]{1,2}[-/.月][0-9]{1,2}日?"
"""A regular expression for a date."""
_CLOCK = "[0-9]{1,2}:[0-9]{2}(?![0-9:]| ?[-~至到起前后许始开])"
_STAMPED = re.compile(rf"({DAY}) ?{_CLOCK}|{_CLOCK}(?=[{LATIN}\u3400-\u9fff])(?![发更])")
"""A time stamp before a text; a clock alone only before a letter: a line break is gone beside Han characters."""
_AT_ENDS = frozenset("-|_·–—【(:@[展收")
"""One of them stands between a title and what an outlet or a service puts beside it."""
_BEFORE_OUTLET = frozenset("-|_·–—")
"""One of them, or two colons, stands before an outlet that is not in brackets."""
_COLUMN = re.compile(
    r"(?:【[^】\d]{1,8}】|(?:rt|转发微博|转发|回复)? ?@[^:@ ]{1,20}:"
    r"|(?:快讯|图集|视频|独家|直播|突发|breaking|watch|video|exclusive|live|update)[:|]) ?"
)
_HAN = "[\u3400-\u9fff]"
_BY_FORM = re.compile(
    rf"(.+?)((?: (?:[-|_·–—]|::) |\||(?<={_HAN})[-_]{{1,2}}|[-_]{{1,2}}(?={_HAN}))"
    r"(?:[^-|_·–—\d,:;!?。()]|(?<=[a-z])-(?=[a-z])){1,30})"
)
_BY_NAME = re.compile(
    r"(.+?)((?: ?[-|_·–—]{1,2} ?| ?:: ?)[^-|_·–—,:;!?。()]{0,28}?"
    r"(?:网|(?<![预海情周月季年简快公通举汇申])报|新闻|要闻|频道|资讯|客户端|卫视|电视台|周刊|杂志|财经|在线|头条|氪|ニュース|ポータル"
    r"|news|times|post|daily|herald|journal|tribune|gazette|press|magazine|tv|radio)"
    r"|[(【](?:(?:来源|出处|出典|图源|source)[:/][^()]{1,30}|[^()【】]{0,28}(?:网|新闻|(?<![预海情周月季年简快公通举汇申])报))[)】])"
)
"""A title, and an outlet or a channel that a word names, or a source in brackets."""
_COUNTER = f"\\([0-9,]+[条次个]?(?:{COUNTED})\\)|(?:{COUNTED})[(:][0-9,]+\\)?| ?[-|(] ?[0-9,]+ (?:{COUNTED})\\)?"
_DECORATION = re.compile(rf"(?:(?<![a-z0-9_])(?:\[[^\[\]\d]{{1,6}}\])+|展开全文|收起d?|{_COUNTER})$")
"""Emoji in words, the button that a service puts behind a post, and a counter behind a title."""
_ENDS_OF_DECORATION = frozenset("])0123456789,文起d").union(word[-1] for word in COUNTED.split("|"))
"""To look at the last character takes far less time than a search."""
_LONGEST_TITLE, _LEAST_OF_TITLE, _LEAST_OF_POST, _MOST_OUTLETS = 120, 30, 12, 3
"""Characters of the longest text that may have an outlet; bytes of UTF-8 that are left at least: 10 Han characters, and
4 before an emoji or a counter; and how many outlets and channels a title has at most."""
_BESIDE = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNSPACED_RANGES)
_DIRECTLY_BESIDE = re.compile(
    f" (?:(?=[{_BESIDE}])|(?:(?<=[{_BESIDE}] )|(?<=[{_BESIDE}][!-/:-@[-`{{-~] ))(?=[\\w!-~]))"
)


def normalise(text: str, script: str = "simplified") -> str:
    """Return the text as it is compared. A normalised text stays as it is.

    >>> normalise("臺灣  鐵路\\n時刻表 Ｖ２ ！"), normalise("Hello,  World")
    ('台湾铁路时刻表v2 !', 'hello, world')

    :param script: one of ``SCRIPTS``: whether Han characters are folded to their simplified forms.
    :raises InputError: if it is not a string, or has a lone surrogate; if it is too long.
    """
    check_text(text)
    normalised = _normalise(_without_references(text), script)
    plain = _without_references(normalised)
    return normalised if plain == normalised else normalise(plain, script)  # such as ＆ｌｔ；, which NFKC makes &lt;


def _normalise(text: str, script: str) -> str:
    text = text.replace("…", "...")
    codes = _forms(script).take(codes_of(text))
    written = text_of(codes) if codes.all() else _in_one_form(text, script)
    spaced = _without_accidental_space(" ".join(written.split()))
    # At the end, because NFKC makes digits for keycaps.
    return _KEYCAP.sub(lambda keycap: _CIRCLED[int(keycap[0][0])], spaced) if "\u20e3" in spaced else spaced


def _in_one_form(text: str, script: str) -> str:
    visible = _INVISIBLE.sub("", text).translate(_VARIANTS)
    surplus = _surplus_marks()
    folded = _folded(surplus.sub("", visible)).replace("m\u00b2", "m2").replace("m\u00b3", "m3")
    # A letter with an accent may become a letter with another mark, and the accent a mark of its own. Then there is one
    # mark more.
    return fold_script(surplus.sub("", folded), script)


@cache
def _forms(script: str) -> NDArray[np.uint32]:
    """Return what each code point becomes by ``_in_one_form``, if that is one character whatever stands beside it; else
    0. Nearly all texts have only such characters, and take a fifth of the time. Shape (0x110000,).
    """
    forms = np.zeros(CODE_POINTS, dtype=np.uint32)
    for first, last in _INDEPENDENT:
        apart = _in_one_form("\n".join(map(chr, range(first, last + 1))), script).split("\n")
        forms[first : last + 1] = [ord(form) if len(form) == 1 else 0 for form in apart]
    forms[[*map(ord, "\t\n\r")]] = ord(" ")
    return forms


def _without_references(text: str) -> str:
    """Return a text with characters in place of the references to them: &nbsp; &#65281; &amp;quot;."""
    return _REFERENCE.sub(lambda reference: _character_of(reference[1]), text) if "&" in text else text


@lru_cache(1_000)
def _character_of(name: str | None) -> str:
    """Return the character of a reference, or the reference, if the character could be a part of another reference."""
    reference = "&" if name is None else f"&{name};"
    character = html.unescape(reference)
    return reference if _IN_REFERENCE.search(_folded(character)) else character


def folded_length(text: str) -> int:
    """Return how many characters NFKC and case folding make of a text, each character by itself.

    The folded text is not made: U+FDFA alone becomes 18 characters. It may have fewer, as a letter and its accent
    become one; and a few more, where the order of accents changes.

    >>> folded_length("ﬃ①"), folded_length("\ufdfa" * 1_000_000)
    (4, 18000000)
    """
    if text.isascii():
        return len(text)
    return sum(count * len(_folded(character)) for character, count in Counter(text).items())


def _folded(text: str) -> str:
    parts = _AS_WRITTEN.split(text)  # in turn with what stays as it is written
    # Folding can bring forth what NFKC would change again (Unicode, section 3.13, D147).
    parts[::2] = [unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", part).casefold()) for part in parts[::2]]
    folded = "".join(parts)
    visible = _INVISIBLE.sub("", folded)  # compatibility forms of Arabic and Hebrew have signs of their own
    return folded if visible == folded else _folded(visible)


@cache
def _surplus_marks() -> re.Pattern[str]:
    """Return what finds all but the first ``MARKS_IN_A_ROW`` of the marks that follow each other.

    Only marks that canonical ordering sorts are dropped: what decomposes into nothing but characters whose combining
    class is not 0. If a text is in NFKC, so is the text without them.
    """
    marks = map(chr, np.flatnonzero(kinds() & MARK).tolist())
    movable = "".join([mark for mark in marks if all(map(unicodedata.combining, unicodedata.normalize("NFKD", mark)))])
    # To look first for what is neither a letter nor common is ten times as fast.
    return re.compile(rf"[^\w\0-~\u3000-\u3020](?<=[{movable}]{{{MARKS_IN_A_ROW + 1}}})[{movable}]*")


def _without_accidental_space(text: str) -> str:
    """Return the text without the spaces beside Han characters.

    A space stays if the nearest word character on its left and the nearest one on its right are both of a script that
    is written with spaces. Punctuation does not count, since commas of Latin text come with a space and those of
    Chinese text do not. A space before a combining mark stays: it carries the mark.

    :param text: with single spaces.
    """
    text = _DIRECTLY_BESIDE.sub("", text)  # a shortcut for most of them
    if " " not in text:
        return text
    codes = codes_of(text)
    kind = kinds().take(codes)
    words = np.flatnonzero(kind & WORD)
    unspaced = kind[words] & UNSPACED != 0
    if not unspaced.any():
        return text
    spaces = np.flatnonzero(codes == ord(" "))
    # False stands for the missing neighbour at either end of the text.
    bounded = np.zeros(len(words) + 2, dtype=np.bool_)
    bounded[1:-1] = unspaced
    after = np.searchsorted(words, spaces)
    beside = bounded[after] | bounded[after + 1]
    carries = kind[np.minimum(spaces + 1, len(codes) - 1)] & MARK != 0
    keep = np.ones(len(codes), dtype=np.bool_)
    keep[spaces[beside & ~carries]] = False
    return text_of(codes[keep])


def compared_characters(normalised: str) -> str:
    """Return the word characters of a normalised text: its letters, digits and combining marks, without its links, the
    name of an outlet, and the clock before it.

    Texts and keys are compared by them. Punctuation, white space, symbols and emoji are left out. A text that has
    nothing else has no word characters: the result is empty. A copy often comes with a link to its source, and one page
    has several addresses.

    >>> compared_characters("《新桥通车!》 f-35 🎉 见https://example.cn/2024/a1.html?id=17")
    '新桥通车f35见'
    """
    return word_characters(_compared_part(normalised))


def _compared_part(normalised: str) -> str:
    return title_form(without_clock(without_links(normalised)))


def word_characters(text: str) -> str:
    """Return the letters, digits and combining marks of a text."""
    codes = codes_of(text)
    return text_of(codes[kinds().take(codes) & (WORD | MARK) != 0])


def compared_characters_of_texts(normalised: Sequence[str]) -> list[str]:
    """Return :func:`compared_characters` of each text. For many short texts together this takes half of the time."""
    texts = list(map(_compared_part, normalised))
    codes = codes_of("".join(texts))
    kept = kinds().take(codes) & (WORD | MARK) != 0
    words = text_of(codes[kept])
    before = np.concatenate([[0], np.cumsum(kept)])
    ends = before[np.cumsum([0, *map(len, texts)])].tolist()
    return [words[start:end] for start, end in pairwise(ends)]


def without_clock(text: str) -> str:
    """Return a text of ``LONG_ENOUGH`` characters without the clock of a time stamp that stands before it."""
    return _STAMPED.sub(r"\1 ", text, count=1) if len(text) >= LONG_ENOUGH and _STAMPED.match(text) else text


def without_links(normalised: str) -> str:
    """Return a normalised text with a space in place of each link: an address that starts with http:// or https://,
    with www. or with the name of a host and a slash (t.cn/a1), and an e-mail address.
    """
    # Every address has one of these. To look for them takes a tenth of the time.
    if "://" in normalised or "www." in normalised or "@" in normalised or _HOST.search(normalised):
        return _LINK.sub(" ", normalised)
    return normalised


def links_of(normalised: str) -> list[str]:
    """Return the links of a normalised text, in order."""
    return [link[0] for link in _LINK.finditer(normalised)]


def title_form(text: str) -> str:
    """Return a text of up to ``_LONGEST_TITLE`` characters without its outlet, and with its numbers by value; any other
    text as it is. In a title a long numeral is much of the text.

    >>> title_form("播放量突破两千三百五十万_新华网")
    '播放量突破2350万'
    """
    return text if len(text) > _LONGEST_TITLE else by_value(without_outlet(text))


def without_outlet(text: str) -> str:
    """Return a title without the name of an outlet at its end and of a column at its begin; any other text as it is.

    The outlet stands behind a separator and has no digit, or a word says what it is (… news, （来源：…）). It is no
    longer than what is left, and without such a word at most half as long.

    >>> without_outlet("【快讯】长江中下游水位全线超警_新华网"), without_outlet("iphone 15 pro - 256gb")
    ('长江中下游水位全线超警', 'iphone 15 pro - 256gb')
    """
    return _parts_of_title(text)[0]


def without_named_outlet(text: str) -> str:
    """Return :func:`without_outlet`, but with what only its form makes an outlet: it may say which size or colour."""
    return "".join(_parts_of_title(text))


@cache_of_short(2_000, _LONGEST_TITLE)  # a text is asked for when it is compared with another one, too
def _parts_of_title(text: str) -> tuple[str, str]:
    """Return a title, and what follows it that by its form is an outlet."""
    if len(text) > _LONGEST_TITLE or _AT_ENDS.isdisjoint(text):
        return text, ""
    title, kept = text.strip(), ""
    decoration = _DECORATION.search(title) if title[-1:] in _ENDS_OF_DECORATION else None
    if decoration and len(title[: decoration.start()].encode()) >= _LEAST_OF_POST:
        title = title[: decoration.start()]
    if (column := _COLUMN.match(title)) and len(title[column.end() :].encode()) >= _LEAST_OF_TITLE:
        title = title[column.end() :]
    for _ in range(_MOST_OUTLETS):
        if not title.endswith((")", "】")) and "::" not in title and _BEFORE_OUTLET.isdisjoint(title):
            break
        named = _BY_NAME.fullmatch(title)
        if (found := named or _BY_FORM.fullmatch(title)) is None:
            break
        left, outlet = found.groups()
        if len(left.encode()) < max(_LEAST_OF_TITLE, (1 if named else 2) * len(outlet.encode())):
            break
        title, kept = left.rstrip(), kept if named else outlet + kept
    return title, kept


def check_text(text: str) -> None:
    """Raise InputError if the text is no string, has a lone surrogate, or is too long, also when it is normalised."""
    if not isinstance(text, str):
        raise InputError(f"the text is of type {type(text).__name__}: give a string")
    check_surrogates(text, "the text")
    length, when = len(text), ""
    if length <= MAX_TEXT < length * LONGEST_FOLDED:
        length, when = folded_length(text), " when it is normalised"  # the long text is not made
    if length > MAX_TEXT:
        raise InputError(f"the text has {length:,} characters{when}, the limit is {MAX_TEXT:,}: split the document")


def check_surrogates(text: str, name: str) -> None:
    """Refuse half a character: such a string has no UTF-8 form.

    :raises InputError: naming the place.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} has a lone surrogate (\\u{ord(text[error.start]):04x}) at character {error.start + 1}: "
            "it was cut inside a character; mend it where it was cut"
        ) from error


def digest(normalised: str, name: str) -> str:
    """Hex digest of a normalised text: equal for exact copies."""
    return DIGESTS[name](normalised.encode(), usedforsecurity=False).hexdigest()
