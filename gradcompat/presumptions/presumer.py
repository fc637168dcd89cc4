"""What is presumed of a term that no fact decides: that it holds, that it does not, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache

from gradcompat.messages import entry_text, joined, value_text, versions_text
from gradcompat.model.environment import Location, Package, Setting, SettingValue
from gradcompat.model.issue import (
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VirtualTerm,
)
from gradcompat.presumptions.engines import ENGINES, FRAMEWORK_KEY, NO_TRAINER
from gradcompat.presumptions.serving import SERVING
from gradcompat.presumptions.usual import USUAL, Usual, Values, usual_values
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.class_facts import LOSS_KEY, METHOD_KEY, has_own_loss
from gradcompat.terms.comparison import named, satisfies, texts
from gradcompat.terms.name_patterns import any_matches
from gradcompat.terms.symbol_patterns import (
    CALLS_KEY,
    LIBRARIES_KEY,
    OPTIONAL_KEY,
    SYMBOLS_KEY,
    are_called,
    by_defaults,
    has_options,
    is_call,
    met_by,
    name_of,
    names_of,
    truth_of_use,
    whole_library,
)
from gradcompat.terms.symbol_words import in_words
from gradcompat.terms.term_keys import fact_of
from gradcompat.truth import Certainty, Truth

_TODAY = 0.7  # how often a range is installed in its newest release
_HALF = 0.5
# What programs take that build their models themselves.
_WITHOUT_MODELS = sys.stdlib_module_names | {
    *("torch", "accelerate", "lightning", "pytorch_lightning", "lightning_utilities", "torchmetrics", "apex"),
    *("torchvision", "timm", "segmentation_models_pytorch", "monai", "kornia", "albumentations", "ema_pytorch"),
    *("torchaudio", "librosa", "soundfile", "torchdiffeq", "torchcfm", "lpips", "xformers", "triton"),
    *("numpy", "scipy", "pandas", "polars", "sklearn", "skimage", "cv2", "PIL", "imageio", "einops", "numba", "h5py"),
    *("nibabel", "SimpleITK", "pycocotools", "matplotlib", "seaborn", "plotly", "tqdm", "rich", "psutil", "colorama"),
    *("wandb", "tensorboard", "tensorboardX", "mlflow", "loguru", "yaml", "omegaconf", "hydra", "dotenv", "click"),
    *("rootutils", "pyrootutils", "packaging", "safetensors", "huggingface_hub", "requests", "six", "IPython"),
    *("prodigyopt", "schedulefree", "dadaptation", "lion_pytorch", "came_pytorch", "galore_torch"),
    *("batch", "group", "scheduler", "columns"),  # what a program does with these, under names of our own
    *("torch_geometric", "torch_sparse", "torch_scatter", "torch_cluster", "dgl", "ogb", "quiver", "networkx", "rdkit"),
}
# What of PyG loads models of transformers or of sentence-transformers.
_OF_TEXT = lazy_pattern(
    r"torch_geometric\.(?:\w+\.)*(?:llm|nlp|LLM|LLMJudge|SentenceTransformer|VisionTransformer|GRetriever|GLEM|TXT2KG"
    r"|MoleculeGPT|GITMol|Protein\w+)\b.*"
)
# What takes a run to DeepSpeed without a word of it in the code: by a launcher, an argument or the command line.
_LAUNCHES = frozenset({"accelerate", "lightning", "pytorch_lightning", "hydra"})
# What can be used beside models of transformers and brings none of them.
_BESIDE_MODELS = _WITHOUT_MODELS | {"diffusers", "peft", "datasets", "bitsandbytes"}
# What loads models of transformers itself, of whatever class.
_LOADING = frozenset(
    {
        *("unsloth", "sentence_transformers", "axolotl", "llamafactory", "swift", "verl", "setfit", "optimum", "llava"),
        *("diffusers", "vllm", "mlx_vlm"),
    }
)
# Models that a loader of diffusers may bring, whose classes it does not name.
_OF_DIFFUSERS = lazy_pattern(r"\w*(?:Transformer\dDModel|UNet\w*|WanModel)")
# Classes of transformers that say which model they are, and those that are no models.
_SAYS_WHICH = lazy_pattern(
    r"(?!Auto|PreTrained|(?:Vision|Speech)?EncoderDecoder)[A-Z]\w*(?:Model(?:With\w+)?|For[A-Z]\w+)"
    r"|(?:\w*Tokenizer(?:Fast)?|\w*Processor|\w*FeatureExtractor|\w*Config|\w*Scheduler|\w*Trainer|\w*TrainingArguments"
    r"|DataCollator\w*|Adafactor|AdamW|\w*Callback|\w*Output|get_\w*schedule\w*|set_seed|logging|utils|optimization)"
)
_OF_TRAINING = ("training.", "deepspeed.")  # what only a run has
# What a program that takes no library of models does without, though one for it is installed.
_OF_LIBRARIES = {
    "quantization.method": "weights are not quantised",
    "peft.method": "there is no adapter",
    "model.attn_implementation": "attention is that of the program's own model",
}
_STRATEGY = "distributed.strategy"
_ADAPTER_KEY = "peft.method"
_CHECKPOINTING_KEY = "training.gradient_checkpointing"
# What turns checkpointing on, in torch, transformers, diffusers, timm, fairscale and DeepSpeed.
_OF_CHECKPOINTING = lazy_pattern(
    r"(?i).*(?:checkpointing|checkpoint_sequential|checkpoint_wrapper|checkpoint\.checkpoint|grad_checkpoint).*"
)
_BY_ARGUMENTS = lazy_pattern(
    r"\b(?:use_checkpoint|with_cp|memory_efficient|\w*checkpointing|re(?:compute|mat)\w*)=(?!False)"
)
# Loops that somebody wrote: what the arguments of a trainer turn on is turned on there by a call.
_OWN_LOOPS = frozenset({"torch", "accelerate"})
# A word of the Trainer's arguments; elsewhere an optimizer is called with `fused=True`, which is a fact of its own.
_FUSED_BY_NAME = ("optimizer.name", "adamw_torch_fused")
# Who writes a number of workers and no literal has some: without it there are none.
_WORKERS_KEY = "training.dataloader_num_workers"
_SEVERAL = 4
# Engines that bring models of transformers.
_WITH_MODELS = frozenset({"transformers", "trl", "peft", "sentence-transformers", "liger", "quantisation"})
# What has an adapter of PEFT in its name, of whatever library: `get_peft_model`, `load_lora_weights`.
_OF_ADAPTERS = lazy_pattern(r"(?i)peft|lora|(?<!ip_)(?<!ip)(?<!t2i)adapter|attn_procs")
# What makes one only where the command line asks for it, and what scales one that is there.
_OF_NO_ADAPTER = lazy_pattern(
    r"trl\.(?:\w+\.)*get_peft_config|diffusers\.(?:\w+\.)*(?:(?:un)?scale_lora_layers|adjust_lora_scale_\w+|USE_PEFT_BACKEND"
    r"|\w*LoraLoaderMixin(?:\._\w+)?)|(?:\w+\.)*is_peft_available"
)
# Configs of PEFT, each of its own kind of adapter.
_CONFIG_OF_ADAPTER = lazy_pattern(r"peft\.(?:\w+\.)*(?!Peft|PromptLearning)(\w+?)Config")
# What makes adapters by arguments and configs of its own.
_ADAPTING = frozenset({"unsloth", "axolotl", "llamafactory", "swift", "verl", "setfit", "llava", "torchtune"})
_UNREAD = 0.3  # how often a version that cannot be placed is one of those that a term asks for
_GPUS = {
    "7.0": "a V100",
    "7.5": "a T4",
    "8.0": "an A100",
    "8.6": "an RTX 30",
    "8.9": "an RTX 40 or L40",
    "9.0": "an H100 or H200",
    "10.0": "a B200",
    "12.0": "an RTX 50",
}

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Presumed:
    """What is presumed of one term.

    Attributes:
        certainty: ``PRESUMED_YES``, ``PRESUMED_NO``, or ``OPEN`` where what is usual does not decide it.
        taking: behind "taking it that", where it is presumed to hold.
        feature: behind "unless you use", where it is presumed not to hold; empty for a release that is not the newest.
        condition: behind "if", where it is open; as a person would say it.
        asks: another fact that would decide it, where that one is not stated.
        likelihood: the share of usual values that satisfy it, from 0 to 1; it orders findings and decides nothing.
        location: where what is presumed comes from, if it stands somewhere.
    """

    certainty: Certainty
    taking: str = ""
    feature: str = ""
    condition: str = ""
    asks: str = ""
    likelihood: float = 0.5
    location: Location | None = None


_OF_RELEASES = frozenset({"model.architecture", "model.name", "host.cuda_arch"})
# Virtual packages that a Mac has none of.
_OF_OTHER_GPUS = frozenset({"__cuda", "__cuda_arch", "__nvidia_driver", "__nccl", "__cudnn", "__rocm"})


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
        if isinstance(term, ModelTerm) and all(one.value is None for one in stated):
            loaded = self._of_auto_classes(term)
            if loaded is not None:
                return loaded
            if self._takes_others(term):
                return Presumed(certainty=Certainty.PRESUMED_NO, feature=_wanted(term))
        undecided = all(one.value is None for one in stated)
        if undecided and key == _FUSED_BY_NAME[0] and _wanted(term) == _FUSED_BY_NAME[1] and self._loops_itself():
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=USUAL[key].features["adamw_torch_fused"])
        if key == _CHECKPOINTING_KEY and not stated and self._checkpoints_nothing():
            without = Certainty.presumed(_truth(term, value=False))
            taking = "the loop checkpoints no layer"
            return Presumed(certainty=without, taking=taking, feature=USUAL[key].feature)
        if key == _WORKERS_KEY and stated and undecided:
            taking = "the data loader has workers, whose number the program computes"
            certainty = Certainty.presumed(_truth(term, _SEVERAL))
            return Presumed(certainty=certainty, taking=taking, feature="a data loader without workers")
        if key == _STRATEGY and undecided and _asks_for_deepspeed(term) and self._takes_no_library(_LAUNCHES):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=USUAL[key].features["deepspeed"])
        if stated:
            return _of_stated(term, key, stated, self._too_new)
        if key == LOSS_KEY and has_own_loss(self._settings.get(METHOD_KEY, ())):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature="the model's own loss")
        if isinstance(term, PlatformTerm) and self._trains_on_apple():
            taking = "the training runs on macOS"
            return Presumed(
                certainty=Certainty.presumed(_truth(term, "darwin")), taking=taking, feature="another system"
            )
        if isinstance(term, VirtualTerm) and term.name in _OF_OTHER_GPUS and self._trains_on_apple():
            return Presumed(certainty=Certainty.PRESUMED_NO, feature="a GPU that is not Apple's")
        if isinstance(term, ModelTerm) and self._lists_no_models:
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=_wanted(term))
        if isinstance(term, ModelTerm) and self._takes_no_library():
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"{_wanted(term)} of a library")
        if key in _OF_LIBRARIES and self._takes_no_library():
            without = Certainty.presumed(_truth(term, "none"))
            feature = _feature(USUAL[key], key, _wanted(term))
            return Presumed(certainty=without, taking=_OF_LIBRARIES[key], feature=feature)
        if key == _ADAPTER_KEY and (kinds := self._adapters()):
            truths = {_truth(term, kind) for kind in kinds}
            if len(truths) == 1:
                taking = f"the adapter is that of {joined(kinds, 'and')}"
                return Presumed(certainty=Certainty.presumed(truths.pop()), taking=taking, feature=_wanted(term))
        if key == _ADAPTER_KEY and self._takes_no_adapter:
            without = Certainty.presumed(_truth(term, "none"))
            feature = _feature(USUAL[key], key, _wanted(term))
            return Presumed(certainty=without, taking=_OF_LIBRARIES[key], feature=feature)
        if key.startswith(_OF_TRAINING) and self._trains_nothing():
            return Presumed(certainty=Certainty.PRESUMED_NO, feature="the training of a model")
        asked = key in USUAL and any(
            setting.value is not None for setting in self._settings.get(USUAL[key].asks or "", ())
        )
        unusual = self._too_new if key in _OF_RELEASES else frozenset()
        presumed = _of_usual(term, _types_in(term), self._engines, unusual, asked=asked)
        return replace(presumed, asks="") if presumed.asks and presumed.asks in self._settings else presumed

    def _trains_on_apple(self) -> bool:
        """Does the run name Apple's device, and no other?"""
        return {one.value for one in self._settings.get("host.device", ())} == {"mps"}

    def _takes_no_library(self, others: frozenset[str] = frozenset()) -> bool:
        """Was all of the run's code read, and does it take nothing of what brings models? Then they are its own.

        Args:
            others: what it may not take, either.
        """
        roots = self._packages_taken
        known = bool(roots) and roots <= _WITHOUT_MODELS and not self._takes_texts
        return known and self._all_read and roots.isdisjoint(others)

    @cached_property
    def _packages_taken(self) -> frozenset[str]:
        """Where what the code of the run takes comes from.

        A method is a bare name, and so is a class that comes from nobody knows where.
        """
        names = self._taken_by_run
        return frozenset(name.partition(".")[0] for name in names if "." in name or name[:1].isupper())

    @cached_property
    def _takes_texts(self) -> bool:
        """Does the code of the run take what loads models in PyG?"""
        return any(map(_OF_TEXT.fullmatch, self._taken_by_run))

    @cached_property
    def _nearly_always_used(self) -> tuple[str, ...]:
        """The libraries that are listed, and may be imported, of which nearly all code uses the same thing."""
        return tuple(name for name in self._packages if name in _NEARLY_ALWAYS and self._may_import(name))

    @cached_property
    def _lists_no_models(self) -> bool:
        """Is torch listed with other packages, and nothing that brings models of transformers, nor used?"""
        listed = {name.replace("-", "_") for name in self._packages}
        return len(listed) > 1 and self._engines.isdisjoint(_WITH_MODELS) and listed.isdisjoint(_LOADING)

    def _loops_itself(self) -> bool:
        """Is the loop the program's own?"""
        drivers = self._settings.get(FRAMEWORK_KEY, ())
        return bool(drivers) and all(one.value in _OWN_LOOPS for one in drivers)

    def _checkpoints_nothing(self) -> bool:
        """Is the loop the program's own, was all of its code read, and does nothing in it turn checkpointing on?"""
        names = self._taken_by_run
        if not (names and self._all_read and self._loops_itself()):
            return False
        given = [one.value for one in self._settings.get(CALLS_KEY, ()) if isinstance(one.value, tuple)]
        return not any(map(_OF_CHECKPOINTING.fullmatch, names)) and not any(
            _BY_ARGUMENTS.search(call) for calls in given for call in calls
        )

    @cached_property
    def _takes_no_adapter(self) -> bool:
        """Was all of the run's code read, and does nothing that it takes or calls speak of adapters?"""
        names = self._taken_by_run
        return (
            bool(names)
            and self._all_read
            and not any(
                name.partition(".")[0] in _ADAPTING
                or (_OF_ADAPTERS.search(name) and not _OF_NO_ADAPTER.fullmatch(name))
                for name in names
            )
        )

    def _adapters(self) -> tuple[str, ...]:
        """The kinds of adapters whose configs the run's code takes; none where LoRA is among them."""
        if not self._taken_by_run or not self._all_read:
            return ()
        kinds = {match[1].lower() for match in map(_CONFIG_OF_ADAPTER.fullmatch, self._taken_by_run) if match}
        return () if "lora" in kinds else tuple(sorted(kinds))

    def _takes_others(self, term: ModelTerm) -> bool:
        """Was all of the run's code read, and does every class of transformers that it takes say that it is another?

        What takes no class of transformers beside its adapters or diffusers takes another, too.
        """
        taken, others = self._of_transformers, self._packages_taken - {"transformers"}
        of_diffusers = "diffusers" in others and any(map(_OF_DIFFUSERS.fullmatch, term.classes))
        return (
            bool(taken or others)
            and not of_diffusers
            and not self._takes_texts
            and self._all_read
            and others <= _BESIDE_MODELS
            and all(_SAYS_WHICH.fullmatch(name) for name in taken)
            and not any_matches(taken, term.classes)
        )

    @cached_property
    def _of_transformers(self) -> tuple[str, ...]:
        """What the code of the run takes of transformers, by the first part of its name there."""
        names = (name.split(".", 2) for name in self._taken_by_run)
        return tuple({parts[1] for parts in names if parts[0] == "transformers" and len(parts) > 1})

    def _of_auto_classes(self, term: ModelTerm) -> Presumed | None:
        """What the auto classes say by which all of the run's code loads its models; None where others may load one."""
        if self._classes is None:
            return None
        from gradcompat.presumptions.auto_classes import cannot_give, gives  # a lockfile alone names no class

        autos, others = self._classes
        if any_matches(others, term.classes):
            return None
        if cannot_give(autos, term.classes):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=_wanted(term))
        if gives(autos, term.classes):
            taking = f"{joined(tuple(sorted(autos)))} loads the model"
            return Presumed(certainty=Certainty.PRESUMED_YES, taking=taking)
        return None

    @cached_property
    def _classes(self) -> tuple[frozenset[str], tuple[str, ...]] | None:
        """The auto classes of models that all of the run's code takes, and other classes; None where others load."""
        if not self._all_read or not any(not one.presumed for one in self._settings.get(SYMBOLS_KEY, ())):
            return None
        names = [name.split(".") for name in self._taken_by_run]
        if any(parts[0] in _LOADING or parts[:2] == ["transformers", "pipeline"] for parts in names):
            return None
        classes = {next((part for part in parts if part[:1].isupper()), "") for parts in names}
        autos = frozenset(name for name in classes if name.startswith("AutoModel"))
        return autos, tuple(name for name in classes if not name.startswith("Auto"))

    def _trains_nothing(self) -> bool:
        """Was all of the code read, and is there neither a run in it nor what could drive one?"""
        drivers = self._settings.get(FRAMEWORK_KEY, ())
        return bool(drivers) and all(one.presumed and one.value == NO_TRAINER for one in drivers)

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
        if self._unread and (met := self._called_by_others(symbols)) is not None:
            called, place = met
            words = in_words(called)
            program = f"the program with {words}" if words else f"the program that calls {called}"
            return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"{program} is run", location=place)
        by_default = self._by_default(symbols)
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
        option = self._option_for(symbols)
        if option:
            return Presumed(
                certainty=Certainty.PRESUMED_NO, feature=f"the option {option}", condition=f"your code uses {shown}"
            )
        if self._unread:
            return self._of_unread_symbols(symbols, shown)
        if not self._settings.get(CALLS_KEY) and are_called(self._taken, symbols):
            # Somebody says that the function is used, and not how it is called.
            return Presumed(certainty=Certainty.OPEN, condition=f"your code uses {shown}", likelihood=_UNREAD)
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=shown)

    def _of_unread_symbols(self, symbols: tuple[str, ...], shown: str) -> Presumed:
        """What code uses that nobody read as that of a run: what nearly all code does with what is listed."""
        # What code that trains nothing takes from packages, and not what it calls on their objects.
        owners = (_owner(name) for symbol in symbols for name in names_of(symbol))
        if self._settings.get(SYMBOLS_KEY) and not any_matches(self._taken, owners):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=shown)
        if SERVING not in self._engines:
            library = next((name for name in map(whole_library, symbols) if name in self._packages), None)
            if library is not None and self._may_import(library):
                return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"your code uses {library}, which is listed")
            nearly = (_NEARLY_ALWAYS[name] for name in self._nearly_always_used)
            usual = next((text for name, text in nearly if truth_of_use((name,), symbols) is Truth.YES), None)
            if usual is not None:
                return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"your code uses {usual}")
        if self._ordinary and truth_of_use(self._ordinary, symbols) is Truth.YES:
            return Presumed(certainty=Certainty.OPEN, condition=f"your code uses {shown}", likelihood=0.5)
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=shown)

    @cached_property
    def _unread(self) -> bool:
        """Was no code read as that of the run?"""
        return all(setting.presumed for setting in self._settings.get(SYMBOLS_KEY, ()))

    def _called_by_others(self, symbols: tuple[str, ...]) -> tuple[str, Location] | None:
        """The first name among some that programs call that train nothing, and where; None if they call none."""
        met = met_by(tuple(self._calls_of_others), symbols) if self._calls_of_others else ()
        return next(((name_of(call), place) for call, place in self._calls_of_others.items() if call in met), None)

    @cached_property
    def _calls_of_others(self) -> dict[str, Location]:
        return {call: place for call, place in self._called.items() if is_call(call)}

    @cached_property
    def _ordinary(self) -> tuple[str, ...]:
        """What code uses as often as not that trains with the engines of the run."""
        return tuple(name for engine in self._engines for name in _ORDINARY_SYMBOLS.get(engine, ()))

    def _by_default(self, symbols: tuple[str, ...]) -> tuple[tuple[tuple[str, object], ...], Truth, Location] | None:
        """The options that calls hang on, their defaults, and whether a call with these is what a term asks for."""
        found = None
        for line, place in self._with_options:
            told = by_defaults(line, symbols)
            if told is not None and (found is None or told[1] is Truth.YES):
                found = (*told, place)
        return found

    def _option_for(self, symbols: tuple[str, ...]) -> str:
        """The options without which the program does not use what a term asks for; empty if none are in its way."""
        optional = self._settings.get(OPTIONAL_KEY, ())
        asked_for = (one for one in optional if truth_of_use(texts(one.value), symbols) is not Truth.NO)
        return next((one.spelling for one in asked_for if one.spelling), "")

    def _may_import(self, library: str) -> bool:
        """May the run import a package that is listed? A tool that a config is written for imports what it does."""
        return not self._settings.get(LIBRARIES_KEY) or library in self._imported_by_tool

    @cached_property
    def _imported_by_tool(self) -> frozenset[str]:
        told = (one.value for one in self._settings.get(LIBRARIES_KEY, ()))
        imported = (name for value in told if isinstance(value, tuple) for name in value)
        return frozenset(library for name in imported if (library := whole_library(f"{name}.*")))

    @cached_property
    def _with_options(self) -> list[tuple[str, Location]]:
        """The calls with arguments that options of the command line give, and where they stand."""
        return [
            (line, setting.place(index))
            for setting in self._settings.get(CALLS_KEY, ())
            for index, line in enumerate(texts(setting.value))
            if has_options(line)
        ]

    @cached_property
    def _taken(self) -> tuple[str, ...]:
        """What the code is stated or presumed to take from packages."""
        stated = self._settings.get(SYMBOLS_KEY, ())
        return tuple(name for setting in stated if isinstance(setting.value, tuple) for name in setting.value)

    @cached_property
    def _taken_by_run(self) -> tuple[str, ...]:
        """What code takes that was read as that of the run."""
        stated = [one for one in self._settings.get(SYMBOLS_KEY, ()) if not one.presumed]
        return tuple(name for one in stated if isinstance(one.value, tuple) for name in one.value)

    @cached_property
    def _all_read(self) -> bool:
        """Is there no code of the run that was not read?"""
        return all(one.value is not None for one in self._settings.get(SYMBOLS_KEY, ()) if not one.presumed)

    @cached_property
    def _called(self) -> dict[str, Location]:
        """What programs that train nothing call and use, and where."""
        return {
            call: setting.place(index)
            for setting in self._settings.get(CALLS_KEY, ())
            if setting.presumed
            for index, call in enumerate(texts(setting.value))
        }

    def _of_no_symbols(self, term: SymbolAbsentTerm) -> Presumed:
        """What keeps a defect from harm is not there unless it is seen."""
        symbols, shown = term.symbols, _symbol(term)
        by_default = self._by_default(symbols)
        used = (*self._taken, *self._called)
        if truth_of_use(used, symbols) is Truth.YES or (by_default and by_default[1] is Truth.YES):
            return Presumed(certainty=Certainty.PRESUMED_NO, feature=f"code without {shown}")
        return Presumed(certainty=Certainty.PRESUMED_YES, taking=f"your code does not use {shown}")


