"""Builds model classes as small as their configs allow, and says what each makes of ``num_items_in_batch``.

``model_classes.py`` runs this in the interpreter that has the release. The first argument is a JSON list of classes to
leave out.
"""

from __future__ import annotations

import inspect
import json
import sys
from importlib import import_module
from typing import Any

MAPPINGS = {
    "CAUSAL_LM": "tokens",
    "MASKED_LM": "tokens",
    "SEQ_TO_SEQ_CAUSAL_LM": "tokens",
    "SEQUENCE_CLASSIFICATION": "sequence",
    "TOKEN_CLASSIFICATION": "tokens of 3",
    "QUESTION_ANSWERING": "span",
}
SMALL = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embedding_size", "word_embed_proj_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "num_key_value_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads", "num_decoder_layers"), 2),
    **dict.fromkeys(("intermediate_size", "d_ff", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim", "hidden_dim"), 64),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), 64),
    **dict.fromkeys(("head_dim", "d_kv"), 8),
    "vocab_size": 99,
    "moe_intermediate_size": 32,
    "num_labels": 3,
    "pad_token_id": 0,
}
MOST_PARAMETERS = 20_000_000
USES, TAKES = "model.uses_num_items_in_batch", "model.forward_takes_kwargs"


def inside(known: set[str]) -> None:
    """Print a line for each class, in the interpreter that has the release."""
    torch, transformers = map(import_module, ("torch", "transformers"))
    modeling_auto = import_module("transformers.models.auto.modeling_auto")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for mapping, task in MAPPINGS.items():
        names = getattr(modeling_auto, f"MODEL_FOR_{mapping}_MAPPING_NAMES", {})
        listed = (name for value in names.values() for name in ([value] if isinstance(value, str) else value))
        for name in dict.fromkeys(listed):
            if name in known:
                continue
            known.add(name)
            try:
                found = _measured(getattr(transformers, name), task, torch)
            except Exception as error:  # whatever a class does with such a config
                found = {"error": f"{type(error).__name__}: {error}"[:200]}
            print(json.dumps({"class": name, "version": transformers.__version__, **found}), flush=True)


def _measured(model_class: Any, task: str, torch: Any) -> dict[str, Any]:
    config = model_class.config_class()
    for key, value in SMALL.items():
        if hasattr(config, key) and isinstance(getattr(config, key), (int, type(None))):
            setattr(config, key, value)
    with torch.device("meta"):
        count = sum(one.numel() for one in model_class(config).parameters())
    if count > MOST_PARAMETERS:
        return {"error": f"{count:,} parameters"}
    torch.manual_seed(0)
    model = model_class(config).eval()
    ids = torch.randint(5, 90, (2, 12))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if task == "sequence":
        inputs["labels"] = torch.tensor([0, 2])
    elif task == "span":
        inputs |= {"start_positions": torch.tensor([1, 2]), "end_positions": torch.tensor([3, 5])}
    else:
        inputs["labels"] = ids % 3 if task.endswith("3") else ids.clone()
    with torch.no_grad():
        mean = float(model(**inputs).loss)
        parameters = inspect.signature(model.forward).parameters.values()
        takes = any(one.kind is one.VAR_KEYWORD for one in parameters)
        refused = getattr(model, "accepts_loss_kwargs", None) is False
        try:
            counted = [float(model(**inputs, num_items_in_batch=number).loss) for number in (1, 2)]
        except TypeError:
            counted = [mean, mean]
    if not mean:
        return {"error": "a loss of 0"}
    divides = abs(counted[0] / counted[1] - 2) < 1e-3
    if not divides and abs(counted[0] / mean - 1) > 1e-3:
        return {"error": f"losses of {mean}, {counted}"}
    return {USES: divides and not refused, TAKES: takes and not refused}


if __name__ == "__main__":
    inside(set(json.loads(sys.argv[1])))
