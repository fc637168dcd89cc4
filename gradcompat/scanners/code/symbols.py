"""The names that a program uses, and what its calls are told, as the patterns of records ask for them."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.call_lines import call_lines
from gradcompat.scanners.code.detectors.epoch_saves import SYMBOL as BETWEEN_EPOCHS
from gradcompat.scanners.code.detectors.epoch_saves import saves_between_epochs
from gradcompat.scanners.code.detectors.late_loading import is_loaded_late
from gradcompat.scanners.code.detectors.metric_usages import SYMBOL as BETWEEN_RESETS
from gradcompat.scanners.code.detectors.metric_usages import is_computed_between_resets
from gradcompat.scanners.code.detectors.named_optimizers import made_by_name
from gradcompat.scanners.code.detectors.own_positions import loader_of_own_position
from gradcompat.scanners.code.detectors.skipped_loaders import TOLD_EPOCH, tells_epoch
from gradcompat.scanners.code.detectors.stream_order import manners_of_stream
from gradcompat.scanners.code.detectors.template_ids import manner_of_count, manner_of_trimming
from gradcompat.scanners.code.detectors.tensor_rates import SYMBOL as TENSOR_RATE
from gradcompat.scanners.code.detectors.tensor_rates import has_tensor_rate
from gradcompat.scanners.code.detectors.widened_masks import SYMBOL as WIDENED_MASK
from gradcompat.scanners.code.detectors.widened_masks import gets_widened_mask
from gradcompat.scanners.code.fallbacks import is_attempt
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.names import Imported, Names, Scope
from gradcompat.scanners.code.object_history import calls_behind
from gradcompat.scanners.code.own_classes import called_base, is_own_method
from gradcompat.scanners.code.parameter_groups import with_decay_of_groups
from gradcompat.scanners.code.sample_contents import read_hard_negatives
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.scanners.code.walk import Step
from gradcompat.startup.lazy_patterns import lazy_pattern

# Methods of Python's own types, which say nothing.
_COMMON = frozenset(name for kind in (str, bytes, list, dict, set, tuple, int) for name in dir(kind)) | {"parse_args"}
_DCP = ("torch.distributed.checkpoint.load", "torch.distributed.checkpoint.state_dict_loader.load")
_LOGGING = frozenset({"log", "log_dict"})
_SAVING = frozenset({"save_model", "save_pretrained"})
_LOADING = lazy_pattern(
    r"transformers\.(?:\w+\.)*\w*(?:Model|For)\w*\.from_pretrained|sentence_transformers\.(?:\w+\.)*\w+(?:Encoder|Transformer)"
)

_CALLED_OBJECT = lazy_pattern(
    r"(?:transformers\.(?:\w+\.)*(?:\w*(?:Tokenizer|TokenizerFast|Processor)|BlipForQuestionAnswering)"
    r"|monai\.transforms\.(?:\w+\.)*CutMix|lerobot\.(?:\w+\.)*(?:SmolVLA|ACT)Policy)\.__call__"
)
_TOKENIZER = lazy_pattern(r"transformers\.(?:\w+\.)*\w*Tokenizer\w*\.from_pretrained")
_ATTEMPTED = "from_pretrained.attempted"
_COLUMNS_OF_METRICS = frozenset({"predictions", "references"})


def read_name(found: Findings, step: Step, node: ast.Attribute | ast.Name) -> None:
    if isinstance(node, ast.Attribute):
        found.mentioned.add(node.attr)
        if _is_of_loss(node):  # of `outputs.loss.backward` only the whole is met
            found.mentioned.add("loss")
    elif isinstance(node.ctx, ast.Store):
        return
    named = found.names.resolve(node, step.scope)
    by_variable = bool(named) and bool(found.options_of) and _is_of_variable(node, found.names, step.scope)
    for name in named:
        if "." in name.strip("."):
            parts = name.split(".")
            # `transformers.Adafactor.step` uses `transformers.Adafactor` as well.
            of_class = next((index for index, part in enumerate(parts[:-1]) if index and part[:1].isupper()), None)
            if of_class is not None:
                found.symbol(".".join(parts[: of_class + 1]), node, by_variable=by_variable)
            found.symbol(name, node, by_variable=by_variable)
        elif isinstance(node, ast.Name) and name[:1].isupper() and found.names.bindings(node.id, step.scope) is None:
            found.symbol(name, node)


def _is_of_variable(node: ast.expr, names: Names, scope: Scope) -> bool:
    """``optimizer_class`` and ``optimizer.step``, which stand for what was assigned; no import has that name."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    bound = names.bindings(node.id, scope) if isinstance(node, ast.Name) else None
    return bound is not None and not any(isinstance(one, Imported) for one in bound[0])


