"""Terms in words, for "because …" and "affected if …"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gradcompat.model.environment import Package, Setting, SettingValue
from gradcompat.model.issue import (
    CodeRemedy,
    InstallRemedy,
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    Remedy,
    SettingRemedy,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VersionRemedy,
    VirtualTerm,
)
from gradcompat.requirements.versions import ALL, VersionSet
from gradcompat.terms.symbol_patterns import arguments_in_words, is_call, name_of
from gradcompat.terms.symbol_words import in_words

if TYPE_CHECKING:
    from gradcompat.model.assumption import Assumption
    from gradcompat.model.plan import Change, SettingChange

ONLY_RANGE = "only a range is given, no version"  # behind a package whose newest release is judged
NO_RUN = "read, and no training run"  # behind a config, script or program
NO_ENVIRONMENT = (
    "trains, and no folder at or above its own lists packages"  # behind a run of a repository of many projects
)
LONE_CONFIG = "taken for the training run: nothing else here says what trains"
BEST_EFFORT = "a best effort"  # begins the note behind a file that text alone cannot tell everything of
NO_PACKAGES = "read, and lists no packages"  # behind a file of a folder that others of it make up for
_LONGEST_RANGE = 200  # that a sentence quotes in full
_MOST_BESIDE = 3  # packages that only go with the cure
_COMPARISONS = {">": "is more than", ">=": "is at least", "<": "is less than", "<=": "is at most", "!=": "is not"}
_VIRTUAL = {
    "__cuda": "CUDA",
    "__cuda_arch": "the GPU's compute capability",
    "__nvidia_driver": "the NVIDIA driver",
    "__nccl": "NCCL",
    "__cudnn": "cuDNN",
    "__glibc": "glibc",
    "__rocm": "ROCm",
}


def value_text(value: SettingValue) -> str:
    """A setting's value as configuration files write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return str(value)


def line_with(setting: Setting, value: SettingValue) -> str | None:
    """The line of a setting with another value, as the language of its file writes it; None if it stands in no line."""
    if setting.spelling is None:
        return None
    of_python = setting.location.path.endswith((".py", ".ipynb"))
    return setting.spelling.replace("{}", repr(value) if of_python else value_text(value))


def move_text(kind: str, package: str, version_from: str | None, version_to: str) -> str:
    """``upgrade transformers 4.49.0 to 4.52.1``; the way that it goes is in the first word.

    Args:
        kind: ``upgrade``, ``downgrade`` or ``add``.
        package: its name.
        version_from: what is there; None if it is a range.
        version_to: where it goes.
    """
    if kind == "add":
        return f"add {package} {version_to}"
    if version_from is None:
        return f"take {package} {version_to}"
    return f"{kind} {package} {version_from} to {version_to}"


def change_text(change: Change) -> str:
    """``upgrade transformers 4.49.0 to 4.52.1``; the way that it goes is in the first word."""
    return move_text(change.kind, change.package, change.version_from, change.version_to)


def setting_text(setting: SettingChange) -> str:
    """``set training.seed to 1``."""
    return f"set {setting.key} to {value_text(setting.value)}"


def moves_text(changes: Iterable[Change]) -> list[str]:
    """Which packages move, those that cure something first; many that only go with them are counted in the end."""
    changes = list(changes)
    curing = [change_text(change) for change in changes if change.cures]
    others = [change_text(change) for change in changes if not change.cures]
    if curing and len(others) > _MOST_BESIDE:
        return [*curing, f"and {len(others)} packages that go with it"]
    return [*curing, *others]


def assumptions_text(assumed: Iterable[Assumption]) -> str:
    """What is presumed, and where it comes from; behind "taking it that"."""
    texts = [
        assumption.sentence if assumption.location is None else f"{assumption.sentence} ({assumption.location})"
        for assumption in assumed
    ]
    return joined(tuple(dict.fromkeys(texts)), "and")


def joined(words: tuple[str, ...], last: str = "or") -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _some(words: tuple[str, ...]) -> str:
    """A long list by its first members; a record's own page has the whole of it."""
    return joined(words) if len(words) <= 3 else f"{', '.join(words[:2])} or one of {len(words) - 2} others"


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 package``, ``2 packages``, ``3 entries``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def entry_text(package: Package) -> str:
    """A package with its version, or with what is allowed."""
    if package.version is not None:
        return f"{package.name} {package.version}"
    specifier = package.specifier
    if specifier is None or specifier == "*":
        return package.name
    return f"{package.name}{specifier if len(specifier) <= _LONGEST_RANGE else specifier[:_LONGEST_RANGE] + '…'}"


def _used(symbol: str) -> str:
    """What a program uses: a name, a call with what is asked of its arguments, or words for what was made up."""
    name = name_of(symbol)
    asked = arguments_in_words(symbol) if is_call(symbol) else ""
    return f"{in_words(name) or name} {asked}".rstrip()


def condition(term: Term, *, full: bool = False) -> str:
    """What the term asks for, as a clause that can stand behind "if"; ``full`` spares no list."""
    some = joined if full else _some
    match term:
        case PackageTerm(name=name, versions=versions):
            return f"{name} is installed" if versions == ALL else f"{name} is {versions_text(versions)}"
        case PackageAbsentTerm(name=name):
            return f"{name} is not installed"
        case SettingTerm(key=key, values=values, comparison=comparison):
            if comparison is not None:
                return f"{key} {_COMPARISONS[comparison[0]]} {value_text(comparison[1])}"
            return f"{key} is {joined(tuple(value_text(value) for value in values))}"
        case ModelTerm(classes=classes):
            return f"the model is {some(classes)}"
        case SymbolTerm(symbols=symbols):
            return f"the code uses {some(tuple(map(_used, symbols)))}"
        case SymbolAbsentTerm(symbols=symbols):
            return f"the code does not use {some(tuple(map(_used, symbols)))}"
        case PythonTerm(versions=versions):
            return f"Python is {versions_text(versions)}"
        case PlatformTerm(platforms=platforms):
            return f"the platform is {joined(platforms)}"
        case VirtualTerm(name=name, versions=versions):
            subject = _VIRTUAL.get(name, name)
            return f"{subject} is there" if versions == ALL else f"{subject} is {versions_text(versions)}"


def versions_text(versions: VersionSet) -> str:
    """A set of versions with "or" between its parts."""
    return str(versions).replace(" || ", " or ")


def remedy_text(remedy: Remedy, *, with_note: bool = True) -> str:
    """A remedy as the record has it, in one clause."""
    match remedy:
        case VersionRemedy(kind=kind, package=package, versions=versions, note=note):
            text = f"{kind} {package} to {versions_text(versions)}"
        case SettingRemedy(key=key, value=value, packages=packages, note=note):
            taken = tuple(f"{name} {versions_text(versions)}" for name, versions in packages.items())
            text = f"set {key} to {value_text(value)}" + (f", which {joined(taken, 'and')} has" if taken else "")
        case CodeRemedy(text=text) | InstallRemedy(text=text):
            note = None
    return f"{text} ({note})" if note and with_note else text


NO_SUCH_VALUE = "has no value that"  # a setting takes, before its key
