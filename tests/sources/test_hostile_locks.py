"""Whatever stands anywhere in a lockfile or a project file, reading it gives an environment or an error of ours."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import tomli
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gradcompat.errors import SourceError
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment
from gradcompat.requirements.versions import VersionSet
from tests.examples import examples
from tests.sources.locked import fixture

FILES = {
    "poetry_lock": ("poetry/poetry-1.1.lock", "poetry/poetry-2.1.lock"),
    "pdm_lock": ("pdm/pdm-4.2.lock", "pdm/pdm-4.5.lock"),
    "pylock": ("pylock/pylock.uv.toml", "pylock/pylock.rare.toml"),
    "pipfile_lock": ("pipenv/Pipfile.lock",),
    "pyproject": ("pyproject/pyproject.toml", "pyproject/poetry.toml"),
    "inline_script": ("script/train.py",),
    "setup_cfg": ("setup_cfg/setup.cfg",),
}
CASES = [(module, file) for module, files in FILES.items() for file in files]
DEEP: Any = 1
for _ in range(60):
    DEEP = {"git": DEEP}
VALUES: tuple[Any, ...] = (
    0, -1.5, True, "", " ", "\x1f", "x" * 5000, "9" * 5000, "==1", "^1 ||", "é\u202e", [], {}, [[]], [{}], [7, "a"],
    {"a": {}}, {"git": 7}, {"version": []}, {"main": 7}, ["a==1", {"include-group": []}], DEEP,
)  # fmt: skip


def reader(module: str) -> Callable[[Document], Environment]:
    read: Callable[[Document], Environment] = import_module(f"gradcompat.sources.{module}").read
    return read


def attempted(module: str, text: str) -> Environment | SourceError:
    try:
        return reader(module)(Document("file", text))
    except SourceError as error:
        return error


def check(module: str, text: str) -> None:
    environment = attempted(module, text)
    if isinstance(environment, SourceError):
        assert environment.path == "file"
        return
    lines = text.split("\n")
    for package in environment.packages:
        if package.specifier is not None:
            VersionSet.parse(package.specifier)
            assert package.version is None
        if package.location.line is not None:
            assert package.location.line <= len(lines)
    assert environment.packages or environment.skipped or module == "inline_script"


def paths(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [here] if here else []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += paths(inner, (*here, key))
    return found


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@pytest.mark.parametrize(("module", "file"), [case for case in CASES if case[0] not in ("inline_script", "setup_cfg")])
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_anywhere(module: str, file: str, data: st.DataObject) -> None:
    text = fixture(file).text
    content: Any = json.loads(text) if module == "pipfile_lock" else tomli.loads(text)
    path = data.draw(st.sampled_from(paths(content)))
    target: Any = content
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = data.draw(st.sampled_from(VALUES))
    if module == "pipfile_lock":
        check(module, json.dumps(content, indent=1))
    else:
        check(module, "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in content.items()))


@pytest.mark.parametrize(("module", "file"), CASES)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_line_changed(module: str, file: str, data: st.DataObject) -> None:
    lines = fixture(file).text.split("\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    change = data.draw(st.sampled_from(("drop", "cut", "twice", "blank", "name", "header")))
    line = lines[at]
    changed = {
        "drop": [],
        "cut": [line[: len(line) // 2]],
        "twice": [line, line],
        "blank": [f"  {line}\r"],
        "name": ["name = 7"],
        "header": ["[[package]]", "[[packages]]"],
    }[change]
    check(module, "\n".join([*lines[:at], *changed, *lines[at + 1 :]]))


@pytest.mark.parametrize("module", FILES)
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
@example(text="[[package]]\n[metadata]\ncontent-hash = ''\nlock_version = '4.0'")
@example(text="lock-version = '1.0'\n[[packages]]\nx = 1\n[[packages]]\n")
@example(text="[options]\ninstall_requires = \x1f\x1f7")
def test_any_text(module: str, text: str) -> None:
    check(module, text)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("poetry_lock", "[metadata]\ncontent-hash = ''\n" + "[[package]]\nname = 'a'\nversion = '1'\n" * 3000),
        ("pyproject", "[project]\ndependencies = [" + "'a==1', " * 20_000 + "]"),
        ("pyproject", "[project]\nname = 'a'\n[tool.poetry.dependencies]\n" + "a.a.a.a = 1\n"),
        ("pyproject", "[tool.poetry.dependencies]\na = '" + "1" * 100_000 + "'\nb = '" + ">=1," * 30_000 + "'\n"),
        ("pyproject", "[project]\ndependencies = ['''" + '"' * 100_000 + "''']"),
        ("pyproject", "[project]\n" + "# comment \n \n" * 50_000 + "dependencies = ['a']"),
        ("pipfile_lock", '{"_meta": {}, "default": {"a": {"version": "' + "=" * 100_000 + '"}}}'),
        ("pipfile_lock", '{"_meta": {"pipfile-spec": ' + "9" * 100_000 + "}}"),
        ("pipfile_lock", '{"_meta": {}, "default": {"\\ud800": {"version": "==\\udfff"}}}'),
        ("pylock", "lock-version = '1.0'\n[[packages]]\nname = 'a'\nmarker = '''" + "'a' in " * 20_000 + "'''\n"),
        ("inline_script", "# /// script\n" + "# ///\n" * 50_000),
        ("setup_cfg", "[options]\ninstall_requires =\n" + "  a==1\n" * 5000),
        ("setup_cfg", "[" * 100_000),
    ],
)
def test_long_files_take_no_longer_than_they_must(module: str, text: str) -> None:
    start = time.process_time()
    check(module, text)
    # A tenth of this is usual; what takes the square of its length would take minutes.
    assert time.process_time() - start < 10
