"""What tests of edited settings have in common: a change of each setting, and what a scan says afterwards."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from gradcompat.edit.setting_values import SettingEdit
from gradcompat.edit.settings import edit
from gradcompat.errors import EditError
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting, SettingValue
from gradcompat.scanners.any_config import scan

# What is concluded from another setting, and changes with it.
_CONCLUDED = {"training.gradient_checkpointing": ("training.checkpointing_before_peft", "model.use_cache")}
_DTYPES = {"bfloat16": "float16", "float16": "bfloat16", "float32": "bfloat16", "auto": "bfloat16"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a change: the text, or why there is none; and how the scan that follows differs from what it should.

    ``wrong``: what the scan says that it should not, and what it does not say.
    """

    text: str | None
    refused: str | None
    wrong: str | None


def literal(context: Context) -> list[Setting]:
    """The settings that stand in one place, with a value that is known and a line to change."""
    counts = Counter(setting.key for setting in context.settings)
    return [
        setting
        for setting in context.settings
        if counts[setting.key] == 1
        and setting.value is not None
        and setting.spelling is not None
        and not isinstance(setting.value, tuple)
    ]


def other(setting: Setting) -> SettingValue:
    """Another value of the same type: booleans flipped, numbers plus one, words with something behind."""
    match setting.value:
        case bool():
            return not setting.value
        case int() | float():
            return setting.value + 1
    if setting.key == "model.torch_dtype":
        return _DTYPES[str(setting.value)]
    return f"{setting.value}_x"


def change(setting: Setting, new: SettingValue) -> SettingEdit:
    """The change of what a scanner has found."""
    return SettingEdit(
        key=setting.key, old=setting.value, new=new, location=setting.location, spelling=setting.spelling
    )


def outcome(document: Document, context: Context, setting: Setting) -> Outcome:
    """Change one setting, scan again, and compare all settings."""
    new = other(setting)
    asked = change(setting, new)
    try:
        text = edit(document.text, document.path, [asked])
    except EditError as error:
        return Outcome(None, str(error), None)
    # What the same words say too goes with them.
    here = setting.location
    concluded = _CONCLUDED.get(setting.key, ())
    after = scan(replace(document, text=text))
    told = [one.value for one in after.settings if one.key == setting.key]
    if told != [new]:
        return Outcome(text, None, f"says {told} instead of {new!r}")
    kept, found = (
        [
            (one.key, one.value, one.location.line)
            for one in context_.settings
            if one.location != here and one.key not in (*concluded, "code.symbols", "code.calls")
        ]
        for context_ in (context, after)
    )
    if kept != found:
        return Outcome(text, None, f"{kept} became {found}")
    # Where nothing behind it has moved, the same change changes nothing more.
    again = edit(text, document.path, [asked])
    return Outcome(text, None, None if again == text else "a second time it changes more")
