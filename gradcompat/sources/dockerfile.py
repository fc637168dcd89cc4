"""Dockerfiles, as far as text can tell: a best effort, and every result says so.

What a base image holds is not in the file, but for the torch in the tag of ``pytorch/pytorch``. A build argument counts
with its default. The entries of a stage belong to that stage and to those that are built from it.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from gradcompat.errors import Malformed, SourceError
from gradcompat.formats.document import Document
from gradcompat.formats.shell import Command, Variables, Word, known_value, split
from gradcompat.messages import BEST_EFFORT
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.quotation import quoted
from gradcompat.quotation import reference as quoted_reference
from gradcompat.requirements.names import normalise
from gradcompat.sources.build_contexts import build_contexts
from gradcompat.sources.ngc_images import range_of_image, torch_of_image
from gradcompat.sources.pip_command import (
    MAX_SCRIPT,
    AuditRequest,
    Include,
    Script,
    first_found,
    read_command,
    read_included,
    read_script,
    variable,
)
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_ESCAPE = lazy_pattern(r"#\s*escape\s*=\s*([\\`])\s*", re.IGNORECASE)
_DIRECTIVE = lazy_pattern(r"#\s*[A-Za-z]+\s*=")
_INSTRUCTION = lazy_pattern(r"\s*([A-Za-z]+)(?:\s+|$)")
_HEREDOC = lazy_pattern(r"<<(-?)(['\"]?)([A-Za-z_][\w.-]*)\2")
_RUN_OPTION = lazy_pattern(r"--[a-z]+(?:=\S*)?\s+")
_COPY_FROM = lazy_pattern(r"--from=(\S+)")
_REQUIREMENTS = lazy_pattern(r"\.(?:txt|in)$")
_RENAMED = 2  # a file and what it is called in the image
# What is copied from another stage as a whole environment, not as a file or two.
_ENVIRONMENT_PATH = lazy_pattern(
    r"(?:venv|virtualenv|site-packages|dist-packages|conda|mamba|\.local)(?:/|$)|^(?:/|/usr|/usr/local|/usr/local/lib|/opt|/app)/?$"
)
_SHELL_NAMES = lazy_pattern(r"(?:/\S*/)?(?:ba|z|da)?sh\b[^<>|;&]*")
_TORCH_TAG = lazy_pattern(r"(\d+\.\d+(?:\.\d+)?(?:\.dev\d+)?)-cuda\d")
_ROCM_TAG = lazy_pattern(r"\S*pytorch_(?:release_)?(\d+\.\d+\.\d+)")
_CUDA_TAG = lazy_pattern(r"\d[\w.]*-(cuda\d+\.\d)(?:-|$)")
_ROCM_TAG_VARIANT = lazy_pattern(r"(rocm\d+\.\d+(?:\.\d+)?)_")
_ROCM_TAG_PYTHON = lazy_pattern(r"\S*_py(3\.\d+)(?:_|$)")
_WINDOWS = lazy_pattern(r"windows|nanoserver", re.IGNORECASE)
_PYTHON_TAG = lazy_pattern(r"(3\.\d+(?:\.\d+)?)(?:-|$)")
# Images without Python packages that anybody trains with.
_BARE = lazy_pattern(
    r"(?:.*/)?(?:python|ubuntu|debian|alpine|fedora|centos|rockylinux|almalinux|amazonlinux|busybox|buildpack-deps|node"
    r"|golang|rust|nvidia/(?:cuda|cudagl|opengl)|astral-sh/uv|continuumio/(?:mini|ana)conda3?|condaforge/\w+"
    r"|mambaorg/micromamba|ubi\d\S*|rocm/dev-\S+|git|bash|curl)"
)


_MAX_OLD_VALUE = 4096
_MAX_INSTRUCTIONS = 2000


@dataclass(slots=True)
class _Instruction:
    """One instruction with its continued lines joined, and where its characters stand in the file."""

    name: str
    text: str
    path: str
    starts: list[int]
    places: list[tuple[int, int]]
    heredocs: list[tuple[str, int]] = field(default_factory=list)  # bodies, with their first lines

    def place(self, offset: int) -> Location:
        index = max(bisect_right(self.starts, offset) - 1, 0)
        line, column = self.places[index]
        return Location(path=self.path, line=line, column=column + max(offset - self.starts[index], 0))


@dataclass(slots=True)
class _Stage:
    """One ``FROM``, with what is asked for in it, and the numbers of the stages that it contains."""

    name: str
    variables: Variables
    contains: set[int]
    asked: AuditRequest = field(default_factory=AuditRequest)
    requirements: set[str] = field(default_factory=set)


class _Files:
    """The files of the folder that lie in the image, and the requirements among them that were read."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._read: dict[str, tuple[tuple[Package, ...], tuple[Skipped, ...]]] = {}
        self._contexts: tuple[str, ...] | None = None
        self.copied: dict[str, str] = {}
        self.folders: dict[str, str] = {}  # where a folder lies in the image: what was copied there
        self.emptied: list[str] = []  # folders whose files were copied to where commands run
        self.placed: dict[str, str] = {}  # what a file is called where commands run: the file that was copied there

    def include(self, stage: _Stage, name: str, location: Location) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
        """What ``-r`` names, once for each stage."""
        copied = self.copied.get(os.path.basename(name))
        if os.path.isabs(name):
            name = copied if copied is not None else self._below(name)
        if os.path.isabs(name):
            reason = "is a file of the image, and nothing here says what is in it"
            return (), (Skipped(what=quoted_reference(name), reason=reason, location=location),)
        if self._contexts is None:
            self._contexts = build_contexts(self._document)
        name = self._source(name.removeprefix("./"), self._contexts)
        if name in stage.requirements:
            return (), ()
        stage.requirements.add(name)
        if name not in self._read:
            self._read[name] = read_included(self._document, name, location, self._contexts)
        return self._read[name]

    def _source(self, name: str, contexts: tuple[str, ...]) -> str:
        """The file as it is called outside of the image, by what was copied to where commands run."""
        alone = os.path.basename(name) == name  # where it was copied to may be where commands run, too
        candidates = (
            self.placed.get(posixpath.normpath(name)),
            *(posixpath.normpath(posixpath.join(folder, name)) for folder in ("", *self.emptied)),
            self.copied.get(name) if alone else None,
        )
        for source in candidates if self.copied else ():
            if source is not None:
                with suppress(SourceError):
                    first_found(self._document, source, contexts)
                    return source
        return name

    def _below(self, name: str) -> str:
        """The file as it is called outside of the image, if a folder that was copied has it."""
        for target, source in self.folders.items():
            if name.startswith(target):
                return posixpath.normpath(posixpath.join(source, name[len(target) :]))
        return name


