"""The options that a project keeps, in ``gradcompat.toml`` or in ``[tool.gradcompat]`` of its pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcompat.config.project_file import ProjectFile, as_seen_from_here, project_file
from gradcompat.errors import UsageError
from gradcompat.model.environment import SettingValue
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
    "settings": dict,
    "knowledge": list,
    "update": dict,
    "waivers": list,
    **dict.fromkeys(LAPSES, str),
}


def configuration(start: Path) -> dict[str, Any]:
    """The options that the nearest file at or above a folder keeps; empty if none does.

    Returns:
        ``fail-on`` (str), ``ignore`` and ``only`` (lists of str), ``strict`` (bool), ``settings`` (pairs),
        ``knowledge`` (a list of paths and URLs), ``update`` (a dictionary with ``url`` and a list ``key``), ``waivers``
        (:class:`gradcompat.model.waiver.Waiver`) and the level of what is to be said of them, each only if it is there.

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
    table = {**table, **_knowledge(file)}
    if "waivers" in table:
        # Most projects have none.
        from gradcompat.config.waiver_tables import waivers_of

        table["waivers"] = waivers_of(file)
    if "settings" in table:
        table["settings"] = tuple(_setting(key, value, file) for key, value in _flat(table["settings"]))
    return table


def _knowledge(file: ProjectFile) -> dict[str, Any]:
    """Whose records count: paths are those beside the file that names them."""
    table, folder = file.table, file.path.parent
    found: dict[str, Any] = {}
    if "knowledge" in table:
        found["knowledge"] = [one if "://" in one else as_seen_from_here(folder / one) for one in table["knowledge"]]
    if "update" in table:
        stated = table["update"]
        if unknown := sorted(stated.keys() - {"url", "key"}):
            name = file.name(f"update.{unknown[0]}")
            raise file.error(f"`{name}` is not known", "update", unknown[0], hint="known: url, key")
        keys = stated.get("key", [])
        keys = [keys] if isinstance(keys, str) else keys
        if not isinstance(keys, list) or not all(isinstance(one, str) for one in (*keys, stated.get("url", ""))):
            hint = 'write url = "https://…" and key = "ed25519:…", or a list of keys'
            raise file.error(f"`{file.name('update')}` holds something that is not text", "update", hint=hint)
        pinned = [one if one.startswith("ed25519:") else as_seen_from_here(folder / one) for one in keys]
        found["update"] = {**stated, "key": pinned}
    return found


def _flat(settings: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """``"training.seed" = 1`` and ``training = {seed = 1}`` are the same."""
    pairs: list[tuple[str, Any]] = []
    for key, value in settings.items():
        pairs += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return pairs


def _setting(key: str, value: Any, file: ProjectFile) -> tuple[str, SettingValue]:
    try:
        return setting_of(key, value)
    except UsageError as error:
        raise file.error(error.message, "settings", *key.split("."), hint=error.hint) from None


def waivers_in(kept: Mapping[str, Any]) -> Waivers | None:
    """The waivers among the options of a project, and how loudly their lapses are said; None if there are none."""
    if not kept.get("waivers"):
        return None
    from gradcompat.model.waiver import Waivers

    stated = {key.partition("-")[0]: kept[key] for key in LAPSES if key in kept}
    levels = {lapse: None if level == "ignore" else level for lapse, level in stated.items()}
    return Waivers(waivers=kept["waivers"], **levels)
