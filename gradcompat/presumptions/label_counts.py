"""Whether micro-batches differ in the number of labels that count, by what is trained.

Where a sample has one label (a class, a preference, a reward), micro-batches of one size have equally many, and their
mean is that of the large batch.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradcompat.model.environment import Setting
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

LABELS_KEY = "data.unequal_labels"
# Not ORPO and CPO, which add the mean over the tokens of the chosen answer.
_ONE_A_SAMPLE = frozenset(
    {
        *("dpo", "kto", "bco", "ppo", "rloo", "grpo", "reward", "rm", "online_dpo", "xpo", "nash_md"),
        *("dppo", "gfpo", "gmpo", "grpo_with_replay_buffer", "papo"),
    }
)
_MASKING = ("training.assistant_only_loss", "training.completion_only_loss")
# CTC divides each sample by its own length; what reconstructs pictures has equally many pixels, what compares pairs is
# trained by one comparison a sample, and series have as many steps. What finds objects has a sum of several losses, of
# which boxes are counted in some alone, and what segments pictures has equally many pixels.
_ONE_LABEL = (
    *("ForSequenceClassification", "ForImageClassification", "ForVideoClassification", "ForAudioClassification"),
    *("ForMultipleChoice", "ForQuestionAnswering", "ForNextSentencePrediction", "ForXVector"),
    *("ForCTC", "MAEForPreTraining", "ForMaskedImageModeling"),
    *("CLIPModel", "SiglipModel", "Siglip2Model", "ClapModel", "VisionTextDualEncoderModel"),
    *("ForObjectDetection", "ForSemanticSegmentation", "ForDepthEstimation"),
    *("ForInstanceSegmentation", "ForUniversalSegmentation", "ForImageSegmentation"),
    *("ForPrediction", "ForRegression", "ForTimeSeriesClassification"),
)
# The classes with a head that a program names: `AutoModelForCausalLM`, `PatchTSTForPrediction`, `CLIPModel`.
_HEAD = lazy_pattern(
    r"transformers\.(?!DataCollator)\w*(?:For[A-Z]\w+|(?:LMHead|Decoder|CLIP|Siglip2?|Clap|Dual\w+)Model)"
)


def equal_labels(settings: Iterable[Setting]) -> Setting | None:
    """That micro-batches have equally many labels, as a presumption; None where nothing says so, or a file does.

    Args:
        settings: everything that is stated of the run.
    """
    stated = tuple(settings)
    if any(setting.key == LABELS_KEY for setting in stated):
        return None
    for key, is_one in (("training.method", _by_method), ("model.architecture", _by_class)):
        said = [setting for setting in stated if setting.key == key]
        if said and all(is_one(setting.value) for setting in said):
            return _presumed(said[0])
    packed = [setting for setting in stated if setting.key == "training.packing"]
    by_trl = {setting.value for setting in stated if setting.key == "training.framework"} == {"trl"}
    if by_trl and packed and all(setting.value is True for setting in packed) and not any(map(_masks, stated)):
        return _presumed(packed[0])  # sequences of one length, of which every token counts; others mask prompts
    # A loss that weighs something against a reference is one of preferences, where nothing says of which kind.
    weighed = [setting for setting in stated if setting.key == "training.beta"]
    if weighed and all(setting.key != "training.method" for setting in stated):
        return _presumed(weighed[0])
    heads = [
        (name, replace(setting, location=setting.place(index)))
        for setting in stated
        if setting.key == "code.symbols" and isinstance(setting.value, tuple)
        for index, name in enumerate(setting.value)
        if isinstance(name, str) and _HEAD.fullmatch(name)
    ]
    return _presumed(heads[0][1]) if heads and all(name.endswith(_ONE_LABEL) for name, _ in heads) else None


def _masks(setting: Setting) -> bool:
    """Does it leave tokens out of the loss?"""
    return setting.key in _MASKING and setting.value is not False


def _by_method(value: object) -> bool:
    return value in _ONE_A_SAMPLE


def _by_class(value: object) -> bool:
    names = value if isinstance(value, tuple) else (value,)
    return bool(names) and all(isinstance(name, str) and name.endswith(_ONE_LABEL) for name in names)


def _presumed(because: Setting) -> Setting:
    return replace(because, key=LABELS_KEY, value=False, spelling=None, presumed=True, places=())