# What a run leaves open, which stands in no line of a file.
_LEFT_TO_OTHERS = frozenset({"precision.chosen", "model.attention_chosen"})


def _of_stated(term: Term, key: str, stated: Sequence[Setting], unusual: frozenset[SettingValue]) -> Presumed:
    """What is presumed by what is presumed of the key, if that agrees; else nothing."""
    usual, wanted = USUAL.get(key), _wanted(term)
    presumed = [setting for setting in stated if setting.presumed and setting.value is not None]
    if presumed and len(presumed) == len(stated):
        truths = {_truth(term, setting.value) for setting in presumed if setting.value is not None}
        if len(truths) == 1:
            first = presumed[0]
            if usual is not None and key in _LEFT_TO_OTHERS and first.value is False:
                return Presumed(certainty=Certainty.presumed(truths.pop()), taking=usual.taking, feature=usual.feature)
            values = dict.fromkeys(value_text(setting.value) for setting in presumed if setting.value is not None)
            return Presumed(
                certainty=Certainty.presumed(truths.pop()),
                taking=f"{key} is {joined(tuple(values))}",
                feature=_feature(usual, key, wanted),
                condition=_condition(usual, key, wanted),
                location=first.location,
            )
    # It is set, and not to anything that can be read.
    condition = _condition(usual, key, wanted)
    if usual is None or not usual.rare_is_named:
        return Presumed(certainty=Certainty.OPEN, condition=condition)
    read = [_truth(term, setting.value) for setting in stated if setting.value is not None]
    certainty, likelihood = _share(usual.values, term, unusual)
    if certainty is Certainty.PRESUMED_NO and max(read, default=Truth.NO) is Truth.NO:
        return Presumed(certainty=certainty, feature=_feature(usual, key, wanted))
    return Presumed(certainty=Certainty.OPEN, condition=condition, likelihood=likelihood)


