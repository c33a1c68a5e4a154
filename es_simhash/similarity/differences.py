"""What stands in one text in the place of something else in another: contradictions.

Two similar texts are aligned token by token. Where they differ, it counts what contradicts:

- a number in the place of another number (``fingerprinting/numbers.py`` reads them);
- a sign, a single letter or a letter's sign in the place of another one: ``<`` and ``>``, M and L, C++ and C#;
- a negation that one of them has;
- terms that exclude each other (``OPPOSITES``): 上 and 下, on and off, Monday and Tuesday.

What only one of the texts has is no contradiction: a date line, a caption, numbers of a list. Counters and clocks
change by themselves. In texts of ``LONG_ENOUGH`` word characters they are left out.

A short text may have no contradiction. A longer one may have been revised (:meth:`Differences.contradict`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from es_simhash.fingerprinting.normalisation import without_links
from es_simhash.fingerprinting.numbers import CHINESE, RAISED, WORDS, arabic_values, chinese_value, raised_value
from es_simhash.similarity.edits import EXACT, pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

LONG_ENOUGH = 60
"""Word characters of the shortest text in which counters and clocks do not count."""
SHORT = 150
"""Word characters of the longest text that may have no contradiction."""
_SHARE = 0.2
"""The most contradictions of a longer text, as a share of the numbers that stand in equal places."""
_CHARACTERS = 400
"""Word characters for each contradiction of a longer text."""
_NARROW = 4
"""Tokens of the longest difference in which a term contradicts another one. A longer one is another sentence."""

_NOT = "not no never without cannot nor nicht kein keine pas jamais sans не нет без"
NEGATIONS = frozenset([*"不没无未非勿", *re.split(" ", _NOT)])
_NO_NEGATIONS = "不[仅但过断论管久少错同]|非常|非洲|无论|无锡|未来|未必"
_TERMS = """
上 下, 涨 跌, 升 降, 增 减, 多 少, 高 低, 大 小, 买 卖, 胜 负 平, 赢 输, 开 关 停, 进 出, 入 出
东 西 南 北 中, 左 右, 前 后, 男 女, 黑 白 红 蓝 绿 黄 灰 紫 粉, 甲 乙 丙 丁 戊 己 庚 辛, 早 晚 午, 新 旧
冷 热, 正 负 反, 真 假, 春 夏 秋 冬, 父 母, 好 坏 差, 快 慢, 收 付 支, 内 外, 长 短, 强 弱, 轻 重, 远 近
有 无, 是 否, 阴 阳, 盈 亏, 优 劣, 加 减, 同 异, 先 后, 宽 窄, 厚 薄, 软 硬, 干 湿, 松 紧, 初 高, 成功 失败
允许 禁止, 同意 拒绝, 支持 反对, 赞成 反对, 批准 驳回, 通过 否决, 开始 结束, 启动 停止, 提前 推迟, 扩大 缩小
拉升 跳水, 合格 违规, 有效 失效, 打开 关闭, 月曜 火曜 水曜 木曜 金曜 土曜 日曜
월요일 화요일 수요일 목요일 금요일 토요일 일요일, monday tuesday wednesday thursday friday saturday sunday
mon tue wed thu fri sat sun
january february march april may june july august september october november december
jan feb mar apr may jun jul aug sep oct nov dec, first second third fourth fifth last, am pm
montag dienstag mittwoch donnerstag freitag samstag sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche, lunes martes miércoles jueves viernes sábado domingo
понедельник вторник среда среду четверг пятница пятницу суббота субботу воскресенье, on off, up down, in out
left right, north south east west, open closed, opens closes, true false, yes no, increase decrease
increased decreased, rise fall, rises falls, rose fell, higher lower, more less fewer, buy sell, win lose
wins loses, won lost, before after, with without, enable disable, enabled disabled, allowed forbidden
accept reject, accepted rejected, all none, always never, minimum maximum, min max, hot cold, old new
male female, men women, black white red blue green yellow grey gray pink, pro plus max mini ultra lite air se
above below, include exclude, includes excludes
"""
"""Terms that exclude each other, in groups."""
OPPOSITES = tuple(tuple(group.split()) for group in re.split("[,\n]", _TERMS.strip()))
_GROUPS: dict[str, set[int]] = {}
for _number, _terms in enumerate(OPPOSITES):
    for _term in _terms:
        _GROUPS.setdefault(_term, set()).add(_number)

_COUNTED = "阅读|浏览|点击|评论|点赞|转发|分享|收藏|播放|访问|围观|人气|热度|views?|reads?|comments?|likes?|shares?"
_MEASURES = "个本部页篇章遍年月日天分小秒项种位名人户家套份万千百余多元%‰"
_SIZE = r"[0-9][0-9,.]*[万亿kw]?\+?"
_CHANGES = re.compile(
    rf"(?:{_COUNTED})(?:量|数|次数)?[ :(]*{_SIZE}(?![0-9.,]|[{_MEASURES}])[次)]*"
    rf"|(?<![0-9]){_SIZE} ?(?:次|人)?(?:{_COUNTED})(?![a-z])(?:量|数)?"
    r"|[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
)
_DIGIT = re.compile("[0-9]")
_CLAUSE = re.compile("[^,。;!?]+[,。;!?]*|[,。;!?]+")
_LATIN = "a-z\u00df-\u024f\u0370-\u03ff\u0400-\u052f\u0590-\u08ff\u0900-\u0965\u0970-\u0dff"
_TOKEN = re.compile(
    rf"(?P<character>(?![{CHINESE}周星礼月火水木金土日不非无未])[\u3400-\u9fff])"  # most characters: seen at once
    rf"|(?P<sign>(?<![0-9{_LATIN})])[+\-\u2212\u2013])?"
    r"(?P<digits>\d{1,3}(?:[ ,]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:[.,:/-]\d+)*)"
    rf"(?P<raised>[{RAISED}]*)(?P<sizes>[百千万亿]*)(?: ?(?P<percent>[%‰]))?"
    rf"|(?P<alone>[{RAISED}\u2460-\u2473\u2776-\u277f])"
    rf"|(?:(?P<parts>[{CHINESE}]+)分之)(?P<share>[{CHINESE}]+)"
    rf"|(?P<chinese>[{CHINESE}]+)(?:点(?P<decimals>[{CHINESE}]+))?"
    rf"|(?P<weekday>(?:周|星期|礼拜)[日天])"
    rf"|(?P<word>[{_LATIN}]+(?:'[{_LATIN}]+)*(?:[+#]+|-(?![\w \n]|$)|-(?=[\u3400-\u9fff]))?"
    rf"|{_NO_NEGATIONS}|[月火水木金土日]曜|[월화수목금토일]요일)"
    r"|(?P<symbol>[<>\u2264\u2265=\u2260]=?|[+*\u00d7\u00f7\u00b1\u221a\u2713\u2714\u2717\u2718\u25cb]"
    r"|(?<=\()-(?=\))|(?<= )-(?= ))"
    r"|(?P<other>\w)"
)


class Token(NamedTuple):
    """A token of a text.

    :param kind: n for a number, w for a word, s for a sign, c for a character.
    :param value: what is compared.
    :param written: as it stands in the text.
    """

    kind: str
    value: str
    written: str


class Reading:
    """A normalised text, cut into clauses.

    :param length: its word characters.
    """

    def __init__(self, normalised: str, length: int) -> None:
        self.length = length
        self._normalised = normalised

    @cached_property
    def clauses(self) -> list[str]:
        """The clauses, in order, without links."""
        return _CLAUSE.findall(without_links(self._normalised))

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens of the whole text, in order."""
        return self.read(0, len(self.clauses))

    def read(self, start: int, end: int) -> list[Token]:
        """Return the tokens of some clauses. In a long text they are without counters and clocks."""
        text = "".join(self.clauses[start:end])
        if self.length >= LONG_ENOUGH and _DIGIT.search(text):
            text = _CHANGES.sub(" ", text)
        found: list[Token] = []
        for match in _TOKEN.finditer(text):
            found += _tokens(match)
        return found


