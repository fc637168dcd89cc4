"""Writes a waiver into a gradcompat.toml or a pyproject.toml; everything else of the file stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from copy import deepcopy
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, InlineTable

from gradcompat.errors import EditError, Malformed
from gradcompat.formats.toml_text import parse


def with_waiver(text: str, shown: str, keys: tuple[str, ...], waiver: Mapping[str, Any]) -> str:
    """The text with a waiver, in the place of one of the same record and path if there is one.

    Args:
        text: of the file; one that can be read.
        shown: how it is called.
        keys: of the table that has the options: ``("tool", "gradcompat")``, or none.
        waiver: its keys and values, in the order in which they are to stand.

    Raises:
        EditError: if it cannot be written there without changing anything else.
    """
    wanted = parse(text, shown)
    table = wanted
    for key in keys:
        table = table.setdefault(key, {})
    waivers = table.setdefault("waivers", [])
    if not isinstance(waivers, list):
        raise _refused(shown, keys, waiver)
    position = next((n for n, one in enumerate(waivers) if _alike(one, waiver)), len(waivers))
    if position < len(waivers) and waivers[position] == dict(waiver):
        return text
    waivers[position:] = [dict(waiver), *waivers[position + 1 :]]
    try:
        after = _edited(text, keys, waiver, position)
        if parse(after, shown) == wanted:
            return after
    except (Malformed, TOMLKitError, TypeError, ValueError, AttributeError, KeyError, RecursionError):
        pass
    raise _refused(shown, keys, waiver)


def _refused(shown: str, keys: tuple[str, ...], waiver: Mapping[str, Any]) -> EditError:
    hint = f"write it by hand: under {_header(keys)} {', '.join(_lines(waiver))}"
    return EditError("is written in a way that a waiver cannot be added to", path=shown, hint=hint)


def _alike(one: Any, waiver: Mapping[str, Any]) -> bool:
    if not isinstance(one, dict):
        return False
    return str(one.get("id")).upper() == str(waiver["id"]).upper() and one.get("path") == waiver.get("path")


def _edited(text: str, keys: tuple[str, ...], waiver: Mapping[str, Any], position: int) -> str:
    carriage_returns = "\r\n" in text and text.count("\r\n") == text.count("\n")
    document = tomlkit.parse(text)
    if document.as_string() != text:
        raise ValueError("tomlkit does not reproduce the text")
    table: Any = document
    for key in keys:
        table = table.get(key, {})
    waivers = table.get("waivers")
    if waivers is not None and position < len(waivers):
        _replace(waivers[position], waiver)
        text = document.as_string()
    elif isinstance(waivers, Array):
        waivers.append(_filled(tomlkit.inline_table(), waiver))
        text = document.as_string()
    else:
        # A table of its own may stand anywhere; at the end it is in nobody's way.
        block = "\n".join([_header(keys), *_lines(waiver)])
        text += ("" if not text or text.endswith("\n") else "\n") + ("\n" if text else "") + block + "\n"
    return re.sub(r"(?<!\r)\n", "\r\n", text) if carriage_returns else text


def _header(keys: tuple[str, ...]) -> str:
    return f"[[{'.'.join((*keys, 'waivers'))}]]"


def _lines(waiver: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {tomlkit.item(_item(value)).as_string()}" for key, value in waiver.items()]


def _replace(old: MutableMapping[str, Any], waiver: Mapping[str, Any]) -> None:
    """The same keys keep their places and comments."""
    for key in [key for key in old if key not in waiver]:
        del old[key]
    for key, value in waiver.items():
        if key not in old or old[key] != value:
            old[key] = _item(value)


def _filled(table: InlineTable, waiver: Mapping[str, Any]) -> InlineTable:
    for key, value in waiver.items():
        table[key] = _item(value)
    return table


def _item(value: Any) -> Any:
    if not isinstance(value, dict):
        return deepcopy(value)
    return _filled(tomlkit.inline_table(), value)
