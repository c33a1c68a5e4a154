"""A recommender that shows nothing twice: a page of the best candidates, without copies and without what was seen.

    python examples/recommender_page.py --store sqlite:///users.db --user ann

Candidates come from a ranking model, the best first, with the group of each (`simhash.group`). Run it several times:
each run shows the next items, until none is left.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

from es_simhash import SeenItems


class Candidate(NamedTuple):
    """An item with its group: the id of the document that it copies, or its own."""

    id: str
    group: str


RANKED = [Candidate(f"news-{n}", f"news-{n - n % 3}") for n in range(30)]  # three copies of each item


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="sqlite:///users.db", help="default: %(default)s")
    parser.add_argument("--user", default="ann", help="default: %(default)s")
    parser.add_argument("--size", type=int, default=4, help="items of a page; default: %(default)s")
    arguments = parser.parse_args()

    def candidates(offset: int, size: int) -> list[Candidate]:
        return RANKED[offset : offset + size]  # a service asks its model or its search here

    with SeenItems(arguments.store) as seen:
        page = seen.page(
            arguments.user,
            candidates,
            arguments.size,
            item=lambda candidate: candidate.id,
            group=lambda candidate: candidate.group,
        )
        seen.add(arguments.user, page.items)  # the page was shown
    print(*[candidate.id for candidate in page.hits])


if __name__ == "__main__":
    main()
