"""Holds the facts of model classes against the rows of ``accumulation_equivalence``.

In each release a class trains like one of three reference models of the recipe: a language model that divides by the
count that the Trainer hands over, a module that takes ``**kwargs`` and does not, and one that does neither. Which one
it is must be what its facts say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.version import Version

from gradcompat.knowledge.matrix import release_key
from gradcompat.model.class_fact import ClassFact
from gradcompat.model.probe import ProbeSpec, Row
from gradcompat.recipes.run_settings import CLASSES
from gradcompat.recipes.table import BY_NAME
from gradcompat.recipes.verdict import judge, wrong_values
from gradcompat.requirements.versions import locate
from gradcompat.truth import Truth

RECIPE = "accumulation_equivalence"
_USES, _TAKES = "model.uses_num_items_in_batch", "model.forward_takes_kwargs"

# Reference model → the facts that it stands for; what divides by the count takes **kwargs to get it.
_REFERENCES: dict[str, dict[str, bool]] = {
    "llama": {_USES: True},
    "toy_kwargs": {_USES: False, _TAKES: True},
    "toy_plain": {_USES: False, _TAKES: False},
}
_VARIANTS: tuple[dict[str, str], ...] = ({}, {"labels": "unequal"})

Wrong = frozenset[str]


def disagreements(known: Callable[[str], Sequence[ClassFact]], rows: Iterable[Row]) -> Iterator[str]:
    """A sentence for each class whose rows say otherwise than its facts, or of which too little stands there."""
    cells = _cells(rows)
    releases = sorted({version for version, *_ in cells})
    for model, name in CLASSES.items():
        facts = known(name)
        found: dict[str, list[Version]] = {}
        for version in releases:
            like = _alike(cells, model, version)
            if 0 < len(like) < len(_REFERENCES) and not any(_agrees(_REFERENCES[one], facts, version) for one in like):
                found.setdefault(" or ".join(_written(_REFERENCES[one]) for one in like), []).append(version)
        for said, versions in found.items():
            listed = ", ".join(map(str, versions))
            yield f"{name}: the rows of {RECIPE}({model}) in transformers {listed} say {said}, and `models` does not"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How the facts of classes compare with what was measured, in cells of a class and a release.

    Attributes:
        agree: cells in which the class trains as its facts say.
        unknown: those of which the facts say too little.
        differ: the others, each as the class and the release.
    """

    agree: int
    unknown: int
    differ: tuple[tuple[str, Version], ...]


def agreement(known: Callable[[str], Sequence[ClassFact]], rows: Iterable[Row]) -> Agreement:
    """Hold the facts of classes against every measured cell that tells the reference models apart."""
    cells = _cells(rows)
    agree = unknown = 0
    differ: list[tuple[str, Version]] = []
    for model, name in CLASSES.items():
        facts = known(name)
        for version in sorted({version for version, measured, _ in cells if measured == model}):
            like = [_REFERENCES[one] for one in _alike(cells, model, version)]
            if not 0 < len(like) < len(_REFERENCES):
                continue
            if any(_agrees(one, facts, version) for one in like):
                agree += 1
            elif any(_may_agree(one, facts, version) for one in like):
                unknown += 1
            else:
                differ.append((name, version))
    return Agreement(agree=agree, unknown=unknown, differ=tuple(differ))


def _may_agree(wanted: dict[str, bool], facts: Sequence[ClassFact], version: Version) -> bool:
    """Does nothing that is known of the class contradict it?"""
    contrary = {key: not value for key, value in wanted.items()}
    return not any(_agrees({key: value}, facts, version) for key, value in contrary.items())


def _cells(rows: Iterable[Row]) -> dict[tuple[Version, str, int], Wrong]:
    """Release, model and variant → the values that are wrong there."""
    recipe = BY_NAME[RECIPE]
    specs = {
        str(ProbeSpec(name=RECIPE, parameters={"model": model, **variant})): (model, index)
        for model in recipe.parameters["model"]
        for index, variant in enumerate(_VARIANTS)
    }
    cells: dict[tuple[Version, str, int], Wrong] = {}
    for row in rows:
        place = specs.get(str(row.measurement.spec))
        known, version = release_key(row.version)
        if place is None or not known or judge(recipe, row.measurement)[0] not in ("reproduced", "not_reproduced"):
            continue
        model, variant = place
        cells[version, str(model), variant] = frozenset(wrong_values(recipe, row.measurement))
    return cells


def _alike(cells: dict[tuple[Version, str, int], Wrong], model: str, version: Version) -> tuple[str, ...]:
    """The reference models that go wrong where the model does, and nowhere else; none if nothing was measured."""
    variants = [index for index in range(len(_VARIANTS)) if (version, model, index) in cells]
    return tuple(
        reference
        for reference in _REFERENCES
        if variants
        and all(cells.get((version, reference, index)) == cells[version, model, index] for index in variants)
    )


def _agrees(wanted: dict[str, bool], facts: Sequence[ClassFact], version: Version) -> bool:
    window = locate(str(version))
    return window is not None and all(
        any(fact.key == key and fact.value is value and fact.versions.truth(window) is Truth.YES for fact in facts)
        for key, value in wanted.items()
    )


def _written(facts: dict[str, bool]) -> str:
    return " with ".join(f"{key} {str(value).lower()}" for key, value in facts.items())
