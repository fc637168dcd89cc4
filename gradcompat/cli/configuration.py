"""``[tool.gradcompat]`` in the nearest pyproject.toml: the options of ``check`` that a project keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradcompat.errors import SourceError, UsageError
from gradcompat.model.environment import SettingValue
from gradcompat.vocabulary import setting_of

_TABLE = b"[tool.gradcompat"
_KEYS = {"fail-on": str, "ignore": list, "only": list, "strict": bool, "settings": dict}


def configuration(start: Path) -> dict[str, Any]:
    """The table of the nearest pyproject.toml at or above a folder; empty if it has none.

    Returns:
        ``fail-on`` (str), ``ignore`` and ``only`` (lists of str), ``strict`` (bool) and ``settings`` (pairs), each
        only if it is there.

    Raises:
        UsageError: if the table holds what it cannot hold.
    """
    path = next((one for folder in (start, *start.parents) if (one := folder / "pyproject.toml").is_file()), None)
    if path is None:
        return {}
    try:
        # Most projects have no such table, and then their file need not be parsed.
        if _TABLE not in path.read_bytes():
            return {}
        from gradcompat.formats.document import read_document
        from gradcompat.formats.toml_text import parse

        content = parse(read_document(path).text, path.as_posix())
    except SourceError as error:
        raise UsageError(error.message, path=error.path, line=error.line) from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=path.as_posix()) from None
    tool = content.get("tool")
    table = tool.get("gradcompat", {}) if isinstance(tool, dict) else {}
    return _checked(table, path.as_posix())


def _checked(table: Any, path: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise UsageError("`tool.gradcompat` is not a table", path=path)
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(f"`tool.gradcompat.{key}` is not known", path=path, hint=f"known: {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]):
            raise UsageError(f"`tool.gradcompat.{key}` is not a {_KEYS[key].__name__}", path=path)
        if isinstance(value, list) and not all(isinstance(one, str) for one in value):
            raise UsageError(f"`tool.gradcompat.{key}` holds something that is not text", path=path)
    if "settings" not in table:
        return table
    return {**table, "settings": tuple(_setting(key, value, path) for key, value in _flat(table["settings"]))}


def _flat(settings: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """``"training.seed" = 1`` and ``training = {seed = 1}`` are the same."""
    pairs: list[tuple[str, Any]] = []
    for key, value in settings.items():
        pairs += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return pairs


def _setting(key: str, value: Any, path: str) -> tuple[str, SettingValue]:
    try:
        return setting_of(key, value)
    except UsageError as error:
        raise UsageError(error.message, path=path, hint=error.hint) from None
