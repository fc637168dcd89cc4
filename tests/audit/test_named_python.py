"""The Python that stands in ``.python-version`` beside what lists packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.audit.named_python import with_named_python
from gradcompat.model.environment import Environment, Location


def listed(kind: str = "requirements", python: str | None = None) -> Environment:
    return Environment(source="app/requirements.txt", kind=kind, packages=(), closed=False, python=python)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("3.12\n", "3.12"),
        ("\n# of the cluster\n3.11.9  # here\n3.12\n", "3.11.9"),
        ("cpython-3.12.4-linux-x86_64-gnu\n", "3.12.4"),
        ("cpython@3.13\n", "3.13"),
        ("pypy3.10-7.3.16\n", None),
        (">=3.10\n", None),
        ("myenv\n", None),
        ("", None),
        ("\0", None),
    ],
)
def test_what_is_named(tmp_path: Path, text: str, python: str | None) -> None:
    (tmp_path / ".python-version").write_text(text)
    found = with_named_python(listed(), tmp_path / "requirements.txt", None)
    assert found.python == python


def test_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / ".python-version").write_text("\n3.12\n")
    found = with_named_python(listed(), tmp_path / "requirements.txt", None)
    assert found.origins == {"python": Location(path="app/.python-version", line=2)}


def test_what_the_file_names_itself_stays(tmp_path: Path) -> None:
    (tmp_path / ".python-version").write_text("3.12\n")
    for environment in (listed(python="3.9"), listed(kind="pip-list"), listed(kind="dockerfile")):
        assert with_named_python(environment, tmp_path / "requirements.txt", None) == environment


def test_nothing_outside_of_the_root_is_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("3.12\n")
    inside = tmp_path / "project"
    inside.mkdir()
    (inside / ".python-version").symlink_to(tmp_path / "elsewhere")
    assert with_named_python(listed(), inside / "requirements.txt", None).python is None


def test_no_file(tmp_path: Path) -> None:
    assert with_named_python(listed(), tmp_path / "requirements.txt", None) == listed()
