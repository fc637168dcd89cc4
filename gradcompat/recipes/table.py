"""Every recipe, and how one is found.

A recipe that runs in the interpreter returns numbers and judges nothing; the thresholds stand here, so that what was
measured long ago can be judged again.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.errors import ProbeUnavailable
from gradcompat.model.probe import ProbeSpec
from gradcompat.recipes import (
    adapters,
    data,
    engines,
    jax_and_keras,
    kernels,
    lightning,
    losses,
    low_precision,
    models,
    packages,
    preferences,
    steps,
    trainer,
)
from gradcompat.recipes.recipe import Recipe

RECIPES: tuple[Recipe, ...] = (
    *trainer.RECIPES,
    *lightning.RECIPES,
    *data.RECIPES,
    *steps.RECIPES,
    *packages.RECIPES,
    *models.RECIPES,
    *kernels.RECIPES,
    *adapters.RECIPES,
    *preferences.RECIPES,
    *low_precision.RECIPES,
    *losses.RECIPES,
    *jax_and_keras.RECIPES,
    *engines.RECIPES,
)

BY_NAME = {recipe.name: recipe for recipe in RECIPES}


def recipe_of(spec: ProbeSpec) -> Recipe:
    """The recipe of a probe.

    Raises:
        ProbeUnavailable: if there is none, or if it does not take these parameters.
    """
    recipe = BY_NAME.get(spec.name)
    if recipe is None:
        raise ProbeUnavailable(f"there is no recipe `{spec.name}`", hint=f"there are: {', '.join(BY_NAME)}")
    for name, value in spec.parameters.items():
        allowed = recipe.parameters.get(name)
        if allowed is None:
            known = ", ".join(recipe.parameters) or "none"
            raise ProbeUnavailable(f"`{spec.name}` has no parameter `{name}`", hint=f"it has: {known}")
        if value not in allowed:
            values = ", ".join(map(str, allowed))
            raise ProbeUnavailable(f"`{name}` of `{spec.name}` cannot be `{value}`", hint=f"it can be: {values}")
    return recipe


def needed(spec: ProbeSpec) -> tuple[str, ...]:
    """The packages that a probe needs, as modules."""
    recipe = recipe_of(spec)
    special = [name for value in spec.parameters.values() for name in recipe.needs_for.get(str(value), ())]
    return tuple(dict.fromkeys((*recipe.needs, *special)))


def uses(spec: ProbeSpec, package: str, families: Mapping[str, str]) -> bool:
    """Whether a probe needs or imports a package, so that it can show something of it.

    Args:
        spec: the probe.
        package: its normalised name.
        families: other names of packages → the one that records have.
    """
    modules = {name.replace("-", "_") for name in (package, families.get(package, package))}
    named = (str(spec.parameters.get(name, "")).partition(".")[0] for name in ("module", "after"))
    return not modules.isdisjoint({*needed(spec), *named})
