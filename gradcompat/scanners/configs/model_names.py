"""The class of a model, from its name on the hub or from the ``config.json`` in its folder.

The table has families whose names settle the class, and a name has to fit as a whole: a size, and after it only words
that say nothing about the class (``-Instruct``, ``-GGUF``, ``-v0.3``). So ``Qwen2-7B-Instruct-AWQ`` is known and
``Qwen2-VL-7B`` is not taken for its sibling, and of ``my-llama`` nothing is said. The class is the one with the head
that the model is published with: a program that puts another head on it says so in its code.

A path whose folder is called so (``/models/Qwen3-8B``), and a name that goes on after such a one (``Qwen3-8B-my-sft``),
are a presumption: whoever made them chose the name.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from gradcompat.errors import SourceError
from gradcompat.formats.document import Document, read_beside
from gradcompat.formats.json_text import parse
from gradcompat.model.environment import Location, Setting
from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST_NAME = 200

# What may follow the family and the size without another class being meant.
_SUFFIX = (
    r"(?:[-_.](?:instruct|chat|it|pt|base|hf|python|thinking|gguf|ggml|awq|gptq|exl2|mlx|qat|bnb|unsloth|dynamic|quantized"
    r"|int[48]|fp8|fp16|bf16|[48]bit|w[48]a(?:8|16)|g?128g|nf4|v\d(?:\.\d)?|\d{1,4}k|1m|2[3-6](?:0[1-9]|1[0-2])"
    r"|q\d_(?:0|k_[ms])|abliterated))*"
)
_SIZE = r"\d+(?:\.\d+)?[bm]"

# The class, and the names it is published under: from the special to the general, the first that fits counts.
_FAMILIES = (
    # Pictures, video and sound before the language models that they are built on.
    (
        "LlavaForConditionalGeneration",
        r"llava-1\.5-SIZE-hf|bakllava-v1-hf|llava-interleave-qwen-SIZE(?:-dpo)?-hf|pixtral-12b"
        r"|llava-llama-3-8b-v1_1-transformers",
    ),
    (
        "LlavaNextForConditionalGeneration",
        r"llava-v1\.6-(?:(?:mistral|vicuna)-)?SIZE-hf|llama3-llava-next-8b-hf|llava-next-(?:72|110)b-hf",
    ),
    ("LlavaNextVideoForConditionalGeneration", r"llava-next-video-SIZE(?:-32k|-dpo)?-hf"),
    ("LlavaOnevisionForConditionalGeneration", r"llava-onevision-qwen2-SIZE(?:-ov|-si)(?:-chat)?-hf"),
    ("VideoLlavaForConditionalGeneration", r"video-llava-7b-hf"),
    ("VipLlavaForConditionalGeneration", r"vip-llava-SIZE-hf"),
    ("LlavaMistralForCausalLM", r"llava-v1\.6-mistral-7b"),
    ("LlavaLlamaForCausalLM", r"llava-v1\.5-SIZE|llava-v1\.6-(?:vicuna-)?SIZE"),
    ("LlavaQwenForCausalLM", r"llava-onevision-qwen2-SIZE-(?:ov|si)"),
    ("MllamaForConditionalGeneration", r"llama-3\.2-(?:11|90)b-vision"),
    ("Llama4ForConditionalGeneration", r"llama-4-(?:scout-17b-16e|maverick-17b-128e)"),
    ("Qwen2VLForConditionalGeneration", r"qwen2-vl-SIZE|qvq-72b-preview"),
    ("Qwen2_5_VLForConditionalGeneration", r"qwen2\.5-vl-SIZE"),
    ("Qwen2AudioForConditionalGeneration", r"qwen2-audio-7b"),
    ("Qwen3VLMoeForConditionalGeneration", r"qwen3-vl-(?:30b-a3b|235b-a22b)"),
    ("Qwen3VLForConditionalGeneration", r"qwen3-vl-SIZE"),
    ("Qwen3OmniMoeForConditionalGeneration", r"qwen3-omni-30b-a3b"),
    ("InternVLForConditionalGeneration", r"internvl3(?:[._]5)?-SIZE-hf"),
    ("InternVLChatModel", r"(?:mini-)?internvl(?:-chat-v1-5|2|2[._]5|3|3[._]5)-SIZE"),
    ("PaliGemmaForConditionalGeneration", r"paligemma2?-SIZE(?:-(?:ft|mix|pt)(?:-[a-z0-9]+)*-(?:224|448|896))?"),
    ("Gemma3ForConditionalGeneration", r"gemma-3-(?:4|12|27)b|medgemma-4b"),
    ("Gemma3nForConditionalGeneration", r"gemma-3n-e[24]b"),
    # The larger ones share no keys and values: no record of the class is about all of them.
    ("Gemma4ForConditionalGeneration", r"gemma-4-e[24]b"),
    ("Mistral3ForConditionalGeneration", r"mistral-small-3\.[12]-24b"),
    ("VoxtralForConditionalGeneration", r"voxtral-(?:mini-3b|small-24b)"),
    ("IdeficsForVisionText2Text", r"idefics-(?:9|80)b"),
    ("Idefics2ForConditionalGeneration", r"idefics2-8b(?:-chatty)?"),
    ("Idefics3ForConditionalGeneration", r"idefics3-8b-llama3|smolvlm(?:-(?:256|500)m)?-(?:base|instruct)"),
    ("SmolVLMForConditionalGeneration", r"smolvlm2-(?:256m-video|500m-video|2\.2b)"),
    ("Glm4vForConditionalGeneration", r"glm-4\.1v-9b"),
    ("Glm4vMoeForConditionalGeneration", r"glm-4\.[56]v"),
    ("AyaVisionForConditionalGeneration", r"aya-vision-SIZE"),
    ("Blip2ForConditionalGeneration", r"blip2-(?:opt-SIZE|flan-t5-xx?l)(?:-coco)?"),
    ("InstructBlipForConditionalGeneration", r"instructblip-(?:vicuna-SIZE|flan-t5-xx?l)"),
    ("Phi3VForCausalLM", r"phi-3(?:\.5)?-vision(?:-128k)?"),
    ("Phi4MMForCausalLM", r"phi-4-multimodal"),
    ("FuyuForCausalLM", r"fuyu-8b"),
    ("GitForCausalLM", r"git-(?:base|large)(?:-(?:coco|textcaps|vqav2|textvqa|vatex|msrvtt-qa|r(?:-coco)?))?"),
    (
        "VisionEncoderDecoderModel",
        r"donut-base(?:-finetuned-(?:cord-v[12]\w*|docvqa|rvlcdip|zhtrainticket))?|nougat-(?:small|base)"
        r"|trocr-(?:small|base|large)-(?:stage1|handwritten|printed|str)|vit-gpt2-image-captioning",
    ),
    ("Qwen3_5MoeForConditionalGeneration", r"qwen3\.5-SIZE-a\d+b"),
    ("Qwen3_5ForConditionalGeneration", r"qwen3\.5-SIZE"),
    ("MoonshineForConditionalGeneration", r"moonshine-(?:tiny|base)"),
    ("GraniteSpeechForConditionalGeneration", r"granite-speech-3\.[23]-[28]b"),
    ("AudioFlamingo3ForConditionalGeneration", r"audio-flamingo-3-hf"),
    ("RWKV7ForCausalLM", r"rwkv7-SIZE-(?:world|g1)"),
    (
        "WhisperForConditionalGeneration",
        r"whisper-(?:(?:tiny|base|small|medium)(?:\.en)?|large(?:-v[23](?:-turbo)?)?)"
        r"|distil-(?:large-v[23](?:\.5)?|(?:small|medium)\.en)",
    ),
    # Mixtures of experts before the dense models of the same family.
    (
        "MixtralForCausalLM",
        r"mixtral-8x(?:7|22)b|nous-hermes-2-mixtral-8x7b-(?:dpo|sft)|dolphin-[\d.]+-mixtral-8x(?:7|22)b",
    ),
    ("Qwen2MoeForCausalLM", r"qwen1\.5-moe-a2\.7b|qwen2-57b-a14b"),
    ("Qwen3MoeForCausalLM", r"qwen3-(?:30b-a3b|235b-a22b)|qwen3-coder-(?:30b-a3b|480b-a35b)"),
    ("Qwen3NextForCausalLM", r"qwen3-next-80b-a3b"),
    ("DeepseekForCausalLM", r"deepseek-moe-16b"),
    ("DeepseekV2ForCausalLM", r"deepseek-v2(?:\.5|-lite)?|deepseek-coder-v2(?:-lite)?"),
    ("DeepseekV3ForCausalLM", r"deepseek-(?:v3(?:\.1)?|r1(?:-zero)?)(?:-0324|-0528|-terminus)?"),
    ("Glm4MoeForCausalLM", r"glm-4\.5(?:-air)?|glm-4\.6"),
    ("DogeForCausalLM", r"doge-SIZE(?:-moe)?"),
    (
        "SwitchTransformersForConditionalGeneration",
        r"switch-(?:base-(?:8|16|32|64|128|256)|large-128|xxl-128|c-2048)",
    ),
    ("OlmoeForCausalLM", r"olmoe-1b-7b(?:-0924|-0125)?(?:-sft|-dpo)?"),
    ("GptOssForCausalLM", r"gpt-oss-(?:20|120)b"),
    ("GraniteMoeForCausalLM", r"granite-3\.[01]-(?:1b-a400m|3b-a800m)"),
    ("DbrxForCausalLM", r"dbrx"),
    ("JetMoeForCausalLM", r"jetmoe-8b(?:-sft)?"),
    ("Ernie4_5_MoeForCausalLM", r"ernie-4\.5-(?:21b-a3b|300b-a47b)"),
    ("MiniMaxForCausalLM", r"minimax-text-01-hf"),
    ("FlexOlmoForCausalLM", r"flexolmo-7x7b-1t"),
    ("HunYuanMoEV1ForCausalLM", r"hunyuan-a13b"),
    ("JambaForCausalLM", r"jamba-v0\.1|jamba-tiny-(?:dev|random)|ai21-jamba-1\.5-(?:mini|large)"),
    # Language models.
    ("Qwen2ForCausalLM", r"qwen1\.5-SIZE|qwen2(?:\.5)?(?:-math|-coder)?-SIZE|codeqwen1\.5-7b|qwq-32b(?:-preview)?"),
    ("Qwen2ForCausalLM", r"deepseek-r1-distill-qwen-SIZE"),
    ("Qwen3ForCausalLM", r"qwen3-SIZE|deepseek-r1-0528-qwen3-8b"),
    ("QWenLMHeadModel", r"qwen-(?:1[._]8|7|14|72)b|qwen-vl"),
    (
        "LlamaForCausalLM",
        r"(?:meta-)?llama-(?:[23]-|3\.[123]-)SIZE|llama-SIZE|codellama-SIZE|llama-guard-3-[18]b|open_llama_\d+b"
        r"|deepseek-r1-distill-llama-SIZE|llama-3\.1-nemotron-70b|(?:nous-)?hermes-[23]-llama-[23](?:\.1)?-SIZE"
        r"|hermes-3-llama-3\.[12]-SIZE|tinyllama-1\.1b(?:-intermediate-step-\w+-\w+)?(?:-chat-v1\.0)?|tinyllama_v1\.1"
        r"|deepseek-(?:llm|coder|math)-SIZE(?:-rl)?|vicuna-SIZE|smollm2?-SIZE|yi-(?:1\.5-|coder-)?SIZE(?:-200k)?"
        r"|solar-10\.7b|falcon3-SIZE|sheared-llama-SIZE|(?:llama-3\.1-)?tulu-3-(?:8|70|405)b(?:-sft|-dpo)?",
    ),
    (
        "MistralForCausalLM",
        r"mistral-7b|mistral-nemo(?:-base|-instruct)|mistral-small-24b|mistral-large|ministral-8b|mathstral-7b"
        r"|codestral-22b|devstral-small|zephyr-7b-(?:alpha|beta|sft-full|sft-qlora)|openhermes-2(?:\.5)?-mistral-7b"
        r"|biomistral-7b",
    ),
    ("Gemma3ForCausalLM", r"gemma-3-(?:270m|1b)"),
    ("Gemma2ForCausalLM", r"gemma-2-(?:2|9|27)b"),
    ("GemmaForCausalLM", r"(?:code)?gemma-(?:1\.1-)?[27]b"),
    ("PhimoeForCausalLM", r"phi-3\.5-moe"),
    (
        "Phi3ForCausalLM",
        r"phi-3-(?:mini|medium)-(?:4|128)k|phi-3\.5-mini|phi-4(?:-mini)?(?:-reasoning)?(?:-plus)?",
    ),
    ("PhiForCausalLM", r"phi-(?:1|1_5|2)"),
    ("GlmForCausalLM", r"glm-4-9b(?:-chat)?(?:-1m)?-hf|glm-edge-SIZE(?:-chat)?"),
    ("Glm4ForCausalLM", r"glm-(?:4|z1)-(?:9b|32b)(?:-base)?-0414"),
    ("ChatGLMForConditionalGeneration", r"chatglm[23]?-6b|glm-4-9b"),
    ("InternLM2ForCausalLM", r"internlm2(?:_5)?-(?:chat-)?(?:math-)?(?:base-)?SIZE(?:-sft)?"),
    ("InternLM3ForCausalLM", r"internlm3-8b"),
    ("BaichuanForCausalLM", r"baichuan2-SIZE"),
    ("SmolLM3ForCausalLM", r"smollm3-3b"),
    ("HunYuanDenseV1ForCausalLM", r"hunyuan-(?:0\.5|1\.8|4|7)b(?:-pretrain)?"),
    ("Exaone4ForCausalLM", r"exaone-4\.0-(?:1\.2|32)b"),
    ("NemotronForCausalLM", r"minitron-[48]b"),
    ("NemotronHForCausalLM", r"nemotron-h-(?:4|8|47|56)b"),
    ("ZayaForCausalLM", r"zaya1-(?:8b|74b-preview|(?:reasoning-)?base)"),
    ("Olmo3ForCausalLM", r"olmo-3-(?:1025-)?(?:7|32)b(?:-think)?(?:-sft|-dpo)?"),
    ("Olmo2ForCausalLM", r"olmo-2-(?:0425-1b|1124-7b|1124-13b|0325-32b)(?:-sft|-dpo)?"),
    ("OlmoForCausalLM", r"olmo-SIZE-(?:0724-)?hf"),
    ("GraniteForCausalLM", r"granite-3\.[0123]-[28]b"),
    ("GraniteMoeHybridForCausalLM", r"granite-4\.0-(?:h-)?(?:tiny-preview|tiny|small|micro)"),
    ("Cohere2ForCausalLM", r"c4ai-command-(?:r7b-12-2024|a-03-2025)"),
    ("CohereForCausalLM", r"c4ai-command-r(?:-plus)?(?:-v01|-08-2024)?|aya-23-SIZE|aya-expanse-SIZE"),
    ("GPTNeoXForCausalLM", r"gpt-neox-20b|pythia-SIZE(?:-deduped)?|dolly-v2-SIZE|stablelm-(?:base|tuned)-alpha-SIZE"),
    ("StableLmForCausalLM", r"stablelm-2-(?:zephyr-)?1_6b|stablelm-2-12b|stablelm-3b-4e1t|stablelm-zephyr-3b"),
    ("GPTNeoForCausalLM", r"gpt-neo-SIZE"),
    ("GPTJForCausalLM", r"gpt-j-6b"),
    ("GPT2LMHeadModel", r"(?:distil)?gpt2(?:-medium|-large|-xl)?|dialogpt-(?:small|medium|large)|cerebras-gpt-SIZE"),
    ("OPTForCausalLM", r"opt-SIZE"),
    ("BloomForCausalLM", r"bloom|bloomz?-(?:SIZE|\d+b\d)|bloomz"),
    ("FalconH1ForCausalLM", r"falcon-h1-SIZE(?:-deep)?"),
    ("BambaForCausalLM", r"bamba-9b"),
    ("Lfm2ForCausalLM", r"lfm2-(?:350m|700m|1\.2b|2\.6b)|lfm2\.5-(?:230m|350m|1\.2b|2\.6b)"),
    ("Lfm2MoeForCausalLM", r"lfm2-(?:8b-a1b|24b-a2b)"),
    ("Zamba2ForCausalLM", r"zamba2-SIZE"),
    ("Mamba2ForCausalLM", r"mamba-codestral-7b"),
    ("FalconForCausalLM", r"falcon-(?:7|11|40|180)b|falcon-rw-[17]b"),
    ("FalconMambaForCausalLM", r"falcon-mamba-7b"),
    ("MambaForCausalLM", r"mamba-SIZE-hf"),
    ("Starcoder2ForCausalLM", r"starcoder2-(?:3|7|15)b"),
    ("GPTBigCodeForCausalLM", r"starcoder(?:base(?:-[137]b)?|plus)?"),
    ("CodeGenForCausalLM", r"codegen-SIZE-(?:mono|multi|nl)"),
    ("BTLMLMHeadModel", r"btlm-3b-8k"),
    ("BioGptForCausalLM", r"biogpt(?:-large)?"),
    ("XGLMForCausalLM", r"xglm-(?:564m|1\.7b|2\.9b|4\.5b|7\.5b)"),
    # Encoder and decoder.
    (
        "T5ForConditionalGeneration",
        r"(?:flan-|by)?t5-(?:v1_1-)?(?:small|base|large|3b|11b|xx?l)|(?:flan-)?ul2|t5-(?:small|base|large|xx?l)-lm-adapt",
    ),
    ("MT5ForConditionalGeneration", r"mt5-(?:small|base|large|xx?l)|mt0-(?:small|base|large|xx?l)"),
    ("UMT5ForConditionalGeneration", r"umt5-(?:small|base|xx?l)"),
    ("BartForConditionalGeneration", r"bart-(?:base|large)(?:-cnn|-xsum)?"),
    ("MBartForConditionalGeneration", r"mbart-large-(?:cc25|50)(?:-(?:one|many)-to-(?:one|many|en)-mmt)?"),
    ("PegasusForConditionalGeneration", r"pegasus-(?:large|xsum|cnn_dailymail)"),
    ("M2M100ForConditionalGeneration", r"m2m100_(?:418m|1\.2b)|nllb-200-(?:distilled-)?(?:600m|1\.3b|3\.3b)"),
    ("MarianMTModel", r"opus-mt-[a-z]{2,3}-[a-z]{2,3}"),
    # Encoders.
    ("RTDetrV2ForObjectDetection", r"rtdetr_v2_r(?:18|34|50|101)vd"),
    ("RTDetrForObjectDetection", r"rtdetr_r(?:18|34|50|101)vd(?:_coco_o365)?"),
    (
        "DFineForObjectDetection",
        r"dfine[-_](?:nano|small|medium|x?large|[nsmlx])[-_](?:coco|obj365|obj2coco(?:[-_]e25)?)",
    ),
    (
        "ViTForImageClassification",
        r"vit-(?:base|large|huge)-patch(?:14|16|32)-(?:224|384)(?:-in21k)?|deit-(?:tiny|small|base)-patch16-(?:224|384)",
    ),
    ("SwinForImageClassification", r"swin-(?:tiny|small|base|large)-patch4-window(?:7|12)-(?:224|384)(?:-in22k)?"),
    (
        "Swinv2ForImageClassification",
        r"swinv2-(?:tiny|small|base|large)-patch4-window(?:8|12|16|12to(?:16|24))-(?:192|256|192to(?:256|384))"
        r"(?:-22k(?:to1k-ft)?)?",
    ),
    ("BeitForImageClassification", r"beit-(?:base|large)-patch16-(?:224|384|512)(?:-pt22k-ft22k)?"),
    ("ASTForAudioClassification", r"ast-finetuned-(?:audioset-\d+-\d+-0\.\d+|speech-commands)"),
    (
        "BertForMaskedLM",
        r"bert-(?:base|large)-(?:un)?cased(?:-whole-word-masking)?|bert-base-(?:multilingual-(?:un)?cased|chinese)",
    ),
    ("DistilBertForMaskedLM", r"distilbert-base-(?:(?:un|multilingual-)?cased)"),
    ("RobertaForMaskedLM", r"(?:distil)?roberta-base|roberta-large"),
    ("XLMRobertaForMaskedLM", r"xlm-roberta-(?:base|large)"),
    ("MPNetForMaskedLM", r"mpnet-base"),
    ("AlbertForMaskedLM", r"albert-(?:base|large|xlarge|xxlarge)-v[12]"),
    ("ModernBertForMaskedLM", r"modernbert-(?:base|large)"),
    ("DebertaV2ForMaskedLM", r"m?deberta-v3-(?:xsmall|small|base|large)|deberta-v2-xx?large"),
    # Those whose class is that of the body; the last are those of sentence-transformers.
    ("Dinov2WithRegistersModel", r"dinov2-with-registers-(?:small|base|large|giant)"),
    ("Dinov2Model", r"dinov2-(?:small|base|large|giant)"),
    ("LiltModel", r"lilt-(?:roberta-en|infoxlm|xlm-roberta)-base|lilt-only-base"),
    (
        "BertModel",
        r"(?:all|multi-qa|paraphrase|msmarco)-minilm-l-?(?:3|6|12)-(?:(?:cos|dot)-)?v\d"
        r"|paraphrase-multilingual-minilm-l12-v2|bge-(?:small|base|large)-(?:en|zh)(?:-v1\.5)?|e5-(?:small|base|large)(?:-v2)?"
        r"|gte-(?:small|base|large)|multilingual-e5-small|mxbai-embed-large-v1",
    ),
    ("MPNetModel", r"(?:all|multi-qa|paraphrase)-mpnet-base-(?:(?:cos|dot)-)?v\d"),
    ("XLMRobertaModel", r"bge-m3|multilingual-e5-(?:base|large)(?:-instruct)?|paraphrase-multilingual-mpnet-base-v2"),
    ("BertForSequenceClassification", r"ms-marco-(?:minilm-l-?(?:2|4|6|12)|tinybert-l-?2)-v2"),
)

# The small random models of test suites have the class for a name: `tiny-random-LlamaForCausalLM`.
_TINY = lazy_pattern(
    r"tiny-(?:random-)?([A-Z][A-Za-z0-9_]{1,60}(?:ForCausalLM|ForConditionalGeneration|ForSequenceClassification"
    r"|LMHeadModel))(?:-[\w.]+)*"
)

# Of a line of the table: a group, and what an alternative begins with whatever follows.
_GROUP = lazy_pattern(r"\([^()]*\)")
_BEGINNING = lazy_pattern(r"(?:[a-z0-9-](?![?*+{]))*")

_OWNER = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

# `models/Qwen2-7B` is a folder, though it looks like a name on the hub.
_FOLDERS = frozenset(
    {
        *("checkpoint", "checkpoints", "ckpt", "ckpts", "data", "hf_models", "llm", "local", "log", "logs", "model"),
        *("models", "out", "output", "outputs", "pretrained", "pretrained_models", "results", "runs", "save", "saved"),
        *("saved_models", "saves", "weights", "work_dirs"),
    }
)

_LONGEST_PATH = 1000
# What AutoModelForCausalLM makes of a model that is published with an eye: the language model alone. The other ones it
# gives as they are.
_WITHOUT_EYE = {
    f"{family}ForConditionalGeneration": f"{family}ForCausalLM"
    for family in ("Qwen3_5", "Qwen3_5Moe", "Mllama", "Llama4", "Emu3")
}
# Heads that a program puts on a model that is published with another.
_HEADS = frozenset(
    {"SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice", "ImageClassification"}
)
# What trainers and the hub's cache put below the folder that has the name.
_PART_OF_MODEL = lazy_pattern(
    r"(?:checkpoint|global_step|step|epoch)[-_]?\d+|snapshots|[0-9a-f]{40}|main|final|latest|last|best|hf|original",
    re.IGNORECASE,
)
_VARIABLE = lazy_pattern(r"[${}<>%*]")
# What a class is called before its head; of those with `LMHead` in their names nothing is said.
_BODY = lazy_pattern(r"(\w+?)(?:ForCausalLM|ForMaskedLM|(?<!LMHead)(?<!MT)(?<!Chat)Model)")
# The task of what takes a model without its head, as an embedding does.
BODY = "FeatureExtraction"
# Words behind a family that make it another class.
_OTHER_CLASS = lazy_pattern(
    r"(?:^|[-_.])(?:vl|vlm|vision|visual|image|video|audio|speech|asr|tts|omni|llava|mm|multimodal|moe|embed(?:ding|der)?s?"
    r"|retriever|rerank(?:er)?|reward|prm|orm|rm|critic|value|classif\w*|cls|regression|score|guard|eagle\d?|medusa|mtp"
    r"|mamba|linear|bitnet|upscaled|merge[dr]?|frankenmoe|\d+x\d+b|nemotron|minitron|distill\w*)(?=$|[-_.\d])",
    re.IGNORECASE,
)


def architecture_of(name: str) -> tuple[str, ...] | None:
    """The class of a model that is called by its name on the hub; None if the name does not settle it, or is a path."""
    owner, slash, model = name.rpartition("/")
    if len(name) > _LONGEST_NAME or owner.lower() in _FOLDERS or (slash and not _OWNER.fullmatch(owner)):
        return None
    tiny = _TINY.fullmatch(model)
    if tiny is not None:
        return (tiny[1],)
    family = _family_of(model.lower())
    return None if family is None else (family,)


def architecture_beside(document: Document, folder: str) -> tuple[str, ...] | None:
    """The ``architectures`` of the ``config.json`` in a model's folder; None if there is none that says so.

    Args:
        document: the file that names the folder, in whose root it has to lie.
        folder: relative to that file.
    """
    try:
        config = read_beside(document, f"{folder}/config.json")
        content = parse(config.text, config.path)
    except (SourceError, ValueError):  # a name with a NUL in it is not a path
        return None
    named = content.get("architectures") if isinstance(content, dict) else None
    if not isinstance(named, list) or not named or not all(isinstance(one, str) and one for one in named):
        return None
    return tuple(named)


def architecture_setting(name: str, location: Location) -> Setting | None:
    """``model.architecture`` of a model that is named, as a fact or a presumption; None if the name says nothing."""
    settled = architecture_of(name)
    classes = settled or presumed_architecture_of(name)
    if classes is None:
        return None
    return Setting(key="model.architecture", value=classes, location=location, presumed=settled is None)


def model_settings(
    name: str,
    location: Location,
    *,
    task: str | None = None,
    document: Document | None = None,
    spelling: str | None = None,
) -> list[Setting]:
    """``model.name`` and ``model.architecture`` of a model that a program loads; without a value where unknown.

    Args:
        name: its name on the hub, or a path.
        location: where that stands.
        task: for which it is loaded, "" or None where that is not said.
        document: the file that names it, beside which a relative path may lie.
        spelling: the line with ``{}`` in the place of the name.
    """
    known = name.isprintable() and 0 < len(name) <= _LONGEST_PATH
    stated = Setting(key="model.name", value=name if known else None, location=location, spelling=spelling)
    classes = architecture_of(name) if known else None
    if classes is None and known and document is not None and not Path(name).is_absolute():
        classes = architecture_beside(document, name)
    presumed = presumed_architecture_of(name) if known and classes is None else None
    classes = classes or presumed
    if classes is not None and task is not None:
        classes = _headed(classes, task)
    architecture = Setting(
        key="model.architecture", value=classes, location=location, presumed=bool(presumed and classes)
    )
    return [stated, architecture]


def _headed(classes: tuple[str, ...], task: str) -> tuple[str, ...] | None:
    """The classes with the head for a task: LlamaForSequenceClassification; none that is known without any."""
    if task == BODY:
        heads = ("ForCausalLM", "ForMaskedLM", "LMHeadModel", "ForImageClassification", "ForAudioClassification")
        return tuple(
            next((name.removesuffix(head) + "Model" for head in heads if name.endswith(head)), name) for name in classes
        )
    if task == "CausalLM":
        return tuple(_WITHOUT_EYE.get(name, name) for name in classes)
    if task and (task not in _HEADS or all(name.endswith(f"For{task}") for name in classes)):
        return classes
    bodies = [match[1] for name in classes if (match := _BODY.fullmatch(name))]
    return tuple(f"{body}For{task}" for body in bodies) if task and bodies else None


def presumed_architecture_of(name: str) -> tuple[str, ...] | None:
    """The class that a path or a name on the hub suggests by the name of a family in it; None if there is none.

    >>> presumed_architecture_of("/models/Qwen3-8B/checkpoint-500")
    ('Qwen3ForCausalLM',)
    """
    if len(name) > _LONGEST_PATH or not name.isprintable():
        return None
    parts = [part for part in re.split(r"[/\\]+", name) if part]
    while len(parts) > 1 and _PART_OF_MODEL.fullmatch(parts[-1]):
        parts.pop()
    if not parts or len(parts[-1]) > _LONGEST_NAME or _VARIABLE.search(parts[-1]):
        return None
    model = parts[-1].rpartition("--")[2] if parts[-1].startswith("models--") else parts[-1]
    if (classes := architecture_of(model)) is not None:
        return classes
    words = [0, *(match.start() for match in re.finditer(r"[-_.]", model))]
    for end in reversed(words):
        family = _family_of(model[:end].lower())
        if family is not None:
            # Encoders are finetuned with another head as a rule.
            return None if _OTHER_CLASS.search(model, end) or family.endswith("MaskedLM") else (family,)
    return None


class _Family(NamedTuple):
    """A line of the table: one letter or more that each of its names begins with, and the pattern of them all."""

    architecture: str
    beginnings: tuple[str, ...]
    names: re.Pattern[str]


@cache
def _families() -> tuple[_Family, ...]:
    return tuple(
        _Family(architecture, _beginnings(names), lazy_pattern(f"(?:{names}){_SUFFIX}", re.ASCII))
        for architecture, names in ((architecture, names.replace("SIZE", _SIZE)) for architecture, names in _FAMILIES)
    )


@lru_cache(maxsize=4096)
def _family_of(model: str) -> str | None:
    """The class of the first line of the table that has such a name, in lower case; of most no pattern is needed."""
    for family in _families():
        if model.startswith(family.beginnings) and family.names.fullmatch(model) is not None:
            return family.architecture
    return None


def _beginnings(names: str) -> tuple[str, ...]:
    """What the alternatives of a pattern begin with; an empty text for one that begins otherwise.

    >>> _beginnings("glm-4v|chatglm[23]?-SIZE|(?:a|b)x|m?deberta")
    ('glm-4v', 'chatglm', '', '')
    """
    outermost = names
    while (inner := _GROUP.sub(" ", outermost)) != outermost:
        outermost = inner
    return tuple(begun[0] for one in outermost.split("|") if (begun := _BEGINNING.match(one)))
