"""Writes new values of settings into a training config, a launch script or a program: which editor for which file.

Exactly the scalars give way, every other character stays. Whether the file says afterwards what it should is for a
scanner to say, and its business alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.edit import code_setting, json_setting, notebook_setting, script_setting, yaml_setting
from gradcompat.edit.setting_values import Replacement, SettingEdit, refused

_SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch", ".sb")


def edit(text: str, shown: str, changes: Sequence[SettingEdit]) -> str:
    """The text with all changes, or none of them; a value that is the new one already stays as it is.

    Args:
        text: the decoded content, with the line ends of the file.
        shown: how the file is called; its ending says of which kind it is.
        changes: what to change, with the places that a scan of this very text gave.

    Raises:
        EditError: if one of the changes cannot be made for certain; it names the line to write by hand.
    """
    replacements: dict[tuple[int, int], tuple[Replacement, SettingEdit]] = {}
    for change in changes:
        one = _replacement(text, shown, change)
        if one is None:
            continue
        other, _ = replacements.setdefault((one.start, one.end), (one, change))
        if other != one:
            raise refused(change, "two changes set different values in one place", shown)
    end = len(text)
    for one, change in sorted(replacements.values(), key=lambda pair: pair[0].start, reverse=True):
        if one.end > end:
            raise refused(change, "two changes set different values in one place", shown)
        text = text[: one.start] + one.text + text[one.end :]
        end = one.start
    return text


def _replacement(text: str, shown: str, change: SettingEdit) -> Replacement | None:
    name = shown.lower()
    if name.endswith(".py"):
        return code_setting.replacement(text, shown, change)
    if name.endswith(".ipynb"):
        return notebook_setting.replacement(text, shown, change)
    if name.endswith(_SCRIPTS):
        return script_setting.replacement(text, shown, change)
    if change.spelling is None:
        raise refused(change, "sets it in a way that is not edited", shown)
    if name.endswith(".json") or (change.spelling.startswith('"') and text.lstrip("\ufeff \t\r\n").startswith("{")):
        return json_setting.replacement(text, shown, change)
    if name.endswith((".yaml", ".yml")):
        return yaml_setting.replacement(text, shown, change)
    raise refused(change, "is a kind of file that gradcompat does not edit", shown)
