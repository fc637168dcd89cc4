"""Facts of a run that follow from the class of its model, in the release that has the class.

The table of classes is knowledge (`models:` in ``knowledge/issues.yaml``). Which release counts is decided where a
record is matched, since a plan or a lockfile may hold several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from gradcompat.model.class_fact import ClassFact
from gradcompat.model.environment import Environment, Setting
from gradcompat.requirements.versions import VersionSet, any_of
from gradcompat.startup.lazy_dataclasses import replace

MODEL_KEY = "model.architecture"
METHOD_KEY = "training.method"
LOSS_KEY = "model.uses_num_items_in_batch"
# Methods whose trainers compute a loss of their own: how the model would divide its loss is no fact of such a run.
OWN_LOSS = frozenset(
    {
        *("dpo", "kto", "bco", "cpo", "orpo", "grpo", "rloo", "ppo", "reward", "rm", "prm", "gkd", "gold"),
        *("online_dpo", "xpo", "nash_md"),
    }
)


def with_class_facts(environment: Environment, known: Callable[[str], Sequence[ClassFact]]) -> Environment:
    """The environment with the facts of the classes that its run names; those that all of the classes agree on."""
    facts = _agreed([known(name) for name in classes_of(environment.settings)])
    if has_own_loss(environment.settings):
        facts = tuple(fact for fact in facts if fact.key != LOSS_KEY)
    return environment if facts == environment.class_facts else replace(environment, class_facts=facts)


def has_own_loss(settings: Iterable[Setting]) -> bool:
    """Is every method that is stated one whose trainer computes the loss itself?"""
    methods = [setting.value for setting in settings if setting.key == METHOD_KEY]
    return bool(methods) and OWN_LOSS.issuperset(methods)


def classes_of(settings: Iterable[Setting]) -> tuple[str, ...]:
    """The classes that are stated, or else presumed; none where a value cannot be read."""
    named = [setting for setting in settings if setting.key == MODEL_KEY]
    counting = [setting for setting in named if not setting.presumed] or named
    names: dict[str, None] = {}
    for setting in counting:
        if setting.value is None:
            return ()
        names.update(dict.fromkeys(setting.value if isinstance(setting.value, tuple) else (str(setting.value),)))
    return tuple(names)


def _agreed(classes: Sequence[Sequence[ClassFact]]) -> tuple[ClassFact, ...]:
    """What is true of each of the classes, in the releases in which it is."""
    if not classes:
        return ()
    said = [_versions(facts) for facts in classes]
    agreed = (
        ((key, value, package), reduce(VersionSet.__and__, [one.get((key, value, package), _NEVER) for one in said]))
        for key, value, package in said[0]
    )
    return tuple(
        ClassFact(key=key, value=value, package=package, versions=versions)
        for (key, value, package), versions in agreed
        if versions
    )


_NEVER = VersionSet(())


def _versions(facts: Iterable[ClassFact]) -> dict[tuple[str, bool, str], VersionSet]:
    found: dict[tuple[str, bool, str], list[VersionSet]] = {}
    for fact in facts:
        found.setdefault((fact.key, fact.value, fact.package), []).append(fact.versions)
    return {what: any_of(versions) for what, versions in found.items()}
