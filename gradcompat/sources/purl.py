"""Package URLs (``pkg:pypi/torch@2.5.1%2Bcu124``), and what the component of an SBOM that has one, or has none, is.

An SBOM lists whatever there is: wheels beside Debian packages, models and files. Components of Python's and conda's
ecosystems are packages here; so is a library that has no package URL at all, because uv writes local packages so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from gradcompat.model.environment import Location, Package, Skipped, SourceKind
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.sources.requirement import version_of_tag
from gradcompat.startup.lazy_patterns import lazy_pattern

# Nothing that is meant to be installed is longer.
_MAX_LENGTH = 1000
_MAX_VERSION = 200

_NAME = lazy_pattern(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")
_NO_VERSION = frozenset({"", "noassertion", "none", "unknown", "unspecified", "latest"})
_OPERATOR = lazy_pattern(r"[<>=~^*,|\s]|!=")
_EQUALS = lazy_pattern(r"(?<![<>=~!])=(?!=)")
# What may be a package without saying so; the rest are files, containers, models, operating systems.
_LIBRARIES = frozenset({"", "library", "framework"})


class Purl(NamedTuple):
    """A package URL, decoded."""

    type: str
    name: str
    version: str | None
    qualifiers: dict[str, str]


def parse_purl(text: str) -> Purl | None:
    """The parts of a package URL, or None if it is none.

    >>> parse_purl("pkg:pypi/torch@2.5.1%2Bcu124").version
    '2.5.1+cu124'
    """
    if len(text) > _MAX_LENGTH or text[:4].lower() != "pkg:":
        return None
    address, _, behind = text[4:].partition("#")[0].partition("?")
    kind, _, path = address.strip("/").partition("/")
    name, at, version = path.rpartition("@")
    if not at or not name or name.endswith("/"):  # `pkg:npm/@scope/name` has no version
        name, version = path, ""
    name = unquote(name.rpartition("/")[2])
    if not kind or not name:
        return None
    pairs = (pair.partition("=") for pair in behind.split("&") if pair)
    return Purl(kind.lower(), name, unquote(version) or None, {key: unquote(value) for key, _, value in pairs})


def component(
    purl_text: str | None,
    name: str,
    version: str | None,
    purpose: str,
    location: Location,
    marker: str | None = None,
) -> Package | Skipped | str:
    """The package that a component is, why it cannot be told, or the ecosystem that it belongs to instead.

    Args:
        purl_text: its package URL, if it has one.
        name: what it calls itself.
        version: its version beside the package URL; GitHub puts the range there that a manifest asks for.
        purpose: ``library``, ``application``, ``file`` …, or nothing.
        location: where the version stands.
        marker: the marker that it applies under.
    """
    if purl_text is None:
        if purpose not in _LIBRARIES:
            return purpose
        if not _NAME.fullmatch(name):
            return Skipped(what="a component", reason="has no valid package name", location=location)
        purl = Purl("pypi", name, None, {})
    else:
        parsed = parse_purl(purl_text)
        if parsed is None:
            return Skipped(what="a component", reason="its package URL is invalid", location=location)
        purl = parsed
    if purl.type == "generic" and purl.name.lower() in ("python", "cpython"):
        purl = purl._replace(name="python", type="conda")  # the interpreter, which only conda has as a package
    if purl.type not in ("pypi", "conda"):
        return purl.type
    exact, specifier = _version(purl.version or version)
    repository = purl.qualifiers.get("vcs_url", "")
    source: SourceKind = "registry"
    if purl.type == "conda":
        source = "conda"
    elif repository:
        source = "git"
    elif purl.qualifiers.get("download_url"):
        source = "path" if purl.qualifiers["download_url"].startswith("file:") else "url"
    tag = version_of_tag(repository.rpartition("@")[2])
    return Package(
        name=purl.name.lower() if purl.type == "conda" else normalise(purl.name),
        version=exact,
        specifier=specifier,
        source=source,
        marker=marker,
        unreleased=bool(repository) and (tag is None or tag != exact),
        location=location,
    )


class Components(NamedTuple):
    """What an SBOM holds: packages, what was skipped, and the Python among it if there is exactly one."""

    packages: tuple[Package, ...]
    skipped: tuple[Skipped, ...]
    python: str | None


def gathered(found: Iterable[Package | Skipped | str]) -> Components:
    """The components of an SBOM, each as :func:`component` gave it; those of other ecosystems are one note."""
    packages: list[Package] = []
    skipped: list[Skipped] = []
    others: Counter[str] = Counter()
    for hit in found:
        if isinstance(hit, Package):
            packages.append(hit)
        elif isinstance(hit, Skipped):
            skipped.append(hit)
        else:
            others[hit] += 1
    pythons = {package.version for package in packages if package.name == "python" and package.source == "conda"}
    python = pythons.pop() if len(pythons) == 1 else None
    return Components(tuple(packages), (*skipped, *_not_python(others)), python)


def _not_python(others: Counter[str]) -> list[Skipped]:
    if not others:
        return []
    kinds = ", ".join(f"{count} {quoted(kind, 'other')}" for kind, count in sorted(others.items()))
    number = sum(others.values())
    what = "1 component" if number == 1 else f"{number} components"
    return [Skipped(what=what, reason=f"of no Python ecosystem: {kinds}", gap=False)]


def _version(text: str | None) -> tuple[str | None, str | None]:
    """A version, or the specifier of a range; neither, if it says neither."""
    text = (text or "").strip()
    if text == "*":
        return None, "*"
    if text.lower() in _NO_VERSION or len(text) > _MAX_VERSION:
        return None, None
    if not _OPERATOR.search(text):
        return text, None
    wanted = _EQUALS.sub("==", "".join(text.split()))
    if wanted[0].isdigit():  # `2.*`
        wanted = f"=={wanted}"
    if wanted.startswith("==") and parse_version(wanted[2:]) is not None:
        return wanted[2:], None
    try:
        VersionSet.parse(wanted)
    except ValueError:
        return None, None
    return None, wanted
