"""`gradcompat-knowledge`, the distribution of the records: its build says what gradcompat looks for."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tomli

from gradcompat.knowledge.distributions import GROUP, PUBLIC, KnowledgeDistribution
from gradcompat.knowledge.load import COMPILED
from tests.conftest import ROOT

FOLDER = ROOT / "knowledge"
PROJECT: dict[str, Any] = tomli.loads((FOLDER / "pyproject.toml").read_text("utf-8"))


def hooks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The build hooks, with bare classes in the place of hatchling's, which is not needed to develop."""

    class Interface:
        def __init__(self) -> None:
            self.root = str(folder)

        def __class_getitem__(cls, _: object) -> type:
            return cls

    for name, kind in (("builders.hooks", "BuildHookInterface"), ("metadata", "MetadataHookInterface")):
        module = ModuleType(f"hatchling.{name}.plugin.interface")
        setattr(module, kind, Interface)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    spec = importlib.util.spec_from_file_location("hatch_build", folder / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def version(made: Any) -> str:
    metadata: dict[str, Any] = {}
    made.CustomMetadataHook().update(metadata)
    return str(metadata["version"])


def included(made: Any) -> dict[str, str]:
    build: dict[str, Any] = {"force_include": {}}
    made.CustomBuildHook().initialize("standard", build)
    found: dict[str, str] = build["force_include"]
    return found


def test_its_version_is_the_date_of_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    (day,) = re.findall(r'^date: "(.*)"$', (FOLDER / "issues.yaml").read_text("utf-8"), re.MULTILINE)
    made = hooks(FOLDER, monkeypatch)
    built = KnowledgeDistribution(name=PUBLIC, version=version(made), package="", sites=())
    assert built.released() == (*map(int, day.split("-")), 0)
    assert {Path(path).resolve(): name for path, name in included(made).items()} == {
        COMPILED.resolve(): "gradcompat_knowledge/compiled.json"
    }


def test_an_sdist_builds_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copy(FOLDER / "hatch_build.py", tmp_path)
    made = hooks(tmp_path, monkeypatch)
    with pytest.raises(FileNotFoundError, match=r"compiled\.json is missing"):
        included(made)
    (tmp_path / "gradcompat_knowledge").mkdir()
    copy = tmp_path / "gradcompat_knowledge" / "compiled.json"
    copy.write_text(json.dumps({"date": "2026-11-05"}), "utf-8")
    assert version(made) == "2026.11.5"
    assert included(made) == {str(copy): "gradcompat_knowledge/compiled.json"}


def test_it_is_what_gradcompat_looks_for() -> None:
    assert PROJECT["project"]["name"] == PUBLIC
    assert PROJECT["project"]["entry-points"] == {GROUP: {"gradcompat": "gradcompat_knowledge"}}
    assert "/hatch_build.py" in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
