"""Environment reports as people paste them: torch's ``collect_env``, ``transformers env`` and its kin, ``ds_report``.

A report speaks of a few packages and is silent on the others, so it is never closed. It often says the same thing twice
(``PyTorch version: 2.5.1+cu121`` and ``[pip3] torch==2.5.1``): the first statement is kept. "not installed" and "N/A"
are no packages. Whatever is no statement of a version (GPUs, CPU flags, prose, tracebacks) is passed over.

CUDA is the one that torch was built for, because training runs with that one; not the compiler's, not the driver's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.formats.pasted_text import PastedLine, pasted_lines
from gradcompat.model.environment import Environment, Location, Package, Skipped, SourceKind
from gradcompat.names import normalise
from gradcompat.quotation import quoted
from gradcompat.sources.pip_list import read_tables
from gradcompat.sources.requirement import parse_requirement
from gradcompat.versions import parse_version

_MAX_LINE = 2000
_MAX_VERSION = 100

_BULLET = re.compile(r"[-*•]\s+")
# `PyTorch version (GPU?): 2.6.0+cu124 (True)`, "`transformers` version: 4.50.0", `Nvidia driver version: 535.1`
_STATEMENT = re.compile(r"([^\s:=][^:=]{0,60}?)\s{1,9}version(?:\s*\([^()]*\))?[*`]*\s*:\s*(.*)", re.IGNORECASE)
# `torch version .................... 2.3.0+cu121`
_DOTTED = re.compile(r"([A-Za-z][A-Za-z ]{1,30}?) (?:version|info) \.{2,} (.*)")
_PLATFORM = re.compile(r"(?:Python platform|Platform|OS)\s*:\s*(.*)", re.IGNORECASE)
_BUILT_FOR = re.compile(r"(CUDA|ROCM) used to build PyTorch\s*:\s*(.*)")
_DRIVER = re.compile(r"\bDriver Version: *(\d+(?:\.\d+)+)")
_TAGGED = re.compile(r"\[(pip3?|conda)\]\s+(.*)")
_CONDA = re.compile(r"([A-Za-z0-9_][\w.-]*)\s+(\d\S*)(?:\s+(\S+))?(?:\s+(\S+))?")
_PIN = re.compile(r"`?([A-Za-z0-9][\w.-]*(?:\[[^\[\]]*\])?\s*===?\s*\d[\w.+!-]*)`?")
# Lightning's report has sections, each a list of `- name: version`.
_SECTION = re.compile(r"[*-]\s+(CUDA|Lightning|Packages|System):")
_ENTRY = re.compile(r"([A-Za-z0-9][\w.-]*):\s+(\S+)")

_ABSENT = re.compile(r"not\b|n/?a\b|none\b|no\b|could not|unknown\b|undefined\b|null\b|[<?]|-*$", re.IGNORECASE)
_VERSION = re.compile(r"v?(\d[\w.+!-]*)")
_NUMBERS = re.compile(r"(?:glibc[- ])?(\d+(?:\.\d+)+)")
_PYTHON = re.compile(r"(\d+\.\d+(?:\.\d+)?)")
_GLIBC = re.compile(r"glibc-?(\d+\.\d+)")

_PACKAGES = {
    "flash attention": "flash-attn",
    "flash attn": "flash-attn",
    "hf hub": "huggingface-hub",
    "liger kernel": "liger-kernel",
    "llm blender": "llm-blender",
    "pytorch": "torch",
    "pytorch lightning": "pytorch-lightning",
}
_FACTS = {
    "libc": "__glibc",
    "nccl": "__nccl",
    "nvidia driver": "__nvidia_driver",
    "torch cuda": "__cuda",
    "torch hip": "__rocm",
    "torch nccl": "__nccl",
}
# What has a version in such reports and is no package: drivers, compilers, parts of the system, words of prose.
_NO_PACKAGE = re.compile(
    r"api|app|bios|clang|cmake|compiler|conda|config|cuda|cudnn|current|dataset|docker|driver|file|firmware|format"
    r"|framework|g\+\+|gcc|git|glibc|gpu|hip|kernel|latest|level|library|linux|macos|miopen|model|mpi|msvc|my|nvcc|nvidia"
    r"|opencl|os|package|platform|protocol|release|rocm|runtime|schema|software|system|that|the|this|toolkit|ubuntu"
    r"|which|windows|xcode|your"
)
_PLATFORMS = (
    (re.compile(r"windows|win32", re.IGNORECASE), "win32"),
    (re.compile(r"mac ?os|darwin", re.IGNORECASE), "darwin"),
    (re.compile(r"linux|ubuntu|debian|centos|red hat|rocky|fedora|suse|rhel", re.IGNORECASE), "linux"),
)


def read(document: Document) -> Environment:
    """Read the statements of one or several reports, with whatever stands around them.

    Raises:
        Malformed: if nothing in it states a version.
    """
    lines, skipped = pasted_lines(document)
    report = _Report(path=document.path, skipped=skipped)
    listed: list[Package] = []
    used = read_tables(document.path, lines, listed, report.skipped)  # a `pip list` often follows
    for index, line in enumerate(lines):
        if index not in used and len(line.text) <= _MAX_LINE:
            _read_line(line, report)
    for package in listed:
        report.add(package)
    if not report.packages and not report.facts:
        first = next((line.number for line in lines if line.text.strip()), None)
        raise Malformed("has no line that an environment report has", path=document.path, line=first)
    facts = {key: value for key, stated in report.facts.items() if (value := _agreed(stated)) is not None}
    python, platform = facts.pop("python", None), facts.pop("platform", None)
    return Environment(
        source=document.path,
        kind="report",
        packages=tuple(report.packages),
        closed=False,
        skipped=tuple(report.skipped),
        python=python,
        platform=platform,
        virtual=dict(sorted(facts.items())),
    )


@dataclass(slots=True, kw_only=True)
class _Report:
    """What has been stated so far."""

    path: str
    section: str | None = None
    packages: list[Package] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    facts: dict[str, list[str]] = field(default_factory=dict)
    _known: set[tuple[str, bool, str]] = field(default_factory=set)

    def add(self, package: Package) -> None:
        """Keep the first of the statements that say the same."""
        parsed = parse_version(package.version or "")
        key = (package.name, package.source == "conda", str(parsed) if parsed else str(package.version))
        if key not in self._known:
            self._known.add(key)
            self.packages.append(package)

    def fact(self, key: str, pattern: re.Pattern[str], text: str) -> None:
        match = pattern.match(text)
        if match:
            self.facts.setdefault(key, []).append(match[1])


def _read_line(line: PastedLine, report: _Report) -> None:
    text = line.text.strip()
    section = _SECTION.fullmatch(text)
    if section:
        report.section = section[1]
        return
    bullet = _BULLET.match(text)
    text = text[bullet.end() :] if bullet else text
    at = line.at(report.path, len(line.text.rstrip()) - len(text))
    if tagged := _TAGGED.fullmatch(text):
        _read_tagged(tagged, _moved(at, tagged.start(2)), report)
    elif built := _BUILT_FOR.fullmatch(text):
        report.fact("__cuda" if built[1] == "CUDA" else "__rocm", _NUMBERS, built[2])
    elif driver := _DRIVER.search(text):  # the first line of nvidia-smi
        report.facts.setdefault("__nvidia_driver", []).append(driver[1])
    elif statement := _STATEMENT.fullmatch(text) or _DOTTED.fullmatch(text):
        _read_statement(statement, at, report)
    elif platform := _PLATFORM.fullmatch(text):
        _read_platform(platform[1], report)
    elif pin := _PIN.fullmatch(text):
        _read_pin(pin[1], _moved(at, pin.start(1)), report)
    elif bullet and report.section and (entry := _ENTRY.fullmatch(text)):
        _read_entry(entry, at, report)


def _read_tagged(tagged: re.Match[str], at: Location, report: _Report) -> None:
    """``[pip3] torch==2.5.1`` and ``[conda] pytorch  2.5.1  py3.11_cuda12.4_cudnn9.1.0_0  pytorch``."""
    text = tagged[2].strip()
    if _ABSENT.match(text):
        return
    if tagged[1] != "conda":
        _read_pin(text, at, report)
        return
    row = _CONDA.fullmatch(text)
    if row is None:
        report.skipped.append(Skipped(what="a line", reason="is not a line of a conda list", location=at))
        return
    from_pip = row[4] == "pypi" or (row[3] or "").startswith("pypi_")
    source: SourceKind = "registry" if from_pip else "conda"
    name = normalise(row[1]) if from_pip else row[1].lower()
    report.add(Package(name=name, version=row[2], source=source, location=_moved(at, row.start(2))))


def _read_pin(text: str, at: Location, report: _Report) -> None:
    result = parse_requirement(text, at)
    if isinstance(result, Skipped):
        report.skipped.append(result)
    elif result.version is None and result.source == "registry":
        report.skipped.append(Skipped(what=quoted(result.name, "a line"), reason="has no version", location=at))
    else:
        report.add(result)


def _read_statement(statement: re.Match[str], at: Location, report: _Report) -> None:
    label = " ".join(re.sub(r"[^\w .+-]", " ", statement[1]).replace("_", "-").lower().split())
    value = statement[2].lstrip("*` \t")
    if label == "python":
        report.fact("python", _PYTHON, value)
    elif label in _FACTS:
        report.fact(_FACTS[label], _NUMBERS, value)
    elif label in _PACKAGES or (" " not in label and label[:1].isalnum() and not _NO_PACKAGE.fullmatch(label)):
        at = _moved(at, len(statement[0]) - len(value))
        _read_version(_PACKAGES.get(label, normalise(label)), value, at, report)


def _read_version(name: str, value: str, at: Location, report: _Report) -> None:
    match = _VERSION.match(value)
    version = match[1].rstrip(".-+!") if match else ""
    if match and len(version) <= _MAX_VERSION and parse_version(version) is not None:
        report.add(Package(name=name, version=version, location=_moved(at, match.start(1))))
    elif not _ABSENT.match(value) and " " not in value.strip():
        report.skipped.append(Skipped(what="a line", reason="has no version that is one", location=at))


def _read_entry(entry: re.Match[str], at: Location, report: _Report) -> None:
    """``- torch: 2.5.1`` in Lightning's report; what is no version there (an architecture, a release) is no package."""
    if report.section == "System":
        if entry[1].lower() == "python":
            report.fact("python", _PYTHON, entry[2])
    elif report.section == "CUDA":
        if entry[1].lower() == "version":
            report.fact("__cuda", _NUMBERS, entry[2])
    else:
        _read_version(normalise(entry[1]), entry[2], _moved(at, entry.start(2)), report)


def _read_platform(text: str, report: _Report) -> None:
    platform = next((name for pattern, name in _PLATFORMS if pattern.search(text)), None)
    if platform is not None:
        report.facts.setdefault("platform", []).append(platform)
    if glibc := _GLIBC.search(text):
        report.facts.setdefault("__glibc", []).append(glibc[1])


def _agreed(stated: list[str]) -> str | None:
    """The most exact of several statements, if the others say the same with fewer parts; None where they differ."""
    longest = max(stated, key=len)
    return longest if all(f"{longest}.".startswith(f"{one}.") for one in stated) else None


def _moved(location: Location, by: int) -> Location:
    return location if location.column is None else replace(location, column=location.column + by)