@lru_cache(maxsize=4096)
def _of_usual(
    term: Term,
    types: tuple[type, ...],  # noqa: ARG001  # 1 is no True
    engines: frozenset[str],
    unusual: frozenset[SettingValue],
    *,
    asked: bool,
) -> Presumed:
    """What is presumed where nothing is stated: the same in every environment that names these engines.

    Args:
        unusual: values that are usual elsewhere.
        asked: the fact that a person is asked for instead is stated.
    """
    key, wanted = fact_of(term), _wanted(term)
    usual, values = USUAL.get(key), usual_values(key, engines)
    if usual is None or values is None:
        return Presumed(certainty=Certainty.OPEN, condition=_condition(usual, key, wanted))
    if not values and usual.engine is not None and usual.engine not in engines:
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=usual.feature or ENGINES[usual.engine].feature)
    certainty, likelihood = _share(values, term, unusual)
    if usual.mostly and not asked and likelihood > _HALF:
        certainty = Certainty.PRESUMED_YES
    if certainty is Certainty.PRESUMED_NO:
        return Presumed(certainty=certainty, feature=_feature(usual, key, wanted))
    condition = _condition(usual, key, wanted)
    if certainty is Certainty.PRESUMED_YES:
        return Presumed(certainty=certainty, taking=usual.taking.format(wanted) or condition)
    return Presumed(certainty=certainty, condition=condition, asks=usual.asks or "", likelihood=likelihood)


