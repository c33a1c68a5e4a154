"""A crawler that stores each page once: a pipeline of the form that Scrapy uses, and a small loop that drives it.

    python examples/crawler.py pages.jsonl --store sqlite:///pages.db

In a Scrapy project (2.14 or later): ITEM_PIPELINES = {"crawler.DuplicatesPipeline": 300}, and DUPLICATES_STORE with the
address of the store. Each item has the fields url and text.

Pages that were crawled before are updates. Copies are stored and linked to their original; with `on_duplicate="skip"`
they would not be stored.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

from es_simhash import Documents

try:
    from itemadapter import ItemAdapter  # comes with Scrapy, whose items are of many types
except ImportError:

    def as_dict(item: Any) -> dict[str, Any]:
        return dict(item)

else:

    def as_dict(item: Any) -> dict[str, Any]:
        return ItemAdapter(item).asdict()


class DuplicatesPipeline:
    """Adds each item to a store. The item becomes a dict that also says what it duplicates."""

    def __init__(self, store: str = "sqlite:///pages.db") -> None:
        self.store = store

    @classmethod
    def from_crawler(cls, crawler: Any) -> DuplicatesPipeline:
        return cls(crawler.settings.get("DUPLICATES_STORE", "sqlite:///pages.db"))

    def open_spider(self) -> None:
        self.documents = Documents(self.store)
        self.documents.setup(id_field="url")

    def process_item(self, item: Any) -> dict[str, Any]:
        page = as_dict(item)
        outcome = self.documents.add(page)
        return {**page, "outcome": outcome.outcome, "duplicate_of": outcome.duplicate_of, "reason": outcome.reason}

    def close_spider(self) -> None:
        self.documents.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", help="JSON lines with url and text, in place of a spider")
    parser.add_argument("--store", default="sqlite:///pages.db", help="default: %(default)s")
    arguments = parser.parse_args()
    pipeline = DuplicatesPipeline(arguments.store)
    pipeline.open_spider()
    outcomes: Counter[str] = Counter()
    with open(arguments.pages, encoding="utf-8") as lines:
        for line in lines:
            page = pipeline.process_item(json.loads(line))
            outcomes[page["outcome"]] += 1
            if page["duplicate_of"]:
                print(f"{page['url']} is a duplicate of {page['duplicate_of']}")
    pipeline.close_spider()
    print(dict(outcomes))


if __name__ == "__main__":
    main()
