"""Training programs in Python, read from their syntax tree; nothing is imported and nothing is run.

``code.symbols`` lists every function and class of other packages that the file uses, by its full name, and methods of
objects whose class is not known by their bare name (``register_buffer``). The modules of the project that the program
imports are read with it, as far as it can reach what stands in them; the list is complete if all of them were read, and
each that was not is named.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from gradcompat.errors import Malformed, Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.code_use import CodeUse, left_out
from gradcompat.model.context import Context, DataclassParser, OptionalUse
from gradcompat.model.environment import Location, Setting, Skipped
from gradcompat.model.release_question import ReleaseQuestion
from gradcompat.scanners.code import calls
from gradcompat.scanners.code.arguments import Place
from gradcompat.scanners.code.called_classes import full_name
from gradcompat.scanners.code.config_lookups import CALLED
from gradcompat.scanners.code.configuration_objects import ProgramNames, keys_set
from gradcompat.scanners.code.dataclass_parsers import is_lenient, with_inputs
from gradcompat.scanners.code.detectors.ungraded_calls import KERNELS
from gradcompat.scanners.code.facts import read, read_statement
from gradcompat.scanners.code.fallbacks import FUNCTIONS, optional_modules
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.inlined_calls import inlined
from gradcompat.scanners.code.local_modules import Followed, Links, Module, Project, follow, project_of
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.only_calls import NOTHING_HANDED, Views, views
from gradcompat.scanners.code.program_inference import recomputes_nothing
from gradcompat.scanners.code.reachability import is_main_guard, reached, without_uncalled
from gradcompat.scanners.code.regions import ALWAYS
from gradcompat.scanners.code.resumptions import settle_resumptions
from gradcompat.scanners.code.syntax import parse, places_in
from gradcompat.scanners.code.uncalled_methods import uncalled
from gradcompat.scanners.code.unset import unset
from gradcompat.scanners.code.uses import Certainty, ModuleUses, module_by_name, module_uses
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.scanners.launches import environment_variables
from gradcompat.scanners.registry import LIBRARIES
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.symbol_patterns import has_items

MOST_MODULES = 20  # of the project itself that are named one by one, for one file
# Frameworks for tests.
_TESTING = frozenset({"pytest", "unittest"})

FEEDS: Feeds = {
    **calls.feeds(),
    "torch.compile()": Feed("training.torch_compile", given=True),
    "torch.optim, transformers, bitsandbytes.optim, deepspeed.ops, apex.optimizers": (
        Feed("optimizer.name"),
        Feed("optimizer.library"),
    ),
    "optimizer(fused)": Feed("optimizer.fused"),
    "optimizer(weight_decay)": Feed("optimizer.weight_decay"),
    "optimizer(params)": Feed("optimizer.groups"),
    "memory_efficient_attention(….expand())": Feed("model.multi_query"),
    "from_pretrained(pretrained_model_name_or_path)": (Feed("model.name"), Feed("model.architecture")),
    "LlavaForConditionalGeneration.from_pretrained()": Feed("model.architecture"),
    "model.config.use_cache": Feed("model.use_cache"),
    "model.config.output_router_logits": Feed("model.output_router_logits"),
    "model.config.router_aux_loss_coef": Feed("model.output_router_logits", {"0": False, "0.0": False}, only=True),
    "def forward(**kwargs)": (
        Feed("model.forward_takes_kwargs"),
        Feed("model.uses_num_items_in_batch", {"unused": False}),
        Feed("model.of_library", given=False),
    ),
    "torch.backends.cuda.matmul.allow_tf32": Feed("precision.tf32"),
    "self.automatic_optimization": Feed("training.manual_optimization", {"false": True, "true": False}),
    "tokenizer.pad_token = tokenizer.eos_token": Feed("data.pad_is_eos", given=True),
    "text + tokenizer.eos_token": Feed("data.ends_with_eos", given=True),
    "get_input_embeddings().requires_grad_(False)": Feed("training.frozen_embeddings", given=True),
    "gradient_checkpointing_enable() and get_peft_model()": Feed("training.checkpointing_before_peft"),
    "TrainingArguments, SFTConfig, pl.Trainer, Accelerator": Feed("training.framework"),
    **{f'os.environ["{name}"]': feed for name, feed in environment_variables.FEEDS.items()},
    "names": (Feed("code.symbols"), Feed("code.calls"), Feed("code.guarded")),
    "def training_step()": Feed("training.own_step", given=True),
}
# `import unsloth` puts classes of its own in the place of these, which pass what TRL has dropped on to the config
# (unsloth/trainer.py, _backwards_compatible_trainer, and unsloth/models/rl.py).
_UNSLOTHS = lazy_pattern(r"trl(?:\.trainer\.\w+)?\.\w+(?:Trainer|Config)")
_NO_LIBRARY = "imports no library for training"
_REGISTERING = frozenset({"add", "append", "extend", "insert", "register", "setdefault", "update"})


def scan(document: Document) -> Context:
    """What a program says of the run.

    Raises:
        Malformed: if it is no Python, or uses no library for training.
    """
    return context(document, "python", _tree(document), places_in(document))


def _tree(document: Document) -> ast.Module:
    """The syntax tree; a module that another program imports has been parsed already."""
    module = _imported(document, project_of(document))
    return parse(document.text, document.path) if module is None else module.tree


def _imported(document: Document, placed: tuple[Project, str] | None) -> Module | None:
    """A program as the module that another one has imported, whose tree and names need not be found out again."""
    module = None if placed is None else placed[0].known(placed[1])
    same = module is not None and module.document.text == document.text and module.document.path == document.path
    return module if same else None


def context(document: Document, kind: str, tree: ast.Module, place: Place) -> Context:
    """The facts of a syntax tree, with the modules of the project that it imports.

    Raises:
        Malformed: if it uses no library for training.
    """
    placed = project_of(document)
    module = _imported(document, placed)
    names: Names
    if module is None or module.tree is not tree:
        module, names = None, ProgramNames(tree, None if placed is None else Links(*placed))
    else:
        names = module.names.as_program()
    called = without_uncalled(tree, names)
    is_test = _is_test(document, tree, names)
    followed = Followed()
    replaced: frozenset[Setting] = frozenset()
    runs = kind == "notebook" or _does_something(tree)
    try:
        if LIBRARIES.isdisjoint(names.imported) and (is_test or not _takes_from_project(names, placed)):
            raise Unrecognised(_NO_LIBRARY, path=document.path)  # before the long part, as most modules are
        facts: Findings | None = None
        if placed is None or is_test or not runs:
            facts = read(called, names, place, document)
        # Lightning's Trainer is given its module by the program that makes both, or by a config.
        if placed is not None and not is_test and (facts is None or facts.trains or facts.lightning_module is not None):
            project, file = placed
            followed = follow(document, names, project, file)
            everything = (names, *(module.names for module in followed.modules))
            if all(LIBRARIES.isdisjoint(one.imported) for one in everything):
                raise Unrecognised(_NO_LIBRARY, path=document.path)
            calling, run, stands, read_as = called, names, place, document
            small = inlined(called, names, place) if runs else None
            if small is not None:
                calling, run, stands = small.tree, ProgramNames(small.tree, Links(project, file)), small.place
                read_as = replace(document, text=f"{document.text}\n{small.text}")
            statements = reached(calling, run, file, followed.modules, project)
            files = [(calling, run), *((module.tree, module.names) for module in followed.modules)]
            # Of a module that nobody imports here, and in one that was not read, anybody may call them.
            whole = runs and not followed.unread
            without = uncalled(files) if whole else frozenset()
            modules = zip(followed.modules, statements, strict=True)
            handed = views(calling, run, followed.modules, statements, project.handing) if whole else NOTHING_HANDED
            parts = [fact for module, reading in modules for fact in _facts(module, reading, without, handed)]
            facts = read(calling, run, stands, read_as, parts, without)
            if runs and not followed.unread:
                replaced = settle_resumptions(facts, files, without)
        elif placed is not None:
            followed.unread = _not_followed(document, names, *placed)
        if facts is None or not LIBRARIES & facts.imported:
            raise Unrecognised(_NO_LIBRARY, path=document.path)
        text = "\n".join((document.text, *(module.document.text for module in followed.modules)))
        left = unset(facts, text)
    except RecursionError:
        raise Malformed("nested too deeply", path=document.path) from None
    settings = [setting for found in (facts, *facts.parts) for setting in _once(found, replaced)]
    taken = UsesOfAll()
    if not is_test:
        same = module is not None and "__main__" not in document.text  # what stands behind that is no module's
        own = _uses(module) if module is not None and same else module_uses(tree, names, place)
        taken = _uses_with_modules(own, followed, placed, runs=runs)
    own_replaced = _replaced(names, place) if module is None else _replaced_by(module)
    for name, location in (*own_replaced, *(one for part in followed.modules for one in _replaced_by(part))):
        facts.symbols.setdefault(f"{name}.replaced", location)
    of_options = _uses_of_options(facts, taken.uses)
    behind = {one.use for one in of_options if not one.imported}
    used = {name.partition(".")[0] for name in facts.symbols.keys() - behind}
    for use in taken.uses:
        if use.kind == "import" and use.name is None and not use.conditional and use.root not in used:
            facts.symbols.setdefault(f"{use.root}.__init__", use.location)  # which an import runs, used or not
    for name in [one for one in facts.symbols if FUNCTIONS.fullmatch(one) and one not in facts.firm]:
        facts.symbols[f"{name}.with_fallback"] = facts.symbols[name]
    for name in [one for one in facts.symbols if KERNELS.fullmatch(one) and one not in facts.graded]:
        facts.symbols[f"{name}.ungraded"] = facts.symbols[name]
    settings += _by_way("code.symbols", facts.symbols, facts)
    settings += _by_way("code.calls", facts.calls, facts)
    if facts.symbols and not facts.calls:  # which is known as well
        settings.append(Setting(key="code.calls", value=(), location=next(iter(facts.symbols.values()))))
    own_optional = _optional(tree, document.text) if module is None else _optional_of(module)
    optional = (*own_optional, *(one for part in followed.modules for one in _optional_of(part)))
    caught = sorted(_caught(facts, taken, optional))
    if caught:
        settings.append(Setting(key="code.guarded", value=tuple(caught), location=facts.symbols[caught[0]]))
    unseen = _unseen(document, names, followed, facts)
    if not unseen:
        settings += recomputes_nothing(facts)
    if unseen and unseen[0].location is not None:
        # What those modules use is used too, and nobody has looked.
        settings.append(Setting(key="code.symbols", value=None, location=unseen[0].location))
    return Context(
        source=document.path,
        kind=kind,
        settings=tuple(settings),
        run=facts.trains and not is_test,
        refers_to=tuple(dict.fromkeys(facts.refers_to)),
        skipped=(*facts.skipped, *unseen),
        unset=left if not unseen else (),
        defaults=tuple(facts.defaults),
        branches=tuple(facts.branches),
        optional=of_options,
        option_files=tuple(facts.option_files),
        parsers=() if is_lenient(text) else _parsers(facts),
        lookups=tuple(facts.lookups),
        keys_set=_keys_set((names, *(module.names for module in followed.modules)), facts),
        modules=tuple(
            module.document.path for module in followed.modules if not any(map(is_main_guard, module.tree.body))
        ),
        guarded=taken.guarded,
        uses=taken.uses,
        given=taken.given,
        program=runs and not is_test,
    )


def _keys_set(files: Iterable[Names], facts: Findings) -> frozenset[str] | None:
    """What the files may set in the configs that calls look something up in; None for any key."""
    found: set[str] = set()
    for names in files if any(map(has_items, facts.calls)) else ():
        keys = keys_set(names, CALLED)
        if keys is None:
            return None
        found |= keys
    return frozenset(found)


def _uses_of_options(facts: Findings, uses: Iterable[CodeUse]) -> tuple[OptionalUse, ...]:
    """What is used in branches of options alone, though its import may stand before them."""
    imported = {use.full_name for use in uses if use.kind == "import" and not use.conditional}
    places = {**facts.symbols, **facts.calls}
    return tuple(
        OptionalUse(use=use, tests=tests, location=places[use], imported=use in imported)
        for use, tests in facts.options_of.items()
        if use in places
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsesOfAll:
    """What a program and the modules that it imports take from other packages.

    Attributes:
        uses: of all of them.
        given: the names that they put into modules of other packages.
        guarded: the modules that are imported only where a question for a version or the like lets them.
        caught: the names that they take only where their absence is caught or asked for.
    """

    uses: tuple[CodeUse, ...] = ()
    given: frozenset[str] = frozenset()
    guarded: tuple[str, ...] = ()
    caught: frozenset[str] = frozenset()


def _uses_with_modules(
    own: ModuleUses, followed: Followed, program: tuple[Project, str] | None, *, runs: bool
) -> UsesOfAll:
    """What a program and the modules that it imports take from other packages, and what they put there.

    A module is as sure to run as the import that leads to it. What is no program runs only if one imports it.
    """
    first = Certainty.CERTAIN if runs else Certainty.CONDITIONAL
    file = "" if program is None else program[1]
    by_file = {file: own, **{module.file: _uses(module) for module in followed.modules}}
    reached = {file: first}
    waiting = [] if program is None or not followed.modules else [program]
    while waiting:
        project, importer = waiting.pop(0)
        for name, certainty in by_file[importer].imports.items():
            found = project.find(name, importer)
            for one in () if found is None else (found[0], *project.packages(found[0])):
                surely = min(certainty, reached[importer])
                if one in by_file and surely > reached.get(one, Certainty.GUARDED):
                    reached[one] = surely
                    waiting.append((project, one))
    given = frozenset(name for one in by_file.values() for name in one.given)
    found_uses = (
        use if surely is Certainty.CERTAIN or use.conditional else replace(use, conditional=True)
        for one, surely in reached.items()
        for use in by_file[one].uses
    )
    if any(name.partition(".")[0] == "unsloth" for one in reached for name in by_file[one].imports):
        found_uses = (use for use in found_uses if use.kind != "keyword" or not _UNSLOTHS.fullmatch(use.full_name))
    guarded = tuple(module.document.path for module in followed.modules if module.file not in reached)
    uses = left_out(found_uses, given)
    caught = frozenset(name for one in by_file.values() for name in one.caught) - {use.full_name for use in uses}
    return UsesOfAll(uses=uses, given=given, guarded=guarded, caught=caught)


def _caught(facts: Findings, taken: UsesOfAll, optional: Iterable[str]) -> frozenset[str]:
    """What is used only where its absence is caught or asked for, by the module, too, that has another one instead."""
    begin = tuple({f"{module}." for module in optional})
    used = {use.full_name for use in taken.uses}
    of_optional = (name for name in facts.symbols if name.startswith(begin) and name not in used)
    return frozenset((*(taken.caught & facts.symbols.keys()), *of_optional))


def _optional(tree: ast.AST, text: str) -> tuple[str, ...]:
    return tuple(optional_modules(tree)) if "except" in text else ()


def _optional_of(module: Module) -> tuple[str, ...]:
    """The modules without which one can do, asked once for all programs that import it."""
    if module.optional is None:
        module.optional = _optional(module.tree, module.document.text)
    return module.optional


def _by_way(key: str, used: Mapping[str, Location], facts: Findings) -> Iterator[Setting]:
    """What the program uses or calls: first what it does anyhow, then what it does with some releases alone."""
    by_way: dict[tuple[ReleaseQuestion, ...], list[str]] = {(): []} if used else {}
    for name in sorted(used):
        for way in facts.ways.get(name, ALWAYS):
            by_way.setdefault(way, []).append(name)
    for way, names in by_way.items():
        places = tuple(used[name] for name in names)
        first = places[0] if way else next(iter(used.values()))
        yield Setting(key=key, value=tuple(names), location=first, places=places, where=way)


def _replaced(names: Names, place: Place) -> Iterator[tuple[str, Location]]:
    """The functions, classes, tables, constants and modules of others in whose place the program puts one.

    ``jax.tree_map = jax.tree.map`` is one, ``transformers.utils.FLAX_WEIGHTS_NAME = "flax_model.msgpack"`` another, and
    ``sys.modules["torchvision.transforms.functional_tensor"] = functional`` a third.
    """
    own = {*(one.name for one in names.nodes(ast.FunctionDef)), *(one.name for one in names.nodes(ast.ClassDef))}
    for node in names.nodes(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Subscript() as target]):
                module = module_by_name(target)
                if module is not None:
                    yield module, place(node)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                name = full_name(target, names.scope_of(target), names)
                if name is not None and _takes_a_place(value, target.attr, own, names):
                    yield name, place(node)
    for call in names.nodes(ast.Call):
        match call:
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(attribute)), value]):
                name = full_name(ast.Attribute(owner, attribute, ast.Store()), names.scope_of(call), names)
                if name is not None and _takes_a_place(value, attribute, own, names):
                    yield name, place(call)


def _takes_a_place(value: ast.expr, attribute: str, own: Collection[str], names: Names) -> bool:
    """Is a value a function, a class, a table or a constant, and no option that is set?"""
    match value:
        case ast.Lambda() | ast.Dict():
            return True
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name in own:
            return True  # ``torch.load = patched(torch.load)``
        case ast.Call(func=function):  # ``functools.partial(torch.load, weights_only=False)``, ``dict(int=[np.int8])``
            return ast.unparse(function) in ("functools.partial", "partial", "dict")
        case ast.Constant():
            return attribute.isupper()  # others are options: ``torch.backends.cudnn.benchmark = True``
        case ast.Name() if names.definition(value, names.module) is not None:
            return True  # a function of another module of the project
    found = names.resolve(value, names.module)
    of_python = len(found) == 1 and "." in found[0] and found[0].partition(".")[0] in sys.stdlib_module_names
    return of_python or full_name(value, names.module, names) is not None


def _replaced_by(module: Module) -> tuple[tuple[str, Location], ...]:
    """The same of a module, asked once for all programs that import it."""
    if module.replaced is None:
        module.replaced = tuple(_replaced(module.names, module.place))
    return module.replaced


def _uses(module: Module) -> ModuleUses:
    """What a module takes from others, asked once for all programs that import it."""
    if module.uses is None:
        module.uses = module_uses(module.tree, module.names, places_in(module.document))
    return module.uses


def _facts(
    module: Module, statements: Sequence[ast.stmt], without: frozenset[ast.AST], handed: Views
) -> list[Findings]:
    """What some statements of a module say, and first what it imports."""
    place = module.place
    found = [module.beside]
    for statement in statements:
        left = without.intersection(statement.body) if isinstance(statement, ast.ClassDef) else frozenset()
        chain = handed.chains.get(statement, ())
        names = handed.names[module.file] if chain != () else module.names
        if chain is None:  # no other program hands it the same
            found.append(read_statement(statement, names, place, module.document, left))
            continue
        if (statement, left, chain) not in module.facts:
            module.facts[statement, left, chain] = read_statement(statement, names, place, module.document, left)
        found.append(module.facts[statement, left, chain])
    return found


def _does_something(tree: ast.Module) -> bool:
    """Does it call something or loop when it is run, and not only define what others import?"""
    return any(
        is_main_guard(statement)
        or isinstance(statement, (ast.For, ast.While, ast.With))
        or (isinstance(statement, ast.Expr) and _is_action(statement.value))
        for statement in tree.body
    )


def _is_action(value: ast.expr) -> bool:
    """Is it a call that does more than add to a registry, as ``AutoModel.register(A, B)`` does?"""
    if not isinstance(value, ast.Call):
        return False
    return not (isinstance(value.func, ast.Attribute) and value.func.attr in _REGISTERING)


def _takes_from_project(names: Names, placed: tuple[Project, str] | None) -> bool:
    """Does a file import a module of its project, which may import a library for it?"""
    return placed is not None and any(placed[0].find(name, placed[1]) is not None for name in names.imports)


def _not_followed(document: Document, names: Names, project: Project, file: str) -> list[tuple[str, int, str, str]]:
    """The modules of the project that a module imports which starts no run by itself."""
    reason = "is part of this project: what it uses is not seen here"
    roots = {**names.relative, **names.imported}
    return [
        (name, line, document.path, reason)
        for name, line in roots.items()
        if name in names.relative or project.find(name, file) is not None
    ]


def _is_test(document: Document, tree: ast.Module, names: Names) -> bool:
    """Does it hold tests, which train what no run does?"""
    name = PurePosixPath(document.path).name
    named = name == "conftest.py" or fnmatchcase(name, "test_*.py") or fnmatchcase(name, "*_test.py")
    if not named and _TESTING.isdisjoint(names.imported):
        return False
    inside = (
        statement for node in tree.body for statement in (node, *(node.body if isinstance(node, ast.ClassDef) else ()))
    )
    return name == "conftest.py" or any(
        isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name.startswith("test") for one in inside
    )


def _parsers(facts: Findings) -> tuple[DataclassParser, ...]:
    """The parsers of the program's own options; none where one of them is not seen as a whole."""
    seen = [parser for parser in facts.parsers if parser is not None]
    if len(seen) != len(facts.parsers):
        return ()
    distinct = tuple(dict.fromkeys(seen))
    return (with_inputs(distinct[0], facts.parsed),) if len(distinct) == 1 else distinct


