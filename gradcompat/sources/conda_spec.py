"""What conda says of a package in one line: a match specification (``pytorch::pytorch=2.5``) or the URL of an archive.

One ``=`` asks for a prefix: ``pytorch=2.5`` allows 2.5.1. Two ask for that version, and so does one where a build
follows: ``pytorch=2.5.1=py3.11_cuda12.4`` is exact. Without any operator (``pytorch 2.5``) a version is exact, too. A
prefix of three numbers is taken for the version, as releases with a fourth are rare: ``pytorch=2.5.1`` is 2.5.1.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_patterns import lazy_pattern

# Nothing that is meant to be installed is longer, and Python converts no number of more than 4,300 digits.
_MAX_LENGTH = 1000

# `conda-forge/linux-64::`, `https://host/channel::`, and from before conda 4.4 `channel:namespace:`.
_NAME = lazy_pattern(r"\s*(?:[^\s=<>!~\[\]]*:)?([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)(?=[\s=<>!~\[]|$)")
_BRACKETS = lazy_pattern(r"\[([^\[\]]*)\]\s*$")
_KEY_VALUE = lazy_pattern(r"""\s*([a-z_0-9]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s,"']*))\s*(?:,|$)""")
# A last word that follows a version, not an operator.
_BUILD = lazy_pattern(r"[\s=]([^\s=,|<>~!]+)\s*$")
_OPERATORS = "=!|,<>~"
_WHOLE = lazy_pattern(r"=\d+\.\d+\.\d+")
_CLAUSE = lazy_pattern(r"(==|~=|!=|>=|<=|>|<|=)?((?:\d+!)?[A-Za-z0-9_.+*-]+)")
_ARCHIVES = (".tar.bz2", ".conda")


class Spec(NamedTuple):
    """A match specification.

    Attributes:
        name: in lower case, as conda compares names.
        version: the version, if there is only one that is allowed.
        specifier: what is allowed, in the operators of PEP 440; None where ``version`` is given or it cannot be said.
        offset: where in the text the version, or else the range, or else the name stands.
        build: the build that is asked for, or a pattern of builds.
        problem: why it cannot be said which versions are allowed.
    """

    name: str
    version: str | None
    specifier: str | None
    offset: int
    build: str | None = None
    problem: str | None = None


class Archive(NamedTuple):
    """What the address of a conda package says; ``offset`` is where the version stands in it, ``build`` the build."""

    name: str
    version: str
    offset: int
    subdir: str | None
    build: str


def parse_spec(text: str) -> Spec | None:
    """The match specification in a text, or None if it is none.

    >>> parse_spec("pytorch::pytorch=2.5").specifier
    '==2.5.*'
    """
    if len(text) > _MAX_LENGTH:
        return None
    text = text.partition("#")[0]
    head = _NAME.match(text)
    if head is None:
        return None
    rest = text[head.end() :]
    build: str | None = None
    wanted: str | None = None
    brackets = _BRACKETS.search(rest)
    if brackets:
        pairs = _pairs(brackets[1])
        if pairs is None:
            return None
        wanted, build = pairs.get("version"), pairs.get("build")
        rest = rest[: brackets.start()]
    elif "[" in rest:
        return None
    if wanted is None:
        ending = _BUILD.search(rest)
        before = rest[: ending.start()].rstrip() if ending else ""
        if before and before[-1] not in _OPERATORS:
            rest, build = before, str(ending and ending[1])
        wanted = rest
    name = head[1].lower()
    wanted = "".join(wanted.split())
    if "@" in wanted or "/" in wanted:  # a requirement of pip's: `name @ url`
        return None
    version, specifier, problem = _versions(wanted, build is not None)
    offset = head.start(1)
    if version is not None:
        offset = max(text.find(version, head.end()), offset)
    elif wanted:
        offset = max(text.find(wanted[0], head.end()), offset)
    return Spec(name, version, specifier, offset, build, problem)


def parse_archive(url: str) -> Archive | None:
    """Name and version in the address of a conda package, ``…/linux-64/pytorch-2.5.1-py3.11_0.conda``, or None."""
    address = url.partition("#")[0].partition("?")[0].rstrip().replace("\\", "/")
    folder, _, file_name = address.rpartition("/")
    suffix = next((suffix for suffix in _ARCHIVES if file_name.endswith(suffix)), None)
    parts = file_name.removesuffix(suffix).rsplit("-", 2) if suffix else []
    if len(parts) != 3 or not all(parts) or len(file_name) > _MAX_LENGTH:
        return None
    offset = len(address) - len(file_name) + len(parts[0]) + 1
    subdir = folder.rpartition("/")[2] if folder else None
    return Archive(unquote(parts[0]).lower(), unquote(parts[1]), offset, subdir, unquote(parts[2]))


def platform_of(subdirs: set[str]) -> str | None:
    """The platform, in the words of ``sys.platform``, that all of conda's ``linux-64``, ``osx-arm64`` … belong to."""
    known = {_PLATFORMS.get(subdir.partition("-")[0]) for subdir in subdirs if subdir != "noarch"}
    return known.pop() if len(known) == 1 else None


_PLATFORMS = {"linux": "linux", "osx": "darwin", "win": "win32"}


def _pairs(text: str) -> dict[str, str] | None:
    """``version='>=2',build=*cuda*`` as keys and values."""
    pairs: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _KEY_VALUE.match(text, position)
        if match is None or match.end() == position:
            return None
        pairs[match[1]] = match[2] or match[3] or match[4] or ""
        position = match.end()
    return pairs


def _versions(wanted: str, build: bool) -> tuple[str | None, str | None, str | None]:
    """The one version that is allowed, or a specifier, or what is wrong."""
    if wanted in ("", "*", "=", "=*"):
        return None, "*", None
    beside_build = build and wanted.startswith("=") and not wanted.startswith("==") and not wanted.endswith("*")
    if beside_build or _WHOLE.fullmatch(wanted):
        wanted = wanted[1:]  # one sign is as good as two
    alternatives: list[str] = []
    exact: str | None = None
    for alternative in wanted.split("|"):
        clauses: list[str] = []
        for clause in alternative.split(","):
            operator, version = _clause(clause)
            if version is None:
                return None, None, "its version cannot be compared"
            if operator == "===":
                exact = version
                operator = "=="
            clauses.append("*" if operator == "*" else f"{operator}{version}")
        if "*" in clauses:
            clauses = [clause for clause in clauses if clause != "*"] or ["*"]
        alternatives.append(",".join(clauses))
    if exact is not None and len(alternatives) == 1 and alternatives[0] == f"=={exact}":
        return exact, None, None
    specifier = " || ".join(alternatives)
    try:
        VersionSet.parse(specifier)
    except ValueError:
        return None, None, "its version cannot be compared"
    return None, specifier, None


def _clause(text: str) -> tuple[str, str | None]:
    """An operator of PEP 440 with its operand; ``===`` for one version, ``*`` for any, and None for what is neither."""
    match = _CLAUSE.fullmatch(text)
    if match is None:
        return "*", None
    operator, version = match[1] or "==", match[2]
    if version == "*":
        return "*", "*"
    prefix = version.endswith("*")
    version = version.rstrip("*").rstrip(".")
    if "*" in version or not version:
        return "*", None
    if operator == "=" or (prefix and operator == "=="):
        return "==", f"{version}.*"
    if operator == "==":
        return "===", version
    if operator == "!=" and prefix:
        return "!=", f"{version}.*"
    return operator, version  # conda takes `>=1.8.*` for `>=1.8`