def _tokens(match: re.Match[str]) -> list[Token]:
    kind, written = match.lastgroup or "", match[0]
    if kind in ("character", "other", "symbol"):
        return [Token("s" if kind == "symbol" else "c", written, written)]
    if kind == "word":
        number = WORDS.get(written)
        return [Token("w", written, written) if number is None else Token("n", number, written)]
    if kind == "weekday":
        return [Token("n", "7", written)]
    if match["digits"]:
        values = arabic_values(*match.group("sign", "digits", "raised", "sizes", "percent"))
        if len(values) == 1:
            return [Token("n", values[0], written)]
        return [Token("n", value, value) for value in values]
    if kind == "alone":
        return [Token("n", raised_value(written), written)]
    value = chinese_value(match["parts"] or match["chinese"], match["share"] or "", match["decimals"] or "")
    if value is not None:
        return [Token("n", value, written)]
    run = match["chinese"]
    if match["decimals"] and (value := chinese_value(run)) is not None:  # 三点五十
        rest = written[len(run) + 1 :]
        return [Token("n", value, run), Token("c", "点", "点"), Token("n", chinese_value(rest) or rest, rest)]
    return [Token("c", character, character) for character in written]


class Difference(NamedTuple):
    """What differs at one place: what each text has there, perhaps nothing."""

    a: str
    b: str