def read(document: Document) -> Environment:
    """Read a Dockerfile.

    Raises:
        Malformed: if it has no ``FROM``.
    """
    skipped = [
        Skipped(
            what=document.path,
            reason=f"{BEST_EFFORT}: the contents of base images are unknown, and build arguments have their defaults",
            gap=False,
            location=Location(path=document.path),
        )
    ]
    defaults: Variables = {}
    stages: list[_Stage] = []
    files = _Files(document)
    pythons: set[str | None] = set()
    platforms: dict[str | None, Location] = {}
    for count, instruction in enumerate(_instructions(document, skipped)):
        if count >= _MAX_INSTRUCTIONS or len(instruction.text) > MAX_SCRIPT:
            where = instruction.place(0)
            reason = "is too long for a Dockerfile: the rest is not read"
            skipped.append(Skipped(what=document.path, reason=reason, location=where))
            break
        if instruction.name == "FROM":
            stages.append(_stage(instruction, stages, defaults, pythons, platforms))
        elif not stages:
            if instruction.name == "ARG":
                _arguments(instruction, defaults, {})
        elif instruction.name == "ARG":
            _arguments(instruction, stages[-1].variables, defaults)
        elif instruction.name == "ENV":
            _environment(instruction, stages[-1].variables)
        elif instruction.name in ("COPY", "ADD"):
            _copy(instruction, stages, files)
        elif instruction.name == "RUN":
            before = tuple(stages[-1].asked.packages)
            _run(instruction, stages[-1], files)
            _replace_earlier(stages[-1].asked, before)
        elif instruction.name == "ONBUILD":
            reason = "applies to images built from this one"
            skipped.append(Skipped(what="ONBUILD", reason=reason, gap=False, location=instruction.place(0)))
    if not stages:
        raise Malformed("has no `FROM` as a Dockerfile has", path=document.path)
    platform = next(iter(platforms)) if len(platforms) == 1 else None
    packages: list[Package] = []
    for number, stage in enumerate(stages):
        packages.extend(replace(package, forks=_forks(number, stages, package)) for package in stage.asked.packages)
        skipped.extend(stage.asked.skipped)
    return Environment(
        source=document.path,
        kind="dockerfile",
        packages=tuple(packages),
        closed=False,
        skipped=tuple(skipped),
        python=next(iter(pythons)) if len(pythons) == 1 else None,
        platform=platform,
        origins={} if platform is None else {"platform": platforms[platform]},
    )


