"""Shell and SLURM scripts that start trainings: what their command lines state. Nothing is run.

Each command that starts a training is a launch; a script with several is one context with the settings of all of them,
so that those on which they disagree stand there twice, and are unknown. Where there are several, one that may not be
run (in a branch, a function, behind a test) says that something is set, not to what.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

from gradcompat.budget import Budget
from gradcompat.errors import SourceError, TooComplex, Unrecognised
from gradcompat.formats.document import Document
from gradcompat.formats.shell import HOLE, MOST_STEPS, Command, Heredoc, Trace, Word, commands
from gradcompat.host.gpu_names import compute_capability, short_wavefronts
from gradcompat.model.code_use import CodeUse
from gradcompat.model.context import Context, LaunchOption, Override, variable_flag
from gradcompat.model.environment import Location, Setting, Skipped
from gradcompat.quotation import quoted, reference
from gradcompat.scanners import any_config
from gradcompat.scanners.key_mapping import Feed
from gradcompat.scanners.launches import command_line
from gradcompat.scanners.launches.command_line import Places, files_of, imports_of_launch, is_module, settings_of
from gradcompat.scanners.launches.launchers import WRAPPERS, Argument, Launch, launch_of, says_all, uses_model
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

FEEDS = {
    **command_line.FEEDS,
    "#SBATCH --gres=gpu:h100:8": (Feed("host.cuda_arch"), Feed("host.device", given="cuda")),
}

_LONGEST = 1024 * 1024  # characters
_MAX_LAUNCHES = 200
_MAX_NESTED = 3  # of `bash -c`
_MAX_NOTES = 100
_EXPORTED = 8  # steps that a variable takes in the environment of a launch
_MAX_COMPOSED = 20  # launches whose configs are composed

_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_COMMAND = lazy_pattern(r"-[a-z]*c")
# `\` and a blank at the end of a line: meant to continue it, and does not.
_BROKEN = lazy_pattern(r"\\([ \t]+)(\r?\n)")
_SBATCH = lazy_pattern(r"^#SBATCH[ \t]+([^\n]*)", re.MULTILINE)
_SBATCH_OPTION = lazy_pattern(
    r"(?<!\S)(--nodes|--ntasks|--ntasks-per-node|--gpus-per-node|--gres|-N|-n)(?:=|[ \t]+|(?<=-[Nn]))"
    r"(?:gpu:(?:[\w.-]+:)?)?(\d{1,5})(?=\s|$)"
)
# `--gres=gpu:h100:8`, `--gpus-per-node=a100:4`, `-G v100`.
_SBATCH_GPU = lazy_pattern(
    r"(?<!\S)(?:--gres(?:=|[ \t]+)gpu:|(?:--gpus(?:-per-(?:node|task))?|-G)(?:=|[ \t]+))"
    r"([A-Za-z][\w.-]{1,40})(?=[:\s]|$)"
)
_SBATCH_VARIABLES = {
    "--nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "-N": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "--ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "-n": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "--ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "--gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
    "--gres": ("SLURM_GPUS_ON_NODE",),
}
_CONFIGS = (".json", ".yaml", ".yml")
_DEVICES = "CUDA_VISIBLE_DEVICES"
_SEVERAL = lazy_pattern(r"\s*\d+\s*(?:,\s*\d+\s*)+")
# Wrappers that start what they are given once, on this machine.
_ALONE = frozenset({"", "nohup", "time", "env", "uv", "poetry", "pipenv", "conda", "stdbuf", "taskset", "numactl"})


@dataclass(slots=True)
class _Script:
    """A script while it is read.

    Attributes:
        written: the configs that it writes itself, by their names.
        breaks: where lines were meant to go on.
        budget: the steps that are left for it.
        uses_model: it has a tool that trains use a model.
    """

    document: Document
    ends: list[int]
    breaks: list[int]
    trace: Trace
    launches: list[Launch] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    written: dict[str, Heredoc] = field(default_factory=dict)
    budget: Budget = field(default_factory=lambda: Budget(MOST_STEPS))
    uses_model: bool = False

    def location(self, offset: int) -> Location:
        line = bisect_left(self.ends, offset)
        start = self.ends[line - 1] + 1 if line else 0
        return Location(path=self.document.path, line=line + 1, column=offset - start + 1)

    def note(self, what: str, reason: str, offset: int, *, gap: bool = False) -> None:
        if len(self.skipped) < _MAX_NOTES:
            what = what.replace(HOLE, "…")[:100]
            self.skipped.append(Skipped(what=what, reason=reason, gap=gap, location=self.location(offset)))

    def span(self, offset: int) -> tuple[int, int, str] | None:
        """The assignment that an offset stands in."""
        index = bisect_right(self.trace.spans, offset, key=lambda span: span[0]) - 1
        span = self.trace.spans[index] if index >= 0 else None
        return span if span is not None and offset < span[1] else None

    def spelling(self, argument: Argument) -> str | None:
        """The line to change: the assignment, where the value comes from a variable of its own."""
        span = self.span(argument.place)
        if span is None or span == self.span(argument.option_place):
            return argument.spelling
        start, end, name = span
        alone = self.document.text[start:end].partition("=")[2].strip("\"'") == argument.value
        return f"{name}={{}}" if alone else None

    def cut(self, launch: Launch, offset: int) -> bool:
        """Does a line end between the launch and its option?"""
        if self.span(launch.place) is not None or self.span(offset) is not None:
            return False
        index = bisect_right(self.breaks, launch.place)
        return index < len(self.breaks) and self.breaks[index] < offset


def scan(document: Document) -> Context:
    """What the launches of a script state.

    Raises:
        Malformed: if it starts no training and has no tool use a model, or is longer than any script.
    """
    script = _script(document)
    if not script.launches and script.uses_model:
        return Context(source=document.path, kind="launch-script", settings=(), run=False)
    return _context(script, _started(script))


def scan_each(document: Document) -> list[Context]:
    """What each launch states by itself, where commands stand beside one another and are no script.

    Raises:
        Malformed: as :func:`scan`.
    """
    script = _script(document)
    script.skipped.clear()
    found: list[Context] = []
    for launch in _started(script):
        found.append(_context(script, [launch]))
        script.skipped.clear()
    return found


def _script(document: Document) -> _Script:
    """A script with its launches."""
    text = document.text
    if len(text) > _LONGEST:
        raise TooComplex(
            f"is longer than {_LONGEST // 1024} KiB, which is too long for a launch script", path=document.path
        )
    # Lines that break are read as they were meant; all other characters stay where they are.
    breaks = [match.start() for match in _BROKEN.finditer(text)]
    text = _BROKEN.sub(r"\1\\\2", text)
    ends = [match.start() for match in re.finditer("\n", text)]
    script = _Script(replace(document, text=text), ends, breaks, Trace.of(text))
    _slurm(script)
    _read(script, text, lambda offset: offset)
    return script


def _started(script: _Script) -> list[Launch]:
    """The launches of a script that has to have one."""
    if not script.launches:
        raise Unrecognised("starts no training that gradcompat knows", path=script.document.path)
    return script.launches


def _context(script: _Script, launches: list[Launch]) -> Context:
    """What some launches of a script state together."""
    places = Places(script.location, script.spelling, script.cut)
    settings: list[Setting] = []
    files: list[str] = []
    for launch in launches:
        stated, skipped = settings_of(launch, places)
        if launch.conditional and len(launches) > 1:
            stated = [replace(setting, value=None) for setting in stated]
        settings += stated
        script.skipped += skipped
        files += files_of(launch)
        broken = next((one for one in script.breaks if script.cut(launch, one + 1)), None)
        if broken is not None:
            reason = "a space follows the `\\`, which ends the command: the intended continuation counts as unknown"
            script.note("a continued line", reason, broken)
    settings, files = _with_written(script, [*settings, *_gpus(script)], list(dict.fromkeys(files)))
    settings.sort(key=lambda one: (one.location.line or 0, one.location.column or 0))
    return Context(
        source=script.document.path,
        kind="launch-script",
        settings=tuple(dict.fromkeys(settings)),
        run=True,
        refers_to=tuple(files),
        skipped=tuple(dict.fromkeys(script.skipped)),
        overrides=_overrides(launches, script),
        targets=_targets(launches),
        options=tuple(_given_options(script, launch) for launch in launches),
        commands=tuple(map(_command, launches)),
        alone=script.location(launches[0].place) if all(map(_is_alone, launches)) else None,
        devices=_devices(script, launches),
        imported=_imported(launches),
        uses=tuple(_modules_run(script, launches)),
    )


def _modules_run(script: _Script, launches: Iterable[Launch]) -> Iterator[CodeUse]:
    """The modules that launches run by their names, as `python -m verl.trainer.main_ppo` does.

    A name without a dot may as well be a command.
    """
    for launch in launches:
        if launch.target is not None and "." in launch.target.text and is_module(launch.target.text):
            yield CodeUse(
                kind="import",
                module=launch.target.text,
                name=None,
                location=script.location(launch.target.place(0)),
                conditional=launch.conditional,
            )


def _imported(launches: Iterable[Launch]) -> tuple[str, ...]:
    each = [imports_of_launch(launch) for launch in launches]
    return tuple(dict.fromkeys(name for one in each for name in one)) if all(each) else ()


def _gpus(script: _Script) -> Iterator[Setting]:
    """The GPU that the head of the script asks SLURM for, where its name settles one."""
    for line in _SBATCH.finditer(script.document.text):
        for match in _SBATCH_GPU.finditer(line[1]):
            name = re.sub(r"[_-]", " ", match[1])
            arch = compute_capability(name)
            place = script.location(line.start(1) + match.start(1))
            if arch is not None:
                yield Setting(key="host.device", value="cuda", location=place)
                yield Setting(key="host.cuda_arch", value=arch, location=place)
            elif (short := short_wavefronts(name)) is not None:
                yield Setting(key="host.device", value="rocm", location=place)
                yield Setting(key="host.short_wavefronts", value=short, location=place)


def _is_alone(launch: Launch) -> bool:
    """Does Python itself start one program, once?"""
    program = "" if launch.target is None else launch.target.text
    return launch.launcher == "python" and not launch.tool and launch.wrapper in _ALONE and program.endswith(".py")


def _devices(script: _Script, launches: list[Launch]) -> Location | None:
    """Where several GPUs are named that each launch sees; None if one sees a single one, or all that there are."""
    named = [launch.environment.get(_DEVICES) for launch in launches]
    first = named[0]
    several = all(word is not None and _SEVERAL.fullmatch(word.text) for word in named)
    return script.location(first.place(0)) if first is not None and several else None


def _command(launch: Launch) -> str:
    """What a launch calls; empty where it may never run, or that is not known."""
    if launch.conditional:
        return ""
    if launch.tool:
        return f"{launch.tool} {launch.subcommand}".rstrip()
    target = "" if launch.target is None else launch.target.text
    return target if target.endswith(".py") and HOLE not in target.rpartition("/")[2] else ""


def _given_options(script: _Script, launch: Launch) -> tuple[LaunchOption, ...] | None:
    """The options and variables that a launch gives to its program; None if `$@` or the like may hold others."""
    if not says_all(launch):
        return None
    found: dict[str, LaunchOption] = {}
    for word in launch.files:
        found[word.text] = LaunchOption(name="", value=word.text, location=script.location(word.place(0)))
    for argument in launch.arguments:
        value = None if isinstance(argument.value, tuple) else argument.value
        cut = script.cut(launch, argument.option_place)
        if (isinstance(value, str) and HOLE in value) or cut:
            value = None
        found[argument.name] = LaunchOption(
            name=argument.name,
            value=value,
            location=script.location(argument.place),
            spelling=script.spelling(argument),
            assumed=None if cut else argument.assumed,
        )
    for variable, word in launch.environment.items():
        name, place = variable_flag(variable), script.location(word.place(0))
        found[name] = LaunchOption(name=name, value=None if HOLE in word.text else word.text, location=place)
    return tuple(found.values())


def _targets(launches: list[Launch]) -> tuple[str, ...]:
    """The programs that the launches start; none if one of them starts something else, or nobody knows what."""
    targets = [launch.target for launch in launches]
    files = [target.text for target in targets if target is not None and target.text.endswith(".py")]
    known = len(files) == len(targets) and not any(launch.tool for launch in launches)
    if not known or any(HOLE in file.rpartition("/")[2] for file in files):
        return ()
    # The folder may be unknown, as in `$(dirname $0)/train.py`.
    return tuple(dict.fromkeys(file.replace(HOLE, "…") for file in files))


def _overrides(launches: list[Launch], script: _Script) -> tuple[tuple[Override, ...], ...]:
    """What each launch says to a config that its program composes (Hydra): `key=value`, `+key=value`, `~key`."""
    found: list[tuple[Override, ...]] = []
    for launch in launches[:_MAX_COMPOSED]:
        words: list[tuple[int, Override]] = []
        for argument in launch.arguments:
            text, place = argument.value, argument.place
            name = (argument.spelling or "-").removesuffix("={}")
            if isinstance(text, str) and not name.startswith("-") and HOLE not in name:
                value = None if HOLE in text else text
                words.append((argument.option_place, Override(name=name, value=value, location=script.location(place))))
        for word in launch.files:
            if word.text.startswith("~") and HOLE not in word.text:
                place = word.place(0)
                words.append((place, Override(name=word.text, value=None, location=script.location(place))))
        found.append(tuple(override for _, override in sorted(words, key=lambda pair: pair[0])))
    return tuple(found) if any(found) else ()


def _slurm(script: _Script) -> None:
    """The variables that SLURM sets from the head of the script."""
    numbers: dict[str, Word] = {}
    for line in _SBATCH.finditer(script.document.text):
        for match in _SBATCH_OPTION.finditer(line[1]):
            start = line.start(1) + match.start(2)
            word = Word([match[2]], array("q", range(start, start + len(match[2]))), start)
            numbers.update(dict.fromkeys(_SBATCH_VARIABLES[match[1]], word))
    tasks, nodes = numbers.get("SLURM_NTASKS_PER_NODE"), numbers.get("SLURM_NNODES")
    if "SLURM_NTASKS" not in numbers and tasks is not None and nodes is not None:
        total = str(int(tasks.text) * int(nodes.text))
        numbers["SLURM_NTASKS"] = Word([total], array("q", [tasks.start] * len(total)), tasks.start)
    for name, word in numbers.items():
        script.trace.values[name] = [word]
        script.trace.exported.add(name)


def _read(script: _Script, text: str, place: Callable[[int], int], nested: int = 0) -> None:
    """Gather the launches of a text, of which the characters stand at those places of the file."""
    left = False  # behind `exit`
    launched = False
    for command in commands(text, {}, trace=script.trace if nested == 0 else Trace(), budget=script.budget):
        words = _closed(script, command.words, place)
        if not words:
            continue
        name = words[0].text.rpartition("/")[2]
        left = left or (name == "exit" and not command.conditional)
        if launched and words[0].text.startswith("--"):
            reason = "belongs to no command, because the line before it ends the command"
            script.note(quoted(words[0].text, "an option"), reason, words[0].place(0))
        launch = launch_of(words)
        launched = launch is not None
        if launch is None:
            script.uses_model = script.uses_model or uses_model(words)
            _other(script, command, words, nested)
        elif left:
            script.note("a launch", "comes after `exit` and never runs", launch.place)
        elif len(script.launches) >= _MAX_LAUNCHES:
            script.note("a launch", f"is one of more than {_MAX_LAUNCHES}, and is not read", launch.place, gap=True)
            return
        else:
            assigned = {name: _placed(word, place) for name, word in command.assigned.items()}
            script.budget.spend(_EXPORTED * len(script.trace.exported), script.document.path)
            launch.environment = {**_exported(script.trace), **assigned, **launch.environment}
            launch.conditional = command.conditional
            script.launches.append(launch)


def _closed(script: _Script, words: list[Word], place: Callable[[int], int]) -> list[Word]:
    """The words before a quote that is never closed, with their places in the file."""
    for index, word in enumerate(words):
        if word.unclosed is not None:
            reason = "is never closed: what follows is not read"
            script.note("a quote", reason, place(word.unclosed), gap=True)
            words = words[:index]
            break
    return [_placed(word, place) for word in words]


def _placed(word: Word, place: Callable[[int], int]) -> Word:
    places = array("q", map(place, word.places))
    return Word(word.parts, places, place(word.start), place(word.end), word.quoted, word.unknown)


def _exported(trace: Trace) -> dict[str, Word]:
    return {name: trace.values[name][0] for name in sorted(trace.exported) if trace.values.get(name)}


def _other(script: _Script, command: Command, words: list[Word], nested: int) -> None:
    """What is no launch itself and may hold some: `bash -c`, `ssh`, `eval`, a script or a config behind `<<`."""
    names = [word.text.rpartition("/")[2] for word in words]
    inner: list[tuple[str, Callable[[int], int]]] = []
    if names[0] == "eval":
        joined = Word(start=words[0].start)
        for word in words[1:]:
            joined.parts += [word.text, " "]
            joined.places.extend([*word.places, word.place(0)])
        inner.append((joined.text, joined.place))
    if names[0] in ("ssh", "tmux") and len(words) > 2 and " " in words[-1].text:
        inner.append((words[-1].text, words[-1].place))
    shell = next((index for index, name in enumerate(names) if name in _SHELLS), None)
    if shell is not None and (shell == 0 or names[0] in WRAPPERS):
        given = next((index for index in range(shell + 1, len(names)) if _COMMAND.fullmatch(names[index])), None)
        if given is not None and given + 1 < len(words):
            inner.append((words[given + 1].text, words[given + 1].place))
    for heredoc in command.heredocs if nested == 0 else ():
        targets = [redirect.target.text for redirect in command.redirects if redirect.sign.startswith(">")]
        targets += [word.text for word in words[1:] if names[0] == "tee"]
        target = next((target for target in targets if target.lower().endswith(_CONFIGS)), None)
        if target is not None:
            script.written[target] = heredoc
        elif names[0] == "sbatch" or (shell is not None and not targets):
            body = script.document.text[heredoc.start : heredoc.end]
            inner.append((body, heredoc.start.__add__))
    for text, inside in inner:
        if nested >= _MAX_NESTED:
            script.note("a command in a command", "is nested too deeply and not read", inside(0), gap=True)
            continue
        known = len(script.launches)
        _read(script, text, inside, nested + 1)
        for launch in script.launches[known:]:
            launch.conditional = launch.conditional or command.conditional


def _with_written(script: _Script, settings: list[Setting], files: list[str]) -> tuple[list[Setting], list[str]]:
    """The settings with those of the configs that the script writes itself and hands to a launch."""
    stated = {setting.key for setting in settings}
    for path, heredoc in script.written.items():
        name = path.replace(HOLE, "").rpartition("/")[2]
        script.budget.spend(len(files), script.document.path)
        if all(file.rpartition("/")[2] != name for file in files):
            continue
        lines = "\n" * ((script.location(heredoc.start).line or 1) - 1)
        try:
            context = any_config.scan(Document(name, lines + script.document.text[heredoc.start : heredoc.end]))
        except SourceError as error:
            script.note(reference(name), f"is written here, and is not read: {error.message}", heredoc.start, gap=True)
            continue
        for setting in context.settings:
            # DeepSpeed's `auto` takes what the trainer says.
            if setting.value is not None or context.run or setting.key not in stated:
                location = replace(setting.location, path=script.document.path)
                settings.append(replace(setting, location=location))
        for skipped in context.skipped:
            where = replace(skipped.location, path=script.document.path) if skipped.location else None
            script.skipped.append(replace(skipped, location=where))
        files = [file for file in files if file.rpartition("/")[2] != name] + list(context.refers_to)
    return settings, files
