"""A scalar of a JSON text gives way to another, also where there are comments, which DeepSpeed reads over."""

from __future__ import annotations

import json
import re

from gradcompat.edit.setting_values import Replacement, SettingEdit, means, not_there, offset_of, refused, written

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_WORD = re.compile(r"[-+\w.]+")
_BLANK = r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/|(?://|\#)[^\n]*\n)*"
_BEFORE = re.compile(rf'("(?:[^"\\\n]|\\.)*"){_BLANK}:{_BLANK}\Z')
_FARTHEST = 400  # characters between a key and its value


def replacement(text: str, shown: str, change: SettingEdit) -> Replacement | None:
    """What has to be replaced; None if the new value stands there already.

    Raises:
        EditError: if another key or another value stands there.
    """
    start = offset_of(text, change.location)
    if start is None or change.spelling is None or not _follows(text, start, change.spelling):
        raise refused(change, "the setting is no longer there", shown)
    match = _STRING.match(text, start) or _WORD.match(text, start)
    if match is None:
        raise refused(change, "is more than one value", shown)
    string = text[start] == '"'
    try:
        old = json.loads(match[0]) if string else match[0]
        if means(old, change.new):
            return None
        if change.old is not None and not means(old, change.old):
            raise not_there(change, old, shown)
        new = written(change, old)
    except ValueError:
        raise refused(change, "cannot be read any more, or is a list", shown) from None
    # A number in quotes was a choice; a word that says "decide yourself" is none.
    quoted = isinstance(change.new, (str, tuple)) or (string and change.old is not None)
    return Replacement(start, match.end(), json.dumps(new, ensure_ascii=False) if quoted else new)


def _follows(text: str, start: int, spelling: str) -> bool:
    """Whether the value of that key starts there."""
    match = _BEFORE.search(text[max(start - _FARTHEST, 0) : start])
    if match is None:
        return False
    try:
        return bool(json.loads(match[1]) == spelling.rpartition(":")[0].strip('" '))
    except ValueError:
        return False
