"""Joins what several files say into the runs that they describe.

A run has an entry point that trains: a config that nothing names, a demo or a test is read, and is no run. A launch
script names a config, the config names a DeepSpeed file, the model lies in a folder with a config.json: that is one
run. Two configs of which none names the other are two runs, and are never mixed, unless the user names both with
`--context`. A config that was composed of several files (Hydra) holds what they say; what it could have chosen and has
not says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

from gradcompat.budget import Budget
from gradcompat.model.context import (
    ConfigValue,
    Context,
    LaunchOption,
    OptionalUse,
    OptionDefault,
    OptionTest,
    Override,
    Unset,
)
from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.scanners.any_config import opened, recomposed
from gradcompat.scanners.code.option_branches import answer
from gradcompat.scanners.configs.argument_blocks import (
    settings_of_lookup,
    with_blocks,
    with_items,
    with_passed_blocks,
)
from gradcompat.scanners.configs.model_names import architecture_of
from gradcompat.scanners.launches.launch_options import given_option, settings_of_option
from gradcompat.scanners.launches.launched_calls import calls_of_tools, parsed_calls, with_launches
from gradcompat.scanners.named_files import is_meant, path_of
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.terms.class_facts import MODEL_KEY
from gradcompat.terms.symbol_patterns import CALLS_KEY, SYMBOLS_KEY, name_of, truth_of_use
from gradcompat.terms.term_keys import IMPORTED_KEY
from gradcompat.truth import Truth

# The name of a file → the paths of that name, each with where among some contexts it is.
_Called: TypeAlias = Mapping[str, Sequence[tuple[int, PurePosixPath]]]
# Files that are read again to compose configs as command lines say, for one environment.
COMPOSED_FILES = 1_000

_LAUNCH = "launch-script"
PROGRAMS = ("python", "notebook")
_COMPOSED = "hydra"
_LAUNCH_CONFIG, _CLI_CONFIG = "accelerate", "lightning-cli"
_FRAMEWORK = "training.framework"
_NAME = "model.name"
_NORM, _ENGINE_NORM = "training.max_grad_norm", "deepspeed.gradient_clipping"
_TRAINERS = frozenset({"transformers.Trainer", "trl"})
_USUAL_NORM = 1.0
_ARGUMENTS = "transformers"  # the arguments of a trainer in a file, which a program parses
_READS_ARGUMENTS = frozenset({"parse_json_file", "parse_yaml_file"})
_NAMES_CLASSES = frozenset({_CLI_CONFIG, _COMPOSED})  # configs that say what is made of which class
# What drives a loop that accelerate prepares.
_ACCELERATED = frozenset({"accelerate", "transformers.Trainer", "trl", "sentence-transformers"})
# Trainers that copy the model to each GPU that their one process sees.
_REPLICATING = frozenset({"transformers.Trainer", "trl", "sentence-transformers"})
_OVER_SEVERAL = ("transformers.*from_pretrained() if device_map is not None", "unsloth.*")
_PROCESSES = "distributed.processes"
_STRATEGY = "distributed.strategy"
_ACCUMULATION = "training.gradient_accumulation_steps"
_ALIKE = "deepspeed.same_accumulation"
_SHARDING = ("fsdp.", "deepspeed.")
# What hands its values to the program of a run as arguments, and is no config of an engine or a model.
_HANDED_ON = frozenset({_LAUNCH, "transformers", "trl", "hf-arguments", "hf-training-args"})
_OF_CODE = frozenset({SYMBOLS_KEY, CALLS_KEY})
# What a run does that leaves out what its program does in a branch.
_WITHOUT_BRANCH: dict[str, SettingValue] = {
    "peft.method": "none",
    "quantization.method": "none",
    "quantization.bits": 16,
    "peft.prepare_model_for_kbit_training": False,
}
# What a program makes once, in one of its branches or in another.
_ONE_OF = frozenset({"optimizer.name", "optimizer.library"})
# Methods by which a loop or a trainer, of whichever library, goes on.
_STEPS = frozenset(
    {
        *("backward", "train", "fit", "step", "train_batch", "train_step", "training_step", "learn", "run", "main"),
        *("call", "check_call", "system", "Popen", "launch", "spawn"),  # or another program does
    }
)
_OWN_PROCESSES = frozenset({"torch.multiprocessing.spawn", "torch.multiprocessing.start_processes"})  # of what is read
# What a training leaves beside the model that it has trained.
_LEFT_BEHIND = frozenset({"hf-model", "hf-adapter", "hf-trainer-state"})


@dataclass(frozen=True, slots=True)
class Assembly:
    """What some files describe.

    Attributes:
        runs: one context for each training run, with the settings of all files that belong to it.
        unused: what was read and belongs to no run: a config that nothing names, a program that trains nothing.
    """

    runs: tuple[Context, ...]
    unused: tuple[Context, ...]


def join(contexts: Sequence[Context], *, together: bool = False, budget: Budget | None = None) -> list[Context]:
    """The runs that these files describe, as :func:`assemble` has them; what was named is always one."""
    assembly = assemble(contexts, together=together, budget=budget)
    return [*assembly.runs, *(assembly.unused if together else ())]


def join_all(contexts: Sequence[Context], budget: Budget) -> list[Context]:
    """One run of all these files, as the user has said that they are; none without files.

    A launch script comes first, since its command line overrides what the others say.
    """
    if not contexts:
        return []
    first = (
        [context for context in contexts if context.kind == _LAUNCH]
        or [context for context in contexts if context.run]
        or [contexts[0]]
    )
    ordered = [first[0], *(context for context in contexts if context is not first[0])]
    modules = {module for context in ordered for module in context.modules}
    return [
        _joined(
            _composed(
                [context for context in ordered if context.source not in modules or context is first[0]],
                budget,
                ordered,
                {},
            )
        )
    ]


def assemble(contexts: Sequence[Context], *, together: bool = False, budget: Budget | None = None) -> Assembly:
    """The runs that these files describe, and the files that are part of none.

    Args:
        contexts: what was scanned, each file once.
        together: the user has named these files as belonging together: parts that no run names belong to every run.
        budget: files that may be read again; what a config would be, composed beyond that, is unknown.

    Returns:
        The runs in the order of the files. A run starts with something that trains: a launch script, a program, the
        config of a trainer. What no run names is unused, but for what a trained model leaves beside the only run.
    """
    budget = Budget(COMPOSED_FILES) if budget is None else budget
    called = _by_name(contexts)
    named = {index: _named(context, contexts, called) for index, context in enumerate(contexts)}
    for index, context in enumerate(contexts):
        if context.option_files:
            launches = [one for number, one in enumerate(contexts) if one.kind == _LAUNCH and index in named[number]]
            read = replace(context, refers_to=_default_files(context, launches))
            named[index] += [one for one in _named(read, contexts, called) if one not in (*named[index], index)]
    modules = {module for context in contexts for module in context.modules}
    imported = {index for index, context in enumerate(contexts) if context.source in modules}
    inner = _held(contexts) | _not_chosen(contexts, together=together) | imported
    made = _made(contexts)
    referred = {target for targets in (*named.values(), *made.values()) for target in targets} | inner
    idle = {
        index
        for index, context in enumerate(contexts)
        if _trains_nothing(context, [contexts[i] for i in named[index] or _of_that_name(context, called)])
    }
    runs = [index for index, context in enumerate(contexts) if context.run and index not in (*referred, *idle)]
    # Configs that name one another in a circle are still runs.
    runs = runs or [index for index, context in enumerate(contexts) if context.run and index not in (*inner, *idle)]
    used: set[int] = set(inner)
    members: dict[int, list[int]] = {}
    for run in runs:
        # `--config-name` takes the place of the config that the program names.
        instead = {index for index in named[run] if contexts[index].composed is not None}
        members[run] = [
            index
            for index in _reached(run, named)
            if index == run
            or (index not in inner and (not instead or contexts[index].composed is None or index in instead))
        ]
        members[run] += _made_by(members[run], contexts, made)
        members[run] += _named_in_configs([contexts[index] for index in members[run]], contexts, called)
        used.update(members[run])
    loose = [index for index, context in enumerate(contexts) if index not in used]
    if together or len(runs) == 1:
        for run in runs:
            kinds = {contexts[index].kind for index in members[run]}
            for index in loose:
                left_behind = contexts[index].kind in _LEFT_BEHIND and contexts[index].kind not in kinds
                alone = sum(1 for other in loose if contexts[other].kind == contexts[index].kind) == 1
                if together or (alone and left_behind):
                    members[run].append(index)
                    used.add(index)
    beside = _lying_beside(contexts, members, used, named)
    used.update(beside.values())
    launched = {run: [_presumed(contexts[beside[run]])] if run in beside else [] for run in runs}
    shared: dict[str, object] = {}
    composed = [
        _composed([*(contexts[index] for index in members[run]), *launched[run]], budget, contexts, shared)
        for run in runs
    ]
    joined = [_joined(one) for one in composed]
    taken = {member.source for one in composed for member in one}
    used.update(index for index, context in enumerate(contexts) if context.source in taken)
    # The config that a program names is a run without the command line that names another one.
    left = [index for index, context in enumerate(contexts) if context.run and index not in used and index not in idle]
    for index in left:
        modules_made = _made_by([index], contexts, made)
        used.update((index, *modules_made))
        alone_run = [contexts[index], *(contexts[module] for module in modules_made)]
        joined.append(_joined(alone_run) if modules_made else contexts[index])
    rest = [replace(one, run=False) for index, one in enumerate(contexts) if index not in used]
    if not runs and rest and together:
        return Assembly((_joined(rest),), ())
    return Assembly(tuple(joined), tuple(rest))


def _of_that_name(launch: Context, called: _Called) -> Sequence[int]:
    """The program that a command starts by a path which leads nowhere, if there is one of its name."""
    if launch.kind != _LAUNCH or len(launch.targets) != 1:
        return ()
    wanted = PurePosixPath(launch.targets[0].replace("\\", "/"))
    alike = [index for index, _ in called.get(wanted.name, ())]
    return alike if len(alike) == 1 and not wanted.is_absolute() else ()


def _trains_nothing(launch: Context, named: Sequence[Context]) -> bool:
    """Does a command start programs alone that were read as a whole, and that take no step of any training?

    What a program is called let the command be taken for a training: ``python eval_trained.py``. A command that states
    who drives is one, as ``python main.py fit`` of a LightningCLI, which takes its steps by itself.
    """
    if any(setting.key == _FRAMEWORK for setting in launch.settings):
        return False
    programs = [one for one in named if one.kind in PROGRAMS]
    if launch.kind != _LAUNCH or not launch.targets or len(programs) != len(launch.targets):
        return False
    symbols = [one.value for program in programs for one in program.settings if one.key == SYMBOLS_KEY]
    names = {name for value in symbols if isinstance(value, tuple) for name in value} - _OWN_PROCESSES
    words = {name.rpartition(".")[2] for name in names}
    return bool(symbols) and None not in symbols and not any(one.run for one in programs) and words.isdisjoint(_STEPS)


def _made(contexts: Sequence[Context]) -> dict[int, list[int]]:
    """The modules whose classes each config of a run has made; what a part of one makes, the run does that takes it."""
    at = {context.source: index for index, context in enumerate(contexts) if context.kind in PROGRAMS}
    return {
        index: [at[source] for source in context.makes if source in at]
        for index, context in enumerate(contexts)
        if context.makes and context.run
    }


def _made_by(members: Sequence[int], contexts: Sequence[Context], made: Mapping[int, Sequence[int]]) -> list[int]:
    """The modules that the configs of a run have made, but for those that a program of it imports anyhow."""
    imported = {module for index in members for module in contexts[index].modules}
    found = dict.fromkeys(one for index in members for one in made.get(index, ()))
    return [one for one in found if one not in members and contexts[one].source not in imported]


def _named_in_configs(members: Sequence[Context], contexts: Sequence[Context], called: _Called) -> list[int]:
    """The files that the configs of a run name where a program of it looks for one: ``deepspeed=cfg["deepspeed"]``."""
    paths = {lookup.path for member in members for lookup in member.lookups if lookup.file}
    found: dict[int, None] = {}
    for config in members if paths else ():
        files = tuple(one.value for one in config.values if one.path in paths and isinstance(one.value, str))
        found.update(dict.fromkeys(_named(replace(config, refers_to=files), contexts, called)))
    return [index for index in found if contexts[index] not in members]


def _lying_beside(
    contexts: Sequence[Context],
    members: Mapping[int, Sequence[int]],
    used: Collection[int],
    named: Mapping[int, Sequence[int]],
) -> dict[int, int]:
    """What belongs to a run although no file names it, as the command that does is often only typed.

    For a program that accelerate may launch it is the one accelerate config in its folder; for a config of LightningCLI
    the one program there that makes such a CLI; for a config of Hydra the one program that composes it, which makes
    what trains by the config alone; for a file of arguments the one program above it that parses such files. Where a
    launch script starts the run nothing is added.
    """
    configs: dict[PurePosixPath, list[int]] = {}
    for index, context in enumerate(contexts):
        if context.kind == _LAUNCH_CONFIG:
            configs.setdefault(PurePosixPath(context.source).parent, []).append(index)
    found: dict[int, int] = {}
    for run in members:
        program = contexts[run]
        beside = configs.get(PurePosixPath(program.source).parent, [])
        drivers = {setting.value for setting in program.settings if setting.key == _FRAMEWORK}
        if program.kind in PROGRAMS and len(beside) == 1 and beside[0] not in used and drivers & _ACCELERATED:
            found[run] = beside[0]
        if program.kind == _COMPOSED:
            composing = [
                index
                for index, context in enumerate(contexts)
                if context.kind in PROGRAMS and index not in used and run in named[index]
            ]
            if len(composing) == 1:
                found[run] = composing[0]
        if program.kind == _ARGUMENTS:
            parsing = [
                index
                for index, context in enumerate(contexts)
                if _parses_arguments(context)
                and PurePosixPath(program.source).is_relative_to(PurePosixPath(context.source).parent)
            ]
            if len(parsing) == 1:
                found[run] = parsing[0]
        if program.kind == _CLI_CONFIG:
            folder = PurePosixPath(program.source).parent
            makers = [
                index
                for index, context in enumerate(contexts)
                if index not in used and not context.run and _makes_cli(context)
            ]
            makers = [index for index in makers if PurePosixPath(contexts[index].source).parent == folder]
            if len(makers) == 1:
                found[run] = makers[0]
    return found


def _makes_cli(program: Context) -> bool:
    symbols = (setting.value for setting in program.settings if setting.key == "code.symbols")
    return program.kind in PROGRAMS and any(
        name.endswith(".LightningCLI") for value in symbols if isinstance(value, tuple) for name in value
    )


def _parses_arguments(program: Context) -> bool:
    """Does a program that trains take its arguments from a file?"""
    symbols = (setting.value for setting in program.settings if setting.key == SYMBOLS_KEY)
    called = {name.rpartition(".")[2] for value in symbols if isinstance(value, tuple) for name in value}
    return program.kind in PROGRAMS and program.run and not _READS_ARGUMENTS.isdisjoint(called)


def _presumed(context: Context) -> Context:
    if context.kind != _LAUNCH_CONFIG:
        return context
    settings = tuple(replace(setting, presumed=setting.value is not None) for setting in context.settings)
    return replace(context, settings=settings)


def reached(contexts: Sequence[Context], starts: Sequence[str]) -> dict[str, tuple[Context, ...]]:
    """For each of some files the context of it, of the modules that it imports and of what these files name."""
    called = _by_name(contexts)
    at = {context.source: index for index, context in enumerate(contexts)}
    found: dict[str, tuple[Context, ...]] = {}
    for start in starts:
        waiting = [at[start]]
        for index in waiting:
            modules = (at[module] for module in contexts[index].modules if module in at)
            new = dict.fromkeys((*modules, *_named(contexts[index], contexts, called)))
            waiting += [one for one in new if one not in waiting]
        found[start] = tuple(contexts[index] for index in waiting)
    return found


def _by_name(contexts: Sequence[Context]) -> _Called:
    """The name of a file → the paths of that name, each with where among the contexts it is."""
    called: dict[str, list[tuple[int, PurePosixPath]]] = {}
    for index, context in enumerate(contexts):
        path = path_of(context.source)
        called.setdefault(path.name, []).append((index, path))
    return called


def _held(contexts: Sequence[Context]) -> set[int]:
    """The files whose content another one has in its own settings; what is composed itself may be a run as well."""
    held = {source for context in contexts if context.composed is not None for source in context.composed.holds}
    return {index for index, one in enumerate(contexts) if one.composed is None and one.source in held}


def _not_chosen(contexts: Sequence[Context], *, together: bool) -> set[int]:
    """What stands in the groups of a composed config, and parts that only add to it: chosen or not, it is no run.

    One that the user has named beside the config is meant; several of one folder have come with their folder.
    """
    composed = [context for context in contexts if context.composed is not None]
    groups = {group for context in composed if context.composed is not None for group in context.composed.groups}
    roots = {PurePosixPath(context.source).parent for context in composed}
    found: set[int] = set()
    folders = [PurePosixPath(context.source).parent for context in contexts]
    counts = Counter(folders)
    for index, (context, folder) in enumerate(zip(contexts, folders, strict=True)):
        if together and counts[folder] == 1:
            continue
        part = context.kind == _COMPOSED and not context.run and not roots.isdisjoint(folder.parents)
        if part or (folder.as_posix() in groups and context.source.endswith((".yaml", ".yml"))):
            found.add(index)
    return found


def _composed(
    members: list[Context], budget: Budget, contexts: Sequence[Context], shared: dict[str, object]
) -> list[Context]:
    """The members of a run, with configs composed as its command lines say, and the modules of what these make.

    Args:
        members: the run, first what starts it.
        budget: files that may be read again.
        contexts: all files that were scanned.
        shared: what is kept between the runs of a folder.
    """
    first, *others = members
    if not first.overrides or all(other.composed is None for other in others):
        return members
    told: set[Location] = set()
    instead: dict[tuple[str, ...], tuple[str, ...]] = {}  # what the config makes by itself → what it makes here
    for index, other in enumerate(others):
        if other.composed is None:
            continue
        if not budget.take(len(first.overrides) * (1 + len(other.composed.holds))):
            others[index] = opened(other)
            instead[other.makes] = ()
            continue
        again = [recomposed(other, overrides, shared) for overrides in first.overrides]
        settings = dict.fromkeys(setting for context in again for setting in context.settings)
        skipped = dict.fromkeys(skipped for context in again for skipped in context.skipped)
        values = tuple(_agreed(value for context in again for value in context.values))
        makes = tuple(dict.fromkeys(source for context in again for source in context.makes))
        others[index] = replace(other, settings=tuple(settings), skipped=tuple(skipped), values=values, makes=makes)
        instead[other.makes] = makes
        told.update(setting.location for setting in settings)
        groups = {group for context in again if context.composed is not None for group in context.composed.groups}
        told.update(
            override.location for overrides in first.overrides for override in overrides if _chooses(override, groups)
        )
    # What the command line says to the config is in the config's settings now, and means what it means there.
    return [
        replace(first, settings=tuple(setting for setting in first.settings if setting.location not in told)),
        *_with_made(others, instead, contexts),
    ]


def _with_made(
    members: Sequence[Context], instead: Mapping[tuple[str, ...], tuple[str, ...]], contexts: Sequence[Context]
) -> list[Context]:
    """The members of a run with the modules that a command line has its configs make, in place of the usual ones."""
    made = dict.fromkeys(source for sources in instead.values() for source in sources)
    left = {source for sources in instead for source in sources} - made.keys()
    kept = [one for one in members if one.source not in left or one.run or one.kind not in PROGRAMS]
    there = {source for one in kept for source in (one.source, *one.modules)}
    added = {one.source: one for one in contexts if one.kind in PROGRAMS and one.source in made}
    return [*kept, *(added[source] for source in made if source in added and source not in there)]


def _chooses(override: Override, groups: set[str]) -> bool:
    """Whether it chooses an option of a group, and gives no value."""
    name = override.name.lstrip("+~").partition("@")[0]
    return any(f"/{group}".endswith(f"/{name}") for group in groups)


def _named(context: Context, contexts: Sequence[Context], called: _Called) -> list[int]:
    """Which of the files a context names: by the path from its own folder or from one above, or by the end of the path.

    Commands are run in the folder that they were written for, ``bash scripts/train.sh`` where the program is.

    Args:
        context: the one that names others.
        contexts: all of them.
        called: the files by their names, see :func:`_by_name`.
    """
    here = path_of(context.source).parent
    found: list[int] = []
    for reference in context.refers_to:
        wanted = PurePosixPath(reference.replace("\\", "/"))
        alike = called.get(wanted.name, ())
        if not alike:
            continue
        started = (_plain(above / wanted) for above in (here, *here.parents))
        fits = ([index for index, path in alike if path.parts == plain] for plain in started)
        exact = next((fitting for fitting in fits if fitting), [])
        ending = [index for index, path in alike if is_meant(wanted, path)]
        # A path that fits several files names none of them for sure.
        for index in exact or (ending if len(ending) == 1 else []):
            if contexts[index] is not context and index not in found:
                found.append(index)
    return found


def _plain(path: PurePosixPath) -> tuple[str, ...]:
    """The parts of a path without those that lead back."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return tuple(parts)


