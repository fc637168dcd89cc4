"""The ``config.json`` in the folder of a model of transformers: its class, its family, how it is quantised."""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting
from gradcompat.scanners.configs.flat import Config, read_config
from gradcompat.scanners.configs.nested import stated
from gradcompat.scanners.key_mapping import Feed, Feeds

_DTYPE = Feed("model.torch_dtype")

_TIED = "tie_word_embeddings"
_TIED_BELOW = f"text_config.{_TIED}"

FEEDS: Feeds = {
    "architectures": Feed("model.architecture"),
    "model_type": Feed("model.family"),
    "torch_dtype": _DTYPE,
    "dtype": _DTYPE,
    _TIED: Feed("model.tied_embeddings"),
    _TIED_BELOW: (),
    "use_cache": Feed("model.use_cache"),
    "vocab_size": Feed("model.vocab_size"),
    "num_key_value_heads": Feed("model.multi_query", {"1": True}, given=False),
    "multi_query": Feed("model.multi_query"),
    "output_router_logits": Feed("model.output_router_logits"),
    "quantization_config.quant_method": Feed("quantization.method"),
    "quantization_config.bits": Feed("quantization.bits"),
    "quantization_config.load_in_4bit": Feed("quantization.bits", {"true": 4}, only=True),
    "quantization_config.load_in_8bit": Feed("quantization.bits", {"true": 8}, only=True),
    "quantization_config.bnb_4bit_use_double_quant": Feed("quantization.double_quant"),
}

# One of these stands beside `model_type` in every model's config; other files have the word, too.
_BESIDE = ("architectures", "transformers_version", "hidden_size", "d_model", "n_embd", "vocab_size", "text_config")


def scan(document: Document) -> Context:
    """What a model's config says of the model.

    Raises:
        Malformed: if it is none, or no JSON.
    """
    config = read_config(document, FEEDS)
    top = config.top
    is_json = document.text.lstrip("\ufeff \t\r\n").startswith("{")
    if not is_json or not isinstance(top.get("model_type"), str) or all(key not in top for key in _BESIDE):
        raise Unrecognised("is not the config.json of a model", path=document.path)
    settings, skipped = stated(config, FEEDS)
    settings += _tied_below(config)
    return Context(source=document.path, kind="hf-model", settings=tuple(settings), run=False, skipped=tuple(skipped))


def _tied_below(config: Config) -> list[Setting]:
    """Whether transformers 4 has tied the embeddings in the configuration of the language model and not at the top."""
    said = {entry.name: entry for entry in config.entries if entry.name in (_TIED, _TIED_BELOW)}
    if not said:
        return []
    written = config.top.get("transformers_version")
    # transformers 5 writes an output layer into the file wherever it has not tied it.
    of_5 = isinstance(written, str) and written.partition(".")[0].isdigit() and int(written.partition(".")[0]) >= 5
    below = config.value(_TIED_BELOW) is True and config.value(_TIED) is not True and not of_5
    decides = said.get(_TIED_BELOW) or said[_TIED]
    return [Setting(key="model.tied_in_text_config", value=below, location=decides.location)]
