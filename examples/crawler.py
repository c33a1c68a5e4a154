"""A crawler that stores each page once: a pipeline of the form that Scrapy uses, and a small loop that drives it.

    python examples/crawler.py pages.jsonl --store sqlite:///pages.db

Pages that were crawled before are updates. Copies are stored and linked to their original; with `on_duplicate="skip"`
they would not be stored. Scrapy calls the same three methods if the class is named in ITEM_PIPELINES.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

from es_simhash import Documents


class DuplicatesPipeline:
    """Adds each item to a store, and says in the item what it duplicates."""

    def __init__(self, store: str = "sqlite:///pages.db") -> None:
        self.store = store

    def open_spider(self, spider: object) -> None:
        self.documents = Documents(self.store)
        self.documents.setup()

    def process_item(self, item: dict[str, Any], spider: object) -> dict[str, Any]:
        outcome = self.documents.add(item, id_field="url")
        return {**item, "outcome": outcome.outcome, "duplicate_of": outcome.duplicate_of, "reason": outcome.reason}

    def close_spider(self, spider: object) -> None:
        self.documents.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", help="JSON lines with url and text, in place of a spider")
    parser.add_argument("--store", default="sqlite:///pages.db", help="default: %(default)s")
    arguments = parser.parse_args()
    pipeline = DuplicatesPipeline(arguments.store)
    pipeline.open_spider(None)
    outcomes: Counter[str] = Counter()
    with open(arguments.pages, encoding="utf-8") as lines:
        for line in lines:
            page = pipeline.process_item(json.loads(line), None)
            outcomes[page["outcome"]] += 1
            if page["duplicate_of"]:
                print(f"{page['url']} is a duplicate of {page['duplicate_of']}")
    pipeline.close_spider(None)
    print(dict(outcomes))


if __name__ == "__main__":
    main()
