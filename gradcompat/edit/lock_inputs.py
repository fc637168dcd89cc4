"""What a lock tool gets to see: the project's requirements, written anew from what was understood of them.

A lock tool obeys its project: indexes and links in requirements, builds of local sources, settings and interpreters
beside them. So it is run in a folder of its own, which holds these files and nothing else. Whatever cannot be said as
a plain requirement is an error here; the command is then left to the user.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement

from gradcompat.edit.compile_options import CompileCommand
from gradcompat.edit.encoding import decoded
from gradcompat.errors import EditError, Malformed
from gradcompat.files.regular_files import read_regular
from gradcompat.formats.toml_text import parse

_LARGEST = 64 * 1024 * 1024
_MOST_FILES = 100
_COMMENT = re.compile(r"(?:^|\s)#.*")
_CONTINUED = re.compile(r"\\(?:\r\n|\r|\n)")
_INCLUDED = re.compile(r"(-r|-c|--requirement|--constraint)(?:\s+|=|(?<=-[rc]))(\S+)")
_VERSION = re.compile(r"^version(?:_info)?\s*=\s*(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
_HASH = re.compile(r"\s+--hash[=\s]\s*(\w+:[0-9A-Fa-f]+)")
_BUILT = frozenset({"dependencies", "optional-dependencies", "requires-python", "name"})
# Keys of `[tool.uv]` that steer the resolution; others name indexes, links and sources, or could in later versions.
_UV_LISTS = frozenset({"constraint-dependencies", "override-dependencies", "dev-dependencies", "exclude-dependencies"})
_UV_KEYS = _UV_LISTS | {
    "conflicts",
    "default-groups",
    "environments",
    "exclude-newer",
    "fork-strategy",
    "managed",
    "package",
    "prerelease",
    "required-environments",
    "required-version",
    "resolution",
}
# What concerns building, running or publishing and is not read where a lock is made.
_UV_UNREAD = frozenset({"add-bounds", "build-backend", "compile-bytecode", "dependency-groups", "link-mode"})


def inputs_of_uv_lock(path: Path, shown: str) -> dict[str, bytes]:
    """The pyproject.toml and the lockfile that ``uv lock`` gets, by name.

    Raises:
        EditError: if they ask for something that is not done from here; the message says what.
    """
    root = _root(path)
    _check_settings(path.parent, "uv")
    project = _read(root, path.parent / "pyproject.toml", "pyproject.toml")
    lock = _read(root, path, shown)
    _check_uv_lock(_toml(lock, shown), shown)
    return {"pyproject.toml": _project(project, "pyproject.toml", for_uv=True), "uv.lock": lock}


def inputs_of_compile(command: CompileCommand, where: Path, path: Path, shown: str) -> dict[str, bytes]:
    """The sources of a command and the pins that it starts from, by the names that the command has for them.

    Args:
        command: with files relative to ``where``.
        where: the folder in which the command is run.
        path: the file that it writes.
        shown: how that is called to the user.

    Raises:
        EditError: if one is outside of the folder of ``path``, or asks for something that is not done from here.
    """
    root = _root(path)
    _check_settings(where, "pip-tools" if command.tool == "pip-compile" else "uv")
    found: dict[str, bytes] = {}
    waiting = list(command.files)
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        if len(found) >= _MOST_FILES:
            raise EditError(f"is compiled from more than {_MOST_FILES} files", path=shown)
        data = _read(root, where / name, name)
        if PurePosixPath(name).name == "pyproject.toml":
            found[name] = _project(data, name, for_uv=command.tool != "pip-compile")
            continue
        lines, included = _requirements(decoded(data, name).text, name)
        found[name] = "".join(f"{line}\n" for line in lines).encode()
        waiting += included
    output = path.relative_to(where).as_posix()
    if output in found:
        raise EditError("is compiled from itself", path=shown)
    found[output] = _pins(decoded(_read(root, path, shown), shown).text)
    return found


def python_of(where: Path) -> str | None:
    """The version of Python of the project's own environment, which is not run; None if there is none."""
    try:
        text = read_regular(where / ".venv" / "pyvenv.cfg").decode("utf-8")
    except (OSError, ValueError):
        return None
    found = _VERSION.search(text)
    return None if found is None else found[1]


