"""What assignments, loops over parameters and definitions of classes say."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from gradcompat.scanners.code.arguments import argument, arguments
from gradcompat.scanners.code.call_lines import call_lines
from gradcompat.scanners.code.calls import known
from gradcompat.scanners.code.dataclass_parsers import filled_class
from gradcompat.scanners.code.detectors.added_layers import BASE, layers_of
from gradcompat.scanners.code.detectors.lent_state import is_put_back
from gradcompat.scanners.code.detectors.own_compilation import runs_model
from gradcompat.scanners.code.detectors.renamed_parameters import gamma_of
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.named_definitions import is_named
from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.code.padding_tokens import is_of_evaluation, padded
from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.scanners.code.walk import Step, text
from gradcompat.scanners.launches.environment_variables import VARIABLES, said_by
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

# The embeddings of tokens. Those of positions and of images are others, and a teacher's are not those of the model.
_EMBEDDINGS = lazy_pattern(r"embed|\bwte\b")
_OTHERS = lazy_pattern(r"posit|\bwpe\b|patch|vis(?:ion|ual)|image|audio|teacher|\bref_|reference|reward")
_ALL_PARAMETERS = lazy_pattern(r"\w+\.(?:named_)?parameters\(\)")
# The table of tokens alone, and models that add trained positions or images to it: their first layer gets a gradient.
_TABLE = lazy_pattern(r"get_input_embeddings|embed_tokens|word_embeddings|\bwte\b")
_ADD_TO_IT = lazy_pattern(
    r"gpt-?2|bert|electra|\bopt-|bart|pegasus|whisper|clip|bloom|llava|-vl\b|VLFor", re.IGNORECASE
)
_TABLE_ALONE = "torch.nn.Parameter.frozen_table"
# Models with a loss: the bodies of models, which have none, are not asked.
_HEAD = lazy_pattern(r"For[A-Z]|LMHead")
# Classes of transformers with a loss of which a subclass may have another.
_WITH_LOSS = lazy_pattern(r"transformers\.(?:\w+\.)*\w*(?:For[A-Z]\w+|LMHeadModel)")
# What from_pretrained makes: a class of transformers that a class of the project derives from.
_MODEL = lazy_pattern(r"transformers\.(?:\w+\.)*\w*(?:Model|For[A-Z]\w+)")
# A compute_loss that the Trainer cannot tell how many labels count: since 4.46 most releases stop there.
_REFUSES_COUNT = "transformers.Trainer.compute_loss.without_num_items_in_batch"
# A training_step with no place for that count, which the Trainer hands over by position since 4.46.
_STEP_WITHOUT_COUNT = "transformers.Trainer.training_step.without_num_items_in_batch"
_STEP = ("self", "model", "inputs")
# One that takes the mean of a micro-batch to accelerate, which has divided nothing for the Trainer since 4.46.2.
# Trainers of TRL whose compute_loss divides by the steps of accumulation.
_DIVIDES_ITS_LOSS = lazy_pattern(r"^(?:trl|unsloth)\..*(?:GRPO|GSPO|PAPO)\w*Trainer$")
_UNDIVIDED_STEP = "transformers.Trainer.training_step.undivided"
# Methods of the Trainer in whose own code a defect is; who writes one of his own does not have it.
_DEFECTIVE = (
    *("compute_loss", "prediction_step", "_load_optimizer_and_scheduler", "get_batch_logps", "_get_eval_sampler"),
    *("create_optimizer", "get_decay_parameter_names", "get_train_dataloader", "_get_train_sampler", "evaluate"),
    *("get_test_dataloader", "evaluation_loop", "create_accelerator_and_postprocess", "save_model", "_save"),
    "get_optimizer_cls_and_kwargs",
)
# The Trainer's hook for both at once, which it has not called since 5.1, and what does in a class as much as it did.
_BOTH = "create_optimizer_and_scheduler"
_IN_ITS_PLACE = frozenset({"create_optimizer", "create_scheduler", "train", "_inner_training_loop"})
# Trainers of TRL with a loop of their own that calls it.
_CALLS_BOTH = lazy_pattern(r"trl\.(?:\w+\.)*(?:PPO|RLOO)\w*Trainer")
# A base class whose loss a subclass may replace.
_TRAINER = lazy_pattern(r"(?:transformers|trl)\.(?:\w+\.)*\w*Trainer")
# Methods of the Trainer that it calls with an argument more than it did, and how many they take since, with self.
_ANY_TRAINER = lazy_pattern(r"(?:transformers|trl|sentence_transformers)\.(?:\w+\.)*\w*Trainer")
_LENGTHENED = {"compute_loss": 5, "log": 3, "_get_train_sampler": 2}
# A sampler of one's own that Lightning wraps for several processes; batches are another matter.
_SAMPLER = lazy_pattern(r"torch\.utils\.data\.(?:\w+\.)*(?!Distributed|Batch)\w*Sampler")
_CLIPPING = frozenset({"clip_grad_norm_", "clip_grad_value_"})
_TF32 = "torch.backends.cuda.matmul.allow_tf32"
# Settings of torch.compile, which records ask for by what is put there, as by the argument of a call.
_SWITCH = lazy_pattern(r"torch\._(?:dynamo|functorch|inductor)\.config\.")
_CONFIGURING = "configure_model"  # called where the strategy has set dtype and device
# What computes the log-probabilities of GRPO, and may be overridden.
_LOG_PROBABILITIES = frozenset({"_get_per_token_logps", "_get_per_token_logps_and_entropies"})
# Classes of which a subclass does itself what it does not ask its base for: TRL's trainers by their short names, as
# records call them, and losses and trainers of sentence-transformers.
_OF_TRL = lazy_pattern(r"trl\.(?:\w+\.)*(\w*Trainer)")
_OF_ENCODERS = lazy_pattern(r"sentence_transformers\.(?:\w+\.)*\w*(?:Loss|Trainer)")
# Hooks that Lightning 1.8 has taken away, and those that 2.0 has: it refused what defines them, or passes them over.
_EPOCHS = frozenset({f"on_{part}_{end}" for part in ("epoch", "pretrain_routine") for end in ("start", "end")})
_LEFT_HOOKS = frozenset({"training_epoch_end", "validation_epoch_end", "test_epoch_end", *_EPOCHS})
_LEFT_BY_CALLBACKS = frozenset({"on_batch_start", "on_batch_end", *_EPOCHS})
# A config that a model is made with afterwards.
_OF_CONFIG = lazy_pattern(
    r"transformers\.(?:\w+\.)*\w*Config(?:\.from_pretrained)?\.(?:use_cache|output_router_logits|router_aux_loss_coef)"
)
# What records ask for by the value that a program puts into the config of a model, as by the argument of a call.
_CONFIGURED = frozenset({"attn_logit_softcapping"})
_MADE_CONFIG = lazy_pattern(r"transformers\.(?:\w+\.)*\w*Config(?:\.from_pretrained)?\.\w+")
# What Lightning asks for a state of its own when a run goes on.
_KEEPS_STATE = lazy_pattern(
    r"(?:lightning|pytorch_lightning)\.(?:\w+\.)*(LightningModule|LightningDataModule|Callback)"
)
_STATE_HOOKS = ("load_state_dict", "on_load_checkpoint")
# Of a step that optimises by hand one of these is part.
_BY_HAND = frozenset({"automatic_optimization", "manual_backward", "optimizers", "backward", "toggle_optimizer"})
_LIGHTNING = frozenset({"lightning", "pytorch_lightning"})


def unties(node: ast.AST) -> bool:
    """``model.config.tie_word_embeddings = False``: what is saved then is loaded untied, after training, too."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr="tie_word_embeddings")], value=ast.Constant(value=False)):
            return True
    return False


