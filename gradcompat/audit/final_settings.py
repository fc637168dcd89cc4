"""The settings of a training run as the records are matched with: one line a key, with where each value comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradcompat.audit.environment_findings import with_facts
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Setting, SettingValue
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.terms.defaults import defaults_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalSetting:
    """One key of a run.

    Attributes:
        key: a key of the vocabulary.
        stated: every statement about it, each value once; they disagree if there are several.
    """

    key: str
    stated: tuple[Setting, ...]

    @property
    def value(self) -> SettingValue | None:
        """The value; None if it is computed, or if the statements disagree."""
        return self.stated[0].value if len(self.stated) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A training run in one environment.

    Attributes:
        source: the files that it is made of.
        environment: the environment; empty if there is none.
        settings: what it sets, in the order of the keys.
    """

    source: str
    environment: str
    settings: tuple[FinalSetting, ...]


def run_in(environment: Environment | None, context: Context, stated: Sequence[tuple[str, SettingValue]] = ()) -> Run:
    """A run with the defaults of the tools that its environment has."""
    base = environment or Environment(source="", kind="", packages=(), closed=False)
    settings = (*base.settings, *context.settings, *defaults_of(base, context))
    by_key: dict[str, dict[tuple[str, SettingValue | None], Setting]] = {}
    for setting in with_facts(replace(base, settings=settings), stated).settings:
        values = by_key.setdefault(setting.key, {})
        identity = (type(setting.value).__name__, setting.value)
        if identity not in values or (values[identity].presumed and not setting.presumed):
            values[identity] = setting
    finals = (FinalSetting(key=key, stated=_counting(found.values())) for key, found in sorted(by_key.items()))
    return Run(source=context.source, environment=base.source, settings=tuple(finals))


def _counting(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """What is stated; what is presumed where nothing is."""
    settings = tuple(settings)
    return tuple(setting for setting in settings if not setting.presumed) or settings
