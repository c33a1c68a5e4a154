"""A Scrapy crawler that keeps each page once. A copy of a page that it knows is dropped.

    pip install scrapy
    python examples/crawler.py https://example.org/ --store sqlite:///pages.db --output pages.jsonl

In a project of your own: ITEM_PIPELINES = {"crawler.DuplicatesPipeline": 300}, and DUPLICATES_STORE with the address of
the store. Items may be of any type that Scrapy takes; each has the fields url and text.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import scrapy
from itemadapter import ItemAdapter
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import DropItem

from es_simhash import Documents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class DuplicatesPipeline:
    def __init__(self, store: str) -> None:
        self.documents = Documents(store)
        self.documents.setup(id_field="url")

    @classmethod
    def from_crawler(cls, crawler: Any) -> DuplicatesPipeline:
        return cls(crawler.settings["DUPLICATES_STORE"])

    def process_item(self, item: Any) -> Any:
        outcome = self.documents.add(ItemAdapter(item).asdict())
        if outcome.reason is not None:  # the page was rejected, or the store failed: Scrapy logs why
            raise DropItem(outcome.reason)
        if outcome.duplicate_of is not None:
            raise DropItem(f"{outcome.id} is a copy of {outcome.duplicate_of}")
        return item

    def close_spider(self) -> None:
        self.documents.close()


class PagesSpider(scrapy.Spider):
    name = "pages"

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request(self.start_urls[0])

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "text": " ".join(response.css("p::text").getall())}
        yield from response.follow_all(css="a", callback=self.parse)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--store", default="sqlite:///pages.db")
    parser.add_argument("--output", default="pages.jsonl")
    arguments = parser.parse_args()
    settings = {"ITEM_PIPELINES": {DuplicatesPipeline: 300}, "DUPLICATES_STORE": arguments.store, "LOG_LEVEL": "INFO"}
    process = CrawlerProcess({**settings, "FEEDS": {arguments.output: {"format": "jsonlines"}}})
    process.crawl(PagesSpider, start_urls=[arguments.url])
    process.start()
