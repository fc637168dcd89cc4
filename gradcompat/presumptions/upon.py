"""An environment that may be presumed upon: with the engines that it names, and what its run leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gradcompat.model.environment import Environment, Location, Setting
from gradcompat.presumptions.engines import FRAMEWORK_KEY, NO_TRAINER, named_engines
from gradcompat.presumptions.serving import SERVING, serves
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.symbol_patterns import CALLS_KEY, LIBRARIES_KEY, SYMBOLS_KEY

if TYPE_CHECKING:
    from gradcompat.model.code_use import CodeUse, ProjectCode

# Facts of which a defect asks whether a run says them, or leaves them to what it trains with.
_CHOSEN = {"precision.mode": "precision.chosen", "model.attn_implementation": "model.attention_chosen"}
_TRL = "trl"
_ACCELERATE = "accelerate"
# Packages of which any part drives training.
_TRAINERS = frozenset({"trl", "lightning", "pytorch_lightning", "torchtune", "sentence_transformers"})


def presumed_upon(
    environment: Environment,
    names: Iterable[str],
    *,
    run: bool,
    code: ProjectCode | None = None,
    logged: bool = False,
) -> Environment:
    """The environment with the engines that it names and the defaults of its trainer, on which presumptions rest.

    Args:
        environment: with everything that is stated of the run.
        names: canonical names of its packages, in their order.
        run: its settings are those of a run that was seen, so that what is not among them was left out.
        code: what the code beside it takes from packages; if there is code and no trainer in it, none is used.
            Without code (None), none is used where the environment serves models and trains none.
        logged: there is a log of training, whatever else the environment is for.
    """
    names = tuple(names)
    uses = () if code is None else code.uses
    stated = {setting.key: setting.value for setting in environment.settings if not setting.presumed}
    engines = named_engines(names, stated, run=run)
    settings = environment.settings
    if run:
        drivers = {setting.value for setting in settings if setting.key == FRAMEWORK_KEY and not setting.presumed}
        if drivers and drivers.isdisjoint({_TRL, None}):
            engines -= {_TRL}  # it may be installed, and none of its trainers drives this run
        # A lockfile alone needs no table of defaults, and has no batches.
        from gradcompat.presumptions.label_counts import equal_labels
        from gradcompat.presumptions.left_out import left_out
        from gradcompat.presumptions.padding_tokens import padding

        settings = tuple(setting for setting in settings if not _of_absent_driver(setting, engines))
        if uses and FRAMEWORK_KEY not in {setting.key for setting in settings}:
            loop = _own_loop(uses)
            if loop is not None:
                place = Location(path=environment.source)  # a loop of the project's own takes what this config says
                settings = (*settings, Setting(key=FRAMEWORK_KEY, value=loop, location=place, presumed=True))
        settings = tuple(_with_code(setting, uses) for setting in settings)
        settings = (*settings, *left_out(replace(environment, settings=settings)), *_choices(environment))
        of_batches = (equal_labels(environment.settings), padding(environment.settings))
        settings = (*settings, *(one for one in of_batches if one is not None))
    elif FRAMEWORK_KEY not in stated:
        serving = code is None and not logged and serves(zip(names, environment.packages, strict=True))
        if serving:
            engines |= {SERVING}
        if code is not None or serving:
            place = Location(path=environment.source)
            if code is not None:
                taken = tuple(dict.fromkeys(use.full_name for use in uses))
                settings = (*settings, Setting(key=SYMBOLS_KEY, value=taken, location=place, presumed=True))
            if code is not None and code.calls:
                settings = (*settings, _calls(code.calls))
            # Which of the trainers drives it, if the code names one, is seen in a run alone.
            settings = (*settings, Setting(key=FRAMEWORK_KEY, value=_own_loop(uses), location=place, presumed=True))
    return replace(environment, settings=settings, engines=engines)


def _calls(calls: Sequence[tuple[str, Location]]) -> Setting:
    """What programs call that train nothing, and where."""
    names, places = (tuple(parts) for parts in zip(*calls, strict=True))
    return Setting(key=CALLS_KEY, value=names, location=places[0], places=places, presumed=True)


def _choices(environment: Environment) -> Iterator[Setting]:
    """Whether a run says what it could leave to a default, even where that is no literal."""
    said = {setting.key: setting.location for setting in environment.settings}
    for key, chosen in _CHOSEN.items():
        if chosen not in said:
            place = said.get(key, Location(path=environment.source))
            yield Setting(key=chosen, value=key in said, location=place, presumed=key not in said)


def _with_code(setting: Setting, uses: Sequence[CodeUse]) -> Setting:
    """What the tool of a config imports, and what the code beside it does, which the tool may be told to run."""
    if setting.key != LIBRARIES_KEY or not isinstance(setting.value, tuple):
        return setting
    return replace(setting, value=tuple(dict.fromkeys((*setting.value, *(use.root for use in uses)))))


def _of_absent_driver(setting: Setting, engines: frozenset[str]) -> bool:
    """A trainer that is presumed by the names of its arguments, and that the environment does not name."""
    return setting.presumed and setting.key == FRAMEWORK_KEY and setting.value == _TRL and _TRL not in engines


def _own_loop(uses: Sequence[CodeUse]) -> str | None:
    """What drives training in a project whose code names no trainer: nothing, or loops of its own with accelerate."""
    read = {(use.root, use.location.path) for use in uses if use.kind == "attribute"}
    # `import sentence_transformers` is for what the file reads of it.
    uses = [use for use in uses if use.name is not None or (use.root, use.location.path) not in read]
    if any(map(_names_trainer, uses)):
        return None
    parts = [use.name or "" for use in uses if use.root == _ACCELERATE]
    if any("Accelerator" in name for name in parts):
        return _ACCELERATE
    return None if "" in parts else NO_TRAINER  # of the whole package any part may be used


def _names_trainer(use: CodeUse) -> bool:
    """Does the code use what drives training? Much of transformers only loads models."""
    name = use.name or ""
    if use.root == "transformers":
        # A loop of one's own may take helpers from `trainer_pt_utils` and `trainer_utils`.
        return (
            "Trainer" in name or "TrainingArguments" in name or (".train" in use.module and "utils" not in use.module)
        )
    if use.root == "sentence_transformers" and use.name is not None:
        return "Train" in f"{use.module}.{use.name}" or ".trainer" in use.module  # the rest encodes, or fits by itself
    return use.root in _TRAINERS
