"""An environment that may be presumed upon: with the engines that it names, and what its run leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradcompat.lazy_dataclasses import replace
from gradcompat.model.code_use import CodeUse
from gradcompat.model.environment import Environment, Location, Setting
from gradcompat.presumptions.engines import FRAMEWORK_KEY, named_engines

_NO_TRAINER = "none"
# Packages of which any part drives training; of transformers a Trainer or its arguments.
_TRAINERS = frozenset({"trl", "lightning", "pytorch_lightning", "accelerate", "torchtune", "sentence_transformers"})


def presumed_upon(
    environment: Environment, names: Iterable[str], *, run: bool, uses: Sequence[CodeUse] = ()
) -> Environment:
    """The environment with the engines that it names and the defaults of its trainer, on which presumptions rest.

    Args:
        environment: with everything that is stated of the run.
        names: canonical names of its packages.
        run: its settings are those of a run that was seen, so that what is not among them was left out.
        uses: what the code beside it takes from packages; if there is code, no run in it and no trainer, none is used.
    """
    stated = {setting.key: setting.value for setting in environment.settings if not setting.presumed}
    engines = named_engines(names, stated, run=run)
    settings = environment.settings
    if run:
        from gradcompat.presumptions.left_out import left_out  # a lockfile alone needs no table of defaults

        settings = tuple(setting for setting in settings if not _of_absent_driver(setting, engines))
        settings = (*settings, *left_out(replace(environment, settings=settings)))
    elif uses and FRAMEWORK_KEY not in stated:
        place = Location(path=environment.source)
        # Which of the trainers drives it, if the code names one, is seen in a run alone.
        value = None if any(map(_names_trainer, uses)) else _NO_TRAINER
        settings = (*settings, Setting(key=FRAMEWORK_KEY, value=value, location=place, presumed=True))
    return replace(environment, settings=settings, engines=engines)


def _of_absent_driver(setting: Setting, engines: frozenset[str]) -> bool:
    """A trainer that is presumed by the names of its arguments, and that the environment does not name."""
    return setting.presumed and setting.key == FRAMEWORK_KEY and setting.value == "trl" and "trl" not in engines


def _names_trainer(use: CodeUse) -> bool:
    name = use.name or ""
    return use.root in _TRAINERS or (use.root == "transformers" and ("Train" in name or "train" in use.module))
