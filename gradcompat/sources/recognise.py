"""What is this text? By its content alone, for standard input and for files whose name is wrong or says nothing."""

from __future__ import annotations

import re

_HEAD = 256 * 1024  # characters that are looked at

# In this order; the first that is found decides. Each is something that the format cannot do without.
_SIGNATURES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.MULTILINE))
    for kind, pattern in (
        ("cyclonedx", r'\A\s*\{(?s:.*?)"bomFormat"\s*:\s*"CycloneDX"'),
        ("spdx", r'\A\s*\{(?s:.*?)"(?:spdxVersion|@context"\s*:\s*"https://spdx\.org)|^SPDXVersion:'),
        ("notebook", r'\A\s*\{(?s:.*)"(?:nbformat|cell_type)"\s*:'),
        ("pip-inspect", r'\A\s*\{(?s:.*?)"(?:pip_version|installed)"\s*:(?s:.*?)"metadata"\s*:'),
        ("Pipfile.lock", r'\A\s*\{\s*"_meta"\s*:'),
        ("pip-list", r'\A\s*\[\s*\{\s*"name"\s*:|\A\s*\[\s*\]\s*\Z'),
        ("conda-explicit", r"^@EXPLICIT\s*$"),
        ("conda-list", r"^# packages in environment at |^# This file may be used to create an environment using:"),
        ("pylock.toml", r'^lock-version\s*=\s*["\']1\.'),
        ("poetry.lock", r"^\[\[package\]\](?s:.*)^\[metadata\](?s:.*)^(?:lock-version|content-hash)\s*="),
        ("pdm.lock", r"^\[metadata\](?s:.*?)^lock_version\s*="),
        ("uv.lock", r"\A(?:\s*#[^\n]*\n)*\s*version\s*=\s*\d+\s*$"),
        ("pyproject.toml", r"^\[(?:project|build-system|tool\.[\w.-]+|dependency-groups)\]\s*$"),
        ("setup.cfg", r"^\[(?:metadata|options)\]\s*$"),
        ("conda-lock", r"^metadata:\s*$(?s:.*)^package:\s*$|^package:\s*$(?s:.*)^metadata:\s*$"),
        ("pixi.lock", r"\Aversion:\s*\d+\s*$(?s:.*?)^(?:environments|packages|platforms):\s*$"),
        ("conda-environment", r"^(?:channels|dependencies):\s*$(?s:.*?)^\s*-\s"),
        (
            "report",
            r"^Collecting environment information|^[-*\s]*PyTorch version\b.*:|^DeepSpeed general environment info",
        ),
        ("report", r"^[-*\s]*`?(?:transformers|Accelerate|llamafactory|diffusers|trl|peft)`? version:"),
        ("script", r"^# /// script\s*$"),
        ("dockerfile", r"^\s*FROM\s+\S+(?s:.*?)^\s*(?:RUN|ENV|ARG|WORKDIR|COPY|CMD)\s"),
        ("pip-list", r"^[> \t]*Package\s+Version(?:\s+.*)?\n[> \t]*-+\s+-+"),
    )
)
_COLUMNS = re.compile(r"[A-Za-z0-9][\w.-]*\s+(?:\d+!)?v?\d[\w.+!-]*(?:\s+\S.*)?")
_CONDA_PIN = re.compile(r"[a-z0-9_][\w.-]*=[^=\s]+=[^=\s]+")
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?\s*(?:[<>=!~]=?.*|@\s*\S+.*|;.*)?"
    r"|-{1,2}[a-z][\w-]*(?:[ =].*)?|(?:git\+|https?://|\./|/).*"
)


def recognise(text: str) -> str | None:
    """The kind of the text, or None if it is nothing that can be read."""
    head = text[:_HEAD].lstrip("\ufeff").replace("\r\n", "\n")
    for kind, pattern in _SIGNATURES:
        if pattern.search(head):
            return kind
    lines = [line.strip() for line in head.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines:
        return "requirements" if head.strip() else None
    for kind, pattern in (("conda-list", _CONDA_PIN), ("pip-list", _COLUMNS), ("requirements", _REQUIREMENT)):
        # Most of the lines, so that one odd line does not hide what the rest is.
        if sum(1 for line in lines if pattern.fullmatch(line)) * 10 >= len(lines) * 6:
            return kind
    return None
