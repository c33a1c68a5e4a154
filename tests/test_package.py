"""The package as a whole: its public names, its mapping files, what importing it costs."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import es_simhash
from es_simhash import AsyncDocuments, AsyncSeenItems, Documents, SeenItems


def test_every_public_name_is_documented() -> None:
    for name in es_simhash.__all__:
        thing = getattr(es_simhash, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if inspect.isfunction(value) and not member.startswith("_"):
                    assert inspect.getdoc(value), f"{name}.{member}"


@pytest.mark.parametrize(
    ("documents", "reference", "left_out"),
    [
        (Documents, AsyncDocuments, "ingest backfill group duplicates remove_duplicates export pins"),
        (SeenItems, AsyncSeenItems, "rotate stats remove_inactive"),
    ],
)
def test_async_classes_have_the_methods_of_a_service_with_the_same_arguments(
    documents: type, reference: type, left_out: str
) -> None:
    assert public(documents) - {"close"} - set(left_out.split()) == public(reference)
    for name, method in vars(documents).items():
        if inspect.isfunction(method) and name in public(reference):
            ours, theirs = inspect.signature(method), inspect.signature(getattr(reference, name))
            expected = [(each.name, each.default) for each in ours.parameters.values()]
            assert [(each.name, each.default) for each in theirs.parameters.values()] == expected, name


def public(kind: type) -> set[str]:
    """Return the names of the public methods."""
    return {name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("_")}


def test_the_examples_in_the_docstrings_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [found.name for found in walk_packages(es_simhash.__path__, "es_simhash.")]
    results = [doctest.testmod(import_module(name)) for name in names]
    assert sum(result.attempted for result in results) > 30
    assert not any(result.failed for result in results)


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(es_simhash.__file__).parent / "py.typed").exists()
