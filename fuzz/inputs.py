"""One input of a campaign: the files that it consists of, and what is done with them."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

EntryKind = Literal["file", "link", "fifo", "folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of an input.

    Attributes:
        path: relative to the folder that is checked; ``../`` lies outside of it.
        data: the bytes of a file, or the target of a link.
        kind: what it is to the file system.
        named: a report has to name it, because it is an environment, a training config or a program that is either
            whole or certainly unreadable.
        unreadable: nothing can be read from it, so a folder with it is never clean.
    """

    path: str
    data: bytes = b""
    kind: EntryKind = "file"
    named: bool = False
    unreadable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What one step of a campaign tries.

    Attributes:
        target: a key of :data:`fuzz.targets.TARGETS`.
        kind: the format of a single file; for folders, how the folder was made.
        entries: the files; exactly one for a target that takes a text.
        origin: how it was made: ``grammar``, ``mutation`` or ``corpus``.
    """

    target: str
    kind: str
    entries: tuple[Entry, ...]
    origin: str = "grammar"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(len(entry.data) for entry in self.entries if entry.kind == "file")

    def dumps(self) -> str:
        """The input as JSON, for :func:`loads`."""
        data = asdict(self)
        for entry in data["entries"]:
            entry["data"] = base64.b85encode(entry["data"]).decode("ascii")
        return json.dumps(data, indent=1)


def loads(text: str) -> Input:
    """The input that :meth:`Input.dumps` has written."""
    data: dict[str, Any] = json.loads(text)
    entries = tuple(Entry(**{**entry, "data": base64.b85decode(entry["data"])}) for entry in data["entries"])
    return Input(target=data["target"], kind=data["kind"], entries=entries, origin=data["origin"])