def _forks(number: int, stages: list[_Stage], package: Package) -> tuple[str, ...]:
    """The stages that have what this one installs; none are named if all have it."""
    having = tuple(
        stage.name
        for index, stage in enumerate(stages)
        if index == number or (number in stage.contains and normalise(package.name) not in stage.asked.uninstalled)
    )
    return () if len(having) == len(stages) else having


# Instructions


def _instructions(document: Document, skipped: list[Skipped]) -> Iterator[_Instruction]:
    lines = document.text.split("\n")
    escape = "\\"
    for line in lines:  # directives stand at the very top
        if match := _ESCAPE.fullmatch(line.strip()):
            escape = match[1]
        elif not _DIRECTIVE.match(line.strip()):
            break
    number = 0
    while number < len(lines):
        first = lines[number].rstrip("\r")
        if not first.strip() or first.lstrip().startswith("#"):
            number += 1
            continue
        parts: list[str] = []
        starts: list[int] = []
        places: list[tuple[int, int]] = []
        length = 0
        while number < len(lines):
            line = lines[number].rstrip("\r")
            number += 1
            if parts and (not line.strip() or line.lstrip().startswith("#")):
                continue  # comments and empty lines inside are not part of the command
            stripped = line.rstrip(" \t")
            continued = stripped.endswith(escape)
            if continued and stripped != line:
                at = Location(path=document.path, line=number, column=len(stripped))
                reason = (
                    f"a space follows the `{escape}` that continues the line; it is read as continued, as Docker does"
                )
                skipped.append(Skipped(what=f"line {number}", reason=reason, gap=False, location=at))
            part = stripped[:-1] if continued else line
            starts.append(length)
            places.append((number, 1))
            parts.append(part)
            length += len(part)
            if not continued:
                break
        text = "".join(parts)
        match = _INSTRUCTION.match(text)
        if match is None:
            continue
        instruction = _Instruction(match[1].upper(), text, document.path, starts, places)
        if instruction.name in ("RUN", "COPY", "ADD"):
            for tabs, _, delimiter in _HEREDOC.findall(text):
                body: list[str] = []
                begin = number + 1
                while number < len(lines):
                    line = lines[number].rstrip("\r")
                    number += 1
                    if (line.lstrip("\t") if tabs else line) == delimiter:
                        break
                    body.append(line)
                instruction.heredocs.append(("\n".join(body), begin))
        yield instruction


def _start(instruction: _Instruction) -> int:
    """Where the arguments of the instruction start."""
    match = _INSTRUCTION.match(instruction.text)
    return match.end() if match else 0


