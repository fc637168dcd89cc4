"""Does the update of an adapter grow with alpha? Four times alpha has to be four times the change of the output.

The control is LoRA.
"""

from ..comparing import norm_ratio

_ALPHA = 2
_TIMES = 4


def measure(parameters, device, seed):
    """``method``: lokr, loha; with ``plant`` alpha is left as it is."""
    import peft
    import torch

    plain = torch.nn.Sequential(torch.nn.Linear(12, 12, bias=False)).to(device)
    inputs = torch.randn(5, 12, generator=torch.Generator().manual_seed(seed)).to(device)

    def change(method, alpha):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(torch.nn.Linear(12, 12, bias=False)).to(device)
        model.load_state_dict(plain.state_dict())
        adapted = peft.get_peft_model(model, _config(peft, method, alpha))
        with torch.no_grad():
            return (adapted(inputs) - plain(inputs)).reshape(-1).double()

    method = parameters.get("method", "lokr")
    more = _ALPHA if parameters.get("plant") else _TIMES * _ALPHA
    return {
        "grown": norm_ratio(change(method, more), change(method, _ALPHA)) / _TIMES,
        "control_grown": norm_ratio(change("lora", _TIMES * _ALPHA), change("lora", _ALPHA)) / _TIMES,
    }


def _config(peft, method, alpha):
    given = {"r": 2, "target_modules": ["0"]}
    if method == "lora":
        return peft.LoraConfig(lora_alpha=alpha, init_lora_weights=False, **given)
    return {"lokr": peft.LoKrConfig, "loha": peft.LoHaConfig}[method](alpha=alpha, init_weights=False, **given)
