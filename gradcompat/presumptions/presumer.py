"""What is presumed of a term that no fact decides: that it holds, that it does not, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from gradcompat.messages import entry_text, joined, versions_text
from gradcompat.model.environment import Package, Setting, SettingValue
from gradcompat.model.issue import (
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
)
from gradcompat.presumptions.engines import ENGINES
from gradcompat.presumptions.presumed import Presumed
from gradcompat.presumptions.run_code import LOADING, RunCode
from gradcompat.presumptions.serving import SERVING
from gradcompat.presumptions.usual import USUAL
from gradcompat.presumptions.usual_terms import feature_of, of_stated, of_usual, truth_of, wanted_by
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.class_facts import LOSS_KEY, METHOD_KEY, MODEL_KEY, has_own_loss
from gradcompat.terms.name_patterns import any_matches
from gradcompat.terms.symbol_patterns import (
    CALLS_KEY,
    SYMBOLS_KEY,
    are_called,
    is_call,
    names_of,
    truth_of_use,
    whole_library,
)
from gradcompat.terms.symbol_words import in_words
from gradcompat.terms.term_keys import fact_of
from gradcompat.truth import Certainty, Truth

_TODAY = 0.7  # how often a range is installed in its newest release
_OF_TRAINING = ("training.", "deepspeed.")  # what only a run has
# What takes a run to DeepSpeed without a word of it in the code: by a launcher, an argument or the command line.
_LAUNCHES = frozenset({"accelerate", "lightning", "pytorch_lightning", "hydra"})
# What a program that takes no library of models does without, though one for it is installed.
_OF_LIBRARIES = {
    "quantization.method": "weights are not quantised",
    "peft.method": "there is no adapter",
    "model.attn_implementation": "attention is that of the program's own model",
}
# A word of the Trainer's arguments; elsewhere an optimizer is called with `fused=True`, which is a fact of its own.
_FUSED = "adamw_torch_fused"
_CONFIGS = (".yaml", ".yml")
_SEVERAL = 4  # workers: who writes a number of them and no literal has some
# Engines that bring models of transformers.
_WITH_MODELS = frozenset({"transformers", "trl", "peft", "sentence-transformers", "liger", "quantisation"})
_UNREAD = 0.3  # how often a version that cannot be placed is one of those that a term asks for

# Symbols that most programs use, by what names the package they belong to.
_ORDINARY_SYMBOLS = {
    "transformers": ("transformers.Trainer", "transformers.TrainingArguments"),
    "accelerate": ("accelerate.Accelerator.backward",),
    "sentence-transformers": ("sentence_transformers.SentenceTransformerTrainer",),
}

# What nearly all code of these libraries uses.
_NEARLY_ALWAYS = {
    "transformers": ("transformers.AutoModel", "models of transformers"),
    "diffusers": ("diffusers.DiffusionPipeline", "pipelines of diffusers"),
    "datasets": ("datasets.load_dataset(_)", "load_dataset of datasets"),
    "flax": ("flax.linen.Module", "modules of Flax"),
}

# What a package is for, by the engine that is called so or that it is all of.
_FEATURES = {
    **{name: engine.feature for engine in ENGINES.values() if len(engine.packages) == 1 for name in engine.packages},
    **{name: engine.feature for name, engine in ENGINES.items()},
}
# What is there although an open list does not say so, where the package that requires it is named; on Linux alone.
_BROUGHT = {"triton": ("torch",), "xformers": ("unsloth",), "torchcodec": ("lerobot", "pyannote-audio")}
# What an open list may hold besides: transformers imports it where it is there, and its Trainer needs it.
_OFTEN_BESIDE = {"accelerate": "transformers"}


_OF_RELEASES = frozenset({"model.architecture", "model.name", "host.cuda_arch", "host.python"})
# Facts of hosts that a Mac has none of.
_OF_OTHER_GPUS = ("host.cuda", "host.cuda_arch", "host.nvidia_driver", "host.nccl", "host.cudnn", "host.rocm")


class Presumer:
    """Presumes upon one environment with one run.

    Args:
        engines: what they name, see :func:`~gradcompat.presumptions.engines.named_engines`.
        packages: canonical names of what is listed.
        settings: everything that is stated or presumed of the run, by key.
        too_new: the usual values that the listed releases do not have.
    """

    def __init__(
        self,
        engines: frozenset[str],
        packages: Collection[str],
        settings: Mapping[str, Sequence[Setting]],
        platform: str | None = None,
        too_new: frozenset[SettingValue] = frozenset(),
    ) -> None:
        self._engines = engines
        self._packages = packages
        self._settings = settings
        self._code = RunCode(settings)
        self._platform = platform
        self._too_new = too_new

    def of_term(self, term: Term) -> Presumed:
        """A term that is not about a package, and that no fact decides."""
        if isinstance(term, SymbolTerm):
            return self._of_symbols(term)
        if isinstance(term, SymbolAbsentTerm):
            return self._of_no_symbols(term)
        key = fact_of(term)
        stated = self._settings.get(key, ())
        undecided = all(one.value is None for one in stated)
        rule = _WHERE_UNDECIDED.get(key) if undecided else None
        presumed = rule(self, term, key) if rule is not None else None
        if presumed is not None:
            return presumed
        if stated:
            return of_stated(term, key, stated, self._too_new)
        rule = _WHERE_NOT_STATED.get(key)
        presumed = rule(self, term, key) if rule is not None else None
        if presumed is not None:
            return presumed
        if key.startswith(_OF_TRAINING) and self._code.trains_nothing():
            return Presumed(certainty=Certainty.PRESUMED_NO, feature="the training of a model")
        return self._of_usual(term, key)

    def _of_usual(self, term: Term, key: str) -> Presumed:
        asked = key in USUAL and any(
            setting.value is not None for setting in self._settings.get(USUAL[key].asks or "", ())
        )
        unusual = self._too_new if key in _OF_RELEASES else frozenset()
        presumed = of_usual(term, self._engines, unusual, asked=asked)
        return replace(presumed, asks="") if presumed.asks and presumed.asks in self._settings else presumed

    # Where nothing is stated that can be read

    def _of_loaded_model(self, term: Term, _key: str) -> Presumed | None:
        """The model's class, by what the run's code loads."""
        if not isinstance(term, ModelTerm):
            return None
        loaded = self._of_auto_classes(term)
        if loaded is None and self._code.takes_others(term):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=wanted_by(term))
        return loaded

    def _of_optimizer(self, term: Term, key: str) -> Presumed | None:
        """A name that only the Trainer's arguments have, in a loop of the program's own."""
        if wanted_by(term) != _FUSED or not self._code.loops_itself():
            return None
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=USUAL[key].features[_FUSED])

    def _of_checkpointing(self, term: Term, key: str) -> Presumed | None:
        if self._settings.get(key) or not self._code.checkpoints_nothing():
            return None
        without = Certainty.presumed(truth_of(term, value=False))
        return Presumed(certainty=without, taking="the loop checkpoints no layer", feature=USUAL[key].feature)

    def _of_workers(self, term: Term, key: str) -> Presumed | None:
        """A number of workers that is set and not literal.

        A config that is open may hold any: it takes another one that is missing, or nobody knows its command line.
        """
        stated = self._settings.get(key, ())
        if not stated or any(setting.location.path.endswith(_CONFIGS) for setting in stated):
            return None
        taking = "the data loader has workers, whose number the program computes"
        certainty = Certainty.presumed(truth_of(term, _SEVERAL))
        return Presumed(certainty=certainty, taking=taking, feature="a data loader without workers")

    def _of_strategy(self, term: Term, key: str) -> Presumed | None:
        if not _asks_for_deepspeed(term) or not self._code.takes_no_library(_LAUNCHES):
            return None
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=USUAL[key].features["deepspeed"])

    # Where nothing is stated at all

    def _of_loss(self, _term: Term, _key: str) -> Presumed | None:
        if not has_own_loss(self._settings.get(METHOD_KEY, ())):
            return None
        return Presumed(certainty=Certainty.PRESUMED_NO, feature="the model's own loss")

    def _of_platform(self, term: Term, _key: str) -> Presumed | None:
        if not self._trains_on_apple():
            return None
        certainty = Certainty.presumed(truth_of(term, "darwin"))
        return Presumed(certainty=certainty, taking="the training runs on macOS", feature="another system")

    def _of_gpu(self, _term: Term, _key: str) -> Presumed | None:
        if not self._trains_on_apple():
            return None
        return Presumed(certainty=Certainty.PRESUMED_NO, feature="a GPU that is not Apple's")

    def _of_unnamed_model(self, term: Term, _key: str) -> Presumed | None:
        """The model's class, where what is listed or taken brings no models."""
        if not isinstance(term, ModelTerm):
            return None
        if self._lists_no_models:
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=wanted_by(term))
        if self._code.takes_no_library():
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"{wanted_by(term)} of a library")
        return None

    def _of_library(self, term: Term, key: str) -> Presumed | None:
        """What a program does without that takes no library of models."""
        return self._of_none(term, key) if self._code.takes_no_library() else None

    def _of_adapter(self, term: Term, key: str) -> Presumed | None:
        if self._code.takes_no_library():
            return self._of_none(term, key)
        if kinds := self._code.adapters():
            truths = {truth_of(term, kind) for kind in kinds}
            if len(truths) == 1:
                taking = f"the adapter is that of {joined(kinds, 'and')}"
                return Presumed(certainty=Certainty.presumed(truths.pop()), taking=taking, feature=wanted_by(term))
        return self._of_none(term, key) if self._code.takes_no_adapter else None

    def _of_none(self, term: Term, key: str) -> Presumed:
        feature = feature_of(USUAL[key], key, wanted_by(term))
        return Presumed(
            certainty=Certainty.presumed(truth_of(term, "none")), taking=_OF_LIBRARIES[key], feature=feature
        )

    def _trains_on_apple(self) -> bool:
        """Does the run name Apple's device, and no other?"""
        return {one.value for one in self._settings.get("host.device", ())} == {"mps"}

    @cached_property
    def _nearly_always_used(self) -> tuple[str, ...]:
        """The libraries that are listed, and may be imported, of which nearly all code uses the same thing."""
        return tuple(name for name in self._packages if name in _NEARLY_ALWAYS and self._code.may_import(name))

    @cached_property
    def _lists_no_models(self) -> bool:
        """Is torch listed with other packages, and nothing that brings models of transformers, nor used?"""
        listed = {name.replace("-", "_") for name in self._packages}
        return len(listed) > 1 and self._engines.isdisjoint(_WITH_MODELS) and listed.isdisjoint(LOADING)

    def _of_auto_classes(self, term: ModelTerm) -> Presumed | None:
        """What the auto classes say by which all of the run's code loads its models; None where others may load one."""
        if self._code.classes is None:
            return None
        from gradcompat.presumptions.auto_classes import cannot_give, gives  # a lockfile alone names no class

        autos, others = self._code.classes
        if any_matches(others, term.classes):
            return None
        if cannot_give(autos, term.classes):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=wanted_by(term))
        if gives(autos, term.classes):
            taking = f"{joined(tuple(sorted(autos)))} loads the model"
            return Presumed(certainty=Certainty.PRESUMED_YES, taking=taking)
        return None

    def of_range(self, term: PackageTerm, entry: Package) -> Presumed:
        """An entry whose version is not given: the newest release that it allows is what would be installed today."""
        if not entry.releases and _single(term.versions):
            # A commit of the trunk is none of the releases that are patched beside it; where nothing at all is said, it
            # is seldom this one release.
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"{term.name} {versions_text(term.versions)}")
        if entry.version is not None:
            return Presumed(
                certainty=Certainty.OPEN,
                condition=f"{entry_text(entry)} behaves as {term.name} {versions_text(term.versions)}",
                likelihood=_UNREAD,
            )
        if not entry.releases:
            return Presumed(
                certainty=Certainty.OPEN,
                condition=f"{term.name} {versions_text(term.versions)} is installed",
                likelihood=_UNREAD,
            )
        newest = entry.releases[-1]
        if not _holds(newest, term.versions):
            return Presumed(certainty=Certainty.PRESUMED_NO)
        if entry.trunk:
            return Presumed(
                certainty=Certainty.OPEN,
                condition=f"the trunk of {term.name} behaves as {newest}, its newest release",
                likelihood=_TODAY,
            )
        if _all_hold(entry.releases, term.versions):
            return Presumed(
                certainty=Certainty.PRESUMED_YES,
                taking=f"{term.name} is one of the releases that {entry_text(entry)} allows, {newest} at most",
                location=entry.location,
            )
        return Presumed(
            certainty=Certainty.OPEN,
            condition=f"{term.name} {newest} is installed, the newest that is allowed",
            likelihood=_TODAY,
        )

    def of_newest_class(self, name: str, truth: Truth, entry: Package) -> Presumed:
        """What the model's class decides otherwise in another release of a range: the newest counts, as in a range."""
        if truth is not Truth.YES:
            return Presumed(certainty=Certainty.PRESUMED_NO)
        return Presumed(
            certainty=Certainty.OPEN,
            condition=f"{name} {entry.releases[-1]} is installed, the newest that is allowed",
            likelihood=_TODAY,
        )

    def of_builds(self, name: str, base: str) -> Presumed:
        """Two packages of which one is built for the other, that conda has paired or that a resolver will pair."""
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"{name} that is built for another {base}")

    def of_replaced(self, library: str) -> Presumed:
        """A trainer, a loss or a forward pass of which a library that the code uses puts its own in the place."""
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"what {library} does not replace")

    def of_own_step(self) -> Presumed:
        """The Trainer's `training_step`, where the program overrides it."""
        return Presumed(certainty=Certainty.PRESUMED_NO, feature="the Trainer's own training_step")

    def of_returned_loss(self) -> Presumed:
        """The loss that a model returns, where the trainer takes its logits."""
        return Presumed(certainty=Certainty.PRESUMED_NO, feature="a trainer that takes the model's loss")

    def of_guarded(self, name: str) -> Presumed:
        """A name that the code can do without."""
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"{name} where nothing catches that it is missing")

    def of_optional(self, term: SymbolTerm) -> Presumed:
        """What the program uses only where options are given, though it may import it without."""
        option = self._code.option_for(term.symbols)
        return Presumed(
            certainty=Certainty.PRESUMED_NO, feature=f"the option {option}", condition=f"your code uses {_symbol(term)}"
        )

    def of_unlisted(self, term: PackageTerm) -> Presumed:
        """A package that an open list does not name."""
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=_FEATURES.get(term.name, term.name))

    def of_absence(self, term: PackageAbsentTerm, *, by_extra: bool = False) -> Presumed:
        """A package that an open list does not name, or that may be installed with the others.

        Args:
            term: that it is absent.
            by_extra: a listed requirement asks for an extra that brings it.
        """
        if term.name in self._packages:
            return Presumed(certainty=Certainty.OPEN, condition=f"{term.name} is not installed", likelihood=_UNREAD)
        if any(name in self._engines and one.packages == {term.name} for name, one in ENGINES.items()):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"no {term.name}")  # the run cannot do without it
        if by_extra:
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"no {term.name}")
        brings = _BROUGHT.get(term.name, ())
        listed = any(one in self._engines or one in self._packages for one in brings)
        if listed and self._platform in (None, "linux"):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"no {term.name}")
        if _OFTEN_BESIDE.get(term.name) in self._engines:
            return Presumed(
                certainty=Certainty.OPEN, condition=f"{term.name} is not installed", asks=term.name, likelihood=_UNREAD
            )
        return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"{term.name} is not installed")

    def _of_symbols(self, term: SymbolTerm) -> Presumed:
        symbols, shown = term.symbols, _symbol(term)
        if self._code.unread and (met := self._code.called_by_others(symbols)) is not None:
            called, place = met
            words = in_words(called)
            program = f"the program with {words}" if words else f"the program that calls {called}"
            return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"{program} is run", location=place)
        by_default = self._code.by_default(symbols)
        if by_default is not None:
            options, truth, place = by_default
            named_options = joined(tuple(f"{name} at its default, {value!r}" for name, value in options), "and")
            words = joined(tuple(name for name, _ in options), "or")
            return Presumed(
                certainty=Certainty.presumed(truth),
                taking=f"the command leaves the option {named_options}",
                feature=f"the option {words}",
                condition=f"your code uses {shown}",
                location=place,
            )
        if self._code.option_for(symbols):
            return self.of_optional(term)
        if self._code.unread:
            return self._of_unread_symbols(symbols, shown)
        if not self._settings.get(CALLS_KEY) and are_called(self._code.taken, symbols):
            # Somebody says that the function is used, and not how it is called.
            return Presumed(certainty=Certainty.OPEN, condition=f"your code uses {shown}", likelihood=_UNREAD)
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=shown)

    def _of_unread_symbols(self, symbols: tuple[str, ...], shown: str) -> Presumed:
        """What code uses that nobody read as that of a run: what nearly all code does with what is listed."""
        # What code that trains nothing takes from packages, and not what it calls on their objects.
        owners = (_owner(name) for symbol in symbols for name in names_of(symbol))
        if self._settings.get(SYMBOLS_KEY) and not any_matches(self._code.taken, owners):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=shown)
        if SERVING not in self._engines:
            library = next((name for name in map(whole_library, symbols) if name in self._packages), None)
            if library is not None and self._code.may_import(library):
                return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"your code uses {library}, which is listed")
            nearly = (_NEARLY_ALWAYS[name] for name in self._nearly_always_used)
            usual = next((text for name, text in nearly if truth_of_use((name,), symbols) is Truth.YES), None)
            if usual is not None:
                return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"your code uses {usual}")
        if self._ordinary and truth_of_use(self._ordinary, symbols) is Truth.YES:
            return Presumed(certainty=Certainty.OPEN, condition=f"your code uses {shown}", likelihood=0.5)
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=shown)

    @cached_property
    def _ordinary(self) -> tuple[str, ...]:
        """What code uses as often as not that trains with the engines of the run."""
        return tuple(name for engine in self._engines for name in _ORDINARY_SYMBOLS.get(engine, ()))

    def _of_no_symbols(self, term: SymbolAbsentTerm) -> Presumed:
        """What keeps a defect from harm is not there unless it is seen."""
        symbols, shown = term.symbols, _symbol(term)
        by_default = self._code.by_default(symbols)
        used = self._code.used
        if truth_of_use(used, symbols) is Truth.YES or (by_default and by_default[1] is Truth.YES):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"code without {shown}")
        return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"your code does not use {shown}")


