"""Laws of differences: what contradicts, and what was only added."""

from __future__ import annotations

import re
import time
from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash import DuplicateRule, compare
from es_simhash.similarity.confirm import TextFeatures, similarities
from es_simhash.similarity.differences import Difference, contradict, differences
from es_simhash.similarity.tokens import BORDER, tokens
from es_simhash.text.fingerprinter import Fingerprinter
from es_simhash.text.normalisation import normalise
from tests.client import METRO, STORM

PIECES = [
    *("停水", "通知", "，", " ", "三", "3", "-3", "5月", "1,200", "上调", "下调", "不", "可以", "C++", "C#", "周日"),
    *("½", "10⁵", "on", "off", "a", "b", "(", ")", "阅读", "12:30:05", "😀", "万一", "点", "三分之一", "monday"),
    *("更新时间10:31", "浏览次数", "小时前", "分钟前", "成功", "第十二条", "ab型", "$"),
    *("(四)", "2.", "三、", ":", "。", "副", "百分之", "twenty", "five", "twenty-five", "million", "percent"),
    " per cent of ",
]
FINGERPRINTER = Fingerprinter()
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)

FRAME = (
    "据本报记者了解，市水务部门昨晚在通报中表示，{}，请沿线居民和商户提前做好准备，"
    "具体安排以现场公告为准，给大家带来不便敬请谅解，感谢支持。"
)
LONG = "施工队伍已经进场，围挡沿着河岸依次排开，工作人员逐户登记意愿；文物部门同步考古，古井与石板路将原址保护。" * 10


class Made(NamedTuple):
    contradict: bool
    contradictions: tuple[Difference, ...]
    others: tuple[Difference, ...]


def made(a: str, b: str) -> Made:
    one, other = (TextFeatures(text, FINGERPRINTER) for text in (a, b))
    return Made(contradict(one, other), *differences(one, other))


@given(texts, texts)
def test_the_verdict_does_not_depend_on_which_text_comes_first(a: str, b: str) -> None:
    forth, back = made(a, b), made(b, a)
    assert forth.contradict == back.contradict
    assert [(b, a) for a, b in forth.contradictions] == list(back.contradictions)


@pytest.mark.parametrize(
    ("a", "b", "names"),
    [
        ("北京市文明行为促进条例", "郑州市文明行为促进条例", [("北京", "郑州")]),
        ("任命王建国同志为局长", "任命李卫东同志为局长", [("王建国", "卫东")]),
        ("狮子山隧道今晨恢复通车，请慢行", "北京隧道今晨恢复通车，请慢行", [("狮子山", "北京")]),
        ("北京今天晴，北风三级", "北京市今天晴，北风三级", []),  # a part of the other
        ("上海今天晴，北风三级", "上诲今天晴，北风三级", []),  # a typing error is no name
        ("如何评价OMG战胜WE", "如何评价NIP战胜WE", [("omg", "nip")]),
        ("如何评价《长夜行》的结局", "如何评价《流浪记》的结局", [("长夜行", "流浪记")]),
        ("如何评价《长夜行》的结局", "如何评价《长夜形》的结局", []),  # sounds alike
        ("重构UserService的测试", "重构OrderService的测试", [("userservice", "orderservice")]),
        ("重构UserService的测试", "重构UserServices的测试", []),
        ("海天精工：拟发行股票", "云岭药业：拟发行股票", [("海天精工", "云岭药业")]),
        ("工信部：加快产业升级", "工业和信息化部：加快产业升级", []),  # a short form
        ("总统会见塞内加尔外长", "总统会见尼泊尔外长", [("塞内加尔", "尼泊尔")]),
        ("李希在湖北调研", "李强在湖北调研", [("希", "强")]),
        ("李希在湖北调研", "李西在湖北调研", []),
        ("宫殿沈沈晓欲分", "宫殿沉沉晓欲分", []),  # two forms: 沈 is chen, too
        ("| 标识 | 说明：目录", "* u：目录", []),  # no subjects, but a table and a list
        ("星梭科技完成融资", "鹏脑科技完成融资", [("星梭", "鹏脑")]),
        ("微软和谷歌和解", "谷歌和微软和解", []),  # the same names
        ("他高兴地走了", "他和平地走了", []),  # names that are words
        ("what does read_csv return", "what does read_json return", [("read_csv", "read_json")]),
        ("[PROBLEM] disk latency", "[OK] disk latency", [("problem", "ok")]),
        ("WARN: backup of the mail server", "OK: backup of the mail server", [("warn", "ok")]),
        ("talks with Norway on fishing", "talks with Sweden on fishing", [("norway", "sweden")]),
        ("市水务部门昨晚通报", "上海水务部门昨晚通报", []),  # in the place of no name
        ("代表团马上出发前往会场", "代表团晚上出发前往会场", []),  # a surname in a word is no person
        ("大会于今天上午开幕", "大会于今日上午开幕", []),
        ("周末有雨，出门带伞", "周六有雨，出门带伞", []),
        ("国务院印发有关通知", "国务院印发相关通知", []),
        ("何时恢复供水尚不明确", "何日恢复供水尚不明确", []),
    ],
)
def test_another_name_contradicts_in_a_short_text(a: str, b: str, names: list[tuple[str, str]]) -> None:
    assert list(made(a, b).contradictions) == names
    assert made(a, b).contradict == bool(names)
    assert not made(f"{a}。{LONG}", f"{b}。{LONG}").contradictions


