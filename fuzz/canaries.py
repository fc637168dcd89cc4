"""Planted secrets: words that stand where no report may repeat them.

Each kind of place has its own word, so that a leak names the place. Only letters and digits: normalising a name,
escaping and quoting leave them as they are.
"""

from __future__ import annotations

CANARIES = {
    "outside": "zoq4w9xk2vouterjh7b3p5d",  # in a file outside of the folder that is checked
    "credentials": "zuq8m3tf6rloginsk1c9g4n",  # in the user part of a URL
    "line": "zyq2h7bd5jplainwv8x6t3m",  # in a line that no reader understands: `HF_TOKEN=…`
    "argument": "zaq6k1nc9gflagpr4z2y7hs",  # in an argument of a command: `--token …`
}
_SHORTEST = 8  # fewer letters of a word could stand in a report by chance


def planted(text: str) -> bool:
    """Does the text hold a whole canary?"""
    return any(word in text for word in CANARIES.values())


def leaked(text: str) -> list[str]:
    """The kinds of canaries of which the text repeats the word, its beginning or its end."""
    lower = text.lower()
    return [kind for kind, word in CANARIES.items() if word[:_SHORTEST] in lower or word[-_SHORTEST:] in lower]
