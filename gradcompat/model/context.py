"""What one file says of a training run, before it is joined with others."""

from __future__ import annotations

from gradcompat.files.root import Root
from gradcompat.model.code_use import CodeUse
from gradcompat.model.environment import Location, Setting, SettingValue, Skipped
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One value that a command line gives to a config: ``trainer.devices=4``, ``+experiment=llava``, ``~callbacks``.

    Attributes:
        name: with the signs before it.
        value: as the program gets it; None if it is not known.
        location: where the value stands.
    """

    name: str
    value: str | None
    location: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """How a config was put together from several files.

    Attributes:
        file: where the config lies, to put it together again with what a command line says.
        holds: the files, as they are shown, whose content is in its settings.
        groups: the folders, as they are shown, of which it has chosen what it takes.
        root: what it may refer to; None for the root that the file itself has.
    """

    file: str
    holds: tuple[str, ...]
    groups: tuple[str, ...]
    root: Root | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unset:
    """An argument that a program surely leaves to its default, which depends on the version of the tool.

    Attributes:
        of: what takes the argument, by its full name: ``transformers.TrainingArguments``.
        key: the setting that it would say something about.
        location: where the call stands.
    """

    of: str
    key: str
    location: Location


_VARIABLE = "$"


def variable_flag(name: str) -> str:
    """What stands for a variable of the environment among the flags of options: ``$STEPS``."""
    return _VARIABLE + name


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOption:
    """An option that a command line gives to its program, or a variable of the environment in which it does so.

    Attributes:
        name: with underscores and without dashes at its front; empty for what stands there without an option.
        value: its text; True for a bare switch, None if it is not known.
        location: where the value stands.
        spelling: the option with ``{}`` in the place of the value; None for a bare switch.
        assumed: its text where it is not known, unless somebody sets the variable that it comes from.
    """

    name: str
    value: str | bool | None
    location: Location
    spelling: str | None = None
    assumed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataclassParser:
    """A parser that fills dataclasses (transformers' ``HfArgumentParser``, TRL's ``TrlParser``).

    Attributes:
        classes: the dataclasses of other packages, by their full names, and those that the project's inherit from.
        own: what else it takes: fields of the project's own dataclasses.
        reads_config: it also takes the keys of a config that ``--config`` names.
        reads_argument: it takes the keys of the config that stands alone on the command line.
        files: the configs that the program gives to it, as it names them.
        keys: those of literal mappings that the program gives to it.
    """

    classes: tuple[str, ...]
    own: frozenset[str] = frozenset()
    reads_config: bool = False
    reads_argument: bool = False
    files: tuple[str, ...] = ()
    keys: tuple[LaunchOption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDefault:
    """An argument of a program's call that an option of its command line, or a variable of its environment, gives.

    Attributes:
        flags: the names of the option, with underscores and without dashes: ``("g", "grad_accum")``.
        tool: what the argument is given to, by its full name: ``transformers.TrainingArguments``; empty for a method.
        argument: the argument: ``gradient_accumulation_steps``.
        stated: the settings as the program makes them, without a value.
        default: the settings where the option is not given; without a value if its default is not known.
        switched: what the bare option means; None where it takes a value.
        loads: the value names the model that is loaded.
        task: for which, empty for none; None where that is not said.
        assigned: it is a name of the module, which files of assignments set, too.
    """

    flags: tuple[str, ...]
    tool: str
    argument: str
    stated: tuple[Setting, ...]
    default: tuple[Setting, ...]
    switched: bool | None = None
    loads: bool = False
    task: str | None = None
    assigned: bool = False

    @property
    def of_environment(self) -> bool:
        """Is it a variable? A launch that does not set it may inherit it."""
        return any(flag.startswith(_VARIABLE) for flag in self.flags)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTest:
    """What a condition of a program asks of options of its command line.

    Attributes:
        kind: ``true`` where the option's value counts as true, ``in`` where it is one of some values, ``begins``
            where it begins with one, ``above`` and ``least`` where it is a number above one, or that at least;
            ``all``, ``any`` and ``not`` of its parts; ``unknown`` for something else.
        parts: the conditions that it is made of.
        flags: the names of the option, with underscores and without dashes.
        default: what the option is where it is not given.
        has_default: that is known.
        switched: what the bare option means; None where it takes a value.
        values: what it is compared with.
        assigned: it is a name of the module, which files of assignments set, too.
    """

    kind: str
    parts: tuple[OptionTest, ...] = ()
    flags: tuple[str, ...] = ()
    default: str | float | bool | None = None
    has_default: bool = False
    switched: bool | None = None
    values: tuple[str | float | bool | None, ...] = ()
    assigned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionBranch:
    """A setting that a program makes in a branch which options of its command line decide.

    Attributes:
        test: what has to hold for it to be made; unknown where that is asked of something else.
        stated: the setting as the program makes it, without a value.
        own: the same with the value that it has there.
    """

    test: OptionTest
    stated: Setting
    own: Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalUse:
    """A name or a call that a program uses only where options of its command line let it.

    Attributes:
        use: the full name, or the call as a line.
        tests: what has to hold in each place.
        location: the first place.
        imported: its import stands before them, and takes the name whatever the options say.
    """

    use: str
    tests: tuple[OptionTest, ...]
    location: Location
    imported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionFile:
    """A config that a program reads unless an option of its command line names another one.

    Attributes:
        flags: the names of the option, with underscores and without dashes.
        path: the option's default.
    """

    flags: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigLookup:
    """What a program takes from a config that it loads, and gives to a tool.

    Attributes:
        path: the keys that lead to it: ``("train", "steps")``.
        tool: what it is given to, by its full name: ``transformers.TrainingArguments``.
        argument: the argument; empty for a block of them (``**config["train"]``).
        stated: the settings as the program makes them, without a value.
        loads: the value names the model that is loaded.
        task: for which, empty for none; None where that is not said.
        file: the value names a file that the tool reads.
    """

    path: tuple[str, ...]
    tool: str
    argument: str = ""
    stated: tuple[Setting, ...] = ()
    loads: bool = False
    task: str | None = None
    file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigValue:
    """A value of a config of a project's own.

    Attributes:
        path: the keys that lead to it; a key with dots is several.
        value: a scalar, or the words of a list.
        location: where it stands.
        spelling: its line with ``{}`` in the place of the value.
    """

    path: tuple[str, ...]
    value: SettingValue | None
    location: Location
    spelling: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The settings that one training config, launch script or program states.

    Attributes:
        source: how the user calls it.
        kind: the tool whose file it is: ``deepspeed``, ``axolotl``, ``llamafactory``, ….
        settings: what it says, in the order of the file; a value of None is set to something that is not literal.
        run: it describes a run on its own (a trainer's config, a launch script, a program). What does not (a DeepSpeed
            config, a model's config.json) belongs to the runs that name it, or to all where none does.
        refers_to: other files that it names, as they are written there.
        skipped: what could not be read.
        unset: what it leaves to the defaults of its tools, where it can be seen as a whole.
        composed: how it was put together, if it was.
        overrides: what each of its command lines says to a config that is put together.
        targets: the programs that a launch script starts, as it names them; none where one of them is not known.
        options: the options that each of its launches gives; None where a part of a command line is not known.
        commands: what each of its launches calls, as ``options`` has them: ``trl sft``, or the path of a program; empty
            where that is not known, or the launch stands behind a condition.
        parsers: what takes the options of its own command line, where that can be seen as a whole.
        keys: the keys at the top of a config whose fields are those of dataclasses.
        defaults: what it sets by options of its own command line.
        branches: what it sets where options of its own command line let it.
        optional: what it uses where options of its own command line let it; of a run that was joined, what the
            defaults of these options keep it from.
        option_files: the configs that it reads unless its command line names others.
        lookups: what it takes from configs of its own.
        keys_set: the keys that it or its modules may set in configs which they load; None for any.
        values: what a config of a project's own holds.
        modules: the modules of the project that it imports, which do nothing by themselves; its settings have theirs.
        makes: the full names of the classes that a config has made; then the modules of the project that define them,
            as ``source`` calls them.
        guarded: those of its modules that it imports only where a question for a version, for availability or the like
            lets it, with programs among them.
        uses: what it takes from other packages, and what its modules do.
        given: the names that it and its modules put into modules of other packages.
        imported: the packages that the tools import which read it or which it starts, by the names in imports; none
            where one of them is not known, or runs code of the project.
        alone: where a launch script starts a program as one process, by Python itself, if it starts all of them so.
        devices: where a launch script lets all programs that it starts so see several GPUs, by CUDA_VISIBLE_DEVICES.
        documented: it is a command of a README: how the project is presumed to be run, and no script that runs it.
        program: it is code that does something when it is run, and not only what others import.
    """

    source: str
    kind: str
    settings: tuple[Setting, ...]
    run: bool
    refers_to: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    unset: tuple[Unset, ...] = ()
    composed: Composed | None = None
    overrides: tuple[tuple[Override, ...], ...] = ()
    targets: tuple[str, ...] = ()
    options: tuple[tuple[LaunchOption, ...] | None, ...] = ()
    commands: tuple[str, ...] = ()
    parsers: tuple[DataclassParser, ...] = ()
    keys: tuple[LaunchOption, ...] = ()
    defaults: tuple[OptionDefault, ...] = ()
    branches: tuple[OptionBranch, ...] = ()
    optional: tuple[OptionalUse, ...] = ()
    option_files: tuple[OptionFile, ...] = ()
    lookups: tuple[ConfigLookup, ...] = ()
    keys_set: frozenset[str] | None = frozenset()
    values: tuple[ConfigValue, ...] = ()
    modules: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    uses: tuple[CodeUse, ...] = ()
    given: frozenset[str] = frozenset()
    imported: tuple[str, ...] = ()
    alone: Location | None = None
    devices: Location | None = None
    documented: bool = False
    program: bool = False