def _types_in(term: Term) -> tuple[type, ...]:
    """The types of its values: terms that ask for 1 and for True are equal."""
    if not isinstance(term, SettingTerm):
        return ()
    return tuple(map(type, term.values if term.comparison is None else term.comparison))


def _truth(term: Term, value: SettingValue) -> Truth:
    """Does a value satisfy a term that has a key?"""
    match term:
        case SettingTerm():
            return satisfies(term, value)
        case ModelTerm(classes=patterns) | PlatformTerm(platforms=patterns):
            return named(patterns, value)
        case SymbolTerm(symbols=patterns):
            return truth_of_use(texts(value), patterns)
        case PythonTerm(versions=versions) | VirtualTerm(versions=versions):
            window = locate(str(value))
            return Truth.UNKNOWN if window is None else versions.truth(window)
        case SymbolAbsentTerm(symbols=patterns):
            return Truth(Truth.YES - truth_of_use(texts(value), patterns))
        case PackageTerm() | PackageAbsentTerm():
            raise AssertionError("package terms are presumed upon with their entries")


def _condition(usual: Usual | None, key: str, wanted: str) -> str:
    if usual is None or not usual.condition:
        return f"{key}: {wanted}"
    return usual.conditions.get(wanted) or usual.condition.format(wanted)


