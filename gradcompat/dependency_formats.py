"""Every format that says which packages there are, one entry each: all that is true of a format stands here.

Readers, editors, the commands of lock tools, the search of a folder, the table of docs/formats.md and the pattern of
the pre-commit hook are derived from the entries. A module is imported when a file of its format is met, so that reading
a uv.lock does not cost a YAML parser.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from gradcompat.requirements.spoken_names import HEADING, pattern_of_names
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.terms.name_patterns import matches

Group = Literal["Lockfiles", "Lists", "Ranges", "SBOMs", "Best effort", "Pasted text"]


@dataclass(frozen=True, slots=True)
class Signature:
    """What tells a format by its content: what a text begins with, and pieces that all stand somewhere in it.

    The pieces are searched for one by one, each within a line: one pattern over several lines would take quadratic
    time on a text that repeats its beginning.
    """

    start: str = ""
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relock:
    """The command with which a tool moves packages in its own lockfile.

    Attributes:
        words: the command without its packages; ``{file}`` is the name of the lockfile.
        option: stands before each package, if anything does.
        exact: the tool takes ``name==version``, and not only a name.
        caveat: what to know before it is run.
        left: why ``fix --lock`` leaves it to the user, a sentence; None if it runs the command.
    """

    words: tuple[str, ...]
    option: str | None = None
    exact: bool = False
    caveat: str | None = None
    left: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format.

    Attributes:
        kind: the word for the format, as ``inspect`` shows it.
        group: the row of docs/formats.md that names it.
        note: what that row says behind the kind.
        reader: the module of ``gradcompat.sources`` whose ``read`` reads it.
        names: lower-case patterns of file names. A folder is searched for these.
        signatures: each of them tells the format by its content.
        line: a pattern of what most lines of the format look like, where nothing else tells it.
        text: free text without a format of its own. The name alone says little, so the content decides.
        mark: words without which a file of that name is not worth reading.
        plain: patterns of those of its names that say enough without the mark: such a file is read, and may be damaged.
        lock: a lockfile of a project, which only its tool writes.
        requested_in: names of the files beside a lockfile that ask for what it resolves.
        unread_request: of a lockfile without these: the file that asks, which has no reader.
        resolved: patterns of those of its names that ask for ranges, which a lockfile beside them resolves.
        last: in a folder it is read only where nothing else lists packages, which it may install again.
        own: people write it, so it is itself what the project asks for.
        header: its comments may name the command that wrote it, which is then the one to run again.
        editor: the module of ``gradcompat.edit`` whose ``edit`` moves pins in it.
        relock: how its tool moves packages in it.
    """

    kind: str
    group: Group
    note: str = ""
    reader: str
    names: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] = ()
    line: str | None = None
    text: bool = False
    mark: bytes | None = None
    plain: tuple[str, ...] = ()
    lock: bool = False
    requested_in: tuple[str, ...] = ()
    unread_request: str | None = None
    resolved: tuple[str, ...] = ()
    last: bool = False
    own: bool = False
    header: bool = False
    editor: str | None = None
    relock: Relock | None = None


_NAMES = pattern_of_names()
_BESIDE = r"(?i:python|cuda)[ \t=:]+\d+\.\d[\d.]*[ \t,;]+"
_BUILDS = "is left to you: it builds packages to learn what they need, and"