def _reached(start: int, named: dict[int, list[int]]) -> list[int]:
    reached = {start: None}  # in their order
    waiting = [start]
    for index in waiting:
        new = [target for target in named[index] if target not in reached]
        reached.update(dict.fromkeys(new))
        waiting += new
    return list(reached)


def _agreed(values: Iterable[ConfigValue]) -> Iterator[ConfigValue]:
    """Each value of a config that is composed several times; what differs is open."""
    found: dict[tuple[str, ...], ConfigValue] = {}
    for one in values:
        before = found.setdefault(one.path, one)
        if before.value != one.value:
            found[one.path] = replace(before, value="${}")
    yield from found.values()


def _default_files(program: Context, launches: Sequence[Context]) -> tuple[str, ...]:
    """The configs that a program reads where its command lines name no others."""
    given = [options for launch in launches for options in launch.options]
    if any(options is None for options in given):
        return ()
    names = {option.name for options in given for option in options or ()}
    return tuple(file.path for file in program.option_files if names.isdisjoint(file.flags))


def _with_configs(members: list[Context]) -> list[Context]:
    """The members of a run, with what its programs take from configs of its own."""
    configs = [member for member in members if member.values]
    lookups = [lookup for member in members for lookup in member.lookups]
    stating = (member for member in members if member.kind not in (*PROGRAMS, _LAUNCH))
    configured = {setting.key for context in stating for setting in context.settings}
    engine = any(member.kind == "deepspeed" for member in members)
    blocks = [lookup for lookup in lookups if not lookup.argument]
    found: list[Context] = []
    for member in members:
        settings = [with_items(with_blocks(one, member.lookups, configs), member, configs) for one in member.settings]
        for lookup in member.lookups:
            values = [said for config in configs if (said := settings_of_lookup(config, lookup)) is not None]
            # The engine's whole file is what the program hands on; what that leaves out has the engine's default.
            whole = engine and not lookup.path
            for stated in lookup.stated:
                if stated in settings and (values or whole or stated.key in configured):
                    index = settings.index(stated)
                    settings[index : index + 1] = [told for part in values for told in part if told.key == stated.key]
        found.append(with_passed_blocks(replace(member, settings=tuple(settings), lookups=()), blocks))
    return found


