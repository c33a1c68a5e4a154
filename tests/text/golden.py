"""The golden file of Scheme rules 1, and the script that writes it: ``python -m tests.text.golden``.

``tests/vectors/scheme-1.jsonl`` holds for every release, from the first one on. If a line no longer holds, stored
fingerprints and digests lose their meaning. So do not change a line: correct the code, or give the rules a new number
and a new file. New lines may be added.

Each line is a JSON object. Its input:

``text``, or ``features``
    the text, or pairs of a feature and a weight.
``times``
    how often the text is repeated; once if it is missing.
``idf_table``, ``stop_word_list``
    the custom IDF table (word to IDF) and the custom stop words, as a user passes them; missing if there are none.
``scheme``
    the Scheme as a store holds it: ``rules`` and every choice.

Its output:

``version``
    the version of the Scheme.
``distinct_features``, ``fingerprint``, ``digest``
    the number of distinct features, the fingerprint in hex (null if there are too few features), and the digest.

The script reads the input of each line and computes the output by the library; that of no former line may change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from es_simhash.text.fingerprinter import Fingerprinter
from es_simhash.text.scheme import Scheme
from es_simhash.text.tables import IdfTable, StopWords

FILE = Path(__file__).resolve().parents[1] / "vectors" / "scheme-1.jsonl"


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def output_of(line: dict[str, Any]) -> dict[str, Any]:
    """Return the output of a line, computed by the library."""
    scheme = Scheme.from_dict(line["scheme"])
    fingerprinter = Fingerprinter(
        scheme,
        idf=IdfTable.of(line["idf_table"]) if "idf_table" in line else None,
        stop_words=StopWords.of(line["stop_word_list"]) if "stop_word_list" in line else None,
    )
    if "features" in line:
        made = fingerprinter.fingerprint_features(line["features"])
    else:
        made = fingerprinter.fingerprint(line["text"] * line.get("times", 1))
    return {
        "version": scheme.version,
        "distinct_features": made.features,
        "fingerprint": made.hex,
        "digest": made.digest,
    }


if __name__ == "__main__":
    former = read()
    every = [{**line, **output_of(line)} for line in former]
    assert all(line == made for line, made in zip(former, every, strict=True) if "digest" in line)
    FILE.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in every), encoding="utf-8")
