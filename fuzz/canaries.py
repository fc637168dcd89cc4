"""Planted secrets: words that stand where no report may repeat them.

Each kind of place has its own word, so that a leak names the place. Only letters and digits: normalising a name,
escaping and quoting leave them as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CANARIES = {
    "outside": "zoq4w9xk2vouterjh7b3p5d",  # in a file outside of the folder that is checked
    "credentials": "zuq8m3tf6rloginsk1c9g4n",  # in the user part of a URL
    "line": "zyq2h7bd5jplainwv8x6t3m",  # in a line that no reader understands: `HF_TOKEN=…`
    "argument": "zaq6k1nc9gflagpr4z2y7hs",  # in an argument of a command: `--token …`
}
_SHORTEST = 8  # fewer letters of a word could stand in a report by chance
_KEYS = "HF_TOKEN|AWS_SECRET_ACCESS_KEY|password|WANDB_API_KEY|api_key"
# Where a word is a secret to any reader. Elsewhere a change has put it: as a name, say, it would rightly be shown.
_PLACES = {
    "outside": re.compile(CANARIES["outside"]),
    "credentials": re.compile(rf"(?://|%2f%2f)[^\s\"'<>`@]*(?:@|p@)?{CANARIES['credentials']}@", re.IGNORECASE),
    "line": re.compile(rf"^\W*(?:export |ENV |ENV export )?(?:{_KEYS}) ?=\W{{0,2}}{CANARIES['line']}", re.MULTILINE),
    "argument": re.compile(rf"(?:--(?:hub_)?token[= ]|wandb login |login\(['\"]){CANARIES['argument']}"),
}
# An option of these files may have any name, and has requirements as its value.
_REQUIREMENTS_OF_ANY_NAME = frozenset({"setup.cfg"})


def secrets_of(files: Iterable[bytes], kind: str) -> frozenset[str]:
    """The kinds of canaries that are secrets wherever they stand in these files.

    Args:
        files: their contents.
        kind: the format of a single file, or how the folder was made.
    """
    displaced: set[str] = set(("line",) if kind in _REQUIREMENTS_OF_ANY_NAME else ())
    for data in files:
        for name, word in CANARIES.items():
            part = word[:_SHORTEST].encode(), word[-_SHORTEST:].encode()
            lower = data.lower()
            if max(map(lower.count, part)) == 0:
                continue
            places = _PLACES[name].findall(data.decode("utf-8", "replace"))
            if max(map(lower.count, part)) != len(places):
                displaced.add(name)
    return frozenset(CANARIES) - displaced


def leaked(text: str) -> list[str]:
    """The kinds of canaries of which the text repeats the word, its beginning or its end."""
    lower = text.lower()
    return [kind for kind, word in CANARIES.items() if word[:_SHORTEST] in lower or word[-_SHORTEST:] in lower]
