"""Environment reports as people paste them: torch's ``collect_env``, ``transformers env`` and its kin, ``ds_report``.

A report speaks of a few packages and is silent on the others, so it is never closed. It often says the same thing twice
(``PyTorch version: 2.5.1+cu121`` and ``[pip3] torch==2.5.1``): the first statement is kept. "not installed" and "N/A"
are no packages. GPUs count where they are listed; whatever else states no version (CPU flags, prose, tracebacks) is
passed over.

CUDA is the one that torch was built for, because training runs with that one; not the compiler's, not the driver's.
"""

from __future__ import annotations

import re

from gradcompat.errors import Malformed, Unrecognised
from gradcompat.formats.document import Document
from gradcompat.formats.pasted_text import PastedLine, pasted_lines
from gradcompat.host.gpu_names import Gpu, gpus_in, short_wavefronts
from gradcompat.model.environment import Environment, Location, Package, Setting, Skipped, SourceKind
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.requirements.spoken_names import package_called
from gradcompat.requirements.versions import parse_version
from gradcompat.sources.pip_list import read_blocks, read_tables
from gradcompat.sources.prose_versions import mentions
from gradcompat.sources.requirement import parse_requirement
from gradcompat.sources.typed_versions import typed_list
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_MAX_LINE = 2000
_MAX_VERSION = 100

_BULLET = lazy_pattern(r"[-*•]\s+")
# `PyTorch version (GPU?): 2.6.0+cu124 (True)`, "`transformers` version: 4.50.0", `Nvidia driver version: 535.1`
_STATEMENT = lazy_pattern(r"([^\s:=][^:=]{0,60}?)\s{1,9}version(?:\s*\([^()]*\))?[*`]*\s*:\s*(.*)", re.IGNORECASE)
# `torch version .................... 2.3.0+cu121`
_DOTTED = lazy_pattern(r"([A-Za-z][A-Za-z ]{1,30}?) (?:version|info) \.{2,} (.*)")
_PLATFORM = lazy_pattern(r"(?:Python platform|Platform|OS)\s*:\s*(.*)", re.IGNORECASE)
_BUILT_FOR = lazy_pattern(r"(CUDA|ROCM) used to build PyTorch\s*:\s*(.*)")
_DRIVER = lazy_pattern(r"\bDriver Version: *(\d+(?:\.\d+)+)")
# nvidia-smi calls a column of its table after what only Linux has, or only Windows.
_SMI_LINUX = lazy_pattern(r"\bPersistence-M\b")
_SMI_WINDOWS = lazy_pattern(r"\bTCC/WDDM\b|\bDriver-Model\b")
_SMI_ROW = lazy_pattern(r"\|\s+\d{1,2}\s+(?=\S)")
# `GPU 0: NVIDIA A100-SXM4-80GB`, `GPU type: …`, `GPU models and configuration: GPU 0: …`
_GPU = lazy_pattern(r"GPU(?: (?:\d{1,2}|type|name|model)|s| models? and configuration)?\s*:\s*", re.IGNORECASE)
_APPLE = lazy_pattern(r"(?:(?:CPU|Model name|Chipset Model):\s*)?(?=Apple M\d)")
_MAKER = lazy_pattern(r"NVIDIA|Tesla|GeForce|Quadro|AMD|Radeon")
_TAGGED = lazy_pattern(r"\[(pip3?|conda)\]\s+(.*)")
_CONDA = lazy_pattern(r"([A-Za-z0-9_][\w.-]*)\s+(\d\S*)(?:\s+(\S+))?(?:\s+(\S+))?")
_PIN = lazy_pattern(r"`?([A-Za-z0-9][\w.-]*(?:\[[^\[\]]*\])?\s*===?\s*\d[\w.+!-]*)`?")
# Lightning's report has sections, each a list of `- name: version`.
_SECTION = lazy_pattern(r"[*-]\s+(CUDA|Lightning|Packages|System):")
_ENTRY = lazy_pattern(r"([A-Za-z0-9][\w.-]*):\s+(\S+)")

