"""Files that cannot be scanned: which of them could describe a training run, by their name and their bytes.

A project holds hundreds of files that are no training config, and some of them are broken on purpose. Only what has
the words of a scanner in it is worth a word to the user, and in a form in which such a file would have them.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from gradcompat.formats.lfs_pointer import size_of_content
from gradcompat.scanners.registry import LIBRARIES, SCANNERS, candidates, fits
from gradcompat.startup.lazy_patterns import lazy_pattern

SHELL = frozenset({".sh", ".bash", ".slurm", ".sbatch", ".sb"})
# Data sets and self-extracting archives are as large as that; a config, a program or a notebook is not.
_LARGE_BY_NATURE = frozenset({".json", *SHELL})

# Bytes beyond which a JSON is data and a program is generated; notebooks carry the pictures that they have drawn.
_LARGEST = {".json": 256 * 1024, ".yaml": 256 * 1024, ".yml": 256 * 1024, ".py": 512 * 1024, ".ipynb": 16 * 1024 * 1024}
_LARGEST_ELSE = 2 * 1024 * 1024

# How the reports of `check`, `plan`, `diagnose`, `probe` and the guard begin: people keep them beside what was checked.
_REPORT = lazy_pattern(r'\s*\{\s*"schema_version"\s*:')

_IMPORT = lazy_pattern(
    rf"^[ \t]*(?:from|import)[ \t][^\r\n#]*?(?<![\w.])(?:{'|'.join(sorted(LIBRARIES))})(?!\w)", re.MULTILINE
)
_LAUNCH = lazy_pattern(
    r"\b(?:torchrun|accelerate[ \t]+launch|deepspeed|llamafactory-cli|axolotl|swift[ \t]+(?:sft|pt|rlhf)|trl[ \t]+\w"
    r"|tune[ \t]+run|megatron[ \t]+\w|xtuner|colossalai)\b|\bpython[\d.]*[ \t][^\r\n]*(?:\.py\b|[ \t]-m[ \t])"
)


def largest(name: str) -> int:
    """The most bytes that a file of that name may have to be scanned where a folder is searched."""
    return _LARGEST.get(PurePath(name).suffix.lower(), _LARGEST_ELSE)


def could_train(name: str, data: bytes, *, cut: bool = False) -> bool:
    """Could a file that is not scanned describe a training run?

    Args:
        name: of the file.
        data: its bytes, in whatever encoding.
        cut: the file goes on behind them.
    """
    suffix = PurePath(name).suffix.lower()
    size = size_of_content(data)
    if size is not None:
        return size <= largest(name)
    if cut and suffix not in _LARGE_BY_NATURE:
        return True
    # Without its zeros, ASCII in UTF-16 and UTF-32 is ASCII.
    text = data.replace(b"\0", b"").decode("latin-1")
    if suffix == ".json":
        is_list = text.lstrip("\ufeff\xef\xbb\xbf\xff\xfe \t\r\n").startswith("[")
        return not is_list and _REPORT.match(text) is None and _has_keys(name, text)
    if not candidates(name, text):
        return False
    if suffix == ".py":
        return _IMPORT.search(text) is not None
    return suffix not in SHELL or _LAUNCH.search(text) is not None


def _has_keys(name: str, text: str) -> bool:
    """Whether the marks of a scanner are keys; in the texts of a data set, their quotes are escaped."""
    return any(
        sum(
            1
            for mark in scanner.marks
            if mark in text and re.search(rf'(?<!\\)"{re.escape(mark.strip(chr(34)))}', text) is not None
        )
        >= scanner.least
        for scanner in SCANNERS
        if fits(scanner, name)
    )
