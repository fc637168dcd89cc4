"""What tests of scanners compare: the settings of a context as lines of plain values."""

from __future__ import annotations

from pathlib import Path

from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting, SettingValue

FIXTURES = Path(__file__).parents[1] / "fixtures" / "scanners"

Line = tuple[int | None, str, SettingValue | None]


def fixture(name: str) -> Document:
    """A file of ours, called by its name alone."""
    path = FIXTURES / name
    return read_document(path, path.name)


def written(context: Context) -> list[Setting]:
    """The settings but for those that the tool has where nobody asks."""
    return [setting for setting in context.settings if not setting.location.path.startswith("default of ")]


def lines(context: Context) -> list[Line]:
    """Each setting that is written there as its line, its key and its value."""
    return [(setting.location.line, setting.key, setting.value) for setting in written(context)]


def stated(context: Context) -> dict[str, SettingValue | None]:
    """The settings that are written there by their keys, each of which stands only once."""
    keys = [setting.key for setting in written(context)]
    assert len(keys) == len(set(keys)), keys
    return {setting.key: setting.value for setting in written(context)}