def _with_options(members: list[Context]) -> list[Context]:
    """The members of a run, with the options of a program as its command lines give them, or with their defaults.

    A default is a fact where the launch is known and leaves the option out. Without a launch it is presumed, and what a
    config of the run states takes its place.
    """
    launches = [options for member in members if member.kind == _LAUNCH for options in member.options]
    told = {setting.key for member in members if member.kind == _LAUNCH for setting in member.settings}
    configs = (member for member in members if member.run and member.kind not in (*PROGRAMS, _LAUNCH))
    configured = {setting.key for config in configs for setting in config.settings}
    keyed = [member for member in members if member.keys]
    launched = {one.value for member in members if member.kind == _LAUNCH for one in _of_key(member, _NAME)}
    headed = False

    def names_model(values: Sequence[Setting]) -> bool:
        return any(one.key == _NAME and one.value in launched for one in values)

    found: list[Context] = []
    for member in members:
        left, unused = _unused(member, launches, keyed) if configured else _unused(member, launches)
        # As the program writes them. A name that is imported all the same is known by its import alone.
        gone = {one.use for one in (*left, *unused) if not one.imported}
        used = (one.without(gone) if one.key in _OF_CODE else one for one in member.settings)
        settings = [with_launches(one, launches) for one in used]
        settings += _imported(one for one in (*left, *unused) if one.imported)
        for option in member.defaults:
            values = _option_values(option, launches)
            if values is None or any(stated not in settings for stated in option.stated):
                continue
            for stated in option.stated:
                own = [setting for setting in values if setting.key == stated.key]
                giving = [options for options in launches if options and given_option(option, options) is not None]
                # The command line itself says it in words that the scanner knows, or a config of the run does. Which
                # class the model of that name is of, the program says: AutoModelForSequenceClassification.
                of_class = stated.key == MODEL_KEY and any(one.value for one in own) and names_model(values)
                headed |= of_class
                told_by_all = stated.key in told and len(giving) == len(launches) and not of_class
                elsewhere = told_by_all if giving else stated.key in configured
                index = settings.index(stated)
                settings[index : index + 1] = [] if elsewhere else own
        settings = _taken(settings, member, _with_keys(launches, keyed))
        settings += [*parsed_calls(member.parsers, launches, keyed), *calls_of_tools(member, keyed)]
        found.append(replace(member, settings=tuple(settings), defaults=(), branches=(), optional=unused))
    return [_without_class(member) if headed and member.kind == _LAUNCH else member for member in found]