def _check_settings(where: Path, tool: str) -> None:
    """Settings that the tool would find where the user runs it: leaving them out would change what it writes."""
    for folder in (Path(os.path.realpath(where)), *Path(os.path.realpath(where)).parents):
        own = folder / {"uv": "uv.toml", "pip-tools": ".pip-tools.toml"}[tool]
        if os.path.lexists(own):
            raise EditError(f"has settings that {tool} would obey", path=str(own))
        shared = folder / "pyproject.toml"
        if os.path.isfile(shared):
            try:
                tools = _toml(read_regular(shared), str(shared)).get("tool")
            except OSError as error:
                raise EditError(f"cannot be read: {error.strerror}", path=str(shared)) from None
            stated = tools.get(tool) if isinstance(tools, dict) else None
            allowed = _UV_KEYS | _UV_UNREAD if tool == "uv" else frozenset[str]()
            if isinstance(stated, dict) and (other := sorted(stated.keys() - allowed)):
                raise EditError(f"has `tool.{tool}.{other[0]}`, which {tool} would obey", path=str(shared))
        if os.path.lexists(folder / ".git"):
            break


def _root(path: Path) -> Path:
    return Path(os.path.realpath(path.parent))


def _read(root: Path, path: Path, shown: str) -> bytes:
    """A regular file below a folder, links followed."""
    try:
        real = Path(os.path.realpath(path, strict=True))
        if not real.is_relative_to(root):
            raise EditError("is outside the folder of the lockfile", path=shown)
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                raise EditError("is not a requirements file", path=shown)
            return file.read(_LARGEST)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise EditError(f"cannot be read: {reason}", path=shown) from None


def _requirements(text: str, shown: str) -> tuple[list[str], list[str]]:
    """The lines of a requirements file as they are understood, and the files that it includes."""
    lines: list[str] = []
    included: list[str] = []
    for number, raw in enumerate(_CONTINUED.sub(" ", text.lstrip("\ufeff")).splitlines(), start=1):
        line = _COMMENT.sub("", raw).strip()
        if not line:
            continue
        if include := _INCLUDED.fullmatch(line):
            name = _beside(shown, include[2])
            if name is None:
                raise EditError(f"includes `{include[2]}`", path=shown, line=number)
            option = "-c" if include[1] in ("-c", "--constraint") else "-r"
            lines.append(f"{option} {os.path.relpath(name, PurePosixPath(shown).parent).replace(os.sep, '/')}")
            included.append(name)
            continue
        requirement = _plain(_HASH.sub("", line))
        if requirement is None:
            raise EditError(f"has `{line}`, which is not a plain requirement", path=shown, line=number)
        lines.append(" ".join((requirement, *(f"--hash={digest}" for digest in _HASH.findall(line)))))
    return lines, included


def _pins(text: str) -> bytes:
    """The pins of a compiled file; whatever else it has comes from its sources again."""
    lines = []
    for raw in _CONTINUED.sub(" ", text.lstrip("\ufeff")).splitlines():
        line = _COMMENT.sub("", raw).strip()
        requirement = _plain(_HASH.sub("", line)) if line else None
        if requirement is not None:
            lines.append(" ".join((requirement, *(f"--hash={digest}" for digest in _HASH.findall(line)))) + "\n")
    return "".join(lines).encode()


def _beside(shown: str, name: str) -> str | None:
    """An included file, as seen from the folder of the command; None if it is none that is read."""
    if PurePosixPath(name).suffix not in (".in", ".txt") or name.startswith("/") or re.search(r"[\\:$]", name):
        return None
    joined = os.path.normpath(PurePosixPath(shown).parent / name).replace(os.sep, "/")
    return None if joined.startswith("../") else joined


