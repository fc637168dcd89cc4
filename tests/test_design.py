"""DESIGN.md is about the code that is there: its files, its rooms and its dependencies."""

from __future__ import annotations

import re

import tomli
from packaging.requirements import Requirement

from tests.conftest import ROOT
from tests.source_trees import PACKAGE
from tests.test_architecture import LAYERS

DESIGN = (ROOT / "DESIGN.md").read_text("utf-8")
QUOTED = re.findall(r"`([^`\n]+)`", DESIGN)


def section(title: str) -> str:
    """What stands below a heading."""
    return DESIGN.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[str]:
    """The first cells of the table below a heading."""
    return [
        cell for line in section(title).splitlines() if line.startswith("| ") and (cell := line.split("|")[1].strip())
    ]


def test_every_file_that_it_names_is_there() -> None:
    named = {name for name in QUOTED if re.fullmatch(r"[\w./]+/[\w.]+\.(?:py|md|json|yaml|zip)|[\w./]+/", name)}
    assert len(named) > 50
    assert [name for name in sorted(named) if not (ROOT / name).exists() and not (PACKAGE / name).exists()] == []


def test_every_part_of_the_package_has_a_room() -> None:
    """Modules that nothing stands on but the layers above them are not named."""
    named = {name.removesuffix(".py").strip("/") for cell in rows("Rooms") for name in re.findall(r"`([^`]+)`", cell)}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages - named == set()
    assert named - {part for layer in LAYERS for part in layer} == set()


def test_every_dependency_has_its_reason() -> None:
    project = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    dependencies = {Requirement(line).name for line in project["dependencies"]}
    assert set(rows("Dependencies, each with its reason")) == dependencies


def test_the_layers_are_those_of_the_imports() -> None:
    drawn = re.findall(r"`([^`]+)`", section("Layers"))[0].split("→")
    for names, layer in zip(drawn, LAYERS[1:], strict=True):
        named = set(re.findall(r"\w+", names))
        assert named <= set(layer) if "…" in names else named == set(layer), names