def test_numbers_that_each_has_alone_contradict_in_a_very_short_text_wherever_they_stand() -> None:
    one, other = "海天精工股票19日开市起停牌", "海天精工股票将于1月23日开市起停牌"
    assert made(one, other).contradict
    assert not made(one, other.replace("1月23", "1月19")).contradict


def test_texts_of_names_alone_and_of_identifiers_alone_are_compared() -> None:
    for one, other in (("北京 上海 广州 " * 9, "广州 上海 北京 " * 9), ("get_a.b " * 40, "get_a.c " * 40)):
        assert made(one, other).contradict == made(other, one).contradict


def test_names_of_a_long_text_around_a_short_one_are_not_looked_for() -> None:
    """The words of both are held, and a text may have a million characters."""
    assert not made("北京今天晴，北风三级", f"上海今天晴，北风三级。{LONG}").contradictions


@given(texts, st.sampled_from(["渡口码头", " one two three ", "。", "，"]), texts)
def test_no_token_reaches_across_a_border(a: str, border: str, b: str) -> None:
    text = normalise(f"{a}{border}{b}")
    whole = tokens(text, 100)
    for found in re.finditer(BORDER, text):
        before, after = tokens(text[: found.end()], 100), tokens(text[found.start() :], 100)
        assert whole[: len(before)] == before
        assert whole[len(whole) - len(after) + 1 :] == after[1:]  # 功 of 成功 may stand first


@given(texts)
def test_equal_texts_have_no_differences(text: str) -> None:
    assert made(text, text) == (False, (), ())