# Typed by people: `PyTorch: 2.4.0`, `| torch | 2.4.0 |`, `4.55.4 transformers pytorch 2.6.0`, `transformers-4.46.0`.
_LABELLED = lazy_pattern(r"[`*\"']*([A-Za-z][\w .-]{0,40}?)[`*\"']*\s{0,20}:\s{0,20}(.*)")
_CELLS = lazy_pattern(r"\|\s*[`*]*([A-Za-z][\w .-]{0,40}?)[`*]*\s*\|\s*([^|]*?)\s*(?:\|.*)?")
_DASHED = lazy_pattern(r"([A-Za-z][\w.-]*)-(\d+(?:\.\d+)+[\w.+!]*)")
_RELEASE = lazy_pattern(r"v?\d+\.\d+\.\d+(?:(?:\.?(?:a|b|rc|post|dev)|\+)[\w.+]*)?")

_ABSENT = lazy_pattern(r"not\b|n/?a\b|none\b|no\b|could not|unknown\b|undefined\b|null\b|[<?]|-*$", re.IGNORECASE)
_VERSION = lazy_pattern(r"v?(\d[\w.+!-]*)")
_NUMBERS = lazy_pattern(r"(?:glibc[- ])?(\d+(?:\.\d+)+)")
_PYTHON = lazy_pattern(r"(\d+\.\d+(?:\.\d+)?)")
_GLIBC = lazy_pattern(r"glibc-?(\d+\.\d+)")

