"""Variables of the environment that packages read, as programs and launch scripts set them."""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.model.environment import SettingValue
from gradcompat.scanners.key_mapping import Feed
from gradcompat.startup.lazy_dataclasses import dataclass

_ON = frozenset({"1", "on", "yes", "true"})
# Importing one of these imports transformers.
_TRANSFORMERS = frozenset({"transformers", "trl", "peft", "sentence_transformers", "setfit", "unsloth"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """What one variable decides.

    Attributes:
        key: the fact.
        on: what the words for "on" make of it; None where they say nothing.
        off: what every other word makes of it; None where it says nothing.
        undecided: words that leave it as it is.
        words: what means "on".
        before: the packages that read it when they are imported: set behind that, it does nothing.
    """

    key: str
    on: bool | None = True
    off: bool | None = False
    undecided: frozenset[str] = frozenset()
    words: frozenset[str] = _ON
    before: frozenset[str] = frozenset()


VARIABLES: Mapping[str, Variable] = {
    # transformers.utils.import_utils: TensorFlow is not looked for where one is off or the other on.
    "USE_TF": Variable(key="environment.use_tf", undecided=frozenset({"auto"}), before=_TRANSFORMERS),
    "USE_TORCH": Variable(key="environment.use_tf", on=False, off=None, before=_TRANSFORMERS),
    # keras/src/backend/config.py of Keras 3.
    "KERAS_BACKEND": Variable(
        key="environment.keras_on_tensorflow", words=frozenset({"tensorflow"}), before=frozenset({"keras"})
    ),
    # accelerate's plugin for FSDP: whatever it says names a class.
    "FSDP_TRANSFORMER_CLS_TO_WRAP": Variable(key="fsdp.layer_class", off=True),
    # extras/misc.py of LLaMA-Factory.
    "DISABLE_VERSION_CHECK": Variable(
        key="environment.llamafactory_unchecked",
        words=frozenset({"1", "y", "true"}),
        before=frozenset({"llamafactory"}),
    ),
    "UNSLOTH_RETURN_LOGITS": Variable(key="environment.unsloth_return_logits"),
    "VLLM_USE_V1": Variable(key="environment.vllm_use_v1"),
    "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": Variable(
        key="environment.protobuf_in_python",
        words=frozenset({"python"}),
        before=_TRANSFORMERS | {"tensorboard", "tensorflow", "lightning", "pytorch_lightning"},
    ),
    # transformers before 5, where it looks for integrations that report.
    "WANDB_DISABLED": Variable(key="environment.wandb_disabled", words=frozenset({"1", "on", "yes", "true"})),
    # timm/layers/config.py: 2 takes it where it was only tried as well.
    "TIMM_FUSED_ATTN": Variable(
        key="environment.timm_fused_attention", words=frozenset({"1", "2"}), before=frozenset({"timm"})
    ),
    # torch/_dynamo/eval_frame.py and config.py: read when something is compiled.
    **dict.fromkeys(
        ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"),
        Variable(key="training.torch_compile", on=False, off=None, words=frozenset({"1"})),
    ),
    "TORCHINDUCTOR_MIX_ORDER_REDUCTION": Variable(key="environment.mix_order_reduction"),
    # ROCm takes the GPU for one of this architecture, which people say of a Radeon or Ryzen AI.
    "HSA_OVERRIDE_GFX_VERSION": Variable(
        key="host.short_wavefronts",
        off=None,
        words=frozenset(f"{family}.{kind}" for family in ("10.3", "11.0", "11.5", "12.0") for kind in range(4)),
    ),
    # torch/serialization.py: read at each load, and counts more than the argument.
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": Variable(
        key="environment.loads_whole_pickles", words=frozenset({"1", "y", "yes", "true"})
    ),
}

# For the page of settings.
FEEDS = {name: Feed(variable.key) for name, variable in VARIABLES.items()}


def said_by(name: str, value: str | None) -> tuple[str, SettingValue | None] | None:
    """The setting that a variable with this value makes, if any; without a value where that is not known."""
    variable = VARIABLES.get(name)
    if variable is None:
        return None
    if value is None:
        return variable.key, None
    word = value.strip().lower()
    if word in variable.undecided:
        return None
    decided = variable.on if word in variable.words else variable.off
    return None if decided is None else (variable.key, decided)