@given(texts, st.sampled_from(["记者", "图1", "第3版", "2026年10月8日", "来源：江州日报"]))
def test_what_was_only_added_is_no_contradiction(text: str, added: str) -> None:
    assert made(text, f"{text}。{added}").contradictions == ()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("主队2:0战胜客队", "主队2:1战胜客队"),
        ("全程42公里", "全程43千米"),
        ("Ⅱ型糖尿病", "Ⅲ型糖尿病"),
        ("跌幅为-0.85%", "跌幅为+0.85%"),
        ("比例为1%", "比例为1‰"),
        ("气温12~18度", "气温1~218度"),
        ("共10⁵件", "共105件"),
        ("第三章第八条", "第三章第九条"),
        ("8:00到20:00停水", "9:00到18:00停水"),
        ("3月5日停水", "5月3日停水"),
        ("水价上调", "水价下调"),
        ("水泵开启", "水泵关启"),
        ("可以取水", "不可以取水"),
        ("气温零下5度", "气温5度"),
        ("气温零下五度", "气温五度"),
        ("客流同比增长一成", "客流同比下降一成"),
        ("净重500毫升", "净重500升"),
        ("FEB report", "MARCH report"),
        ("unsafe water", "safe water"),
        ("情况属实", "情况不属实"),
        ("水质很好", "水质不好"),
        ("A座停水", "B座停水"),
        ("用C++编写", "用C#编写"),
        ("用C编写", "用C++编写"),
        ("尺码L", "尺码XL"),
        ("水压≥3", "水压≤3"),
        ("呈阳性（+）", "呈阳性（-）"),
        ("周六停水", "周日停水"),
        ("允许取水", "禁止取水"),
        ("turn it on", "turn it off"),
        ("it is safe", "it is not safe"),
        ("on Monday", "on Tuesday"),
        ("creates a key", "deletes a key"),
        ("registered keys", "unregistered keys"),
        ("possible leaks", "impossible leaks"),
        ("3 hours later", "5 hours later"),
        ("f(x)=a[1]", "f(x)=a[2]"),
        ("월요일", "화요일"),
        ("月曜日", "火曜日"),
        ("票价$5", "票价€5"),
        ("票价￥100", "票价$100"),
        ("A型血", "AB型血"),
        ("men's pumps", "women's pumps"),
        ("王明任副局长", "王明任局长"),
        ("am 3. Juli", "am 3. Mai"),
        ("le 3 mars 2024", "le 3 mai 2024"),
        ("परीक्षा स्थगित होगी", "परीक्षा स्थगित नहीं होगी"),
        ("评级AA-级", "评级AA级"),
        ("富时指数日内跌超1%", "富时指数涨超1%"),
        ("明日停水", "今日停水"),
        ("请刷卡", "请别刷卡"),
        ("患者诉胸痛，伴发热", "患者诉胸痛，无发热"),
        ("请在桥上停车", "莫在桥上停车"),
        ("将水排入河道", "莫将水排入河道"),
        ("公司发现问题", "公司否认问题"),
        ("使用してください", "使用しないでください"),
        ("사용할 수 있다", "사용할 수 없다"),
        ("사용하세요", "사용하지 마세요"),
        ("上册", "中册"),
        ("停水到九点半", "停水到九点"),
        ("am fünften Tag", "am sechsten Tag"),
        ("the eleventh pump", "the twelfth pump"),
        ("once a day", "twice a day"),
        ("Deletes an image pipeline.", "Gets an image pipeline."),
        ("Retrieves the key of an app", "Updates the key of an app"),
        ("令和元年", "平成元年"),
        ("净重500克", "净重5公斤"),
        ("奖金20-30元", "奖金2030元"),
        ("奖金20—30元", "奖金2030元"),
        ("奖金20、30元", "奖金2030元"),
        ("比分3:5", "比分35"),
        ("为期三四天", "为期34天"),
        ("电流5mA", "电流5A"),
        ("电阻10kΩ", "电阻10Ω"),
        ("功率5kW", "功率5MW"),
        ("廿五日停水", "卅五日停水"),
        ("水价涨五倍", "水价涨五成"),
        ("航班取消", "航班恢复"),
        ("继续销售", "停止销售"),
        ("恢复教学", "暂停教学"),
        ("恢复供水", "停水"),
        ("公司盈利", "公司亏损"),
        ("同比增长5%", "同比下滑5%"),
        ("气温上升", "气温降"),
        ("同比增长5%", "环比增长5%"),
        ("逆差扩大", "逆差收窄"),
        ("进口汽车", "出口汽车"),
        ("加入协会", "退出协会"),
        ("解除限行", "实施限行"),
        ("首次停水", "再次停水"),
        ("利润翻倍", "利润减半"),
        ("停水半年", "停水一年"),
        ("签署协议", "撕毁协议"),
        ("主队获胜", "主队失利"),
        ("暴雨预警", "大风预警"),
    ],
)
def test_these_contradict(a: str, b: str) -> None:
    assert made(FRAME.format(a), FRAME.format(b)).contradict
    assert compare(FRAME.format(a), FRAME.format(b)).relation == "contradicts"