def _with_keys(
    launches: Sequence[Sequence[LaunchOption] | None], configs: Sequence[Context]
) -> list[Sequence[LaunchOption] | None]:
    """The options of each launch, which override the config of arguments of the run; unknown where it has several."""
    if not configs:
        return list(launches)
    keys = configs[0].keys if len(configs) == 1 else None
    return [None if keys is None or options is None else (*keys, *options) for options in launches or ((),)]


def _of_key(member: Context, key: str) -> list[Setting]:
    return [setting for setting in member.settings if setting.key == key]


def _without_class(launch: Context) -> Context:
    return replace(launch, settings=tuple(setting for setting in launch.settings if setting.key != MODEL_KEY))


def _taken(
    settings: list[Setting], program: Context, launches: Sequence[Sequence[LaunchOption] | None]
) -> list[Setting]:
    """The settings with what stands in branches as it is there, or without it, where options decide it.

    Without a launch a branch that the defaults take is presumed to be taken; nothing is said of the others. A run whose
    options take no branch that adds adapters or quantises has presumably none, although it could.
    """
    without: dict[str, Location] = {}
    owns: dict[Setting, set[Setting]] = {}
    for branch in program.branches:
        owns.setdefault(branch.stated, set()).add(branch.own)
    one_way = {stated for stated, own in owns.items() if len(own) == 1}  # and no other value where it is not taken
    made = {one.stated: one.own for one in program.branches if one.stated.key in _ONE_OF and one.stated in one_way}
    for branch in program.branches:
        answers = {None if options is None else _answer(branch.test, options) for options in launches or ((),)}
        if len(answers) != 1 or None in answers or branch.stated not in settings:
            continue
        index = settings.index(branch.stated)
        if branch.stated.value is not None and not launches:
            continue  # what one variable or another stands for, each by an option: the run has one of them
        if answers == {True}:
            presumed = not launches and branch.own.value is not None
            settings[index] = replace(branch.own, presumed=presumed or branch.own.presumed)
        elif launches and branch.stated in one_way:
            del settings[index]
            without.setdefault(branch.stated.key, branch.stated.location)
    for key in _ONE_OF & {one.key for one in made}:
        _one_of(key, settings, made)
    left = without.keys() & _WITHOUT_BRANCH.keys() - {setting.key for setting in settings}
    settings += [
        Setting(key=key, value=_WITHOUT_BRANCH[key], location=without[key], presumed=True) for key in sorted(left)
    ]
    return settings