def _is_of_loss(node: ast.Attribute) -> bool:
    """``outputs.loss.backward``."""
    inner = node.value
    while isinstance(inner, ast.Attribute):
        if inner.attr == "loss":
            return True
        inner = inner.value
    return False


def method_of_unknown(function: ast.expr, names: Names, scope: Scope) -> tuple[str, ...]:
    """The name of a method of an object that may be anything but a text, a list and the like, or the project's own."""
    if not isinstance(function, ast.Attribute) or function.attr in _COMMON or names.resolve(function, scope):
        return ()
    return () if is_own_method(function, names, scope) else (function.attr,)


def read_bare_method(found: Findings, step: Step, call: ast.Call, method: tuple[str, ...]) -> None:
    """``model.register_buffer(…)``, whatever the model is; ``getattr(torch.nn, "RReLU")``.

    With a default, ``getattr(torchaudio, "info", None)``, it is asked whether the name is there. ``method`` is that of
    :func:`method_of_unknown`.
    """
    for name in method:
        found.symbol(name, call.func)
    match call.func:
        case ast.Name(id=name) if found.names.resolve(call.func, step.scope) == (name,):
            found.symbol(name, call.func)  # from a cell that is not here
        case ast.Name(id="getattr"):
            match call.args:
                case [owner, ast.Constant(value=str(attribute))] if attribute.isidentifier():
                    for name in found.names.resolve(owner, step.scope):
                        found.symbol(f"{name}.{attribute}", call)


def read_symbols(found: Findings, step: Step, call: ast.Call, method: tuple[str, ...]) -> None:
    """``interleave_datasets(parts, stopping_strategy="…")``: what a call is told, for the patterns of records.

    ``method`` is that of :func:`method_of_unknown`.
    """
    for manner in (manner_of_count, manner_of_trimming):
        of_template = manner(call, found.names, step.scope)
        if of_template is not None:
            found.symbol(".".join(of_template), call)
    called = found.names.resolve(call.func, step.scope)
    made = called or _called_object(found, step, call) or method
    told, of_base = call, None if made else called_base(call, found.names, step.scope)
    if of_base is not None:
        made, told = of_base
    by_variable = bool(found.options_of) and _is_of_variable(call.func, found.names, step.scope)
    told = with_decay_of_groups(told, found.names, step.scope) if made else told
    for line in call_lines(told, made, found.names, step.scope, found.options):
        found.call(line, call, by_variable=by_variable)
    by_name = made_by_name(call, found.names, step.scope)
    if by_name is not None:
        named = with_decay_of_groups(by_name[1], found.names, step.scope)
        for line in call_lines(named, by_name[0], found.names, step.scope, found.options):
            found.call(line, call)
    if gets_widened_mask(call, found.names, step.scope):
        found.symbol(WIDENED_MASK, call)
    if tells_epoch(call, found.names, step.scope):
        found.symbol(TOLD_EPOCH, call)
    of_own_position = loader_of_own_position(call, found.names, step.scope)
    if of_own_position is not None:
        found.symbol(of_own_position, call)
    if has_tensor_rate(call, called, found.names, step.scope):
        found.symbol(TENSOR_RATE, call)
    if is_computed_between_resets(call, called, found.names, step.scope):
        found.symbol(BETWEEN_RESETS, call)
    for name in called or method:
        read_hard_negatives(found, step, call, name)
        _kept_or_taken(found, step, call, name)
        if name.rpartition(".")[2] == "compute" and _computes_with_arguments(call, found.names, step.scope):
            found.symbol("evaluate.combine.arguments", call)
        if name in _LOGGING and _stands_in(step.scope, "epoch_end"):
            found.symbol(f"{name}.at_epoch_end", call)
        if name.rpartition(".")[2] == "clip_gradients" and _stands_in(step.scope, "on_before_optimizer_step"):
            found.symbol(f"{name}.at_optimizer_step", call)
        within = _is_on_itself(call) or _stands_in(step.scope, "forward")  # which a wrapper is called by
        if name.rpartition(".")[2] == "training_step" and not within:
            found.call(f"{name}.from_outside()", call)
        if name.rpartition(".")[2] == "load_checkpoint" and is_loaded_late(call, found.names):
            found.symbol("load_checkpoint.after_training", call)
        if name.rpartition(".")[2] == "load_adapter" and is_loaded_late(call, found.names):
            found.symbol("load_adapter.after_training", call)
        if name.rpartition(".")[2] == "save_state" and saves_between_epochs(found.names):
            found.symbol(BETWEEN_EPOCHS, call)
        if name.endswith(".from_pretrained") and _is_attempted_format(call, found.names):
            for line in call_lines(call, (_ATTEMPTED,), found.names, step.scope, found.options):
                found.call(line, call)
        if name in _DCP and _loads_no_optimizer(call, found.names, step.scope):
            found.symbol(f"{name}.no_optimizer", call)
        for word, by in manners_of_stream(call, name, found.names, step.scope):
            found.symbol(f"{name}.{word}", call, by=by)
            found.call(f"{name}.{word}()", call, by=by)  # which counts in a program that trains nothing, too
        if name.startswith("xformers.ops.") and name.endswith("memory_efficient_attention"):
            inside = (node.func for given in call.args for node in ast.walk(given) if isinstance(node, ast.Call))
            if any(isinstance(called, ast.Attribute) and called.attr == "expand" for called in inside):
                found.state(step, "model.multi_query", True)