def _stage(
    instruction: _Instruction,
    stages: list[_Stage],
    defaults: Variables,
    pythons: set[str | None],
    platforms: dict[str | None, Location],
) -> _Stage:
    start = _start(instruction)
    words = split(instruction.text[start:], defaults)
    words = [word for word in words if not word.text.startswith("--")]
    image = words[0] if words else Word()
    named = len(words) == 3 and words[1].text.lower() == "as"
    # A value that is put in for a variable may be a secret: what is shown is what stands in the line.
    name = quoted(words[2].text, str(len(stages))) if named and words[2].text in instruction.text else str(len(stages))
    plain = (word for word in instruction.text[start:].split() if not word.startswith("--"))
    written = quoted_reference(next(plain, ""), "FROM")
    where = instruction.place(start + image.place(0))
    for number, stage in reversed(list(enumerate(stages))):
        if stage.name.lower() == image.text.lower() and not stage.name.isdigit():
            return _Stage(name, dict(stage.variables), {number, *stage.contains})
    stage = _Stage(name, {}, set())
    if not words or image.unknown:
        unknown = f": it depends on {variable(image.unknown[0])}" if image.unknown else ""
        stage.asked.skipped.append(
            Skipped(what=written, reason=f"the image cannot be determined{unknown}", location=where)
        )
        pythons.add(None)
        platforms.setdefault(None, where)
        return stage
    # Containers are Linux's, but for those that Microsoft makes the base images of.
    platforms.setdefault("win32" if _WINDOWS.search(image.text) else "linux", where)
    _base_image(image, start, instruction, stage.asked, pythons, written)
    return stage


def _base_image(
    image: Word, start: int, instruction: _Instruction, asked: AuditRequest, pythons: set[str | None], written: str
) -> None:
    """What the name of an image says of its packages."""
    reference = image.text.partition("@")[0]
    repository, colon, tag = reference.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = reference, ""
    repository = repository.removeprefix("docker.io/").removeprefix("index.docker.io/").removeprefix("library/")
    where = instruction.place(start + image.place(0))
    python = _PYTHON_TAG.match(tag) if repository == "python" else None
    if repository == "rocm/pytorch":
        python = _ROCM_TAG_PYTHON.match(tag)
    pythons.add(python[1] if python else None)
    torch: re.Match[str] | None = None
    if repository in ("pytorch/pytorch", "ghcr.io/pytorch/pytorch", "ghcr.io/pytorch/pytorch-nightly"):
        torch = _TORCH_TAG.match(tag)
    elif repository == "rocm/pytorch":
        torch = _ROCM_TAG.match(tag)
    if torch is not None:
        offset = len(image.text) - len(image.text.partition(":")[2]) + torch.start(1)
        at = instruction.place(start + image.place(offset))
        asked.packages.append(Package(name="torch", version=torch[1], build=_variant(tag), location=at))
    elif (ngc := torch_of_image(repository, tag)) is not None:
        asked.packages.append(Package(name="torch", version=ngc[0], build=ngc[1], location=where))
    elif (between := range_of_image(repository, tag)) is not None:
        asked.packages.append(Package(name="torch", version=None, specifier=between, unreleased=True, location=where))
    elif repository.rpartition("/")[2] in ("pytorch", "pytorch-nightly"):
        asked.packages.append(Package(name="torch", version=None, specifier="*", location=where))
    if reference != "scratch" and _BARE.fullmatch(repository) is None:
        reason = "the packages of the base image are unknown"
        # Of pytorch/pytorch the torch is what counts, and it is known.
        asked.skipped.append(Skipped(what=written, reason=reason, gap=torch is None, location=where, empty=True))


def _variant(tag: str) -> str | None:
    """What the torch of an image is built for: ``cu124`` of ``2.4.0-cuda12.4-cudnn9-devel``, ``rocm6.2`` of ROCm's."""
    cuda, rocm = _CUDA_TAG.match(tag), _ROCM_TAG_VARIANT.match(tag)
    return cuda[1].replace("cuda", "cu").replace(".", "") if cuda else rocm[1] if rocm else None


def _arguments(instruction: _Instruction, variables: Variables, defaults: Variables) -> None:
    for word in split(instruction.text[_start(instruction) :], variables):
        name, sign, _ = word.text.partition("=")
        if sign:
            variables[name] = known_value(word, len(name) + 1)
        elif name in defaults:
            variables[name] = defaults[name]
        else:
            variables.setdefault(name, None)


def _environment(instruction: _Instruction, variables: Variables) -> None:
    text = instruction.text[_start(instruction) :]
    words = split(text, variables)
    if words and "=" not in words[0].text:  # the old form: `ENV NAME the value`
        value = "" if len(words) < 2 else " ".join(word.text for word in words[1:])
        variables[words[0].text] = None if any(word.unknown for word in words) else value[:_MAX_OLD_VALUE]
        return
    values = {word.text.partition("=")[0]: known_value(word, word.text.find("=") + 1) for word in words}
    variables.update(values)


