"""Does a model class load what an adapter trained beside LoRA, when it is given the folder of the adapter?

``from_pretrained`` of transformers takes such a folder as well as PEFT does. The control is the same folder, loaded by
PEFT.
"""

import tempfile

from .. import toy_tokenizer
from ..skipping import Skip


def measure(parameters, device, seed):  # noqa: ARG001  # files are loaded into main memory
    """``trained``: head beside LoRA, or lora alone; with ``plant`` the base is loaded and no adapter."""
    import peft
    import torch

    base = tempfile.mkdtemp(dir=".")
    model = toy_tokenizer.model(seed, tie_word_embeddings=False)
    model.save_pretrained(base)
    kind = type(model)
    beside = {"modules_to_save": ["lm_head"]} if parameters.get("trained", "head") == "head" else {}
    config = peft.LoraConfig(r=2, lora_alpha=8, task_type="CAUSAL_LM", target_modules=["q_proj"], **beside)
    adapted = peft.get_peft_model(kind.from_pretrained(base), config)
    if not hasattr(kind, "load_adapter"):
        raise Skip("this release of transformers loads no adapters")
    made = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for weight in adapted.parameters():
            if weight.requires_grad:
                weight.add_(0.3 * torch.randn(weight.shape, generator=made))
    folder = tempfile.mkdtemp(dir=".")
    adapted.save_pretrained(folder)
    ids = torch.arange(toy_tokenizer.FIRST, toy_tokenizer.FIRST + 12).reshape(2, 6)

    def outputs(one):
        with torch.no_grad():
            return one.eval()(input_ids=ids).logits.double()

    expected = outputs(adapted)
    size = float((expected - outputs(kind.from_pretrained(base))).norm())

    def change(one):
        return float((outputs(one) - expected).norm()) / size

    return {
        "loaded_change": change(kind.from_pretrained(base if parameters.get("plant") else folder)),
        "control_loaded_change": change(peft.PeftModel.from_pretrained(kind.from_pretrained(base), folder)),
    }