def _is_of_config(target: ast.Attribute, made: re.Pattern[str], found: Findings, step: Step) -> bool:
    """Is it an attribute of a model's config, or of one that a model is made with afterwards?"""
    if isinstance(target.value, ast.Attribute) and target.value.attr == "config":
        return True
    return any(map(made.fullmatch, found.names.resolve(target, step.scope)))


def _without_router_loss(found: Findings, step: Step, value: ast.expr, spelling: str) -> None:
    """A coefficient of zero: the router's loss counts nothing, whatever was said before of its being computed."""
    key = "model.output_router_logits"
    if not step.branch:
        found.settings = [one for one in found.settings if one.key != key or one.value is not True]
    found.truth(step, key, False, value, spelling)


def assigned(found: Findings, step: Step, target: ast.Attribute, value: ast.expr) -> None:
    """``model.config.use_cache = False``, ``tokenizer.pad_token = tokenizer.eos_token`` and their likes."""
    name = target.attr
    literal = found.names.literal(value, step.scope)
    spelling = f"{text(target)} = {{}}"
    if name in ("use_cache", "output_router_logits"):
        if _is_of_config(target, _OF_CONFIG, found, step):
            found.truth(step, f"model.{name}", literal, value, spelling)
    elif name == "router_aux_loss_coef" and isinstance(literal, (int, float)) and literal == 0:
        if _is_of_config(target, _OF_CONFIG, found, step):
            _without_router_loss(found, step, value, spelling)
    elif name in _CONFIGURED:
        if _is_of_config(target, _MADE_CONFIG, found, step):
            setting = (f"transformers.PretrainedConfig.{name}",)
            for line in call_lines(ast.Call(target, [value], []), setting, found.names, step.scope):
                found.call(line, target)
    elif name == "mix_order_reduction" and text(target).endswith("config.triton.mix_order_reduction"):
        found.truth(step, "environment.mix_order_reduction", literal, value, spelling)
    elif name == "unpad_inputs" and literal is False:  # of the first module of a SentenceTransformer
        found.symbol("sentence_transformers.Transformer.padded", value)
    elif name == "label_smoother":
        found.symbol("transformers.Trainer.label_smoother", value)
    elif name == "lora_alpha" or (name == "use_rslora" and literal is False):  # of an adapter that is there
        found.symbol("peft.PeftConfig.plain_scaling", value)
    elif name == "state_dict":
        extracts = any(_extracts_adapter(one, found, step) for one in ast.walk(value))
        if extracts and not is_put_back(target, found.names.module.node):
            found.symbol("peft.get_peft_model_state_dict.as_state_dict", value)
    elif name in ("accepts_loss_kwargs", "model_accepts_loss_kwargs"):
        # Of a model, or what the Trainer has asked it; it takes **kwargs as well where it says that it does.
        if literal is False:
            found.state(step, "model.forward_takes_kwargs", False, at=value)
    elif name == "automatic_optimization":
        turned = not literal if isinstance(literal, bool) else UNKNOWN
        found.truth(step, "training.manual_optimization", turned, value)
    elif name == "allow_tf32":
        if found.names.resolve(target, step.scope) == (_TF32,):
            found.truth(step, "precision.tf32", literal, value, spelling)
    elif name == "label_names" and any(map(_TRAINER.fullmatch, found.names.type_of(target.value, step.scope))):
        found.state(step, "training.label_names", literal is UNKNOWN or bool(literal), at=value, spelling=spelling)
    elif name == "_attn_implementation":
        chosen = literal if isinstance(literal, str) else None
        found.state(step, "model.attn_implementation", chosen, at=value, spelling=spelling)
    elif name == "padding_side":
        found.state(
            step, "data.padding_side", literal if isinstance(literal, str) else None, at=value, spelling=spelling
        )
    elif name in ("pad_token", "pad_token_id"):
        # What a model's config says is for its generation and its heads: the tokenizer pads with a token of its own.
        if not text(target.value).endswith("config") and not is_of_evaluation(target.value, found, step):
            padded(found, step, name, value, literal)
    elif name in ("eos_token", "eos_token_id"):
        if not text(target.value).endswith("config"):
            found.symbol("tokenizer.eos_token.replaced", target)
    elif (gamma := gamma_of(found, step, target, value)) is not None:
        found.gammas.append((gamma, found.place(target)))
    elif name == "loss_function" and text(target.value) not in ("self", "self.config"):
        found.state(step, "model.returns_loss", None, at=target)  # what is put in its place is not read
    elif name == "requires_grad":
        if literal is False:
            found.symbol("torch.nn.Parameter.frozen", target)
            if is_embeddings(text(target.value)):
                freeze(found, step, text(target.value), target)
        else:
            found.symbol("torch.nn.Parameter.thawed", target)
            if is_embeddings(text(target.value)):
                thaw(found, step, target)
    else:
        made = found.names.type_of(target.value, step.scope) or filled_class(target.value, step.scope, found.names)
        for kind in made:
            one = known(kind)
            if one is not None and not one.trains:
                changed = _unless_kept(target, value)
                told = len(found.settings)
                found.feed(step, one, list(argument(name, changed or value, found.names, step.scope, spelling)))
                if changed is not None:  # or it stays as it was said, or left out
                    found.settings[told:] = [replace(new, presumed=True) for new in found.settings[told:]]
        switches = tuple(filter(_SWITCH.match, found.names.resolve(target, step.scope)))
        for line in call_lines(ast.Call(target, [value], []), switches, found.names, step.scope):
            found.call(line, target)


