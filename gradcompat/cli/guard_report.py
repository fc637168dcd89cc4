"""What ``gradcompat knowledge new --from`` takes from the report of a guarded run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from textwrap import shorten
from typing import Any

from packaging.version import InvalidVersion, Version

from gradcompat.cli.record_questions import Given
from gradcompat.errors import UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.knowledge.schema import SUMMARY

# By the framework that trains: whose release is named first.
_PACKAGES = {
    "trl": ("trl", "transformers"),
    "transformers.Trainer": ("transformers",),
    "lightning": ("lightning", "pytorch-lightning"),
}
_ABOVE_ONE = ("training.gradient_accumulation_steps", "distributed.processes")
_AS_IT_IS = ("model.architecture", "distributed.strategy", "precision.mode", "peft.method", "training.packing")
_WITHOUT_MEANING = ("none", "no", "false", "")
_WHOLE = {"level", "text", "measured"}
_ORDER = ("error", "warning", "note")


def answers(path: str) -> Given:
    """What the report answers of the questions for a record: the rest is asked.

    Args:
        path: of ``gradcompat-guard.json``.

    Raises:
        UsageError: if it cannot be read, is no such report, or found nothing.
    """
    content = _read(path)
    finding = _unexplained(content["findings"], path)
    settings, packages = content["settings"], content["packages"]
    text = str(finding["text"])
    named = _named(settings, packages)
    if not named:
        raise UsageError(f"`{path}` names no package that trains", hint="name one with `--package`")
    versions = ", ".join(f"{name} {version}" for name, version in sorted(packages.items()) if name in _told(packages))
    numbers = ", ".join(f"{key} {value}" for key, value in finding["measured"].items())
    return Given(
        packages=named,
        conditions=_conditions(settings) or None,
        summary=shorten(f"{text[:1].upper()}{text[1:]}", SUMMARY, placeholder=" …"),
        categories=tuple(finding.get("categories", ()))[:1] or None,
        silent=True,
        basis="reported",
        level="warning",
        evidence=(f"Measured by the guard in a run ({versions}): {text} ({numbers}).",),
    )


def _read(path: str) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(path))
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from None
    except ValueError:
        content = None
    shape = {"findings": list, "settings": dict, "packages": dict}
    if not isinstance(content, dict) or not all(isinstance(content.get(key), kind) for key, kind in shape.items()):
        raise _no_report(path)
    return content


def _no_report(path: str) -> UsageError:
    return UsageError(f"`{path}` is no report of a guarded run", hint="`gradcompat run` writes one")


def _unexplained(findings: list[Any], path: str) -> Mapping[str, Any]:
    """The worst finding, of those that no record explains if there is one."""
    if not all(
        isinstance(finding, dict) and finding.get("level") in _ORDER and finding.keys() >= _WHOLE
        for finding in findings
    ):
        raise _no_report(path)
    if not findings:
        raise UsageError(f"`{path}` has no finding: the run was verified")
    return min(findings, key=lambda one: (bool(one.get("records")), _ORDER.index(one["level"])))


def _told(packages: Mapping[str, str]) -> list[str]:
    known = ("torch", "transformers", "accelerate", "trl", "peft", "lightning", "pytorch-lightning", "deepspeed")
    return [name for name in known if name in packages]


def _named(settings: Mapping[str, Any], packages: Mapping[str, str]) -> tuple[str, ...]:
    wanted = _PACKAGES.get(str(settings.get("training.framework")), ("torch",))
    found = [name for name in wanted if name in packages][:1] or [name for name in ("torch",) if name in packages]
    try:
        return tuple(f"{name} =={Version(packages[name]).public}" for name in found)
    except InvalidVersion:
        return ()


def _conditions(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What the run had that not every run has; whoever knows the cause leaves out what is not needed."""
    above = [
        f"{key}>1"
        for key in _ABOVE_ONE
        if isinstance(settings.get(key), int) and not isinstance(settings[key], bool) and settings[key] > 1
    ]
    # The class of a model that no library has says nothing to anybody else.
    private = () if "model.family" in settings else ("model.architecture",)
    other = [
        f"{key}={str(settings[key]).lower() if isinstance(settings[key], bool) else settings[key]}"
        for key in _AS_IT_IS
        if key in settings and key not in private and str(settings[key]).lower() not in _WITHOUT_MEANING
    ]
    return (*above, *other)
