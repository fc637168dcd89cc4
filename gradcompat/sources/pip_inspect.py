"""``pip inspect`` (everything that is installed) and ``pip install --report`` (what an installation would add).

Both have the same parts under other names. Only the first is a whole environment.
"""

from __future__ import annotations

from typing import Any

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.model.environment import Environment, Package, Skipped, SourceKind
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_patterns import lazy_pattern

SUPPORTED = ("0", "1")

_PYTHON = lazy_pattern(r"\d+\.\d+(?:\.\d+)?(?:(?:a|b|rc)\d+)?\+?")
_PLATFORMS = ("linux", "darwin", "win32")


def read(document: Document) -> Environment:
    """Read what pip says of an environment as JSON.

    Raises:
        Malformed: if it is not JSON, or has no list of packages where pip puts it.
        UnsupportedFormatVersion: if pip wrote a version of the format that is not known here.
    """
    content = parse(document.text.lstrip("\ufeff"), document.path)
    if not isinstance(content, dict) or not ("installed" in content or "install" in content):
        raise Malformed("has no `installed` at its top as `pip inspect` writes", path=document.path)
    version = content.get("version")
    if version not in SUPPORTED:
        if not isinstance(version, str):
            raise Malformed("has no `version` as `pip inspect` writes", path=document.path)
        raise UnsupportedFormatVersion(
            f"format version {quoted(version, '…')} is not supported",
            path=document.path,
            hint="gradcompat reads versions 0 and 1",
        )
    key = "installed" if "installed" in content else "install"
    entries = content[key]
    if not isinstance(entries, list):
        raise Malformed(f"`{key}` is not an array", path=document.path)
    places = Places(document.text.lstrip("\ufeff"), document.path)
    packages: list[Package] = []
    skipped: list[Skipped] = []
    for index, entry in enumerate(entries):
        metadata = entry.get("metadata") if isinstance(entry, dict) else None
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if isinstance(name, str) and name.strip():
            packages.append(_package(entry, name.strip(), index, key, places))
        else:
            skipped.append(Skipped(what=f"{key}[{index}]", reason="has no name", location=places.of(key, index)))
    python, platform = _interpreter(content.get("environment"))
    return Environment(
        source=document.path,
        kind="pip-inspect",
        packages=tuple(packages),
        closed=key == "installed" and not skipped,
        skipped=tuple(skipped),
        python=python,
        platform=platform,
    )


def _package(entry: dict[str, Any], name: str, index: int, key: str, places: Places) -> Package:
    version = entry["metadata"].get("version")
    version = version if isinstance(version, str) else None
    direct = entry.get("direct_url")
    if key == "install":  # it says for packages of an index, too, where they are downloaded from
        direct = entry.get("download_info") if entry.get("is_direct") is True else None
    source, unreleased = _origin(direct, version)
    return Package(
        name=normalise(name),
        version=version,
        source=source,
        unreleased=unreleased,
        location=places.of(key, index, "metadata", "version"),
    )


def _origin(direct: Any, version: str | None) -> tuple[SourceKind, bool]:
    """What a ``direct_url.json`` says: where it comes from, and whether it may be another commit than the release."""
    if not isinstance(direct, dict):
        return "registry", False
    url = direct.get("url")
    local = isinstance(url, str) and url.startswith("file:")
    vcs, folder = direct.get("vcs_info"), direct.get("dir_info")
    if isinstance(vcs, dict):
        revision = vcs.get("requested_revision")
        tag = isinstance(revision, str) and version is not None and revision.removeprefix("v") == version
        return ("git" if vcs.get("vcs") == "git" else "url"), not tag
    if isinstance(folder, dict):
        return ("editable" if folder.get("editable") is True else "directory"), False
    return ("path" if local else "url"), False


def _interpreter(environment: Any) -> tuple[str | None, str | None]:
    if not isinstance(environment, dict):
        return None, None
    python, platform = environment.get("python_full_version"), environment.get("sys_platform")
    if not isinstance(python, str) or not _PYTHON.fullmatch(python[:100]):
        python = None
    return python, platform if platform in _PLATFORMS else None
