"""Do PEFT's adapters add up to what they should: subtracted, unmerged, mixed by X-LoRA, on convolutions?

The control of each is the same adapter, or the one next to it, where nobody has complained.
"""

import inspect
import tempfile
from pathlib import Path

from ..comparing import distance, flat
from ..skipping import Skip


def measure(parameters, device, seed):
    """``what``: subtracted, unmerged, mixed, oft, boft, hra. With ``plant`` a tenth is added to what is found."""
    import torch

    torch.manual_seed(seed)
    found, control = _CASES[parameters.get("what", "subtracted")](device)
    return {"off": found + 0.1 if parameters.get("plant") else found, "control_off": control}


def _named(name):
    import peft

    found = getattr(peft, name, None)
    if found is None:
        raise Skip("this release of peft has no %s" % name)
    return found


def _randomise(model):
    """Adapters that do something, as after training."""
    import torch

    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name:
                weight.normal_(std=0.2)


def _subtracted(device):
    """An adapter with the weight -1, and with the weight 1, against what it changes by itself."""
    import peft
    import torch

    def off(weight):
        model = torch.nn.Sequential(torch.nn.Linear(16, 16, bias=False)).to(device)
        adapted = peft.get_peft_model(model, peft.LoraConfig(r=4, lora_alpha=4, target_modules=["0"]))
        _randomise(adapted)
        try:
            adapted.add_weighted_adapter(["default"], [weight], "sum", combination_type="linear")
        except ValueError as error:
            raise Skip("this release takes no weight below 0 (%s)" % error) from error
        (layer,) = (one for one in adapted.modules() if isinstance(one, peft.tuners.lora.LoraLayer))
        alone = flat([layer.get_delta_weight("default")])
        return distance(flat([layer.get_delta_weight("sum")]), weight * alone)

    return off(-1.0), off(1.0)


def _unmerged(device):
    """The base weights of a GPT-2 after an adapter was merged and unmerged: with DoRA, and with plain LoRA."""
    import peft
    import transformers

    if "use_dora" not in inspect.signature(peft.LoraConfig).parameters:
        raise Skip("this release of peft has no DoRA")
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=16, n_positions=16, vocab_size=32)

    def off(dora):
        model = transformers.GPT2LMHeadModel(config).to(device)
        before = model.transformer.h[0].attn.c_proj.weight.detach().clone()
        target = {"target_modules": ["attn.c_proj"], "fan_in_fan_out": True}
        adapted = peft.get_peft_model(model, peft.LoraConfig(r=4, lora_alpha=4, use_dora=dora, **target))
        _randomise(adapted)
        adapted.merge_adapter()
        adapted.unmerge_adapter()
        after = model.transformer.h[0].attn.c_proj.base_layer.weight
        return distance(flat([after]), flat([before]))

    return off(True), off(False)


def _mixed(device):
    """What the weights of the adapters of a token add up to, with a softmax of the two largest and of all."""
    import peft
    import torch
    import transformers

    config = _named("XLoraConfig")
    from peft.tuners.xlora.layer import XLoraLayer

    llama = transformers.LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, use_cache=False
    )
    original = XLoraLayer.get_maybe_topk_scalings
    sums = []

    def noted(self, scalings):
        found = original(self, scalings)
        sums.append(found.detach().sum(-1).double())
        return found

    def off(folder, **given):
        adapters = {}
        for index in range(4):
            path = str(Path(folder) / str(index))
            model = transformers.LlamaForCausalLM(llama)
            peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["q_proj"])).save_pretrained(path)
            adapters[str(index)] = path
        mixture = config(task_type="CAUSAL_LM", hidden_size=16, adapters=adapters, **given)
        model = peft.get_peft_model(transformers.LlamaForCausalLM(llama), mixture).to(device)
        sums.clear()
        model(input_ids=torch.randint(0, 32, (2, 8), device=device))
        return float((sums[-1] - 1).abs().max())  # of the second pass; the first one only asks for the weights

    XLoraLayer.get_maybe_topk_scalings = noted
    try:
        with tempfile.TemporaryDirectory() as folder:
            chosen = off(folder, top_k_lora=2, enable_softmax=False, enable_softmax_topk=True)
            return chosen, off(folder)
    finally:
        XLoraLayer.get_maybe_topk_scalings = original


def _untrained(name, device, layer, control, **given):
    """How far an adapter that was not trained is from the base model, on a convolution and on the control."""
    import peft
    import torch

    config = _named(name)
    images = torch.randn(2, 4, 8, 8, device=device)

    def off(convolution):
        base = torch.nn.Sequential(convolution).to(device)
        with torch.no_grad():
            expected = base(images)
            found = peft.get_peft_model(base, config(target_modules=["0"], **given))(images)
        return distance(flat([found]), flat([expected]))

    return off(layer), off(control)


def _oft(device):
    import torch

    blocks = "oft_block_size" in inspect.signature(_named("OFTConfig")).parameters
    wide, narrow = torch.nn.Conv2d(4, 8, 3, padding=1), torch.nn.Conv2d(4, 8, 1)
    return _untrained("OFTConfig", device, wide, narrow, r=2, **({"oft_block_size": 0} if blocks else {}))


def _reflecting():
    import torch

    return torch.nn.Conv2d(4, 8, 3, padding=1, padding_mode="reflect"), torch.nn.Conv2d(4, 8, 3, padding=1)


def _boft(device):
    return _untrained("BOFTConfig", device, *_reflecting(), boft_block_size=4)


def _hra(device):
    return _untrained("HRAConfig", device, *_reflecting(), r=4)


_CASES = {
    "subtracted": _subtracted,
    "unmerged": _unmerged,
    "mixed": _mixed,
    "oft": _oft,
    "boft": _boft,
    "hra": _hra,
}
