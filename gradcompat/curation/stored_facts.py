"""What of a release a table keeps: all that decides an import or a call, and as little else as possible."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gradcompat.curation.resolution import Sections
from gradcompat.releases.runs import Value
from gradcompat.releases.table import EAGER, EXISTS, PACKAGE

# Constructors, what renames fields, and what a class is called by; other private methods are nobody's business.
_CONSTRUCTORS = ("__init__", "__new__", "__call__", "__post_init__")


def worth_storing(sections: Sections) -> Iterator[tuple[str, str, Value]]:
    """Section, key and value of what a table keeps of a module.

    Left out are imports of the standard library, where a module that is no ``__init__`` has a name from unless a class
    inherits from it, and the signatures of what is private.
    """
    names = sections.get("names", {})
    inherited = _first_parts(sections.get("classes", {}))
    origins = names.get(EXISTS) == PACKAGE
    for name, value in names.items():
        if isinstance(value, str) and value.startswith(EAGER) and not (origins or name in inherited):
            yield "names", name, 1
        else:
            yield "names", name, value
    for key, value in sections.get("needs", {}).items():
        if key.partition(":")[0].partition(".")[0] not in sys.stdlib_module_names:
            yield "needs", key, value
    for name, value in sections.get("signatures", {}).items():
        first, _, method = name.partition(".")
        if method in _CONSTRUCTORS or not (first.startswith("_") or method.startswith("_")):
            yield "signatures", name, value
    for section, facts in sections.items():
        if section not in ("names", "needs", "signatures"):
            for key, value in facts.items():
                yield section, key, value


def _first_parts(classes: Mapping[str, Value]) -> set[str]:
    """The names that the bases of classes begin with."""
    bases = (str(text).partition("\n")[2].partition("\n")[0] for text in classes.values())
    return {base.partition(".")[0] for several in bases for base in several.split()}