def _unless_kept(target: ast.Attribute, value: ast.expr) -> ast.expr | None:
    """What ``args.optim = "adamw_torch" if args.optim == "adamw_hf" else args.optim`` changes it to."""
    ways = (value.body, value.orelse) if isinstance(value, ast.IfExp) else ()
    changed = [way for way in ways if text(way) != text(target)]
    return changed[0] if len(ways) > len(changed) == 1 else None


def _extracts_adapter(node: ast.AST, found: Findings, step: Step) -> bool:
    """A call that leaves of a model the weights of its adapter, as in ``model.state_dict = (lambda self: …)``."""
    if not isinstance(node, ast.Call):
        return False
    return any(name.endswith(".get_peft_model_state_dict") for name in found.names.resolve(node.func, step.scope))


def frozen_in_loop(found: Findings, step: Step, loop: ast.For) -> None:
    """Loops that freeze the embeddings, or train them.

    ``for p in model.get_input_embeddings().parameters(): p.requires_grad = False``, or over ``named_parameters()``
    with ``if "embed" in name`` around it. Where all parameters train, or embeddings of pictures, what enters the layers
    may have a gradient.
    """
    written = text(loop.iter)
    asked = [one for one in loop.body if isinstance(one, ast.If)] if written.endswith("named_parameters()") else []
    named = [one for one in asked if _asks(one.test, is_embeddings)] if not _OTHERS.search(written) else []
    all_of_them = loop.body if is_embeddings(written) else [inner for one in named for inner in one.body]
    words = written if is_embeddings(written) else " ".join(ast.unparse(one.test) for one in named)
    for statement, literal in _switched(found, step, loop, all_of_them):
        if literal is False:
            freeze(found, step, words, statement)
        elif literal is True:
            thaw(found, step, statement)
    others = [inner for one in asked if _asks(one.test, _speaks_of_embeddings) for inner in one.body]
    if _ALL_PARAMETERS.fullmatch(written) or _speaks_of_embeddings(written):
        others += loop.body
    if any(literal is True for _, literal in _switched(found, step, loop, others)):
        found.mentioned.add("make_inputs_require_grad")