def _plain(text: str) -> str | None:
    """A requirement without an address, as packaging writes it."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    return str(requirement) if requirement.url is None else None


def _toml(data: bytes, shown: str) -> dict[str, Any]:
    try:
        return parse(decoded(data, shown).text, shown)
    except Malformed as error:
        raise EditError(error.message, path=shown, line=error.line) from None


def _project(data: bytes, shown: str, *, for_uv: bool) -> bytes:
    """What a tool needs of a pyproject.toml to resolve it without building it."""
    content = _toml(data, shown)
    project = content.get("project")
    if not isinstance(project, dict):
        raise EditError("has no [project]: what it needs is known only by building it", path=shown)
    dynamic = project.get("dynamic", [])
    built = [key for key in dynamic if key in _BUILT] if isinstance(dynamic, list) else ["metadata"]
    if built:
        raise EditError(f"has dynamic {' and '.join(map(str, built))}, which are known only by building it", path=shown)
    kept: dict[str, Any] = {"project": _kept_project(project, shown)}
    if isinstance(groups := content.get("dependency-groups"), dict):
        for name, group in groups.items():
            _strings(group, f"dependency-groups.{name}", shown, tables=True)
        kept["dependency-groups"] = groups
    if isinstance(system := content.get("build-system"), dict):
        kept["build-system"] = system  # decides whether the project is a package; it is not built
    tools = content.get("tool")
    uv = tools.get("uv") if isinstance(tools, dict) else None
    if for_uv and isinstance(uv, dict):
        other = sorted(uv.keys() - _UV_KEYS - _UV_UNREAD)
        if other:
            raise EditError(f"has `tool.uv.{other[0]}`, which uv would obey", path=shown)
        for key in _UV_LISTS & uv.keys():
            _strings(uv[key], f"tool.uv.{key}", shown)
        if wanted := {key: value for key, value in uv.items() if key in _UV_KEYS}:
            kept["tool"] = {"uv": wanted}
    return tomlkit.dumps(kept).encode()


def _kept_project(project: Mapping[str, Any], shown: str) -> dict[str, Any]:
    kept = {key: project[key] for key in ("name", "version", "requires-python", "dynamic") if key in project}
    if "dependencies" in project:
        kept["dependencies"] = _strings(project["dependencies"], "project.dependencies", shown)
    extras = project.get("optional-dependencies")
    if isinstance(extras, dict):
        kept["optional-dependencies"] = {
            name: _strings(value, f"project.optional-dependencies.{name}", shown) for name, value in extras.items()
        }
    return kept


def _strings(value: Any, key: str, shown: str, *, tables: bool = False) -> list[Any]:
    """A list of plain requirements; in groups, tables that include other groups, too."""
    if not isinstance(value, list):
        raise EditError(f"`{key}` is not a list", path=shown)
    for item in value:
        if tables and isinstance(item, dict) and item.keys() == {"include-group"}:
            continue
        if not isinstance(item, str) or _plain(item) is None:
            raise EditError(f"`{key}` has `{item}`, which is not a plain requirement", path=shown)
    return value


def _check_uv_lock(content: Mapping[str, Any], shown: str) -> None:
    packages = content.get("package", [])
    for package in packages if isinstance(packages, list) else []:
        source = package.get("source") if isinstance(package, dict) else None
        if not isinstance(source, dict) or len(source) != 1:
            raise EditError("has a package without a source", path=shown)
        ((kind, value),) = source.items()
        if kind in ("virtual", "editable") and value == ".":
            continue
        if kind != "registry" or not str(value).startswith(("https://", "http://")):
            raise EditError(f"has `{package.get('name')}` from `{kind} = {value}`", path=shown)
