"""Every recipe of the table: that it is whole, and that it survives a torch that crashes, hangs and chatters."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from gradcompat.model.probe import Measurement, ProbeSpec
from gradcompat.probes import runner
from gradcompat.recipes.recipe import Recipe
from gradcompat.recipes.table import RECIPES, needed, recipe_of
from gradcompat.recipes.verdict import judge

FAKE = Path(__file__).parents[1] / "fixtures" / "probes" / "fake"
INSIDE = Path(runner.__file__).parent / "inside" / "recipes"

every = pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.name for recipe in RECIPES])
fakes = pytest.mark.skipif(sys.platform == "win32", reason="the fakes need signals")


def specs(recipe: Recipe) -> list[ProbeSpec]:
    return [ProbeSpec(name=recipe.name, parameters=variant) for variant in (recipe.variants or ({},))]


def test_no_name_stands_twice() -> None:
    names = [recipe.name for recipe in RECIPES]
    assert sorted(set(names)) == sorted(names)


def test_every_module_is_in_the_table() -> None:
    modules = {path.stem for path in INSIDE.glob("*.py")} - {"__init__"}
    assert {recipe.module for recipe in RECIPES} == modules


def test_every_module_of_entries_is_joined() -> None:
    for path in (Path(runner.__file__).parents[1] / "recipes").glob("*.py"):
        module = import_module(f"gradcompat.recipes.{path.stem}")
        forgotten = [recipe.name for recipe in getattr(module, "RECIPES", ()) if recipe not in RECIPES]
        assert forgotten == [], f"gradcompat/recipes/table.py does not join {path.name}"


@every
def test_a_recipe_is_whole(recipe: Recipe) -> None:
    values = [one.value for one in recipe.expectations]
    controls = [one.value for one in recipe.controls]
    assert values
    assert len({*values, *controls}) == len(values) + len(controls)
    assert all(
        one.low <= one.high and one.sentence.count("{}") == 1 for one in (*recipe.expectations, *recipe.controls)
    )
    assert set(recipe.signs) <= set(values)
    assert all(len(set(allowed)) == len(allowed) > 1 for allowed in recipe.parameters.values())
    allowed_values = {str(value) for allowed in recipe.parameters.values() for value in allowed}
    assert set(recipe.needs_for) <= allowed_values | set(recipe.parameters)
    assert not recipe.summary.startswith(" ")
    assert recipe.summary.endswith(".")


@every
def test_every_variant_is_one_that_the_recipe_takes_and_stands_once(recipe: Recipe) -> None:
    wanted = specs(recipe)
    assert [recipe_of(spec) for spec in wanted] == [recipe] * len(wanted)
    assert len(set(map(str, wanted))) == len(wanted)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module for everything that recipes need; each begins with torch, as the real ones do."""
    folder = tmp_path_factory.mktemp("packages")
    for recipe in RECIPES:
        wanted = {name for spec in specs(recipe) for name in needed(spec)}
        if recipe.name == "imports":
            wanted |= {str(name).partition(".")[0] for name in recipe.parameters["module"]}
        for name in wanted - {"torch"}:
            (folder / f"{name}.py").write_text("import torch\n\n__version__ = '0'\n", "utf-8")
    return folder


def run(recipe: Recipe, packages: Path, mode: str, seconds: float = 60.0) -> Measurement:
    (measurement,) = runner.run(
        [
            runner.Job(
                spec=specs(recipe)[0],
                recipe=recipe.module,
                seconds=seconds,
                environment={**recipe.environment, "GRADCOMPAT_FAKE": mode},
                alone=recipe.alone,
            )
        ],
        runner.Interpreter(path=Path(sys.executable), layers=(FAKE, packages)),
    )
    return measurement


@pytest.mark.e2e  # starts an interpreter for each recipe
@fakes
@every
def test_a_torch_that_crashes_is_an_outcome(recipe: Recipe, packages: Path) -> None:
    measurement = run(recipe, packages, "segfault")
    reason = "the process was killed by SIGSEGV"
    assert (measurement.state, measurement.reason) == ("crashed", reason)
    assert judge(recipe, measurement) == ("reproduced" if recipe.death else "inconclusive", reason)


@pytest.mark.e2e  # starts an interpreter for each recipe
@fakes
@every
def test_a_torch_that_hangs_is_an_outcome(recipe: Recipe, packages: Path) -> None:
    measurement = run(recipe, packages, "hang", seconds=0.5)
    assert (measurement.state, measurement.reason) == ("hung", "did not end within 0.5 s")
    assert judge(recipe, measurement)[0] == "inconclusive"


@pytest.mark.e2e  # starts an interpreter for each recipe
@fakes
@every
def test_a_torch_that_chatters_and_can_do_nothing_is_no_result(recipe: Recipe, packages: Path) -> None:
    measurement = run(recipe, packages, "chatter")
    if recipe.name == "imports":  # nothing is done with what it imports
        assert judge(recipe, measurement)[0] == "not_reproduced"
        return
    assert measurement.state in ("failed", "skipped")
    assert measurement.reason
    assert measurement.values == {}
    assert judge(recipe, measurement)[0] in ("inconclusive", "skipped")
