"""The documents that ``group`` compares, as arrays in place of Rows: some 100 bytes a document, and those of its id.

A stored link is only compared with the right one. So an id is held once, as text. Everywhere else Python's hash of it
stands for it, a number of 64 bits. A change would be overlooked only if the stored link and the right one had the same
hash: less than once in 10**11 runs that change ten million documents.

A store's versions may have any form, and only documents that change need them. They are held pickled and compressed, a
page of the Scan together.
"""

from __future__ import annotations

import pickle
import zlib
from array import array
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.contract import Link
from es_simhash.fingerprinting.encoding import columns
from es_simhash.groups.near_pairs import kinds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.contract import Row

    Integers = NDArray[np.int64]
    Words = NDArray[np.uint64]

NO_TIME = -(1 << 63)
"""In place of the time of a document that has none."""
_NO_ORIGINAL = -1
"""In place of the hash of an original. No string has this hash."""
_WORD = (1 << 64) - 1


class Strings:
    """Strings in the order in which they were added. Each takes its bytes in UTF-8, and 8 more."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ends = array("q", [0])

    def extend(self, strings: Iterable[str]) -> None:
        """Add strings."""
        every = [string.encode("utf-8", "surrogatepass") for string in strings]
        self._ends.extend(accumulate(map(len, every), initial=self._ends.pop()))
        self._data += b"".join(every)

    def __getitem__(self, index: int) -> str:
        return self._data[self._ends[index] : self._ends[index + 1]].decode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Pool:
    """The documents that are compared. A position is an index into their write order.

    :param fingerprints: shape (n,) for 64 bits, (n, 2) for 128, as ``encoding.to_array`` returns them; 0 for a document
        without a fingerprint.
    :param fingerprinted: whether the document has a fingerprint, shape (n,).
    :param digests: 128 bits of each, shape (n, 2); :func:`digest_words` makes them.
    :param names: hash of the id of each document, shape (n,).
    :param groups: hash of the id of its stored head, shape (n,).
    :param originals: hash of the id of its stored original, or -1, shape (n,).
    :param times: in milliseconds, or ``NO_TIME``, shape (n,); empty if times do not count.
    :param order: the index of each document in the order in which they were read, shape (n,).
    :param ids: in the order in which they were read.
    :param pages: the index of the first document of each page in the order in which they were read; then their number.
    :param versions: of the documents of each page, packed.
    """

    fingerprints: Words
    fingerprinted: NDArray[np.bool_]
    digests: Words
    names: Integers
    groups: Integers
    originals: Integers
    times: Integers
    order: Integers
    ids: Strings
    pages: Integers
    versions: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.order)

    def id(self, position: int) -> str:
        """Return the id of a document."""
        return self.ids[int(self.order[position])]

    def fingerprint(self, position: int) -> int | None:
        """Return the fingerprint of a document; None if it has none."""
        if not self.fingerprinted[position]:
            return None
        value = 0
        for word in columns(self.fingerprints[position : position + 1]):
            value = value << 64 | int(word[0])
        return value

    def time(self, position: int) -> int | None:
        """Return the time of a document; None if it has none, or if times do not count."""
        time = int(self.times[position]) if len(self.times) else NO_TIME
        return None if time == NO_TIME else time

    def has_digest(self, position: int, digest: str) -> bool:
        """Return whether a document has this digest."""
        return bool((self.digests[position] == digest_words([digest])[0]).all())

    def position(self, id: str) -> int | None:
        """Return the position of a document; None if it is not in the pool."""
        by_name, names = self._by_name
        index = int(np.searchsorted(names, hash(id)))
        while index < len(names) and names[index] == hash(id):
            if self.id(position := int(by_name[index])) == id:
                return position
            index += 1
        return None

    @cached_property
    def _by_name(self) -> tuple[Integers, Integers]:
        by_name = np.argsort(self.names)
        return by_name, self.names[by_name]

    def texts(self, blank_digest: str) -> Integers:
        """Return for each document the position of the first one with its text, shape (n,); -1 for an empty text.

        :param blank_digest: the digest of an empty text.
        """
        first, kinds = kinds_of(columns(self.digests))
        texts = first[kinds]
        texts[(self.digests == digest_words([blank_digest])).all(axis=1)] = -1
        return texts

    def changed(self, heads: Integers, originals: Integers) -> Integers:
        """Return the positions of the documents whose stored links differ from these, in the order of the reading.

        :param heads: position of the head of each document's group, shape (n,).
        :param originals: position of its original, or -1, shape (n,).
        """
        differ = self.groups != self.names[heads]
        differ |= self.originals != np.where(originals >= 0, self.names[originals], _NO_ORIGINAL)
        positions = np.flatnonzero(differ)
        return positions[np.argsort(self.order[positions])]

    def links(self, positions: Integers, heads: Integers, originals: Integers) -> Iterator[tuple[str, Link]]:
        """Yield the id of each of these documents and its right links.

        :param positions: of :meth:`changed`.
        """
        pages = np.searchsorted(self.pages, self.order[positions], side="right") - 1
        unpacked, versions = -1, list[Any]()
        for position, page in zip(positions.tolist(), pages.tolist(), strict=True):
            if page != unpacked:
                unpacked, versions = page, _unpacked(self.versions[page])
            version = versions[int(self.order[position] - self.pages[page])]
            original = int(originals[position])
            duplicate_of = None if original < 0 else self.id(original)
            yield self.id(position), Link(self.id(int(heads[position])), duplicate_of, version)


class PoolReader:
    """Collects the pages of a Scan.

    :param bits: width of the fingerprints.
    :param timed: times count.
    """

    def __init__(self, bits: int, *, timed: bool) -> None:
        self._timed = timed
        self._words = [array("Q") for _ in range(bits // 64)]
        self._fingerprinted, self._digests = bytearray(), bytearray()
        self._integers = {name: array("q") for name in ("written", "names", "groups", "originals", "times")}
        self._ids = Strings()
        self._page_ends = [0]
        self._versions: list[bytes] = []

    def add(self, rows: Sequence[Row]) -> None:
        """Add the Rows of a page."""
        for shift, words in enumerate(reversed(self._words)):
            words.extend([(row.fingerprint or 0) >> 64 * shift & _WORD for row in rows])
        self._fingerprinted += bytes([row.fingerprint is not None for row in rows])
        self._digests += digest_words([row.digest for row in rows]).tobytes()
        integers = self._integers
        integers["written"].extend([row.written for row in rows])
        integers["names"].extend([hash(row.id) for row in rows])
        integers["groups"].extend([hash(row.group) for row in rows])
        integers["originals"].extend([_hash_or_none(row.duplicate_of) for row in rows])
        if self._timed:
            integers["times"].extend([NO_TIME if row.time is None else row.time for row in rows])
        self._ids.extend([row.id for row in rows])
        self._page_ends.append(self._page_ends[-1] + len(rows))
        self._versions.append(_packed([row.version for row in rows]))

    def pool(self) -> Pool:
        """Return the documents that were read, in their write order. The reader cannot be used afterwards.

        Each array of the reader is dropped as soon as the one that replaces it exists.
        """
        order = _write_order(np.frombuffer(self._integers.pop("written"), dtype=np.int64), self._ids)

        def integers(name: str) -> Integers:
            values = np.frombuffer(self._integers.pop(name), dtype=np.int64)
            return values[order] if len(values) else values

        words = [np.frombuffer(self._words.pop(0), dtype=np.uint64)[order] for _ in range(len(self._words))]
        fingerprinted, self._fingerprinted = np.frombuffer(self._fingerprinted, dtype=np.bool_)[order], bytearray()
        digests, self._digests = np.frombuffer(self._digests, dtype=np.uint64).reshape(-1, 2)[order], bytearray()
        return Pool(
            fingerprints=words[0] if len(words) == 1 else np.stack(words, axis=1),
            fingerprinted=fingerprinted,
            digests=digests,
            names=integers("names"),
            groups=integers("groups"),
            originals=integers("originals"),
            times=integers("times"),
            order=order,
            ids=self._ids,
            pages=np.array(self._page_ends, dtype=np.int64),
            versions=self._versions,
        )


def _hash_or_none(id: str | None) -> int:
    return _NO_ORIGINAL if id is None else hash(id)


def digest_words(digests: Sequence[str]) -> Words:
    """Return 128 bits of each digest, shape (n, 2). Equal digests have equal ones.

    A digest of 32 hex digits has its own bits. Another one, such as that of SHA-256, has the bits of its BLAKE2b hash.
    """
    together = "".join(digests)
    try:
        data = bytes.fromhex(together)
    except ValueError:
        data = b""
    if data.hex() != together or any(len(digest) != 32 for digest in digests):
        data = b"".join(map(_digest_bytes, digests))
    return np.frombuffer(data, dtype=np.uint64).reshape(-1, 2)


def _digest_bytes(digest: str) -> bytes:
    try:
        data = bytes.fromhex(digest)
    except ValueError:
        data = b""
    if len(data) == 16 and data.hex() == digest:
        return data
    return blake2b(digest.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _write_order(written: Integers, ids: Strings) -> Integers:
    """Return the indices of the documents sorted by their write order, then by their ids."""
    order = np.argsort(written, kind="stable")
    equal = np.diff(written[order]) == 0
    # Runs of documents that have one write order: where each begins, and where it ends.
    edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
    for first, last in edges.reshape(-1, 2).tolist():
        order[first : last + 1] = sorted(order[first : last + 1].tolist(), key=ids.__getitem__)
    return order


def _packed(versions: list[Any]) -> bytes:
    return zlib.compress(pickle.dumps(versions, protocol=5), 1)


def _unpacked(packed: bytes) -> list[Any]:
    versions: list[Any] = pickle.loads(zlib.decompress(packed))  # our own, of _packed
    return versions
