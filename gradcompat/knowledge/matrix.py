"""Tables of verdicts from measured rows, as they stand in ``measured/`` or as they ship with the package."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from gradcompat.errors import KnowledgeError
from gradcompat.model.matrix import Cell, Matrix
from gradcompat.model.probe import Measurement, Outcome, ProbeSpec, Row
from gradcompat.recipes.recipe import Recipe
from gradcompat.recipes.table import BY_NAME
from gradcompat.recipes.verdict import judge, wrong_values
from gradcompat.requirements.versions import parse_version

SHIPPED = Path(__file__).parent / "measured.json"
FORMAT = 2
_WORST: tuple[Outcome | None, ...] = ("reproduced", "not_reproduced", "inconclusive", "skipped", None)
_SIGNS = {"reproduced": "X", "not_reproduced": ".", "inconclusive": "?", "skipped": "-"}
_MEANINGS = {
    "X": "wrong",
    ".": "right",
    "?": "inconclusive",
    "-": "cannot be run there",
    " ": "not run",
}


def compile_rows(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as JSON-ready data, without what only a new judgement of thresholds would need."""
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        measurement = row.measurement
        recipe = BY_NAME.get(measurement.spec.name)
        if recipe is None:
            continue
        group = groups.setdefault(
            (row.package, str(measurement.spec)),
            {
                "package": row.package,
                "probe": measurement.spec.name,
                "parameters": dict(measurement.spec.parameters),
                "rows": [],
            },
        )
        judged = {expectation.value for expectation in (*recipe.expectations, *recipe.controls)}
        values = {name: _short(value) for name, value in measurement.values.items() if name in judged}
        made_with = [measurement.packages.get("torch"), measurement.python, measurement.device, row.date]
        group["rows"].append([row.version, measurement.state, measurement.reason, values, made_with, dict(row.beside)])
    return {"format": FORMAT, "groups": list(groups.values())}


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def dumps(compiled: dict[str, Any]) -> str:
    """One probe a line."""
    lines = ",\n".join(json.dumps(group, ensure_ascii=False) for group in compiled["groups"])
    return f'{{"format": {compiled["format"]}, "groups": [\n{lines}\n]}}\n'


def load_rows(path: Path = SHIPPED) -> tuple[Row, ...]:
    """The rows that ship with the package; none where it has none.

    Raises:
        KnowledgeError: if the file is broken.
    """
    if not os.path.exists(path):
        return ()
    try:
        compiled = json.loads(path.read_bytes())
        if compiled["format"] != FORMAT:
            raise KnowledgeError("is of another format", path=str(path), hint="install gradcompat again")
        return tuple(_row(group, row) for group in compiled["groups"] for row in group["rows"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise KnowledgeError(f"cannot be read: {error}", path=str(path), hint="install gradcompat again") from None


def _row(group: dict[str, Any], row: list[Any]) -> Row:
    version, state, reason, values, (torch, python, device, date), beside = row
    measurement = Measurement(
        spec=ProbeSpec(name=group["probe"], parameters=group["parameters"]),
        state=state,
        reason=reason,
        values=values,
        packages={} if torch is None else {"torch": torch},
        python=python,
        device=device,
    )
    return Row(
        package=group["package"],
        version=version,
        measurement=measurement,
        platform="",
        digest="",
        date=date,
        beside=beside,
    )


def matrices(rows: Iterable[Row]) -> tuple[Matrix, ...]:
    """A table for each package and recipe that was measured."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.measurement.spec.name in BY_NAME:
            groups.setdefault((row.package, row.measurement.spec.name), []).append(row)
    return tuple(_matrix(package, BY_NAME[name], groups[package, name]) for package, name in sorted(groups))


def _matrix(package: str, recipe: Recipe, rows: Sequence[Row]) -> Matrix:
    measured = {str(row.measurement.spec): row.measurement.spec for row in rows}
    first = [ProbeSpec(name=recipe.name, parameters=parameters) for parameters in recipe.variants]
    ordered = {str(spec): spec for spec in first if str(spec) in measured}
    ordered |= {text: spec for text, spec in measured.items() if text not in ordered}
    releases = sorted({row.version for row in rows}, key=release_key)
    cells: dict[tuple[str, str], Cell] = {}
    for row in rows:
        place, cell = (str(row.measurement.spec), row.version), _cell(recipe, row.measurement)
        # Of several devices or seeds the worst counts: a defect that one of them shows is there.
        if place not in cells or _worse(cell, cells[place]):
            cells[place] = cell
    signs = {cell.sign for cell in cells.values()}
    if any((variant, release) not in cells for variant in ordered for release in releases):
        signs.add(" ")
    own = dict(recipe.signs.values())
    return Matrix(
        package=package,
        recipe=recipe.name,
        summary=recipe.summary,
        variants=tuple(ordered.values()),
        labels=tuple(label_of(spec) for spec in ordered.values()),
        releases=tuple(releases),
        cells=cells,
        signs={sign: {**_MEANINGS, **own}[sign] for sign in (*_MEANINGS, *own) if sign in signs},
        made_with=_made_with(rows),
    )


def release_key(text: str) -> tuple[bool, Version]:
    """What a release is sorted by: whether it is a version, and which."""
    version = parse_version(text)
    return version is not None, version or Version("0")


def _worse(one: Cell, other: Cell) -> bool:
    return _WORST.index(one.outcome) < _WORST.index(other.outcome)


def _cell(recipe: Recipe, measurement: Measurement) -> Cell:
    outcome, text = judge(recipe, measurement)
    sign = _SIGNS[outcome]
    if outcome == "reproduced":
        letters = {recipe.signs.get(value, (sign, ""))[0] for value in wrong_values(recipe, measurement)}
        sign = letters.pop() if len(letters) == 1 else sign
    return Cell(outcome=outcome, sign=sign, text=text)


def label_of(spec: ProbeSpec) -> str:
    """The parameters in a few words: ``llama, labels unequal``."""
    words = []
    for name, value in spec.parameters.items():
        if value is True:
            words.append(name.replace("_", " "))
        elif value is not False:
            plain = str(value).replace("_", " ")
            words.append(plain if name in ("model", "setup") else f"{name.replace('_', ' ')} {plain}")
    return ", ".join(words) or "as it is"


def _made_with(rows: Sequence[Row]) -> str:
    torch = sorted({row.measurement.packages["torch"] for row in rows if "torch" in row.measurement.packages})
    pythons = sorted({row.measurement.python for row in rows if row.measurement.python})
    devices = sorted({row.measurement.device for row in rows})
    dates = sorted({row.date for row in rows})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    named = ((f"{what} {', '.join(found)}") for what, found in (("torch", torch), ("Python", pythons)) if found)
    return ", ".join((*named, *devices, when))
