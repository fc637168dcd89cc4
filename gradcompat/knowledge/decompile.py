"""Compiled records back as checked ones, without their examples: how data that somebody else has compiled is checked.

Every record has to pass the schema of authors, and compiling the result has to give the very same data. So nothing
passes that `knowledge compile` would not have written, and no second schema has to be kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from gradcompat.errors import InvalidIssue, KnowledgeError, ProbeUnavailable
from gradcompat.knowledge.compile import FORMAT, compile_digest, compile_records
from gradcompat.knowledge.records import Authored, messages
from gradcompat.knowledge.schema import Knowledge, Record
from gradcompat.model.probe import ProbeSpec
from gradcompat.recipes.table import recipe_of

# Examples are for authors: `compile` leaves them out.
_NO_EXAMPLES: dict[str, Any] = {"affected": [{}], "not_affected": [{}]}
_KINDS = {"model": "models", "symbol": "symbols", "python": "python", "platform": "platform"}
_SAME = (
    "id",
    "summary",
    "details",
    "level",
    "silent",
    "informational",
    "categories",
    "symptoms",
    "range_basis",
    "evidence",
    "withdrawn",
)


def checked(data: Any, shown: str, *, newer_recipes: bool = False) -> Authored:
    """The records of compiled data.

    Args:
        data: what JSON has given.
        shown: what messages call it.
        newer_recipes: a probe whose recipe is not in this gradcompat is no mistake.

    Raises:
        InvalidIssue: if it is not what this gradcompat would have compiled.
    """
    try:
        found = data["format"] if isinstance(data, Mapping) else None
        if found != FORMAT or isinstance(found, bool):
            said = json.dumps(found)[:40] if isinstance(found, (int, str)) else "none"
            raise InvalidIssue(f"format {said} of compiled records is not supported (1 is)", path=shown)
        records = tuple(_record(one, shown, newer_recipes=newer_recipes) for one in data["issues"])
        whole = _head(data)
        authored = Authored(
            path=shown,
            date=whole.date,
            packages=whole.packages,
            horizon=whole.horizon,
            records=records,
            lines={},
            problems=(),
        )
        same = compile_records(authored) == (_without_newer(data) if newer_recipes else data)
    except ValidationError as error:
        raise InvalidIssue(f"is not what gradcompat compiles: {messages(error)[0]}", path=shown) from None
    except KnowledgeError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise InvalidIssue("is not what gradcompat compiles", path=shown) from None
    if not same:
        raise InvalidIssue("is not what gradcompat compiles: compiled again, it is something else", path=shown)
    if len({record.id for record in records}) != len(records):
        raise InvalidIssue("has an id twice", path=shown)
    return authored


def _without_newer(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data without the probes of newer recipes and with the digest of that; the stated one is looked at before."""
    if compile_digest(data["issues"]) != data["digest"]:
        raise ValueError(data["digest"])
    issues = [
        {**record, "probes": [probe for probe in record["probes"] if _has_recipe(probe)]} for record in data["issues"]
    ]
    return {**data, "issues": issues, "digest": compile_digest(issues)}


def _has_recipe(probe: Sequence[Any]) -> bool:
    """Can this gradcompat measure it? Recipes come with the package alone."""
    name, parameters, _ = probe
    try:
        recipe_of(ProbeSpec(name=name, parameters=parameters))
    except ProbeUnavailable:
        return False
    return True


def _head(data: Mapping[str, Any]) -> Knowledge:
    packages: dict[str, dict[str, list[str]]] = {}
    for key, names in (("also", data["families"]), ("conda", data["conda"])):
        for other, name in names.items():
            packages.setdefault(name, {}).setdefault(key, []).append(other)
    for name, versions in data["yanked"].items():
        packages.setdefault(name, {})["yanked"] = versions
    horizon = {name: {"version": version, "date": day} for name, (version, day) in data["horizon"].items()}
    return Knowledge.model_validate({"date": data["date"], "packages": packages, "horizon": horizon, "issues": []})


def _record(compiled: Mapping[str, Any], shown: str, *, newer_recipes: bool) -> Record:
    probes = [
        {"name": name, "parameters": parameters, "quantities": quantities}
        for name, parameters, quantities in compiled["probes"]
        if not newer_recipes or _has_recipe((name, parameters, quantities))
    ]
    content = {key: compiled[key] for key in _SAME} | {
        "affected": [_combination(terms) for terms in compiled["affected"]],
        "remedies": [_remedy(remedy) for remedy in compiled["remedies"]],
        "references": [{"type": kind, "url": url} for kind, url in compiled["references"]],
        "bounds": [{"package": name, "bound": bound, "basis": basis} for name, bound, basis in compiled["bounds"]],
        "probes": probes,
        "examples": _NO_EXAMPLES,
    }
    try:
        return Record.model_validate(content)
    except ValidationError as error:
        name = compiled["id"] if isinstance(compiled["id"], str) else "a record"
        raise InvalidIssue(f"{name}: {messages(error)[0]}", path=shown) from None


def _combination(terms: Iterable[Sequence[Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"packages": {}, "settings": {}, "virtual": {}}
    for term in terms:
        match term:
            case ["package", name, versions]:
                found["packages"][name] = versions
            case ["absent", name]:
                found["packages"][name] = "absent"
            case ["setting", key, values]:
                found["settings"][key] = values
            case ["compare", key, operator, operand]:
                found["settings"][key] = f"{operator}{operand}"
            case ["virtual", name, versions]:
                found["virtual"][name] = versions
            case ["model" | "symbol" | "python" | "platform" as kind, content]:
                found[_KINDS[kind]] = content
            case _:
                raise ValueError(term)
    return found


def _remedy(remedy: Sequence[Any]) -> dict[str, Any]:
    match remedy:
        case ["upgrade" | "downgrade" as kind, package, versions, note]:
            return {"kind": kind, "package": package, "versions": versions, "note": note}
        case ["setting", key, value, note]:
            return {"kind": "setting", "key": key, "value": value, "note": note}
        case ["code" | "install" as kind, text]:
            return {"kind": kind, "text": text}
    raise ValueError(remedy)
