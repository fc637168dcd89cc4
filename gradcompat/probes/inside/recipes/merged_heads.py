"""Is a model with an adapter the same after the adapter is merged, and the result saved and loaded?

The output layer, or both it and the embeddings, are trained beside LoRA (``modules_to_save``). The control is the
merged model before it is saved.
"""

import tempfile

from .. import toy_tokenizer


def measure(parameters, device, seed):
    """``trained``: head, both; ``tied``: true, false; with ``plant`` what is loaded is the base."""
    import peft
    import torch

    model = _model(seed, parameters.get("tied", True)).to(device)
    trained = parameters.get("trained", "head")
    heads = ["lm_head"] if trained == "head" else ["lm_head", "embed_tokens"]
    config = peft.LoraConfig(r=2, lora_alpha=8, task_type="CAUSAL_LM", target_modules=["q_proj"], modules_to_save=heads)
    adapted = peft.get_peft_model(model, config)
    made = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for weight in adapted.parameters():
            if weight.requires_grad:
                weight.add_(0.3 * torch.randn(weight.shape, generator=made).to(device))
    ids = torch.arange(toy_tokenizer.FIRST, toy_tokenizer.FIRST + 12).reshape(2, 6).to(device)

    def outputs(one):
        with torch.no_grad():
            return one.eval()(input_ids=ids).logits.double()

    expected = outputs(adapted)
    base = outputs(_model(seed, parameters.get("tied", True)).to(device))
    merged = adapted.merge_and_unload()
    size = float((expected - base).norm())
    folder = tempfile.mkdtemp(dir=".")
    (_model(seed, parameters.get("tied", True)) if parameters.get("plant") else merged).save_pretrained(folder)
    loaded = type(merged).from_pretrained(folder).to(device)
    return {
        "reloaded_change": float((outputs(loaded) - expected).norm()) / size,
        "control_merged_change": float((outputs(merged) - expected).norm()) / size,
    }


def _model(seed, tied):
    return toy_tokenizer.model(seed, tie_word_embeddings=tied)
