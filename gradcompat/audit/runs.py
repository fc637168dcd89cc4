"""Which training runs belong to which environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from gradcompat.audit.documented_runs import documented_runs, is_documentation, is_notebook
from gradcompat.audit.pasted_runs import runs_in_text
from gradcompat.audit.unread_configs import configs_of_own_keys, with_unread_configs
from gradcompat.budget import Budget
from gradcompat.dependency_formats import by_name
from gradcompat.errors import NotFound, SourceError, Unrecognised
from gradcompat.files.root import Root, is_link_outside, root_of_file, root_of_folder
from gradcompat.formats import project_walk
from gradcompat.formats.document import Document, read_document
from gradcompat.messages import LONE_CONFIG, NO_ENVIRONMENT, NO_RUN
from gradcompat.model.code_use import ProjectCode, left_out
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Skipped
from gradcompat.scanners.any_config import find, read_context, scan, scan_found, scan_module
from gradcompat.scanners.configs.argument_blocks import with_items
from gradcompat.scanners.launches.parsed_options import parsed_uses
from gradcompat.scanners.named_files import path_of
from gradcompat.scanners.run_assembly import COMPOSED_FILES, PROGRAMS, assemble, join, join_all, reached
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.terms.symbol_patterns import CALLS_KEY, SYMBOLS_KEY

# Folders that list what the project above them needs, and hold no code of their own.
_OF_PROJECT_ABOVE = frozenset(
    {
        *("requirements", "reqs", "docker", "dockerfiles", "container", "containers", ".devcontainer", "conda"),
        *("env", "envs", "environment", "environments", "install", "installation"),
    }
)
_SCRIPT, _NOTEBOOK = "script", "notebook"
_LAUNCH_SCRIPT = "launch-script"
_CODE = (*PROGRAMS, _LAUNCH_SCRIPT)
_PROGRAMS_AND_PARTS = (*_CODE, "hydra")  # which say themselves that they train nothing


@dataclass(frozen=True, slots=True)
class Contexts:
    """What was scanned: files that the user named, and files that were found in folders.

    Attributes:
        named: each belongs to every environment.
        found: each belongs to the environments near it.
        unread: files in folders that could be training configs and cannot be read. What they say could be what makes a
            defect, so each is a gap.
        composing: the steps for configs that are composed anew for a command line; spent if they did not suffice.
        together: what `--context` names, which is one run of every environment.
    """

    named: tuple[Context, ...] = ()
    found: tuple[Context, ...] = ()
    unread: tuple[Skipped, ...] = ()
    together: tuple[Context, ...] = ()
    composing: Budget = field(default_factory=lambda: Budget(COMPOSED_FILES), compare=False)

    @property
    def every(self) -> tuple[Context, ...]:
        """Everything that was scanned, each file once."""
        return tuple(dict.fromkeys(self._scanned))

    @property
    def _scanned(self) -> tuple[Context, ...]:
        """The same, for whom a file that comes twice does no harm: to tell that compares all that files say."""
        return (*self.together, *self.named, *self.found)

    def skipped(self, unused: Collection[str] = ()) -> list[Skipped]:
        """What could not be read, and what could not be understood: that leaves a condition open, and is no gap.

        A program that starts no run decides nothing; of a module that runs import, they say themselves what is not
        seen. Runs that share a module say the same of it, which is told once.

        Args:
            unused: the files that are part of no run.
        """
        every = self.every
        modules = {module for context in every for module in context.modules}
        silent = {*unused, *modules} - {context.source for context in self.together}
        telling = (context for context in every if context.kind not in PROGRAMS or context.source not in silent)
        inside = (replace(skipped, gap=False) for context in telling for skipped in context.skipped)
        return [*self.unread, *dict.fromkeys(inside), *self._uncomposed()]

    def _uncomposed(self) -> tuple[Skipped, ...]:
        if not self.composing.spent:
            return ()
        what = next(context.source for context in self._scanned if context.composed is not None)
        reason = (
            f"composing it for every command line reads more than {COMPOSED_FILES:,} files: what the last ones train "
            "with is not known; name fewer scripts with `--context`"
        )
        return (Skipped(what=what, reason=reason, location=Location(path=what)),)

    @property
    def sources(self) -> tuple[str, ...]:
        """Every file that was read, as it is shown."""
        return tuple(dict.fromkeys(context.source for context in self._scanned))

    def of(self, environments: Sequence[str]) -> list[tuple[Context, ...]]:
        """The runs of each environment, in their order.

        A config that was found belongs to the environments of the nearest folder at or above its own, so that in a
        repository of many projects each keeps its own. Where no folder above has any, it belongs to those of folders
        without code of their own. An environment that is a program has its own run alone, and a notebook what its
        commands start. A named one belongs to all environments.
        """
        owned = self._owned(environments)
        self.composing.left = COMPOSED_FILES
        shared = self._shared()
        runs = {
            key: (*shared, *assemble(contexts, budget=self.composing).runs)
            for key, contexts in _distinct(owned.values()).items()
        }
        return [runs[_identity(owned[environment])] for environment in environments]

    def code(self, environments: Sequence[str]) -> list[ProjectCode | None]:
        """What the code beside each environment takes from other packages, in runs or not.

        None where no code was read at all. An environment in a folder without any, of a project that has some
        elsewhere, has code that takes nothing.
        """
        if not any(context.kind in _CODE or context.run for context in self._scanned):
            return [None] * len(environments)
        shared = (*self.together, *self.named)
        owned = self._owned(environments)
        code = {key: _code_of((*shared, *contexts)) for key, contexts in _distinct(owned.values()).items()}
        return [code[_identity(owned[environment])] for environment in environments]

    def unused(self, environments: Sequence[str]) -> list[Skipped]:
        """The files that were found and are part of no run of any environment.

        One that trains, and of which no environment is known, is a gap.
        """
        owned = _distinct(self._owned(environments).values())
        budget = Budget(COMPOSED_FILES)
        left: set[str] = set()
        used: set[str] = set()
        for contexts in owned.values():
            unused = {context.source for context in assemble(contexts, budget=budget).unused}
            left |= unused
            used |= {context.source for context in contexts} - unused
        made = {source for context in self.found for source in context.makes}  # a config that is not taken names them
        unnamed = left - used - made
        lone = {context.source for context in self.found} - left - used if owned else frozenset()
        return [
            Skipped(
                what=context.source,
                reason=NO_RUN if context.source in unnamed else NO_ENVIRONMENT,
                gap=context.run and context.source in lone,
                location=Location(path=context.source),
            )
            for context in self.found
            if context.source in unnamed or (context.run and context.source in lone)
        ]

    def _owned(self, environments: Sequence[str]) -> dict[str, tuple[Context, ...]]:
        """What was found, by the environment that it belongs to."""
        own = self._self_contained(environments)
        # What a notebook installs comes on top of what is there; a script with metadata runs with these alone.
        isolated = frozenset(source for source in own if _kind_of(source) == _SCRIPT)
        near = self._in_folders(environments, isolated)
        # A notebook that shows something beside the programs does not take them from the project above.
        beside = {
            folder: tuple(one for one in self.found if folder in path_of(one.source).parents)
            for folder in {PurePosixPath(environment).parent for environment in environments} - near.keys()
        }
        near = {**near, **beside}
        owned = {
            environment: own[environment] if environment in own else near[PurePosixPath(environment).parent]
            for environment in environments
        }
        notebooks = {one for one in environments if _kind_of(one) == _NOTEBOOK}
        return {**owned, **{one: self._of_notebook(one, notebooks, owned[one]) for one in notebooks - own.keys()}}

    def _of_notebook(self, notebook: str, notebooks: Collection[str], near: tuple[Context, ...]) -> tuple[Context, ...]:
        """What a notebook that trains nothing itself installs for: what its commands start, or else what is near.

        Another notebook that installs is the program of what it installs itself, and so is what it starts.
        """
        cells = [one for one in self.found if one.source == notebook]
        if starts := self._started_by((notebook,)):
            return tuple({id(one): one for one in (*cells, *starts)}.values())
        others = [one for one in notebooks if one != notebook]
        theirs = {*others, *(one.source for one in self._started_by(others))}
        leads_to = reached(self.found, [one.source for one in near])
        return tuple(one for one in near if theirs.isdisjoint(part.source for part in leads_to[one.source]))

    def _started_by(self, notebooks: Collection[str]) -> tuple[Context, ...]:
        """The launches in the commands of notebooks, and what they lead to."""
        launches = [one.source for one in self.found if one.source.rpartition(" (line ")[0] in notebooks]
        return tuple(part for parts in reached(self.found, launches).values() for part in parts)

    def _self_contained(self, environments: Sequence[str]) -> dict[str, tuple[Context, ...]]:
        """The environments that are programs themselves: a script with metadata, a notebook that trains."""
        programs = {context.source: context for context in self.found if context.kind in PROGRAMS}
        scripts = [environment for environment in environments if _kind_of(environment) == _SCRIPT]
        notebooks = [environment for environment in environments if _kind_of(environment) == _NOTEBOOK]
        starts = [
            *(environment for environment in scripts if environment in programs),
            *(environment for environment in notebooks if environment in programs and programs[environment].run),
        ]
        return {**dict.fromkeys(scripts, ()), **(reached(self.found, starts) if starts else {})}

    def _in_folders(
        self, environments: Sequence[str], isolated: Collection[str]
    ) -> dict[PurePosixPath, tuple[Context, ...]]:
        """What was found, by the folder of the environments that it belongs to."""
        # What a script with metadata lists is for itself, and not for the programs beside it.
        listing = dict.fromkeys(PurePosixPath(one).parent for one in environments if one not in isolated)
        plain = {PurePosixPath(one).parent for one in environments if _kind_of(one) not in (_NOTEBOOK, _SCRIPT)}
        owned: dict[PurePosixPath, list[Context]] = {
            folder: [] for folder in listing if folder in plain or plain.isdisjoint(folder.parents)
        }
        elsewhere: list[Context] = []
        for context in self.found:
            if context.source in isolated:
                continue
            nearest = next((parent for parent in path_of(context.source).parents if parent in owned), None)
            (elsewhere if nearest is None else owned[nearest]).append(context)
        folders = self._of_elsewhere(elsewhere, {folder: tuple(contexts) for folder, contexts in owned.items()})
        for context in elsewhere:
            for folder in folders[context.source]:
                owned[folder].append(context)
        for folder in sorted(owned, key=lambda one: len(one.parts)):
            if not owned[folder] and folder.name.lower() in _OF_PROJECT_ABOVE:
                owned[folder] = next((owned[parent] for parent in folder.parents if owned.get(parent)), [])
        return {folder: tuple(contexts) for folder, contexts in owned.items()}

    def _of_elsewhere(
        self, elsewhere: Sequence[Context], owned: Mapping[PurePosixPath, tuple[Context, ...]]
    ) -> dict[str, tuple[PurePosixPath, ...]]:
        """The folders of the environments for what was found below none of them.

        A script belongs where what it starts does. The rest belongs to the only one, or to those beside the code that
        have none of their own, such as `requirements/`: what one with code of its own lists is for that.
        """
        if len(owned) == 1 or not elsewhere:
            return dict.fromkeys((context.source for context in elsewhere), tuple(owned))
        bare = tuple(folder for folder, contexts in owned.items() if not any(map(_is_code, contexts)))
        home = {context.source: folder for folder, contexts in owned.items() for context in contexts}
        parts = reached(self.found, [context.source for context in elsewhere])
        found: dict[str, tuple[PurePosixPath, ...]] = {}
        for context in elsewhere:
            named = (home[part.source] for part in parts[context.source] if part.source in home)
            beside = (folder for folder in bare if _project_of(folder) in path_of(context.source).parents)
            found[context.source] = tuple(dict.fromkeys(named)) or tuple(beside)
        return found

    def _shared(self) -> list[Context]:
        """The runs of what was named."""
        if any(context.run for context in self.together):
            own = join_all(self.together, budget=self.composing)
            return [*own, *join(self.named, together=True, budget=self.composing)]
        if self.named:
            return join((*self.together, *self.named), together=True, budget=self.composing)
        return join_all(self.together, budget=self.composing)


def _project_of(folder: PurePosixPath) -> PurePosixPath:
    """The folder of the project that a folder with nothing but requirements belongs to."""
    above = folder.parent
    return _project_of(above) if above.name.lower() in _OF_PROJECT_ABOVE else above


def _is_code(context: Context) -> bool:
    return context.run or context.kind in PROGRAMS


def _kind_of(environment: str) -> str | None:
    """The format that its name tells."""
    expected = by_name(PurePosixPath(environment).name)
    return None if expected is None else expected.kind


def _code_of(contexts: Iterable[Context]) -> ProjectCode:
    """What some contexts take from other packages; what runs for sure in one of them does."""
    contexts = tuple(contexts)
    guarded = _only_guarded(contexts)
    contexts = tuple(context for context in contexts if context.source not in guarded)
    found = left_out(
        dict.fromkeys((*(use for context in contexts for use in context.uses), *parsed_uses(contexts))),
        frozenset(name for context in contexts for name in context.given),
    )
    certain = {use for use in found if not use.conditional}
    found = tuple(use for use in found if not use.conditional or replace(use, conditional=False) not in certain)
    idle = _idle(contexts)
    configured = any(context.values for context in contexts)
    leads_to = reached(contexts, [context.source for context in idle]) if configured else {}
    calls: dict[str, Location] = {}
    told: set[Location] = set()  # by programs, which know what they hand to the modules that they import
    for context in sorted(idle, key=lambda one: not one.program):
        said = list(_calls(context, [one for one in leads_to.get(context.source, ()) if one.values]))
        for call, place in said:
            if context.program or place not in told:
                calls.setdefault(call, place)
        told.update(place for _, place in said if context.program)
    theirs = {use for context in idle for use in context.uses}
    return ProjectCode(uses=found, idle=tuple(use for use in found if use in theirs), calls=tuple(calls.items()))


def _idle(contexts: Sequence[Context]) -> list[Context]:
    """The programs that train nothing and that no run leads to; where there is no run, all files with code."""
    quiet = [context for context in contexts if context.uses and not context.run]
    runs = [context for context in contexts if context.run]
    if not runs:
        return quiet
    parts = {source for context in runs for source in (*context.modules, *context.makes)}
    return [context for context in quiet if context.program and context.source not in parts]


def _calls(program: Context, configs: Sequence[Context]) -> Iterator[tuple[str, Location]]:
    """What a program calls and uses that trains nothing, with what scanners have a word of their own for.

    What stands behind a question for a release is left out.

    Args:
        program: the program.
        configs: those that it names.
    """
    for setting in (with_items(one, program, configs) for one in program.settings):
        if setting.key in (CALLS_KEY, SYMBOLS_KEY) and isinstance(setting.value, tuple) and not setting.where:
            for index, call in enumerate(setting.value):
                yield str(call), setting.place(index)


def _only_guarded(contexts: Sequence[Context]) -> frozenset[str]:
    """The modules that are imported nowhere but behind a question for a version or the like, by what does run."""
    questions = [frozenset(context.guarded) for context in contexts]
    left = frozenset().union(*questions).intersection(path for context in contexts for path in context.modules)
    while left:
        reached = {
            path
            for context, guarded in zip(contexts, questions, strict=True)
            if context.source not in left
            for path in context.modules
            if path not in guarded and path != context.source
        }
        if left.isdisjoint(reached):
            break
        left -= reached
    return left


def _distinct(owned: Iterable[tuple[Context, ...]]) -> dict[tuple[int, ...], tuple[Context, ...]]:
    """Each of several lists of the same contexts once, in their order."""
    return {_identity(contexts): contexts for contexts in owned}


def _identity(contexts: tuple[Context, ...]) -> tuple[int, ...]:
    """Tells lists of the same objects apart: to compare what they hold would cost more than to match it."""
    return tuple(map(id, contexts))


def in_folder(path: Path, display_path: str, root: Root) -> tuple[list[Context], list[Skipped]]:
    """Every training config, launch script and program below a folder, and what could be one and cannot be read."""
    unread: list[Skipped] = []

    def unlisted(error: OSError) -> None:
        unread.append(project_walk.unlisted(error, path, display_path))

    contexts: list[Context] = []
    files = find(path, display_path, unlisted, also=is_documentation)
    documents = [(file, label) for file, label in files if is_documentation(file.name) or is_notebook(file.name)]
    shared: dict[str, object] = {}
    for file, label in files:
        if is_documentation(file.name):
            continue
        if is_link_outside(file, root):
            unread.append(Skipped(what=label, reason=root.objection, location=Location(path=label)))
            continue
        scanned = scan_found(file, label, root, shared)
        if isinstance(scanned, Context):
            contexts.append(scanned)
        elif scanned is not None:
            unread.append(scanned)
    contexts += _made(contexts, files, root, shared)
    programs = {file.name for file, _ in files}
    contexts = [_with_target(context, programs) for context in contexts]
    contexts = _without_own_modules(contexts, [label for _, label in files])
    told = [skipped.what for skipped in unread]
    contexts += configs_of_own_keys(contexts, files, told, root)
    contexts = with_unread_configs(contexts, [label for _, label in files], told)
    return _lone([*contexts, *documented_runs(documents, root, contexts)]), unread


def _made(
    contexts: Sequence[Context], files: Sequence[tuple[Path, str]], root: Root, shared: dict[str, object]
) -> list[Context]:
    """The modules whose classes configs have made and that look like no program by themselves."""
    wanted = {source for context in contexts for source in context.makes} - {context.source for context in contexts}
    found: list[Context] = []
    for file, label in files:
        if label in wanted and not is_link_outside(file, root):
            try:
                found.append(scan_module(replace(read_document(file, label, root), shared=shared)))
            except SourceError:
                continue  # it imports nothing that trains
    return found


def _lone(contexts: list[Context]) -> list[Context]:
    """A config that is all there is was put there to be looked at: it is taken for the run, and that is said."""
    if len(contexts) != 1 or contexts[0].run or contexts[0].kind in _PROGRAMS_AND_PARTS:
        return contexts
    (context,) = contexts
    told = Skipped(what=context.source, reason=LONE_CONFIG, gap=False, location=Location(path=context.source))
    return [replace(context, run=True, skipped=(*context.skipped, told))]


def _with_target(context: Context, programs: Collection[str]) -> Context:
    """A launch script starts a run only if some program that it names is there.

    In a folder without any program it is what the user has: those of sd-scripts or diffusers' examples lie elsewhere.
    """
    missing = [target for target in context.targets if PurePosixPath(target).name not in programs]
    if not missing or len(missing) < len(context.targets):
        return context
    reason = "is started here, and there is no such program in this folder"
    skipped = Skipped(what=missing[0], reason=reason, gap=False, location=Location(path=context.source))
    elsewhere = not any(name.endswith((".py", ".ipynb")) for name in programs)
    return replace(context, run=context.run and elsewhere, skipped=(*context.skipped, skipped))


def _without_own_modules(contexts: list[Context], labels: Iterable[str]) -> list[Context]:
    """The launches without what they run of packages that lie in the project: Python takes these."""
    if not any(context.kind == _LAUNCH_SCRIPT and context.uses for context in contexts):
        return contexts
    folders = {part for label in labels for part in PurePosixPath(label).parent.parts}
    return [
        replace(context, uses=tuple(use for use in context.uses if use.root not in folders))
        if context.kind == _LAUNCH_SCRIPT
        else context
        for context in contexts
    ]


def _in_file(document: Document) -> list[Context]:
    """What a file says of a run: as a whole, or else in its code blocks.

    Raises:
        Malformed: if neither says anything.
    """
    try:
        return [scan(document)]
    except Unrecognised:
        found = runs_in_text(document)
        if not found:
            raise
        return found


def named(
    files: Sequence[str], place: Callable[[str], Path] = Path, said: tuple[str, ...] = ()
) -> tuple[Contexts, list[tuple[str, SourceError]]]:
    """What ``--context`` names: the contexts, and the files that could not be read.

    Args:
        files: as they were named.
        place: where they lie.
        said: all that was named on the command line, with links resolved; each file may refer to it.
    """
    inside_folders: list[Context] = []
    contexts: list[Context] = []
    unread: list[Skipped] = []
    failed: list[tuple[str, SourceError]] = []
    for file in dict.fromkeys(files):
        path = place(file)
        if os.path.isdir(path):
            inside, gaps = in_folder(path, file, root_of_folder(path, file, said))
            inside_folders += inside
            unread += gaps
            if not inside and not gaps:
                failed.append((file, NotFound("contains no training config, launch script or program", path=file)))
            continue
        try:
            # The file itself was named, wherever it lies.
            contexts += _in_file(replace(read_context(path, file), root=root_of_file(path, said)))
        except SourceError as error:
            failed.append((file, error))
    return Contexts(named=tuple(inside_folders), unread=tuple(unread), together=tuple(contexts)), failed
