"""A new record from answers in a line of text each, held against the schema after every one of them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from gradcompat.errors import UsageError
from gradcompat.knowledge.records import messages
from gradcompat.knowledge.schema import COMPARISON, Record
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES, parse_value

_CONDITION = lazy_pattern(r"\s*([a-z][a-z0-9_.]*)\s*(>=|<=|!=|=|>|<)\s*(\S.*?)\s*")
_PACKAGE = lazy_pattern(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*?)\s*(?:(absent|[*<>=!~].*?))?\s*")
_URL = lazy_pattern(r"(?:([A-Za-z]+)\s+)?(https?://\S+)")

# What a record holds until it is asked for, so that the rest of it can be judged by the real schema.
_UNTIL_THEN: dict[str, Any] = {
    "id": "GC-0000",
    "summary": "…",
    "details": "…",
    "level": "note",
    "silent": True,
    "categories": ["crash"],
    "affected": [{"packages": {"package": "*"}}],
    "remedies": [{"kind": "code", "text": "…"}],
    "references": [{"type": "REPORT", "url": "https://example.org"}],
    "range_basis": "tags",
    "evidence": ["…"],
    "examples": {"affected": [{}], "not_affected": [{}]},
}


def problems(answers: Mapping[str, Any]) -> list[str]:
    """What the schema has against these fields, alone and with one another."""
    try:
        Record.model_validate({**_UNTIL_THEN, **answers})
    except ValidationError as error:
        return messages(error)
    return []


def package_term(text: str) -> tuple[str, str]:
    """``transformers >=4.49.0,<4.52.1`` as name and range; every version where no range is given.

    Raises:
        ValueError: if it is none; the range is left to the schema.
    """
    match = _PACKAGE.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a package with a range: write `transformers >=4.49.0,<4.52.1`")
    return normalise(match[1]), match[2] or "*"


def condition(text: str) -> tuple[str, Any]:
    """``training.packing=true``, ``training.gradient_accumulation_steps>1`` or ``precision.mode=fp16,bf16``.

    Returns:
        A setting's key and its value as a record has it.

    Raises:
        ValueError: if the key is not in the vocabulary, or the value is not of its type.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not of the form KEY=VALUE, KEY>VALUE, …")
    key, operator, value = match[1], match[2], match[3]
    if key not in KEYS:
        close = difflib.get_close_matches(key, KEYS, n=1)
        hint = f"did you mean `{close[0]}`?" if close else "`gradcompat explain settings` lists them"
        raise ValueError(f"`{key}` is not a known setting: {hint}")
    if operator != "=":
        value = operator + value
    if KEYS[key].type == "version":
        return key, value if COMPARISON.match(value) or value.startswith("=") else f"=={value}"
    if COMPARISON.fullmatch(value):
        return key, value
    try:
        values = [parse_value(key, part.strip()) for part in value.split(",") if part.strip()]
    except UsageError as error:
        raise ValueError(error.message) from None
    plain = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    return key, plain if len(plain) > 1 or KEYS[key].type == "list" else plain[0]


def combination(packages: Mapping[str, str], conditions: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Packages and conditions as a combination of a record: each condition where its kind has its place."""
    found: dict[str, Any] = {"packages": dict(packages)}
    for key, value in conditions:
        if key == "model.architecture":
            found.setdefault("models", []).extend(value)
        elif key == "code.symbols":
            found.setdefault("symbols", []).extend(value)
        elif key == "host.python":
            found["python"] = value
        elif key == "host.platform":
            found["platform"] = value if isinstance(value, list) else [value]
        elif key in VIRTUAL_PACKAGES:
            found.setdefault("virtual", {})[VIRTUAL_PACKAGES[key]] = value
        else:
            found.setdefault("settings", {})[key] = value
    order = ("packages", "settings", "models", "symbols", "python", "platform", "virtual")
    return {place: found[place] for place in order if place in found}


def reference(text: str) -> dict[str, str]:
    """``FIX https://…``; a report where the kind is left out.

    Raises:
        ValueError: if there is no address.
    """
    match = _URL.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"`{text}` is not a reference: write `REPORT https://…`, `FIX https://…`")
    return {"type": (match[1] or "REPORT").upper(), "url": match[2]}


def remedy(text: str) -> dict[str, Any]:
    """``upgrade NAME RANGE``, ``downgrade NAME RANGE``, ``set KEY=VALUE``, ``code WHAT TO DO`` or ``install WHAT``.

    Raises:
        ValueError: if it is none of these.
    """
    kind, _, rest = text.strip().partition(" ")
    match kind:
        case "upgrade" | "downgrade":
            name, versions = package_term(rest)
            return {"kind": kind, "package": name, "versions": versions}
        case "set":
            key, value = condition(rest)
            return {"kind": "setting", "key": key, "value": value}
        case "code" | "install":
            return {"kind": kind, "text": rest.strip()}
    raise ValueError(f"`{text}` is not a remedy: it begins with upgrade, downgrade, set, code or install")