def _one_of(key: str, settings: list[Setting], made: Mapping[Setting, Setting]) -> None:
    """Of what its branches make a run has one, where each is read; a single branch may be passed over."""
    ours = [index for index, setting in enumerate(settings) if setting.key == key]
    told = [made.get(settings[index], settings[index]) for index in ours]
    unsaid = any(settings[index].value is None for index in ours)
    if len(ours) > 1 and unsaid and all(one.value is not None for one in told):
        for index, one in zip(ours, told, strict=True):
            settings[index] = replace(one, presumed=False)


def _unused(
    program: Context, launches: Sequence[Sequence[LaunchOption] | None], configs: Sequence[Context] | None = None
) -> tuple[tuple[OptionalUse, ...], tuple[OptionalUse, ...]]:
    """What the options of all launches keep a program from using, and, without a launch, what their defaults do.

    A config of the run may give the options as well: then only those count that the one config of arguments names. A
    launch overrides it.
    """
    known = [options for options in launches if options is not None]
    if len(known) < len(launches):
        return (), ()
    if configs is not None:
        keys = configs[0].keys if len(configs) == 1 else ()
        return tuple(
            one
            for one in program.optional
            if all(
                _names_any(test, keys) and _answer(test, (*keys, *options)) is False
                for test in one.tests
                for options in known or ((),)
            )
        ), ()
    unused = tuple(
        one
        for one in program.optional
        if all(_answer(test, options) is False for test in one.tests for options in known or ((),))
    )
    if not launches:
        tests: dict[str, dict[OptionTest, None]] = {}
        for one in unused:
            tests.setdefault(name_of(one.use), {}).update(dict.fromkeys(one.tests))
        return (), tuple(one for one in unused if not _is_given_somehow(tuple(tests[name_of(one.use)])))
    # What no parser takes, a config of the program's own may set.
    return tuple(one for one in unused if all(map(_is_parsed, one.tests))), ()


