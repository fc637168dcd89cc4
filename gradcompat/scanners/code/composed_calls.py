"""Defects that no call shows by itself: orders of calls, and names that go only together."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from gradcompat.scanners.code.detectors.adapted_convolutions import ON_CONVOLUTIONS, on_plain_convolutions
from gradcompat.scanners.code.detectors.autocast_regions import ungraded_first
from gradcompat.scanners.code.detectors.converted_replicas import CONVERTED, WRAPPING, converted_replica
from gradcompat.scanners.code.detectors.cropped_points import CROPS_POINTS, crops_points
from gradcompat.scanners.code.detectors.early_loads import (
    ADAPTING,
    FORGOTTEN,
    IN_FRONT,
    RESTORING,
    forgotten_adapter,
    load_in_front,
)
from gradcompat.scanners.code.detectors.early_models import EARLY, LOADING, early_model
from gradcompat.scanners.code.detectors.graded_losses import FUSED, only_trains, unreduced_judges
from gradcompat.scanners.code.detectors.inner_passes import MAKING, PAST_ENGINE, inner_pass
from gradcompat.scanners.code.detectors.joined_convolutions import CONVOLVING, joined_convolution
from gradcompat.scanners.code.detectors.last_crops import ends_with_crop
from gradcompat.scanners.code.detectors.late_adapters import (
    ATTACHING,
    OVERRIDING,
    early_override,
    late_adapter,
    late_optimizer,
)
from gradcompat.scanners.code.detectors.lightning_checkpoints import (
    KEEPS_OBJECTS,
    READS,
    READS_ALL,
    first_read,
    keeps_objects,
    remedied,
)
from gradcompat.scanners.code.detectors.modulated_norms import MODULATED, SLICING, modulated_norms
from gradcompat.scanners.code.detectors.narrow_imports import (
    NARROW,
    NARROW_WANDB,
    OF_BOARD,
    OF_WANDB,
    narrow_import,
    narrow_import_of_wandb,
)
from gradcompat.scanners.code.detectors.restored_generation import NONE_BEHIND, ends_generation
from gradcompat.scanners.code.detectors.returning_hooks import RETURNING, returning_hook
from gradcompat.scanners.code.detectors.sampled_numbers import SAMPLED, SAMPLING, sampled_number
from gradcompat.scanners.code.detectors.schedules import SCHEDULE, uses
from gradcompat.scanners.code.detectors.split_loaders import (
    SHARING,
    left_unprepared,
    none_prepared,
    prepares_no_loader,
    shared_twice,
)
from gradcompat.scanners.code.detectors.thawed_parameters import OF_INIT, TAKEN, first_taken
from gradcompat.scanners.code.detectors.whole_samplers import DRAWING, OF_ALL, first_of_all
from gradcompat.scanners.code.detectors.worker_copies import copied_compositions
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

# Schedules that are of torch's LRScheduler, which ReduceLROnPlateau was not before it.
_TORCHS_SCHEDULE = lazy_pattern(
    r"torch\.optim\.lr_scheduler\.(?:\w+LR|CosineAnnealingWarmRestarts)|transformers\.(?:\w+\.)*get_\w*schedule\w*"
)
# What may bring `fit` data for a validation.
_OF_VALIDATION = lazy_pattern(r"val_dataloader|[Dd]ata_?[Mm]odule|LightningCLI|instantiate")
# How many arguments a step has without the number of a dataloader: self, batch, batch_idx.
_OF_ONE_LOADER = 3
_LIGHTNING = frozenset({"lightning", "pytorch_lightning"})
_AUTOCAST = lazy_pattern("autocast")
_BACKWARD_PRE_HOOK = lazy_pattern("full_backward_pre_hook")
_GENERATING = lazy_pattern(r"\bgenerate\(")
# Who asks what parameters of Flax are before it thaws them, or has them frozen.
_ASKS_FROZEN = lazy_pattern(
    r"isinstance\([^()]*FrozenDict|hasattr\([^()]*['\"]unfreeze['\"]|except\s+AttributeError|FLAX_RETURN_FROZENDICT"
)
# What says that a loader of accelerate's stands at its beginning again.
_REOPENING = lazy_pattern(r"\.end_of_dataloader\s*=\s*False\b")
# A program that gives the input of a decoder beside the labels, as a part of each batch or to whatever wraps the model.
_DECODER_INPUT = lazy_pattern(r"""["']decoder_input_ids["'](?:\s*:|\]\s*=(?!=))|\bdecoder_input_ids=(?!=)""")
# Samples that are joined and cut into blocks of one length: `sum(examples[key], [])` of group_texts.
_JOINED = lazy_pattern(r"\bsum\(\s*\w+\[\w+\],\s*(?:start\s*=\s*)?\[\]\s*\)")
# `{"scheduler": scheduler, "interval": "step"}`, as configure_optimizers returns it.
_BY_STEP = lazy_pattern(r"""\binterval(?:["'](?:\s*:|\]\s*=)|\s*=)\s*["']step["']""")
# Each way begins with a sign that is written out, by which a search is fast.
_PREPARING = lazy_pattern(r"\.prepare\(|prepare_data_loader\((?<!\wprepare_data_loader\()")

# What is read in each file by itself: with a package that the program has to import, if any, the words that its text
# has to have, who reads it, and the name of what is found.
_IN_A_FILE: tuple[tuple[str | None, re.Pattern[str], Callable[[Sequence[ast.stmt]], ast.AST | None], str], ...] = (
    ("torch", _AUTOCAST, ungraded_first, "torch.autocast.ungraded_first"),
    (None, _BACKWARD_PRE_HOOK, returning_hook, RETURNING),
    (None, ATTACHING, late_adapter, "late_adapter"),
    (None, _PREPARING, late_optimizer, "late_optimizer"),
    (None, _PREPARING, left_unprepared, "loader.unprepared"),
    (None, _PREPARING, none_prepared, "loader.none_prepared"),
    ("fla", CONVOLVING, joined_convolution, "fla.modules.ShortConvolution.joined"),
    ("bitsandbytes", OVERRIDING, early_override, "override_config.in_front"),
    (None, SHARING, shared_twice, "loader.shared_twice"),
    ("torch", WRAPPING, converted_replica, CONVERTED),
    ("deepspeed", MAKING, inner_pass, PAST_ENGINE),
    ("torch", SLICING, modulated_norms, MODULATED),
    ("transformers", LOADING, early_model, EARLY),
    (None, RESTORING, load_in_front, IN_FRONT),
    ("unsloth", ADAPTING, forgotten_adapter, FORGOTTEN),
    (None, SAMPLING, sampled_number, SAMPLED),
    (None, OF_BOARD, narrow_import, NARROW),
    (None, OF_WANDB, narrow_import_of_wandb, NARROW_WANDB),
)


def composed(found: Findings) -> None:
    """What is wrong by what else the program says: orders of calls, and names that go only together."""
    if "torch" in found.imported:
        for one in found.with_text(SCHEDULE.search):
            for used, at in one.once(uses):
                found.symbols.setdefault(used, one.place(at))
    for package, words, reader, name in _IN_A_FILE:
        for one in found.with_text(words.search) if package is None or package in found.imported else ():
            first = one.once(reader)
            if first is not None:
                found.symbols.setdefault(name, one.place(first))
    _unprepared(found)
    _sampled(found)
    _adapted(found)
    _reloaded(found)
    _augmented(found)
    _cropped(found)
    _of_lightning(found)
    _of_flax(found)
    if "accelerate" in found.imported and found.with_text(_REOPENING.search):
        found.symbols.setdefault("loader.reopened", found.place(found.names.module.node))
    for said, name in ((_DECODER_INPUT, "batch.decoder_input_ids"), (_JOINED, "samples.concatenated")):
        if found.with_text(said.search):
            found.symbols.setdefault(name, found.place(found.names.module.node))
    fused = found.with_text(FUSED.search) if "liger_kernel" in found.imported else []
    if fused and all(only_trains(one.names) for one in fused):
        found.symbols.setdefault("liger_loss.of_training", found.place(found.names.module.node))
    judging = {unreduced_judges(one.names) for one in fused}
    if judging - {None} == {True}:
        found.symbols.setdefault("liger_loss.unreduced_judges", found.place(found.names.module.node))


def _unprepared(found: Findings) -> None:
    """A loader that one file makes and no other one prepares."""
    if "accelerate" not in found.imported or "loader.unprepared" in found.symbols:
        return
    told = [one.once(prepares_no_loader) for one in found.with_text(_PREPARING.search)]
    if any(told) and False not in told:
        found.symbols.setdefault("loader.unprepared", found.place(found.names.module.node))


def _sampled(found: Findings) -> None:
    """Samplers that draw as many samples as there are."""
    places = {
        call.node: one for one in (found, *found.parts) for call in one.called if not {*DRAWING}.isdisjoint(call.names)
    }
    first = first_of_all(places)
    if first is not None:
        found.symbols.setdefault(OF_ALL, places[first].place(first))


def _adapted(found: Findings) -> None:
    """What a program with adapters does behind its last pass without them, and what it puts them on."""
    if "peft" not in found.imported:
        return
    generating = found.with_text(_GENERATING.search)
    ending = generating[0].once(ends_generation) if len(generating) == 1 else None
    if ending is not None:
        found.symbols.setdefault(NONE_BEHIND, generating[0].place(ending))
    if found.with_text(ON_CONVOLUTIONS.search):
        everything = (found, *found.parts)
        told = on_plain_convolutions([statement for one in everything for statement in one.statements])
        for name, node in told:
            owner = next(one for one in everything if any(node in ast.walk(part) for part in one.statements))
            found.symbols.setdefault(name, owner.place(node))


def _of_lightning(found: Findings) -> None:
    """What a module of Lightning's lacks, keeps of its arguments, or is scheduled by."""
    module = found.lightning_module
    _of_checkpoints(found)
    if module is not None and "save_hyperparameters" in found.mentioned:
        if keeps_objects([one.statements for one in (found, *found.parts)], found.imported):
            found.symbols.setdefault(KEEPS_OBJECTS, module)
    elif module is not None:
        found.symbols.setdefault("lightning.LightningModule.no_hyperparameters", module)
    if module is not None and not _validates(found):
        found.symbols.setdefault("lightning.LightningModule.no_validation", module)
    if module is not None and _validates_on_several(found):
        found.symbols.setdefault("lightning.LightningModule.several_validations", module)
    if module is not None and _validation_logs(found):
        found.symbols.setdefault("lightning.LightningModule.validation_logs", module)
    if module is not None and found.with_text(_BY_STEP.search):
        found.symbols.setdefault("lightning.LightningModule.scheduled_by_step", module)
    scheduled = next(filter(_TORCHS_SCHEDULE.fullmatch, found.symbols), None)
    steps = any("lr_scheduler_step" in text for text in found.texts)
    kept = bool(found.configured) and not any(found.configured)  # the module steps it by hand
    if scheduled is not None and "lightning" in found.drivers and not (steps or kept):
        found.symbols.setdefault("lightning.LightningModule.torchs_scheduler", found.symbols[scheduled])


def _of_checkpoints(found: Findings) -> None:
    """What reads whole checkpoints of Lightning's."""
    if _LIGHTNING.isdisjoint(found.imported):
        return
    for one in (found, *found.parts):
        read = one.once(first_read)
        if read is not None:
            found.symbols.setdefault(READS, one.place(read))
    if remedied(found.texts):
        found.symbols.setdefault(READS_ALL, found.place(found.names.module.node))


def _of_flax(found: Findings) -> None:
    """What takes parameters for frozen ones, and whether the program asks before."""
    taking = found.with_text(TAKEN.search) if "flax" in found.imported else []
    for one in taking:
        taken = first_taken(one.names)
        if taken is not None:
            found.symbols.setdefault(OF_INIT, one.place(taken))
    if taking and found.with_text(_ASKS_FROZEN.search):
        found.symbols.setdefault("unfreeze.guarded", found.place(found.names.module.node))


def _classes(found: Findings) -> Iterator[ast.ClassDef]:
    """Those of a program and of its modules that stand in no function."""
    return (node for one in (found, *found.parts) for node in one.statements if isinstance(node, ast.ClassDef))


def _methods(found: Findings) -> Iterator[ast.FunctionDef]:
    return (part for node in _classes(found) for part in node.body if isinstance(part, ast.FunctionDef))


def _validates_on_several(found: Findings) -> bool:
    """Does ``validation_step`` ask for the number of a dataloader, which it only gets where there are several?"""
    return any(
        method.name == "validation_step" and len(method.args.args) - len(method.args.defaults) > _OF_ONE_LOADER
        for method in _methods(found)
    )


def _validation_logs(found: Findings) -> bool:
    """Does ``validation_step``, or a method that it calls, log a number whose mean Lightning takes over the epoch?"""
    methods: dict[str, list[ast.FunctionDef]] = {}
    for method in _methods(found):
        methods.setdefault(method.name, []).append(method)
    waiting = ["validation_step"]
    while waiting:
        for method in methods.pop(waiting.pop(), ()):
            for call in (node for node in nodes_in(method) if isinstance(node, ast.Call)):
                match call.func:
                    case ast.Attribute(value=ast.Name(id="self"), attr="log" | "log_dict" as name):
                        if _logs_numbers(call, 1 if name == "log" else 0):
                            return True
                    case ast.Attribute(value=ast.Name(id="self"), attr=name):
                        waiting.append(name)
    return False


def _logs_numbers(log: ast.Call, position: int) -> bool:
    """Is what is logged no metric that the module keeps, and is its mean over the epoch not declined?"""
    named = {keyword.arg: keyword.value for keyword in log.keywords}
    value = named.get("dictionary" if position == 0 else "value", log.args[position] if log.args[position:] else None)
    kept = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "self"
    return not kept and getattr(named.get("on_epoch"), "value", None) is not False


def _validates(found: Findings) -> bool:
    """May a module of Lightning's have a validation? Only what derives from its class alone surely has none."""
    mixed = any(len(node.bases) > 1 for node in _classes(found))
    return mixed or (any("validation_step" in text for text in found.texts) and _loads_validation(found))


def _loads_validation(found: Findings) -> bool:
    """May ``fit`` get data for a validation? Surely not where it gets one loader that the program makes."""
    if any(_OF_VALIDATION.search(text) for text in found.texts):
        return True
    everything = (found, *found.parts)
    fits = [call.node for one in everything for call in one.called if any(name.endswith(".fit") for name in call.names)]
    made = any("DataLoader(" in text for text in found.texts)
    return not (made and fits and all(_gets_one_loader(call) for call in fits))


def _gets_one_loader(fit: ast.Call) -> bool:
    starred = any(isinstance(given, ast.Starred) for given in fit.args)
    return not starred and len(fit.args) <= 2 and all(keyword.arg is not None for keyword in fit.keywords)


def _augmented(found: Findings) -> None:
    """Augmentations that end in a crop, and those that the workers of a data loader get copies of."""
    if "albumentations" not in found.imported:
        return
    everything = (found, *found.parts)
    places = {
        call.node: one
        for one in everything
        for call in one.called
        if any(name.startswith("albumentations.") for name in call.names)
    }
    for call, owner in places.items():
        if ends_with_crop(call, owner.names, owner.names.scope_of(call)):
            found.symbols.setdefault("albumentations.Compose.ends_with_crop", owner.place(call))
    for call in copied_compositions([one.statements for one in everything], places):
        found.symbols.setdefault("albumentations.Compose.copied", places[call].place(call))


def _cropped(found: Findings) -> None:
    """Sequences of kornia that crop boxes or keypoints."""
    if "kornia" not in found.imported:
        return
    for one in (found, *found.parts):
        for call in one.called:
            if crops_points(call.node, one.names, one.names.scope_of(call.node)):
                found.symbols.setdefault(CROPS_POINTS, one.place(call.node))


def _reloaded(found: Findings) -> None:
    """Loads of what the program has saved itself, and of tokenizers of another model."""
    if not found.loaded:
        return
    saved = {ast.dump(one) for one in found.saved}
    folders = {one.value for one in found.saved if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    models = {setting.value for setting in found.settings if setting.key == "model.name"}
    for name, where, path, location in found.loaded:
        own = ast.dump(where) in saved or (path is not None and any(path.startswith(f"{one}/") for one in folders))
        if "Tokenizer" not in name:
            if own:
                found.symbols.setdefault(f"{name}.of_saved", location)
            continue
        if path is None:
            continue
        if models and None not in models and path not in models:
            found.symbols.setdefault(f"{name}.of_other", location)