def _switched(
    found: Findings, step: Step, loop: ast.For, statements: Sequence[ast.stmt]
) -> Iterator[tuple[ast.stmt, Any]]:
    """The statements that switch the gradient of what a loop goes over, and to what."""
    changed = {node.id for node in nodes_in(loop.target) if isinstance(node, ast.Name)}
    for statement in statements:
        match statement:
            case (
                ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr="requires_grad")], value=value)
                | ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="requires_grad_"), args=[value])
                )
            ) if name in changed:
                yield statement, found.names.literal(value, step.scope)


def _speaks_of_embeddings(written: str) -> bool:
    return _EMBEDDINGS.search(written) is not None


def is_embeddings(written: str) -> bool:
    """Does ``model.get_input_embeddings()`` name the embeddings of tokens?"""
    return _EMBEDDINGS.search(written) is not None and not _OTHERS.search(written)


def freeze(found: Findings, step: Step, written: str, at: ast.AST) -> None:
    """The embeddings get no gradient from here on; what enters the first layer may, by what is added to a table."""
    found.freeze(step, at)
    if _TABLE.search(written) and _ADD_TO_IT.search(found.document.text):
        found.symbol(_TABLE_ALONE, at)


def thaw(found: Findings, step: Step, at: ast.AST) -> None:
    """The embeddings are trained, as beside an adapter, and what leaves them requires grad."""
    found.state(step, "training.enable_input_require_grads", True, at=at)
    found.mentioned.add("make_inputs_require_grad")


def _asks(test: ast.expr, wanted: Callable[[str], bool]) -> bool:
    """``"embed" in name``, also beside others: ``"embed" in name or "norm" in name``."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_asks(one, wanted) for one in values)
        case ast.Compare(left=ast.Constant(value=str(words)), ops=[ast.In()]):
            return wanted(words)
    return False


def defined(found: Findings, step: Step, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    """What a definition says by its decorators and, of a class, by its body."""
    for decorator in node.decorator_list:
        if found.names.resolve(decorator, step.scope) == ("torch.compile",) and not (
            isinstance(node, ast.FunctionDef) and not runs_model(node, found.names, found.names.scopes[node])
        ):
            found.state(step, "training.torch_compile", True, at=decorator)
    if not isinstance(node, ast.ClassDef):
        return
    bases = [name for base in node.bases for name in found.names.resolve(base, step.scope)]
    inherited = [*bases, *(name for base in node.bases for name in found.names.bases(base, step.scope))]
    if len(node.bases) == 1 and any(_is_lightning_module(name) for name in inherited):
        _lightning_module(found, step, node)
        found.lightning_module = found.lightning_module or found.place(node)
    if any(name.partition(".")[0] in _LIGHTNING and name.endswith(".Callback") for name in inherited):
        for method in node.body:
            if not isinstance(method, ast.FunctionDef) or method.name not in _LEFT_BY_CALLBACKS:
                continue
            if is_named(node.name, found.document):
                found.symbol(f"lightning.Callback.{_hook(method)}", method)
        if _hands_on(node, _LEFT_BY_CALLBACKS):
            found.symbol("lightning.Callback.calls_own_hook", node)
    if any(_TRAINER.fullmatch(name) for name in bases):
        _own_loss(found, step, node)
        _own_step(found, step, node)
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name in _LOG_PROBABILITIES:
                found.symbol(f"trl.GRPOTrainer.{method.name}", method)
            for name in _DEFECTIVE:
                if _overrides(method, name) and not asks_base(method):
                    found.symbol(f"transformers.Trainer.{name}.own", method)
        if not any(_CALLS_BOTH.fullmatch(name) for name in bases):
            _own_schedule(found, node)
    if any(_ANY_TRAINER.fullmatch(name) for name in bases):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and _takes_all(method):
                found.symbol(f"transformers.Trainer.{method.name}.lengthened", method)
    for name in bases:
        _own_methods(found, name, node)
        if (part := _KEEPS_STATE.fullmatch(name)) is not None:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name in _STATE_HOOKS:
                    found.symbol(f"lightning.{part[1]}.{method.name}", method)
    if any(name.endswith("DataLoader") for name in bases):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "load_state_dict":
                found.symbol("torch.utils.data.DataLoader.load_state_dict", method)
    if any(name.startswith("torch.optim.") for name in bases):
        _clipping_step(found, node)
    for name in bases:
        for method in node.body if name.startswith("gliner.training.") else ():
            if _overrides(method, "training_step") and not _without_count(method):
                found.symbol(f"{name}.training_step.with_num_items_in_batch", method)
    if any(name.endswith(".AsyncCheckpointIO") for name in bases):
        for method in node.body:
            if _overrides(method, "save_checkpoint"):
                found.symbol("lightning.AsyncCheckpointIO.save_checkpoint", method)
    if any(_SAMPLER.fullmatch(name) for name in bases):
        for method in node.body:
            if _overrides(method, "set_epoch"):
                found.symbol("torch.utils.data.Sampler.set_epoch", method)
    if any(name in ("torch.nn.Module", "torch.nn.modules.module.Module") for name in bases):
        found.own_module = True
    if any(_MODEL.fullmatch(name) for name in inherited):
        found.own_models.append(node.name)
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "_init_weights" and _in_place(method):
                found.symbol("transformers.PreTrainedModel._init_weights", method)
    if any(BASE.fullmatch(name) for name in bases):
        found.added += layers_of(found, node)
    own = any(name.startswith("transformers.") and name.endswith("PreTrainedModel") for name in bases)
    if own or any(_WITH_LOSS.fullmatch(name) for name in bases):
        for method in node.body:
            if not _overrides(method, "forward") or _leaves_loss(method):
                continue
            if (own and _HEAD.search(node.name)) or (
                _gives_loss(method) and (own or is_named(node.name, found.document))
            ):
                _forward(found, step, method, refusing=_refuses(node))


def _gives_loss(forward: ast.FunctionDef) -> bool:
    """Does a model's `forward` take labels, or return ``{"loss": …}`` or ``Output(loss=…)``?"""
    if any(one.arg == "labels" for one in (*forward.args.args, *forward.args.kwonlyargs)):
        return True
    for inner in ast.walk(forward):
        match inner:
            case ast.Return(value=ast.Dict(keys=keys)):
                if any(isinstance(key, ast.Constant) and key.value == "loss" for key in keys):
                    return True
            case ast.Return(value=ast.Call(keywords=keywords)):
                if any(keyword.arg == "loss" for keyword in keywords):
                    return True
    return False