def _names_any(test: OptionTest, keys: Sequence[LaunchOption]) -> bool:
    if test.parts:
        return any(_names_any(part, keys) for part in test.parts)
    return given_option(test, keys) is not None


def _imported(unused: Iterable[OptionalUse]) -> list[Setting]:
    """The names of which a run has the import alone."""
    places = {one.use: one.location for one in unused}
    if not places:
        return []
    at = tuple(places.values())
    return [Setting(key=IMPORTED_KEY, value=tuple(places), location=at[0], places=at)]


def _is_given_somehow(tests: Sequence[OptionTest]) -> bool:
    """Do several options that take a value lead to it, as `--dataset_name` and `--train_data_dir` to `load_dataset`?

    One of them is mostly given, though neither has a default.
    """
    return len(tests) > 1 and len(set().union(*map(_valued, tests))) > 1


def _valued(test: OptionTest) -> set[tuple[str, ...]]:
    if test.parts:
        return set().union(*map(_valued, test.parts))
    return {test.flags} if test.default is None and test.switched is None else set()


def _is_parsed(test: OptionTest) -> bool:
    if test.parts:
        return all(map(_is_parsed, test.parts))
    return not test.assigned and (test.switched is not None or not isinstance(test.default, bool))


def _answer(test: OptionTest, options: Sequence[LaunchOption]) -> bool | None:
    return answer(test, lambda one: given_option(one, options))


