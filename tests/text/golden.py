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

The script reads the input of each line and computes the output with the reference implementations of these tests.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from es_simhash.text.scheme import Scheme
from es_simhash.text.tables import STOP_WORDS
from tests.text.test_fingerprinter import plain_aggregate, plain_normalised, plain_weighed
from tests.text.test_normalisation import plain_normalise

FILE = Path(__file__).resolve().parents[1] / "vectors" / "scheme-1.jsonl"

OUTPUT = ("version", "distinct_features", "fingerprint", "digest")


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def text_of(line: dict[str, Any]) -> str:
    return str(line["text"]) * int(line.get("times", 1))


def with_reference_output(line: dict[str, Any]) -> dict[str, Any]:
    """Return the line with the output of the reference implementations."""
    choices = {name: value for name, value in line["scheme"].items() if name != "rules"}
    scheme = Scheme(**choices)
    if "features" in line:
        weighed: dict[str, int] = {}
        for feature, weight in line["features"]:
            weighed[feature] = weighed.get(feature, 0) + max(1, round(weight * 1024))
        digest_input = json.dumps(sorted(weighed.items()), ensure_ascii=False, separators=(",", ":"))
    else:
        table = {plain_normalise(word): max(1, round(idf * 1024)) for word, idf in line.get("idf_table", {}).items()}
        weighed = plain_weighed(text_of(line), scheme, table or None, plain_stop_words(line))
        digest_input = plain_normalised(text_of(line), scheme)
    value = plain_aggregate(weighed, scheme.bits, scheme.hash)
    output = {
        "version": ":".join(str(value) for value in line["scheme"].values()),
        "distinct_features": len(weighed),
        "fingerprint": f"{value:0{scheme.bits // 4}x}" if weighed else None,
        "digest": hashlib.new(scheme.digest, digest_input.encode("utf-8")).hexdigest(),
    }
    return {**{name: value for name, value in line.items() if name not in OUTPUT}, **output}


def plain_stop_words(line: dict[str, Any]) -> set[str]:
    if "stop_word_list" in line:
        return {plain_normalise(word) for word in line["stop_word_list"]}
    return set() if line["scheme"]["stop_words"] == "none" else set(STOP_WORDS)


def write(lines: list[dict[str, Any]]) -> None:
    written = "".join(json.dumps(with_reference_output(line), ensure_ascii=False) + "\n" for line in lines)
    FILE.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    write(read())
