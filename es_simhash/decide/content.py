"""The content of a document: all its fields, as 64 bits. It tells whether a document with the same text has changed.

It is that of the document as it was given. So it does not depend on what an ingest pipeline of the server adds, on
which fields the server leaves out of a ``_source`` that is read, and on what other programs change.
"""

from __future__ import annotations

import json
from hashlib import blake2b

_SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def content_of(source: str) -> int:
    """Return the content of a document as a signed integer of 64 bits. The order of its fields makes no difference.

    :param source: the document as JSON.
    """
    sorted_fields = _SORTED.encode(json.loads(source))
    return int.from_bytes(blake2b(sorted_fields.encode(), digest_size=8).digest(), "big", signed=True)
