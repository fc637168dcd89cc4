"""Is ``from_pretrained(save_pretrained(model))`` the model? Its weights, ties, buffers, dtype, and its tokenizer.

What a checkpoint does not hold (a buffer that is not persistent) has to be made again by whoever loads it. The dtype is
that of training: without one given, weights are float32. The control is what no release gets wrong, in the same run.
"""

import glob
import json
import os
import tempfile

from .. import models, toy_tokenizer
from ..comparing import one_line

_MANY_WORDS = 100002  # from 100000 on some releases look closer at a tokenizer


def measure(parameters, device, seed):  # noqa: ARG001  # files are loaded into main memory
    """``what``: weights, tied, buffers, initialiser (of a model from elsewhere), dtype, from_config, tokenizer;
    ``model`` of weights and tied; ``writes`` of initialiser: init, data, no_grad.

    With ``plant`` a tensor is lost from the file, the tie from the configuration, the buffer's values from the model,
    the weights or the tokenizer from the folder, and another dtype is asked for.
    """
    found = {
        "weights": _weights,
        "tied": _tied,
        "buffers": _buffers,
        "initialiser": _initialiser,
        "dtype": _dtype,
        "from_config": _from_config,
        "tokenizer": _tokenizer,
    }
    return found[parameters.get("what", "weights")](parameters, seed)


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
    control = _same_share(model, models.build(parameters.get("model", "llama"), seed))
    try:
        other = type(model).from_pretrained(folder)
    except Exception as error:  # whatever it is that stands in the way
        return {"loaded": 0, "error": one_line(error), "control_same_share": control}
    return {"loaded": 1, "same_share": _same_share(model, other), "control_same_share": control}


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


def _initialiser(parameters, seed):
    """What was loaded has to stay, however ``_init_weights`` writes what it initialises."""
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    class Config(PretrainedConfig):
        model_type = "gradcompat_initialiser"

    def classes(writes):
        class Model(PreTrainedModel):
            config_class = Config

            def __init__(self, config):
                super().__init__(config)
                self.layer = torch.nn.Linear(8, 8)
                self.post_init()

            def _init_weights(self, module):
                if not isinstance(module, torch.nn.Linear):
                    return
                if writes == "data":
                    module.weight.data.normal_()
                elif writes == "no_grad":
                    with torch.no_grad():
                        module.weight.normal_()
                else:
                    torch.nn.init.normal_(module.weight)

        return Model

    def share(writes, plant=False):
        torch.manual_seed(seed)
        made = classes(writes)
        model = made(Config())
        with torch.no_grad():
            model.layer.weight.fill_(0.5)
        other = made(Config()) if plant else made.from_pretrained(_saved(model))
        return _same_share(model, other)

    return {
        "same_share": share(parameters.get("writes", "data"), parameters.get("plant")),
        "control_same_share": share("init"),
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


def _from_config(parameters, seed):
    """A model that is made from a configuration, whatever dtype that says; the control is one of its own class."""
    import torch
    from transformers import AutoModelForCausalLM

    config = models.build("llama", seed).config
    config.torch_dtype = torch.bfloat16
    given = {"torch_dtype": torch.bfloat16} if parameters.get("plant") else {}
    built = AutoModelForCausalLM.from_config(config, **given)
    plain = list(type(built)(config).parameters())
    return {
        "built_bits": min(8 * weight.element_size() for weight in built.parameters()),
        "control_same_share": sum(weight.dtype == torch.float32 for weight in plain) / len(plain),
    }


def _tokenizer(parameters, seed):
    """A tokenizer of many words beside the configuration of its model; the control is one of few words."""
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers import models as kinds
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    config = models.build("llama", seed).config

    def again(tokenizer):
        folder = tempfile.mkdtemp(dir=".")
        tokenizer.save_pretrained(folder)
        config.save_pretrained(folder)
        _as_written_by(folder, "4.50.0")
        if parameters.get("plant") and len(tokenizer) > toy_tokenizer.SIZE:
            os.remove(os.path.join(folder, "tokenizer.json"))
        return AutoTokenizer.from_pretrained(folder)

    few = toy_tokenizer.tokenizer()
    text = "w1 w2 w3"
    control = float(again(few)(text)["input_ids"] == few(text)["input_ids"])
    special = {"unk_token": "w0"}
    made = Tokenizer(kinds.WordLevel({"w%d" % number: number for number in range(_MANY_WORDS)}, **special))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    many = PreTrainedTokenizerFast(tokenizer_object=made, **special)
    try:
        other = again(many)
    except Exception as error:  # whatever it is that stands in the way
        return {"loaded": 0, "error": one_line(error), "control_same_share": control}
    same = other(text)["input_ids"] == many(text)["input_ids"]
    return {"loaded": 1, "same_share": float(same), "control_same_share": control}


def _as_written_by(folder, version):
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**config, "transformers_version": version}, file)
