"""The files that mutation starts from: fixtures, examples, and a collection of real ones where there is one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fuzz.grammars.words import pick
from fuzz.targets import READ_KINDS, SCAN_KINDS, kinds_of

ROOT = Path(__file__).parents[1]
_LARGEST = 120_000  # bytes of a seed: larger ones cost more than they show
_LOGS = ("logs", "envinfo")


def folders() -> list[Path]:
    """Where seeds lie; the collection as tests/corpus finds it."""
    collection = Path(os.environ.get("GRADCOMPAT_CORPUS", ROOT.parent / "shared" / "corpus"))
    return [ROOT / "tests" / "fixtures", ROOT / "examples", *([collection] if collection.is_dir() else [])]


@dataclass(slots=True)
class Seeds:
    """Seeds by kind; each file is read when it is first wanted."""

    paths: dict[str, list[Path]] = field(default_factory=dict)
    sizes: dict[Path, int] = field(default_factory=dict)
    _read: dict[Path, bytes] = field(default_factory=dict)

    @classmethod
    def collected(cls) -> Seeds:
        """Every seed of :func:`folders`, in an order that does not depend on the file system."""
        seeds = cls()
        for folder in folders():
            for path in sorted(folder.rglob("*")):
                if path.is_file() and path.stat().st_size < _LARGEST:
                    kinds = kinds_of(path, path.read_bytes())
                    if path.parent.name in _LOGS:
                        kinds.append("log")
                    seeds.sizes[path] = path.stat().st_size
                    for kind in dict.fromkeys(kinds):
                        seeds.paths.setdefault(kind, []).append(path)
        return seeds

    def of(self, kind: str, random: Random) -> bytes | None:
        """One seed of that kind, if there is one."""
        paths = self.paths.get(kind)
        if not paths:
            return None
        # The smaller of two: what a change does to a file seldom depends on how long it is, and the time does.
        path = min(pick(random, paths), pick(random, paths), key=self.sizes.__getitem__)
        if path not in self._read:
            self._read[path] = path.read_bytes()
        return self._read[path]

    def missing(self) -> list[str]:
        """Kinds without a seed."""
        return [kind for kind in dict.fromkeys((*READ_KINDS, *SCAN_KINDS)) if kind not in self.paths]
