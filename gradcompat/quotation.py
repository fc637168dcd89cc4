"""The way from the text of a file into a message: only what has the form of something understood is quoted.

A line that does not parse may be anything, a password as well. A message names its file, its line and the reason; words
of the file come through :func:`quoted` (a name, a key, an option) or :func:`reference` (a path, an address), and what
another parser says comes through :func:`parser_reason`, because parsers quote the text that they stopped at.
"""

from __future__ import annotations

import keyword
import re

from gradcompat.redaction import is_token, redact
from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST = 100
# `torch`, `tool.uv.sources`, `dependency-groups.dev[1]`, `--extra-index-url`
_WORD = lazy_pattern(r"-{0,2}[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*(?:\[\d+\])?")
_PATH = lazy_pattern(r"[\w.~@+%{}$:/\\\[\],#-]+")
_TUPLE = lazy_pattern(r"\([^()]*['\"][^()]*\)")
_PIECE = lazy_pattern(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`")
_LAST_WORD = lazy_pattern(r": [^\s()]+\Z")
_OLD_KEYWORDS = ("print", "exec")
_SIGN = lazy_pattern(r"\\?[^\w\s]{0,3}|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\w?")


def quoted(text: str, otherwise: str) -> str:
    """The text, if it has the form of a name, a key or an option; else what it is called instead.

    >>> quoted("torch", "an entry"), quoted("password hunter2", "an entry")
    ('torch', 'an entry')
    """
    return text if len(text) <= _LONGEST and _WORD.fullmatch(text) and not is_token(text) else otherwise


def reference(text: str, otherwise: str = "a file") -> str:
    """A path or an address as it is written, without credentials; else what it is called instead.

    >>> reference("https://me:secret@index.example/base.txt"), reference("a b c")
    ('https://index.example/base.txt', 'a file')
    """
    text = text.strip()
    return redact(text) if len(text) <= 2 * _LONGEST and _PATH.fullmatch(text) else otherwise


def parser_reason(message: str) -> str:
    """What a parser says, without the pieces of the text that it quotes: signs and words of Python stay.

    >>> parser_reason("Cannot declare ('user', 'hunter2') twice"), parser_reason("expected ']' at the end")
    ('Cannot declare a key twice', "expected ']' at the end")
    """
    message = _TUPLE.sub("a key", message.strip())
    message = _PIECE.sub(_sign_or_nothing, message)
    return _LAST_WORD.sub("", message)


def _sign_or_nothing(match: re.Match[str]) -> str:
    piece = next(group for group in match.groups() if group is not None)
    return match[0] if _SIGN.fullmatch(piece) or keyword.iskeyword(piece) or piece in _OLD_KEYWORDS else "…"


# In conda's build strings, torch's local labels and the names of its indexes: `py3.10_cuda12.1_cudnn8.9.2_0`, `cu124`.
_BUILT_FOR = lazy_pattern(r"(?:(?<=_)|^)(?:cuda_?\d{1,3}(?:\.\d)?|(?:cu\d{2,3}|rocm\d+(?:\.\d+)*|cpu|xpu)(?![A-Za-z]))")


def built_for(build: str) -> str | None:
    """What of a build string says for which device it was built; None if nothing does."""
    return "_".join(_BUILT_FOR.findall(build)) or None