def _leaves_loss(forward: ast.FunctionDef) -> bool:
    """Does a `forward` hand all that it is given, labels and the count of them, to that of its base?"""
    for inner in ast.walk(forward):
        match inner:
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name("super")), attr="forward"), keywords=keywords
            ):
                given = {keyword.arg: keyword.value for keyword in keywords}  # None is **kwargs
                labels = given.get("labels", ast.Constant("*") if None in given else ast.Constant(None))
                whole = None in given or "num_items_in_batch" in given
                return whole and not (isinstance(labels, ast.Constant) and labels.value is None)
    return False


def _clipping_step(found: Findings, optimizer: ast.ClassDef) -> None:
    """An optimizer whose `step` clips the gradients first."""
    for method in optimizer.body:
        if isinstance(method, ast.FunctionDef) and method.name == "step":
            called = (inner.func for inner in ast.walk(method) if isinstance(inner, ast.Call))
            if any(text(function).rpartition(".")[2] in _CLIPPING for function in called):
                found.symbol("torch.optim.step.clips", method)


def trained_module(found: Findings, step: Step, module: ast.ClassDef) -> None:
    """A module of torch's that the program hands to a Trainer as its model."""
    for method in module.body:
        if isinstance(method, ast.FunctionDef) and method.name == "forward":
            _forward(found, step, method, refusing=_refuses(module))


def _refuses(model: ast.ClassDef) -> bool:
    return any(_refuses_count(statement) for statement in model.body)


def _in_place(method: ast.FunctionDef) -> bool:
    """Does it write into tensors itself, ``weight.data.normal_()``, and not through ``torch.nn.init``?"""
    for inner in ast.walk(method):
        match inner:
            case ast.Attribute(attr="data"):
                return True
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name.endswith("_"):
                if text(owner).rpartition(".")[2] not in ("init", "initialization"):
                    return True
    return False


