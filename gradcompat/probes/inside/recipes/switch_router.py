"""Does a Switch Transformer return its router's logits, and does an expert get no more tokens than its capacity?

All tokens of the input are the same, so that one expert is wanted by all. The z-loss is computed from what the router's
own linear layer gives, in float64. The control is the model's loss without those of its routers, and that the wanted
expert really has more tokens than it may take.
"""

import re

from ..comparing import one_line
from ..skipping import Skip

_CAPACITY = 4
_LENGTH = 16
_EXPERT = re.compile(r"^encoder\..*\.experts\.expert_\d+$")
_CLASSIFIER = re.compile(r"^encoder\..*\.router\.classifier$")


def measure(parameters, device, seed):
    """With ``plant`` the capacity is as large as the input."""
    import torch

    model = _model(torch, seed).to(device).eval()
    taken, wanted = [], []
    for name, module in model.named_modules():
        if _EXPERT.match(name):
            module.register_forward_pre_hook(lambda _, given: taken.append(given[0].reshape(-1, given[0].shape[-1])))
        elif _CLASSIFIER.match(name):
            module.register_forward_hook(lambda _, __, output: wanted.append(output.detach().double().reshape(-1, 4)))
    if parameters.get("plant"):
        for module in model.modules():
            if hasattr(module, "expert_capacity"):
                module.expert_capacity = _LENGTH
    ids = torch.full((1, _LENGTH), 5).to(device)
    labels = torch.arange(6, 14)[None].to(device)

    def forward(routers):
        del taken[:], wanted[:]
        with torch.no_grad():
            return model(input_ids=ids, labels=labels, output_router_logits=routers)

    plain = forward(routers=False).loss
    logits = torch.cat(wanted)
    values = {
        "over_capacity": max(len(one) for one in taken) / _CAPACITY,
        "control_loss": float(plain),
        "control_crowding": int(logits.argmax(-1).bincount().max()) / _CAPACITY,
    }
    try:
        found = forward(routers=True)
    except Exception as error:  # whatever it is, there are no losses of routers then
        return {**values, "answered": 0, "error": one_line(error)}
    z_loss = float(logits.logsumexp(-1).pow(2).mean())
    return {**values, "answered": 1, "z_loss_ratio": float(found.encoder_z_loss) / z_loss}


def _model(torch, seed):
    import transformers

    if not hasattr(transformers, "SwitchTransformersForConditionalGeneration"):
        raise Skip("this release has no Switch Transformers")
    torch.manual_seed(seed)
    config = transformers.SwitchTransformersConfig(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, expert_capacity=_CAPACITY, num_experts=4, num_layers=2,
        num_sparse_encoder_layers=1, num_decoder_layers=2, num_sparse_decoder_layers=1, num_heads=4, dropout_rate=0.0,
        router_jitter_noise=0.0, decoder_start_token_id=0, pad_token_id=0, use_cache=False,
    )  # fmt: skip
    return transformers.SwitchTransformersForConditionalGeneration(config)
