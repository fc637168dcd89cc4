"""What a call says of the run: the arguments of what trains, wraps, compiles, saves or clips."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from gradcompat.model.context import ConfigLookup
from gradcompat.scanners.adapter_targets import are_of_attention
from gradcompat.scanners.code import calls
from gradcompat.scanners.code.alike_branches import is_arguments
from gradcompat.scanners.code.arguments import Argument, pairs
from gradcompat.scanners.code.assignments import (
    asks_base,
    divides,
    freeze,
    is_embeddings,
    thaw,
    trained_module,
    variable,
)
from gradcompat.scanners.code.calls import (
    BATCH,
    KNOWN_METHODS,
    KNOWN_OF_TYPE,
    PADDING,
    PROCESSING,
    PROCESSORS,
    RESUMING,
    known,
    tool_of_method,
)
from gradcompat.scanners.code.command_options import read_parsed_classes
from gradcompat.scanners.code.config_lookups import is_config, loaded_file, lookup
from gradcompat.scanners.code.dataclass_parsers import PARSERS, dataclass_parser, fills_own_alone, parsed_input
from gradcompat.scanners.code.detectors.adapted_parts import adapts_part
from gradcompat.scanners.code.detectors.averaged_losses import LOSS, is_averaged, is_counted
from gradcompat.scanners.code.detectors.collected_metrics import COLLECTION, ways_of_computing, ways_of_holding
from gradcompat.scanners.code.detectors.float_weights import makes_float
from gradcompat.scanners.code.detectors.half_weights import made_half
from gradcompat.scanners.code.detectors.late_freezing import CONVERSION, freezes_later
from gradcompat.scanners.code.detectors.own_compilation import (
    BLOCKS,
    compiles_blocks,
    compiles_itself,
    compiles_no_model,
)
from gradcompat.scanners.code.detectors.own_heads import trains_own_head
from gradcompat.scanners.code.detectors.own_zeroing import clears_gradients
from gradcompat.scanners.code.detectors.pipeline_losses import gets_float_loss
from gradcompat.scanners.code.detectors.pooled_losses import POOLING, ways_of_use
from gradcompat.scanners.code.detectors.ranker_weights import TRAINER, trains_float_ranker
from gradcompat.scanners.code.detectors.settled_dtypes import MAKERS, SETTLED, settles_dtype
from gradcompat.scanners.code.detectors.trained_adapters import (
    gets_frozen_adapter,
    gets_merged_model,
    goes_on_alone,
    wraps_adapter,
)
from gradcompat.scanners.code.detectors.unplaced_models import is_unplaced
from gradcompat.scanners.code.findings import Called, Findings
from gradcompat.scanners.code.models import is_model, loaded, named
from gradcompat.scanners.code.names import UNKNOWN, Imported, Names, Scope
from gradcompat.scanners.code.optimizer_calls import read_optimizer
from gradcompat.scanners.code.option_defaults import option_behind
from gradcompat.scanners.code.own_loops import TRAINERS, is_method_of
from gradcompat.scanners.code.padding_tokens import padded_on_loading, special_tokens
from gradcompat.scanners.code.syntax import argument_of, last_name
from gradcompat.scanners.code.walk import Step, text
from gradcompat.scanners.configs.deepspeed import OF_TRAINER, left_to_engine
from gradcompat.terms.defaults import TRAIN

# `auto` in a mapping of DeepSpeed leaves these to the arguments that it stands among.
_LEFT_TO_ARGUMENTS = frozenset(f"deepspeed.{name}" for name in OF_TRAINER)

_CONFIGS = frozenset({"deepspeed", "hf_ds_config", "config", "config_params", "deepspeed_config", "fsdp_config"})

# What imports a module whose name may be computed.
_DYNAMIC = frozenset({"importlib.import_module", "runpy.run_path", "runpy.run_module"})

# What looks for the root of the project that a program lies in.
_ROOTS = frozenset(
    f"{package}.{function}" for package in ("pyrootutils", "rootutils") for function in ("setup_root", "find_root")
)

# Trainers whose parameters begin with the model, the arguments and the collator.
_COLLATOR_THIRD = frozenset({"Trainer", "Seq2SeqTrainer", "SFTTrainer"})

# What a collator makes a batch by.
_MAKES_BATCHES = frozenset({"__call__", "torch_call", "torch_mask_tokens"})

# Packages that do nothing to a model behind the program's back.
_OPEN = frozenset(
    {
        *("transformers", "peft", "torch", "accelerate", "bitsandbytes", "datasets", "evaluate", "deepspeed"),
        *("lightning", "pytorch_lightning", "torchinfo", "wandb", "numpy"),
    }
)


def read_call(found: Findings, step: Step, call: ast.Call) -> None:
    named = found.names.resolve(call.func, step.scope)
    # An object of a class of one's own is of all its bases, and above all of the first that is known.
    bases = () if named else tuple(found.names.bases(call.func, step.scope))
    names = named or tuple(sorted(bases, key=lambda name: known(name) is None))
    if names:
        found.called.append(Called(names, call))
    outer = step
    if len(named) > 1:
        step = step._replace(branch=True)  # imported from one place or from the other
    for keyword in call.keywords:
        if keyword.arg in BATCH:
            found.state(step, BATCH[keyword.arg], True, at=keyword.value)
    given = {keyword.arg for keyword in call.keywords}
    # Mllama alone takes these; its vision model has no text, and what it generates trains nothing.
    whole = {"aspect_ratio_ids", "input_ids"} <= given and given.isdisjoint({None, *BATCH})
    if whole and last_name(call.func) != "generate":
        found.state(step, "model.cross_attention_mask", False, at=call)
    config = loaded_file(call, found.names, step.scope)
    if config is not None:
        found.refers_to.append(config)
    if names:
        _function(found, step, call, names[0])
        read_optimizer(found, outer, call, names)
        loaded(found, step, call, names[0])
    if isinstance(call.func, ast.Attribute):
        _method(found, step, call, call.func)
    if not any(known(name) for name in names) and not _seen_through(found, call, names, step.scope):
        found.hidden = True


def _checkpointing_of_its_own(found: Findings, step: Step, call: ast.Call) -> None:
    """``functools.partial(torch.utils.checkpoint.checkpoint, use_reentrant=False)``, for layers to take."""
    if any(name.endswith(".checkpoint") for name in found.names.resolve(call.args[0], step.scope)):
        for keyword in call.keywords:
            if keyword.arg == "use_reentrant":
                literal = found.names.literal(keyword.value, step.scope)
                found.state(
                    step, "training.use_reentrant", literal if isinstance(literal, bool) else None, at=keyword.value
                )


def _function(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    head, _, last = name.rpartition(".")
    if name == "functools.partial" and call.args:
        _checkpointing_of_its_own(found, step, call)
    if last == "PipelineModule" and gets_float_loss(call, found.names, step.scope):
        found.symbol("deepspeed.PipelineModule.float_loss", call)
    if name == "deepspeed.initialize" and clears_gradients(call, found.names):
        found.symbol("deepspeed.initialize.zero_grad", call)
    if last in ("get_peft_model", "from_pretrained") and makes_float(call, found.names):
        found.symbol(f"{name}.float", call)
    if last in MAKERS and settles_dtype(call, found.names, step.scope):
        found.symbol(f"{name}.{SETTLED}", call)
    if last == LOSS and is_averaged(call, found.names):
        found.symbol(f"{name}.averaged", call)
    if last == LOSS and is_counted(call, found.names, step.scope):
        found.symbol(f"{name}.counted", call)
    if last == CONVERSION and freezes_later(call, found.names):
        found.symbol(f"{name}.then_frozen", call)
    if last == POOLING and head.startswith("torch_geometric."):
        for way in ways_of_use(call, found.names):
            found.symbol(f"torch_geometric.nn.{POOLING}.{way}", call)
    if last == COLLECTION and head.startswith("torchmetrics"):
        for way in (*ways_of_computing(call, found.names), *ways_of_holding(call, found.names, step.scope)):
            found.symbol(f"torchmetrics.{COLLECTION}.{way}", call)
    if known(name) is not None:
        _known(found, step, call, name)
    elif name in ("os.environ.setdefault", "os.putenv") and len(call.args) == 2:
        said, value = (found.names.literal(one, step.scope) for one in call.args)
        variable(found, step, said, value, call)
    elif name == "os.environ.update":
        for pair in (pair for one in call.args for pair in pairs(one, found.names, step.scope) or ()):
            variable(found, step, pair.key, pair.names.literal(pair.node, pair.scope), call)
        for word in call.keywords:
            variable(found, step, word.arg, found.names.literal(word.value, step.scope), call)
    elif name == "torch.device" and [found.names.literal(one, step.scope) for one in call.args] == ["mps"]:
        found.state(step, "host.device", "mps", at=call)
    elif name == "torch.backends.cuda.enable_cudnn_sdp":
        allowed = [found.names.literal(one, step.scope) for one in call.args]
        found.truth(step, "host.cudnn_attention", allowed[0] if allowed else True, call)
    elif name == "torch.compile":
        if not compiles_no_model(call, found.names, step.scope):
            _compiled(found, step, call)
    elif name in _DYNAMIC and not (call.args and isinstance(call.args[0], ast.Constant)):
        found.dynamic = found.dynamic or found.place(call)
    elif last in PARSERS:
        read_parsed_classes(found, step, call)
        found.parsers.append(dataclass_parser(call, step.scope, found.names))
        if fills_own_alone(call, step.scope, found.names):
            found.symbol(f"{name}.of_own_dataclasses", call)
    elif last == "from_pretrained" and (head in PROCESSORS or head.endswith(("Tokenizer", "TokenizerFast"))):
        if head in PROCESSORS:
            found.masking.append(found.place(call))
        found.feed(step, PADDING, found.arguments(step, call), PROCESSING)
    elif name == "hydra.main":
        _composes(found, step, found.arguments(step, call, ("config_path", "config_name")))
    elif head.startswith("peft.Peft") and last == "from_pretrained" and head.rpartition(".")[2] != "PeftConfig":
        found.wrapping.append(step)
        if wraps_adapter(call, found.names, step.scope):
            found.symbol(f"{name}.wrapped", call)


def _compiled(found: Findings, step: Step, call: ast.Call) -> None:
    """``torch.compile(model)``, ``model.compile(backend="eager")``."""
    if compiles_blocks(call, found.names):
        found.symbol(BLOCKS, call)
    maybe = any(word.arg == "disable" for word in call.keywords)
    found.state(step._replace(branch=step.branch or maybe), "training.torch_compile", True)
    for word in call.keywords:
        if word.arg == "backend":
            backend = found.names.literal(word.value, step.scope)
            found.state(step, "training.compile_backend", backend if isinstance(backend, str) else None, at=word)


def _attention(found: Findings, step: Step, call: ast.Call) -> None:
    """``model.set_attn_implementation("eager")``, which takes the place of what the model was loaded with."""
    attention = found.names.literal(argument_of(call, "attn_implementation", 0), step.scope)
    stated = attention if isinstance(attention, str) else None
    found.state(step, "model.attn_implementation", stated, at=call)


def _known(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    last = name.rpartition(".")[2]
    one = known(name)
    if one is None:
        return
    if one.framework is not None and not is_arguments(name) and found.document.text.count(f"{last}(") == 1:
        # Whoever drives the loop so takes these arguments, whatever the way there depends on.
        step = step._replace(branch=False)
    # `torch.cuda.amp.autocast(True)` is older than `torch.autocast("cuda")`.
    of_device = name.endswith((".cuda.amp.autocast", ".cpu.amp.autocast"))
    arguments = found.arguments(step, call, ("enabled", "dtype") if of_device else one.positional)
    given = {argument.name: argument.value for argument in arguments}
    if last in ("autocast", "fp8_autocast") and given.get("enabled", True) is False:
        return
    if last == "fp8_autocast":
        step = step._replace(branch=step.branch or given.get("enabled", True) is UNKNOWN)
    elif last == "autocast" and ("dtype" not in given or given.get("enabled", True) is UNKNOWN):
        step = step._replace(branch=True)
        found.state(step, "precision.mode", None)
    if given.get("limit_val_batches", 1) in (0, 0.0):  # no validation at all
        arguments = [argument for argument in arguments if argument.name != "val_check_interval"]
    if any(name.startswith("deepspeed.") for name in given):  # a mapping among the arguments of a Trainer
        arguments = [one for one in arguments if one.value != "auto" or one.name not in _LEFT_TO_ARGUMENTS]
        if given.get("deepspeed.gradient_accumulation_steps") == "auto":
            found.state(step, "deepspeed.same_accumulation", True)
    if given.get("gradient_clip_algorithm", "norm") != "norm":
        arguments = [argument for argument in arguments if argument.name != "gradient_clip_val"]
    # How activations are recomputed is said by the call that does it, and by no other way through the program.
    found.feed(step._replace(branch=False) if last == "checkpoint" else step, one, arguments, name)
    for keyword in call.keywords:
        path = lookup(keyword.value, found.names, step.scope) if keyword.arg is None and not step.branch else None
        if path is not None:
            found.lookups.append(ConfigLookup(path=path, tool=name))
    for key, stated in one.states.items() if call not in found.optional_calls else ():
        found.state(step, key, stated)
    if "deepspeed.zero_optimization.stage" in given and not any("offload" in one for one in given):
        found.state(step, "deepspeed.offload_optimizer", "none")
    if name == "deepspeed.initialize":
        for key, left in left_to_engine(given):
            found.state(step, key, left)
    if last == "DeepSpeedStrategy" and all(keyword.arg is not None for keyword in call.keywords):
        for key, left in _left_to_strategy(given):
            found.state(step, key, left)
    if one.framework is not None:
        found.drivers.setdefault(one.framework, found.place(call))
    if one.trains:
        found.trainer = True
        if one.framework == "trl" and given.get("peft_config") is not None:
            found.state(step, "peft.given_to_trainer", True)
        found.merged.append("peft_config" not in given and gets_merged_model(call, found.names, step.scope))
        if one.framework == "trl" and call.args and not one.positional:
            value = found.names.literal(call.args[0], step.scope)
            if isinstance(value, str):
                named(found, step, Argument("model", value, call.args[0], None, call.args[0]), None)
        for argument in arguments:
            if argument.name == "model" and (isinstance(argument.value, str) or _names_model(argument, found, step)):
                named(found, step, argument, None)  # TRL's trainers load it themselves
    _refer(found, step, name, arguments)
    if one.trains:
        third = call.args[2] if last in _COLLATOR_THIRD and len(call.args) > 2 else None
        collator = next((argument.given for argument in arguments if argument.name == "data_collator"), third)
        if collator is not None:
            _collator(found, step, collator)
    if TRAINER.fullmatch(name) and trains_float_ranker(call, found.names, step.scope):
        found.symbol("sentence_transformers.CrossEncoderTrainer.float_weights", call)
    if one.trains and one.framework == "transformers.Trainer":
        _own_module(found, step, call)
        if trains_own_head(call, found.names, step.scope):
            found.state(step, "data.unequal_labels", None, at=call)
    thaws = "requires_grad" in found.document.text
    if one.trains and one.framework == "trl" and not thaws and gets_frozen_adapter(call, found.names, step.scope):
        found.symbol(f"{name}.frozen_adapter", call)
    if one.trains and one.framework == "trl" and goes_on_alone(call, found.names, step.scope):
        found.symbol(f"{name}.loaded_adapter", call)
    if one.trains and "compute_loss_func" in given:
        # How it weighs labels is its own matter; the model's loss is not used.
        divides = True if _divides_by_count(found, step, call) else None
        found.state(step, "model.uses_num_items_in_batch", divides)
        if given["compute_loss_func"] is not None:
            found.state(step, "model.returns_loss", False)
    for argument in arguments:
        if argument.name == "modules_to_save":
            found.state(step, "peft.overlapping_modules", _overlap(argument.value), at=argument.node)
        elif argument.name == "target_modules" and isinstance(argument.value, (list, tuple)) and argument.value:
            if any(is_embeddings(str(one)) for one in argument.value):
                thaw(found, step, argument.node)  # an adapter of theirs
            found.state(step, "peft.attention_only", are_of_attention(argument.value), at=argument.node)
    if last == "LoraConfig" and given.get("target_modules") is None and all(word.arg for word in call.keywords):
        # What PEFT takes of mixtures of experts are q_proj and v_proj; where it knows no names it stops.
        found.state(step, "peft.attention_only", True, at=call)
    if last == "get_peft_model":
        found.wrapping.append(step)
        if adapts_part(call, found.names, step.scope):
            found.symbol("peft.get_peft_model.on_part", call)
        if is_unplaced(call, found.names, step.scope):
            found.symbol("peft.get_peft_model.unplaced", call)
    elif last.startswith("prepare_model_for_"):
        found.mentioned.add(last)
        if given.get("use_gradient_checkpointing", True) is not False:
            found.checkpointing.append(step)


def _divides_by_count(found: Findings, step: Step, call: ast.Call) -> bool:
    """Is ``compute_loss_func`` a function of the program that divides by the count of labels that it is given?"""
    given = argument_of(call, "compute_loss_func")
    if (
        isinstance(given, ast.Call)
        and given.args
        and found.names.resolve(given.func, step.scope) == ("functools.partial",)
    ):
        given = given.args[0]
    own = found.names.definition(given, step.scope) if given is not None else None
    return own is not None and any(divides(inner, "num_items_in_batch") for inner in ast.walk(own[1]))


def _own_module(found: Findings, step: Step, call: ast.Call) -> None:
    """``Trainer(model=Tagger())``, where that is a class of the program that derives from torch's modules alone."""
    given = argument_of(call, "model", 0)
    made_by = _class_of(found, step, given)
    if made_by is None or made_by[0] is not found.names:
        return
    bases = [name for base in made_by[1].bases for name in found.names.resolve(base, step.scope)]
    if any(name in ("torch.nn.Module", "torch.nn.modules.module.Module") for name in bases):
        found.symbol("transformers.Trainer.own_module", call)
        trained_module(found, step, made_by[1])


