"""Package names in their normalised form."""

from __future__ import annotations

from gradcompat.startup.lazy_patterns import lazy_pattern

# A name as PEP 508 has it.
NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_SEPARATORS = lazy_pattern(r"[-_.]+")


def normalise(name: str) -> str:
    """The name as PEP 503 normalises it: ``Ruamel.YAML_clib`` is ``ruamel-yaml-clib``.

    ``packaging.utils.canonicalize_name`` does the same, but importing that module also imports
    ``packaging.tags``, ``platform`` and ``subprocess``, and every ``check`` would pay for it.
    """
    return _SEPARATORS.sub("-", name).lower()