@pytest.mark.parametrize(
    ("one", "other"), [("passed", "failed"), ("suspended", "resumed"), ("expanded", "contracted"), ("first", "last")]
)
def test_words_with_endings_contradict(one: str, other: str) -> None:
    text = "The bill on the pumps of the harbour was {} on Thursday after hours of debate."
    assert made(text.format(one), text.format(other)).contradict


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("全线42公里", "全线42千米"),
        ("报名电话021-8888-1234，请早报名", "报名电话02188881234，请早报名"),
        ("重100公斤", "重100kg"),
        ("没有公布", "尚未公布"),
        ("没有人员伤亡", "无人员伤亡"),
        ("2026.10.08停水", "2026年10月8日停水"),
        ("1. 关阀", "一、关阀"),
        ("1. 关阀", "① 关阀"),
        ("1. 关阀", "关阀"),
        ("停水", "停水（图1）"),
        ("今晚停水", "今天晚上停水"),
        ("阅读 10234", "阅读 56"),
        ("共998次浏览", "共1.2万次浏览"),
        ("10:31:22 停水", "11:02:05 停水"),
        ("see 12 views", "see 98 views"),
        ("停水", "停水 10:31:22"),
        ("各部门停水", "各不门停水"),
        ("更新时间：2026-10-08 10:31 停水", "更新时间：2026-10-09 7:05 停水"),
        ("刷新 10:31 停水", "刷新 10:32 停水"),
        ("（3小时前）停水", "（25分钟前）停水"),
        ("posted 1 hour ago", "posted 12 minutes ago"),
        ("停水[3]", "停水[12]"),
        ("25 per cent of it", "25% of it"),
        ("500ml×12瓶", "500ml*12瓶"),
        ("NBA：停水", "NBA-停水"),
        ("grey pumps", "gray pumps"),
        ("气温零下5度", "气温-5度"),
        ("Sept. 3", "September 3"),
        ("管长2 km", "管长2公里"),
        ("票价$5", "票价5"),
        ("未成年人到场", "陈述人到场"),
        ("浏览次数：18", "浏览次数：941"),
        ("昨日停水", "今日停水"),
        ("明日（5月3日）停水", "今日（5月3日）停水"),
        ("禁止取水", "不得取水"),
        ("严禁取水", "请勿取水"),
        ("2026年1月10日", "2O26年l月l0日"),
        ("净重10kg", "净重20斤"),
        ("净重500mg", "净重0.5g"),
        ("电流500mA", "电流0.5A"),
        ("共1万2千户", "共12000户"),
        ("投资3亿5000万元", "投资3.5亿元"),
        ("同比增长三成", "同比增长30%"),
        ("比例为5‰", "比例为0.5%"),
        ("正月廿五停水", "正月25停水"),
        ("停水三五天", "停水3-5天"),
        ("暂停营业", "停止营业"),
        ("客流增长一成", "客流增加一成"),
        ("撤离群众", "转移群众"),
        ("进出口总额", "进出口总值"),
        ("1 0 : 3 1 停水", "10:31停水"),
        ("特别通报", "通报"),
        ("the eleventh pump", "the 11th pump"),
    ],
)
def test_these_do_not(a: str, b: str) -> None:
    assert made(FRAME.format(a), FRAME.format(b)).contradictions == ()
    assert compare(FRAME.format(a), FRAME.format(b)).is_duplicate


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("if (a && b) { save(c); }", "if (a || b) { save(c); }"),
        ("while (!done) { step(); }", "while (done) { step(); }"),
        ("rest = total % size", "rest = total / size"),
        ("value = data[index]", "value = data[-index]"),
        ("var ok = a === b;", "var ok = a !== b;"),
        ("i++; save(i);", "i--; save(i);"),
    ],
)
def test_another_sign_contradicts_in_code_and_not_in_prose(a: str, b: str) -> None:
    assert made(a, b).contradict
    assert not made(
        "Ready! Steady, go / run on the pier today.", "Ready, steady; go, run on the pier today!"
    ).contradict


def test_a_reprint_has_other_days_relative_to_today() -> None:
    assert not made(f"明日停水。{LONG}", f"今日停水。{LONG}").contradict
    assert made(f"上周停水。{LONG}", f"本周停水。{LONG}").contradict


def test_spaces_in_numbers_are_no_contradiction() -> None:
    text = FRAME.format("水价上涨3.5%，影响1,200户和1/3的商户")
    for copy in (" ".join(text), text.replace(".", " ．").replace("%", " %")):
        assert not made(text, copy).contradict
        assert made(text, copy.replace("5", "7")).contradict


