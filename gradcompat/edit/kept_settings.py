"""Writes facts into the settings that a project keeps; everything else of the file stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gradcompat.errors import EditError, Malformed
from gradcompat.formats.toml_text import parse
from gradcompat.model.environment import SettingValue

_WRONG = (Malformed, TOMLKitError, TypeError, ValueError, AttributeError, KeyError, RecursionError)


def with_settings(text: str, shown: str, keys: tuple[str, ...], settings: Mapping[str, SettingValue]) -> str:
    """The text with these settings, each in the place of one of the same key if there is one.

    Args:
        text: of the file; one that can be read.
        shown: how it is called.
        keys: of the table that has the options: ``("tool", "gradcompat")``, or none.
        settings: their keys, in the vocabulary of :mod:`gradcompat.vocabulary`, and values.

    Raises:
        EditError: if they cannot be written there without changing anything else.
    """
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}
    wanted = parse(text, shown)
    table = wanted
    for key in (*keys, "settings"):
        table = table.setdefault(key, {})
    _set(table, values)
    try:
        after = _edited(text, (*keys, "settings"), values)
        if parse(after, shown) == wanted:
            return after
    except _WRONG:
        pass
    lines = ", ".join(_line(key, value) for key, value in values.items())
    hint = f"write them by hand: under [{'.'.join((*keys, 'settings'))}] {lines}"
    raise EditError("is written in a way that settings cannot be added to", path=shown, hint=hint)


def _edited(text: str, keys: tuple[str, ...], values: Mapping[str, Any]) -> str:
    carriage_returns = "\r\n" in text and text.count("\r\n") == text.count("\n")
    document = tomlkit.parse(text)
    if document.as_string() != text:
        raise ValueError("tomlkit does not reproduce the text")
    table: Any = document
    for key in keys:
        table = table.get(key) if table is not None else None
    if table is None:
        block = "\n".join([f"[{'.'.join(keys)}]", *(_line(key, value) for key, value in values.items())])
        text += ("" if not text or text.endswith("\n") else "\n") + ("\n" if text else "") + block + "\n"
    else:
        _set(table, values)
        text = document.as_string()
    return re.sub(r"(?<!\r)\n", "\r\n", text) if carriage_returns else text


def _set(table: Any, values: Mapping[str, Any]) -> None:
    """Each value where its key stands already, in one piece or in parts, or else below its whole key."""
    for key, value in values.items():
        place, rest = table, key
        head, _, tail = rest.partition(".")
        while rest not in place and tail and isinstance(place.get(head), dict):
            place, rest = place[head], tail
            head, _, tail = rest.partition(".")
        place[rest] = value


def _line(key: str, value: Any) -> str:
    return f"{tomlkit.key(key).as_string()} = {tomlkit.item(value).as_string()}"
