"""Many texts that are looked up together."""

from __future__ import annotations

import tracemalloc

from es_simhash import Documents

NOTICE = "停电通知：因线路检修，城东第{}号台区及其周边的居民小区和商铺将停电，请提前做好准备，关闭电器的电源。"


def test_more_texts_take_no_more_memory_than_what_is_found() -> None:
    texts = [NOTICE.format(number) for number in range(100)]
    with Documents("memory://") as documents:
        documents.setup("copy")
        documents.add_many({"id": number, "text": text} for number, text in enumerate(texts))
        few, peaks = documents.similar_many(texts), []
        for times in (1, 4):
            tracemalloc.start()
            found = documents.similar_many(texts * times)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert found == few * times
    assert [len(matches) for matches in few] == [1] * 100
    assert peaks[1] < 2 * peaks[0]
