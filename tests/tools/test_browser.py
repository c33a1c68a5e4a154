"""Pages with buttons, in a real browser: clicks and keys decide, what is saved is what the commands take.

They need Chromium and the packages of the group ``browser``: `pip install --group browser`, `apt-get install chromium`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR, es_simhash
from tests.es_node.fixtures import ELASTICSEARCH, new_addresses
from tests.tools.evaluation.test_evaluation import NOTICE, OTHER_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from es_simhash import Outcome

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
REQUIRED = bool(os.environ.get("ES_SIMHASH_REQUIRE_BROWSER"))
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    CHROMIUM = None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="needs chromium and playwright"),
]
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}
TEXTS = {"a": STORM, "b": STORM_NEAR, "c": STORM_FARTHER, "d": NOTICE, "e": OTHER_NUMBERS, "f": HARVEST, "g": STORM}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


def ingest(address: str) -> list[Outcome]:
    """Store seven documents, of which three are copies and one contradicts another one."""
    with Documents(address) as documents:
        documents.setup()
        return list(documents.ingest({"id": id, "text": text} for id, text in TEXTS.items()))


@pytest.fixture
def news(tmp_path: Path) -> Path:
    """A folder with a store of these documents."""
    ingest(f"sqlite:///{tmp_path}/es-simhash.db")
    return tmp_path


def opened(browser: Any, path: Path, options: dict[str, Any]) -> Any:
    """Open a page. An error in its script, and a word to a server, fail the test."""
    page = browser.new_context(**options).new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.on("console", lambda message: message.type == "error" and pytest.fail(message.text))
    page.goto(f"file://{path}")
    return page


def saved(page: Any, path: Path) -> list[dict[str, Any]]:
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("options", "language", "words", "store"),
    [
        (DESKTOP, "en", ("no copy 2, copy 2"), "sqlite"),
        (PHONE, "zh", ("不是重复 2, 是重复 2"), "sqlite"),
        pytest.param(DESKTOP, "zh", ("不是重复 2, 是重复 2"), *ELASTICSEARCH.values, marks=ELASTICSEARCH.marks),
    ],
    ids=["desktop", "phone", "elasticsearch"],
)
def test_what_is_decided_on_the_page_of_a_report_is_pinned(
    browser: Any,
    tmp_path: Path,
    options: dict[str, Any],
    language: str,
    words: str,
    store: str,
    request: pytest.FixtureRequest,
) -> None:
    address = new_addresses(request, store)()
    ingest(address)
    es_simhash(f"report --lang {language} --store {address}", cwd=tmp_path)
    page = opened(browser, tmp_path / "report.html", options)
    assert page.locator("#save").is_disabled()
    command = page.locator("header code").first.inner_text().removeprefix("es-simhash ")
    for id, word in (("b", "null"), ("c", '"a"'), ("e", '"d"'), ("g", "null")):
        page.locator(f"[data-line='{json.dumps({'id': id})}'] button[value*='{word}']").click()
    assert page.locator("[role=status]").inner_text() == words
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    pins = saved(page, tmp_path / "pins.jsonl")
    expected: dict[str, str | None] = {"b": None, "c": "a", "g": None, "e": "d"}
    assert pins == [{"id": id, "duplicate_of": original} for id, original in expected.items()]
    assert "4 documents pinned" in es_simhash(command, cwd=tmp_path).out
    listed = es_simhash(f"pin --list --store {address}", cwd=tmp_path).json
    assert listed == [{**pin, "pinned": True} for pin in sorted(pins, key=lambda pin: str(pin["id"]))]
    assert {outcome.outcome for outcome in ingest(address)} == {"unchanged"}
    with Documents(address) as documents:
        documents.group()
    assert es_simhash(f"pin --list --store {address}", cwd=tmp_path).json == listed
    es_simhash(f"report --store {address}", cwd=tmp_path)
    page = opened(browser, tmp_path / "report.html", options)
    heads = page.locator("h3:visible", has_text="pinned").all_inner_texts()
    assert sorted(head.split()[0] for head in heads) == ["c", "e"]
    assert page.locator("section").count() == 1


def test_a_pair_that_a_person_has_called_no_copy_does_not_come_again(browser: Any, news: Path) -> None:
    with Documents(f"sqlite:///{news}/es-simhash.db") as documents:
        documents.pin("e")
    es_simhash("report", cwd=news)
    page = opened(browser, news / "report.html", DESKTOP)
    ids = [json.loads(line.get_attribute("data-line"))["id"] for line in page.locator("[data-line]").all()]
    assert ids == ["b", "c", "g"]


def test_keys_decide_move_and_take_back(browser: Any, news: Path) -> None:
    es_simhash("report", cwd=news)
    page = opened(browser, news / "report.html", DESKTOP)
    current = page.locator("[aria-current]")
    for key, at in (("n", "c"), ("k", "b"), ("n", "c"), ("y", "g")):
        page.keyboard.press(key)
        assert json.loads(current.get_attribute("data-line"))["id"] == at
    assert page.locator("[role=status]").inner_text() == "no copy 0, copy 1"
    with page.expect_download() as download:
        page.keyboard.press("s")
    assert json.loads(download.value.path().read_text()) == {"id": "c", "duplicate_of": "a"}


def test_the_page_for_labels_saves_each_pair_with_its_label(browser: Any, news: Path) -> None:
    drawn = es_simhash("evaluate --sample 5", cwd=news).json
    es_simhash("evaluate --sample 5 --page labels.html", cwd=news)
    page = opened(browser, news / "labels.html", PHONE)
    page.keyboard.press("u")
    page.locator(".pair").nth(1).locator("button").nth(1).click()
    assert page.locator("[role=status]").inner_text() == f"copy 0, no copy 1, unsure 1 / {len(drawn)}"
    labels = ["unsure", False, *[None] * (len(drawn) - 2)]
    assert saved(page, news / "pairs.jsonl") == [
        {**pair, "copy": label} for pair, label in zip(drawn, labels, strict=True)
    ]


def test_two_thousand_decisions_are_made_and_saved(browser: Any, tmp_path: Path) -> None:
    chosen = random.Random(1)
    texts = ["".join(chosen.choices("山水田林湖草花鸟鱼虫星月云风雨雪", k=60)) for _ in range(334)]
    with Documents(f"sqlite:///{tmp_path}/es-simhash.db") as documents:
        documents.setup(DuplicateRule(contradictions="allow"))
        copies = (
            {"id": f"{n}-{m}", "text": f"{text[:9]}{'甲乙丙丁戊己庚'[m]}{text[9:]}"}
            for n, text in enumerate(texts)
            for m in range(7)
        )
        list(documents.ingest(copies))
    es_simhash("report --groups 1000", cwd=tmp_path)
    page = opened(browser, tmp_path / "report.html", DESKTOP)
    count = page.locator("[data-line]").count()
    assert count > 1_900
    page.evaluate("""for (const each of document.querySelectorAll("[data-line] button:last-child")) each.click()""")
    assert page.locator("[role=status]").inner_text() == f"no copy 0, copy {count}"
    assert len(saved(page, tmp_path / "pins.jsonl")) == count
    assert f"{count:,} documents pinned" in es_simhash("pin pins.jsonl", cwd=tmp_path).out


def test_without_a_script_the_page_can_be_read_and_has_no_buttons(browser: Any, news: Path) -> None:
    es_simhash("report", cwd=news)
    page = opened(browser, news / "report.html", {**DESKTOP, "java_script_enabled": False})
    assert "Without JavaScript this page has no buttons." in page.locator("header").inner_text()
    assert page.locator("button:visible").count() == 0
    assert "托儿所" in page.locator("main").inner_text()
