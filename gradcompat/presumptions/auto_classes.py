"""Which classes of models an auto class of transformers can give, whatever the model is called.

From the mappings in ``models/auto/modeling_auto.py`` of transformers 4.40.0, 4.57.6 and 5.24.0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

_CAUSAL = "AutoModelForCausalLM"
# Patterns that end alike, or whole names.
_GIVEN: Mapping[str, tuple[str, ...]] = {
    _CAUSAL: (
        *("*ForCausalLM", "*LMHeadModel", "BertGenerationDecoder", "ReformerModelWithLMHead"),
        *("Gemma3ForConditionalGeneration", "Gemma3nForConditionalGeneration", "Gemma4ForConditionalGeneration"),
        *("Gemma4UnifiedForConditionalGeneration", "GotOcr2ForConditionalGeneration"),
        "MossTranscribeDiarizeForConditionalGeneration",
    ),
    "AutoModelForSequenceClassification": ("*ForSequenceClassification",),
    "AutoModelForTokenClassification": ("*ForTokenClassification",),
    "AutoModelForMultipleChoice": ("*ForMultipleChoice",),
    "AutoModelForQuestionAnswering": ("*ForQuestionAnswering", "*ForQuestionAnsweringSimple"),
    "AutoModelForMaskedLM": (
        *("*ForMaskedLM", "*WithLMHeadModel", "BartForConditionalGeneration", "MBartForConditionalGeneration"),
        "MvpForConditionalGeneration",
    ),
    "AutoModelForSeq2SeqLM": (
        *("BartForConditionalGeneration", "BigBirdPegasusForConditionalGeneration", "EncoderDecoderModel"),
        *("BlenderbotForConditionalGeneration", "BlenderbotSmallForConditionalGeneration", "MarianMTModel"),
        *("FSMTForConditionalGeneration", "GPTSanJapaneseForConditionalGeneration", "LEDForConditionalGeneration"),
        *("LongT5ForConditionalGeneration", "M2M100ForConditionalGeneration", "MBartForConditionalGeneration"),
        *("MT5ForConditionalGeneration", "MvpForConditionalGeneration", "NllbMoeForConditionalGeneration"),
        *("PLBartForConditionalGeneration", "PegasusForConditionalGeneration", "PegasusXForConditionalGeneration"),
        *("ProphetNetForConditionalGeneration", "XLMProphetNetForConditionalGeneration"),
        *("SeamlessM4TForTextToText", "SeamlessM4Tv2ForTextToText", "SwitchTransformersForConditionalGeneration"),
        *("T5ForConditionalGeneration", "T5GemmaForConditionalGeneration", "T5Gemma2ForConditionalGeneration"),
        *("UMT5ForConditionalGeneration", "AudioFlamingo3ForConditionalGeneration", "GlmAsrForConditionalGeneration"),
        *("GraniteSpeechForConditionalGeneration", "GraniteSpeechPlusForConditionalGeneration"),
        *("MossTranscribeDiarizeForConditionalGeneration", "MusicFlamingoForConditionalGeneration"),
        *("Nemotron3_5TranscribeForConditionalGeneration", "OmniASRForConditionalGeneration"),
        *("Qwen2AudioForConditionalGeneration", "Qwen3ASRForConditionalGeneration"),
        *("VibeVoiceAsrForConditionalGeneration", "VoxtralForConditionalGeneration"),
        "VoxtralRealtimeForConditionalGeneration",
    ),
}
# How the names of nearly all of them end, where they do not stand first above.
_ENDINGS = {"AutoModelForSeq2SeqLM": "*ForConditionalGeneration"}
# Families with images or sound whose classes have no head of a plain language model.
_NEVER_CAUSAL = (
    *("Qwen2VL", "Qwen2_5_VL", "Qwen3VL", "Llava", "VideoLlava", "VipLlava", "Idefics", "SmolVLM", "InternVL"),
    *("PaliGemma", "Glm4v", "Glm46V", "Ovis2", "Lfm2Vl", "DeepseekVL", "Cohere2Vision", "Qwen2Audio"),
)


def cannot_give(autos: Collection[str], classes: Sequence[str]) -> bool:
    """Does none of these auto classes give a model of these classes? One that is not in the table may give any.

    >>> cannot_give({"AutoModelForCausalLM"}, ["Qwen2VL*", "Qwen2_5_VLForConditionalGeneration"])
    True
    >>> cannot_give({"AutoModelForCausalLM"}, ["Gemma2For*"]), cannot_give({"AutoModel"}, ["Qwen2VL*"])
    (False, False)
    """
    return bool(autos) and not any(_may_give(auto, pattern) for auto in autos for pattern in classes)


def gives(autos: Collection[str], classes: Sequence[str]) -> bool:
    """Is what each of these auto classes gives, by the end of its name, one of these classes?

    >>> gives({"AutoModelForCausalLM"}, ["*ForCausalLM", "*LMHeadModel"]), gives({"AutoModelForCausalLM"}, ["Llama*"])
    (True, False)
    """
    return bool(autos) and all((_ENDINGS.get(auto) or _GIVEN.get(auto, ("",))[0]) in classes for auto in autos)


def _may_give(auto: str, pattern: str) -> bool:
    given = _GIVEN.get(auto)
    if given is None:
        return True
    if any(fnmatchcase(name, pattern) for name in given if not name.startswith("*")):
        return True
    if auto == _CAUSAL and pattern.startswith(_NEVER_CAUSAL):
        return False
    heads = [name[1:] for name in given if name.startswith("*")]
    last = pattern.rpartition("*")[2]
    return bool(heads) and (not last or any(head.endswith(last) or last.endswith(head) for head in heads))
