"""The report as one HTML page, without anything from the network.

With buttons, one script runs. The policy of the page allows it by its digest, and no other.

Jinja2 escapes everything that comes from a document. The page is written piece by piece: only the texts of one group
are held at once.
"""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from es_simhash import InputError
from es_simhash.machine import open_for_owner, writing
from es_simhash.similarity.times import length_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jinja2 import Template

    from es_simhash.tools.report.review import Review, ShownText

Language: TypeAlias = Literal["en", "zh"]

# Controls that HTML forbids, or that browsers show as nothing. Line breaks and tabs stay.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def page(
    review: Review, pairs: Iterable[ShownText], name: str, most: int, language: Language, *, has_buttons: bool = False
) -> Iterator[str]:
    """Yield the pieces of the page.

    :param pairs: with other numbers.
    :param name: of the store, or of the files.
    :param most: groups at most.
    :param has_buttons: a person decides on it what is a copy, for ``es-simhash pin``. The ids are those of a store.
    """
    yield from template_of("report/page.html", language).generate(
        has_buttons=has_buttons,
        name=name,
        made=f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        rule=review.rule,
        within=None if review.rule.within is None else length_of(review.rule.within),
        totals=review.groups.totals(),
        groups=map(review.shown_group, review.groups.largest(most)),
        pairs=pairs,
        count=lambda number: f"{number:,}",
        percent=percent,
    )


def template_of(name: str, language: Language) -> Template:
    """Return a template of the tools. It escapes everything that comes from a document.

    It knows the language, the script of its buttons, and the digest of the script.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # a tenth of the time in which a command starts
    from markupsafe import Markup

    script = files(__package__ or "").joinpath("decisions.js").read_text(encoding="utf-8")
    environment = Environment(
        loader=PackageLoader("es_simhash.tools", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_without_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    known = {
        "script": Markup(script),
        "digest": digest,
        "say": lambda english, chinese: chinese if language == "zh" else english,
    }
    return environment.get_template(name, globals=known)


def write_page(pieces: Iterable[str], out: str) -> None:
    """Write the pieces of a page to a file that only its owner can read.

    :raises InputError: if the file cannot be written.
    """
    with writing(out, InputError), open(out, "w", encoding="utf-8", newline="\n", opener=open_for_owner) as file:
        file.writelines(pieces)


def percent(share: float) -> str:
    """Return a share in percent, rounded down: only equal texts have 100%.

    >>> percent(0.9996), percent(0.29)
    ('99%', '29%')
    """
    return f"{int(100 * share + 1e-9)}%"


def _without_controls(value: Any) -> Any:
    return _CONTROLS.sub("\ufffd", value) if type(value) is str else value