_Rule: TypeAlias = Callable[[Presumer, Term, str], "Presumed | None"]
# What decides a fact before what is usual does, by its key.
_WHERE_UNDECIDED: dict[str, _Rule] = {
    MODEL_KEY: Presumer._of_loaded_model,
    "optimizer.name": Presumer._of_optimizer,
    "training.gradient_checkpointing": Presumer._of_checkpointing,
    "training.dataloader_num_workers": Presumer._of_workers,
    "distributed.strategy": Presumer._of_strategy,
}
_WHERE_NOT_STATED: dict[str, _Rule] = {
    LOSS_KEY: Presumer._of_loss,
    MODEL_KEY: Presumer._of_unnamed_model,
    "host.platform": Presumer._of_platform,
    "peft.method": Presumer._of_adapter,
    "quantization.method": Presumer._of_library,
    "model.attn_implementation": Presumer._of_library,
    **dict.fromkeys(_OF_OTHER_GPUS, Presumer._of_gpu),
}


def _symbol(term: SymbolTerm | SymbolAbsentTerm) -> str:
    """``transformers.AdamW``, ``SentenceTransformer.add_adapter``: a function's name alone says too little."""
    first = term.symbols[0]
    parts = [part.replace("*", "").strip("_") for part in names_of(first)[0].split(".") if part.strip("*")]
    if not parts:
        return f"calls {term.arguments}" if is_call(first) else first
    shown = ".".join(parts[-2:])
    if is_call(first):
        return f"{shown} {term.arguments}".rstrip()
    return in_words(shown) or shown


def _asks_for_deepspeed(term: Term) -> bool:
    """Is DeepSpeed the one strategy that a term is met by?"""
    others = ("none", "ddp", "fsdp", "tensor_parallel")
    return truth_of(term, "deepspeed") is Truth.YES and all(truth_of(term, one) is Truth.NO for one in others)


def _owner(symbol: str) -> str:
    """The class of a method, ``*SentenceTransformer`` of ``*SentenceTransformer.fit``; the symbol itself of others."""
    owner, dot, last = symbol.rpartition(".")
    is_method = dot and last[:1].islower() and owner.rpartition(".")[2].lstrip("*")[:1].isupper()
    return owner if is_method else symbol


def _single(versions: VersionSet) -> bool:
    """Is it one release, or a few, and no range?"""
    return all(part.startswith("==") for part in str(versions).split(" || "))


def _holds(release: str, versions: VersionSet) -> bool:
    """Is a release one of those versions?"""
    window = locate(release)
    return window is not None and versions.truth(window) is Truth.YES


def _all_hold(releases: Sequence[str], versions: VersionSet) -> bool:
    """Is every one of some releases one of those versions? The oldest is mostly the first that is not."""
    return all(_holds(release, versions) for release in releases)