def _own_loss(found: Findings, step: Step, trainer: ast.ClassDef) -> None:
    """A `compute_loss` that does not ask the Trainer's, and whether it leaves out what the Trainer counts on.

    One that asks the Trainer's without the count leaves it out, too: nor does the model get it then.
    """
    methods = [one for one in trainer.body if isinstance(one, ast.FunctionDef) and one.name == "compute_loss"]
    if len(methods) != 1:
        return
    refuses = not _takes_count(methods[0].args)
    if refuses and not _steps_itself(trainer):  # otherwise its own step calls it, as it likes
        for use in _losing_uses(found, trainer):
            found.symbol(_REFUSES_COUNT, use, shown=methods[0])
    by_steps = any(divides(inner, "gradient_accumulation_steps") for inner in ast.walk(methods[0]))
    if by_steps:
        found.state(step, "training.own_step", True, at=methods[0])
    used: set[str] = set()
    labels = False  # without them nobody counts, and releases from 4.53.0 on divide
    asks = False
    for statement in methods[0].body:
        for inner in ast.walk(statement):
            match inner:
                case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super")), attr="compute_loss")):
                    if _hands_count(inner):
                        return
                    asks = True
                case ast.Name(name) | ast.Attribute(attr=name):
                    used.add(name)
                case ast.Constant("labels"):
                    labels = True
    said = any(isinstance(one, ast.Attribute) and one.attr == "model_accepts_loss_kwargs" for one in ast.walk(trainer))
    counts = refuses or said or not used.isdisjoint({"num_items_in_batch", "gradient_accumulation_steps", "kwargs"})
    if asks:
        if not counts:
            found.own_losses.append((found.place(methods[0]), True))
            found.mentioned.add("loss")  # which the Trainer's takes out of what the model returns
        return
    known = counts or labels or "loss" in used
    found.own_losses.append((found.place(methods[0]), not counts if known else None))
    if any(divides(inner, "num_items_in_batch") for inner in ast.walk(methods[0])):
        found.state(step, "model.uses_num_items_in_batch", True, at=methods[0])
    elif by_steps:
        # Neither the model divides here nor nobody.
        found.state(step, "model.uses_num_items_in_batch", None, at=methods[0])
    elif refuses:
        # What it does not take it does not hand on to the model.
        found.state(step, "model.uses_num_items_in_batch", None, at=methods[0])


def _losing_uses(found: Findings, trainer: ast.ClassDef) -> list[ast.AST]:
    """Where a Trainer with a `compute_loss` of its own is named: an option may decide there whether it trains.

    A subclass that has its own again is another Trainer. What this file does not name another one uses, if any.
    """
    own: set[ast.AST] = set(ast.walk(trainer))  # as in `super(Weighted, self)`
    replaced: set[ast.AST] = set()
    named: list[ast.AST] = []
    for node in ast.walk(found.names.module.node):
        match node:
            case ast.ClassDef(bases=bases, body=body):
                if any(_overrides(one, "compute_loss") for one in body):
                    replaced.update(bases)
            case ast.Name(id=trainer.name, ctx=ast.Load()) if node not in own:
                named.append(node)
    if named:
        return [node for node in named if node not in replaced]
    return [trainer] if is_named(trainer.name, found.document) else []


def _own_step(found: Findings, step: Step, trainer: ast.ClassDef) -> None:
    """A `training_step` that does not ask the Trainer's: how its loss is divided is its own matter."""
    for statement in trainer.body:
        if not _overrides(statement, "training_step"):
            continue
        if _without_count(statement):
            found.symbol(_STEP_WITHOUT_COUNT, statement)
        elif _is_undivided(statement) and not _divides_elsewhere(trainer, statement, found.names, step.scope):
            found.symbol(_UNDIVIDED_STEP, statement)
    method = _steps_itself(trainer)
    if method is not None:
        found.state(step, "training.own_step", True, at=method)


def _is_undivided(method: ast.FunctionDef) -> bool:
    """Does its loss go to ``self.accelerator.backward`` without a division, but that of what it returns?"""
    returned = {id(node) for one in nodes_in(method) if isinstance(one, ast.Return) for node in nodes_in(one)}
    backward = False
    for node in nodes_in(method):
        match node:
            case ast.Call(func=ast.Attribute(attr="backward", value=ast.Attribute(attr="accelerator"))):
                backward = True
            case ast.Call(func=ast.Attribute(attr="compute_loss")) if _hands_all_on(node):
                return False  # the count among them
            case ast.Attribute(attr="training_step") | ast.Name(id="num_items_in_batch", ctx=ast.Load()):
                return False
            case (
                ast.BinOp(op=ast.Div())
                | ast.AugAssign(op=ast.Div())
                | ast.Call(func=ast.Attribute(attr="div" | "div_" | "divide" | "true_divide"))
            ) if id(node) not in returned:
                return False
    return backward


def _hands_all_on(call: ast.Call) -> bool:
    """``self.compute_loss(model, inputs, *args, **kwargs)``."""
    return any(isinstance(one, ast.Starred) for one in call.args) or any(word.arg is None for word in call.keywords)


def _divides_elsewhere(trainer: ast.ClassDef, method: ast.FunctionDef, names: Names, scope: Scope) -> bool:
    """Is the loss that a step asks for one of GRPO's, which divides, or divided in another method of the class?"""
    if any(_DIVIDES_ITS_LOSS.search(name) for base in trainer.bases for name in names.resolve(base, scope)):
        return True
    return any(
        isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Div) and "accum" in ast.unparse(node)
        for other in trainer.body
        if other is not method
        for node in nodes_in(other)
    )


