"""What doctor says: a line for each thing that it looks at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import NotSetUp, SimhashError
from es_simhash.tools.doctor.checks import Check
from es_simhash.tools.doctor.file import look_at_file
from es_simhash.tools.doctor.server import look_at_server

if TYPE_CHECKING:
    from es_simhash import Documents


@dataclass(frozen=True)
class Diagnosis:
    """The result of ``doctor``.

    :param store: its address, without credentials.
    :param checks: what was looked at, each with a ``name``, a ``status`` (``ok``, ``advice``, ``problem`` or
        ``not tried``) and a ``text``.
    """

    store: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """No check found a problem."""
        return all(check.status != "problem" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as a JSON object."""
        return {"store": self.store, "ok": self.ok, "checks": [asdict(check) for check in self.checks]}


def doctor(documents: Documents) -> Diagnosis:
    """Look at the server or the file, the set-up, and what the store holds.

    It writes nothing. A fault is a line of the Diagnosis, and no error; also a store that cannot be reached.
    """
    checks = _set_up(documents)
    is_set_up = checks[0].status == "ok"
    if documents.name.startswith("sqlite:"):
        checks += look_at_file(documents, is_set_up)
    elif hasattr(documents.store, "connection"):  # else it is in memory, where nothing can be wrong
        checks += look_at_server(documents, is_set_up)
    return Diagnosis(documents.name, tuple(checks))


def _set_up(documents: Documents) -> list[Check]:
    try:
        documents.fetch([])  # raises if the store is not set up
        info = documents.info()
    except SimhashError as error:
        is_made = isinstance(error, NotSetUp) and documents.name.startswith("sqlite:")  # by the first ingest
        return [Check("set-up", "advice" if is_made else "problem", str(error))]
    scheme, keys = info.scheme and info.scheme.version, "with keys" if info.keys else "without keys"
    checks = [
        Check("set-up", "ok", f"Scheme {scheme}, {keys}, the id is in {info.id_field!r}"),
        Check("rule", "ok", str(info.rule)),
    ]
    if info.stale:
        again = f"es-simhash backfill --again --store {documents.name}"
        text = f"they were made before the text or time fields changed, and nothing is decided by them: run `{again}`"
        checks.append(Check("fingerprints", "problem", text))
    return checks
