"""What the models of a release do with a loss, put together from the classes that they inherit from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradcompat.curation.model_reader import COUNTS, IGNORES, INHERITS
from gradcompat.curation.module_facts import ModuleFacts
from gradcompat.releases.runs import Value
from gradcompat.releases.table import EAGER, LAZY

_DEEPEST = 30
Origins = Callable[[str, str], "tuple[str, str] | None"]
# Classes whose loss is that of the name, and divides by the count: those of the loss table of transformers.
_DIVIDING = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM")
_SUPPORTS = "_supports_"


class LossReader:
    """The models of one release."""

    def __init__(self, modules: Mapping[str, ModuleFacts], origin: Origins) -> None:
        """Nothing is looked at yet.

        Args:
            modules: those of the release that could be read.
            origin: where a name of a module is defined.
        """
        self._modules = modules
        self._origin = origin
        self._lineages: dict[tuple[str, str], tuple[tuple[str, str] | None, ...]] = {}

    def models(self, names: Mapping[str, Value]) -> dict[str, Value]:
        """The classes among the names of a module whose ``forward`` takes labels, each with its facts.

        Args:
            names: as the module's line of the table says it.
        """
        found: dict[str, Value] = {}
        for name, value in names.items():
            if isinstance(value, str) and value[:1] in (EAGER, LAZY):
                module, space, other = value[1:].partition(" ")
                place = self._origin(module, other if space else name)
                if place is not None:
                    text = self._text(*place)
                    if text is not None:
                        found[name] = text
        return found

    def _text(self, module: str, name: str) -> str | None:
        """The facts of a class, as the table has them; None where its ``forward`` takes no labels."""
        said = self._said(module, name)
        if said is None or said.get("labels") != "1":
            return None
        parts = ["kwargs" if said["kwargs"] == "1" else "plain"]
        loss = said.get("loss")
        if loss == IGNORES or (loss == COUNTS and name.endswith(_DIVIDING)):
            parts.append(loss)
        if "shifts" in said:
            parts.append("shifts")
        if said.get("accepts_loss_kwargs") in ("True", "False"):
            parts.append(f"accepts_loss_kwargs={said['accepts_loss_kwargs']}")
        attention = sorted(
            key.removeprefix(_SUPPORTS) for key, value in said.items() if key.startswith(_SUPPORTS) and value == "True"
        )
        parts += [f"supports={one}" for one in attention]
        parts += [f"tied={part}" for part in said.get("tied", "").split()]
        return " ".join(parts)

    def _said(self, module: str, name: str) -> dict[str, str] | None:
        """What a class and those that it inherits from say; None where one of them is not seen, and may decide it."""
        found: dict[str, str] = {}
        complete = True
        for place in self._lineage(module, name):
            if place is None:
                complete = complete and "labels" in found
                continue
            for key, value in self._modules[place[0]].models.get(place[1], {}).items():
                # A loss that is inherited is that of the class whose forward is called.
                if found.get(key) == INHERITS or key not in found:
                    found[key] = value
            if "labels" in found and "loss" not in found:
                found["loss"] = "unknown"
        return found if complete else None

    def _lineage(self, module: str, name: str, depth: int = 0) -> tuple[tuple[str, str] | None, ...]:
        """A class and those that it inherits from, the nearest first; None for one that is not seen."""
        place = module, name
        if depth > _DEEPEST:
            return (None,)
        if place not in self._lineages:
            self._lineages[place] = (None,)  # of a class that seems to inherit from itself
            found: list[tuple[str, str] | None] = [place]
            for base in self._modules[module].classes[name].bases:
                above = self._origin(module, base) if "." not in base else None
                found += (None,) if above is None or above == place else self._lineage(*above, depth + 1)
            self._lineages[place] = tuple(found)
        return self._lineages[place]
