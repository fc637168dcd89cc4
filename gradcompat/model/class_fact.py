"""What a model class decides, release by release of the package that has it."""

from __future__ import annotations

from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass

# The facts that a class decides. A run may also state them itself, where the class is its own.
CLASS_FACTS = ("model.uses_num_items_in_batch", "model.forward_takes_kwargs", "model.of_library")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFact:
    """One fact of a class, or of all classes that a run names.

    Attributes:
        key: one of :data:`CLASS_FACTS`.
        value: what it is.
        package: the package that has the class, by its canonical name.
        versions: the releases of the package in which the fact has this value.
    """

    key: str
    value: bool
    package: str
    versions: VersionSet