def _collator(found: Findings, step: Step, given: ast.expr) -> None:
    """What makes the batches: an object of a class, or a function of the program."""
    if isinstance(given, ast.Constant) and given.value is None:
        return
    kinds = found.names.type_of(given, step.scope)
    if len(kinds) == 1:
        own = _of_own_batches(found, step, given)
        found.state(step, "data.collator", own or kinds[0].rpartition(".")[2], at=given)
        return
    made_by = _class_of(found, step, given)
    defined = found.names.definition(given, step.scope)
    if made_by is not None and not made_by[1].bases:
        found.state(step, "data.collator", made_by[1].name, at=given)
    else:
        function = defined is not None and isinstance(defined[1], ast.FunctionDef)
        found.state(step, "data.collator", text(given) if function or isinstance(given, ast.Lambda) else None, at=given)


def _of_own_batches(found: Findings, step: Step, given: ast.expr) -> str | None:
    """The class of the project that makes batches without the one which it derives from, where the object is of one."""
    made_by = _class_of(found, step, given)
    makes = made_by is not None and any(
        isinstance(method, ast.FunctionDef) and method.name in _MAKES_BATCHES and not asks_base(method)
        for method in made_by[1].body
    )
    return made_by[1].name if made_by is not None and makes else None


def _class_of(found: Findings, step: Step, given: ast.expr | None) -> tuple[Names, ast.ClassDef] | None:
    """The class of the project that an object is made of, there or where its name is bound, and its file's names."""
    bound = found.names.bound_once(given.id, step.scope) if isinstance(given, ast.Name) else None
    made = given if bound is None else bound[0]
    defined = found.names.definition(made.func, step.scope) if isinstance(made, ast.Call) else None
    return (defined[0], defined[1]) if defined is not None and isinstance(defined[1], ast.ClassDef) else None


