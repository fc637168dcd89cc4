"""Turns checked records into the JSON that ships with the package: terms as tagged lists, an index by package name.

``load`` reads what this writes; a test compiles ``knowledge/issues.yaml`` again and compares.
"""

from __future__ import annotations

import json
from typing import Any

from gradcompat.knowledge.load import TOLD_FROM, digest_of
from gradcompat.knowledge.range_index import index_of
from gradcompat.knowledge.records import Authored
from gradcompat.knowledge.schema import (
    COMPARISON,
    ClassFact,
    CodeRemedy,
    Combination,
    InstallRemedy,
    Record,
    SettingRemedy,
    VersionRemedy,
    number,
)
from gradcompat.terms.symbol_patterns import arguments_in_words, is_call

FORMAT = 1


def compile_records(authored: Authored) -> dict[str, Any]:
    """The whole knowledge base as JSON-ready data."""
    issues = [compile_record(record) for record in authored.records]
    models = [_class_fact(model) for model in authored.models]
    families = {other: name for name, facts in authored.packages.items() for other in facts.also}
    by_package: dict[str, list[int]] = {}
    for position, record in enumerate(authored.records):
        if record.withdrawn is None:
            for name in sorted({name for combination in record.affected for name in combination.packages}):
                by_package.setdefault(families.get(name, name), []).append(position)
    return {
        "format": FORMAT,
        "date": authored.date,
        "digest": digest_of(issues, models),
        "families": families,
        "conda": {other: name for name, facts in authored.packages.items() for other in facts.conda},
        "built_for": {name: facts.built_for for name, facts in authored.packages.items() if facts.built_for},
        "yanked": {name: facts.yanked for name, facts in authored.packages.items() if facts.yanked},
        "horizon": {name: [one.version, one.date] for name, one in sorted(authored.horizon.items())},
        "by_package": dict(sorted(by_package.items())),
        "index": index_of(issues),
        "models": models,
        "issues": issues,
    }


def dumps(compiled: dict[str, Any]) -> str:
    """One issue a line, so that a change of one record is a change of one line."""
    head = {key: value for key, value in compiled.items() if key != "issues"}
    lines = ",\n".join(json.dumps(issue, ensure_ascii=False) for issue in compiled["issues"])
    return json.dumps(head, ensure_ascii=False)[:-1] + ', "issues": [\n' + lines + "\n]}\n"


def compile_record(record: Record) -> dict[str, Any]:
    """One record, without what only its authors need (its examples): first what matching needs, then what is told."""
    matched = {
        "id": record.id,
        "level": record.level,
        "silent": record.silent,
        "informational": record.informational,
        "categories": record.categories,
        "affected": [_terms(combination) for combination in record.affected],
        "range_basis": record.range_basis,
        "withdrawn": record.withdrawn,
        "instead_of": record.instead_of,
    }
    return {
        **matched,
        TOLD_FROM: record.summary,
        "details": record.details,
        "symptoms": record.symptoms,
        "remedies": [_remedy(remedy) for remedy in record.remedies],
        "references": [[reference.type, reference.url] for reference in record.references],
        "bounds": [[bound.package, bound.bound, bound.basis] for bound in record.bounds],
        "evidence": record.evidence,
        "probes": [[probe.name, probe.parameters, probe.quantities, probe.combinations] for probe in record.probes],
        **({} if record.checked is None else {"checked": [record.checked.date, record.checked.what]}),
    }


def _class_fact(fact: ClassFact) -> list[Any]:
    ((package, versions),) = fact.packages.items()
    return [fact.fact, fact.value, package, versions, fact.classes]


def _terms(combination: Combination) -> list[list[Any]]:
    terms: list[list[Any]] = [
        ["absent", name] if versions == "absent" else ["package", name, versions]
        for name, versions in combination.packages.items()
    ]
    terms += [_setting(key, value) for key, value in combination.settings.items()]
    if combination.models:
        terms.append(["model", combination.models])
    if combination.symbols:
        terms.append(_symbols("symbol", combination.symbols))
    if combination.also:
        terms.append(_symbols("symbol", combination.also))
    if combination.without:
        terms.append(_symbols("without", combination.without))
    if combination.python is not None:
        terms.append(["python", combination.python])
    if combination.platform:
        terms.append(["platform", combination.platform])
    terms += [["virtual", name, versions] for name, versions in combination.virtual.items()]
    return terms


def _symbols(kind: str, symbols: list[str]) -> list[Any]:
    """What the first pattern asks of arguments is put into words here, as reading patterns of calls takes long."""
    return [kind, symbols, arguments_in_words(symbols[0])] if is_call(symbols[0]) else [kind, symbols]


def _setting(key: str, value: Any) -> list[Any]:
    """``">1"`` and ``"!=fp32"`` are comparisons; anything else is a value or a list of values."""
    match = COMPARISON.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return ["setting", key, value if isinstance(value, list) else [value]]
    return ["compare", key, match[1], number(match[2])]


def _remedy(remedy: VersionRemedy | SettingRemedy | CodeRemedy | InstallRemedy) -> list[Any]:
    match remedy:
        case VersionRemedy():
            return [remedy.kind, remedy.package, remedy.versions, remedy.note]
        case SettingRemedy():
            return ["setting", remedy.key, remedy.value, remedy.packages, remedy.note]
        case CodeRemedy():
            return ["code", remedy.text]
        case InstallRemedy():
            return ["install", remedy.text]
