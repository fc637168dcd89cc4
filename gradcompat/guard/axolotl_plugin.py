"""The guard for axolotl: ``plugins: [gradcompat.guard.axolotl_plugin.GuardPlugin]`` in its YAML."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gradcompat.guard.instrumentation import with_parents
from gradcompat.guard.options import from_environment
from gradcompat.guard.trainer_callback import GuardCallback


class GuardPlugin:
    """Adds :class:`GuardCallback` to the Trainer; its options are those of the environment."""

    def __new__(cls) -> GuardPlugin:
        """An instance that is a ``BasePlugin`` of the axolotl that loads it."""
        return object.__new__(with_parents(cls, ("axolotl.integrations.base",), "BasePlugin"))

    def add_callbacks_pre_trainer(self, cfg: Any, model: Any) -> list[GuardCallback]:
        """The callbacks that axolotl gives to its Trainer."""
        return [GuardCallback(**asdict(from_environment()))]