_FACTS = {
    "libc": "__glibc",
    "nccl": "__nccl",
    "nvidia driver": "__nvidia_driver",
    "torch cuda": "__cuda",
    "torch hip": "__rocm",
    "torch nccl": "__nccl",
}
# What has a version in such reports and is no package: drivers, compilers, parts of the system, words of prose.
_NO_PACKAGE = lazy_pattern(
    r"api|app|bios|clang|cmake|compiler|conda|config|cuda|cudnn|current|dataset|docker|driver|file|firmware|format"
    r"|framework|g\+\+|gcc|git|glibc|gpu|hip|kernel|latest|level|library|linux|macos|miopen|model|mpi|msvc|my|nvcc|nvidia"
    r"|opencl|os|package|platform|protocol|release|rocm|runtime|schema|software|system|that|the|this|toolkit|ubuntu"
    r"|which|windows|xcode|your"
)
_PLATFORMS = (
    (lazy_pattern(r"windows|win32", re.IGNORECASE), "win32"),
    (lazy_pattern(r"mac ?os|darwin", re.IGNORECASE), "darwin"),
    (lazy_pattern(r"linux|ubuntu|debian|centos|red hat|rocky|fedora|suse|rhel", re.IGNORECASE), "linux"),
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
    used |= read_blocks(document.path, lines, listed, report.skipped)
    for index, line in enumerate(lines):
        if index not in used and len(line.text) <= _MAX_LINE:
            _read_line(line, report)
    for package in listed:
        report.add(package)
    if not report.packages and not report.facts:
        first = next((line.number for line in lines if line.text.strip()), None)
        raise Malformed("has no line that an environment report has", path=document.path, line=first)
    return _environment(report)


def read_prose(document: Document) -> Environment:
    """Read what a text mentions that lists nothing: an issue, a message.

    A package of which it mentions several versions is left out, and that is said: it tells what worked and what broke.

    Raises:
        Unrecognised: if it mentions no version of a package.
    """
    lines, skipped = pasted_lines(document)
    report = _Report(path=document.path, skipped=skipped)
    for line in lines:
        if len(line.text) > _MAX_LINE:
            continue
        _read_line(line, report)
        found = list(mentions(line.text))
        if found:
            _read_gpu(line.text, line.at(report.path, 0), report)
        for mention in found:
            at = line.at(report.path, mention.place)
            if mention.name == "python":
                report.state("python", mention.version, at)
            else:
                report.add(Package(name=mention.name, version=mention.version, location=at))
    _leave_out_contradicted(report)
    if not report.packages:
        raise Unrecognised("mentions no version of a package", path=document.path)
    return _environment(report)


def _leave_out_contradicted(report: _Report) -> None:
    versions: dict[str, list[Package]] = {}
    for package in report.packages:
        versions.setdefault(package.name, []).append(package)
    report.packages = [stated[0] for stated in versions.values() if len(stated) == 1]
    for name, stated in versions.items():
        if len(stated) > 1:
            listed = ", ".join(str(package.version) for package in stated)
            reason = f"several versions are mentioned ({listed}): which one is installed is not known"
            report.skipped.append(Skipped(what=name, reason=reason, location=stated[0].location))


def _environment(report: _Report) -> Environment:
    _read_gpus(report)
    facts = {key: value for key, stated in report.facts.items() if (value := _agreed(stated)) is not None}
    origins = {key: report.origins[key] for key in facts if key in report.origins}
    python, platform = facts.pop("python", None), facts.pop("platform", None)
    return Environment(
        source=report.path,
        kind="report",
        packages=tuple(report.packages),
        closed=False,
        skipped=tuple(report.skipped),
        python=python,
        platform=platform,
        virtual=dict(sorted(facts.items())),
        origins=origins,
        settings=tuple(report.host),
    )


@dataclass(slots=True, kw_only=True)
class _Report:
    """What has been stated so far."""

    path: str
    section: str | None = None
    packages: list[Package] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    facts: dict[str, list[str]] = field(default_factory=dict)
    origins: dict[str, Location] = field(default_factory=dict)
    gpus: list[tuple[Gpu, Location]] = field(default_factory=list)
    unknown_gpu: bool = False
    host: list[Setting] = field(default_factory=list)
    _known: set[tuple[str, bool, str]] = field(default_factory=set)

    def add(self, package: Package) -> None:
        """Keep the first of the statements that say the same."""
        parsed = parse_version(package.version or "")
        key = (package.name, package.source == "conda", str(parsed) if parsed else str(package.version))
        if key not in self._known:
            self._known.add(key)
            self.packages.append(package)

    def fact(self, key: str, pattern: re.Pattern[str], text: str, at: Location) -> None:
        match = pattern.match(text)
        if match:
            self.state(key, match[1], at)

    def state(self, key: str, value: str, at: Location) -> None:
        """Add a statement; the place of the first is kept."""
        self.facts.setdefault(key, []).append(value)
        self.origins.setdefault(key, at)


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
        report.fact("__cuda" if built[1] == "CUDA" else "__rocm", _NUMBERS, built[2], at)
    elif driver := _DRIVER.search(text):  # the first line of nvidia-smi
        report.state("__nvidia_driver", driver[1], at)
    elif _SMI_LINUX.search(text) or _SMI_WINDOWS.search(text):  # the head of its table
        report.state("platform", "linux" if _SMI_LINUX.search(text) else "win32", at)
    elif listed := _GPU.match(text) or _SMI_ROW.match(text) or _APPLE.match(text):
        _read_gpu(text[listed.end() :], at, report)
    elif report.section == "CUDA" and bullet and ":" not in text:  # Lightning's `- Tesla T4`, no `- version: 12.1`
        _read_gpu(text, at, report)
    elif statement := _STATEMENT.fullmatch(text) or _DOTTED.fullmatch(text):
        _read_statement(statement, at, report)
    elif platform := _PLATFORM.fullmatch(text):
        _read_platform(platform[1], at, report)
    elif pin := _PIN.fullmatch(text):
        _read_pin(pin[1], _moved(at, pin.start(1)), report)
    elif bullet and report.section and (entry := _ENTRY.fullmatch(text)):
        _read_entry(entry, at, report)
    else:
        _read_typed(text, at, report)


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
    build = None if from_pip else row[3]
    report.add(Package(name=name, version=row[2], source=source, build=build, location=_moved(at, row.start(2))))


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
        report.fact("python", _PYTHON, value, at)
    elif label in _FACTS:
        report.fact(_FACTS[label], _NUMBERS, value, at)
    elif (called := package_called(label)) or _may_be_package(label):
        at = _moved(at, len(statement[0]) - len(value))
        _read_version(called or normalise(label), value, at, report)


def _may_be_package(label: str) -> bool:
    return " " not in label and label[:1].isalnum() and not _NO_PACKAGE.fullmatch(label)


def _read_typed(text: str, at: Location, report: _Report) -> None:
    """A version beside a name, in one of the forms that people type."""
    if typed := typed_list(text):
        for gpu, place in typed.gpus:
            _read_gpu(gpu, _moved(at, place), report)
        for one in typed.versions:
            if one.name == "python":
                report.state("python", one.version, _moved(at, one.place))
            else:
                report.add(Package(name=one.name, version=one.version, location=_moved(at, one.place)))
    elif labelled := _LABELLED.fullmatch(text) or _CELLS.fullmatch(text):
        value = labelled[2].lstrip("`*\"'")
        at = _moved(at, labelled.end(2) - len(value))
        if called := package_called(labelled[1]):
            _read_version(called, value, at, report)
        elif labelled[1].lower() == "python":
            report.fact("python", _PYTHON, value, at)
        elif _may_be_package(labelled[1].lower()) and _RELEASE.fullmatch(value.strip()):
            _read_version(normalise(labelled[1]), value, at, report)
    elif (dashed := _DASHED.fullmatch(text)) and (called := package_called(dashed[1])):
        _read_version(called, dashed[2], _moved(at, dashed.start(2)), report)


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
            report.fact("python", _PYTHON, entry[2], at)
    elif report.section == "CUDA":
        if entry[1].lower() == "version":
            report.fact("__cuda", _NUMBERS, entry[2], at)
    else:
        _read_version(normalise(entry[1]), entry[2], _moved(at, entry.start(2)), report)


def _read_platform(text: str, at: Location, report: _Report) -> None:
    platform = next((name for pattern, name in _PLATFORMS if pattern.search(text)), None)
    if platform is not None:
        report.state("platform", platform, at)
    if glibc := _GLIBC.search(text):
        report.state("__glibc", glibc[1], at)


def _read_gpu(text: str, at: Location, report: _Report) -> None:
    found = gpus_in(text)
    report.gpus += [(gpu, at) for gpu in found]
    report.unknown_gpu = report.unknown_gpu or (not found and _MAKER.match(text) is not None)


def _read_gpus(report: _Report) -> None:
    """What the GPUs that are listed say, where they are all of one kind that is known."""
    devices = {gpu.device for gpu, _ in report.gpus}
    kinds = {gpu.compute_capability for gpu, _ in report.gpus}
    if len(devices) == 1 and not report.unknown_gpu:
        gpu, at = report.gpus[0]
        if len(kinds) == 1 and gpu.compute_capability is not None:
            report.state("__cuda_arch", gpu.compute_capability, at)
        if gpu.device == "mps":
            report.state("platform", "darwin", at)
        if not _without_gpu(report.packages):
            report.host.append(Setting(key="host.device", value=gpu.device, location=at))
        wavefronts = {short_wavefronts(gpu.name) for gpu, _ in report.gpus}
        if len(wavefronts) == 1 and None not in wavefronts:
            report.host.append(Setting(key="host.short_wavefronts", value=wavefronts == {True}, location=at))


def _without_gpu(packages: list[Package]) -> bool:
    """Is torch built for the CPU alone?"""
    return any(package.name == "torch" and (package.version or "").endswith("+cpu") for package in packages)


def _agreed(stated: list[str]) -> str | None:
    """The most exact of several statements, if the others say the same with fewer parts; None where they differ."""
    longest = max(stated, key=len)
    return longest if all(f"{longest}.".startswith(f"{one}.") for one in stated) else None


def _moved(location: Location, by: int) -> Location:
    return location if location.column is None else replace(location, column=location.column + by)
