"""Does LoRA keep its scale where it is merged with a bias of its own, and where its scale is set to one?

Neither may change the outputs. The control is the same with plain LoRA.
"""

import inspect

from ..skipping import Skip

_RANK = 4
_ALPHA = 16
_KINDS = {"merged_bias": {"lora_bias": True}, "set_scale": {"use_rslora": True}}


def measure(parameters, device, seed):
    """``what``: merged_bias, set_scale; with ``plant`` the adapter is doubled in between."""
    import peft

    what = parameters.get("what", "merged_bias")
    asked = _KINDS[what]
    if not asked.keys() <= inspect.signature(peft.LoraConfig.__init__).parameters.keys():
        raise Skip("this release of PEFT has no %s" % ", ".join(asked))
    return {
        "changed": _change(peft, what, asked, bool(parameters.get("plant")), device, seed),
        "control_changed": _change(peft, what, {}, False, device, seed),
    }


def _change(peft, what, asked, plant, device, seed):
    import torch

    torch.manual_seed(seed)
    plain = torch.nn.Sequential(torch.nn.Linear(12, 12)).to(device)
    inputs = torch.randn(5, 12).to(device)
    config = peft.LoraConfig(r=_RANK, lora_alpha=_ALPHA, target_modules=["0"], init_lora_weights=False, **asked)
    with torch.no_grad():
        bare = plain(inputs)
        model = peft.get_peft_model(plain, config).eval()
        for name, weight in model.named_parameters():
            if "lora_" in name and name.endswith("bias"):
                weight.normal_()
        adapted = model(inputs)
        if what == "set_scale":
            for layer in model.modules():
                if isinstance(layer, peft.tuners.lora.LoraLayer):
                    layer.set_scale("default", 2.0 if plant else 1.0)
            after = model(inputs)
        else:
            if plant:
                for name, weight in model.named_parameters():
                    if "lora_B" in name:
                        weight.mul_(2)
            after = model.merge_and_unload()(inputs)
    return float((after - adapted).abs().max() / (adapted - bare).abs().max())
