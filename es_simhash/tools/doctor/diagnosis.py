"""Look for everything that a load needs: the server or the file, the index, the Scheme, the keys, the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Check, KeysState, StoredRule, scheme_mismatch
from es_simhash.errors import SimhashError

if TYPE_CHECKING:
    from es_simhash import Documents

_WORTHLESS = ("server", "file", "index")
"""If one of these has a problem, the store cannot be asked for its Scheme."""


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
        checks = [{"name": each.name, "status": each.status, "text": each.text} for each in self.checks]
        return {"store": self.store, "ok": self.ok, "checks": checks}


def doctor(documents: Documents) -> Diagnosis:
    """Look at the server or the file, the index, the Scheme, the keys and the rule.

    It writes nothing. A fault is a line of the Diagnosis, and no error; also a store that cannot be reached.
    """
    name = documents.name
    checks = documents.store.examine()
    if any(check.status == "problem" and check.name in _WORTHLESS for check in checks):
        reason = "the store cannot be asked: see the problem above"
        return Diagnosis(name, (*checks, *(Check(each, "not tried", reason) for each in ("Scheme", "keys", "rule"))))
    found = []
    for title, look in (("Scheme", _scheme), ("keys", _keys), ("rule", _rule)):
        try:
            found.append(look(documents))
        except SimhashError as error:
            if all(check.text != str(error) for check in checks):
                found.append(Check(title, "problem", str(error)))
            else:
                found.append(Check(title, "not tried", "see the problem above"))
    return Diagnosis(name, (*checks, *found))


def _scheme(documents: Documents) -> Check:
    stored = documents.store.describe()
    if stored is None:
        return Check("Scheme", "ok", "none yet: the set-up chooses it")
    ours = documents.fingerprinter().scheme
    if ours != stored:
        return Check("Scheme", "problem", str(scheme_mismatch(stored, ours, documents.name)))
    return Check("Scheme", "ok", stored.version)


def _keys(documents: Documents) -> Check:
    keys = documents.store.describe_keys()
    if keys is not KeysState.INCOMPLETE:
        return Check("keys", "ok", keys.value)
    text = (
        "documents lack theirs, so duplicates are missed: run `es-simhash backfill --again --text-field "
        f"FIELD --store {documents.name}` to the end"
    )
    return Check("keys", "problem", text)


def _rule(documents: Documents) -> Check:
    stored = documents.store.describe_rule()
    if stored == StoredRule():
        return Check("rule", "ok", "none yet: the first ingest chooses it")
    return Check("rule", "ok", str(stored))