def _once(found: Findings, replaced: frozenset[Setting]) -> list[Setting]:
    """Each statement once but those that others replace, in the order of the file; one said twice where it is first.

    What an option or a config gives is a statement of its own, which the launch, the default or the config replaces. A
    branch that passes on the same option once more adds nothing, whether it is taken or not.
    """
    said = {(flag, setting.key) for default in found.defaults for flag in default.flags for setting in default.stated}
    replaceable = [default.stated for default in found.defaults] + [lookup.stated for lookup in found.lookups]
    optional = {setting for stated in replaceable for setting in stated} | {one.stated for one in found.branches}
    once: dict[tuple[str, object], Setting] = {}
    for setting in found.settings:
        if setting in replaced:
            continue
        if setting not in optional and (found.branched.get(setting.location), setting.key) in said:
            continue
        once.setdefault((setting.key, setting if setting in optional else repr(setting.value)), setting)
    return sorted(once.values(), key=lambda one: (one.location.line or 0, one.location.column or 0))


def _unseen(document: Document, names: Names, followed: Followed, facts: Findings) -> list[Skipped]:
    """What the program uses and nobody here has read: modules of the project, and what `import *` brings."""
    skipped = [
        Skipped(what=name, reason=reason, gap=False, location=Location(path=shown, line=line))
        for name, line, shown, reason in followed.unread[:MOST_MODULES]
    ]
    if len(followed.unread) > MOST_MODULES:
        skipped[-1] = replace(skipped[-1], what=f"{len(followed.unread) - MOST_MODULES + 1:,} more modules")
    if names.modules is None:
        reason = "is part of this project: what it uses is not seen here"
        skipped += _noted(document, names.relative.items(), reason)
    if facts.dynamic is not None:
        reason = "a module is imported by a name that is computed: what it uses is not seen here"
        skipped.append(Skipped(what="import_module", reason=reason, gap=False, location=facts.dynamic))
    foreign = [
        (f"from {module} import *", line)
        for module, line in names.stars
        if names.modules is None or (names.modules.find(module) or (None, "-"))[1]
    ]
    if len(foreign) > 1:
        skipped += _noted(document, foreign, "brings names that are not written here")
    return skipped


def _noted(document: Document, parts: Iterable[tuple[str, int]], reason: str) -> list[Skipped]:
    """A note for each of the first modules, and one for the others."""
    parts = list(parts)
    if len(parts) > MOST_MODULES:
        rest = f"{len(parts) - MOST_MODULES + 1:,} more modules"
        parts = [*parts[: MOST_MODULES - 1], (rest, parts[MOST_MODULES - 1][1])]
    return [
        Skipped(what=what, reason=reason, gap=False, location=Location(path=document.path, line=line))
        for what, line in parts
    ]
