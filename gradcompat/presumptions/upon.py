"""An environment that may be presumed upon: with the engines that it names, and what its run leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gradcompat.model.environment import Environment, Setting
from gradcompat.presumptions.engines import named_engines


def presumed_upon(environment: Environment, names: Iterable[str], *, run: bool) -> Environment:
    """The environment with the engines that it names and the defaults of its trainer, on which presumptions rest.

    Args:
        environment: with everything that is stated of the run.
        names: canonical names of its packages.
        run: its settings are those of a run that was seen, so that what is not among them was left out.
    """
    stated = {setting.key: setting.value for setting in environment.settings if not setting.presumed}
    engines = named_engines(names, stated, run=run)
    settings = environment.settings
    if run:
        from gradcompat.presumptions.left_out import left_out  # a lockfile alone needs no table of defaults

        settings = tuple(setting for setting in settings if not _of_absent_driver(setting, engines))
        settings = (*settings, *left_out(replace(environment, settings=settings)))
    return replace(environment, settings=settings, engines=engines)


def _of_absent_driver(setting: Setting, engines: frozenset[str]) -> bool:
    """A trainer that is presumed by the names of its arguments, and that the environment does not name."""
    return setting.presumed and setting.key == "training.framework" and setting.value == "trl" and "trl" not in engines