def _left_to_strategy(given: Mapping[str, object]) -> Iterator[tuple[str, str | int]]:
    """What Lightning tells DeepSpeed unless the program does, from 1.9.5 to 2.6.6; a config says all of it."""
    if given.keys().isdisjoint({"config", "zero_optimization"}):
        defaults: dict[str, tuple[str, str | int]] = {
            "stage": ("deepspeed.zero_stage", 2),
            "overlap_comm": ("deepspeed.overlap_comm", True),
            "offload_optimizer": ("deepspeed.offload_optimizer", "none"),
        }
        yield from (default for name, default in defaults.items() if name not in given)


def _overlap(modules: object) -> bool | None:
    """Is the name of one module part of another's? PEFT adds heads to those of classifiers, whatever the task is."""
    if modules is None:
        return False
    if not isinstance(modules, (list, tuple)) or not all(isinstance(name, str) for name in modules):
        return None
    if _contained(modules):
        return True
    return None if _contained((*modules, "classifier", "score")) else False


def _contained(names: Iterable[str]) -> bool:
    return any(one != other and one in other for one, other in product(names, repeat=2))


def _method(found: Findings, step: Step, call: ast.Call, called: ast.Attribute) -> None:
    method = called.attr
    given = parsed_input(call, step.scope, found.names, found.place)
    if given is not None and (given.argument or not step.branch):
        found.parsed.append(given)
    one = KNOWN_METHODS.get(method)
    if one is None and method in KNOWN_OF_TYPE:
        kinds = found.names.type_of(called.value, step.scope)
        one = KNOWN_OF_TYPE[method] if any(is_method_of(kind, method) for kind in kinds) else None
        of_optimizer = any(calls.optimizer(kind) is not None for kind in kinds)
        optional = call in found.optional_calls or (method == "load_state_dict" and step.branch and of_optimizer)
        one = None if optional else one
    if one is not None:
        given_to = found.arguments(step, call, one.positional)
        if method == "train":
            given_to = [argument for argument in given_to if not _handed_on(argument, found, step)]
        found.feed(step, one, given_to, tool_of_method(method, one))
        for key, value in one.states.items():
            found.state(step, key, value)
            if method in RESUMING and isinstance(step.function.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.resuming.append((step.function.node, found.settings[-1]))
    halved = made_half(call, found.names, step.scope)
    if halved is not None:
        found.state(step, "model.torch_dtype", halved, at=call)
        found.state(step, "precision.half_weights", True, at=call)
    if method == "compile" and compiles_itself(call, found.names, step.scope):
        _compiled(found, step, call)
    if method == "train":
        kinds = found.names.type_of(called.value, step.scope)
        if any(TRAINERS.fullmatch(kind) and "lightning" not in kind for kind in kinds):
            found.resumed.append(bool(call.args or call.keywords))
        trainer = any(kind.startswith("transformers.") and TRAINERS.fullmatch(kind) for kind in kinds)
        found.called.append(Called((TRAIN if trainer else "?.train",), call))
    if method in ("gradient_checkpointing_enable", "activation_checkpointing_enable", "enable_gradient_checkpointing"):
        found.checkpointing.append(step)
    elif method == "enable_input_require_grads":
        found.hooks.append(step)
    elif method == "register_forward_hook" and is_embeddings(text(called.value)):
        found.hooked_tables.append(step)
    elif method == "to" and [found.names.literal(argument, step.scope) for argument in call.args[:1]] == ["mps"]:
        found.state(step, "host.device", "mps", at=call)
    elif method == "set_attn_implementation":
        _attention(found, step, call)
    elif method == "requires_grad_":
        literals = [found.names.literal(argument, step.scope) for argument in call.args]
        if literals == [False] and is_embeddings(text(called.value)):
            freeze(found, step, text(called.value), call)
        elif literals != [False]:
            if is_embeddings(text(called.value)):
                thaw(found, step, call)
            found.mentioned.add("make_inputs_require_grad")  # the hook by hand: `lambda x: x.requires_grad_(True)`
    elif method == "from_pretrained":
        padded_on_loading(found, step, call)
    elif method == "add_special_tokens":
        special_tokens(found, step, call)
    found.mentioned.add(method)


def _names_model(argument: Argument, found: Findings, step: Step) -> bool:
    """Does an option or a config give a trainer the name of its model?"""
    given = argument.given
    if isinstance(given, ast.Name) and given.id in found.models:
        return False
    option = option_behind(given, found.names, step.scope, found.options)
    return isinstance(option.default, str) if option is not None else bool(lookup(given, found.names, step.scope))


def _handed_on(argument: Argument, found: Findings, step: Step) -> bool:
    """``resume_from_checkpoint=training_args.resume_from_checkpoint``: says what these arguments say by themselves."""
    given = argument.given
    if not isinstance(given, ast.Attribute) or argument.value is not UNKNOWN:
        return False
    if lookup(given, found.names, step.scope):
        return False
    return given.attr == argument.name and given.attr not in found.options


def _refer(found: Findings, step: Step, tool: str, arguments: list[Argument]) -> None:
    """The files that arguments name: ``deepspeed="ds.json"``, or what a config has there, ``deepspeed=cfg["ds"]``."""
    for one in arguments:
        if one.name not in _CONFIGS:
            continue
        if isinstance(one.value, str) and is_config(one.value):
            found.refers_to.append(one.value)
        keys = lookup(one.given, found.names, step.scope) if one.value is UNKNOWN else None
        if keys:
            found.lookups.append(ConfigLookup(path=keys, tool=tool, argument=one.name, file=True))


def _composes(found: Findings, step: Step, arguments: list[Argument]) -> None:
    """``@hydra.main(config_path="configs", config_name="train")``."""
    given = {argument.name: argument for argument in arguments}
    name = given["config_name"].value if "config_name" in given else None
    folder = given["config_path"].value if "config_path" in given else None
    if folder is UNKNOWN:
        folder = _below_root(given["config_path"].given, found.names, step.scope)
    if isinstance(name, str) and (folder is None or isinstance(folder, str)):
        name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
        found.refers_to.append(name if folder is None else f"{folder}/{name}")


def _below_root(path: ast.expr, names: Names, scope: Scope) -> object:
    """``configs`` of ``f"{root}/configs"`` and ``str(root / "configs")``, where the project's root is looked for."""
    match path:
        case ast.Call(func=ast.Name(id="str"), args=[inner], keywords=[]):
            return _below_root(inner, names, scope)
        case ast.JoinedStr(values=[ast.FormattedValue(value=root), ast.Constant(value=str(below))]):
            pass
        case ast.BinOp(left=root, op=ast.Div(), right=ast.Constant(value=str(below))):
            pass
        case _:
            return UNKNOWN
    bound = names.bound_once(root.id, scope) if isinstance(root, ast.Name) else None
    made = bound[0] if bound is not None else root
    of_root = isinstance(made, ast.Call) and _ROOTS.intersection(names.resolve(made.func, scope))
    return below.strip("/") if of_root and below.strip("/") else UNKNOWN


def _seen_through(found: Findings, call: ast.Call, names: tuple[str, ...], scope: Scope) -> bool:
    """Can it be read here what the call does to a model? If none is given to it there is nothing to read."""
    given = [*call.args, *(word.value for word in call.keywords)]
    if not any(isinstance(one, (ast.Name, ast.Attribute)) and text(one) in found.models for one in given):
        return True
    if names:
        return all(name.partition(".")[0] in _OPEN or is_model(name) for name in names)
    if isinstance(call.func, ast.Name):
        bound = found.names.bindings(call.func.id, scope)
        return bound is None or not any(isinstance(imported, Imported) or imported is None for imported in bound[0])
    return isinstance(call.func, ast.Attribute)  # a method: of the trainer, the tokenizer, the model itself
