"""What ``pip install``, ``uv pip install``, ``uv add`` and ``conda install`` in a shell script ask for.

Read as text, never run, and therefore a best effort: a command in a condition counts as run. An unquoted
``xgrammar>=0.1.33`` installs any xgrammar, and the shell writes a file called ``=0.1.33``.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from gradcompat.errors import NotFound, OutsideRoot, SourceError
from gradcompat.formats.document import Document, read_beside
from gradcompat.formats.shell import Command, Variables, Word, commands
from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.quotation import quoted, reference
from gradcompat.requirements.names import normalise
from gradcompat.sources import requirements
from gradcompat.sources.conda_spec import parse_spec
from gradcompat.sources.requirement import name_of, parse_requirement
from gradcompat.sources.torch_index import built_for_variant, variant_of, variants_beside
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

MAX_SCRIPT = 256 * 1024  # characters
_MAX_NESTED = 4  # of `bash -c`

_PIP = lazy_pattern(r"pip(?:3(?:\.\d+)?)?(?:\.exe)?")
_PYTHON = lazy_pattern(r"(?:python|pypy)(?:3(?:\.\d+)?)?(?:\.exe)?|py|\{sys\.executable\}")
_CONDA = lazy_pattern(r"(?:conda|mamba|micromamba)(?:\.exe)?")
_VARIABLE = lazy_pattern(r"\$\w{1,60}|\$?\{\w{1,60}\}")
_NAME_AND_OPERATOR = lazy_pattern(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?:\[[^\[\]]*\])?\s*(?:[=<>!~]=|[<>])")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_MENTIONS = lazy_pattern(r"pip|conda|mamba|\buv\b|poetry|pdm")
_CLONES = lazy_pattern(r"\bgit clone\b")
# Commands that run the command behind them, with those of their options that take a word.
_WRAPPERS = {"sudo": ("-u", "-g"), "env": ("-u", "-C"), "nice": ("-n",), "timeout": ("-s", "-k"), "xargs": ("-n", "-P")}
_OPTION_VARIABLE = lazy_pattern(r"\$\{?\w*(?:ARGS|OPTS|OPTIONS|FLAGS)\w*[^\s=<>!~]*")
_EXTERNAL = {("poetry", "install"), ("pdm", "install"), ("pdm", "sync"), ("uv", "sync"), ("pipenv", "install"),
             ("pipenv", "sync")}  # fmt: skip

# Options that take a word; all others are taken for switches.
_PIP_VALUES = frozenset(
    {
        "-t", "--target", "--platform", "--python-version", "--implementation", "--abi", "--root", "--prefix", "--src",
        "--upgrade-strategy", "-i", "--index-url", "--pypi-url", "--extra-index-url", "-f", "--find-links",
        "--no-binary", "--only-binary", "--progress-bar", "--root-user-action", "--report", "-C", "--config-setting",
        "--config-settings", "--global-option", "--install-option", "--build-option", "--log", "--proxy", "--retries",
        "--timeout", "--exists-action", "--trusted-host", "--cert", "--client-cert", "--cache-dir", "--python",
        "--keyring-provider", "--resume-retries", "--use-feature", "--use-deprecated", "--group", "-b", "--build",
        "--uploaded-prior-to",
    }
)  # fmt: skip
_UV_VALUES = _PIP_VALUES | {
    "-p", "--index", "--default-index", "--torch-backend", "--resolution", "--prerelease", "--index-strategy",
    "--exclude-newer", "--exclude-newer-package", "--link-mode", "--override", "--overrides", "--extra",
    "--refresh-package", "--reinstall-package", "-P", "--upgrade-package", "--no-build-isolation-package",
    "--no-build-package", "--no-binary-package", "--directory", "--project", "--allow-insecure-host",
    "--build-constraint", "--build-constraints", "-b", "--python-platform", "--color", "--config-file",
    "--fork-strategy", "--optional", "--script", "--tag", "--rev", "--branch", "--package", "-m", "--marker",
    "--bounds", "--excludes",
}  # fmt: skip
_CONDA_VALUES = frozenset(
    {
        "-c", "--channel", "-n", "--name", "-p", "--prefix", "--solver", "--repodata-fn", "-r", "--root-prefix",
        "--platform", "--subdir", "--pinned-packages", "--experimental", "--revision",
    }
)  # fmt: skip
_REQUIREMENTS = ("-r", "--requirement", "--requirements")
_CONSTRAINTS = ("-c", "--constraint", "--constraints")
_EDITABLE = ("-e", "--editable")
_INDEX = (*requirements.INDEX_OPTIONS, "--default-index")

# Reads a file of requirements that a command names: the name, and where it is named.
Include = Callable[[str, Location], tuple[tuple[Package, ...], tuple[Skipped, ...]]]


@dataclass(slots=True)
class AuditRequest:
    """What a script asks for, as far as it could be read.

    Attributes:
        packages: what it installs.
        uninstalled: the normalised names of what it uninstalls, which may be there again.
        skipped: what could not be read.
    """

    packages: list[Package] = field(default_factory=list)
    uninstalled: set[str] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Script:
    """A piece of shell, where its characters stand in the file, and how the files that it names are read."""

    text: str
    place: Callable[[int], Location]
    include: Include
    braces: bool = False


def read_included(
    document: Document, name: str, location: Location, folders: Sequence[str] = (os.curdir,), *, above: bool = False
) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
    """The requirements that ``-r`` names, from the first folder that has them.

    Args:
        document: the file that names them.
        name: the path, which does not lead out of those folders unless ``above``, and never out of the root.
        location: where it is named.
        folders: where to look, as paths from the document's own folder.
        above: the path may lead to a folder above the document.
    """
    if PurePath(name).suffix in (".toml", ".cfg", ".py"):
        return (), (Skipped(what=reference(name), reason="is a file by itself", gap=False, location=location),)
    if os.path.isabs(name) and _CLONES.search(document.text):
        return (), (_of_clone(name, location),)  # a notebook on another machine: `/content/project/requirements.txt`
    try:
        if document.file is not None and (objection := document.leads_outside(document.file.parent / name)):
            raise OutsideRoot(objection, path=document.path)
        if os.path.isabs(name) or (".." in PurePath(name).parts and not above):
            raise SourceError("lies outside this folder")
        found = requirements.read(first_found(document, name, folders))
    except SourceError as error:
        reason = f"its requirements are installed and were not read: it {error.message}"
        if isinstance(error, OutsideRoot):
            reason = error.message
        elif isinstance(error, NotFound):
            reason = "its requirements are installed, and there is no such file beside this one"
            if len(folders) > 1:
                nowhere = "neither this folder nor one above it in the project has such a file"
                reason = f"its requirements are installed, and {nowhere}"
            if _CLONES.search(document.text):
                return (), (_of_clone(name, location),)
        return (), (Skipped(what=reference(name), reason=reason, location=location),)
    return found.packages, found.skipped


def _of_clone(name: str, location: Location) -> Skipped:
    """As little is known of it as of the image or the session that it starts in."""
    reason = "its requirements are installed from a repository that is cloned there"
    return Skipped(what=reference(name), reason=reason, gap=False, location=location)


def first_found(document: Document, name: str, folders: Sequence[str] = (os.curdir,)) -> Document:
    """The file from the first folder that has it.

    Raises:
        SourceError: as :func:`read_beside`; :class:`NotFound` if none has it.
    """
    missing: NotFound | None = None
    for folder in folders:
        try:
            return read_beside(document, name if folder == os.curdir else posixpath.join(folder, name))
        except NotFound as error:
            missing = missing or error
    raise missing or NotFound("there is no such file or folder", path=name)


def read_script(script: Script, variables: Variables, asked: AuditRequest, *, nested: int = 0) -> None:
    """Add what the script asks for."""
    if len(script.text) > MAX_SCRIPT:
        reason = f"is longer than {MAX_SCRIPT // 1024} KiB"
        asked.skipped.append(Skipped(what="a shell command", reason=reason, location=script.place(0)))
        return
    mentions = _MENTIONS.search(script.text) is not None or (
        "$" in script.text and any(value is not None and _MENTIONS.search(value) for value in variables.values())
    )
    if not mentions:
        return
    for command in commands(script.text, variables, braces=script.braces):
        read_command(command, script, asked, variables, nested=nested)


def read_command(
    command: Command, script: Script, asked: AuditRequest, variables: Variables | None = None, *, nested: int = 0
) -> None:
    """Add what one command asks for."""
    words = _unwrapped(command.words)
    if not words:
        return
    program = os.path.basename(words[0].text)
    if program in _SHELLS:
        _nested_shell(words, script, asked, variables or {}, nested)
        return
    rest = words[1:]
    if _PYTHON.fullmatch(program):
        texts = [word.text for word in rest]
        first = next((index for index, text in enumerate(texts) if text == "-m" or not text.startswith("-")), 0)
        if texts[first : first + 2] != ["-m", "pip"]:
            return
        rest = rest[first + 2 :]
        program = "pip"
    if program == "uv" and rest and rest[0].text == "pip":
        rest, values = rest[1:], _UV_VALUES
    elif program == "uv" and "add" in [word.text for word in rest[:4]]:
        values = _UV_VALUES
        _install(_behind(rest, "add", values), command, script, asked, values)
        return
    elif _CONDA.fullmatch(program):
        _conda(rest, command, script, asked)
        return
    elif _PIP.fullmatch(program):
        values = _PIP_VALUES
    else:
        if rest and (program, rest[0].text) in _EXTERNAL:
            _note(
                asked,
                f"{program} {rest[0].text}",
                "installs what a lockfile says, which is a file by itself",
                words,
                script,
            )
        return
    uninstalled = _behind(rest, "uninstall", values)
    if uninstalled is not None:
        names = {name for word in uninstalled if not word.text.startswith("-") and (name := name_of(word.text))}
        asked.packages[:] = [package for package in asked.packages if normalise(package.name) not in names]
        asked.uninstalled |= names
        return
    _install(_behind(rest, "install", values), command, script, asked, values)


def _note(asked: AuditRequest, what: str, reason: str, words: list[Word], script: Script, *, gap: bool = False) -> None:
    location = script.place(words[0].place(0))
    asked.skipped.append(Skipped(what=what, reason=" ".join(reason.split()), gap=gap, location=location))


def variable(text: str) -> str:
    """A variable as a message may name it; a command in its place is not quoted."""
    return f"`{text}`" if _VARIABLE.fullmatch(text) else "a command or an expression"


def _unwrapped(words: list[Word]) -> list[Word]:
    """The command that ``sudo -E``, ``env A=1`` or ``conda run -n name`` runs in the end."""
    while words:
        program = os.path.basename(words[0].text)
        texts = [word.text for word in words[:2]]
        if _CONDA.fullmatch(program) and texts[1:] == ["run"]:
            values: Iterable[str] = ("-n", "--name", "-p", "--prefix", "--cwd")
            words = words[1:]
        elif texts in (["uv", "run"], ["poetry", "run"], ["pdm", "run"]):
            values = ("--with", "-p", "--python", "--project", "--directory", "--extra", "--group")
            words = words[1:]
        elif program in _WRAPPERS:
            values = _WRAPPERS[program]
        else:
            return words
        words = words[1:]
        while words and (words[0].text.startswith("-") or "=" in words[0].text):
            words = words[2 if words[0].text in values else 1 :]
        if program == "timeout":
            words = words[1:]
    return words


def _nested_shell(words: list[Word], script: Script, asked: AuditRequest, variables: Variables, nested: int) -> None:
    """What ``bash -lc '…'`` runs."""
    for index, word in enumerate(words[1:-1], start=1):
        if re.fullmatch(r"-[a-zA-Z]*c", word.text):
            inner = words[index + 1]
            if nested >= _MAX_NESTED:
                _note(asked, "a command", "shells in shells, too deep to be read", [word], script, gap=True)
                return

            def place(offset: int, inner: Word = inner) -> Location:
                return script.place(inner.place(offset))

            read_script(replace(script, text=inner.text, place=place), dict(variables), asked, nested=nested + 1)
            return


def _behind(words: list[Word], verb: str, values: Iterable[str]) -> list[Word] | None:
    """The words behind the subcommand, if it is that one; options may stand before it."""
    index = 0
    while index < len(words):
        text = words[index].text
        if not text.startswith("-"):
            return words[index + 1 :] if text == verb else None
        index += 2 if text in values else 1
    return None


def _install(
    words: list[Word] | None, command: Command, script: Script, asked: AuditRequest, values: Iterable[str]
) -> None:
    if words is None:
        return
    first = len(asked.packages)
    variant: str | None = None
    beside: list[str | None] = []
    cut = {id(redirect.behind): redirect.sign for redirect in command.redirects if redirect.behind is not None}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        option, joined, value = _option(word, words[index] if index < len(words) else None)
        if option is None:
            _requirement(word, 0, script, asked, cut.get(id(word)))
        elif option in _REQUIREMENTS + _CONSTRAINTS + _EDITABLE:
            index += 0 if joined else 1
            if value is None:
                continue
            word_of_value, start = value
            name = word_of_value.text[start:]
            if option in _EDITABLE:
                _requirement(word_of_value, start, script, asked, None, editable=True)
            elif option in _CONSTRAINTS:
                _note(
                    asked,
                    _written(reference(name), "a file", script),
                    "constrains versions, and is not read",
                    [word_of_value],
                    script,
                )
            elif word_of_value.unknown:
                _unknown(word_of_value, script, asked)
            else:
                packages, skipped = script.include(name, script.place(word_of_value.place(start)))
                if name not in script.text:
                    skipped = tuple(replace(one, what=_written(one.what, "a file", script)) for one in skipped)
                asked.packages.extend(packages)
                asked.skipped.extend(skipped)
        else:
            if option in _INDEX and value is not None and not value[0].unknown:
                variant = variant_of(value[0].text[value[1] :])
            elif option == requirements.EXTRA_INDEX:
                known = value is not None and not value[0].unknown
                beside.append(variant_of(value[0].text[value[1] :]) if value is not None and known else None)
            if not joined and option in values:
                index += 1
    asked.packages[first:] = [
        variants_beside(built_for_variant(package, variant), beside) for package in asked.packages[first:]
    ]


def _option(word: Word, following: Word | None) -> tuple[str | None, bool, tuple[Word, int] | None]:
    """The option of a word, whether its value is in the same word, and the value with where it starts."""
    text = word.text
    if not text.startswith("-") or word.unknown == [text]:
        return None, False, None
    if text.startswith("--"):
        option, sign, _ = text.partition("=")
        return option, bool(sign), (word, len(option) + 1) if sign else (following, 0) if following else None
    if len(text) > 2 and text[:2] in ("-r", "-c", "-e", "-i", "-f"):  # `-rrequirements.txt`
        return text[:2], True, (word, 3 if text[2] == "=" else 2)
    return text, False, (following, 0) if following else None


def _requirement(
    word: Word, start: int, script: Script, asked: AuditRequest, redirected: str | None, *, editable: bool = False
) -> None:
    text = word.text[start:].replace("\n", " ")
    if not text.strip():
        return
    location = script.place(word.place(start))
    if redirected is not None:
        reason = f"the shell reads the unquoted `{redirected}` after it as a redirection: any version is accepted"
        asked.skipped.append(
            Skipped(
                what=_written(quoted(text, "a requirement"), "a requirement", script),
                reason=reason,
                gap=False,
                location=location,
            )
        )
    if word.unknown and _OPTION_VARIABLE.fullmatch(text):
        reason = f"depends on {variable(word.unknown[0])}, whose value is unknown, and looks like options"
        asked.skipped.append(Skipped(what="an argument", reason=reason, gap=False, location=location))
        return
    if word.unknown:
        _unknown(word, script, asked)
        named = _NAME_AND_OPERATOR.match(text)
        if named and not editable:  # the package is known, its version is not
            asked.packages.append(Package(name=normalise(named[1]), version=None, specifier="*", location=location))
        return
    read = parse_requirement(text, Location(path=location.path, line=1, column=1), editable=editable)
    found = script.place(word.place(start + (read.location.column or 1) - 1)) if read.location else location
    if isinstance(read, Skipped):
        asked.skipped.append(replace(read, location=location))
        return
    asked.packages.append(replace(read, location=found))


def _unknown(word: Word, script: Script, asked: AuditRequest) -> None:
    names = " and ".join(dict.fromkeys(variable(name) for name in word.unknown[:3]))
    reason = f"depends on {names}, whose value is unknown"
    _note(asked, _written(_asked_name(word.text), "a requirement", script), reason, [word], script, gap=True)


def _written(word: str, otherwise: str, script: Script) -> str:
    """The word, if the script has it as it stands: the value of a variable that was put in may be a secret."""
    return word if word in script.text else otherwise


def _asked_name(text: str) -> str:
    """The package that an argument is about, as far as its name is sure."""
    named = _NAME_AND_OPERATOR.match(text)
    return "a requirement" if named is None else quoted(named[1], "a requirement")


def _conda(words: list[Word], command: Command, script: Script, asked: AuditRequest) -> None:
    """``conda install`` and ``conda create``."""
    verb = next(
        (verb for verb in ("install", "create", "env") if _behind(words, verb, _CONDA_VALUES) is not None), None
    )
    rest = _behind(words, verb, _CONDA_VALUES) if verb else None
    if rest is None:
        return
    cut = {id(redirect.behind): redirect.sign for redirect in command.redirects if redirect.behind is not None}
    index = 0
    while index < len(rest):
        word = rest[index]
        index += 1
        option, joined, value = _option(word, rest[index] if index < len(rest) else None)
        if option in ("-f", "--file"):
            index += 0 if joined else 1
            name = value[0].text[value[1] :] if value else ""
            what = _written(reference(name), "a file", script) if name else "--file"
            itself = verb == "env" and name.lower().endswith((".yml", ".yaml"))  # where a folder is checked, it is, too
            reason = "is a file by itself" if itself else "is a file of conda, which is not read from here"
            _note(asked, what, reason, [word], script, gap=not itself)
        elif option is not None:
            index += 0 if joined or option not in _CONDA_VALUES else 1
        elif verb != "env":
            _spec(word, script, asked, cut.get(id(word)))


def _spec(word: Word, script: Script, asked: AuditRequest, redirected: str | None) -> None:
    location = script.place(word.place(0))
    spec = parse_spec(word.text)
    if redirected is not None:
        reason = f"the shell reads the unquoted `{redirected}` after it as a redirection: any version is accepted"
        asked.skipped.append(
            Skipped(
                what=_written(quoted(word.text, "a requirement"), "a requirement", script),
                reason=reason,
                gap=False,
                location=location,
            )
        )
    if spec is None or word.unknown:
        if word.unknown:
            _unknown(word, script, asked)
            name = re.match(r"(?:[\w-]+::)?([A-Za-z0-9_][\w.-]*)[=<>]", word.text)
            if name:
                package = Package(name=name[1].lower(), version=None, specifier="*", source="conda", location=location)
                asked.packages.append(package)
        else:
            _note(asked, "an argument", "is not a conda package", [word], script, gap=True)
        return
    if spec.problem is not None:
        _note(asked, "a package", spec.problem, [word], script)
    asked.packages.append(
        Package(
            name=spec.name,
            version=spec.version,
            specifier=spec.specifier,
            source="conda",
            location=script.place(word.place(spec.offset)),
        )
    )
