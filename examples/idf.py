"""Make an IDF table from your own documents: the rarer a word is in them, the more it weighs in a fingerprint.

    python examples/idf.py news.jsonl > idf.txt

Use it by `es-simhash init --scheme scheme.json`, where scheme.json holds {"weights": "tf_idf", "idf": "idf.txt"}.
"""

import json
import sys

from es_simhash import DocumentFrequencies

frequencies = DocumentFrequencies()
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            frequencies.add(json.loads(line)["text"])
for row in frequencies.table().lines():
    print(row)
