"""Takes credentials out of everything that is shown: messages, errors and whole reports go through :func:`redact`.

What is hidden: user and password of an address, with or without its scheme; the token in the address of a conda channel
(``/t/TOKEN/``); the values of query parameters that are named like secrets; tokens that are known by their form. All
other text stays, so that one index or file can still be told from another.
"""

from __future__ import annotations

import re

from gradcompat.startup.lazy_patterns import lazy_pattern

HIDDEN = "[hidden]"

_PARAMETER = (
    r"(?:[\w-]{0,40}(?:token|secret|passw|api[_-]?key|access[_-]?key|auth|credential|signature)[\w-]{0,40}|sig|key|pwd)"
)
# An address ends where the scheme of the next one begins.
_ADDRESS = lazy_pattern(r"(?P<slashes>//|%2f%2f|\\/\\/)(?P<rest>(?:(?!://|%3a%2f%2f)[^\s\"'<>`])+)", re.IGNORECASE)
_END_OF_AUTHORITY = lazy_pattern(r"[/?#\\]|%2f", re.IGNORECASE)
_HOST = lazy_pattern(r"(\[[^\]]*\]|[^:]*)(:\d+)?")
# `me:secret@host` without a scheme; the digest of a container image is no host.
_USER = lazy_pattern(r"(?<![\w.%+/@:-])[\w.%+-]+:(?!//)[^\s\"'<>`@/]+@(?=\w)(?!sha\d+:)")
_CHANNEL = lazy_pattern(r"(?P<head>(?:/|%2f)t(?:/|%2f))(?!\[hidden\])[^\s/\"'<>`%?#\\]+", re.IGNORECASE)
_QUERY = lazy_pattern(
    rf"(?P<head>(?:[?&#;]|%3f|%26|\\u0026){_PARAMETER}(?:=|%3d))(?!\[hidden\])[^\s&#\"'<>`\\;]+", re.IGNORECASE
)
# A short word behind `hf_` is a name of a file or a function, as `hf_datawrapper`, unless it has a digit.
_TOKEN = lazy_pattern(
    r"(?<![a-z0-9])(?:hf_(?:[a-z0-9]{20,}|(?=[a-z]*\d)[a-z0-9]{10,})|hf-[a-z0-9]{20,}|gh[pousr][_-][a-z0-9]{10,}|github[_-]pat[_-][\w-]{10,}"
    r"|glpat[_-][\w-]{10,}|pypi-age[\w-]{10,}|sk-(?:[a-z]+-)?[a-z0-9]{16,}|xox[abprs]-[\w-]{10,}"
    r"|a[ks]ia[a-z0-9]{12,}|aiza[\w-]{20,}|eyj[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)",
    re.IGNORECASE,
)
# A version specifier has `=` and nothing that begins a parameter; most lines of a report end here.
_SUSPECT = lazy_pattern(
    r"@|%40|[/f]t[/%]|(?:[?&#;]|%3f|%26|\\u0026)[\w-]{3,90}(?:=|%3d)|hf[_-]|gh[pousr][_-]|github[_-]|glpat|pypi-a|sk-|xox|a[ks]ia|aiza|eyj",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """The text without the credentials in it.

    >>> redact("no answer from https://me:s3cret@index.example/simple?token=abc")
    'no answer from https://index.example/simple?token=[hidden]'
    """
    # Nothing that is hidden crosses the end of a line; most lines are harmless, and a report has many of them twice.
    known: dict[str, str] = {}
    pieces: list[str] = []
    done = place = 0
    while (suspect := _SUSPECT.search(text, place)) is not None:
        start = text.rfind("\n", place, suspect.start()) + 1 or place
        place = text.find("\n", suspect.end())
        if place < 0:
            place = len(text)
        line = text[start:place]
        if line not in known:
            known[line] = _redacted(line)
        if known[line] != line:
            pieces += (text[done:start], known[line])
            done = place
    return "".join([*pieces, text[done:]])


def _redacted(text: str) -> str:
    """One line without the credentials in it."""
    text = _ADDRESS.sub(lambda match: match["slashes"] + _without_user(match["rest"]), text)
    text = _USER.sub("", text)
    text = _CHANNEL.sub(rf"\g<head>{HIDDEN}", text)
    text = _QUERY.sub(rf"\g<head>{HIDDEN}", text)
    return _TOKEN.sub(HIDDEN, text)


def is_token(text: str) -> bool:
    """Has the text the form of a token of a known service?"""
    return _SUSPECT.search(text) is not None and _TOKEN.search(text) is not None


def _without_user(rest: str) -> str:
    """What follows the slashes of an address, from the host on."""
    authority = _END_OF_AUTHORITY.split(rest, maxsplit=1)[0]
    for at in ("@", "%40"):
        if at in authority:
            return rest[authority.rindex(at) + len(at) :]
        # A password with an unescaped slash: what passes for the port is empty, or none.
        if at in rest and _HOST.fullmatch(authority) is None:
            return rest[rest.rindex(at) + len(at) :]
    return rest
