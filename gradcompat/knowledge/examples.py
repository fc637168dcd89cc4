"""Examples of a record as environments: ``{transformers: 4.49.0, training.gradient_accumulation_steps: 8}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcompat.model.environment import Environment, Location, Package, Setting
from gradcompat.requirements.names import normalise
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY, settings_of_use
from gradcompat.vocabulary import KEYS

_HERE = Location(path="example")
_ALIASES = {"model": "model.architecture", "symbols": SYMBOLS_KEY}


def environment_from(example: Mapping[str, Any]) -> Environment:
    """A closed environment with just these packages, settings and facts of the host."""
    packages: list[Package] = []
    settings: list[Setting] = []
    virtual: dict[str, str] = {}
    facts: dict[str, str] = {}
    for name, value in example.items():
        key = _ALIASES.get(name, name)
        if key in KEYS:
            content = tuple(value) if isinstance(value, list) else value
            if KEYS[key].type == "list" and isinstance(content, str):
                content = (content,)
            if key == SYMBOLS_KEY and isinstance(content, tuple):
                settings += [
                    Setting(key=key, value=one, location=_HERE) for key, one in settings_of_use(content).items()
                ]
                continue
            settings.append(Setting(key=key, value=content, location=_HERE))
        elif key.startswith("__"):
            virtual[key] = value
        elif key in ("python", "platform"):
            facts[key] = value
        else:
            packages.append(Package(name=normalise(key), version=value, location=_HERE))
    return Environment(
        source="example",
        kind="example",
        packages=tuple(packages),
        closed=True,
        settings=tuple(settings),
        python=facts.get("python"),
        platform=facts.get("platform"),
        virtual=virtual,
    )
