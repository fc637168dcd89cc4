"""One requirement as people and pip write it: PEP 508, ``name @ url``, a bare link to a wheel or a repository, a path.

A range is never taken for its lower bound, and a link says a version only where its file name or its tag does. A link
to a repository without ``#egg=`` names no package at all: it goes by the name of the repository.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from gradcompat.model.environment import Location, Package, Skipped, SourceKind
from gradcompat.redaction import is_token, redact
from gradcompat.requirements.names import NAME, normalise
from gradcompat.requirements.specifiers import PLAIN_CLAUSE, PLAIN_VERSION
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

# Nothing that is meant to be installed is longer, and Python converts no number of more than 4,300 digits.
_MAX_LENGTH = 1_000
_MAX_MARKER = 100_000  # uv writes long ones for projects with many forks

_EXTRAS = r"(?:\s*\[[^\[\]]*\])?"
_IS_NAME = lazy_pattern(NAME)
# No package is called so, and an index that is asked for one answers nothing.
_WITH_VERSION = lazy_pattern(r"([A-Za-z][\w.-]{0,80})-(\d+(?:\.\d+)+(?:(?:a|b|rc|\.?post|\.?dev)\d+)?)")
# Most lines are pins, and a file of pins needs no other pattern.
_PIN = lazy_pattern(rf"({NAME})==({PLAIN_VERSION}(?:\+[a-z0-9]{{1,20}})?)")
_PLAIN_EXTRAS = rf"(?:\s*\[\s*{NAME}\s*(?:,\s*{NAME}\s*)*\])?"
_PLAIN = lazy_pattern(rf"({NAME}){_PLAIN_EXTRAS}(?:{PLAIN_CLAUSE}(?:,{PLAIN_CLAUSE})*)?")
_HEAD = lazy_pattern(NAME + _EXTRAS)
_NAMED_LINK = lazy_pattern(rf"(?!git@)({NAME}){_EXTRAS}\s*@\s*(?=\S)")
_LINK = lazy_pattern(
    r"(?:[A-Za-z][A-Za-z+.-]*:(?://|[^\d\s])|(?:git\+)?git@|\.{0,2}[/\\]|\.{1,2}(?:\s|$|\[)|~/|[A-Za-z]:\\)"
)
# pip takes anything with a slash for a path, and the name of an archive for a file.
_PATH = lazy_pattern(r"[^\s/\\;@<>=~!\[\]\"']+(?:/|\.(?:whl|tar\.gz|tgz|tar\.bz2|zip)(?=[\s;#]|$))", re.IGNORECASE)
_MARKER_BEHIND_LINK = lazy_pattern(r"\s;|;\s")
_VARIABLE = lazy_pattern(r"\$\{[^{}]*\}|\$[A-Za-z_]\w*|\{\{[^{}]*\}\}")
# Where conda-build unpacks what it builds: a path that nobody has, which `pip freeze` prints nevertheless.
_BUILT_BY_CONDA = lazy_pattern(r"/(?:feedstock_root|croot|conda-bld)/|/(?:[^/]+_)?\d{10,13}/work(?:/|$)")
_SUFFIX = lazy_pattern(r"\.(?:whl|tar\.gz|tgz|tar\.bz2|tar\.xz|zip)$", re.IGNORECASE)
# GitHub and GitLab serve a checkout as an archive, named after the tag or the commit.
_FORGE_ARCHIVE = lazy_pattern(r"/([^/]+)/(?:-/)?archive/(?:refs/tags/|refs/heads/)?([^/]+)$")
# `v4.49.0`, `4.49.0`, `v2.1`: enough of a version that it is no branch and no commit.
_TAG = lazy_pattern(r"(?:refs/tags/)?(?:v(?=\d+\.\d)|(?=\d+\.\d+\.\d))(\d[\d.]*(?:(?:a|b|rc|\.?post)\d+)?)")

# Repositories of training stacks that are not called like the package that is built from them.
_PACKAGE_OF_REPOSITORY = {
    "audio": "torchaudio",
    "flash-attention": "flash-attn",
    "megatron-lm": "megatron-core",
    "pytorch": "torch",
    "transformerengine": "transformer-engine",
    "vision": "torchvision",
}


_TRUNKS = frozenset({"", "HEAD", "main", "master"})
# Whose repositories are the trunks of packages; that of anybody else is a fork, which may stand still since years.
_UPSTREAM = frozenset(
    {
        *("huggingface", "pytorch", "pytorch-labs", "lightning-ai", "pytorchlightning", "dao-ailab", "deepspeedai"),
        *("microsoft", "unslothai", "bitsandbytes-foundation", "timdettmers", "linkedin", "vllm-project", "nvidia"),
        *("sgl-project", "axolotl-ai-cloud", "openaccess-ai-collective", "hiyouga", "modelscope", "ultralytics"),
        *("ukplab", "openrlhf", "volcengine", "verl-project", "pyg-team", "dmlc", "project-monai", "open-mmlab"),
        *("facebookresearch", "google", "openai", "numpy", "scipy", "triton-lang", "mosaicml", "kornia", "fla-org"),
        *("rwightman", "autogptq", "casper-hansen", "modelcloud", "state-spaces", "wandb", "rom1504", "xformers"),
    }
)


@dataclass(frozen=True, slots=True)
class _Link:
    """What a link says of the package behind it."""

    source: SourceKind
    name: str | None
    version: str | None
    unreleased: bool = False
    trunk: bool = False


def parse_requirement(text: str, location: Location, *, editable: bool = False) -> Package | Skipped:
    """The package that one requirement asks for, or why it cannot be told.

    Args:
        text: the requirement without options (``--hash``) and without a comment.
        location: where ``text`` begins. If it has a column, the result has that of the version or the range.
        editable: it stood behind ``-e``.

    >>> parse_requirement("torch[opt]>=2.1,<3 ; sys_platform == 'linux'", Location(path="a.txt")).specifier
    '>=2.1,<3'
    """
    start = len(text) - len(text.lstrip())
    location = _moved(location, start)
    text = text.strip()
    if not text:
        return Skipped(what="a requirement", reason="is empty", location=location)
    pin = _PIN.fullmatch(text) if len(text) <= _MAX_LENGTH and not editable else None
    if pin is not None and not is_token(pin[1]):
        return Package(name=normalise(pin[1]), version=pin[2], location=_moved(location, pin.start(2)))
    named = _NAMED_LINK.match(text)
    if named:
        return _linked(text, named.end(), named[1], location, editable)
    if editable or _LINK.match(text) or _PATH.match(text):
        return _linked(text, 0, None, location, editable)
    return _specified(text, location)


def name_of(text: str) -> str | None:
    """The normalised name that a requirement starts with, whatever follows it."""
    match = _IS_NAME.match(text.strip())
    return normalise(match[0]) if match else None


def version_of_tag(reference: str) -> str | None:
    """The version of the release that a git tag is called after: ``v4.49.0`` is ``4.49.0``; a branch has none."""
    match = _TAG.fullmatch(reference)
    return match[1] if match and parse_version(match[1]) is not None else None


def _specified(text: str, location: Location) -> Package | Skipped:
    """``name[extra] >=1,<2 ; marker``."""
    wanted, semicolon, behind = text.partition(";")
    marker = behind.strip() if semicolon else None
    problem = _marker_problem(marker)
    if len(wanted) > _MAX_LENGTH:
        problem = "is too long for a requirement"
    if problem is None:
        head = _HEAD.match(wanted)
        if head and _VARIABLE.search(wanted, head.end()):
            # pip puts in the variables of whoever installs: the package is known, its version is not.
            return Package(name=normalise(str(name_of(text))), version=None, marker=marker, location=location)
        if joined := _WITH_VERSION.fullmatch(wanted.strip()):
            reason = f"ends in a version behind a dash: write `{joined[1]}=={joined[2]}`"
            return Skipped(what="a requirement", reason=reason, location=location)
        plain = _PLAIN.fullmatch(wanted.strip())
        if plain is not None and not is_token(plain[1]):
            return _pinned(plain[1], wanted, marker, location)
        # What comes here is rare, and importing it takes as long as starting Python twice.
        from gradcompat.sources.requirement_grammar import NotRequirement, parsed_name

        try:
            return _pinned(parsed_name(wanted), wanted, marker, location)
        except NotRequirement as error:
            problem = str(error)
    return Skipped(what="a requirement", reason=problem, location=location)


def _pinned(name: str, wanted: str, marker: str | None, location: Location) -> Package:
    head = _HEAD.match(wanted)
    offset = head.end() if head else 0
    extras = _asked_extras(wanted[:offset])
    clauses = [clause.strip() for clause in wanted[offset:].strip(" \t()").split(",") if clause.strip()]
    exact = [clause for clause in clauses if clause.startswith("==") and not clause.endswith(".*")]
    version = exact[0].lstrip("= \t") if exact else None
    if version is not None and _settles(version, clauses):
        at = wanted.find(exact[0], offset) + len(exact[0]) - len(version)
        location = _moved(location, at)
        return Package(name=normalise(name), version=version, marker=marker, asked_extras=extras, location=location)
    specifier = ",".join("".join(clause.split()) for clause in clauses) or "*"
    if clauses:
        location = _moved(location, wanted.find(clauses[0], offset))
    # `===` takes any text: what it names need not be on the order of versions, and then the range says nothing.
    known = specifier if _versions(specifier) is not None else None
    return Package(
        name=normalise(name), version=None, specifier=known, marker=marker, asked_extras=extras, location=location
    )


def _asked_extras(head: str) -> tuple[str, ...]:
    """The extras behind a name: those of ``datasets[audio, vision]`` are audio and vision."""
    between = head.partition("[")[2].partition("]")[0]
    return tuple(normalise(extra.strip()) for extra in between.split(",") if extra.strip())


def _settles(version: str, clauses: list[str]) -> bool:
    """Do the other clauses, if any, allow that version?"""
    if len(clauses) == 1:
        return True
    parsed, allowed = parse_version(version), _versions(",".join(clauses))
    return parsed is not None and allowed is not None and parsed in allowed


def _versions(specifier: str) -> VersionSet | None:
    try:
        return VersionSet.parse(specifier)
    except ValueError:
        return None


def _linked(text: str, offset: int, name: str | None, location: Location, editable: bool) -> Package | Skipped:
    """``name @ link ; marker``, or the link alone."""
    link, marker = text[offset:], None
    behind = _MARKER_BEHIND_LINK.search(link)
    if behind:
        link, marker = link[: behind.start()], link[behind.end() :].strip()
    problem = _marker_problem(marker)
    if len(link) > _MAX_LENGTH:
        problem = "is too long for a requirement"
    if problem is not None:
        return Skipped(what="a requirement", reason=problem, location=location)
    read = _read_link(link.strip().strip("\"'"), editable)
    name = name or read.name
    if name is None:
        if read.source in ("directory", "editable"):
            reason = "a project in a folder: neither its name nor its version stand here"
            return Skipped(what="a requirement", reason=reason, gap=False, location=location)
        return Skipped(what="a requirement", reason="the link names no package", location=location)
    at = None if read.version is None else _version_at(text, offset, link, read.version)
    return Package(
        name=normalise(name),
        version=read.version,
        source=read.source,
        marker=marker,
        asked_extras=_asked_extras(text[:offset]),
        unreleased=read.unreleased,
        trunk=read.trunk,
        location=_moved(location, at or 0),
    )


def _version_at(text: str, offset: int, link: str, version: str) -> int | None:
    """Where in the text the version stands that the last part of the link says, unless it is escaped there."""
    address = link.partition("#")[0]
    begin = offset + max(address.rfind("/"), address.rfind("\\")) + 1
    match = re.compile(rf"(?<![A-Za-z0-9.])v?{re.escape(version)}").search(text, begin)
    return match.end() - len(version) if match else None


def _read_link(link: str, editable: bool) -> _Link:
    address, _, fragment = link.partition("#")
    egg = next((part[4:] for part in fragment.split("&") if part.startswith("egg=")), "")
    match = _IS_NAME.match(unquote(egg))
    name = match[0] if match else None
    scheme = address.partition(":")[0].lower() if re.match(r"[A-Za-z][A-Za-z+.-]+:", address) else ""
    if scheme.startswith("git") or address.startswith(("git@", "git+git@")) or address.endswith(".git"):
        return _read_repository(address, name)
    address = unquote(address.partition("?")[0]).replace("\\", "/").rstrip("/")
    local = scheme in ("", "file")
    if scheme and "+" in scheme:  # hg+https:, svn+https:
        return _Link("url", name, None, True)
    archive = _FORGE_ARCHIVE.search(address)
    if archive and not local:
        version = version_of_tag(_SUFFIX.sub("", archive[2]))
        return _Link("url", name or _package_of(archive[1]), version, version is None)
    file_name = address.rpartition("/")[2]
    suffix = _SUFFIX.search(file_name)
    by_conda = local and not editable and _BUILT_BY_CONDA.search(address) is not None
    if suffix is None:
        if not local:
            return _Link("url", name, None)
        return _Link("conda" if by_conda else "editable" if editable else "directory", name, None)
    stem = file_name[: suffix.start()]
    if suffix[0].lower() == ".whl":
        parts = stem.split("-")
        file_name, version = (parts[0], parts[1]) if len(parts) in (5, 6) else ("", "")
    else:
        file_name, _, version = stem.rpartition("-")
    source: SourceKind = "conda" if by_conda else "path" if local else "url"
    if not _IS_NAME.fullmatch(file_name) or parse_version(version) is None:
        return _Link(source, name, None)
    return _Link(source, name or file_name, version)


def _read_repository(address: str, name: str | None) -> _Link:
    """``git+ssh://git@host/owner/repository.git@reference``; the host may have an ``@`` of its own."""
    # A password may hold slashes, and what follows the last one is no name.
    address = redact(address)
    _, _, rest = address.rpartition("://") if "://" in address else ("", "", address)
    path, _, reference = rest.partition("/")[2].partition("@")
    repository = unquote(path.rstrip("/").rpartition("/")[2])
    if name is None and repository:
        name = _package_of(repository)
    version = version_of_tag(unquote(reference))
    owner = unquote(path.rstrip("/").rpartition("/")[0].rpartition("/")[2]).lower()
    return _Link("git", name, version, version is None, trunk=reference in _TRUNKS and owner in _UPSTREAM)


def _package_of(repository: str) -> str | None:
    name = repository.removesuffix(".git")
    return _PACKAGE_OF_REPOSITORY.get(name.lower(), name) if _IS_NAME.fullmatch(name) else None


def _marker_problem(marker: str | None) -> str | None:
    if marker is None:
        return None
    if len(marker) > _MAX_MARKER:
        return "its marker is too long"
    from gradcompat.requirements.markers import PLAIN_VARIABLES, parse_marker  # a list of pins has none

    parsed = parse_marker(marker)
    if parsed is not None and not parsed.odd and parsed.variables <= PLAIN_VARIABLES:
        return None
    from gradcompat.sources.requirement_grammar import marker_problem  # as rare

    return marker_problem(marker)


def _moved(location: Location, by: int) -> Location:
    return location if location.column is None or by <= 0 else replace(location, column=location.column + by)