def _share(values: Values, term: Term, unusual: frozenset[SettingValue]) -> tuple[Certainty, float]:
    """What usual values make of a term, and the share of those that satisfy it."""
    truths = [(Truth.NO if value in unusual else _truth(term, value), share) for value, share in values]
    whole = sum(share for _, share in truths) or 1.0
    likelihood = sum(share for truth, share in truths if truth is Truth.YES) / whole
    kinds = {truth for truth, _ in truths}
    if len(kinds) == 1:
        return Certainty.presumed(kinds.pop()), likelihood
    # Nothing usual at all: what is not usual is not there.
    return (Certainty.OPEN if kinds else Certainty.PRESUMED_NO), likelihood


def _feature(usual: Usual | None, key: str, wanted: str) -> str:
    if usual is None:
        return key
    for value in wanted.split(", "):
        for word in value.split(" or "):
            if word in usual.features:
                return usual.features[word]
    return usual.feature.format(wanted) or key


def _wanted(term: Term) -> str:
    """The values that satisfy a term, in words."""
    match term:
        case SettingTerm(comparison=(operator, value)):
            return f"{operator} {value_text(value)}" if operator != "!=" else f"not {value_text(value)}"
        case SettingTerm(values=values):
            return joined(tuple(map(value_text, values[:3])))
        case ModelTerm(classes=classes):
            return _models(classes)
        case PlatformTerm(platforms=platforms):
            return joined(platforms)
        case VirtualTerm(name="__cuda_arch", versions=versions):
            return _gpus(term)
        case PythonTerm(versions=versions) | VirtualTerm(versions=versions):
            return versions_text(versions)
        case SymbolTerm() | SymbolAbsentTerm() | PackageTerm() | PackageAbsentTerm():
            raise AssertionError("what it asks for has no values")


def _models(classes: tuple[str, ...]) -> str:
    shown = tuple(dict.fromkeys(name.replace("*", "").removesuffix("For") for name in classes))
    return joined(shown) if len(shown) <= 2 else f"{shown[0]}, {shown[1]} or {len(shown) - 2} more classes"


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
    return _truth(term, "deepspeed") is Truth.YES and all(_truth(term, one) is Truth.NO for one in others)


def _owner(symbol: str) -> str:
    """The class of a method, ``*SentenceTransformer`` of ``*SentenceTransformer.fit``; the symbol itself of others."""
    owner, dot, last = symbol.rpartition(".")
    is_method = dot and last[:1].islower() and owner.rpartition(".")[2].lstrip("*")[:1].isupper()
    return owner if is_method else symbol


def _gpus(term: VirtualTerm) -> str:
    shown = tuple(name for arch, name in _GPUS.items() if _truth(term, arch) is Truth.YES)
    return joined(shown[:3]) if shown else f"a GPU of compute capability {versions_text(term.versions)}"


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
