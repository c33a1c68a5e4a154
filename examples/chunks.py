"""Embed each chunk once: a transformer of LangChain that drops chunks that are copies of an earlier one.

    pip install langchain-core
    python examples/chunks.py examples/news.jsonl

In a pipeline of your own it stands between the splitter and the embedding:

    chunks = DropCopies().transform_documents(splitter.split_documents(documents))
    vector_store.add_documents(chunks)
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document

from es_simhash import distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash import DuplicateRule


class DropCopies(BaseDocumentTransformer):
    """Keeps the documents that are no copy of an earlier one.

    :param rule: what a copy is: a name such as ``contained``, or a DuplicateRule.
    """

    def __init__(self, rule: str | DuplicateRule = "copy") -> None:
        self.rule = rule

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Return those that stay, in their order, with their metadata."""
        return list(distinct(documents, text=lambda document: document.page_content, rule=self.rule))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    chunks = [
        Document(chunk, metadata={"id": row["id"], "chunk": number})
        for row in rows
        for number, chunk in enumerate(row["text"].split("\n\n"))
    ]
    kept = DropCopies().transform_documents(chunks)
    print(f"{len(kept)} of {len(chunks)} chunks are embedded")
    print("first:", kept[0].metadata)
