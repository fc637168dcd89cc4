"""Arguments of a trainer that a program makes in one branch or in another, and that say the same in each.

Which branch is taken is not known, and need not be: `if by_steps:` and `else:` both accumulate over four micro-batches.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.model.environment import Setting
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_ARGUMENTS = lazy_pattern(
    r"transformers\.(?:\w+\.)*\w*TrainingArguments|trl\.(?:\w+\.)*(?!Model|Peft|Script)\w+Config"
    r"|sentence_transformers\.(?:\w+\.)*\w+TrainingArguments"
)

_LEAST = 2  # a single branch may be passed over


@dataclass(frozen=True, slots=True)
class Alternative:
    """The arguments of a trainer as one branch makes them.

    Attributes:
        branch: they stand in one.
        stated: what they say something about, in a branch without values.
        known: what they say where the branch is taken.
    """

    branch: bool
    stated: tuple[Setting, ...]
    known: tuple[Setting, ...]


def is_arguments(tool: str) -> bool:
    """Are these the arguments of a trainer? A run has them, whichever branch makes them; an adapter is left out."""
    return _ARGUMENTS.fullmatch(tool) is not None


def agreed(settings: Sequence[Setting], alternatives: Sequence[Alternative]) -> list[Setting]:
    """The settings with what all branches say alike, which is presumed: that one of them is taken is not seen."""
    found = list(settings)
    if len(alternatives) < _LEAST or not all(one.branch for one in alternatives):
        return found
    stated = {setting for one in alternatives for setting in one.stated}
    for key in dict.fromkeys(setting.key for setting in settings if setting in stated):
        said = [[setting for setting in one.known if setting.key == key] for one in alternatives]
        ours = [setting for setting in found if setting.key == key]
        alike = {repr(setting.value) for some in said for setting in some}
        if len(alike) != 1 or not all(len(some) == 1 for some in said) or not stated.issuperset(ours):
            continue
        found[found.index(ours[0])] = replace(said[0][0], presumed=True)
        found = [setting for setting in found if setting.key != key or setting.value is not None]
    return found