@given(st.lists(st.sampled_from(["10", "1997", "105.5亿", "27%", "停水", "上调", "影响"]), min_size=1, max_size=9))
def test_spaces_between_all_characters_of_a_short_text_are_no_contradiction(parts: list[str]) -> None:
    text = "户".join(parts)
    assert not made(text, " ".join(text)).contradict


def test_counters_of_other_things_and_short_texts_count() -> None:
    assert made(FRAME.format("阅读100本书"), FRAME.format("阅读200本书")).contradict
    assert made("阅读 10234", "阅读 56").contradict
    for one, other in (
        ("访问 192.168.1.1", "访问 192.168.1.2"),
        ("下载 1.2 版本", "下载 1.3 版本"),
        ("播放3集", "播放5集"),
    ):
        assert made(FRAME.format(one), FRAME.format(other)).contradict


@pytest.mark.parametrize("colours", list(combinations("蓝黄橙红", 2)))
def test_two_levels_of_an_alert_contradict(colours: tuple[str, str]) -> None:
    one, other = (FRAME.format(f"暴雨{colour}色预警信号已经发布") for colour in colours)
    assert made(one, other).contradict


def test_the_notice_of_the_next_day_is_no_copy_at_any_length() -> None:
    for text in (LONG[:100], LONG, LONG * 20):
        assert made(f"17日停水。{text}", f"18日停水。{text}").contradict


@given(st.data())
def test_texts_of_one_form_contradict_if_a_number_has_another_value(data: st.DataObject) -> None:
    form = data.draw(
        st.sampled_from(
            ["尾号{}的账户于{}月支出{}元", "{} {} {}", "OMG {}:{} WE, game {}", LONG[:200] + "{}件{}人{}户"]
        )
    )
    numbers = st.lists(st.integers(2, 40), min_size=3, max_size=3)
    here, there = data.draw(numbers), data.draw(numbers)
    seen = made(form.format(*here), form.format(*there))
    assert seen.contradict == (here != there)
    pairs = [(str(a), str(b)) for a, b in zip(here, there, strict=True) if a != b]
    assert [tuple(each) for each in seen.contradictions] == pairs
    assert not seen.others


def test_a_list_of_numbers_that_has_moved_on_contradicts() -> None:
    seen = made("开奖号码 03 09 12 27 31", "开奖号码 09 12 27 31 33")
    assert seen.contradict
    assert [tuple(pair) for pair in seen.contradictions][:2] == [("03", "09"), ("09", "12")]


@pytest.mark.parametrize(
    ("day", "next_day"), [("17日停水", "18日停水"), ("on March 17", "on March 18"), ("2026-10-08", "2026-10-09")]
)
def test_nor_is_it_with_other_words_up_to_800_characters(day: str, next_day: str) -> None:
    text = f"影响3户，5点起，8点止，共9处，计20人。{LONG[:300]}"
    assert made(f"{day}。{text}", f"{next_day}。{text}请大家知悉。").contradict
    assert not made(f"{text}{day}。", f"{text}{day}。请大家知悉。").contradict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("依照本法第十二条第二款的规定办理。", "依照本法第十三条第二款的规定办理。"),
        ("(四)转移原始记录的;", "(五)转移原始记录的;"),
        ("注意:2.删除别名。3.查看别名。", "注意:3.删除别名。4.查看别名。"),
        ("三、其他要求。", "四、其他要求。"),
    ],
)
def test_a_revision_renumbers_articles_and_lists_and_a_short_text_is_about_one(old: str, new: str) -> None:
    assert made(old, new).contradict
    assert not made(old + LONG, new + LONG).contradictions


@pytest.mark.parametrize(
    ("old", "new"),
    [("会议10:30.请准时", "会议10:45.请准时"), ("时间:三、四点", "时间:五、四点"), ("共(3)人", "共(4)人")],
)
def test_other_numbers_are_none_of_a_list(old: str, new: str) -> None:
    assert made(old + LONG, new + LONG).contradictions