def _called_object(found: Findings, step: Step, call: ast.Call) -> tuple[str, ...]:
    """``tokenizer(text, return_offsets_mapping=True)``: a call of an object whose class a record asks for."""
    match call.func:
        case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
            pass
        case _:
            return ()
    itself = ast.Attribute(value=call.func, attr="__call__", ctx=ast.Load())
    return tuple(name for name in found.names.resolve(itself, step.scope) if _CALLED_OBJECT.fullmatch(name))


def _kept_or_taken(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    """``trainer.save_model("out")``, ``AutoModelForCausalLM.from_pretrained("out")``, ``pipeline(task, "out")``."""
    last, first = name.rpartition(".")[2], call.args[0] if call.args else None
    if last == "pipeline" and name.startswith("transformers."):
        model = argument_of(call, "model", 1)
        literal = found.names.literal(model, step.scope)
        if model is not None:
            found.loaded.append((name, model, literal if isinstance(literal, str) else None, found.place(call)))
        return
    if first is None:
        return
    if last in _SAVING:
        found.saved.append(first)
    elif last == "load_from_disk":
        literal = found.names.literal(first, step.scope)
        if isinstance(literal, str):  # of a DatasetDict each split has one
            found.refers_to += [f"{literal.rstrip('/')}/{split}dataset_info.json" for split in ("", "train/")]
    elif _LOADING.fullmatch(name) or _TOKENIZER.fullmatch(name):
        literal = found.names.literal(first, step.scope)
        found.loaded.append((name, first, literal if isinstance(literal, str) else None, found.place(call)))
        if isinstance(literal, str):
            found.refers_to.append(f"{literal.rstrip('/')}/tokenizer_config.json")


def _stands_in(scope: Scope | None, ending: str) -> bool:
    """Inside of a function of such a name, as of ``on_validation_epoch_end``, where a value is logged once."""
    while scope is not None:
        if isinstance(scope.node, ast.FunctionDef) and scope.node.name.endswith(ending):
            return True
        scope = scope.parent
    return False


def _is_attempted_format(call: ast.Call, names: Names) -> bool:
    """``from_pretrained(name, use_safetensors=False)`` where another format is read if that fails, or has failed."""
    return any(word.arg == "use_safetensors" for word in call.keywords) and is_attempt(call, names)


def _is_on_itself(call: ast.Call) -> bool:
    """``self.training_step(batch, 0)`` and ``super().training_step(batch, 0)``, which a module calls within."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="self") | ast.Call(func=ast.Name(id="super"))):
            return True
    return False


def _loads_no_optimizer(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``load({"model": model.state_dict()})``, a dictionary of which no part is an optimizer's."""
    given = argument_of(call, "state_dict", 0)
    if isinstance(given, ast.Name):
        bound = names.bound_once(given.id, scope)
        given = None if bound is None else bound[0]
    return isinstance(given, ast.Dict) and None not in given.keys and "opt" not in ast.unparse(given).lower()


def _computes_with_arguments(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``evaluate.combine(["f1"]).compute(predictions=p, references=r, average="macro")``: the mean is dropped."""
    if not isinstance(call.func, ast.Attribute) or all(word.arg in _COLUMNS_OF_METRICS for word in call.keywords):
        return False
    made = calls_behind(call.func.value, names, scope)
    return any(names.resolve(one.func, scope) == ("evaluate.combine",) for one in made)