@dataclass(frozen=True)
class Differences:
    """The differences of two texts.

    :param contradictions: what stands in the place of something else, in order.
    :param others: what only one of the texts has, or has in other words.
    :param numbers: how many of the contradictions are of numbers.
    :param equal_numbers: how many other numbers the text has that has fewer; 0 if that decides nothing.
    :param length: word characters of the shorter text.
    """

    contradictions: tuple[Difference, ...]
    others: tuple[Difference, ...]
    numbers: int
    equal_numbers: int
    length: int

    @property
    def contradict(self) -> bool:
        """The texts say too much that contradicts for copies.

        In a text of up to ``SHORT`` word characters that is one contradiction, and in any text if nothing else differs:
        that is the notice of the next day. A longer one that was revised may have some: a fifth of the numbers in
        equal places, or one for each 400 characters.
        """
        count = len(self.contradictions)
        if not count:
            return False
        if self.length <= SHORT or not self.others:
            return True
        by_length = self.length // _CHARACTERS
        allowed = max(int(_SHARE * (self.equal_numbers + self.numbers)), min(by_length, self.equal_numbers))
        return self.numbers > allowed or count - self.numbers > by_length


def differences(a: Reading, b: Reading) -> Differences:
    """Return the differences of two texts. Which of them comes first makes no difference but for the sides.

    The clauses are aligned first. Only those that differ are read.
    """
    first, second = (b, a) if (swapped := a.clauses > b.clauses) else (a, b)
    contradictions: list[Difference] = []
    others: list[Difference] = []
    numbers = 0
    for start, end, other_start, other_end in _places(first.clauses, second.clauses):
        ours, theirs = first.read(start, end), second.read(other_start, other_end)
        for place in _places([token.value for token in ours], [token.value for token in theirs]):
            one, other = ours[place[0] : place[1]], theirs[place[2] : place[3]]
            differing, count = _contradictions(one, other)
            numbers += count
            contradictions += differing
            if max(len(one), len(other)) > len(differing):
                others.append(Difference(_written(one), _written(other)))
    if swapped:
        contradictions = [Difference(b, a) for a, b in contradictions]
        others = [Difference(b, a) for a, b in others]
    shorter = min(a.length, b.length)
    equal = 0
    if numbers and others and shorter > SHORT:
        equal = min(sum(token.kind == "n" for token in text.tokens) for text in (a, b)) - numbers
    return Differences(tuple(contradictions), tuple(others), numbers, equal, shorter)