def _own_schedule(found: Findings, trainer: ast.ClassDef) -> None:
    """An override that makes optimizer and schedule at once, in a class that neither calls it nor does so elsewhere."""
    methods = {one.name: one for one in trainer.body if isinstance(one, ast.FunctionDef)}
    method = methods.get(_BOTH)
    if method is None or _IN_ITS_PLACE & methods.keys():
        return
    called = (inner.func for inner in ast.walk(trainer) if isinstance(inner, ast.Call))
    if not any(isinstance(one, ast.Attribute) and one.attr == _BOTH and _is_self(one.value) for one in called):
        found.symbol(f"transformers.Trainer.{_BOTH}.own", method)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _without_count(method: ast.FunctionDef) -> bool:
    """Is a `training_step` called with one argument more than it takes?"""
    given = method.args
    positional = len(given.posonlyargs) + len(given.args)
    return not method.decorator_list and given.vararg is None and positional == len(_STEP)


def _steps_itself(trainer: ast.ClassDef) -> ast.FunctionDef | None:
    for method in trainer.body:
        if _overrides(method, "training_step") and not asks_base(method):
            return method
    return None


def _own_methods(found: Findings, base: str, node: ast.ClassDef) -> None:
    """``trl.DPOTrainer.compute_loss``: what a class does without its base, of which a defect there is none here."""
    trainer = _OF_TRL.fullmatch(base)
    if trainer is None and not _OF_ENCODERS.fullmatch(base):
        return
    known = f"trl.{trainer[1]}" if trainer else base
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("__") and not asks_base(method):
            found.symbol(f"{known}.{method.name}", method)


def _overrides(statement: ast.stmt, name: str) -> TypeGuard[ast.FunctionDef]:
    return isinstance(statement, ast.FunctionDef) and statement.name == name


def asks_base(method: ast.FunctionDef) -> bool:
    """Does a method call that of the class which it overrides it of?"""
    return any(
        isinstance(inner, ast.Attribute)
        and inner.attr == method.name
        and isinstance(inner.value, ast.Call)
        and text(inner.value.func) == "super"
        for inner in ast.walk(method)
    )


def variable(found: Findings, step: Step, name: object, value: object, at: ast.AST) -> None:
    """``os.environ["USE_TF"] = "0"``: counts where nothing that reads it at its import has been imported above."""
    if not isinstance(name, str) or name not in VARIABLES:
        return
    said = said_by(name, value if isinstance(value, str) else None)
    line = getattr(at, "lineno", 0)
    late = any(found.names.imported.get(package, line) < line for package in VARIABLES[name].before)
    if said is not None and not late:
        found.state(step, *said, at=at)


def divides(node: ast.AST, name: str) -> bool:
    """``loss.sum() / num_items_in_batch``, ``loss /= self.args.gradient_accumulation_steps``."""
    match node:
        case ast.BinOp(op=ast.Div(), right=by) | ast.AugAssign(op=ast.Div(), value=by):
            return any(name in (getattr(one, "id", None), getattr(one, "attr", None)) for one in ast.walk(by))
    return False


def _takes_all(method: ast.FunctionDef) -> bool:
    """Does an override take what newer releases of the Trainer hand it?"""
    most = _LENGTHENED.get(method.name)
    given = method.args
    longer = most is not None and (given.vararg is not None or len(given.posonlyargs) + len(given.args) >= most)
    return longer or (method.name == "compute_loss" and _takes_count(given))


def _takes_count(arguments: ast.arguments) -> bool:
    """Can a method be given `num_items_in_batch` by its name?"""
    named = (*arguments.args, *arguments.kwonlyargs)
    return arguments.kwarg is not None or any(one.arg == "num_items_in_batch" for one in named)


def _hands_count(call: ast.Call) -> bool:
    """Does a call of the Trainer's `compute_loss` give it `num_items_in_batch`, its fourth argument?"""
    named = {keyword.arg for keyword in call.keywords}  # None is **kwargs
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    return len(call.args) > 3 or starred or not named.isdisjoint({None, "num_items_in_batch"})


def _refuses_count(statement: ast.stmt) -> bool:
    """Is it `accepts_loss_kwargs = False`?"""
    match statement:
        case ast.Assign(targets=[ast.Name("accepts_loss_kwargs")], value=ast.Constant(False)):
            return True
        case ast.AnnAssign(target=ast.Name("accepts_loss_kwargs"), value=ast.Constant(False)):
            return True
        case _:
            return False


def _forward(found: Findings, step: Step, method: ast.FunctionDef, *, refusing: bool) -> None:
    """What the Trainer asks of a model's own `forward`: is there a **kwargs, and is the count of tokens looked at?"""
    rest = method.args.kwarg
    found.state(step, "model.forward_takes_kwargs", rest is not None and not refusing, at=method)
    found.state(step, "model.of_library", False, at=method)
    named = {one.arg for one in (*method.args.args, *method.args.kwonlyargs)}
    used = {inner.id for inner in ast.walk(method) if isinstance(inner, ast.Name)}
    if "num_items_in_batch" not in named and (rest is None or rest.arg not in used):
        found.state(step, "model.uses_num_items_in_batch", False, at=method)
    elif any(divides(inner, "num_items_in_batch") for inner in ast.walk(method)):
        found.state(step, "model.uses_num_items_in_batch", True, at=method)


