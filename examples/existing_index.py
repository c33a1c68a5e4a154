"""Add fingerprints to an index that exists, link its duplicates, and search for more of the same.

    python examples/existing_index.py http://localhost:9200/news --text-field body

It is what `es-simhash init`, `backfill` and `group` do. Documents keep all their fields; the field `simhash` is
added.
"""

from __future__ import annotations

import argparse
import sys

from es_simhash import Documents, DuplicateRule, SimhashError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="URL of the index")
    parser.add_argument("--text-field", default="text", help="default: %(default)s")
    arguments = parser.parse_args()
    with Documents(arguments.store) as documents:
        documents.setup(DuplicateRule(text_field=arguments.text_field))
        failed = 0
        for outcome in documents.backfill():
            if outcome.reason is not None:
                failed += 1
                print(f"{outcome.id}: {outcome.reason}", file=sys.stderr)
        report = documents.group()
        print(f"{report.documents} documents, {report.groups} groups with {report.members} members, {failed} left out")


if __name__ == "__main__":
    try:
        main()
    except SimhashError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
