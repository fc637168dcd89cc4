"""What the code of a run is known to take and to call, and what follows from nothing else being there."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property

from gradcompat.model.environment import Location, Setting
from gradcompat.model.issue import ModelTerm
from gradcompat.presumptions.engines import FRAMEWORK_KEY, NO_TRAINER
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.comparison import texts
from gradcompat.terms.name_patterns import any_matches
from gradcompat.terms.symbol_patterns import (
    CALLS_KEY,
    LIBRARIES_KEY,
    OPTIONAL_KEY,
    SYMBOLS_KEY,
    by_defaults,
    has_options,
    is_call,
    met_by,
    name_of,
    truth_of_use,
    whole_library,
)
from gradcompat.terms.term_keys import IMPORTED_KEY
from gradcompat.truth import Truth

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
# What can be used beside models of transformers and brings none of them.
_BESIDE_MODELS = _WITHOUT_MODELS | {"diffusers", "peft", "datasets", "bitsandbytes"}
# What loads models of transformers itself, of whatever class.
LOADING = frozenset(
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
# What turns checkpointing on, in torch, transformers, diffusers, timm, fairscale and DeepSpeed.
_OF_CHECKPOINTING = lazy_pattern(
    r"(?i).*(?:checkpointing|checkpoint_sequential|checkpoint_wrapper|checkpoint\.checkpoint|grad_checkpoint).*"
)
_BY_ARGUMENTS = lazy_pattern(
    r"\b(?:use_checkpoint|with_cp|memory_efficient|\w*checkpointing|re(?:compute|mat)\w*)=(?!False)"
)
# Loops that somebody wrote: what the arguments of a trainer turn on is turned on there by a call.
_OWN_LOOPS = frozenset({"torch", "accelerate"})
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


class RunCode:
    """The code of one run, as far as settings tell of it.

    Args:
        settings: everything that is stated or presumed of the run, by key.
    """

    def __init__(self, settings: Mapping[str, Sequence[Setting]]) -> None:
        self._settings = settings

    @cached_property
    def taken(self) -> tuple[str, ...]:
        """What the code is stated or presumed to take from packages."""
        stated = self._settings.get(SYMBOLS_KEY, ())
        return tuple(name for setting in stated if isinstance(setting.value, tuple) for name in setting.value)

    @cached_property
    def taken_by_run(self) -> tuple[str, ...]:
        """What code takes that was read as that of the run."""
        stated = [one for one in self._settings.get(SYMBOLS_KEY, ()) if not one.presumed]
        return tuple(name for one in stated if isinstance(one.value, tuple) for name in one.value)

    @cached_property
    def all_read(self) -> bool:
        """Is there no code of the run that was not read?"""
        return all(one.value is not None for one in self._settings.get(SYMBOLS_KEY, ()) if not one.presumed)

    @cached_property
    def unread(self) -> bool:
        """Was no code read as that of the run?"""
        return all(setting.presumed for setting in self._settings.get(SYMBOLS_KEY, ()))

    @cached_property
    def called(self) -> dict[str, Location]:
        """What programs that train nothing call and use, and where."""
        return {
            call: setting.place(index)
            for setting in self._settings.get(CALLS_KEY, ())
            if setting.presumed
            for index, call in enumerate(texts(setting.value))
        }

    @cached_property
    def used(self) -> tuple[str, ...]:
        """What any code is known to take or to call, without what is imported alone."""
        imported = {name for setting in self._settings.get(IMPORTED_KEY, ()) for name in texts(setting.value)}
        return (*(name for name in self.taken if name not in imported), *self.called)

    @cached_property
    def _lines_of_others(self) -> tuple[str, ...]:
        return tuple(self._calls_of_others)

    @cached_property
    def _calls_of_others(self) -> dict[str, Location]:
        return {call: place for call, place in self.called.items() if is_call(call)}

    def called_by_others(self, symbols: tuple[str, ...]) -> tuple[str, Location] | None:
        """The first name among some that programs call that train nothing, and where; None if they call none."""
        met = met_by(self._lines_of_others, symbols)
        if not met:
            return None
        return next((name_of(call), place) for call, place in self._calls_of_others.items() if call in met)

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Where what the code of the run takes comes from.

        A method is a bare name, and so is a class that comes from nobody knows where.
        """
        names = self.taken_by_run
        return frozenset(name.partition(".")[0] for name in names if "." in name or name[:1].isupper())

    @cached_property
    def _takes_texts(self) -> bool:
        """Does the code of the run take what loads models in PyG?"""
        return any(map(_OF_TEXT.fullmatch, self.taken_by_run))

    def takes_no_library(self, others: frozenset[str] = frozenset()) -> bool:
        """Was all of the run's code read, and does it take nothing of what brings models? Then they are its own.

        Args:
            others: what it may not take, either.
        """
        roots = self._packages
        known = bool(roots) and roots <= _WITHOUT_MODELS and not self._takes_texts
        return known and self.all_read and roots.isdisjoint(others)

    @cached_property
    def _of_transformers(self) -> tuple[str, ...]:
        """What the code of the run takes of transformers, by the first part of its name there."""
        names = (name.split(".", 2) for name in self.taken_by_run)
        return tuple({parts[1] for parts in names if parts[0] == "transformers" and len(parts) > 1})

    def takes_others(self, term: ModelTerm) -> bool:
        """Was all of the run's code read, and does every class of transformers that it takes say that it is another?

        What takes no class of transformers beside its adapters or diffusers takes another, too.
        """
        taken, others = self._of_transformers, self._packages - {"transformers"}
        of_diffusers = "diffusers" in others and any(map(_OF_DIFFUSERS.fullmatch, term.classes))
        return (
            bool(taken or others)
            and not of_diffusers
            and not self._takes_texts
            and self.all_read
            and others <= _BESIDE_MODELS
            and all(_SAYS_WHICH.fullmatch(name) for name in taken)
            and not any_matches(taken, term.classes)
        )

    @cached_property
    def classes(self) -> tuple[frozenset[str], tuple[str, ...]] | None:
        """The auto classes of models that all of the run's code takes, and other classes; None where others load."""
        if not self.all_read or not any(not one.presumed for one in self._settings.get(SYMBOLS_KEY, ())):
            return None
        names = [name.split(".") for name in self.taken_by_run]
        if any(parts[0] in LOADING or parts[:2] == ["transformers", "pipeline"] for parts in names):
            return None
        classes = {next((part for part in parts if part[:1].isupper()), "") for parts in names}
        autos = frozenset(name for name in classes if name.startswith("AutoModel"))
        return autos, tuple(name for name in classes if not name.startswith("Auto"))

    def loops_itself(self) -> bool:
        """Is the loop the program's own?"""
        drivers = self._settings.get(FRAMEWORK_KEY, ())
        return bool(drivers) and all(one.value in _OWN_LOOPS for one in drivers)

    def trains_nothing(self) -> bool:
        """Was all of the code read, and is there neither a run in it nor what could drive one?"""
        drivers = self._settings.get(FRAMEWORK_KEY, ())
        return bool(drivers) and all(one.presumed and one.value == NO_TRAINER for one in drivers)

    def checkpoints_nothing(self) -> bool:
        """Is the loop the program's own, was all of its code read, and does nothing in it turn checkpointing on?"""
        names = self.taken_by_run
        if not (names and self.all_read and self.loops_itself()):
            return False
        given = [one.value for one in self._settings.get(CALLS_KEY, ()) if isinstance(one.value, tuple)]
        return not any(map(_OF_CHECKPOINTING.fullmatch, names)) and not any(
            _BY_ARGUMENTS.search(call) for calls in given for call in calls
        )

    @cached_property
    def takes_no_adapter(self) -> bool:
        """Was all of the run's code read, and does nothing that it takes or calls speak of adapters?"""
        names = self.taken_by_run
        return (
            bool(names)
            and self.all_read
            and not any(
                name.partition(".")[0] in _ADAPTING
                or (_OF_ADAPTERS.search(name) and not _OF_NO_ADAPTER.fullmatch(name))
                for name in names
            )
        )

    def adapters(self) -> tuple[str, ...]:
        """The kinds of adapters whose configs the run's code takes; none where LoRA is among them."""
        if not self.taken_by_run or not self.all_read:
            return ()
        kinds = {match[1].lower() for match in map(_CONFIG_OF_ADAPTER.fullmatch, self.taken_by_run) if match}
        return () if "lora" in kinds else tuple(sorted(kinds))

    @cached_property
    def _with_options(self) -> list[tuple[str, Location]]:
        """The calls with arguments that options of the command line give, and where they stand."""
        return [
            (line, setting.place(index))
            for setting in self._settings.get(CALLS_KEY, ())
            for index, line in enumerate(texts(setting.value))
            if has_options(line)
        ]

    def by_default(self, symbols: tuple[str, ...]) -> tuple[tuple[tuple[str, object], ...], Truth, Location] | None:
        """The options that calls hang on, their defaults, and whether a call with these is what a term asks for."""
        found = None
        for line, place in self._with_options:
            told = by_defaults(line, symbols)
            if told is not None and (found is None or told[1] is Truth.YES):
                found = (*told, place)
        return found

    def option_for(self, symbols: tuple[str, ...]) -> str:
        """The options without which the program does not use what a term asks for; empty if none are in its way."""
        optional = self._settings.get(OPTIONAL_KEY, ())
        asked_for = (one for one in optional if truth_of_use(texts(one.value), symbols) is not Truth.NO)
        return next((one.spelling for one in asked_for if one.spelling), "")

    @cached_property
    def _imported_by_tool(self) -> frozenset[str]:
        told = (one.value for one in self._settings.get(LIBRARIES_KEY, ()))
        imported = (name for value in told if isinstance(value, tuple) for name in value)
        return frozenset(library for name in imported if (library := whole_library(f"{name}.*")))

    def may_import(self, library: str) -> bool:
        """May the run import a package that is listed? A tool that a config is written for imports what it does."""
        return not self._settings.get(LIBRARIES_KEY) or library in self._imported_by_tool
