"""The mapping files that people apply by hand: no server is needed to check them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from es_simhash import Scheme
from es_simhash.ingest.reader import SIMHASH_FIELDS
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS

MAPPINGS = Path(__file__).parents[3] / "mappings"
FILES = {"documents.json": Scheme(), "documents-128.json": Scheme(bits=128)}


@pytest.mark.parametrize("name", FILES)
def test_a_mapping_file_is_of_its_scheme(name: str) -> None:
    shipped = json.loads((MAPPINGS / name).read_text(encoding="utf-8"))["mappings"]
    assert shipped == DOCUMENTS.mapping(FILES[name])


def test_a_document_that_was_read_back_is_known_by_all_fields_of_the_mappings() -> None:
    fields = {
        field
        for name in FILES
        for field in json.loads((MAPPINGS / name).read_text(encoding="utf-8"))["mappings"]["properties"]["simhash"][
            "properties"
        ]
    }
    assert fields == SIMHASH_FIELDS