def non_persistent(found: Findings, step: Step, call: ast.Call) -> bool:
    """Does a call register a buffer that no checkpoint holds? One that cannot be read may."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "register_buffer":
        return False
    given, unread = arguments(call, found.names, step.scope, ("name", "tensor", "persistent"))
    persistent = next((argument.value for argument in given if argument.name == "persistent"), True)
    return persistent is not True or bool(unread)


def _is_lightning_module(name: str) -> bool:
    return name.partition(".")[0] in _LIGHTNING and name.endswith(".LightningModule")


def _hook(method: ast.FunctionDef) -> str:
    """The name of a hook, and behind it that it does nothing: who refuses it refuses that, too."""
    return f"{method.name}.idle" if _is_idle(method) else method.name


def _is_idle(method: ast.FunctionDef) -> bool:
    """Does a method do nothing, whoever calls it? ``pass``, a docstring, ``return None``, a call of its base's."""
    for statement in method.body:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None | ast.Constant(value=None)):
                continue
            case ast.Expr(value=value) | ast.Return(value=value) if _is_base_of(value, method.name):
                continue
        return False
    return True


def _is_base_of(node: ast.expr | None, method: str) -> bool:
    """``super().on_epoch_end()``."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super")), attr=name)):
            return name == method
    return False


def _takes_number(arguments: ast.arguments) -> bool:
    """Does Lightning give the number of the batch to a step? By its name, as the second of two, or as one of many."""
    positional = [*arguments.posonlyargs, *arguments.args]
    named = any(one.arg == "batch_idx" for one in positional)
    return named or len(positional) > len(("self", "batch")) or arguments.vararg is not None


def _hands_schedule(method: ast.FunctionDef) -> bool:
    """May ``configure_optimizers`` give back more than optimizers?"""
    made: dict[str, list[ast.expr]] = {}
    for node in ast.walk(method):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                made.setdefault(name, []).append(value)
    return any(
        isinstance(node, ast.Return) and node.value is not None and not _are_optimizers(node.value, made)
        for node in ast.walk(method)
    )


def _are_optimizers(given: ast.expr, made: Mapping[str, Sequence[ast.expr]]) -> bool:
    """One, or several of them, each of which is made by a call in the same method."""
    match given:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return all(isinstance(one, ast.Name) and _are_optimizers(one, made) for one in elements)
        case ast.Name(id=name):
            values = made.get(name, ())
            return bool(values) and all(
                isinstance(value, ast.Call) and text(value.func).rpartition(".")[2][:1].isupper() for value in values
            )
        case ast.Call(func=called):
            return text(called).rpartition(".")[2][:1].isupper()
    return False


def _hands_on(node: ast.ClassDef, hooks: Collection[str]) -> bool:
    """``self.on_epoch_end()``, ``on_train_epoch_end = on_epoch_end``: what a class does with hooks of its own."""
    for inner in nodes_in(node):
        match inner:
            case ast.Attribute(value=ast.Name(), attr=name) if name in hooks:  # super() is a call
                return True
            case ast.Assign(value=ast.Name(id=name)) if name in hooks and inner in node.body:
                return True
    return False


def _turns_off(statement: ast.stmt, name: str) -> bool:
    """``name = False`` in the body of a class, or a property that returns False."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=given)], value=ast.Constant(value=False)):
            return given == name
        case ast.FunctionDef(name=given, decorator_list=[ast.Name(id="property")], body=[*_, ast.Return(value=value)]):
            return given == name and isinstance(value, ast.Constant) and value.value is False
    return False


def _lightning_module(found: Findings, step: Step, node: ast.ClassDef) -> None:
    """A module whose step only gives back the loss is not optimised by hand, which takes calls in the step itself."""
    found.drivers.setdefault("lightning", found.place(node))
    mentioned = {inner.attr for inner in nodes_in(node) if isinstance(inner, ast.Attribute)}
    if _hands_on(node, _EPOCHS):
        found.symbol("lightning.LightningModule.calls_own_hook", node)
    steps = [
        statement
        for statement in node.body
        if isinstance(statement, ast.FunctionDef) and statement.name == "training_step"
    ]
    if len(steps) == 1 and not steps[0].decorator_list:
        found.state(step, "training.batch_idx", _takes_number(steps[0].args), at=steps[0])
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in (*_LEFT_HOOKS, _CONFIGURING):
            hook = _hook(statement) if statement.name in _EPOCHS else statement.name  # which Lightning 2 passes over
            found.symbol(f"lightning.LightningModule.{hook}", statement)
        if _overrides(statement, "configure_optimizers"):
            found.configured.append(_hands_schedule(statement))
        if _turns_off(statement, "automatic_optimization"):
            found.state(step, "training.manual_optimization", True, at=statement)
    returned = any(isinstance(inner, ast.Return) and inner.value for step in steps for inner in nodes_in(step))
    if returned and not mentioned & _BY_HAND:
        found.state(step, "training.manual_optimization", False, at=steps[0])
