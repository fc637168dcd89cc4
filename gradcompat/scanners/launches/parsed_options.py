"""What command lines and configs give to parsers that fill dataclasses, as uses of these dataclasses.

``trl sft --config sft.yaml --bf16``, and a launch of a program of the project that has an ``HfArgumentParser``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from gradcompat.model.code_use import CodeUse
from gradcompat.model.context import Context, DataclassParser, LaunchOption
from gradcompat.scanners.named_files import is_meant, path_of

# The config of each command, and the dataclasses of its script beside those that all have; those of releases in which
# a class is not there yet, or no longer, take nothing.
_TRL: Mapping[str, tuple[str, ...]] = {
    "sft": ("trl.SFTConfig", "trl.commands.cli_utils.SFTScriptArguments"),
    "dpo": ("trl.DPOConfig", "trl.commands.cli_utils.DPOScriptArguments"),
    "kto": ("trl.KTOConfig",),
    "reward": ("trl.RewardConfig",),
    "grpo": ("trl.GRPOConfig", "trl.scripts.grpo.GRPOScriptArguments"),
    "rloo": ("trl.RLOOConfig", "trl.scripts.rloo.RLOOScriptArguments"),
}
_TRL_SHARED = ("trl.ScriptArguments", "trl.ModelConfig", "trl.DatasetMixtureConfig")
_CONFIG = "config"
# What a config alone may be of: any command.
_ANY_OF_TRL = DataclassParser(
    classes=(*dict.fromkeys(name for classes in _TRL.values() for name in classes), *_TRL_SHARED), reads_config=True
)
# Kinds of files beside which nothing runs a config of TRL's but a command of its own.
_CONFIGS = frozenset({"trl", "accelerate", "deepspeed", "hf-adapter", "hf-model"})
# From which TRL's configs inherit: whether a field of theirs is gone is seen in its table.
_BASE = "transformers.TrainingArguments"


def parsed_uses(contexts: Sequence[Context]) -> Iterator[CodeUse]:
    """The options and keys of configs that the launches and programs among these files give to parsers of dataclasses.

    A config of TRL's beside which there is neither launch nor program may be of one of its commands, conditionally, and
    a command that a README shows is run if somebody follows it.
    """
    configs = [one for one in contexts if one.keys]
    for launch in contexts:
        for options, command in zip(launch.options, launch.commands, strict=False):
            parser = _parser(command, contexts)
            if parser is None or options is None:
                continue
            shown = launch.documented
            own = [one for one in options if one.name != _CONFIG or not parser.reads_config]
            yield from _uses(own, parser, conditional=shown)
            named = _named_config(options, parser)
            config = None if named is None else only_file(named, configs)
            yield from () if config is None else _uses(config.keys, parser, conditional=shown)
    for program in contexts:
        for parser in program.parsers:
            yield from _uses(parser.keys, parser)
            for file in parser.files:
                config = only_file(file, configs)
                yield from () if config is None else _uses(config.keys, parser)
    if all(one.kind in _CONFIGS for one in contexts):
        for config in configs:
            if config.kind == "trl":
                yield from _uses(config.keys, _ANY_OF_TRL, conditional=True)


def _named_config(options: Sequence[LaunchOption], parser: DataclassParser) -> str | None:
    """The config that a command line names for a parser; None where it does not."""
    if parser.reads_config:
        named = next((one.value for one in options if one.name == _CONFIG), None)
    else:
        named = options[0].value if parser.reads_argument and [one.name for one in options] == [""] else None
    return named if isinstance(named, str) else None


def parser_of_tool(command: str) -> DataclassParser | None:
    """What parses the options of a command of TRL's: ``trl sft``; None for any other."""
    tool, _, subcommand = command.partition(" ")
    classes = _TRL.get(subcommand) if tool == "trl" else None
    return None if classes is None else DataclassParser(classes=(*classes, *_TRL_SHARED), reads_config=True)


def _parser(command: str, contexts: Sequence[Context]) -> DataclassParser | None:
    """What parses the options of a command; None where that is not known."""
    of_tool = parser_of_tool(command)
    if of_tool is not None or command.startswith("trl "):
        return of_tool
    program = only_file(command, [one for one in contexts if one.kind == "python"]) if command.endswith(".py") else None
    return program.parsers[0] if program is not None and len(program.parsers) == 1 else None


def only_file(path: str, contexts: Sequence[Context]) -> Context | None:
    """The one file that a path names by its end."""
    named = PurePosixPath(path.replace("\\", "/"))
    found = [one for one in contexts if is_meant(named, path_of(one.source))]
    return found[0] if len(found) == 1 else None


def _uses(given: Sequence[LaunchOption], parser: DataclassParser, *, conditional: bool = False) -> Iterator[CodeUse]:
    """Each option once for each package that has one of the dataclasses."""
    inherited = any(name.startswith("trl.") and name.endswith("Config") for name in parser.classes)
    classes = tuple(dict.fromkeys((*parser.classes, *((_BASE,) if inherited else ()))))
    firsts = {name.partition(".")[0]: name for name in reversed(classes)}.values()
    for option in given:
        if option.name in parser.own or not option.name.isidentifier():
            continue
        for name in firsts:
            module, _, inside = name.partition(".")
            yield CodeUse(
                kind="option",
                module=module,
                name=inside,
                keyword=option.name,
                others=tuple(other for other in classes if other != name),
                location=option.location,
                conditional=conditional,
            )
