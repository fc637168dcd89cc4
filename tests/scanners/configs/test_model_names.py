"""The class of a model from its name: what is certain, and what must not be taken for it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.formats.document import Document
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.configs.model_names import (
    _FAMILIES,
    _SIZE,
    _SUFFIX,
    architecture_beside,
    architecture_of,
    architecture_setting,
    presumed_architecture_of,
)
from tests.scanners.scanned import FIXTURES

KNOWN = {
    "LlavaForConditionalGeneration": "llava-hf/llava-1.5-7b-hf",
    "LlavaNextForConditionalGeneration": "llava-hf/llava-v1.6-mistral-7b-hf llava-hf/llama3-llava-next-8b-hf",
    "LlavaNextVideoForConditionalGeneration": "llava-hf/LLaVA-NeXT-Video-7B-hf",
    "VisionEncoderDecoderModel": "naver-clova-ix/donut-base-finetuned-cord-v2 microsoft/trocr-base-handwritten",
    "LlavaOnevisionForConditionalGeneration": "llava-hf/llava-onevision-qwen2-7b-ov-hf",
    "VideoLlavaForConditionalGeneration": "LanguageBind/Video-LLaVA-7B-hf",
    "LlavaLlamaForCausalLM": "liuhaotian/llava-v1.5-7b",
    "MllamaForConditionalGeneration": "unsloth/Llama-3.2-11B-Vision-Instruct-unsloth-bnb-4bit",
    "Qwen2ForCausalLM": "Qwen/Qwen2-7B Qwen/Qwen2.5-Coder-7B-Instruct-GPTQ-Int4 org/DeepSeek-R1-Distill-Qwen-7B",
    "Qwen2VLForConditionalGeneration": "Qwen/Qwen2-VL-7B-Instruct",
    "Qwen2_5_VLForConditionalGeneration": "Qwen/Qwen2.5-VL-7B-Instruct-AWQ",
    "Qwen2MoeForCausalLM": "Qwen/Qwen1.5-MoE-A2.7B-Chat Qwen/Qwen2-57B-A14B-Instruct",
    "Qwen3ForCausalLM": "Qwen/Qwen3-0.6B-Base Qwen/Qwen3-4B-Instruct-2507",
    "Qwen3MoeForCausalLM": "Qwen/Qwen3-30B-A3B-Thinking-2507",
    "LlamaForCausalLM": "meta-llama/Llama-3.1-8B NousResearch/Meta-Llama-3-8B-Instruct TheBloke/Llama-2-7B-Chat-GGUF "
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0 deepseek-ai/deepseek-coder-6.7b-instruct hf-tests/tiny-random-LlamaForCausalLM",
    "MistralForCausalLM": "mistralai/Mistral-7B-Instruct-v0.3 HuggingFaceH4/zephyr-7b-beta",
    "MixtralForCausalLM": "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "Gemma3ForConditionalGeneration": "google/gemma-3-4b-it",
    "BioGptForCausalLM": "microsoft/biogpt microsoft/BioGPT-Large",
    "XGLMForCausalLM": "facebook/xglm-564M",
    "Gemma3ForCausalLM": "google/gemma-3-1b-pt",
    "FalconH1ForCausalLM": "tiiuae/Falcon-H1-1.5B-Deep-Instruct tiiuae/Falcon-H1-7B-Base",
    "BambaForCausalLM": "ibm-fms/Bamba-9B ibm-ai-platform/Bamba-9B-v2",
    "Lfm2ForCausalLM": "LiquidAI/LFM2-1.2B LiquidAI/LFM2.5-1.2B-Instruct",
    "Lfm2MoeForCausalLM": "LiquidAI/LFM2-8B-A1B",
    "JetMoeForCausalLM": "jetmoe/jetmoe-8b jetmoe/jetmoe-8b-chat",
    "Ernie4_5_MoeForCausalLM": "baidu/ERNIE-4.5-21B-A3B-PT",
    "HunYuanDenseV1ForCausalLM": "tencent/Hunyuan-4B-Pretrain tencent/Hunyuan-7B-Instruct",
    "HunYuanMoEV1ForCausalLM": "tencent/Hunyuan-A13B-Instruct",
    "NemotronForCausalLM": "nvidia/Minitron-8B-Base",
    "NemotronHForCausalLM": "nvidia/Nemotron-H-8B-Base-8K",
    "GraniteSpeechForConditionalGeneration": "ibm-granite/granite-speech-3.3-8b",
    "Zamba2ForCausalLM": "Zyphra/Zamba2-1.2B-instruct",
    "Mamba2ForCausalLM": "mistralai/Mamba-Codestral-7B-v0.1",
    "Gemma2ForCausalLM": "google/gemma-2-9b-it",
    "Phi3ForCausalLM": "microsoft/Phi-3-mini-4k-instruct microsoft/phi-4",
    "PhimoeForCausalLM": "microsoft/Phi-3.5-MoE-instruct",
    "PhiForCausalLM": "microsoft/phi-2 microsoft/phi-1_5",
    "GlmForCausalLM": "THUDM/glm-4-9b-chat-hf",
    "ChatGLMForConditionalGeneration": "THUDM/glm-4-9b-chat THUDM/chatglm3-6b",
    "DeepseekV3ForCausalLM": "deepseek-ai/DeepSeek-V3-0324",
    "DeepseekV2ForCausalLM": "deepseek-ai/DeepSeek-V2-Lite-Chat",
    "GPT2LMHeadModel": "gpt2 openai-community/gpt2-xl",
    "T5ForConditionalGeneration": "t5-small google/flan-t5-large",
    "BertForMaskedLM": "bert-base-uncased",
    "RobertaForMaskedLM": "FacebookAI/roberta-large",
    "ViTForImageClassification": "google/vit-base-patch16-224-in21k facebook/deit-small-patch16-224",
    "SwinForImageClassification": "microsoft/swin-base-patch4-window7-224-in22k",
    "Swinv2ForImageClassification": "microsoft/swinv2-large-patch4-window12to16-192to256-22kto1k-ft",
    "BeitForImageClassification": "microsoft/beit-base-patch16-224-pt22k-ft22k",
    "ASTForAudioClassification": "MIT/ast-finetuned-audioset-10-10-0.4593",
    "Dinov2Model": "facebook/dinov2-base",
    "WhisperForConditionalGeneration": "openai/whisper-large-v3-turbo openai/whisper-tiny.en",
    "BloomForCausalLM": "bigscience/bloomz-7b1 bigscience/bloom-560m",
    "OPTForCausalLM": "facebook/opt-350m",
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_name_that_settles_the_class(name: str) -> None:
    for model in KNOWN[name].split():
        assert architecture_of(model) == (name,), model


@pytest.mark.parametrize(
    "name",
    [
        # siblings, and what others built on a family
        *("Qwen/Qwen2-VL", "Qwen/Qwen2.5-Omni-7B", "Qwen/Qwen2.5-Math-RM-72B", "org/Llama-3.1-8B-Omni"),
        *("nvidia/Llama-3_1-Nemotron-51B-Instruct", "microsoft/Phi-3-small-8k-instruct", "01-ai/Yi-VL-6B"),
        *("org/VideoLLaMA2-7B", "THUDM/glm-4v-9b", "deepseek-ai/deepseek-vl-7b-chat"),
        # names that say less
        *("my-llama", "llava-7b", "org/mistral", "Qwen/Qwen2-7B-reward", "Qwen/Qwen2-7B-my-finetune", ""),
        # paths, templates
        *("./Qwen2-7B", "../Qwen2-7B", "/models/Llama-2-7b-hf", "models/Qwen2-7B", "~/Qwen2-7B", "a/b/Qwen2-7B"),
        *("C:\\models\\Qwen2-7B", "${org}/Qwen2-7B", "{{ org }}/Qwen2-7B", "Qwen/", "/Qwen2-7B", "Qwen/Qwen2-7B\n"),
        "Qwen/Qwen2-7B" + "-instruct" * 100_000,
    ],
)
def test_a_name_that_does_not(name: str) -> None:
    assert architecture_of(name) is None


def _beside(folder: Path, name: str = ".") -> tuple[str, ...] | None:
    return architecture_beside(Document("train.py", "", folder / "train.py"), name)


def test_the_config_in_the_folder() -> None:
    assert _beside(FIXTURES / "models" / "llava") == ("LlavaForConditionalGeneration",)
    assert _beside(FIXTURES / "models") is None
    assert _beside(FIXTURES, "a\0b") is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"architectures": []}', '{"architectures": [1]}', '{"architectures": "A"}']
)
def test_a_config_that_names_no_class(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert _beside(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/models/Qwen3-8B", "Qwen3ForCausalLM"),
        ("./Qwen2-7B", "Qwen2ForCausalLM"),
        ("../ckpts/Llama-3.1-8B-Instruct/", "LlamaForCausalLM"),
        ("models/Qwen2-7B", "Qwen2ForCausalLM"),
        ("C:\\models\\Qwen2-7B", "Qwen2ForCausalLM"),
        ("s3://bucket/models/Mixtral-8x7B-v0.1", "MixtralForCausalLM"),
        ("/data/Qwen2-VL-7B-Instruct", "Qwen2VLForConditionalGeneration"),
        ("/models/Qwen3-8B/checkpoint-500", "Qwen3ForCausalLM"),
        (f"~/.cache/hub/models--Qwen--Qwen3-8B/snapshots/{'a' * 40}", "Qwen3ForCausalLM"),
        ("someone/Qwen3-8B-my-sft", "Qwen3ForCausalLM"),
        ("meta-llama/Llama-3.1-8B", "LlamaForCausalLM"),
        ("PekingU/rtdetr_r50vd_coco_o365", "RTDetrForObjectDetection"),
        ("PekingU/rtdetr_v2_r18vd", "RTDetrV2ForObjectDetection"),
        ("ustc-community/dfine-small-coco", "DFineForObjectDetection"),
        ("ustc-community/dfine_x_obj2coco", "DFineForObjectDetection"),
        ("out/llama-2-7b-chat_alpaca_v2", "LlamaForCausalLM"),
        # another class, or one that the name does not tell
        ("/models/Qwen3-8B-reward", None),
        ("/models/Llama-3.1-8B-Omni", None),
        ("someone/Mistral-7B-v0.1-embedding", None),
        ("someone/Llama-3.1-8B-Eagle3", None),
        ("models/bert-base-uncased-sst2", None),
        ("/models/Llama-3.1-8B/sub/my-model", None),
        ("/models/my-llama", None),
        ("/models/llama", None),
        ("${MODEL_DIR}/", None),
        ("/models/Qwen2-7B-$RUN", None),
        ("", None),
        ("/", None),
        ("checkpoint-500", None),
        ("a\0b/Qwen2-7B", None),
        ("/" + "-a" * 100_000, None),
    ],
)
def test_what_a_path_suggests(name: str, expected: str | None) -> None:
    assert presumed_architecture_of(name) == (None if expected is None else (expected,))


def test_a_name_is_a_fact_and_a_path_a_presumption() -> None:
    here = Location(path="train.sh", line=3)
    fact = Setting(key="model.architecture", value=("Qwen3ForCausalLM",), location=here)

    assert architecture_setting("Qwen/Qwen3-8B", here) == fact
    assert architecture_setting("/models/Qwen3-8B", here) == replace(fact, presumed=True)
    assert architecture_setting("/models/mine", here) is None


WHOLE_TABLE = re.compile(
    "(?:" + "|".join(f"({names.replace('SIZE', _SIZE)})" for _, names in _FAMILIES) + ")" + _SUFFIX, re.ASCII
)


@given(
    st.sampled_from(_FAMILIES).flatmap(
        lambda family: st.from_regex(
            re.compile(f"(?:{family[1].replace('SIZE', _SIZE)})(?:-instruct|x)?", re.ASCII), fullmatch=True
        )
    )
)
def test_a_name_has_the_class_that_the_table_as_one_pattern_gives_it(name: str) -> None:
    match = WHOLE_TABLE.fullmatch(name)
    expected = None if match is None or match.lastindex is None else (_FAMILIES[match.lastindex - 1][0],)
    assert architecture_of(name) == expected