def _option_values(option: OptionDefault, launches: Sequence[Sequence[LaunchOption] | None]) -> list[Setting] | None:
    """What an option says over all launches; None if one of them is not known."""
    default = option.default
    if not launches or option.of_environment:
        default = tuple(replace(setting, presumed=setting.value is not None) for setting in default)
    values: dict[Setting, None] = {}
    for options in launches or ((),):
        if options is None:
            return None
        given = given_option(option, options)
        values.update(dict.fromkeys(default if given is None else settings_of_option(option, given)))
    return list(values)


def _one_process(first: Context, settings: Sequence[Setting]) -> list[Setting]:
    """What Python starts by itself is one process, if the trainer starts no others; Lightning does, on every GPU."""
    drivers = {setting.value for setting in settings if setting.key == _FRAMEWORK}
    if first.alone is None or not drivers or not drivers <= _ACCELERATED:
        return []
    if any(setting.key == _PROCESSES and setting.value is not None for setting in settings):
        return []
    one = Setting(key=_PROCESSES, value=1, location=first.alone, presumed=True)
    return [one, *_replicas(first, settings, drivers)]


def _replicas(first: Context, settings: Sequence[Setting], drivers: set[SettingValue | None]) -> list[Setting]:
    """`CUDA_VISIBLE_DEVICES=0,1 python train.py`: nn.DataParallel around the model, if nothing shares it out."""
    if first.devices is None or not drivers <= _REPLICATING:
        return []
    if any(setting.key == _STRATEGY or setting.key.startswith(_SHARDING) for setting in settings):
        return []
    used = [setting.value for setting in settings if setting.key in (SYMBOLS_KEY, CALLS_KEY)]
    symbols = tuple(str(symbol) for value in used if isinstance(value, tuple) for symbol in value)
    if None in used or truth_of_use(symbols, _OVER_SEVERAL) is not Truth.NO:
        return []  # layers may lie on several GPUs
    return [Setting(key=_STRATEGY, value="dp", location=first.devices, presumed=True)]


def _accumulation(members: Sequence[Context]) -> list[Setting]:
    """Whether DeepSpeed's own config accumulates as many micro-batches as the program; one is its default."""
    own = [member for member in members if member.kind == "deepspeed"]
    program = [
        one.value
        for member in members
        if member.kind in PROGRAMS
        for one in member.settings
        if one.key == _ACCUMULATION and not one.presumed
    ]
    if len(own) != 1 or len(program) != 1 or program[0] is None:
        return []
    if any(one.key == _ALIKE for one in own[0].settings):
        return []
    stated = [one for one in own[0].settings if one.key == _ACCUMULATION]
    number = stated[0].value if stated else 1
    location = stated[0].location if stated else Location(path=own[0].source)
    return [Setting(key=_ALIKE, value=number is None or number == program[0], location=location)]


