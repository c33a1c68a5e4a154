"""What changes by itself on a page, or stands round an article, hides no copy: by ingest, on each store."""

from __future__ import annotations

import json

from es_simhash import Documents
from es_simhash.rows import Entry, Scan
from es_simhash.store.memory_store import MemoryStore

ARTICLE = (
    "老城区改造项目今天上午正式启动，首批涉及六条街巷和2000余户居民。施工队伍已经进场，围挡沿着河岸依次排开，社区工作人员正在"
    "逐户登记过渡安置意愿。居民盼着早日搬回修好的老屋。"
)
PAGES = (
    f"阅读 10234\n{ARTICLE}",
    f"阅读 12万+\n{ARTICLE}",
    f"10:31:22 {ARTICLE}",
    f"11:02:05 {ARTICLE}",
    f"2026-10-08 09:35 来源：江州日报\n{ARTICLE}",
    f"{ARTICLE}\n点赞 17　评论 203　分享",
    f"更新时间：2026-10-09 7:05\n{ARTICLE}",
)


def test_a_text_that_another_program_changed_is_not_taken_for_that_of_others_with_its_digest() -> None:
    store = MemoryStore()
    Documents(store).add({"id": "a", "text": ARTICLE})
    [[stored]] = store.scan(Scan(keys=True))
    store.write([Entry(stored.row, stored.keys, json.dumps({"id": "a", "text": "别的正文"}))])
    documents = Documents(store)
    assert documents.add({"id": "b", "text": PAGES[0]}).outcome == "new"
    documents.remove(["a", "b"])
    Documents(store).add({"id": "c", "text": ARTICLE})
    outcome = documents.add({"id": "d", "text": PAGES[0]})
    assert (outcome.outcome, outcome.duplicate_of) == ("near_duplicate", "c")
