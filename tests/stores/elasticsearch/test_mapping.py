"""The mapping files, which users may apply by hand."""

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
def test_a_mapping_file_is_the_mapping_of_its_scheme(name: str) -> None:
    shipped = json.loads((MAPPINGS / name).read_text(encoding="utf-8"))["mappings"]
    assert shipped == DOCUMENTS.mapping(FILES[name])


def test_the_reader_knows_all_fields_of_the_mappings() -> None:
    fields = {
        field
        for name in FILES
        for field in json.loads((MAPPINGS / name).read_text(encoding="utf-8"))["mappings"]["properties"]["simhash"][
            "properties"
        ]
    }
    assert fields == SIMHASH_FIELDS
