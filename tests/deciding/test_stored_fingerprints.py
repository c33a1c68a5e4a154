"""A large ingest looks up only what is near a fingerprint in memory, and finds what other programs write."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, fingerprint
from es_simhash.deciding.limits import Limits
from es_simhash.errors import StoreError
from es_simhash.fingerprinting.normalisation import compared_characters, normalise
from es_simhash.search.keys import text_keys
from es_simhash.stores.address import open_store
from tests import limited
from tests.contract import LinearStore
from tests.contract.documents import entry, write
from tests.contract.watched import StoreCall, WatchedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_simhash.contract import Store
    from es_simhash.similarity.rule import Rule

WORDS = "北京 上海 经济 增长 市场 投资 企业 发展 政府 改革 教育 医院 学校 火车 飞机 天气 暴雨 足球 比赛 电影".split()  # noqa: SIM905
BATCH = 4


def text(number: int) -> str:
    """Return a text that is near no other one of these."""
    return "，".join(f"{WORDS[(number * 7 + n * (number + 3)) % 20]}{number * 31 + n * n}" for n in range(12))


class Recording(WatchedStore):
    """A store that counts the fingerprints of the requests for candidates."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.embedded = False
        self.looked_up: list[int] = []
        self.read = 0

    def perform(self, request: StoreCall) -> Any:
        if request.method == "candidates":
            self.looked_up += [probe.fingerprint for probe in request.probes if probe.fingerprint is not None]
        reply = super().perform(request)
        if request.method == "read_fingerprints" and reply is not None:
            self.read += len(reply.values) + len(reply.keys)
        return reply


RULES: list[Rule] = ["fingerprint", "copy"]


@pytest.fixture(params=["memory", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield LinearStore(lagging=True)
        return
    url, make_index = (request.getfixturevalue(name) for name in ("elasticsearch_url", "make_index"))
    opened = open_store(f"{url}/{make_index()}")
    yield opened
    opened.close()


def ingested(
    documents: Documents,
    numbers: Iterable[int],
    rule: Rule,
    before: Callable[[int], None] | None = None,
    **limits: float,
) -> dict[str, str | None]:
    """Ingest texts, four at a time. Return the original of each.

    :param before: is called before a text is read.
    :param limits: of the run, beside the window.
    """
    small: Any = {"window": BATCH, **limits}

    def read() -> Iterator[dict[str, Any]]:
        for number in numbers:
            if before is not None:
                before(number)
            yield {"id": f"d{number}", "text": text(number % 1_000)}

    return {
        outcome.id or "": outcome.duplicate_of
        for outcome in limited.ingested(documents, read(), Limits(**small), batch_size=BATCH, rule=rule)
    }


@pytest.mark.parametrize("rule", RULES)
def test_only_what_is_near_a_stored_fingerprint_or_shares_keys_is_looked_up(store: Store, rule: Rule) -> None:
    recording = Recording(store)
    with Documents(recording) as documents:
        documents.setup(rule=rule)
        originals = ingested(documents, range(40), rule)
        assert set(originals.values()) == {None}
        assert len(recording.looked_up) <= 3 * BATCH
        recording.looked_up, recording.read = [], 0
        originals = ingested(documents, range(1_000, 1_040), rule)
        assert originals == {f"d{1_000 + n}": f"d{n}" for n in range(40)}
        assert len(recording.looked_up) == 40
        assert recording.read < 150  # all of them once, and perhaps the last ones once more


@pytest.mark.parametrize("rule", RULES)
def test_documents_that_are_unchanged_do_not_end_it(store: Store, rule: Rule) -> None:
    recording = Recording(store)
    with Documents(recording) as documents:
        documents.setup(rule=rule)
        ingested(documents, range(40), rule)
        recording.looked_up = []
        ingested(documents, [*range(40, 60), *range(BATCH), *range(60, 80)], rule)
        assert len(recording.looked_up) < 20


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("fresh", "others"), [(0.0, 9.0), (30.0, 9.0), (30.0, 0.1)])
def test_what_another_program_writes_is_found(store: Store, fresh: float, others: float, rule: Rule) -> None:
    recording = Recording(store)
    with Documents(recording) as documents:
        documents.setup(rule=rule)

        def before(number: int) -> None:
            if number == 17:
                keys = text_keys(compared_characters(normalise(text(31))))
                other: Any = {"keys": keys.values, "length": keys.length} if rule == "copy" else {}
                write(store, entry("other", fingerprint(text(31)).value, text=text(31), **other))

        recording.looked_up = []
        originals = ingested(documents, range(40), rule, before, fresh=fresh, others=others)
        assert originals == {f"d{n}": "other" if n == 31 else None for n in range(40)}
        assert (len(recording.looked_up) < 20) == (others > 1)


class Refusing(Recording):
    """A store that cannot read fingerprints."""

    def perform(self, request: StoreCall) -> Any:
        if request.method == "read_fingerprints":
            raise StoreError("no such thing")
        return super().perform(request)


@pytest.mark.parametrize("rule", RULES)
def test_an_ingest_goes_on_where_fingerprints_or_keys_cannot_be_read(
    caplog: pytest.LogCaptureFixture, rule: Rule
) -> None:
    caplog.set_level(logging.WARNING, "es_simhash")
    refusing = Refusing(LinearStore(lagging=True))
    with Documents(refusing) as documents:
        documents.setup(rule=rule)
        ingested(documents, range(40), rule)
        originals = ingested(documents, range(1_000, 1_040), rule)
    assert originals == {f"d{1_000 + n}": f"d{n}" for n in range(40)}
    assert len(refusing.looked_up) == 80
    said = [message for message in caplog.messages if "cannot be read: no such thing" in message]
    assert len(said) == 2
