"""What of a release a table keeps: all that decides an import or a call, and as little else as possible."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gradcompat.curation.release_row import Section
from gradcompat.releases.runs import Value
from gradcompat.releases.table import EAGER, EXISTS, PACKAGE

# Constructors, and what a class is called by; other private methods are nobody's business.
_CONSTRUCTORS = ("__init__", "__new__", "__call__")


def worth_storing(sections: Mapping[str, Section]) -> Iterator[tuple[str, str, str, Value]]:
    """Section, module, key and value of what a table keeps of a release.

    Left out are imports of the standard library, where a module that is no ``__init__`` has a name from unless a class
    inherits from it, and the signatures of what is private.
    """
    classes = sections.get("classes", {})
    for module, names in sections.get("names", {}).items():
        inherited = _first_parts(classes.get(module, {}))
        origins = names.get(EXISTS) == PACKAGE
        for name, value in names.items():
            if isinstance(value, str) and value.startswith(EAGER) and not (origins or name in inherited):
                yield "names", module, name, 1
            else:
                yield "names", module, name, value
    for module, needs in sections.get("needs", {}).items():
        for key, value in needs.items():
            if key.partition(":")[0].partition(".")[0] not in sys.stdlib_module_names:
                yield "needs", module, key, value
    for module, signatures in sections.get("signatures", {}).items():
        for name, value in signatures.items():
            first, _, method = name.partition(".")
            if method in _CONSTRUCTORS or not (first.startswith("_") or method.startswith("_")):
                yield "signatures", module, name, value
    for section, by_module in sections.items():
        if section not in ("names", "needs", "signatures"):
            for module, facts in by_module.items():
                for key, value in facts.items():
                    yield section, module, key, value


def _first_parts(classes: Mapping[str, Value]) -> set[str]:
    """The names that the bases of classes begin with."""
    bases = (str(text).partition("\n")[2].partition("\n")[0] for text in classes.values())
    return {base.partition(".")[0] for several in bases for base in several.split()}
