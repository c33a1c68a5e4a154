"""A repr says what an object is: its store without credentials, its numbers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from es_simhash import AsyncDocuments, Documents, Fingerprinter, Scheme, SeenItems, fingerprint

if TYPE_CHECKING:
    from pathlib import Path


def test_a_repr_names_the_store_without_credentials_and_what_was_chosen(tmp_path: Path) -> None:
    with Documents("http://desk:hunter2@127.0.0.1:1/news", scheme=Scheme(weights="tf")) as documents:
        assert repr(documents) == "Documents('http://127.0.0.1:1/news')"
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        assert repr(documents) == f"Documents('sqlite:///{tmp_path / 'news.db'}')"
    with SeenItems(f"sqlite:///{tmp_path / 'users.db'}", error_rate=0.01) as seen:
        assert repr(seen) == f"SeenItems('sqlite:///{tmp_path / 'users.db'}', error_rate=0.01)"
    documents_of_a_loop = AsyncDocuments("http://desk:hunter2@127.0.0.1:1/news")
    assert repr(documents_of_a_loop) == "AsyncDocuments('http://127.0.0.1:1/news')"
    asyncio.run(documents_of_a_loop.close())


def test_the_repr_of_a_fingerprint_is_its_hex_form() -> None:
    made = fingerprint("市气象台今晨发布暴雨橙色预警，部分路段已经出现积水")
    assert repr(made) == f"Fingerprint(0x{made.hex}, digest={made.digest!r}, features={made.features})"
    assert repr(fingerprint("短")).startswith("Fingerprint(None, too few features, digest=")
    assert repr(Fingerprinter()) == f"Fingerprinter({Scheme().version!r})"