def _clipped_by_engine(settings: list[Setting]) -> list[Setting]:
    """``"gradient_clipping": "auto"`` is the norm of the Trainer, whose default is 1 in every release."""
    drivers = {one.value for one in settings if one.key == _FRAMEWORK}
    norms = [one for one in settings if one.key == _NORM]
    if not drivers or not drivers <= _TRAINERS or len({one.value for one in norms}) > 1:
        return settings
    taken = replace(norms[0], key=_ENGINE_NORM, spelling=None) if norms else None
    return [
        (taken or replace(one, value=_USUAL_NORM, presumed=True))
        if one.key == _ENGINE_NORM and one.value is None
        else one
        for one in settings
    ]


def _of_named_class(settings: list[Setting]) -> list[Setting]:
    """Of several classes that a program may load only the one that the name of its model settles."""
    names = [setting.value for setting in settings if setting.key == _NAME]
    stated = {setting.value for setting in settings if setting.key == MODEL_KEY and not setting.presumed}
    settled = {architecture_of(name) if isinstance(name, str) else None for name in names}
    if len(stated) < 2 or len(settled) != 1 or None in settled or not settled < stated:
        return settings
    return [setting for setting in settings if setting.key != MODEL_KEY or setting.value in settled]


def _left_by_all(members: Sequence[Context], settings: Sequence[Setting]) -> tuple[Unset, ...]:
    """What is left to defaults: what one file leaves out another may say, but for the adapter that a program writes."""
    # A config of a project's own keys says what the program looks up in it.
    saying = [member for member in members if member is members[0] or member.settings or not member.values]
    if len(saying) == 1:
        return members[0].unset
    stated = {setting.key for setting in settings}
    left = (one for member in members for one in member.unset if one.of.partition(".")[0] == "peft")
    return tuple(one for one in left if one.key not in stated)


def _computed(members: Sequence[Context]) -> set[str]:
    """What the programs of a run compute in one place and nowhere write, and a config of the run says.

    A helper that is handed `model_args.model_name_or_path` is read apart from the config that the command names. Where
    two places compute it, a second model may be meant.
    """
    programs = [member for member in members if member.kind in PROGRAMS]
    said = {
        setting.key
        for member in members
        if member.kind in _HANDED_ON
        for setting in member.settings
        if setting.value is not None
    }
    values: dict[str, list[SettingValue | None]] = {}
    for member in programs:
        for setting in member.settings:
            values.setdefault(setting.key, []).append(setting.value)
    # Adapters and quantisation mostly stand in branches, which are followed by themselves.
    own = _OF_CODE | _WITHOUT_BRANCH.keys()
    return {key for key, found in values.items() if found == [None] and key in said and key not in own}


def _joined(members: list[Context]) -> Context:
    """One context from a run (the first) and what belongs to it."""
    first, *others = members = _with_configs(_with_options(members))
    stated = {setting.key for setting in first.settings if setting.value is not None}
    stated |= {setting.key for other in others if other.run for setting in other.settings if setting.value is not None}
    computed = _computed(members)
    flagged = {
        setting.key
        for setting in first.settings
        if setting.value is not None and not setting.presumed and first.kind == _LAUNCH
    }
    programs = any(member.kind in PROGRAMS for member in members)
    driven = any(setting.key == _FRAMEWORK for one in members if one.kind in PROGRAMS for setting in one.settings)
    settings: list[Setting] = []
    for member in members:
        for setting in member.settings:
            # A file of arguments is as a rule for the Trainer; who parses it says what drives the training.
            if driven and member.kind == _ARGUMENTS and setting.key == _FRAMEWORK:
                continue
            # A flag overrides the config that the command names; a program may do with it what it likes.
            if member is not first and member.kind not in PROGRAMS and setting.key in flagged:
                continue
            # The classes that a config names are no list of all that the code uses.
            if member.kind in _NAMES_CLASSES and setting.key in (SYMBOLS_KEY, CALLS_KEY) and not programs:
                continue
            # DeepSpeed's `auto` takes what the trainer says.
            if setting.value is None and not member.run and setting.key in stated:
                continue
            # What the program computes is presumed to be what the config of the run says.
            if setting.key in computed and member.kind in PROGRAMS:
                continue
            if setting.key in computed and setting.value is not None:
                settings.append(replace(setting, presumed=True))
                continue
            # That a run is the one which a README shows is presumed, and so is what it alone brings.
            shown = first.documented and (member is first or not member.run) and setting.value is not None
            settings.append(replace(setting, presumed=True) if shown else setting)
    settings = _of_named_class(settings)
    settings += _one_process(first, settings)
    settings += _accumulation(members)
    settings = _clipped_by_engine(settings)
    made = {source for member in members for source in member.makes}  # as little named as modules that are imported
    return replace(
        first,
        source=" + ".join(member.source for member in members if member is first or member.source not in made),
        settings=tuple(settings),
        skipped=tuple(skipped for member in members for skipped in member.skipped),
        refers_to=(),
        run=True,
        unset=_left_by_all(members, settings),
        imported=_imported_by_all(members),
        optional=tuple(one for member in members for one in member.optional),
    )


def _imported_by_all(members: Sequence[Context]) -> tuple[str, ...]:
    """What the tools of a run import; none where a program of the project is run."""
    each = [member.imported for member in members if member.run]
    return tuple(dict.fromkeys(name for one in each for name in one)) if all(each) else ()