# The first whose name fits is asked, and the first whose content fits is what a text is.
FORMATS = (
    Format(
        kind="Pipfile.lock",
        group="Lockfiles",
        reader="pipfile_lock",
        names=("*pipfile.lock",),
        signatures=(Signature(r'\{\s*"_meta"\s*:'),),
        lock=True,
        unread_request="Pipfile",
        relock=Relock(
            words=("pipenv", "upgrade"),
            exact=True,
            caveat="Pipenv writes the exact versions into the Pipfile, too",
            left="`pipenv` is left to you",
        ),
    ),
    Format(
        kind="cyclonedx",
        group="SBOMs",
        reader="cyclonedx",
        names=("*.cdx.json", "*bom*.json", "*cyclonedx*.json"),
        signatures=(
            Signature(r"\{", (r'"bomFormat"\s*:\s*"CycloneDX"',)),
            # cyclonedx-py writes `bomFormat` at the end, which may be far away.
            Signature(r"\{", (r'"bom-ref"\s*:',)),
            Signature(r"<", (r'<bom\s[^>]{0,400}"http://cyclonedx\.org/',)),
        ),
    ),
    Format(
        kind="spdx",
        group="SBOMs",
        reader="spdx",
        names=("*.spdx", "*.spdx.json", "*.spdx.yml"),
        signatures=(
            Signature(r"\{", (r'"spdxVersion"\s*:|"@context"\s*:\s*"https://spdx\.org',)),
            Signature(pieces=(r"^SPDXVersion:",)),
        ),
    ),
    Format(
        kind="notebook",
        group="Best effort",
        reader="notebook",
        names=("*.ipynb",),
        mark=b"install",
        signatures=(Signature(r"\{", (r'"(?:nbformat|cell_type)"\s*:',)),),
        own=True,
    ),
    Format(
        kind="install-script",
        group="Best effort",
        note="where a folder has nothing else",
        reader="install_script",
        names=("install*.sh", "*_install.sh", "*-install.sh", "setup*.sh", "*_setup.sh", "*-setup.sh", "*env*.sh"),
        mark=b"pip install",
        signatures=(Signature(r"#!\s*/\S*/(?:env\s+)?(?:ba|z)?sh\b", (r"\bpip3?[ \t]+install\b",)),),
        last=True,
        own=True,
    ),
    Format(
        kind="pip-inspect",
        group="Lists",
        reader="pip_inspect",
        names=("*pip-inspect*.json", "*pip_inspect*.json"),
        signatures=(Signature(r"\{", (r'"(?:pip_version|installed)"\s*:', r'"metadata"\s*:')),),
    ),
    Format(
        kind="pylock.toml",
        group="Lockfiles",
        note="and `pylock.*.toml`",
        reader="pylock",
        names=("*pylock.toml", "*pylock.*.toml"),
        signatures=(Signature(r"(?:[^\[\n][^\n]*\n)*lock-version[ \t]*=[ \t]*[\"']\d"),),  # before any table
        lock=True,
        requested_in=("pyproject.toml",),
        header=True,
    ),
    Format(
        kind="uv.lock",
        group="Lockfiles",
        reader="uv_lock",
        names=("*uv.lock",),
        signatures=(Signature(r"(?:#[^\n]*\n)*version *= *\d+$"),),
        lock=True,
        requested_in=("pyproject.toml",),
        relock=Relock(words=("uv", "lock"), option="--upgrade-package", exact=True),
    ),
    Format(
        kind="poetry.lock",
        group="Lockfiles",
        note="1.1 to 2.1",
        reader="poetry_lock",
        names=("*poetry.lock",),
        signatures=(
            # The tables that tell it from pdm.lock may come last, behind more than the head.
            Signature(r"#[^\n]*@generated by Poetry\b"),
            Signature(r"\[\[package\]\]\nname = [^\n]+\nversion = [^\n]+\ndescription = "),
            Signature(pieces=(r"^\[\[package\]\]$", r"^\[metadata\]$", r"^(?:lock-version|content-hash) *=")),
        ),
        lock=True,
        requested_in=("pyproject.toml",),
        relock=Relock(
            words=("poetry", "update", "--lock"),
            caveat="Poetry takes the newest releases that pyproject.toml allows, which may be newer than the plan's",
            left=f"Poetry {_BUILDS} installs the project's plugins",
        ),
    ),
    Format(
        kind="pdm.lock",
        group="Lockfiles",
        reader="pdm_lock",
        names=("*pdm.lock", "pdm.*.lock"),
        signatures=(
            Signature(r"#[^\n]*@generated by PDM\b"),
            Signature(pieces=(r"^\[metadata\]$", r"^lock_version *=")),
        ),
        lock=True,
        requested_in=("pyproject.toml",),
        relock=Relock(
            words=("pdm", "update", "--no-sync", "--update-reuse"),
            caveat="PDM takes the newest releases that pyproject.toml allows, which may be newer than the plan's",
            left=f"PDM {_BUILDS} runs the project's hooks",
        ),
    ),
    Format(
        kind="pixi.lock",
        group="Lockfiles",
        note="5 to 7",
        reader="pixi_lock",
        names=("*pixi.lock",),
        signatures=(Signature(r"version: *\d+$", (r"^(?:environments|packages|platforms):$",)),),
        lock=True,
        unread_request="pixi.toml",
        relock=Relock(
            words=("pixi", "update"),
            caveat="pixi takes the newest releases that its manifest allows, which may be newer than the plan's",
            left="`pixi` is left to you",
        ),
    ),
    Format(
        kind="conda-lock",
        group="Lockfiles",
        reader="conda_lock",
        names=("*conda-lock.yml", "*conda-lock.yaml"),
        signatures=(Signature(pieces=(r"^metadata:$", r"^package:$")),),
        lock=True,
        requested_in=("environment.yml",),
        relock=Relock(
            words=("conda-lock", "lock", "--lockfile", "{file}"),
            option="--update",
            caveat="conda-lock takes the newest releases that its sources allow, which may be newer than the plan's",
            left="`conda-lock` is left to you",
        ),
    ),
    Format(
        kind="conda-explicit",
        group="Lockfiles",
        note="lists",
        reader="conda_explicit",
        names=("*conda*.lock", "*spec-file*.txt", "*explicit*.txt"),
        signatures=(Signature(pieces=(r"^@EXPLICIT$",)),),
        text=True,
    ),
    Format(
        kind="conda-list",
        group="Lists",
        reader="conda_list",
        signatures=(
            Signature(
                pieces=(r"^# packages in environment at |^# This file may be used to create an environment using:",)
            ),
            Signature(pieces=(r"^[ \t]*(?:Name|Package)[ \t]+Version[ \t]+Build[ \t]+(?:Channel|Size)\b",)),
        ),
        line=r"[a-z0-9_][\w.-]*=[^=\s]+=[^=\s]+",
    ),
    Format(
        kind="pyproject.toml",
        group="Ranges",
        reader="pyproject",
        names=("*pyproject.toml",),
        signatures=(Signature(pieces=(r"^\[(?:project|build-system|tool\.[\w.-]+|dependency-groups)\]$",)),),
        resolved=("*",),
        own=True,
        editor="pyproject",
    ),
    Format(
        kind="setup.cfg",
        group="Ranges",
        reader="setup_cfg",
        names=("*setup.cfg",),
        signatures=(Signature(pieces=(r"^\[(?:metadata|options)\]$",)),),
        mark=b"[options",
        resolved=("*",),
        own=True,
    ),
    Format(
        kind="setup.py",
        group="Ranges",
        note="as far as it is literal",
        reader="setup_py",
        names=("setup.py", "*__setup.py"),
        signatures=(Signature(pieces=(r"^(?:import setuptools|from (?:setuptools|distutils[.\w]*) import )",)),),
        mark=b"setup(",
        resolved=("*",),
        own=True,
    ),
    Format(
        kind="conda-environment",
        group="Ranges",
        note="files",
        reader="conda_environment",
        # Of a word of its own: `environmental_science.yaml` and `secondary.yaml` are none of conda's.
        names=(
            *("environment.y*ml", "environment[!a-z]*.y*ml", "*[!a-z]environment.y*ml"),
            *("*[!a-z]environment[!a-z]*.y*ml", "*condaenv*.y*ml"),
            *("conda.y*ml", "conda[!a-z]*.y*ml", "*[!a-z]conda.y*ml", "*[!a-z]conda[!a-z]*.y*ml"),
        ),
        signatures=(Signature(pieces=(r"^(?:channels|dependencies):$", r"^[ \t]*-[ \t]")),),
        mark=b"dependencies",
        plain=("environment.y*ml", "conda.y*ml"),
        resolved=("*",),
        own=True,
        editor="conda_environment",
    ),
    Format(
        kind="script",
        group="Ranges",
        note="(PEP 723)",
        reader="inline_script",
        names=("*.py",),
        signatures=(Signature(pieces=(r"^# /// script$",)),),
        mark=b"# /// script",
        own=True,
    ),
    Format(
        kind="report",
        group="Pasted text",
        note="(`torch.utils.collect_env`, `transformers env`, `accelerate env`, `ds_report` and the like; versions "
        "that the sentences of an issue mention)",
        reader="report",
        names=("*collect_env*.txt", "*env_report*.txt"),
        signatures=(
            Signature(pieces=(r"^Collecting environment information|^DeepSpeed general environment info",)),
            Signature(pieces=(rf"^[-*> \t]*[`*]*{_NAMES}[`*]* (?i:version)\b[^\n]*:",)),
            # `- torch: 2.4.0`, `| torch | 2.4.0 |`, `4.55.4 transformers pytorch 2.6.0`: typed, and written by no tool
            Signature(pieces=(rf"^[-*> \t]*[`*\"']*{_NAMES}[`*\"']*[ \t]*:[ \t]*[`*\"']*v?\d+\.\d",)),
            Signature(pieces=(rf"^[> \t]*\|[ \t]*[`*]*{_NAMES}[`*]*[ \t]*\|[ \t]*[`*]*v?\d+\.\d",)),
            Signature(pieces=(rf"^[-*> \t]*v?\d+\.\d\S*[ \t]+{_NAMES}(?:[ \t,]|$)",)),
            Signature(pieces=(rf"^[-*> \t]*{_NAMES}[ \t]+v?\d+\.\d\S*[ \t]+(?:and[ \t]+)?{_NAMES}[ \t]",)),
            # `Versions: torch==2.4.0, trl==0.9.6`, `Python 3.10, torch 2.4.0`
            Signature(
                pieces=(rf"^[-> \t]*(?:(?i:{HEADING})(?:{_BESIDE})*|(?:{_BESIDE})+){_NAMES}`?[ \t]*[ =:]+v?\d+\.\d",)
            ),
            Signature(pieces=(r"^[> \t]*(?:\[pip3?\] \w|torch version \.{2}|[*-] (?:Lightning|Packages):$)",)),
        ),
        text=True,
    ),
    Format(
        kind="pip-list",
        group="Lists",
        note="(in every format, pasted too)",
        reader="pip_list",
        names=("*pip-list*", "*pip_list*"),
        signatures=(
            Signature(r'\[\s*(?:\{\s*"name"\s*:|\]\Z)'),
            Signature(pieces=(r"^[> \t]*Package[ \t]+Version\b[^\n]*\n[> \t]*-+[ \t]+-+",)),
            Signature(pieces=(r"^[> \t]*Name:[ \t]+\S", r"^[> \t]*Version:[ \t]+\S")),  # `pip show`
        ),
        line=(
            r"[A-Za-z0-9][\w.-]*\s+(?:\d+!)?v?\d[\w.+!-]*(?:\s+\S.*)?"
            r"|(?:[-*]\s+)?[A-Za-z0-9][\w.]*(?:-[A-Za-z_][\w.]*)*-\d+(?:\.\d+)+[\w.+!]*"
        ),
        text=True,
    ),
    Format(
        kind="requirements",
        group="Lists",
        note="(with `-r`, `-c`, hashes, markers, URLs; `pip freeze` too)",
        reader="requirements",
        names=("*requirement*.txt", "*requirement*.in", "*constraint*.txt", "*freeze*.txt"),
        line=(
            r"[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\]\s*)?(?:[<>=!~]=?.*|@\s*\S+.*|;.*)?"
            r"|-{1,2}[a-z][\w-]*(?:[ =].*)?|(?:git\+|https?://|\./|/).*"
        ),
        text=True,
        resolved=("*.in",),
        own=True,
        header=True,
        editor="requirements",
    ),
    Format(
        kind="dockerfile",
        group="Best effort",
        reader="dockerfile",
        names=("dockerfile*", "*.dockerfile", "*__dockerfile*", "containerfile*"),
        signatures=(Signature(pieces=(r"^[ \t]*FROM[ \t]+\S", r"^[ \t]*(?:RUN|ENV|ARG|WORKDIR|COPY|CMD)[ \t]")),),
        own=True,
    ),
)

BY_KIND = {entry.kind: entry for entry in FORMATS}


_SCRIPTS = (".sh", ".bash", ".zsh", ".bat", ".cmd", ".ps1", ".py", ".js", ".ts")


@lru_cache(maxsize=4096)  # several parts of a check ask it of each file
def by_name(name: str) -> Format | None:
    """The format of a file of that name, if the name says enough."""
    lower = name.lower()
    for entry in FORMATS:
        # A script that calls `pip list` is called so as well.
        if any(matches(lower, pattern) for pattern in entry.names) and not (entry.text and lower.endswith(_SCRIPTS)):
            return entry
    return None


def says_enough(entry: Format, name: str) -> bool:
    """Does a file of that format and name need no mark to be worth reading?"""
    lower = name.lower()
    return any(matches(lower, pattern) for pattern in entry.plain)


def is_resolved_by_lock(entry: Format, name: str) -> bool:
    """Does a file of that format and name ask for ranges that a lockfile beside it resolves?"""
    lower = name.lower()
    return any(matches(lower, pattern) for pattern in entry.resolved)