def _copy(instruction: _Instruction, stages: list[_Stage], files: _Files) -> None:
    """Remember which files of the folder lie in the image, and which environment came from which stage."""
    text = instruction.text[_start(instruction) :]
    stage = stages[-1]
    words = [word.text for word in split(text, stage.variables)]
    paths = [word for word in words if not word.startswith("--")]
    origin = next((match[1] for word in words if (match := _COPY_FROM.fullmatch(word))), None)
    if origin is None:
        for path in paths[:-1]:
            files.copied[os.path.basename(path.rstrip("/"))] = path
            target = paths[-1].rstrip("/") + "/"
            if _REQUIREMENTS.search(paths[-1]) and len(paths) == _RENAMED:
                files.copied[os.path.basename(paths[-1])] = path
            if os.path.isabs(target) and target != "/" and not os.path.isabs(path):
                files.folders[target] = path
            elif not os.path.isabs(target):
                folder, _, last = path.rstrip("/").rpartition("/")
                files.emptied.append(folder if "*" in last else path)
                _place(path, paths, files)
        return
    for number, other in enumerate(stages[:-1]):
        if other.name.lower() == origin.lower() and any(_ENVIRONMENT_PATH.search(path) for path in paths[:-1]):
            stage.contains |= {number, *other.contains}


def _place(path: str, paths: list[str], files: _Files) -> None:
    """Remember what a file is called where commands run; a whole folder may take the places of files."""
    target = paths[-1]
    if path.rstrip("/") == os.curdir:
        files.placed.clear()
    elif _REQUIREMENTS.search(path):
        renamed = _REQUIREMENTS.search(target) and len(paths) == _RENAMED
        place = target if renamed else posixpath.join(target, os.path.basename(path))
        files.placed[posixpath.normpath(place)] = path


# RUN


def _run(instruction: _Instruction, stage: _Stage, files: _Files) -> None:
    start = _start(instruction)
    while option := _RUN_OPTION.match(instruction.text, start):
        start = option.end()

    include = partial(files.include, stage)
    text = instruction.text[start:]
    variables = dict(stage.variables)
    if text.startswith("["):
        words = _exec_form(text, start)
        if words is not None:
            script = Script(text, instruction.place, include)
            read_command(Command(words), script, stage.asked, variables)
            return
    heredocs = instruction.heredocs
    around = _HEREDOC.sub("", text).strip()
    if heredocs and (not around or _SHELL_NAMES.fullmatch(around)):
        for body, first_line in heredocs:
            if body.startswith("#!") and not re.match(r"#!\s*\S*?(?:/env\s+)?(?:/\S*/)?(?:ba|z|da)?sh\b", body):
                continue  # another language
            read_script(_body(body, first_line, instruction.path, include), variables, stage.asked)
        return
    script = Script(text, lambda offset: instruction.place(start + offset), include)
    read_script(script, variables, stage.asked)


def _replace_earlier(asked: AuditRequest, before: tuple[Package, ...]) -> None:
    """A version that a later instruction installs takes the place of what was there."""
    new = [package for package in asked.packages if package not in before]
    exact = {package.name for package in new if package.version is not None and package.marker is None}
    asked.packages[:] = [package for package in asked.packages if package in new or package.name not in exact]


def _body(body: str, first_line: int, path: str, include: Include) -> Script:
    ends = [match.start() for match in re.finditer("\n", body)]

    def place(offset: int) -> Location:
        index = bisect_right(ends, offset - 1)
        begin = ends[index - 1] + 1 if index else 0
        return Location(path=path, line=first_line + index, column=offset - begin + 1)

    return Script(body, place, include)


def _exec_form(text: str, start: int) -> list[Word] | None:
    """The words of ``RUN ["pip", "install", "torch"]``, which no shell sees."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return None
    words: list[Word] = []
    position = 0
    for item in items:
        found = text.find(item, position)
        position = found + len(item) if found >= 0 else position
        word = Word(start=start + max(found, 0), quoted=True)
        word.add(item, start + max(found, 0))
        words.append(word)
    return words