def _places(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return where two series of clauses or tokens differ: from and to in each of them."""
    from rapidfuzz.distance import Levenshtein

    codes: dict[str, str] = {}
    one, other = (
        "".join([codes.setdefault(part, chr(0x10000 + len(codes) % 0x100000)) for part in parts]) for parts in (a, b)
    )
    head = _common(one, other)
    tail = _common(one[head:][::-1], other[head:][::-1])
    places: list[tuple[int, int, int, int]] = []
    start = other_start = head
    for piece, counterpart in _windows(one[head : len(one) - tail], other[head : len(other) - tail]):
        for code in Levenshtein.opcodes(piece, counterpart):
            if code.tag == "equal":
                continue
            place = (
                *(start + code.src_start, start + code.src_end),
                *(other_start + code.dest_start, other_start + code.dest_end),
            )
            if places and places[-1][1] == place[0] and places[-1][3] == place[2]:
                place = (places[-1][0], place[1], places[-1][2], place[3])
                places.pop()
            places.append(place)
        start, other_start = start + len(piece), other_start + len(counterpart)
    return places


def _common(a: str, b: str) -> int:
    """Return how many characters at the beginning are equal."""
    if a == b:
        return len(a)
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def _windows(a: str, b: str) -> list[tuple[str, str]]:
    """Return the pieces that are aligned: whole up to ``EXACT`` tokens, and none is longer."""
    if max(len(a), len(b)) <= EXACT:
        return [(a, b)]
    return [
        (piece[start : start + EXACT], other[start : start + EXACT])
        for piece, other in pieces(a, b)
        for start in range(0, max(len(piece), len(other), 1), EXACT)
    ]


def _contradictions(a: Sequence[Token], b: Sequence[Token]) -> tuple[list[Difference], int]:
    """Return what contradicts at one place, and how many of that are numbers."""
    if min(len(a), len(b)) == 1 and _joined(a) == _joined(b):  # a space or a line break inside a number
        return [], 0
    numbers = _numbers(a, b)
    if numbers:
        return numbers, len(numbers)
    if max(len(a), len(b)) > _NARROW:
        return [], 0
    found = [
        Difference(one.written, other.written)
        for one, other in zip(a, b, strict=False)
        if one.kind != "n" and other.kind != "n" and _exclude(one.value, other.value, one.kind + other.kind)
    ]
    if not found and _opposite(_joined(a), _joined(b)):
        found = [Difference(_written(a), _written(b))]
    negated, other_negated = (sum(_is_negation(token) for token in tokens) for tokens in (a, b))
    if not found and negated != other_negated:
        found = [Difference(_written(a), _written(b))]
    return found, 0


def _numbers(a: Sequence[Token], b: Sequence[Token]) -> list[Difference]:
    """Return the numbers in the place of other numbers."""
    if max(len(a), len(b)) <= _NARROW:
        a, b = ([token for token in tokens if token.kind == "n"] for tokens in (a, b))
    return [
        Difference(one.written, other.written)
        for one, other in zip(a, b, strict=False)
        if one.kind == other.kind == "n" and one.value != other.value
    ]


def _exclude(a: str, b: str, kinds: str) -> bool:
    """Return whether one token excludes another one in its place."""
    if a == b:
        return False
    if kinds == "ss":
        return True
    if _SIZED.fullmatch(a) and _SIZED.fullmatch(b):
        return {a, b} != {"a", "i"}
    if kinds == "ww" and a.rstrip("+#-") == b.rstrip("+#-"):
        return True
    return bool(_GROUPS.get(a, frozenset()) & _GROUPS.get(b, frozenset()))


_SIZED = re.compile("[a-z]|x+[sml]")


def _opposite(joined: str, other_joined: str) -> bool:
    """Return whether terms of several characters exclude each other."""
    return any(
        other != term and other in other_joined
        for term, groups in _GROUPS.items()
        if len(term) > 1 and not term.isascii() and term in joined
        for group in groups
        for other in OPPOSITES[group]
    )


def _is_negation(token: Token) -> bool:
    return token.value in NEGATIONS or token.value.endswith("n't")


def _joined(tokens: Sequence[Token]) -> str:
    return "".join([token.written for token in tokens])


def _written(tokens: Sequence[Token]) -> str:
    """Return what the tokens say, for people."""
    words = [token.written for token in tokens]
    return (
        "".join(f" {word} " if word.isascii() and word.isalpha() else word for word in words).replace("  ", " ").strip()
    )
