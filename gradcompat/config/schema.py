"""The options that a project keeps, in ``gradcompat.toml`` or in ``[tool.gradcompat]`` of its pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcompat.config.project_file import BESIDE, ProjectFile, as_seen_from_here, project_file, why_not_inside
from gradcompat.errors import UsageError
from gradcompat.model.environment import SettingValue
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.vocabulary import setting_of

if TYPE_CHECKING:
    from gradcompat.model.waiver import Waivers

LAPSES = ("expired-waivers", "unknown-waivers", "unproved-waivers", "unused-waivers")
_LEVELS = ("error", "warning", "note", "ignore")
_KEYS = {
    "fail-on": str,
    "ignore": list,
    "only": list,
    "strict": bool,
    "assume": str,
    "settings": dict,
    "knowledge": list,
    "waivers": list,
    "cache": bool,
    **dict.fromkeys(LAPSES, str),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRecords:
    """Records that a project's file names.

    Attributes:
        path: where they lie.
        within: the folder that nothing of them may lead out of.
    """

    path: Path
    within: Path


def configuration(start: Path) -> dict[str, Any]:
    """The options that the nearest file at or above a folder keeps; empty if none does.

    Returns:
        ``fail-on`` (str), ``ignore`` and ``only`` (lists of str), ``strict`` (bool), ``assume`` (str),
        ``settings`` (pairs), ``settings-at`` (pairs of their keys and where the file has them), ``knowledge``
        (name → :class:`NamedRecords`), ``waivers`` (:class:`gradcompat.model.waiver.Waiver`) and the level of what is
        to be said of them, ``cache`` (bool), each only if it is there.

    Raises:
        UsageError: if the file holds what it cannot hold.
    """
    file = project_file(start)
    return {} if file is None else options_in(file)


def options_in(file: ProjectFile) -> dict[str, Any]:
    """The same of one file.

    Raises:
        UsageError: if it holds what it cannot hold.
    """
    table = file.table
    for key, value in table.items():
        name = file.name(key)
        if key not in _KEYS:
            raise file.error(f"`{name}` is not known", key, hint=f"known: {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]):
            raise file.error(f"`{name}` is not a {_KEYS[key].__name__}", key)
        if isinstance(value, list) and key != "waivers" and not all(isinstance(one, str) for one in value):
            raise file.error(f"`{name}` holds something that is not text", key)
        if key in LAPSES and value not in _LEVELS:
            raise file.error(f"`{name}` is `{value}`", key, hint=f"known: {', '.join(_LEVELS)}")
    table = dict(table)
    if "knowledge" in table:
        table["knowledge"] = _knowledge(file)
    if "waivers" in table:
        # Most projects have none.
        from gradcompat.config.waiver_tables import waivers_of

        table["waivers"] = waivers_of(file)
    if "settings" in table:
        from gradcompat.formats.toml_places import TomlPlaces

        places = TomlPlaces(file.text, file.shown)
        flat = _flat(table["settings"])
        table["settings"] = tuple(_setting(".".join(path), value, file, path) for path, value in flat)
        table["settings-at"] = tuple((".".join(path), places.key(*file.keys, "settings", *path)) for path, _ in flat)
    return table


def _knowledge(file: ProjectFile) -> dict[str, NamedRecords]:
    """The records that a project names: name → where they lie, which is inside of the folder of the file."""
    root = file.path.parent
    found: dict[str, NamedRecords] = {}
    for number, text in enumerate(file.table["knowledge"]):
        if "://" in text:
            hint = "records are not fetched: install them as a distribution, or name a local file with --knowledge"
            raise file.error(f"`{file.name('knowledge')}` names an address", "knowledge", number, hint=hint)
        wrong = None if text and "\0" not in text else "is not a path"
        wrong = wrong or why_not_inside(root / text, root)
        if wrong is not None:
            message = f"`{file.name('knowledge')}` names `{text}`, which {wrong}"
            raise file.error(message, "knowledge", number, hint=BESIDE)
        found[as_seen_from_here(root / text)] = NamedRecords(path=root / text, within=root)
    return found


def _flat(settings: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """``"training.seed" = 1`` and ``training = {seed = 1}`` are the same, and stand under different keys."""
    pairs: list[tuple[tuple[str, ...], Any]] = []
    for key, value in settings.items():
        pairs += _flat(value, (*above, key)) if isinstance(value, dict) else [((*above, key), value)]
    return pairs


def _setting(key: str, value: Any, file: ProjectFile, path: tuple[str, ...]) -> tuple[str, SettingValue]:
    try:
        return setting_of(key, value)
    except UsageError as error:
        raise file.error(error.message, "settings", *path, hint=error.hint) from None


def waivers_in(kept: Mapping[str, Any]) -> Waivers | None:
    """The waivers among the options of a project, and how loudly their lapses are said; None if there are none."""
    if not kept.get("waivers"):
        return None
    from gradcompat.model.waiver import Waivers

    stated = {key.partition("-")[0]: kept[key] for key in LAPSES if key in kept}
    levels = {lapse: None if level == "ignore" else level for lapse, level in stated.items()}
    return Waivers(waivers=kept["waivers"], **levels)
