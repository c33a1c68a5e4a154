"""Doctor finds each broken set-up of an SQLite file, and makes nothing."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, Scheme
from es_simhash.tools.doctor import doctor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = "市气象台今晨发布暴雨橙色预警，部分路段已经出现积水，交警提醒市民绕行"


def ready(path: Path, scheme: Scheme | None = None) -> None:
    with Documents(f"sqlite:///{path}", scheme=scheme) as documents:
        for _ in documents.ingest(({"id": n, "text": f"{TEXT}{n}"} for n in range(200)), rule="fingerprint"):
            pass


def mistyped(path: Path) -> None:
    ready(path.with_name("new.db"))


def a_folder(path: Path) -> None:
    path.mkdir()


def no_database(path: Path) -> None:
    path.write_bytes(b"no database at all, but a text" * 100)


def of_another_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()


def damaged(path: Path) -> None:
    ready(path)
    with path.open("r+b") as file:
        file.seek(4096 * 5)
        file.write(b"\xff" * 4096 * 3)


def newer_format(path: Path) -> None:
    ready(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'documents'")
    connection.close()


def other_scheme(path: Path) -> None:
    ready(path, Scheme(weights="tf"))


def incomplete_keys(path: Path) -> None:
    ready(path)
    with Documents(f"sqlite:///{path}") as documents:
        documents.setup(keys=True)


# What is broken: how it is made, the line that finds it, and what the line says.
BROKEN: dict[str, tuple[Callable[[Path], None], str, str, str]] = {
    "mistyped name": (mistyped, "file", "advice", "there is no file news.db (there are: new.db): correct the name"),
    "a folder": (a_folder, "file", "problem", "is a folder: name a file in it"),
    "no database": (no_database, "format", "problem", "the file is not an SQLite database"),
    "of another program": (of_another_program, "format", "problem", "is the database of another program"),
    "damaged": (damaged, "integrity", "problem", "damaged"),
    "newer format": (newer_format, "Scheme", "problem", "upgrade es_simhash"),
    "another Scheme": (other_scheme, "Scheme", "problem", "open the store without a Scheme"),
    "incomplete keys": (incomplete_keys, "keys", "problem", "run `es-simhash backfill --again"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_doctor_finds_each_broken_file_and_says_what_to_do(kind: str, tmp_path: Path) -> None:
    make, name, status, says = BROKEN[kind]
    path = tmp_path / "news.db"
    make(path)
    before = sorted(tmp_path.iterdir())
    with Documents(f"sqlite:///{path}", scheme=Scheme()) as documents:
        diagnosis = doctor(documents)
    lines = [check for check in diagnosis.checks if check.name == name]
    assert [check.status for check in lines] == [status], diagnosis
    assert says in lines[0].text
    assert diagnosis.ok == (status == "advice")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_doctor_says_what_the_user_may_not_write(tmp_path: Path) -> None:
    path = tmp_path / "news.db"
    ready(path)
    path.chmod(0o400)
    with Documents(f"sqlite:///{path}") as documents:
        (rights,) = [check for check in doctor(documents).checks if check.name == "rights"]
    assert (rights.status, "may not write the file" in rights.text) == ("advice", True)


def test_doctor_of_a_file_in_a_missing_folder_names_the_folder(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'none' / 'news.db'}") as documents:
        (file,) = [check for check in doctor(documents).checks if check.name == "file"]
    assert (file.status, str(tmp_path / "none") in file.text) == ("problem", True)


def test_doctor_finds_no_problem_in_a_file_that_was_set_up(tmp_path: Path) -> None:
    ready(tmp_path / "news.db")
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        assert doctor(documents).ok


def test_the_size_of_a_file_includes_its_log(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path}/news.db") as documents:
        list(documents.ingest({"id": n, "text": f"{TEXT}{n}" * 20} for n in range(500)))
        (file,) = [check for check in doctor(documents).checks if check.name == "file"]
        files = sum(path.stat().st_size for path in tmp_path.iterdir() if not path.name.endswith("-shm"))
    assert file.text == f"{files / 2**20:,.1f} MB"
    assert files > 2**20