def test_a_revised_long_text_may_have_a_contradiction() -> None:
    old, new = f"投资3亿元，2026年10月8日开工。{LONG}", f"投资4亿元，2026年10月8日开工。{LONG}预计工期较长。"
    assert made(old, new).contradictions == (("3亿", "4亿"),)
    assert not made(old, new).contradict


def test_a_number_is_told_without_its_unit() -> None:
    assert made("装机6800万千瓦", "装机7200万千瓦").contradictions == (("6800万", "7200万"),)
    assert made("跑五千米", "跑5000米").contradictions == ()


def test_differences_are_told_in_their_order() -> None:
    found = made("昨天3人到场，水价上调", "【快讯】昨天5人到场，水价下调")
    assert found.contradictions == (("3", "5"), ("上", "下"))
    assert found.others == (("", "快讯"),)


@pytest.mark.parametrize("text", ["", "！？", "😀" * 9, "哈" * 6, "https://a.cn/1", "阅读 10234", "+-+-", "\u0301"])
def test_odd_texts_have_differences_too(text: str) -> None:
    assert not made(text, text).contradictions
    assert made(text, "哈" * 8).contradictions == ()


@pytest.mark.slow
def test_ten_thousand_titles_of_one_form_and_a_text_in_one_of_a_million_characters_take_seconds() -> None:
    titles = [TextFeatures(f"关于给予{number}号选手通报表扬的决定", FINGERPRINTER) for number in range(10_000)]
    text = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(1_000_000))
    part, whole = TextFeatures(text[200_000:900_000], FINGERPRINTER), TextFeatures(text, FINGERPRINTER)
    names = [TextFeatures(f"get_{word}.item " * 50_000, FINGERPRINTER) for word in ("a", "b")]
    begin = time.process_time()
    assert max(similarities(titles[0], titles[1:], DuplicateRule())) > 0.9
    assert all(contradict(titles[0], other) for other in titles[1:])
    assert similarities(part, [whole], DuplicateRule()) == [1.0]
    assert not contradict(part, whole)
    assert contradict(*names) == contradict(*names[::-1])
    assert time.process_time() - begin < 30


@pytest.mark.parametrize("beside", ["", "12日停水，", "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，" * 8])
def test_a_negation_that_only_the_greater_text_has_contradicts(beside: str) -> None:
    made = compare(f"{beside}公司公布计划，大家可以参加", f"{beside}公司没公布计划，大家可以参加")
    assert made.contradictions == (("", "没"),)
    assert made.contradict


def test_counters_and_time_stamps_on_a_line_of_their_own_do_not_count() -> None:
    """The line break is gone by then."""
    for one, other in (
        ("阅读 10234\n本报讯 ", "阅读 891\n本报讯 "),
        ("阅读：10234\n评论 55\n人民日报客户端 ", "阅读：891\n评论 7\n人民日报客户端 "),
        ("2024-05-01 08:30\n", "2024-05-01 09:12\n"),
        ("08:30\n", "09:12\n"),
    ):
        assert compare(one + STORM + METRO, other + STORM + METRO).relation == "copy"
    for one, other in (
        ("下载 10 本报告\n", "下载 20 本报告\n"),
        ("2024-05-01 08:30\n", "2024-05-02 08:30\n"),
        ("2024-05-01 08:30至10:00停水。", "2024-05-01 09:30至10:00停水。"),
        ("08:30发布：", "09:30发布："),
        ("08:30，", "09:30，"),
        ("会议时间：2024-05-01 08:30，", "会议时间：2024-05-01 09:30，"),
    ):
        assert compare(one + STORM + METRO, other + STORM + METRO).relation == "contradicts"


def test_scripts_alone_are_no_copies_if_they_load_from_another_address() -> None:
    load = (
        'var a=document.createElement("script");a.src="https://cdn.example.com/%s/x.js";document.body.appendChild(a);'
    )
    made = compare(load % "aaa111", load % "bbb222")
    assert made.relation == "contradicts"
    assert "aaa111" in made.contradictions[0].a
    story = "The city closed two bridges after the storm (the river rose by two metres), and trains ran late. "
    assert compare(f"{story}https://a.example.com/1", f"{story}https://b.example.com/2").relation == "copy"
