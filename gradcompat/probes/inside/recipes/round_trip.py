"""Is ``from_pretrained(save_pretrained(model))`` the model? Its weights, ties, buffers, and the dtype of its weights.

What a checkpoint does not hold (a buffer that is not persistent) has to be made again by whoever loads it. The dtype is
that of training: without one given, weights are float32. The control is what no release gets wrong, in the same run.
"""

import glob
import json
import os
import tempfile

from .. import models


def measure(parameters, device, seed):  # noqa: ARG001  # files are loaded into main memory
    """``what``: weights, tied, buffers, dtype; ``model`` of weights and tied.

    With ``plant`` a tensor is lost from the file, the tie from the configuration, the buffer's values from the model.
    """
    what = parameters.get("what", "weights")
    return {"weights": _weights, "tied": _tied, "buffers": _buffers, "dtype": _dtype}[what](parameters, seed)


def _saved(model):
    folder = tempfile.mkdtemp(dir=".")
    model.save_pretrained(folder)
    return folder


def _same_share(model, other):
    import torch

    found = other.state_dict()
    tensors = model.state_dict()
    same = sum(name in found and torch.equal(tensor, found[name]) for name, tensor in tensors.items())
    return same / len(tensors)


def _weights(parameters, seed):
    model = models.build(parameters.get("model", "llama"), seed)
    folder = _saved(model)
    if parameters.get("plant"):
        _lose_a_tensor(folder)
    other = type(model).from_pretrained(folder)
    return {
        "same_share": _same_share(model, other),
        "control_same_share": _same_share(model, models.build(parameters.get("model", "llama"), seed)),
    }


def _lose_a_tensor(folder):
    from safetensors.torch import load_file, save_file

    (path,) = glob.glob(os.path.join(folder, "*.safetensors"))
    tensors = load_file(path)
    tensors.pop(sorted(name for name, tensor in tensors.items() if tensor.dim() == 2)[0])
    save_file(tensors, path, metadata={"format": "pt"})


def _tied(parameters, seed):
    """Both are looked at: what was tied still is, and what was not has its own weights again."""
    kind = parameters.get("model", "llama")

    def loaded(tie):
        model = models.build(kind, seed)
        model.config.tie_word_embeddings = tie
        model = type(model)(model.config)
        folder = _saved(model)
        if parameters.get("plant"):
            path = os.path.join(folder, "config.json")
            with open(path, encoding="utf-8") as file:
                config = json.load(file)
            config["tie_word_embeddings"] = not tie
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
        return model, type(model).from_pretrained(folder)

    tied, tied_again = loaded(tie=True)
    free, free_again = loaded(tie=False)
    return {
        "tie_kept": int(_is_tied(tied_again)),
        "tied_same_share": _same_share(tied, tied_again),
        "untied_same_share": _same_share(free, free_again),
        "control_same_share": (_is_tied(tied) + (not _is_tied(free))) / 2,
    }


def _is_tied(model):
    return model.get_input_embeddings().weight is model.get_output_embeddings().weight


def _buffers(parameters, seed):
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    class Config(PretrainedConfig):
        model_type = "gradcompat_buffers"

    class Model(PreTrainedModel):
        """As a model from elsewhere has it: the buffer is computed where the model is made."""

        config_class = Config

        def __init__(self, config):
            super().__init__(config)
            self.layer = torch.nn.Linear(4, 4)
            self.register_buffer("table", torch.arange(64.0) + 1, persistent=False)
            self.register_buffer("kept", torch.arange(64.0) + 2)
            self.post_init()

        def _init_weights(self, module):
            pass

    torch.manual_seed(seed)
    model = Model(Config())
    folder = _saved(model)
    # What a buffer finds in memory that nobody filled may be anything; here it is not the right values by accident.
    litter = [torch.full((64,), float("nan")) for _ in range(200)]
    del litter
    other = Model.from_pretrained(folder)
    if parameters.get("plant"):
        other.table.mul_(2)
    return {
        "buffer_same_share": float((other.table == model.table).double().mean()),
        "control_same_share": _same_share(model, other),
    }


def _dtype(parameters, seed):
    import torch

    model = models.build("llama", seed).to(torch.bfloat16)
    folder = _saved(model)
    given = {"torch_dtype": torch.bfloat16} if parameters.get("plant") else {}
    loaded = type(model).from_pretrained(folder, **given)
    return {
        "loaded_bits": min(8 * weight.element_size() for weight in loaded.parameters()),
        "control_same_share": _same_share(
            model.float(), type(model).from_pretrained(folder, torch_dtype=torch.float32)
        ),
    }
